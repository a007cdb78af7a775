//! The verdict on one memory trace: leak, no leak, or not enough steps to say.
//!
//! Invariants: `Leak` needs growth that is significant, lasts into the second half, exceeds the
//! allocator's grain and any cycle that the windows do not span, and is no matter of two or three
//! levels; `Ok` needs an upper bound below the budget; everything else is `Inconclusive` with the
//! steps still needed.

use serde::{Deserialize, Serialize};

use super::level_shift::{LevelShift, find_isolated, steps_explain};
use super::low_water::{FEWEST_MARKS, LowWater, swing};
use super::trend_test::{Trend, fit, fit_straight};
use crate::statistics::order::median_of;

/// What a trace is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeakPlan {
    /// Growth up to this many bytes per step is acceptable.
    pub budget: f64,
    /// The smallest amount by which this kind of memory can grow: 2 MiB for device memory, a page
    /// for resident memory, 1 for a pool's own counter.
    pub grain: f64,
    /// Bytes still free, to say at which step memory ends.
    pub free: Option<f64>,
}

impl Default for LeakPlan {
    fn default() -> Self {
        Self {
            // One GiB in a million steps.
            budget: (1u64 << 30) as f64 / 1e6,
            grain: 1.0,
            free: None,
        }
    }
}

/// What was concluded about a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LeakVerdict {
    /// Memory grows with the steps.
    Leak,
    /// It does not, beyond the budget.
    Ok,
    /// Not enough steps to say.
    Inconclusive,
}

impl std::fmt::Display for LeakVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Leak => "LEAK",
            Self::Ok => "OK",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

/// A lazy allocation or a release that moved the floor once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// About where; exact to a window.
    pub step: usize,
    /// How far the floor moved.
    pub bytes: f64,
}

/// The verdict with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeakReport {
    /// The conclusion.
    pub verdict: LeakVerdict,
    /// Steps looked at.
    pub steps: usize,
    /// Growth of the floor.
    pub bytes_per_step: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Probability of growth this clear where there is none.
    pub p_value: f64,
    /// Steps at the beginning that were left out as warm-up.
    pub warm_up_steps: usize,
    /// Windows whose low-water marks were judged.
    pub windows: usize,
    /// A warm-up that still goes on was separated from the growth.
    pub still_settling: bool,
    /// One-time movements that do not count as growth.
    pub shifts: Vec<Shift>,
    /// Step at which free memory ends at this growth.
    pub memory_ends_at: Option<u64>,
    /// While inconclusive: about how many steps would decide.
    pub steps_needed: Option<u64>,
}

impl LeakReport {
    /// Calls growth that is proven to stay below `budget` bytes per step no leak.
    pub fn tolerate(&mut self, budget: f64) {
        if self.verdict == LeakVerdict::Leak && self.high <= budget {
            self.verdict = LeakVerdict::Ok;
            self.memory_ends_at = None;
        }
    }
}

/// Growth must be this clear.
const SIGNIFICANCE: f64 = 0.005;
/// One step in this many is left out at the beginning; what warm-up remains is fitted.
const WARM_UP: usize = 10;
/// Below this, nothing is said.
const FEWEST_STEPS: usize = 64;

/// Judges the memory use after each step, in bytes.
pub fn judge(trace: &[f64], plan: &LeakPlan) -> LeakReport {
    if trace.len() < FEWEST_STEPS || !trace.iter().all(|bytes| bytes.is_finite()) {
        return nothing_to_say(trace.len());
    }
    match Part::of(trace, trace.len() / WARM_UP) {
        Some(part) => conclude(trace, &part, plan),
        None => nothing_to_say(trace.len()),
    }
}

fn nothing_to_say(steps: usize) -> LeakReport {
    LeakReport {
        verdict: LeakVerdict::Inconclusive,
        steps,
        bytes_per_step: 0.0,
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
        p_value: 1.0,
        warm_up_steps: 0,
        windows: 0,
        still_settling: false,
        shifts: Vec::new(),
        memory_ends_at: None,
        steps_needed: Some((4 * FEWEST_STEPS).max(2 * steps) as u64),
    }
}

/// A trace without its first steps, as marks, with the trend of the whole and of each half.
struct Part {
    skipped: usize,
    low_water: LowWater,
    shifts: Vec<LevelShift>,
    whole: Trend,
    halves: Option<(Trend, Trend)>,
    /// A few levels explain the marks better than growth does.
    levels: bool,
    /// How far the marks swing where they still have a cycle, which is longer than the windows.
    swing: f64,
}

