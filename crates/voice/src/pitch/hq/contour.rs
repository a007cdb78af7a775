//! A contour through frequencies that were heard a little before or after the frames they stand for.
//!
//! What repeats itself around an instant is the loud part of two periods, and that may lie half a period
//! off: where the pitch glides, neighbouring frames are then wrong to both sides. A line through the
//! frequencies around a frame, each at the time at which it was heard, is right, and steadier.

/// How far from a frame others are looked at, seconds.
const WIDTH: f64 = 0.02;
/// Neighbours further apart than this, octaves, belong to different sounds.
const JUMP: f64 = 0.3;
/// What keeps the line level where all times are the same; squares of [`WIDTH`].
const LEVEL: f64 = 0.0125;

/// The frequency of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Hz; 0 in unvoiced frames.
    pub(super) frequency: f64,
    /// When, seconds after the frame's centre.
    pub(super) late: f64,
    /// Whether it stands as it is.
    pub(super) sure: bool,
}

/// Frames on either side of a frame that may matter to it, where frames are `hop` seconds apart and no frequency is
/// much below `lowest`.
pub(super) fn reach(hop: f64, lowest: f64) -> usize {
    ((WIDTH + 1.0 / lowest) / hop).ceil() as usize + 1
}

/// The frequency at the centre of one of the frames, `hop` seconds apart.
pub(super) fn contour(heard: &[Heard], frame: usize, hop: f64) -> f64 {
    let here = heard[frame];
    if here.sure || here.frequency <= 0.0 {
        return here.frequency;
    }
    let mut line = Line::default();
    line.add(here.late, 0.0);
    let before = stretch(heard[..frame].iter().rev(), here.frequency, -hop);
    let after = stretch(heard[frame + 1..].iter(), here.frequency, hop);
    for (time, frequency) in before.chain(after) {
        line.add(time, (frequency / here.frequency).log2());
    }
    here.frequency * line.at_zero().clamp(-JUMP, JUMP).exp2()
}

/// When, seconds after a frame, and how high the sound of `frequency` goes on in the frames on one side,
/// as far as they matter; `hop` is negative before the frame.
fn stretch<'a>(
    side: impl Iterator<Item = &'a Heard>,
    frequency: f64,
    hop: f64,
) -> impl Iterator<Item = (f64, f64)> {
    let mut last = frequency;
    side.enumerate()
        .map(move |(n, heard)| ((n + 1) as f64 * hop, heard))
        .take_while(move |(offset, heard)| {
            // A frame is heard at most half a period off.
            let goes_on = offset.abs() < WIDTH + 0.5 / last
                && heard.frequency > 0.0
                && (heard.frequency / last).log2().abs() < JUMP;
            last = heard.frequency;
            goes_on
        })
        .map(|(offset, heard)| (offset + heard.late, heard.frequency))
}

/// A line of least squares, points weighed by how near they are.
#[derive(Default)]
struct Line {
    weight: f64,
    time: f64,
    square: f64,
    height: f64,
    product: f64,
}

impl Line {
    fn add(&mut self, time: f64, height: f64) {
        let time = time / WIDTH;
        let weight = (1.0 - time.abs()).max(0.0);
        self.weight += weight;
        self.time += weight * time;
        self.square += weight * time * time;
        self.height += weight * height;
        self.product += weight * time * height;
    }

    /// Its height at time 0; 0 where no point is near.
    fn at_zero(&self) -> f64 {
        let square = self.square + LEVEL;
        let spread = self.weight * square - self.time * self.time;
        if spread <= 1e-9 {
            return 0.0;
        }
        (square * self.height - self.time * self.product) / spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOP: f64 = 0.01;

    fn unsure(frequency: f64, late: f64) -> Heard {
        Heard {
            frequency,
            late,
            sure: false,
        }
    }

    fn all(heard: &[Heard]) -> Vec<f64> {
        (0..heard.len())
            .map(|frame| contour(heard, frame, HOP))
            .collect()
    }

    #[test]
    fn frames_out_of_reach_do_not_matter() {
        for (hop, lowest) in [(0.01, 65.0), (0.001, 65.0), (0.0005, 400.0), (0.1, 50.0)] {
            let heard: Vec<Heard> = (0..400)
                .map(|n| {
                    unsure(
                        lowest * (1.0 + 0.01 * (n % 17) as f64),
                        0.001 * (n % 3) as f64,
                    )
                })
                .collect();
            let reach = reach(hop, lowest);
            for frame in [0_usize, 3, 200, 399] {
                let first = frame.saturating_sub(reach);
                let near = &heard[first..(frame + reach + 1).min(400)];
                let found = contour(near, frame - first, hop);
                assert_eq!(found, contour(&heard, frame, hop), "{hop} s, {frame}");
            }
        }
    }

    #[test]
    fn a_glide_heard_off_the_frames_is_right_at_them() {
        let pitch = |time: f64| 100.0 * (3.0 * time).exp2();
        let heard: Vec<Heard> = (0..40)
            .map(|n| {
                let late = [0.004, -0.003, 0.0, -0.004][n % 4];
                unsure(pitch(n as f64 * HOP + late), late)
            })
            .collect();
        for (n, found) in all(&heard).iter().enumerate().skip(2).take(36) {
            let cents = 1200.0 * (found / pitch(n as f64 * HOP)).log2();
            assert!(cents.abs() < 1.0, "frame {n}: {cents} cents");
            let before = 1200.0 * (heard[n].frequency / pitch(n as f64 * HOP)).log2();
            assert!(cents.abs() <= before.abs() + 1e-9 || before == 0.0);
        }
    }

    #[test]
    fn pauses_and_jumps_part_sounds_and_sure_frames_stay() {
        let mut heard = vec![unsure(100.0, 0.0); 5];
        heard.push(unsure(0.0, 0.0));
        heard.extend(vec![unsure(150.0, 0.001); 3]);
        heard.extend(vec![unsure(300.0, 0.0); 3]);
        let found = all(&heard);
        for (found, heard) in found.iter().zip(&heard) {
            assert!((found - heard.frequency).abs() < 1e-9, "{found}");
        }
        let mut zigzag: Vec<Heard> = (0..6)
            .map(|n| unsure(100.0 + f64::from(n % 2), 0.0))
            .collect();
        zigzag[3].sure = true;
        let found = all(&zigzag);
        assert_eq!(found[3], 101.0);
        assert!(found[2] > 100.2 && found[2] < 100.8, "{}", found[2]);
        assert_eq!(all(&[]), Vec::<f64>::new());
    }
}
