//! Pitch of ragged signals on the GPU and on the CPU, frame by frame.

use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    CrepeNetwork, CrepePitch, Framing, HqPitch, PeriodicityVad, PitchRange, PraatPitch,
    PraatSettings, Pyin, PyinSettings, Swipe, Weights, crepe_on_cuda, hq_on_cuda,
    periodicity_vad_on_cuda, praat_on_cuda, pyin_on_cuda, swipe_on_cuda,
};
use warpsmith_workload::random::Random;

use crate::audit::audited;

/// Pitch of the signals, with pauses cut into them. pYIN's tracks are the CPU's, but in signals with a frame
/// that rounding decides. Of Praat's, the voicing is the CPU's and the frequency within a tenth of a cent in all
/// frames but one in two hundred; of `hq`, within half a cent in all but one in a thousand.
pub(crate) fn tracks_agree(
    gpu: &CudaDevice,
    rate: u32,
    framing: Framing,
    signals: &[&[f32]],
) -> Result<String, Box<dyn std::error::Error>> {
    let pauses: Vec<Vec<f32>> = signals
        .iter()
        .map(|signal| {
            let quiet = |n: usize| n / (rate as usize / 5) % 3 == 2;
            let samples = signal.iter().enumerate();
            samples
                .map(|(n, x)| if quiet(n) { x * 0.001 } else { *x })
                .collect()
        })
        .collect();
    let signals: Vec<&[f32]> = pauses.iter().map(|signal| &signal[..]).collect();
    let range = PitchRange::VOICE;
    let (audit, mut lines) = audited(gpu, rate, framing, &signals)?;
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(rate, framing, range, settings)?;
    let ours = pyin_on_cuda(gpu, rate, framing, range, settings, &signals)?;
    for (signal, (ours, samples)) in ours.into_iter().zip(&signals).enumerate() {
        let theirs = pyin.track(samples);
        let same = ours.frequency == theirs.frequency && ours.voiced == theirs.voiced;
        if !same && !audit.undecided.iter().any(|frame| frame.signal == signal) {
            return Err(
                format!("signal {signal}: another track, and every decision is clear").into(),
            );
        }
        for (frame, (a, b)) in ours.frequency.iter().zip(&theirs.frequency).enumerate() {
            if a != b {
                lines.push_str(&format!(
                    "  signal {signal} of {} samples, frame {frame}: {a} Hz, on the CPU {b}\n",
                    samples.len()
                ));
            }
        }
    }
    let settings = PraatSettings::default();
    let mut praat = PraatPitch::new(rate, framing.hop, range, settings)?;
    let ours = praat_on_cuda(gpu, rate, framing.hop, range, settings, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, praat.track(samples).frequency));
    }
    lines.push_str(&agreement(&format!("{rate} Hz Praat"), &pairs, 0.1, 200)?);
    for noise in [0.0, 0.1, 0.5] {
        lines.push_str(&hq_agrees(gpu, rate, noise)?);
    }
    let threshold = Swipe::THRESHOLD;
    let mut swipe = Swipe::new(rate, framing.hop, range, threshold)?;
    let ours = swipe_on_cuda(gpu, rate, framing.hop, range, threshold, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, swipe.track(samples).frequency));
    }
    // A step of its grid.
    lines.push_str(&agreement(&format!("{rate} Hz SWIPE'"), &pairs, 1.6, 200)?);
    // A network needs weights that somebody trained.
    if let Some(file) = std::env::var_os("WARPSMITH_CREPE") {
        let weights = Weights::read(file.as_ref())?;
        let mut crepe = CrepePitch::new(&CrepeNetwork::new(&weights)?, rate, framing.hop, range)?;
        let ours = crepe_on_cuda(gpu, &weights, rate, framing.hop, range, &signals)?;
        let mut pairs = Vec::new();
        for (ours, samples) in ours.into_iter().zip(&signals) {
            pairs.push((ours.frequency, crepe.track(samples).frequency));
        }
        lines.push_str(&agreement(&format!("{rate} Hz CREPE"), &pairs, 5.0, 200)?);
    }
    let mut vad = PeriodicityVad::new(rate)?;
    let ours = periodicity_vad_on_cuda(gpu, rate, &signals)?;
    let same = signals
        .iter()
        .zip(&ours)
        .filter(|(signal, ours)| vad.decide(signal) == **ours);
    let (same, all) = (same.count(), ours.len());
    lines.push_str(&format!(
        "signals {rate} Hz periodicity: {same} of {all} signals have the CPU's decisions\n"
    ));
    if same + 1 < all {
        return Err(lines.into());
    }
    Ok(lines)
}

