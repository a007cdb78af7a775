//! The power cepstrum of frames of a signal at twice the highest frequency, pre-emphasised and under a
//! Gaussian window.

use warpsmith_signal::{
    BrickWallStream, Kept, PreciseTransform, Result, SignalError, first_centre,
};

use super::ProminenceSettings;

/// Power that a silent frequency has in a logarithm.
const FLOOR: f64 = 1e-300;

/// Cepstra of a signal of known length that is heard piece by piece.
pub(super) struct Cepstrogram {
    narrow: BrickWallStream,
    narrowed: Vec<f64>,
    /// The pre-emphasised signal, and the last sample before pre-emphasis.
    samples: Kept<f64>,
    last: f64,
    emphasis: f64,
    rate: f64,
    /// Seconds to the centre of the first frame, between frames, and of a window.
    first: f64,
    step: f64,
    window_seconds: f64,
    frames: usize,
    window: Vec<f64>,
    transform: PreciseTransform,
    scratch: Vec<f64>,
}

impl Cepstrogram {
    /// `None` for a signal that is shorter than a window.
    pub(super) fn new(
        samples: usize,
        sample_rate: u32,
        settings: ProminenceSettings,
    ) -> Result<Option<Self>> {
        let ProminenceSettings {
            low_hz,
            step,
            highest_hz,
            emphasis_hz,
            ..
        } = settings;
        let rate = (2.0 * highest_hz).round();
        // Half of the Gaussian is its effective length: three periods of the lowest voice.
        let window_seconds = 6.0 / low_hz;
        let length = window_seconds * rate;
        if !((1000.0..=400_000.0).contains(&rate) && (64.0..1e6).contains(&length) && step > 0.0) {
            return Err(SignalError::parameter(
                "cepstrum",
                format!("voices from {low_hz} Hz, spectra to {highest_hz} Hz, every {step} s"),
                "a spectrum to 500 … 200000 Hz, windows of 64 to 1000000 samples, and a step above 0",
            ));
        }
        let seconds = samples as f64 / f64::from(sample_rate.max(1));
        let room = seconds - window_seconds;
        if room < 0.0 {
            return Ok(None);
        }
        let narrow = BrickWallStream::new(samples, sample_rate, rate as u32)?;
        let frames = (room / step).floor() as usize + 1;
        let length = length as usize;
        let transform = PreciseTransform::new(length.next_power_of_two());
        Ok(Some(Self {
            narrow,
            narrowed: Vec::new(),
            samples: Kept::default(),
            last: 0.0,
            emphasis: (-std::f64::consts::TAU * emphasis_hz / rate).exp(),
            rate,
            first: first_centre(samples, f64::from(sample_rate), frames, step),
            step,
            window_seconds,
            frames,
            window: gaussian(length),
            scratch: vec![0.0; transform.length()],
            transform,
        }))
    }

    pub(super) fn frames(&self) -> usize {
        self.frames
    }

    /// Quefrencies of a frame.
    pub(super) fn quefrencies(&self) -> usize {
        self.scratch.len() / 2 + 1
    }

    /// Seconds between quefrencies.
    pub(super) fn quefrency(&self) -> f64 {
        1.0 / self.rate
    }

    /// Takes the next samples.
    pub(super) fn push(&mut self, piece: &[f32]) {
        self.narrow.process(piece, &mut self.narrowed);
        for x in self.narrowed.drain(..) {
            self.samples.push_one(x - self.emphasis * self.last);
            self.last = x;
        }
    }

    /// The first sample of a frame; that of the first may lie before the signal.
    fn start(&self, frame: usize) -> i64 {
        let from = self.first + frame as f64 * self.step - 0.5 * self.window_seconds;
        ((from - self.narrow.start()) * self.rate).round() as i64
    }

    /// Whether all samples of a frame are there.
    pub(super) fn has(&self, frame: usize) -> bool {
        let end = self.start(frame) + self.window.len() as i64;
        frame < self.frames && end.min(self.narrow.length() as i64) <= self.samples.end() as i64
    }

    /// The power cepstrum of a frame that is there; those before it are no longer known.
    pub(super) fn frame(&mut self, frame: usize) -> Vec<f64> {
        let start = self.start(frame);
        self.samples.forget(start.max(0) as usize);
        self.scratch.fill(0.0);
        let windowed = &mut self.scratch[..self.window.len()];
        for (n, slot) in windowed.iter_mut().enumerate() {
            let known = usize::try_from(start + n as i64).ok();
            *slot = known.and_then(|n| self.samples.get(n)).unwrap_or(0.0);
        }
        let mean = windowed.iter().sum::<f64>() / windowed.len() as f64;
        for (slot, weight) in windowed.iter_mut().zip(&self.window) {
            *slot = (*slot - mean) * weight;
        }
        self.transform.forward(&mut self.scratch);
        // Spectra are densities: in seconds.
        let density = 1.0 / (self.rate * self.rate);
        let level = |power: f64| (power * density + FLOOR).ln();
        let [low, high] = [self.scratch[0], self.scratch[1]];
        for pair in self.scratch[2..].as_chunks_mut::<2>().0 {
            *pair = [level(pair[0] * pair[0] + pair[1] * pair[1]), 0.0];
        }
        self.scratch[0] = level(low * low);
        self.scratch[1] = level(high * high);
        self.transform.inverse(&mut self.scratch);
        let count = self.quefrencies();
        self.scratch[..count]
            .iter()
            .map(|value| (value * self.rate).powi(2))
            .collect()
    }
}

/// Down to e⁻¹² at the ends, and 0 there.
fn gaussian(length: usize) -> Vec<f64> {
    let middle = (length as f64 + 1.0) / 2.0;
    let edge = (-12.0f64).exp();
    (1..=length)
        .map(|n| {
            let x = (n as f64 - middle) / (length as f64 + 1.0);
            ((-48.0 * x * x).exp() - edge) / (1.0 - edge)
        })
        .collect()
}
