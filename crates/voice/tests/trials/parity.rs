//! Our numbers against the peers' numbers.
//!
//! `golden/` was written by `oracle/peers.py` and needs nothing installed. Where
//! `target/voice-oracle` holds the peers, the same comparisons run on fresh signals; elsewhere those
//! trials are reported as ignored. With WARPSMITH_BLESS=1 what was measured is written to
//! `docs/benchmarks/voice-parity.md`; otherwise that page must name every comparison.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::npy;
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use warpsmith_voice::effect::{StretchSettings, time_stretch};
use warpsmith_voice::formants::{FormantSettings, FormantTracker};
use warpsmith_voice::signal::{TrimSettings, trim};
use warpsmith_voice::{
    Chroma, ConstantQ, ConstantQSettings, Derivative, FrameMillis, Framing, Istft, Levels,
    MelFeature, OnsetDetector, Padding, PitchRange, PraatPitch, PraatSettings, Preset, Pyin,
    PyinSettings, Sizes, SpectralContrast, SpectralShape, Stage, Stft, Swipe, WebrtcMode,
    WebrtcVad, Yin, delta, estimate_tuning,
};

/// One comparison: the peer's file, and the check.
type Check = (&'static str, fn(&Case, &[f32]) -> Result<Agreement, Failed>);

/// How far we are from a peer, and how far we may be.
struct Agreement {
    error: f32,
    bound: f32,
    /// What the two numbers are.
    of: &'static str,
}

/// What was measured, by comparison and by signal.
static MEASURED: Mutex<Vec<(&'static str, String, Agreement)>> = Mutex::new(Vec::new());

/// An agreement within its bound.
fn within(error: f32, bound: f32, of: &'static str) -> Result<Agreement, Failed> {
    if error.is_nan() || error > bound {
        return Err(format!("{error:e} ({of}), at most {bound:e}").into());
    }
    Ok(Agreement { error, bound, of })
}

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
    ("sptk_swipe", swipe),
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
    ("librosa_tuning", |case, peer| {
        let settings = Preset::Librosa.feature(case.rate, case.sizes(), Stage::Mel);
        let tuning = estimate_tuning(&case.signal, settings.spectrum, case.rate)?;
        close(&[tuning as f32], peer, 1e-6, Scale::Unit)
    }),
    ("librosa_tuned_chroma", |case, peer| {
        let spectrum = Preset::Librosa
            .feature(case.rate, case.sizes(), Stage::Mel)
            .spectrum;
        let tuning = estimate_tuning(&case.signal, spectrum, case.rate)?;
        let ours = Chroma::tuned(spectrum, case.rate, tuning)?.compute(&case.signal)?;
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
        // Our spectra are f32: every bin is off by some 1e-7 of the largest, which for a faint one is a
        // phase of its own, and the vocoder adds hundreds of them up. The peer is asked in f64, for in
        // f32 its own sums of phases are off by 1e-3.
        close(&ours, peer, 1e-4, Scale::Largest)
    }),
    ("praat_pitch", praat_pitch),
    ("praat_formants", praat_formants),
    ("praat_harmonicity", praat_harmonicity),
    ("webrtc_decisions", webrtc),
    ("librosa_cqt", |case, peer| constant_q(case, peer, 0.0)),
    ("librosa_vqt", |case, peer| constant_q(case, peer, 20.0)),
    ("librosa_contrast", |case, peer| {
        let settings = Preset::Librosa.feature(case.rate, case.sizes(), Stage::Mel);
        let ours = SpectralContrast::new(settings.spectrum, case.rate)?.compute(&case.signal)?;
        // Decibels of magnitudes that are good to 3e-7 of the largest: a valley 80 dB down is good
        // to 3e-3 of itself.
        close(&ours, peer, 2e-2, Scale::Unit)
    }),
    ("numpy_slope", |case, peer| {
        close(&case.statistics()?.slope, peer, 1e-5, Scale::Largest)
    }),
];

/// What an error is measured against.
enum Scale {
    /// The largest magnitude of the peer's result.
    Largest,
    /// One.
    Unit,
}

fn close(ours: &[f32], peer: &[f32], bound: f32, scale: Scale) -> Result<Agreement, Failed> {
    if ours.len() != peer.len() {
        return Err(format!("{} values, the peer has {}", ours.len(), peer.len()).into());
    }
    let (unit, of) = match scale {
        Scale::Largest => (
            peer.iter().fold(0.0f32, |a, b| a.max(b.abs())),
            "largest difference over the largest value",
        ),
        Scale::Unit => (1.0, "largest difference"),
    };
    let mut worst = 0.0f32;
    for (index, (a, b)) in ours.iter().zip(peer).enumerate() {
        let error = (a - b).abs() / unit;
        if error.is_nan() || error > bound {
            return Err(format!("at {index}: {a}, the peer says {b}; error {error:e}").into());
        }
        worst = worst.max(error);
    }
    within(worst, bound, of)
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

fn stft(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    close(case.spectrum()?.as_flattened(), peer, 3e-7, Scale::Largest)
}

fn istft(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    let settings = Preset::Librosa.feature(case.rate, case.sizes(), Stage::Mel);
    let mut back = vec![0.0; case.signal.len()];
    Istft::new(settings.spectrum)?.reconstruct(&case.spectrum()?, &mut back)?;
    close(&back, peer, 5e-7, Scale::Unit)
}

fn deltas(case: &Case, peer: &[f32], order: Derivative) -> Result<Agreement, Failed> {
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

fn yin(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
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
    within(
        off as f32,
        1.max(peer.len() / 1000) as f32,
        "frames off by more than 0.5 cent",
    )
}

fn pyin(case: &Case, voiced: &[f32]) -> Result<Agreement, Failed> {
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
fn praat_pitch(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
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
    let distances: Vec<f32> = pairs()
        .filter(|(a, b)| voiced(*a) && voiced(*b))
        .map(|(a, b)| cents(a, b))
        .collect();
    within(median(distances)?, 0.1, "median distance, cents")
}

/// Frequencies, 0 where SPTK hears no voice.
fn swipe(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    let hop = case.rate as usize / 100;
    let mut swipe = Swipe::new(case.rate, hop, PitchRange::VOICE, Swipe::THRESHOLD)?;
    let ours = swipe.track(&case.signal).frequency;
    if ours.len() != peer.len() {
        return Err(format!("{} frames, the peer has {}", ours.len(), peer.len()).into());
    }
    let pairs = || ours.iter().copied().zip(peer.iter().copied());
    let same = pairs().filter(|(a, b)| (*a > 0.0) == (*b > 0.0)).count();
    // 99 % of the frames: of a channel above its last bin SPTK reads what happens to lie in memory there.
    if (same as f64) < 0.99 * peer.len() as f64 {
        return Err(format!("voicing agrees on {same} of {} frames", peer.len()).into());
    }
    let both = pairs().filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let farthest = both.map(|(a, b)| cents(a, b)).reduce(f32::max);
    let farthest = farthest.ok_or("no frame is voiced in both")?;
    within(farthest, 5.0, "largest distance, cents")
}

fn median(mut values: Vec<f32>) -> Result<f32, Failed> {
    values.sort_unstable_by(f32::total_cmp);
    let middle = values.get(values.len() / 2);
    middle.copied().ok_or_else(|| "nothing to compare".into())
}

/// Rows of the first three formants; Praat leaves out what it does not find.
fn praat_formants(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    let tracker = FormantTracker::new(case.rate, FormantSettings::default())?;
    let ours = tracker.track(&case.signal);
    if 3 * ours.len() != peer.len() {
        return Err(format!("{} frames, the peer has {}", ours.len(), peer.len() / 3).into());
    }
    let mut worst = 0.0f32;
    for formant in 0..3 {
        let distances = ours
            .iter()
            .zip(peer.chunks_exact(3))
            .filter_map(|(ours, peer)| {
                let found = ours.get(formant)?.frequency;
                (!peer[formant].is_nan()).then(|| (found - peer[formant]).abs())
            });
        worst = worst.max(median(distances.collect())?);
    }
    within(worst, 2.0, "largest median distance of F1 to F3, Hz")
}

/// Rows of time and ratio, dB; −200 where Praat hears no periodicity.
fn praat_harmonicity(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    let range = PitchRange {
        low_hz: 75.0,
        high_hz: f64::from(case.rate) / 2.0,
    };
    let hop = case.rate as usize / 100;
    let ours = PraatPitch::new(case.rate, hop, range, PraatSettings::harmonicity())?
        .track(&case.signal)
        .harmonicity_db();
    if 2 * ours.len() != peer.len() {
        return Err(format!("{} frames, the peer has {}", ours.len(), peer.len() / 2).into());
    }
    let distances = ours
        .iter()
        .zip(peer.chunks_exact(2))
        .filter(|(ours, peer)| **ours > -200.0 && peer[1] > -200.0)
        .map(|(ours, peer)| (ours - peer[1]).abs());
    within(median(distances.collect())?, 0.05, "median distance, dB")
}

/// Decisions at four rates, in four modes, for three lengths of frame: the same bits.
fn webrtc(case: &Case, peer: &[f32]) -> Result<Agreement, Failed> {
    let mut ours = Vec::new();
    for rate in [8_000, 16_000, 32_000, 48_000] {
        for mode in [
            WebrtcMode::Quality,
            WebrtcMode::LowBitrate,
            WebrtcMode::Aggressive,
            WebrtcMode::VeryAggressive,
        ] {
            for length in [FrameMillis::Ten, FrameMillis::Twenty, FrameMillis::Thirty] {
                let decisions = WebrtcVad::decide(&case.signal, rate, mode, length)?;
                ours.extend(decisions.iter().map(|speech| f32::from(u8::from(*speech))));
            }
        }
    }
    close(&ours, peer, 0.0, Scale::Unit)
}

fn constant_q(case: &Case, peer: &[f32], gamma_hz: f64) -> Result<Agreement, Failed> {
    let settings = ConstantQSettings {
        gamma_hz,
        ..ConstantQSettings::piano(case.rate as usize / 100)
    };
    let (ours, frames) = ConstantQ::new(case.rate, settings)?.compute(&case.signal);
    // The peer halves the rate with a filter of its own. Inside, passbands agree to some 1e-5; where
    // the signal begins and ends filters ring, each in its own way: the peer with its next better
    // filter is 4e-3 from itself there.
    let edge = 60;
    if frames <= 2 * edge {
        return close(ours.as_flattened(), peer, 5e-3, Scale::Largest);
    }
    let inside = |values: &[f32]| -> Vec<f32> {
        let rows = values.chunks_exact(2 * frames);
        rows.flat_map(|row| row[2 * edge..2 * (frames - edge)].to_vec())
            .collect()
    };
    // A wider filter hears the ringing from further away.
    let bound = if gamma_hz > 0.0 { 2e-4 } else { 1e-4 };
    close(ours.as_flattened(), peer, 5e-3, Scale::Largest)?;
    close(
        &inside(ours.as_flattened()),
        &inside(peer),
        bound,
        Scale::Largest,
    )
}

fn comparisons(kind: &str, directory: PathBuf, rate: u32, only_present: bool) -> Vec<Trial> {
    CHECKS
        .iter()
        .filter(|(name, _)| !only_present || directory.join(format!("{name}.npy")).exists())
        .map(|&(name, check)| {
            let (directory, signal) = (directory.clone(), kind.to_owned());
            Trial::test(format!("{kind}::{name}"), move || {
                let (peer, _) = npy::read(&directory.join(format!("{name}.npy")));
                let agreement = check(&Case::load(&directory, rate), &peer)?;
                let mut measured = MEASURED.lock().unwrap_or_else(|broken| broken.into_inner());
                measured.push((name, signal, agreement));
                Ok(())
            })
        })
        .collect()
}

/// The page of what was measured: a row to a comparison, a column to a signal.
fn page() -> String {
    let measured = MEASURED.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut page = String::from(
        "# Voice operations against their peers\n\n\
         Written by `WARPSMITH_BLESS=1 cargo test -p warpsmith-voice --test trials` after \
         `crates/voice/tests/oracle/set_up.sh`. Peers: librosa 0.11.0, torchaudio 2.11.0, \
         kaldi-native-fbank 1.22.4, Praat by way of praat-parselmouth 0.4.7, SPTK by way of pysptk \
         1.0.1, webrtcvad-wheels 2.0.14, Whisper's recipe in PyTorch, and NumPy. `golden` is half a second at 16 kHz, kept in \
         the repository; the others are fresh signals of 4 s at 16 kHz and 2 s at 44.1 kHz. Last \
         digits depend on the machine.\n\n\
         | comparison | what the number is | bound | golden | 16 kHz | 44.1 kHz |\n\
         |---|---|---|---|---|---|\n",
    );
    for (name, _) in CHECKS {
        let of = |signal: &str| {
            let mut rows = measured.iter();
            rows.find(|row| row.0 == *name && row.1 == signal)
                .map(|row| &row.2)
        };
        let signals = ["golden", "oracle_16000", "oracle_44100"].map(of);
        let Some(any) = signals.iter().flatten().next() else {
            continue;
        };
        let cells =
            signals.map(|cell| cell.map_or("–".into(), |one| format!("{:.1e}", one.error)));
        page.push_str(&format!(
            "| `{name}` | {} | {:e} | {} |\n",
            any.of,
            any.bound,
            cells.join(" | ")
        ));
    }
    page
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn docs() -> PathBuf {
    root().join("docs/benchmarks/voice-parity.md")
}

fn python() -> PathBuf {
    root().join("target/voice-oracle/bin/python")
}

fn blessing() -> bool {
    std::env::var_os("WARPSMITH_BLESS").is_some()
}

pub(crate) fn trials() -> Vec<Trial> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = comparisons("golden", here.join("tests/golden"), 16_000, true);
    assert!(all.len() >= 30, "golden files are missing");
    let python = python();
    for (rate, seconds, seed) in [(16_000, "4", "7"), (44_100, "2", "8")] {
        let kind = format!("oracle_{rate}");
        if !python.exists() {
            let missing = || Err("`target/voice-oracle` is not set up".into());
            all.push(Trial::test(kind, missing).with_ignored_flag(true));
            continue;
        }
        let directory = here.join(format!("../../target/voice-oracle/out-{rate}-{seed}"));
        let script = here.join("tests/oracle/peers.py");
        // What a script of before wrote lacks what a comparison of now needs.
        let complete = ["signal", "sptk_swipe", "torchaudio_mfcc"]
            .iter()
            .all(|name| directory.join(format!("{name}.npy")).exists());
        if !complete {
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
        all.extend(comparisons(&kind, directory, rate, true));
    }
    let page = Trial::test("the_page_names_every_comparison", || {
        let text = std::fs::read_to_string(docs())?;
        let missing = CHECKS
            .iter()
            .find(|(name, _)| !text.contains(&format!("`{name}`")));
        missing.map_or(Ok(()), |(name, _)| {
            Err(format!("`{name}` is missing").into())
        })
    });
    // It is written after the trials.
    all.push(page.with_ignored_flag(blessing()));
    all
}

/// Writes the page with `WARPSMITH_BLESS=1`, where every comparison was made.
pub(crate) fn bless(arguments: &Arguments, conclusion: &Conclusion) {
    if blessing() && !conclusion.has_failed() && python().exists() && arguments.filter.is_none() {
        let docs = docs();
        let written = std::fs::create_dir_all(docs.parent().unwrap_or(&docs))
            .and_then(|()| std::fs::write(&docs, page()));
        assert!(written.is_ok(), "cannot write {}", docs.display());
    }
}
