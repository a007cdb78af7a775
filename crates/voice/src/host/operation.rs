//! The operations that have no CUDA version, by name, each planned for a sample rate.

use warpsmith_signal::{
    Audio, Biquad, Cascade, Convolver, EnergyVad, Framing, Levels, Padding, Result, Reverb,
    ReverbSettings, SignalError, integrated_loudness,
};

use crate::effect::{DenoiseSettings, Denoiser, StretchSettings, pitch_shift, time_stretch};
use crate::mel::MelFeature;
use crate::mel::{Preset, Sizes, Stage};
use crate::pitch::{PitchRange, PraatPitch, PraatSettings};
use crate::vad::{StatisticalSettings, StatisticalVad};
use warpsmith_signal::{FrameMillis, WebrtcMode, WebrtcVad};

/// What an operation says of a signal.
pub(super) type Plan = Box<dyn FnMut(&[f32]) -> Result<Vec<f32>> + Send>;

/// Plans an operation.
type Planner = fn(u32) -> Result<Plan>;

/// Every operation, with what plans it.
const OPERATIONS: [(&str, Planner); 12] = [
    ("loudness", |rate| {
        Ok(Box::new(move |signal| {
            let channels = vec![signal.to_vec()];
            let loudness = integrated_loudness(&Audio {
                sample_rate: rate,
                channels,
            })?;
            Ok(vec![loudness as f32])
        }))
    }),
    ("levels", |rate| {
        let framing = Framing {
            length: if rate > 16_000 { 2048 } else { 1024 },
            hop: rate as usize / 100,
            padding: Padding::CentredZero,
        };
        Ok(Box::new(move |signal| {
            let levels = Levels::measure(signal, framing)?;
            Ok([levels.rms, levels.peak, levels.zero_crossing_rate].concat())
        }))
    }),
    ("fbank", |rate| {
        let settings = Preset::Kaldi.feature(rate, Sizes::for_speech(rate), Stage::LogMel);
        let mut feature = MelFeature::new(settings)?;
        Ok(Box::new(move |signal| feature.compute(signal)))
    }),
    ("harmonicity", |rate| {
        let range = PitchRange {
            low_hz: 75.0,
            high_hz: f64::from(rate) / 2.0,
        };
        let settings = PraatSettings::harmonicity();
        let mut pitch = PraatPitch::new(rate, rate as usize / 100, range, settings)?;
        Ok(Box::new(move |signal| Ok(pitch.track(signal).strength)))
    }),
    ("vad-energy", |rate| {
        let hop = rate as usize / 100;
        Ok(Box::new(move |signal| {
            Ok(numbers(&EnergyVad::new(6.0).decide(signal, hop)))
        }))
    }),
    ("vad-statistical", |rate| {
        let mut vad = StatisticalVad::new(rate, StatisticalSettings::default())?;
        Ok(Box::new(move |signal| Ok(numbers(&vad.decide(signal)?))))
    }),
    ("vad-webrtc", |rate| {
        let mode = WebrtcMode::Aggressive;
        Ok(Box::new(move |signal| {
            let decisions = WebrtcVad::decide(signal, rate, mode, FrameMillis::Ten)?;
            Ok(numbers(&decisions))
        }))
    }),
    ("stretch", |rate| {
        let settings = StretchSettings::for_voice(rate);
        Ok(Box::new(move |signal| time_stretch(signal, 1.5, settings)))
    }),
    ("pitch-shift", |rate| {
        let settings = StretchSettings::for_voice(rate);
        Ok(Box::new(move |signal| pitch_shift(signal, 3.0, settings)))
    }),
    ("denoise", |rate| {
        let mut denoiser = Denoiser::new(rate, DenoiseSettings::default())?;
        Ok(Box::new(move |signal| denoiser.process(signal, None)))
    }),
    ("biquad", |rate| {
        let section = Biquad::low_pass(rate, 1000.0, 0.7)?;
        Ok(Box::new(move |signal| {
            let mut out = signal.to_vec();
            Cascade::new(vec![section]).process(&mut out);
            Ok(out)
        }))
    }),
    ("reverb", |rate| {
        // A room's answer of a second, and the signal in it.
        let mut response = vec![0.0; rate as usize];
        response[0] = 1.0;
        Reverb::new(rate, ReverbSettings::default())?.process(&mut response);
        let mut room = Convolver::new(&response)?;
        Ok(Box::new(move |signal| Ok(room.convolve(signal))))
    }),
];

/// The names, for a parameter.
pub(super) const NAMES: &[&str] = &{
    let mut names = [""; OPERATIONS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = OPERATIONS[n].0;
        n += 1;
    }
    names
};

/// The operation of this name, for signals at `rate`.
pub(super) fn plan(name: &str, rate: u32) -> Result<Plan> {
    match OPERATIONS.iter().find(|(known, _)| *known == name) {
        Some((_, planner)) => planner(rate),
        None => Err(SignalError::parameter(
            "operation",
            name,
            format!("there are {}", NAMES.join(", ")),
        )),
    }
}

fn numbers(decisions: &[bool]) -> Vec<f32> {
    let numbers = decisions.iter().map(|speech| f32::from(u8::from(*speech)));
    numbers.collect()
}
