//! What frames sum up to: the features in their order.

use std::collections::VecDeque;

use super::FEATURES;
use super::contour::{Moments, Present, Smooth, SmoothPresent, Whole};
use super::formants::{FORMANTS, Formant};
use super::functionals::{percentiles, runs, slopes, tops_per_second};
use super::harmonics::NO_LEVEL;
use super::spectral::SpectralFrame;
use super::voiced::VoicedFrame;

/// Contours of the spectrum's balance: two ratios, two slopes and the change.
const BALANCE: usize = 5;
/// Cepstral coefficients.
const CEPSTRA: usize = 4;

/// Frames that arrive, of 20 ms and, later, of 60 ms.
#[derive(Default)]
pub(super) struct Summary {
    loudness: Smooth,
    loudnesses: Vec<f64>,
    flux: Whole,
    cepstra: [Whole; CEPSTRA],
    /// Formants of the frames whose pitch is not known.
    formants: VecDeque<[Formant; FORMANTS]>,
    frames: Frames,
}

/// Frames whose pitch is known, beside those that wait for it.
#[derive(Default)]
pub(super) struct Frames {
    /// Balance and cepstra of frames whose pitch is not known.
    waiting: VecDeque<([f64; BALANCE], [f64; CEPSTRA])>,
    tone: SmoothPresent,
    /// Semitones of all frames; 0 where there is no voice.
    tones: Vec<f64>,
    /// Jitter, shimmer, the ratio of harmonics to noise, and two differences of harmonics.
    voice: [Present; 5],
    /// Frequency, bandwidth and level of each formant.
    formants: [[Present; 3]; FORMANTS],
    balance: [Present; BALANCE],
    cepstra: [Present; CEPSTRA],
    /// The balance of frames without a voice.
    unvoiced: [Present; BALANCE],
}

impl Summary {
    /// Adds the next frame of 20 ms.
    pub(super) fn add(&mut self, frame: SpectralFrame) {
        self.loudnesses.extend(self.loudness.add(frame.loudness));
        self.flux.add(frame.flux);
        for (contour, value) in self.cepstra.iter_mut().zip(frame.cepstra) {
            contour.add(value);
        }
        self.formants.push_back(frame.formants);
        let [low, high] = frame.slopes;
        let balance = [frame.alpha_ratio, frame.hammarberg, low, high, frame.flux];
        self.frames.waiting.push_back((balance, frame.cepstra));
    }

    /// What is kept for the next frames of 60 ms: their formants, and where they go.
    pub(super) fn waiting(&mut self) -> (&mut VecDeque<[Formant; FORMANTS]>, &mut Frames) {
        (&mut self.formants, &mut self.frames)
    }

    /// All features; `mean_square` is that of the sound.
    pub(super) fn finish(mut self, mean_square: f64) -> Vec<f64> {
        self.loudnesses.extend(self.loudness.finish());
        let frames = self.frames;
        let heard: Vec<f64> = frames
            .tones
            .iter()
            .copied()
            .filter(|tone| *tone != 0.0)
            .collect();
        let mut all = Features(Vec::with_capacity(FEATURES));
        all.shape(&heard);
        drop(heard);
        all.shape(&self.loudnesses);
        all.moments(self.flux.finish());
        self.cepstra
            .into_iter()
            .for_each(|contour| all.moments(contour.finish()));
        let formants = frames.formants.iter().flatten();
        let spectra = frames.balance.iter().chain(&frames.cepstra);
        for contour in frames.voice.iter().chain(formants).chain(spectra) {
            all.moments(contour.moments());
        }
        for contour in &frames.unvoiced {
            all.extend([contour.moments().mean()]);
        }
        all.extend([tops_per_second(&self.loudnesses)]);
        all.extend(runs(&frames.tones, |tone| tone != 0.0));
        let [_, mean, deviation] = runs(&frames.tones, |tone| tone == 0.0);
        all.extend([mean, deviation]);
        all.extend([10.0 * mean_square.max(1e-20).log10()]);
        all.0
    }
}

impl Frames {
    /// Adds the next frame of 60 ms.
    pub(super) fn add(&mut self, frame: VoicedFrame) {
        let Some((balance, cepstra)) = self.waiting.pop_front() else {
            return;
        };
        let is_voiced = frame.is_voiced();
        self.tones.extend(self.tone.add(frame.semitones));
        let harmonics = &frame.harmonics;
        let voice = [
            frame.jitter,
            frame.shimmer,
            harmonics.harmonicity,
            harmonics.first_to_second,
            harmonics.first_to_third_formant,
        ];
        for (contour, value) in self.voice.iter_mut().zip(voice) {
            contour.add(value);
        }
        let formants = frame.formants.iter().zip(harmonics.levels);
        for (contours, ([hertz, width], level)) in self.formants.iter_mut().zip(formants) {
            let level = if is_voiced { level } else { NO_LEVEL };
            for (contour, value) in contours.iter_mut().zip([*hertz, *width, level]) {
                contour.add(value);
            }
        }
        let only = |wanted: bool, value: f64| if is_voiced == wanted { value } else { 0.0 };
        for (n, value) in balance.into_iter().enumerate() {
            self.balance[n].add(only(true, value));
            self.unvoiced[n].add(only(false, value));
        }
        for (contour, value) in self.cepstra.iter_mut().zip(cepstra) {
            contour.add(only(true, value));
        }
    }
}

/// Features in their order.
struct Features(Vec<f64>);

impl Features {
    fn extend<const N: usize>(&mut self, values: [f64; N]) {
        self.0.extend(values);
    }

    fn moments(&mut self, moments: Moments) {
        self.extend(moments.shares());
    }

    /// Moments, percentiles and slopes.
    fn shape(&mut self, contour: &[f64]) {
        let mut moments = Moments::default();
        contour.iter().for_each(|value| moments.add(*value));
        self.moments(moments);
        self.extend(percentiles(contour));
        self.extend(slopes(contour));
    }
}
