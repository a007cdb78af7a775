//! Noise that is the same in every run of the tests.

/// Uniform numbers.
pub(crate) struct TestNoise(u64);

impl TestNoise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 0 to 1, of 24 bits.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 40) as f64 / 16_777_216.0
    }
}

/// So many samples from −1 to 1.
pub(crate) fn white_noise(seed: u32, samples: usize) -> Vec<f32> {
    let mut state = seed;
    let sample = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    std::iter::repeat_with(sample).take(samples).collect()
}