impl Part {
    fn of(trace: &[f64], skipped: usize) -> Option<Self> {
        let mut low_water = LowWater::of(&trace[skipped..]);
        let shifts = find_isolated(&mut low_water.marks, &low_water.places);
        let age = (skipped + low_water.start) as f64 / low_water.window as f64;
        let places: Vec<usize> = shifts.iter().map(|shift| shift.mark).collect();
        let fitted = fit(&low_water.marks, &low_water.places, age, &places)?;
        let middle = fitted.settled.len() / 2;
        let (first, second) = fitted.settled.split_at(middle);
        let (earlier, later) = low_water.places.split_at(middle);
        Some(Self {
            skipped,
            shifts,
            whole: fitted.trend,
            halves: fit_straight(first, earlier).zip(fit_straight(second, later)),
            levels: steps_explain(&fitted.settled),
            swing: swing(&fitted.settled),
            low_water,
        })
    }

    /// Growth in the second half is at least a quarter of the first half's.
    fn lasts(&self) -> bool {
        self.halves
            .is_none_or(|(first, second)| second.slope > 0.25 * first.slope)
    }
}

fn conclude(trace: &[f64], part: &Part, plan: &LeakPlan) -> LeakReport {
    let steps = trace.len();
    let window = part.low_water.window as f64;
    let judged = (steps - part.skipped) as f64;
    let slope = part.whole.slope / window;
    let reach = part.whole.reach(0.05) / window;
    // What moves in grains may be a grain short of moving again: the rule of three.
    let grain = plan.grain.max(observed_grain(&trace[part.skipped..]));
    let repeated = repeated_shift(&part.shifts);
    let widening = (3.0 * grain + repeated) / judged;
    let low = slope - reach - 3.0 * grain / judged;
    let high = slope + reach + widening;
    let p_value = part.whole.p_growth();
    let grows = p_value < SIGNIFICANCE
        && slope - reach > 0.0
        && part.lasts()
        && !part.levels
        && slope * judged >= part.swing
        && slope * judged >= 2.0 * grain;
    let verdict = if grows {
        LeakVerdict::Leak
    } else if high < plan.budget && part.low_water.marks.len() >= FEWEST_MARKS {
        LeakVerdict::Ok
    } else {
        LeakVerdict::Inconclusive
    };
    let leaks = verdict == LeakVerdict::Leak;
    LeakReport {
        verdict,
        steps,
        bytes_per_step: slope,
        low,
        high,
        p_value,
        warm_up_steps: part.skipped,
        windows: part.low_water.marks.len(),
        still_settling: part.whole.bent,
        shifts: part
            .shifts
            .iter()
            .map(|shift| Shift {
                step: part.skipped + part.low_water.start + shift.mark * part.low_water.window,
                bytes: shift.bytes,
            })
            .collect(),
        memory_ends_at: plan
            .free
            .filter(|_| leaks)
            .map(|free| steps as u64 + (free / slope).min(1e18) as u64),
        steps_needed: (verdict == LeakVerdict::Inconclusive)
            .then(|| steps_needed(part, steps, slope, reach, (3.0 * grain).max(repeated), plan)),
    }
}

/// The median step where memory moves rarely: the grain that an allocator really uses.
fn observed_grain(trace: &[f64]) -> f64 {
    let moves: Vec<f64> = trace
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .filter(|step| *step > 0.0)
        .collect();
    // One or two moves are lazy allocations; three tell of a grain.
    if moves.len() >= 3 && moves.len() * 20 < trace.len() {
        median_of(&moves)
    } else {
        0.0
    }
}

/// Shifts upwards of the same size may be a leak in large grains: the bytes that as many of them
/// stand for, by the upper 97.5 % bound of a Poisson count (Wilson and Hilferty's cube).
fn repeated_shift(shifts: &[LevelShift]) -> f64 {
    let rises: Vec<f64> = shifts
        .iter()
        .map(|s| s.bytes)
        .filter(|b| *b > 0.0)
        .collect();
    let largest = rises.iter().copied().fold(0.0, f64::max);
    let smallest = rises.iter().copied().fold(f64::INFINITY, f64::min);
    if rises.len() >= 2 && smallest > 0.95 * largest {
        let next = rises.len() as f64 + 1.0;
        let bound = next * (1.0 - 1.0 / (9.0 * next) + 1.96 / (3.0 * next.sqrt())).powi(3);
        bound * largest
    } else {
        0.0
    }
}

