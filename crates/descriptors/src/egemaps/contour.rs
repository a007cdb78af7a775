//! Contours over frames that arrive: the mean of three frames around each, and what the means sum up to.

/// Mean and deviation of values that arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let away = value - self.mean;
        self.mean += away / self.count;
        self.squares += away * (value - self.mean);
    }

    /// The mean, 0 of nothing.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Mean, and deviation over mean; zeros of nothing.
    pub(super) fn shares(&self) -> [f64; 2] {
        let deviation = (self.squares / self.count.max(1.0)).sqrt();
        let unit = if self.mean == 0.0 { 1.0 } else { self.mean };
        [self.mean, deviation / unit]
    }
}

/// The mean of three frames around each; the first and the last frame stand for what is beyond them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Smooth {
    /// The last two frames, the later one second.
    last: Option<(f64, f64)>,
}

impl Smooth {
    /// Takes the next frame; returns the one before it, smoothed.
    pub(super) fn add(&mut self, value: f64) -> Option<f64> {
        let (before, here) = self
            .last
            .replace((self.last.map_or(value, |(_, here)| here), value))?;
        Some((before + here + value) / 3.0)
    }

    /// The last frame, smoothed.
    pub(super) fn finish(self) -> Option<f64> {
        let (before, here) = self.last?;
        Some((before + here + here) / 3.0)
    }
}

/// The same where zero means that there is no value: zeros stay, and do not count in a mean. Nothing comes of the last
/// frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SmoothPresent {
    last: Option<(f64, f64)>,
}

impl SmoothPresent {
    pub(super) fn add(&mut self, value: f64) -> Option<f64> {
        let last = (self.last.map_or(0.0, |(_, here)| here), value);
        let (before, here) = self.last.replace(last)?;
        Some(mean_of_present(before, here, value))
    }
}

fn mean_of_present(before: f64, here: f64, after: f64) -> f64 {
    if here == 0.0 {
        return 0.0;
    }
    let count = [before, here, after]
        .into_iter()
        .filter(|value| *value != 0.0);
    (before + here + after) / count.count() as f64
}

/// The moments of a smoothed contour without its zeros; the last frame, which has no neighbour, does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Present {
    smooth: SmoothPresent,
    moments: Moments,
}

impl Present {
    pub(super) fn add(&mut self, value: f64) {
        let smooth = self.smooth.add(value);
        if let Some(value) = smooth.filter(|value| *value != 0.0) {
            self.moments.add(value);
        }
    }

    pub(super) fn moments(&self) -> Moments {
        self.moments
    }
}

/// The moments of a smoothed contour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    smooth: Smooth,
    moments: Moments,
}

impl Whole {
    pub(super) fn add(&mut self, value: f64) {
        if let Some(value) = self.smooth.add(value) {
            self.moments.add(value);
        }
    }

    pub(super) fn finish(mut self) -> Moments {
        if let Some(value) = self.smooth.finish() {
            self.moments.add(value);
        }
        self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_repeat_and_absent_values_do_not_count() {
        let mut smooth = Smooth::default();
        let mut found: Vec<f64> = [3.0, 6.0, 0.0]
            .iter()
            .filter_map(|x| smooth.add(*x))
            .collect();
        found.extend(smooth.finish());
        assert_eq!(found, [4.0, 3.0, 2.0]);
        let mut smooth = SmoothPresent::default();
        let values = [3.0, 6.0, 0.0, 9.0];
        let found: Vec<f64> = values.iter().filter_map(|x| smooth.add(*x)).collect();
        assert_eq!(found, [4.5, 4.5, 0.0]);
        assert!(Smooth::default().finish().is_none());
        let mut present = Present::default();
        values.iter().for_each(|x| present.add(*x));
        assert_eq!(present.moments().mean(), 4.5);
        let mut whole = Whole::default();
        [3.0, 6.0, 0.0].iter().for_each(|x| whole.add(*x));
        assert_eq!(whole.finish().mean(), 3.0);
    }

    #[test]
    fn moments_are_those_of_all_values() {
        let mut moments = Moments::default();
        assert_eq!(moments.shares(), [0.0, 0.0]);
        [2.0, 4.0].iter().for_each(|x| moments.add(*x));
        assert_eq!(moments.shares(), [3.0, 1.0 / 3.0]);
        let mut steady = Moments::default();
        (0..1000).for_each(|_| steady.add(0.1));
        assert_eq!(steady.shares(), [0.1, 0.0]);
    }
}
