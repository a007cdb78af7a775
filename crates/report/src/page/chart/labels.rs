//! Where the labels of points go so that none covers another.

use super::text_width::text_width;

/// Text on a phone and elsewhere, in user units of the largest picture.
pub(super) const PHONE: f64 = 17.0;
pub(super) const DESK: f64 = 12.0;

/// Half of a marker, with room around it.
const MARKER: f64 = 6.5;

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn about(x: f64, y: f64, half: f64) -> Self {
        Self {
            left: x - half,
            top: y - half,
            right: x + half,
            bottom: y + half,
        }
    }

    pub(super) fn touches(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }
}

/// Squares along a line.
pub(super) fn along(from: (f64, f64), to: (f64, f64), half: f64) -> Vec<Area> {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let steps = (length / half.max(1.0)).ceil().clamp(1.0, 1000.0) as usize;
    let at = |n: usize| {
        let share = n as f64 / steps as f64;
        let x = from.0 + (to.0 - from.0) * share;
        let y = from.1 + (to.1 - from.1) * share;
        Area::about(x, y, half)
    };
    (0..=steps).map(at).collect()
}

/// A label's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) anchor: &'static str,
    /// It fits at a desk's size of text alone.
    pub(super) desk_only: bool,
}

impl Place {
    fn area(&self, text: &str, font: f64) -> Area {
        let width = text_width(text, font);
        let left = match self.anchor {
            "start" => self.x,
            "end" => self.x - width,
            _ => self.x - width / 2.0,
        };
        Area {
            left,
            top: self.y - font * 0.8,
            right: left + width,
            bottom: self.y + font * 0.24,
        }
    }
}

/// Places about a point, the best first.
fn candidates((x, y): (f64, f64), font: f64) -> [Place; 8] {
    let place = |dx: f64, dy: f64, anchor| Place {
        x: x + dx,
        y: y + dy,
        anchor,
        desk_only: false,
    };
    [
        place(9.0, font * 0.33, "start"),
        place(-9.0, font * 0.33, "end"),
        place(7.0, -6.0, "start"),
        place(7.0, font * 0.8 + 5.0, "start"),
        place(-7.0, -6.0, "end"),
        place(-7.0, font * 0.8 + 5.0, "end"),
        place(0.0, -9.0, "middle"),
        place(0.0, font * 0.8 + 9.0, "middle"),
    ]
}

/// A place for each of `points` with its text, in order; `None` where none is free. `hard` is never
/// covered, `soft` only where nothing else is left.
pub(super) fn place(
    points: &[((f64, f64), &str)],
    bounds: Area,
    hard: &[Area],
    soft: &[Area],
) -> Vec<Option<Place>> {
    let mut placed: Vec<Option<Place>> = vec![None; points.len()];
    for (font, avoid_soft) in [(PHONE, true), (PHONE, false), (DESK, true), (DESK, false)] {
        for at in 0..points.len() {
            if placed[at].is_some() {
                continue;
            }
            let (point, text) = points[at];
            placed[at] = candidates(point, font).into_iter().find_map(|mut place| {
                let area = place.area(text, font);
                let free = |areas: &[Area]| !areas.iter().any(|other| other.touches(&area));
                let markers = points.iter().enumerate().all(|(other, ((x, y), _))| {
                    other == at || !Area::about(*x, *y, MARKER).touches(&area)
                });
                let labels = placed.iter().zip(points).all(|(place, (_, text))| {
                    place.is_none_or(|p| !p.area(text, font).touches(&area))
                });
                place.desk_only = font == DESK;
                let soft_free = !avoid_soft || free(soft);
                (bounds.holds(&area) && markers && labels && free(hard) && soft_free)
                    .then_some(place)
            });
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Area = Area {
        left: 0.0,
        top: 0.0,
        right: 700.0,
        bottom: 400.0,
    };

    #[test]
    fn labels_keep_clear_of_each_other_and_of_the_edge() {
        let points: Vec<((f64, f64), &str)> = vec![
            ((690.0, 200.0), "at the edge"),
            ((300.0, 200.0), "attention"),
            ((306.0, 205.0), "conv2d"),
            ((310.0, 198.0), "matmul"),
        ];
        let places = place(&points, BOUNDS, &[], &[]);
        let areas: Vec<Area> = places
            .iter()
            .zip(&points)
            .filter_map(|(place, (_, text))| place.map(|p| p.area(text, DESK)))
            .collect();
        assert!(areas.len() >= 3, "{places:?}");
        for (n, area) in areas.iter().enumerate() {
            assert!(BOUNDS.holds(area));
            assert!(areas[..n].iter().all(|other| !other.touches(area)));
        }
    }

    #[test]
    fn a_crowd_loses_labels_rather_than_covering_them() {
        let crowd: Vec<((f64, f64), &str)> = vec![((300.0, 200.0), "workload"); 40];
        let shown = place(&crowd, BOUNDS, &[], &[])
            .into_iter()
            .flatten()
            .count();
        assert!((1..40).contains(&shown), "{shown}");
    }
}