/// The `hq` tracks of voices that glide and pause, under noise of this amplitude.
fn hq_agrees(
    gpu: &CudaDevice,
    rate: u32,
    noise: f64,
) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let voices: Vec<Vec<f32>> = (0..10)
        .map(|_| {
            let base = 80.0 + 300.0 * random.unit();
            let (width, speed) = (0.5 * random.unit(), 1.0 + 5.0 * random.unit());
            let mut phase = 0.0;
            (0..4 * rate)
                .map(|n| {
                    let t = f64::from(n) / f64::from(rate);
                    phase += base * (width * (speed * t).sin()).exp2() / f64::from(rate);
                    let angle = std::f64::consts::TAU * phase;
                    let tone: f64 = (1..7)
                        .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                        .sum();
                    let loud = if t % 0.9 < 0.6 { 0.2 } else { 0.0002 };
                    (loud * tone + noise * (random.unit() - 0.5)) as f32
                })
                .collect()
        })
        .collect();
    let signals: Vec<&[f32]> = voices.iter().map(|signal| &signal[..]).collect();
    let (hop, range) = (rate as usize / 100, PitchRange::VOICE);
    let mut hq = HqPitch::new(rate, hop, range)?;
    let ours = hq_on_cuda(gpu, rate, hop, range, &signals)?;
    let mut pairs = Vec::new();
    for (ours, samples) in ours.into_iter().zip(&signals) {
        pairs.push((ours.frequency, hq.track(samples).frequency));
    }
    // Which of two looks is believed is decided at thresholds, and in steep glides they lie a few cents apart:
    // rounding decided eight of 3,950 such frames.
    agreement(&format!("{rate} Hz hq, noise {noise}"), &pairs, 0.5, 200)
}

/// Holds tracks of GPU and CPU against each other: at most one frame in `rarely` may differ in voicing, and one
/// by more than `bound` cents.
fn agreement(
    name: &str,
    pairs: &[(Vec<f32>, Vec<f32>)],
    bound: f32,
    rarely: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let (mut frames, mut voicing, mut apart, mut worst) = (0, 0, 0, 0.0f32);
    let mut places = String::new();
    for (signal, (ours, theirs)) in pairs.iter().enumerate() {
        if ours.len() != theirs.len() {
            return Err(format!("{name} has another number of frames").into());
        }
        for (frame, (a, b)) in ours.iter().zip(theirs).enumerate() {
            frames += 1;
            if (*a > 0.0) != (*b > 0.0) {
                voicing += 1;
            } else {
                let cents = if *a > 0.0 {
                    (1200.0 * (a / b).log2()).abs()
                } else {
                    0.0
                };
                if cents <= bound {
                    worst = worst.max(cents);
                    continue;
                }
                apart += 1;
            }
            places.push_str(&format!(
                "  signal {signal}, frame {frame} of {}: {a} Hz, on the CPU {b}\n",
                ours.len()
            ));
        }
    }
    let line = format!(
        "signals {name}: of {frames} frames {voicing} differ in voicing, {apart} by more than {bound} \
         cents, the others by at most {worst:.4}\n{places}"
    );
    if voicing * rarely > frames || apart * rarely > frames {
        return Err(line.into());
    }
    Ok(line)
}
