//! A window over samples of frames in the lanes.

use warpsmith_lanes::{Lanes, Task};

/// Samples under a window, and zeros behind them where the transform is longer.
pub(crate) struct WindowTask<'a, V> {
    pub(crate) window: &'a [f32],
    pub(crate) samples: &'a [V],
    pub(crate) out: &'a mut [V],
}

impl<V: Lanes> Task for WindowTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let (heard, zeros) = self.out.split_at_mut(self.window.len());
        for ((out, sample), weight) in heard.iter_mut().zip(self.samples).zip(self.window) {
            *out = sample.mul(V::splat(*weight));
        }
        zeros.fill(V::splat(0.0));
    }
}
