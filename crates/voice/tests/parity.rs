//! Our numbers against the peers' numbers.
//!
//! `golden/` was written by `oracle/peers.py` and needs nothing installed. Where
//! `target/voice-oracle` holds the peers, the same comparisons run on fresh signals; elsewhere those
//! trials are reported as ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_voice::effect::{StretchSettings, time_stretch};
use warpsmith_voice::signal::{TrimSettings, trim};
use warpsmith_voice::{
    Chroma, Derivative, Framing, Istft, Levels, MelFeature, OnsetDetector, Padding, PitchRange,
    PraatPitch, PraatSettings, Preset, Pyin, PyinSettings, Sizes, SpectralShape, Stage, Stft, Yin,
    delta,
};

#[path = "support/npy.rs"]
mod npy;

/// One comparison: the peer's file, and the check.
type Check = (&'static str, fn(&Case, &[f32]) -> Result<(), Failed>);

/// A signal with what the peers said about it.
struct Case {
    rate: u32,
    signal: Vec<f32>,
    directory: PathBuf,
}

const CHECKS: &[Check] = &[
    ("librosa_stft", stft),
    ("librosa_istft", istft),
    ("librosa_mel", |case, peer| {
        // f32 sums of powers: truth.md's bound for mel is relative to the largest.
        close(
            &case.feature(Preset::Librosa, Stage::Mel)?,
            peer,
            2e-6,
            Scale::Largest,
        )
    }),
    ("librosa_log_mel", |case, peer| {
        close(
            &case.feature(Preset::Librosa, Stage::LogMel)?,
            peer,
            1e-3,
            Scale::Unit,
        )
    }),
    ("librosa_mfcc", |case, peer| {
        let ours = case.feature(Preset::Librosa, Stage::Cepstrum { coefficients: 20 })?;
        close(&ours, peer, 1e-3, Scale::Unit)
    }),
    ("librosa_delta", |case, peer| {
        deltas(case, peer, Derivative::First)
    }),
    ("librosa_delta2", |case, peer| {
        deltas(case, peer, Derivative::Second)
    }),
    ("htk_mel", |case, peer| {
        close(
            &case.feature(Preset::Htk, Stage::Mel)?,
            peer,
            2e-6,
            Scale::Largest,
        )
    }),
    ("torchaudio_mel", |case, peer| {
        close(
            &case.feature(Preset::Torchaudio, Stage::Mel)?,
            peer,
            3e-6,
            Scale::Largest,
        )
    }),
    ("torchaudio_mfcc", |case, peer| {
        let ours = case.feature(Preset::Torchaudio, Stage::Cepstrum { coefficients: 20 })?;
        close(&ours, peer, 2e-3, Scale::Unit)
    }),
    ("kaldi_fbank", |case, peer| {
        close(
            &case.feature(Preset::Kaldi, Stage::LogMel)?,
            peer,
            1e-3,
            Scale::Unit,
        )
    }),
    ("whisper_log_mel", |case, peer| {
        let sizes = Preset::Whisper.sizes(case.rate);
        let settings = Preset::Whisper.feature(case.rate, sizes, Stage::LogMel);
        let ours = MelFeature::new(settings)?.compute(&case.signal)?;
        close(&ours, peer, 1e-4, Scale::Unit)
    }),
    ("librosa_yin", yin),
    ("librosa_pyin_voiced", pyin),
    ("librosa_rms", |case, peer| {
        let levels = Levels::measure(&case.signal, case.framing(case.sizes().transform))?;
        close(&levels.rms, peer, 1e-6, Scale::Unit)
    }),
    ("librosa_zcr", |case, peer| {
        let levels = Levels::measure(&case.signal, case.framing(case.sizes().transform))?;
        close(&levels.zero_crossing_rate, peer, 1e-7, Scale::Unit)
    }),
    ("librosa_centroid", |case, peer| {
        close(&case.statistics()?.centroid, peer, 1e-5, Scale::Largest)
    }),
    ("librosa_bandwidth", |case, peer| {
        close(&case.statistics()?.bandwidth, peer, 1e-5, Scale::Largest)
    }),
    ("librosa_rolloff", |case, peer| {
        close(&case.statistics()?.rolloff, peer, 1e-6, Scale::Largest)
    }),
    ("librosa_flatness", |case, peer| {
        close(&case.statistics()?.flatness, peer, 1e-5, Scale::Largest)
    }),
    ("librosa_onset", |case, peer| {
        let strength = case.onsets()?.strength(&case.signal)?;
        // Means of differences of decibels, each good to 1e-4.
        close(&strength, peer, 5e-4, Scale::Unit)
    }),
    ("librosa_onset_frames", |case, peer| {
        let frames = case.onsets()?.onsets(&case.signal)?;
        let frames: Vec<f32> = frames.iter().map(|frame| *frame as f32).collect();
        close(&frames, peer, 0.0, Scale::Unit)
    }),
    ("librosa_chroma", |case, peer| {
        let settings = Preset::Librosa.feature(case.rate, case.sizes(), Stage::Mel);
        let ours = Chroma::new(settings.spectrum, case.rate)?.compute(&case.signal)?;
        close(&ours, peer, 1e-5, Scale::Unit)
    }),
    ("librosa_trim", |case, peer| {
        let settings = TrimSettings {
            range_db: 30.0,
            frame: 1024,
            hop: 256,
        };
        let kept = trim(&case.signal, settings)?;
        close(
            &[kept.start as f32, kept.end as f32],
            peer,
            0.0,
            Scale::Unit,
        )
    }),
    ("librosa_stretch", |case, peer| {
        let settings = StretchSettings {
            transform: 1024,
            hop: 256,
        };
        let ours = time_stretch(&case.signal, 1.5, settings)?;
        // The peer adds phases up in f32: some 1e-5 of a turn after hundreds of them.
        close(&ours, peer, 1e-3, Scale::Largest)
    }),
    ("praat_pitch", praat_pitch),
];

/// What an error is measured against.
enum Scale {
    /// The largest magnitude of the peer's result.
    Largest,
    /// One.
    Unit,
}

fn close(ours: &[f32], peer: &[f32], bound: f32, scale: Scale) -> Result<(), Failed> {
    if ours.len() != peer.len() {
        return Err(format!("{} values, the peer has {}", ours.len(), peer.len()).into());
    }
    let unit = match scale {
        Scale::Largest => peer.iter().fold(0.0f32, |a, b| a.max(b.abs())),
        Scale::Unit => 1.0,
    };
    for (index, (a, b)) in ours.iter().zip(peer).enumerate() {
        let error = (a - b).abs() / unit;
        if error.is_nan() || error > bound {
            return Err(format!("at {index}: {a}, the peer says {b}; error {error:e}").into());
        }
    }
    Ok(())
}

impl Case {
    fn load(directory: &Path, rate: u32) -> Self {
        let (samples, _) = npy::read(&directory.join("signal.npy"));
        Self {
            rate,
            signal: samples.iter().map(|x| x / 32_768.0).collect(),
            directory: directory.to_owned(),
        }
    }

    fn sizes(&self) -> Sizes {
        let (transform, filters) = if self.rate <= 16_000 {
            (512, 80)
        } else {
            (2048, 128)
        };
        Sizes {
            transform,
            hop: self.rate as usize / 100,
            filters,
        }
    }

    fn framing(&self, length: usize) -> Framing {
        Framing {
            length,
            hop: self.rate as usize / 100,
            padding: Padding::CentredZero,
        }
    }

    fn pitch_framing(&self) -> Framing {
        self.framing(if self.rate <= 16_000 { 1024 } else { 2048 })
    }

    fn feature(&self, preset: Preset, stage: Stage) -> Result<Vec<f32>, Failed> {
        let settings = preset.feature(self.rate, self.sizes(), stage);
        Ok(MelFeature::new(settings)?.compute(&self.signal)?)
    }

    fn statistics(&self) -> Result<warpsmith_voice::SpectralStatistics, Failed> {
        let settings = Preset::Librosa.feature(self.rate, self.sizes(), Stage::Mel);
        Ok(SpectralShape::new(settings.spectrum, self.rate)?.measure(&self.signal))
    }

    fn onsets(&self) -> Result<OnsetDetector, Failed> {
        let sizes = self.sizes();
        Ok(OnsetDetector::new(self.rate, sizes.transform, sizes.hop)?)
    }

    fn spectrum(&self) -> Result<Vec<[f32; 2]>, Failed> {
        let settings = Preset::Librosa.feature(self.rate, self.sizes(), Stage::Mel);
        let mut stft = Stft::new(settings.spectrum)?;
        let (bins, frames) = stft.shape(self.signal.len());
        let mut spectrum = vec![[0.0; 2]; bins * frames];
        stft.complex(&self.signal, &mut spectrum)?;
        Ok(spectrum)
    }
}

fn stft(case: &Case, peer: &[f32]) -> Result<(), Failed> {
    close(case.spectrum()?.as_flattened(), peer, 3e-7, Scale::Largest)
}

fn istft(case: &Case, peer: &[f32]) -> Result<(), Failed> {
    let settings = Preset::Librosa.feature(case.rate, case.sizes(), Stage::Mel);
    let mut back = vec![0.0; case.signal.len()];
    Istft::new(settings.spectrum)?.reconstruct(&case.spectrum()?, &mut back)?;
    close(&back, peer, 5e-7, Scale::Unit)
}

fn deltas(case: &Case, peer: &[f32], order: Derivative) -> Result<(), Failed> {
    let mfcc = case.feature(Preset::Librosa, Stage::Cepstrum { coefficients: 20 })?;
    let ours = delta(&mfcc, mfcc.len() / 20, 9, order)?;
    close(&ours, peer, 1e-3, Scale::Unit)
}

fn cents(a: f32, b: f32) -> f32 {
    (1200.0 * (a / b).log2()).abs()
}

/// Whether two frequencies differ by more than `bound` cents; a NaN always does.
fn apart(a: f32, b: f32, bound: f32) -> bool {
    let distance = cents(a, b);
    distance.is_nan() || distance > bound
}

fn yin(case: &Case, peer: &[f32]) -> Result<(), Failed> {
    let mut yin = Yin::new(case.rate, case.pitch_framing(), PitchRange::VOICE, 0.1)?;
    let ours = yin.track(&case.signal)?;
    if ours.len() != peer.len() {
        return Err(format!("{} frames, the peer has {}", ours.len(), peer.len()).into());
    }
    // Noise has flat minima that either rounding may choose: one frame in a thousand may differ,
    // and in a short signal one frame.
    let off = ours
        .iter()
        .zip(peer)
        .filter(|(a, b)| apart(**a, **b, 0.5))
        .count();
    if off > 1.max(peer.len() / 1000) {
        return Err(format!(
            "{off} of {} frames are off by more than 0.5 cent",
            peer.len()
        )
        .into());
    }
    Ok(())
}

fn pyin(case: &Case, voiced: &[f32]) -> Result<(), Failed> {
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(case.rate, case.pitch_framing(), PitchRange::VOICE, settings)?;
    let ours = pyin.track(&case.signal);
    let (frequency, _) = npy::read(&case.directory.join("librosa_pyin_f0.npy"));
    let (probability, _) = npy::read(&case.directory.join("librosa_pyin_probability.npy"));
    if ours.voiced.len() != voiced.len() {
        return Err(format!(
            "{} frames, the peer has {}",
            ours.voiced.len(),
            voiced.len()
        )
        .into());
    }
    let same = ours
        .voiced
        .iter()
        .zip(voiced)
        .filter(|(a, b)| **a == (**b > 0.5))
        .count();
    if (same as f64) < 0.995 * voiced.len() as f64 {
        return Err(format!("voicing agrees on {same} of {} frames", voiced.len()).into());
    }
    let both = (0..voiced.len()).filter(|&f| ours.voiced[f] && voiced[f] > 0.5);
    for frame in both {
        let distance = cents(ours.frequency[frame], frequency[frame]);
        // The grid is 10 cents.
        if apart(ours.frequency[frame], frequency[frame], 10.01) {
            return Err(format!("frame {frame}: {distance} cents from the peer").into());
        }
    }
    close(&ours.probability, &probability, 2e-2, Scale::Unit)
}

/// Rows of time, frequency and strength.
fn praat_pitch(case: &Case, peer: &[f32]) -> Result<(), Failed> {
    let hop = case.rate as usize / 100;
    let settings = PraatSettings::default();
    let ours = PraatPitch::new(case.rate, hop, PitchRange::VOICE, settings)?.track(&case.signal);
    let times: Vec<f32> = ours.seconds.iter().map(|seconds| *seconds as f32).collect();
    let column = |n: usize| peer.chunks_exact(3).map(move |row| row[n]);
    close(&times, &column(0).collect::<Vec<_>>(), 1e-5, Scale::Unit)?;
    let frames = times.len();
    let voiced = |hz: f32| hz > 0.0;
    let pairs = || ours.frequency.iter().copied().zip(column(1));
    let same = pairs().filter(|(a, b)| voiced(*a) == voiced(*b)).count();
    // 99.5 % of the frames; in a short signal one may differ.
    if frames - same > 1.max(frames / 200) {
        return Err(format!("voicing agrees on {same} of {frames} frames").into());
    }
    let mut distances: Vec<f32> = pairs()
        .filter(|(a, b)| voiced(*a) && voiced(*b))
        .map(|(a, b)| cents(a, b))
        .collect();
    distances.sort_unstable_by(f32::total_cmp);
    let median = distances[distances.len() / 2];
    if median.is_nan() || median > 0.1 {
        return Err(format!("the median distance is {median} cents").into());
    }
    Ok(())
}

fn trials(kind: &str, directory: PathBuf, rate: u32, only_present: bool) -> Vec<Trial> {
    CHECKS
        .iter()
        .filter(|(name, _)| !only_present || directory.join(format!("{name}.npy")).exists())
        .map(|&(name, check)| {
            let directory = directory.clone();
            Trial::test(format!("{kind}::{name}"), move || {
                let (peer, _) = npy::read(&directory.join(format!("{name}.npy")));
                check(&Case::load(&directory, rate), &peer)
            })
        })
        .collect()
}

fn main() {
    let arguments = Arguments::from_args();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = trials("golden", here.join("tests/golden"), 16_000, true);
    assert!(all.len() >= 24, "golden files are missing");
    let python = here.join("../../target/voice-oracle/bin/python");
    for (rate, seconds, seed) in [(16_000, "4", "7"), (44_100, "2", "8")] {
        let kind = format!("oracle_{rate}");
        if !python.exists() {
            let missing = || Err("`target/voice-oracle` is not set up".into());
            all.push(Trial::test(kind, missing).with_ignored_flag(true));
            continue;
        }
        let directory = here.join(format!("../../target/voice-oracle/out-{rate}-{seed}"));
        let script = here.join("tests/oracle/peers.py");
        if !directory.join("signal.npy").exists() || !directory.join("torchaudio_mfcc.npy").exists()
        {
            let run = Command::new(&python)
                .arg(&script)
                .arg(&directory)
                .args([&rate.to_string(), seconds, seed])
                .status();
            assert!(
                run.is_ok_and(|status| status.success()),
                "{} failed",
                script.display()
            );
        }
        all.extend(trials(&kind, directory, rate, true));
    }
    libtest_mimic::run(&arguments, all).exit();
}
