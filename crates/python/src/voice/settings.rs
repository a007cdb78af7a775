//! Settings as Python names them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::{
    CepstrumSettings, Compression, Conditioning, ConstantQSettings, FeatureSettings, Framing,
    Layout, Lifter, MelNorm, MelScale, MelSettings, MelSlope, Padding, SpectrumSettings, Symmetry,
    Window,
};

use super::refused;

/// Frames as Python names them: `n_fft`, `hop_length`, `win_length`, the window with its shape, and what
/// lies beyond the ends.
#[derive(FromPyObject)]
pub(crate) struct Frames(usize, usize, usize, String, f64, String);

impl Frames {
    pub(super) fn spectrum(&self) -> PyResult<SpectrumSettings> {
        let Self(transform, hop, window_length, window, shape, beyond) = self;
        let window = match window.as_str() {
            "hann" => Window::Hann,
            "hamming" => Window::Hamming,
            "blackman" => Window::Blackman,
            "povey" => Window::Povey,
            "boxcar" => Window::Rectangular,
            "kaiser" => Window::Kaiser { beta: *shape },
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no window `{other}`: hann, hamming, blackman, povey, boxcar and ('kaiser', beta) \
                     are known"
                )));
            }
        };
        SpectrumSettings {
            framing: framing(*transform, *hop, beyond)?,
            transform: *transform,
            window,
            window_length: *window_length,
            symmetry: Symmetry::Periodic,
            conditioning: Conditioning::default(),
        }
        .checked()
        .map_err(refused)
    }
}

pub(super) fn framing(length: usize, hop: usize, beyond: &str) -> PyResult<Framing> {
    let padding = match beyond {
        "inside" => Padding::Inside,
        "constant" => Padding::CentredZero,
        "reflect" => Padding::CentredReflect,
        other => {
            return Err(PyValueError::new_err(format!(
                "pad_mode = `{other}` cannot be used: `constant` and `reflect` are known"
            )));
        }
    };
    let framing = Framing {
        length,
        hop,
        padding,
    };
    framing.checked().map_err(refused)
}

/// Filters as Python names them: `n_mels`, `fmin`, `fmax`, `htk`, and whether `norm` is Slaney's.
#[derive(FromPyObject)]
pub(crate) struct Bank(pub(super) usize, f64, Option<f64>, bool, bool);

impl Bank {
    pub(super) fn settings(&self) -> MelSettings {
        let Self(filters, low_hz, high_hz, htk, area) = *self;
        MelSettings {
            filters,
            low_hz,
            high_hz,
            scale: if htk { MelScale::Htk } else { MelScale::Slaney },
            norm: if area { MelNorm::Area } else { MelNorm::Peak },
            slope: MelSlope::Hertz,
        }
    }
}

/// Mel powers; with `decibels` their logarithms, within `top_db` of the largest; with `coefficients` their
/// cepstra under a lifter.
pub(super) fn mel_settings(
    sample_rate: u32,
    frames: &Frames,
    bank: &Bank,
    decibels: bool,
    top_db: Option<f32>,
    coefficients: Option<usize>,
    lifter: f64,
) -> PyResult<FeatureSettings> {
    Ok(FeatureSettings {
        sample_rate,
        gain: 1.0,
        spectrum: frames.spectrum()?,
        mel: bank.settings(),
        compression: match decibels {
            true => Compression::Decibel { floor: 1e-10 },
            false => Compression::None,
        },
        dynamic_range: top_db,
        scale: (1.0, 0.0),
        cepstrum: coefficients.map(|coefficients| CepstrumSettings {
            coefficients,
            lifter: match lifter > 0.0 {
                true => Lifter::FromOne { length: lifter },
                false => Lifter::None,
            },
        }),
        drop_last_frame: false,
        layout: Layout::RowsFirst,
    })
}

/// Constant-Q filters, from C1 on unless a lowest frequency is given.
pub(super) fn constant_q_settings(
    hop: usize,
    lowest_hz: Option<f64>,
    bins: usize,
    per_octave: usize,
    gamma_hz: f64,
) -> ConstantQSettings {
    let piano = ConstantQSettings::piano(hop);
    ConstantQSettings {
        lowest_hz: lowest_hz.unwrap_or(piano.lowest_hz),
        bins,
        per_octave,
        gamma_hz,
        ..piano
    }
}
