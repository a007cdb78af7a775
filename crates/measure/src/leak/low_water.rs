//! Low-water marks: the minimum of each window, which a saw-tooth and bursts leave alone and a leak
//! raises.
//!
//! A window should span whole periods of the trace, else the marks themselves oscillate. The
//! period is the *first* significant peak of the autocorrelation: the highest peak may be any
//! multiple of it.

use crate::statistics::correlation::{autocovariance, centre};
use crate::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};

/// The minimum of each window of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct LowWater {
    /// Steps in a window.
    pub window: usize,
    /// Step at which the first window begins; a remainder is left out at the beginning, where the
    /// trace says least.
    pub start: usize,
    /// One mark per window.
    pub marks: Vec<f64>,
    /// Where in the trace each mark is, in windows from the first: growth runs along the steps
    /// at which the marks were met, not along the windows, whose beginnings drift through a cycle
    /// that they do not span exactly.
    pub places: Vec<f64>,
    /// The period that the window was fitted to, where there is one.
    pub period: Option<usize>,
}

/// Marks wanted: enough for a trend test that estimates its own noise.
const MARKS: usize = 60;
/// Marks that must remain when the window grows to span a period.
pub(crate) const FEWEST_MARKS: usize = 16;

impl LowWater {
    /// Marks of `trace`, with windows that span whole periods where that leaves enough of them.
    pub fn of(trace: &[f64]) -> Self {
        let shortest = trace.len().div_ceil(MARKS).max(1);
        let period = first_period(trace);
        let fitted = period.map(|period| period * shortest.div_ceil(period));
        let window = fitted
            .filter(|window| trace.len() / window >= FEWEST_MARKS)
            .unwrap_or(shortest);
        let start = trace.len() % window;
        let lowest = |(nth, steps): (usize, &[f64])| {
            let mut mark = (0, f64::INFINITY);
            for (step, bytes) in steps.iter().enumerate() {
                if *bytes < mark.1 {
                    mark = (step, *bytes);
                }
            }
            (nth as f64 + mark.0 as f64 / window as f64, mark.1)
        };
        let (places, marks) = trace[start..]
            .chunks_exact(window)
            .enumerate()
            .map(lowest)
            .unzip();
        Self {
            window,
            start,
            marks,
            places,
            period,
        }
    }
}

/// The first significant peak of the autocorrelation of the detrended trace.
///
/// Long traces are averaged over blocks first, which bounds the work: a period that the blocks
/// hide is far shorter than any window. The answer is exact to a block and never too short.
fn first_period(trace: &[f64]) -> Option<usize> {
    const POINTS: usize = 4096;
    let block = trace.len().div_ceil(POINTS).max(1);
    let blocks: Vec<f64> = trace
        .chunks_exact(block)
        .map(|steps| steps.iter().sum::<f64>() / block as f64)
        .collect();
    let flat = detrended(&blocks);
    let variance = autocovariance(&flat, 0);
    if blocks.len() < 40 || variance <= 0.0 {
        return None;
    }
    let correlation: Vec<f64> = (0..=blocks.len() / FEWEST_MARKS)
        .map(|lag| autocovariance(&flat, lag) / variance)
        .collect();
    let significant = (4.0 / (blocks.len() as f64).sqrt()).max(0.1);
    // Past the first dip, the first local peak that stands clear of the dip before it.
    let mut deepest = 1.0f64;
    for lag in 1..correlation.len().saturating_sub(1) {
        let here = correlation[lag];
        deepest = deepest.min(here);
        let peak = here >= correlation[lag - 1] && here > correlation[lag + 1];
        if peak && here > significant && here - deepest > 0.2 {
            return Some(if block == 1 { lag } else { (lag + 1) * block });
        }
    }
    None
}

/// How far `marks` swing around their line where they have a cycle of their own, because the windows do
/// not span the trace's; 0 where they have none. Over such a cycle a line may rise by as much.
pub(crate) fn swing(marks: &[f64]) -> f64 {
    let flat = detrended(marks);
    let variance = autocovariance(&flat, 0);
    if flat.len() < FEWEST_MARKS || variance <= 0.0 {
        return 0.0;
    }
    let mut deepest = 1.0f64;
    let cycles = (1..=flat.len() / 4).any(|lag| {
        let here = autocovariance(&flat, lag) / variance;
        deepest = deepest.min(here);
        deepest < -0.2 && here > 0.3
    });
    let (low, high) = flat.iter().fold((0.0f64, 0.0f64), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    if cycles { high - low } else { 0.0 }
}

/// The trace less a line through the medians of its thirds, clipped to 4 sigma so that one burst
/// does not hide a period.
fn detrended(trace: &[f64]) -> Vec<f64> {
    let third = (trace.len() / 3).max(1);
    let early = median_of(&trace[..third]);
    let late = median_of(&trace[trace.len() - third..]);
    let slope = (late - early) / (trace.len() - third).max(1) as f64;
    let flat: Vec<f64> = trace
        .iter()
        .enumerate()
        .map(|(step, value)| value - slope * step as f64)
        .collect();
    let middle = median_of(&flat);
    let reach = 4.0 * MAD_TO_SIGMA * mad_about(&flat, middle);
    let clipped: Vec<f64> = if reach > 0.0 {
        flat.iter()
            .map(|value| value.clamp(middle - reach, middle + reach))
            .collect()
    } else {
        flat
    };
    centre(&clipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_peak_is_the_period_not_a_multiple_of_it() {
        let saw: Vec<f64> = (0..20_000).map(|i| f64::from(i % 400)).collect();
        assert!((400..=410).contains(&first_period(&saw).unwrap()));
        let leaking: Vec<f64> = (0..4000)
            .map(|i| f64::from(i % 120) + 0.01 * f64::from(i))
            .collect();
        assert_eq!(first_period(&leaking), Some(120));
    }

    #[test]
    fn marks_of_a_saw_tooth_stand_still() {
        let saw: Vec<f64> = (0..4000).map(|i| 100.0 + f64::from(i % 130)).collect();
        let low = LowWater::of(&saw);
        assert_eq!(low.window % 130, 0);
        assert!(low.marks.iter().all(|mark| *mark == 100.0), "{low:?}");
    }

    #[test]
    fn marks_of_a_leaking_saw_tooth_lie_on_the_leak() {
        // The blocks that a period is searched in hide its exact length.
        let saw: Vec<f64> = (0..9000)
            .map(|i| f64::from(i % 131) + 0.01 * f64::from(i))
            .collect();
        let low = LowWater::of(&saw);
        for (mark, place) in low.marks.iter().zip(&low.places) {
            let step = low.start as f64 + place * low.window as f64;
            assert!((mark - 0.01 * step).abs() < 1e-9, "{mark} at {step}");
        }
    }

    #[test]
    fn marks_with_a_cycle_swing_and_noise_does_not() {
        let mut random = warpsmith_workload::random::Random::seeded(4);
        let noise: Vec<f64> = (0..60).map(|_| random.normal()).collect();
        assert_eq!(swing(&noise), 0.0);
        let cycle: Vec<f64> = (0..60).map(|i| f64::from(i * 90 % 400)).collect();
        assert!(swing(&cycle) > 300.0, "{}", swing(&cycle));
    }

    #[test]
    fn a_flat_trace_has_no_period() {
        assert_eq!(first_period(&[5.0; 1000]), None);
        assert_eq!(LowWater::of(&[5.0; 1000]).marks.len(), 58);
    }
}
