//! Ragged signals of a user, the empty and the shortest among them, on the GPU and on the CPU.

use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    CONTRAST_BANDS, Chroma, ConstantQ, ConstantQSettings, FeatureSettings, Framing, Layout,
    MelFeature, OnsetDetector, PITCH_CLASSES, Padding, PitchRange, Preset, Sizes, SpectralContrast,
    SpectralShape, SpectralStatistics, Stage, Yin, chroma_on_cuda, constant_q_on_cuda,
    contrast_on_cuda, mel_on_cuda, onset_strength_on_cuda, statistics_on_cuda, yin_on_cuda,
};
use warpsmith_workload::random::Random;

use crate::tracks::tracks_agree;

pub(crate) fn agree(gpu: &CudaDevice) -> Result<String, Box<dyn std::error::Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let mut random = Random::seeded(now.subsec_nanos().into());
    let mut lines = String::new();
    for rate in [16_000u32, 44_100] {
        let lengths = [40_000, 0, 1, 159, 160, 511, 512, 513, 12_345, 0, 16_001];
        let signals: Vec<Vec<f32>> = lengths
            .iter()
            .map(|length| {
                let base = 90.0 + 200.0 * random.unit();
                (0..*length)
                    .map(|n| {
                        let angle = std::f64::consts::TAU * base * f64::from(n) / f64::from(rate);
                        let tone: f64 = (1..7)
                            .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                            .sum();
                        (0.2 * tone + 0.02 * (random.unit() - 0.5)) as f32
                    })
                    .collect()
            })
            .collect();
        let all: Vec<&[f32]> = signals.iter().map(|signal| &signal[..]).collect();
        lines.push_str(&mel_agrees(gpu, rate, &all)?);
        let framing = Framing {
            length: if rate > 16_000 { 2048 } else { 1024 },
            hop: rate as usize / 100,
            padding: Padding::CentredZero,
        };
        let mut yin = Yin::new(rate, framing, PitchRange::VOICE, 0.1)?;
        let (mut off, mut frames) = (0usize, 0usize);
        for (signal, ours) in
            all.iter()
                .zip(yin_on_cuda(gpu, rate, framing, PitchRange::VOICE, &all)?)
        {
            let expected = yin.track(signal)?;
            if ours.len() != expected.len() {
                return Err(format!("{} frames, not {}", ours.len(), expected.len()).into());
            }
            frames += ours.len();
            // Frames that are mostly beyond the ends have flat minima that either rounding may choose.
            let apart = |(a, b): &(&f32, &f32)| (1200.0 * (*a / *b).log2()).abs() > 0.5;
            off += ours.iter().zip(&expected).filter(apart).count();
        }
        lines.push_str(&format!(
            "signals {rate} Hz YIN: {off} of {frames} frames apart\n"
        ));
        if off * 100 > frames {
            return Err(lines.into());
        }
        lines.push_str(&tracks_agree(gpu, rate, framing, &all)?);
        lines.push_str(&spectra_agree(gpu, rate, &all)?);
    }
    Ok(lines)
}

/// Mel features of several presets, banks and hops.
fn mel_agrees(
    gpu: &CudaDevice,
    rate: u32,
    signals: &[&[f32]],
) -> Result<String, Box<dyn std::error::Error>> {
    let speech = Sizes::for_speech(rate);
    let sizes = |filters, hop| Sizes {
        filters,
        hop,
        ..speech
    };
    let odd = speech.hop + 1;
    let cepstrum = Stage::Cepstrum { coefficients: 20 };
    let cases = [
        (Preset::Librosa, speech, Stage::LogMel),
        (Preset::Librosa, speech, cepstrum),
        (Preset::Torchaudio, speech, Stage::LogMel),
        (Preset::Htk, speech, Stage::LogMel),
        (Preset::Librosa, sizes(24, speech.hop), Stage::LogMel),
        (Preset::Librosa, sizes(77, odd), Stage::LogMel),
        (Preset::Torchaudio, sizes(40, 7), Stage::LogMel),
        (Preset::Librosa, sizes(128, 1000), Stage::LogMel),
    ];
    let mut lines = String::new();
    for (preset, sizes, stage) in cases {
        let settings = FeatureSettings {
            layout: Layout::FramesFirst,
            ..preset.feature(rate, sizes, stage)
        };
        let what = format!("{preset} {} filters, hop {}", sizes.filters, sizes.hop);
        let mut feature = MelFeature::new(settings)?;
        let mut worst = 0.0f32;
        for (signal, ours) in signals.iter().zip(mel_on_cuda(gpu, &settings, signals)?) {
            let expected = feature.compute(signal)?;
            if ours.len() != expected.len() {
                return Err(
                    format!("{what}: {} values, not {}", ours.len(), expected.len()).into(),
                );
            }
            for (a, b) in ours.iter().zip(&expected) {
                let difference = (a - b).abs();
                if difference.is_nan() || difference > 1e-2 {
                    return Err(format!("{what}, {stage:?}: {a}, the CPU says {b}").into());
                }
                worst = worst.max(difference);
            }
        }
        lines.push_str(&format!(
            "signals {rate} Hz {what}, {stage:?}: agree, worst {worst:.1e}\n"
        ));
    }
    Ok(lines)
}

