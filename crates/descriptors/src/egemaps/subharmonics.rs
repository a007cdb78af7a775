//! Candidates of the pitch by subharmonic summation (Hermes, 1988): a frequency counts as much as what is at its
//! multiples, each less than the one before.

use super::octaves::Octaves;

/// Multiples that are summed, and what each is worth over the one before.
const MULTIPLES: usize = 15;
const COMPRESSION: f64 = 0.85;
/// Frequencies of a voice, Hz.
const VOICE: std::ops::RangeInclusive<f64> = 55.0..=1000.0;
/// Candidates of a frame.
pub(super) const CANDIDATES: usize = 6;

/// A frequency that a frame may have; zeros where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) hertz: f64,
    /// How far it stands above the mean, 0 to 1.
    pub(super) voicing: f64,
    pub(super) score: f64,
}

/// The candidates of a spectrum on the axis of octaves, the strongest first.
pub(super) fn candidates(octaves: &Octaves, points: &[f64]) -> [Candidate; CANDIDATES] {
    let sums = summed(octaves, points);
    let count = sums.len();
    let mean = sums.iter().sum::<f64>() / count as f64;
    let mut tops: Vec<usize> = (1..count - 1)
        .filter(|n| sums[n - 1] < sums[*n] && sums[*n] > sums[n + 1])
        .collect();
    tops.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]));
    let mut found = [Candidate::default(); CANDIDATES];
    let inside = tops.into_iter().take(CANDIDATES).filter_map(|top| {
        let [before, here, after] = [sums[top - 1], sums[top], sums[top + 1]];
        let (slope, bend) = (0.5 * (after - before), 2.0 * here - before - after);
        let score = here + 0.5 * slope * slope / bend;
        let candidate = Candidate {
            // As a pitch in single precision, with which decisions are made.
            hertz: f64::from(octaves.hertz(top as f64 + slope / bend) as f32),
            voicing: f64::from((1.0 - mean / score).max(0.0) as f32),
            score,
        };
        VOICE.contains(&candidate.hertz).then_some(candidate)
    });
    for (slot, candidate) in found.iter_mut().zip(inside) {
        *slot = candidate;
    }
    let strongest = (1..CANDIDATES).fold(0, |best, n| {
        if found[n].score > found[best].score {
            n
        } else {
            best
        }
    });
    found.swap(0, strongest);
    found
}

fn summed(octaves: &Octaves, points: &[f64]) -> Vec<f64> {
    let mut sums = points.to_vec();
    let mut worth = 1.0;
    for multiple in 2..=MULTIPLES {
        worth *= COMPRESSION;
        let shift = (octaves.per_octave() * (multiple as f64).log2()) as usize;
        for (sum, value) in sums.iter_mut().zip(points.iter().skip(shift)) {
            *sum += worth * value;
        }
    }
    sums.iter_mut()
        .for_each(|sum| *sum = (*sum / MULTIPLES as f64).max(0.0));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonics_without_their_fundamental_have_its_frequency() {
        let octaves = Octaves::new(513, 8000.0);
        let mut magnitude = vec![0.0; 513];
        for multiple in 2..20 {
            // 187.5 Hz is twelve bins.
            let bin = 12 * multiple;
            magnitude[bin] = 1.0;
            magnitude[bin - 1] = 0.5;
            magnitude[bin + 1] = 0.5;
        }
        let found = candidates(&octaves, &octaves.of(&magnitude));
        assert!((found[0].hertz / 187.5 - 1.0).abs() < 0.02, "{found:?}");
        assert!(found[0].voicing > 0.7, "{found:?}");
        let silent = candidates(&octaves, &octaves.of(&[0.0; 513]));
        assert_eq!(silent, [Candidate::default(); CANDIDATES]);
    }
}
