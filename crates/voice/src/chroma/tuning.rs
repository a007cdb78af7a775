//! How far a recording is from A4 = 440 Hz, as librosa estimates it: the tops of spectra between bins, and
//! where between two semitones most of the stronger half of them lie.

use warpsmith_signal::{InMemory, Recording, Result, SpectrumSettings, each_frames};

use crate::spectrum::{Density, Stft};

/// Frequencies that are looked at, Hz.
const BAND: (f64, f64) = (150.0, 4000.0);
/// Tops below this share of a frame's largest power do not count.
const THRESHOLD: f32 = 0.1;
/// Parts of a semitone that are told apart.
const PARTS: usize = 100;
/// Semitones in an octave.
const SEMITONES: f64 = 12.0;
/// Powers of two, and eighths of them, that powers are counted by.
const LEVELS: usize = 1 << 11;

/// The tuning of `signal` in semitones from A4 = 440 Hz, −0.5 to below 0.5, in hundredths; 0 where nothing has
/// a pitch. By powers, as chroma are.
pub fn estimate_tuning(
    signal: &[f32],
    settings: SpectrumSettings,
    sample_rate: u32,
) -> Result<f64> {
    estimate_tuning_by(Density::Power, signal, settings, sample_rate)
}

/// The same by powers or by magnitudes, among which fainter tops count.
pub fn estimate_tuning_by(
    density: Density,
    signal: &[f32],
    settings: SpectrumSettings,
    sample_rate: u32,
) -> Result<f64> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    estimate_tuning_of(&recording, density, settings)
}

/// The same of a recording, which is heard twice: tops are many, and the median of their powers is known only when
/// all of them have been counted.
pub fn estimate_tuning_of(
    recording: &dyn Recording,
    density: Density,
    settings: SpectrumSettings,
) -> Result<f64> {
    let mut counts = vec![0u64; LEVELS];
    each_top(recording, density, settings, &mut |top| {
        counts[top.level()] += 1;
    })?;
    let count: u64 = counts.iter().sum();
    if count == 0 {
        return Ok(0.0);
    }
    let level_of = |rank: u64| {
        let mut below = 0;
        let level = counts.iter().position(|here| {
            below += here;
            below > rank
        });
        level.unwrap_or(LEVELS - 1)
    };
    // Between the two middle ranks there is no other top.
    let (low, high) = (level_of((count - 1) / 2), level_of(count / 2));
    let below: u64 = counts[..low].iter().sum();
    let (mut middle, mut stronger) = (Vec::new(), [0u64; PARTS]);
    each_top(recording, density, settings, &mut |top| {
        let level = top.level();
        if level > high {
            stronger[top.part()] += 1;
        } else if level >= low {
            middle.push(top);
        }
    })?;
    middle.sort_by(|a, b| a.power.total_cmp(&b.power));
    let ranked = |rank: u64| middle[(rank - below) as usize].power;
    let median = f32::midpoint(ranked((count - 1) / 2), ranked(count / 2));
    for top in middle.iter().filter(|top| top.power >= median) {
        stronger[top.part()] += 1;
    }
    let mut best = 0;
    for part in 1..PARTS {
        if stronger[part] > stronger[best] {
            best = part;
        }
    }
    Ok(edge(best))
}

/// Shows the tops of all frames.
fn each_top(
    recording: &dyn Recording,
    density: Density,
    settings: SpectrumSettings,
    see: &mut dyn FnMut(Top),
) -> Result<()> {
    let framing = settings.framing;
    let mut stft = Stft::new(SpectrumSettings {
        framing: framing.inside(),
        ..settings
    })?;
    let bins = settings.bins();
    let hertz = f64::from(recording.sample_rate()) / settings.transform as f64;
    let (mut power, mut column) = (Vec::new(), vec![0.0f32; bins]);
    each_frames(recording, framing, &mut |samples, frames| {
        power.resize(bins * frames, 0.0);
        stft.density(samples, density, &mut power)?;
        for frame in 0..frames {
            for (slot, row) in column.iter_mut().zip(power.chunks_exact(frames)) {
                *slot = row[frame];
            }
            find_tops(&column, hertz, see);
        }
        Ok(())
    })
}

/// A top of a spectrum.
struct Top {
    hertz: f64,
    power: f32,
}

impl Top {
    /// The first bits of its power, which is not negative: by these it is counted.
    fn level(&self) -> usize {
        ((self.power.to_bits() >> 20) as usize).min(LEVELS - 1)
    }

    /// Where it lies between two semitones.
    fn part(&self) -> usize {
        let semitones = SEMITONES * (self.hertz / 27.5).log2();
        let mut residual = semitones.rem_euclid(1.0);
        if residual >= 0.5 {
            residual -= 1.0;
        }
        let part = ((residual + 0.5) * PARTS as f64) as usize;
        // What rounding puts on the wrong side of an edge.
        match part.min(PARTS - 1) {
            part if residual < edge(part) => part - 1,
            part if part + 1 < PARTS && residual >= edge(part + 1) => part + 1,
            part => part,
        }
    }
}

/// Where a part begins, semitones.
fn edge(part: usize) -> f64 {
    part as f64 / PARTS as f64 - 0.5
}

fn find_tops(power: &[f32], hertz_per_bin: f64, see: &mut dyn FnMut(Top)) {
    let largest = power.iter().copied().fold(0.0f32, f32::max);
    let audible = |bin: usize| {
        if power[bin] > THRESHOLD * largest {
            power[bin]
        } else {
            0.0
        }
    };
    let high = BAND.1.min(hertz_per_bin * (power.len() - 1) as f64);
    for bin in 1..power.len().saturating_sub(1) {
        let hertz = hertz_per_bin * bin as f64;
        let here = audible(bin);
        let is_top = here > audible(bin - 1) && here >= audible(bin + 1);
        if is_top && hertz >= BAND.0 && hertz < high {
            let slope = 0.5 * (power[bin + 1] - power[bin - 1]);
            let curvature = power[bin + 1] + power[bin - 1] - 2.0 * power[bin];
            let shift = if slope.abs() < curvature.abs() {
                -slope / curvature
            } else {
                0.0
            };
            see(Top {
                hertz: hertz_per_bin * (bin as f64 + f64::from(shift)),
                power: power[bin] + 0.5 * slope * shift,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mel::{Preset, Sizes, Stage};

    #[test]
    fn notes_that_are_off_by_a_share_of_a_semitone_say_so() {
        let rate = 22_050;
        let sizes = Sizes {
            transform: 2048,
            hop: 512,
            filters: 80,
        };
        let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
        for tuning in [-0.43, -0.2, 0.0, 0.11, 0.37] {
            let signal: Vec<f32> = (0..2 * rate)
                .map(|n| {
                    let seconds = f64::from(n) / f64::from(rate);
                    [0.0, 4.0, 7.0, 12.0]
                        .map(|note: f64| {
                            let hertz = 440.0 * ((note + tuning) / 12.0).exp2();
                            (std::f64::consts::TAU * hertz * seconds).sin()
                        })
                        .iter()
                        .sum::<f64>() as f32
                })
                .collect();
            let found = estimate_tuning(&signal, spectrum, rate).unwrap();
            // Between bins a parabola is off by some hundredths of a semitone.
            assert!((found - tuning).abs() < 0.06, "{tuning}: {found}");
        }
        assert_eq!(estimate_tuning(&[], spectrum, rate).unwrap(), 0.0);
        assert_eq!(estimate_tuning(&[0.0; 9000], spectrum, rate).unwrap(), 0.0);
    }
}
