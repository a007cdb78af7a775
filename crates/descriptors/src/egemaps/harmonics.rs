//! What 60 ms say of a voice of known pitch: its harmonics, how strong those near formants are, and how periodic it is.

use warpsmith_voice::signal::PreciseTransform;

use super::RATE;
use super::formants::{FORMANTS, Formant};

/// Points of the transform, and hertz of a bin.
pub(super) const POINTS: usize = 1024;
const BIN_HZ: f64 = RATE as f64 / POINTS as f64;
/// Harmonics that are looked at, the pitch itself the first.
const HARMONICS: usize = 100;
/// The level of a harmonic that is not there, of one without power, and of a formant of no voice, dB over the pitch.
pub(super) const NO_LEVEL: f64 = -201.0;
const NO_POWER: f64 = -200.0;
/// How far a harmonic may be from a formant, as shares of it.
const NEAR: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// Ratios of harmonics to noise lie between one over this and this.
const LARGEST_RATIO: f64 = 10e10;
const LEAST_RATIO: f64 = 10e-10;

/// A harmonic that was found.
#[derive(Clone, Copy)]
struct Harmonic {
    bin: usize,
    hertz: f64,
    magnitude: f64,
    /// Between bins.
    top: f64,
    /// Over the pitch, dB.
    level: f64,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Described {
    /// dB.
    pub(super) harmonicity: f64,
    /// First harmonic above the pitch to the second, and to the strongest one near the third formant, dB.
    pub(super) first_to_second: f64,
    pub(super) first_to_third_formant: f64,
    /// Levels of the formants, dB over the pitch; 0 where no harmonic is near.
    pub(super) levels: [f64; FORMANTS],
}

/// Describes a frame with its magnitude spectrum, pitch and formants.
pub(super) fn describe(
    magnitude: &[f64],
    hertz: f64,
    formants: &[Formant; FORMANTS],
    transform: &PreciseTransform,
) -> Described {
    let harmonics = with_levels(find(magnitude, hertz));
    let near = formants.map(|[formant, _]| strongest_near(&harmonics, formant));
    let level = |harmonic: Option<usize>| harmonic.map(|n| harmonics[n].level);
    // openSMILE's H1 is the first harmonic above the pitch.
    let [first, second] = [1, 2].map(|n| harmonics[n].level);
    let difference = |a: f64, b: f64| (a - b).clamp(NO_LEVEL, -NO_LEVEL);
    let third = level(near[2]).map_or(first + NO_LEVEL, |third| first - third);
    Described {
        harmonicity: harmonicity(magnitude, hertz, transform),
        first_to_second: difference(first, second),
        first_to_third_formant: third.clamp(NO_LEVEL, -NO_LEVEL),
        levels: near.map(|harmonic| level(harmonic).unwrap_or(0.0)),
    }
}

fn is_top(values: &[f64], n: usize) -> bool {
    let above = |other: Option<usize>| {
        other
            .and_then(|other| values.get(other))
            .is_none_or(|other| values[n] > *other)
    };
    n < values.len() && above(n.checked_sub(1)) && above(Some(n + 1))
}

/// The bin nearest to a frequency; the first one where there is none.
fn nearest_bin(hertz: f64) -> usize {
    let bin = (hertz / BIN_HZ).round();
    if hertz / BIN_HZ < (POINTS / 2) as f64 {
        bin as usize
    } else {
        0
    }
}

/// The top nearest to each multiple of the pitch.
fn find(magnitude: &[f64], pitch: f64) -> Vec<Harmonic> {
    let first = nearest_bin(0.5 * pitch);
    (0..HARMONICS)
        .map(|n| {
            let number = n as f64 + 1.0;
            let bin = nearest_bin(number * pitch);
            let low = nearest_bin((number - 0.5) * pitch);
            let high = nearest_bin((number + 0.5) * pitch);
            let away = |distance: usize| {
                // Above before below; the middle comes first.
                let above = (bin + distance <= high || distance == 0).then_some(bin + distance);
                let below = bin.checked_sub(distance).filter(|bin| *bin >= low);
                [above, below].into_iter().flatten()
            };
            let reach = high.saturating_sub(bin).max(bin.saturating_sub(low));
            let mut near = (0..=reach).flat_map(away);
            let top = near.find(|bin| is_top(magnitude, *bin));
            match top.filter(|top| *top >= first && *top + 1 < magnitude.len()) {
                Some(top) if top > 0 => at_top(magnitude, top),
                _ => Harmonic {
                    bin,
                    hertz: 0.0,
                    magnitude: 0.0,
                    top: 0.0,
                    level: NO_LEVEL,
                },
            }
        })
        .collect()
}

fn at_top(magnitude: &[f64], bin: usize) -> Harmonic {
    let [before, here, after] = [bin - 1, bin, bin + 1].map(|bin| magnitude[bin]);
    let (slope, bend) = (0.5 * (after - before), 2.0 * here - before - after);
    Harmonic {
        bin,
        hertz: (bin as f64 + slope / bend) * BIN_HZ,
        magnitude: here,
        top: here + 0.5 * slope * slope / bend,
        level: NO_LEVEL,
    }
}

/// Levels over the pitch; a top that the harmonic before has already does not count.
fn with_levels(mut harmonics: Vec<Harmonic>) -> Vec<Harmonic> {
    let pitch = harmonics[0].magnitude;
    harmonics[0].level = 0.0;
    for n in 1..harmonics.len() {
        let before = harmonics[n - 1].bin;
        let harmonic = &mut harmonics[n];
        if pitch > 0.0 {
            harmonic.level = (20.0 * (harmonic.top / pitch).log10()).max(NO_POWER);
        }
        if harmonic.bin == before {
            *harmonic = Harmonic {
                bin: 0,
                hertz: 0.0,
                magnitude: 0.0,
                top: 0.0,
                level: NO_LEVEL,
            };
        }
    }
    harmonics
}

fn strongest_near(harmonics: &[Harmonic], formant: f64) -> Option<usize> {
    let near = |harmonic: &Harmonic| {
        (NEAR.start() * formant..=NEAR.end() * formant).contains(&harmonic.hertz)
    };
    let mut best = (0.0, None);
    for (n, harmonic) in harmonics.iter().enumerate() {
        if near(harmonic) && harmonic.magnitude > best.0 {
            best = (harmonic.magnitude, Some(n));
        }
    }
    best.1
}

/// The autocorrelation's top nearest to the period against the rest, dB.
fn harmonicity(magnitude: &[f64], hertz: f64, transform: &PreciseTransform) -> f64 {
    let last = magnitude.len() - 1;
    let mut packed = vec![0.0f64; POINTS];
    (packed[0], packed[1]) = (magnitude[0].powi(2), magnitude[last].powi(2));
    for (pair, magnitude) in packed[2..].chunks_exact_mut(2).zip(&magnitude[1..]) {
        pair[0] = magnitude * magnitude;
    }
    transform.inverse(&mut packed);
    let correlation: Vec<f64> = packed[..=last].iter().map(|x| x.abs()).collect();
    let period = (f64::from(RATE) / hertz) as usize;
    let Some(top) = nearest_top(&correlation, period) else {
        return 0.0;
    };
    let rest = correlation[0] - correlation[top];
    let ratio = if rest == 0.0 {
        LARGEST_RATIO
    } else {
        correlation[top] / rest
    };
    10.0 * ratio.clamp(LEAST_RATIO, LARGEST_RATIO).log10()
}

fn nearest_top(values: &[f64], at: usize) -> Option<usize> {
    let away = |distance: usize| {
        let below = at.checked_sub(distance).filter(|n| *n > 0 || distance == 0);
        let above = Some(at + distance).filter(|n| *n < values.len() - 1 || distance == 0);
        [below, above].into_iter().flatten()
    };
    let mut near = (0..values.len()).flat_map(away);
    if at == 0 {
        return None;
    }
    near.find(|n| is_top(values, *n)).or(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonics_are_found_with_their_levels_and_formants_take_the_strongest() {
        let mut magnitude = vec![1e-6; POINTS / 2 + 1];
        // 125 Hz is eight bins; the third harmonic is 6 dB above the second.
        for (number, value) in [(1, 1.0), (2, 0.5), (3, 1.0), (4, 0.25), (8, 0.5)] {
            magnitude[8 * number] = value;
        }
        let transform = PreciseTransform::new(POINTS);
        let formants = [[380.0, 50.0], [1010.0, 80.0], [3000.0, 90.0]];
        let found = describe(&magnitude, 125.0, &formants, &transform);
        assert!((found.first_to_second + 6.02).abs() < 0.1, "{found:?}");
        assert!(found.levels[0].abs() < 0.1 && (found.levels[1] + 6.02).abs() < 0.1);
        // Near the third formant nothing has a top: a level of nothing.
        assert_eq!(found.levels[2], 0.0);
        assert!(found.harmonicity > 10.0, "{found:?}");
        let silent = describe(&[0.0; POINTS / 2 + 1], 125.0, &formants, &transform);
        assert!(silent.harmonicity.is_finite() && silent.first_to_second.is_finite());
    }
}