/// Steps after which the interval should be narrow enough for `Leak` or for `Ok`, where `unseen`
/// bytes may have been taken in grains that did not show yet.
fn steps_needed(
    part: &Part,
    steps: usize,
    slope: f64,
    reach: f64,
    unseen: f64,
    plan: &LeakPlan,
) -> u64 {
    let now = steps as f64;
    // The error of a slope falls with n^1.5 over stationary noise, with n^0.5 over a wandering one.
    let power = if part.whole.autoregression == 1.0 {
        0.5
    } else {
        1.5
    };
    let narrowed = |factor: f64| now * factor.max(1.0).powf(1.0 / power);
    let for_ok = narrowed(reach / (plan.budget - slope.max(0.0)).max(0.25 * plan.budget))
        .max(unseen / (0.5 * plan.budget));
    let for_leak = if slope > 0.0 {
        narrowed(1.5 * reach / slope).max(4.0 / 3.0 * unseen / slope)
    } else {
        f64::INFINITY
    };
    let period = part.low_water.period.unwrap_or(0) as f64;
    let for_windows = 1.2 * FEWEST_MARKS as f64 * period;
    (for_ok.min(for_leak).max(for_windows).max(1.5 * now)).min(1e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1048576.0;

    #[test]
    fn a_plain_leak_has_its_rate_and_its_end() {
        let trace: Vec<f64> = (0..5000)
            .map(|i| 100.0 * MIB + 1000.0 * f64::from(i))
            .collect();
        let plan = LeakPlan {
            free: Some(1e9),
            ..LeakPlan::default()
        };
        let report = judge(&trace, &plan);
        assert_eq!(report.verdict, LeakVerdict::Leak);
        assert!((report.bytes_per_step - 1000.0).abs() < 1.0, "{report:?}");
        assert!(report.memory_ends_at.unwrap().abs_diff(1_005_000) < 2000);
    }

    #[test]
    fn a_flat_trace_is_ok_once_its_grain_allows() {
        let long = judge(
            &[5.0 * MIB; 10_000],
            &LeakPlan {
                grain: 2.0 * MIB,
                ..LeakPlan::default()
            },
        );
        assert_eq!(long.verdict, LeakVerdict::Ok, "{long:?}");
        let short = judge(
            &[5.0 * MIB; 1000],
            &LeakPlan {
                grain: 2.0 * MIB,
                ..LeakPlan::default()
            },
        );
        assert_eq!(short.verdict, LeakVerdict::Inconclusive);
        assert!(short.steps_needed.unwrap() >= 5000, "{short:?}");
    }

    #[test]
    fn one_lazy_allocation_is_a_shift_not_a_leak() {
        let trace: Vec<f64> = (0..5000)
            .map(|i| if i < 3000 { MIB } else { 21.0 * MIB })
            .collect();
        let report = judge(&trace, &LeakPlan::default());
        assert_eq!(report.verdict, LeakVerdict::Ok, "{report:?}");
        assert_eq!(report.shifts.len(), 1);
        assert!(report.shifts[0].step.abs_diff(3000) <= 100);
    }

    #[test]
    fn two_pages_in_thousands_of_steps_are_below_the_budget_and_two_blocks_are_not() {
        let twice = |bytes: f64| -> Vec<f64> {
            (0..5000)
                .map(|i| MIB + bytes * f64::from(u8::from(i >= 2900) + u8::from(i >= 3200)))
                .collect()
        };
        let pages = judge(
            &twice(4096.0),
            &LeakPlan {
                grain: 4096.0,
                ..LeakPlan::default()
            },
        );
        assert_eq!(pages.shifts.len(), 2, "{pages:?}");
        assert_eq!(pages.verdict, LeakVerdict::Ok, "{pages:?}");
        // As a leak the two pages would be 1.6 bytes a step: the interval reaches over that.
        assert!(pages.high > 2.0 * 4096.0 / 5000.0, "{pages:?}");
        let blocks = judge(&twice(2.0 * MIB), &LeakPlan::default());
        assert_eq!(blocks.verdict, LeakVerdict::Inconclusive, "{blocks:?}");
    }

    #[test]
    fn coarse_blocks_are_inconclusive_until_enough_of_them_came() {
        let blocks = |steps: u32| -> Vec<f64> {
            (0..steps)
                .map(|i| (f64::from(i) * 1000.0 / (2.0 * MIB)).floor() * 2.0 * MIB)
                .collect()
        };
        let plan = LeakPlan {
            grain: 2.0 * MIB,
            ..LeakPlan::default()
        };
        assert_eq!(
            judge(&blocks(5000), &plan).verdict,
            LeakVerdict::Inconclusive
        );
        assert_eq!(judge(&blocks(100_000), &plan).verdict, LeakVerdict::Leak);
    }

    #[test]
    fn too_short_and_not_finite_traces_say_so() {
        for trace in [vec![1.0; 10], vec![f64::NAN; 1000], Vec::new()] {
            let report = judge(&trace, &LeakPlan::default());
            assert_eq!(report.verdict, LeakVerdict::Inconclusive);
            assert!(report.steps_needed.unwrap() > 0);
        }
    }
}