/// What is made of the signals' spectra, each within a share of its largest number.
fn spectra_agree(
    gpu: &CudaDevice,
    rate: u32,
    signals: &[&[f32]],
) -> Result<String, Box<dyn std::error::Error>> {
    let sizes = Sizes::for_speech(rate);
    let (transform, hop) = (sizes.transform, sizes.hop);
    let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
    let turned = |rows: &[f32], width: usize| -> Vec<f32> {
        let frames = rows.len() / width;
        let places = (0..rows.len()).map(|at| at % width * frames + at / width);
        places.map(|place| rows[place]).collect()
    };
    let mut lines = String::new();
    let mut check = |name: &str, ours: Vec<f32>, theirs: Vec<f32>, share: f32| {
        if ours.len() != theirs.len() {
            return Err(format!(
                "{name}: {} values, not {}",
                ours.len(),
                theirs.len()
            ));
        }
        let largest = theirs.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let mut worst = 0.0f32;
        for (at, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            let apart = (a - b).abs() / largest;
            if apart.is_nan() || apart > share {
                return Err(format!("{name} {at}: {a}, the CPU says {b}"));
            }
            worst = worst.max(apart);
        }
        lines.push_str(&format!(
            "signals {rate} Hz {name}: agree, worst {worst:.1e}\n"
        ));
        Ok(())
    };
    let mut contrast = SpectralContrast::new(spectrum, rate)?;
    let mut chroma = Chroma::new(spectrum, rate)?;
    let mut onsets = OnsetDetector::new(rate, transform, hop)?;
    let (mut bands, mut classes, mut strengths) = (Vec::new(), Vec::new(), Vec::new());
    for signal in signals {
        bands.extend(turned(&contrast.compute(signal)?, CONTRAST_BANDS));
        classes.extend(turned(&chroma.compute(signal)?, PITCH_CLASSES));
        strengths.extend(onsets.strength(signal)?);
    }
    let ours = contrast_on_cuda(gpu, &spectrum, rate, signals)?;
    check("contrast", ours.concat(), bands, 5e-3)?;
    let ours = chroma_on_cuda(gpu, &spectrum, rate, signals)?;
    check("chroma", ours.concat(), classes, 1e-5)?;
    let ours = onset_strength_on_cuda(gpu, rate, transform, hop, signals)?;
    check("onset strength", ours.concat(), strengths, 1e-4)?;
    let ours = statistics_on_cuda(gpu, &spectrum, rate, signals)?;
    let mut shape = SpectralShape::new(spectrum, rate)?;
    let theirs: Vec<_> = signals.iter().map(|signal| shape.measure(signal)).collect();
    type Row = fn(&SpectralStatistics) -> &[f32];
    // Where 85 % lie between two bins, rounding chooses.
    let bin = 2.1 / transform as f32;
    let rows: [(&str, Row, f32); 7] = [
        ("centroid", |all| &all.centroid, 1e-5),
        ("bandwidth", |all| &all.bandwidth, 1e-5),
        ("roll-off", |all| &all.rolloff, 2.0 * bin),
        ("flatness", |all| &all.flatness, 1e-4),
        // Of white noise it is a sum of a thousand terms that all have their share in it.
        ("entropy", |all| &all.entropy, 1e-4),
        ("flux", |all| &all.flux, 1e-5),
        ("slope", |all| &all.slope, 1e-4),
    ];
    for (name, row, share) in rows {
        let of = |all: &[SpectralStatistics]| all.iter().flat_map(row).copied().collect();
        check(name, of(&ours), of(&theirs), share)?;
    }
    for hop in [512, hop] {
        let settings = ConstantQSettings::piano(hop);
        let mut analysis = ConstantQ::new(rate, settings)?;
        let mut theirs = Vec::new();
        for signal in signals {
            let (spectra, frames) = analysis.compute(signal);
            let places =
                (0..spectra.len()).map(|at| at % settings.bins * frames + at / settings.bins);
            theirs.extend(places.flat_map(|place| spectra[place]));
        }
        let ours = constant_q_on_cuda(gpu, rate, settings, signals)?;
        check("constant Q", ours.concat().concat(), theirs, 1e-5)?;
    }
    Ok(lines)
}
