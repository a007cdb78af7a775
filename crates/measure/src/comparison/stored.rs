//! Comparison of stored results that were taken apart: two reports, two files.
//!
//! Invariants: no number in an answer is NaN or infinite; the verdict follows from the interval
//! that is printed beside it, also where many are judged at once; a pair that cannot be compared
//! says why and is never called slower.
//!
//! Runs that were taken apart differ by more than their samples show: another clock level, other
//! pages, another neighbour. How much is measured: loops that ran in both show whether the core and
//! its caches were as fast, and a difference counts that is there beside each of them; pieces of one
//! run, taken one after the other, show how far the level wanders while nothing changes; and where
//! many pairs are judged together, they say it too: most of them have not changed.

use serde::{Deserialize, Serialize};

use super::clock::{Clock, ClockChoice, choose, taken_away};
use super::evaluation::{Evaluation, Verdict, evaluate};
use super::readings::{Placed, Readings, deviation};
use crate::measurement::{Basis, Measurement, SampleMode};
use crate::statistics::distributions::student_quantile;
use crate::statistics::order::{MAD_TO_SIGMA, median_of};

/// How fit the machine was while results were taken; what was not read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fitness {
    /// The machine, under whatever name; results of two machines are not comparable.
    pub machine: Option<String>,
    /// Work of others that wanted a core, per core.
    pub load_per_core: Option<f64>,
    /// Share of the time that the hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Why the device's clock was held down, where it was.
    pub throttled: Option<String>,
    /// The device's median clock.
    pub clock_mhz: Option<f64>,
}

impl Fitness {
    /// Above this, others had a core that the work wanted.
    const LOAD: f64 = 0.5;
    const STEAL: f64 = 0.02;

    /// Why wall times of the host's cores cannot be trusted; `None` where they can.
    fn host_unfit(&self) -> Option<String> {
        let load = self.load_per_core.filter(|load| *load > Self::LOAD);
        let steal = self.steal_share.filter(|share| *share > Self::STEAL);
        load.map(|load| format!("others wanted {load:.1} of every core"))
            .or(steal
                .map(|share| format!("the hypervisor took {:.0} % of the time", 100.0 * share)))
    }
}

/// One stored result.
#[derive(Clone, Copy, Debug)]
pub struct StoredResult<'a> {
    /// Its samples.
    pub measurement: &'a Measurement,
    /// The machine's state while they were taken.
    pub fitness: &'a Fitness,
}

/// What two stored results say about each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum StoredComparison {
    /// There is a verdict, which may be that the samples do not decide.
    Judged(Judgement),
    /// There is none.
    NotComparable {
        /// Why not.
        reason: String,
    },
}

/// A verdict with everything that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Verdict, ratio and interval; all finite.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// The clock that decided, and why.
    #[serde(flatten)]
    pub choice: ClockChoice,
    /// The smallest slow-down that would have been called, as a share.
    pub resolves: f64,
}

/// Spread between runs of the same thing on the same machine that is assumed at least, as a
/// standard deviation of the log-ratio: page placement and clock levels move it by 1 %.
const RUN_SPREAD: f64 = 0.01;
/// Runs differ by more than a normal law says, now and then.
const RUN_FREEDOM: f64 = 5.0;
/// From so many pairs on, the pairs themselves say how much runs differ.
const PAIRS_THAT_TELL: usize = 8;
/// Fewer samples on a side make no interval.
const SAMPLES_NEEDED: usize = 5;

/// Judges every pair (base, candidate) of two sets that were taken apart; the chance of one false
/// verdict among all of them is `alpha`. The answers are in the order of the pairs.
pub fn compare_stored(
    pairs: &[(StoredResult<'_>, StoredResult<'_>)],
    margin: f64,
    alpha: f64,
) -> Vec<StoredComparison> {
    let prepared: Vec<Result<Prepared, String>> =
        pairs.iter().map(|(a, b)| prepare(a, b)).collect();
    let judged = prepared.iter().flatten();
    let centres: Vec<f64> = judged.map(|pair| pair.readings.centre).collect();
    let spread = run_spread(&centres);
    let alpha = alpha / centres.len().max(1) as f64;
    let judge_one = |pair: Result<Prepared, String>| match pair {
        Ok(Prepared { readings, choice }) => {
            let mut evaluation = evaluate(&readings.steadiest, margin, alpha);
            let within = (evaluation.high / evaluation.low).ln() / 2.0;
            evaluation.ratio = readings.centre.exp();
            let spread = spread.hypot(readings.wandering);
            judge(evaluation, choice, readings.range, within, spread)
        }
        Err(reason) => StoredComparison::NotComparable { reason },
    };
    prepared.into_iter().map(judge_one).collect()
}

/// Judges two results by what ran in turns with both: ln(time / time of that) of pieces of each
/// result, in the order taken. What slows the machine for both cancels; what stays, the pieces show.
pub fn compare_relative(
    base: &[f64],
    candidate: &[f64],
    margin: f64,
    alpha: f64,
) -> StoredComparison {
    let few = base.len().min(candidate.len()) < SAMPLES_NEEDED;
    if few || !base.iter().chain(candidate).all(|piece| piece.is_finite()) {
        let reason = format!("{SAMPLES_NEEDED} pieces of each result are needed");
        return StoredComparison::NotComparable { reason };
    }
    let ratios: Vec<f64> = base.iter().zip(candidate).map(|(a, b)| b - a).collect();
    let choice = ClockChoice {
        clock: Clock::Cpu,
        reason: "a loop of our own ran in turns with both".to_owned(),
    };
    // The level of a run is the mean of its pieces. Neighbours among them are alike: eight pieces are
    // worth four, and the mean is known to half of their deviation.
    let wandering = 0.5 * deviation(base).hypot(deviation(candidate));
    let evaluation = evaluate(&ratios, margin, alpha);
    let within = (evaluation.high / evaluation.low).ln() / 2.0;
    let centre = evaluation.ratio.ln();
    let spread = RUN_SPREAD.hypot(wandering);
    judge(evaluation, choice, (centre, centre), within, spread)
}

/// A pair that can be judged.
struct Prepared {
    readings: Readings,
    choice: ClockChoice,
}

/// How much runs differ, from the pairs' centres: about zero, so that a level that moved all of
/// them together (a clock, a neighbour) counts as spread and not as news about each.
fn run_spread(centres: &[f64]) -> f64 {
    if centres.len() < PAIRS_THAT_TELL {
        return RUN_SPREAD;
    }
    let sizes: Vec<f64> = centres.iter().map(|centre| centre.abs()).collect();
    (MAD_TO_SIGMA * median_of(&sizes)).max(RUN_SPREAD)
}

/// Judges again by the interval around the `range` of all readings: what samples `within` the runs
/// leave open, and the `spread` between runs.
fn judge(
    mut evaluation: Evaluation,
    choice: ClockChoice,
    range: (f64, f64),
    within: f64,
    spread: f64,
) -> StoredComparison {
    let (margin, alpha) = (evaluation.margin, 1.0 - evaluation.confidence);
    let between = student_quantile(1.0 - 0.5 * alpha, RUN_FREEDOM) * spread;
    let reach = within.hypot(between);
    let (low, high) = ((range.0 - reach).exp(), (range.1 + reach).exp());
    if ![evaluation.ratio, low, high].iter().all(|v| v.is_finite()) {
        let reason = "the samples give no finite ratio".to_owned();
        return StoredComparison::NotComparable { reason };
    }
    let (fastest_same, slowest_same) = (1.0 / (1.0 + margin), 1.0 + margin);
    evaluation.verdict = if low > slowest_same {
        Verdict::Slower
    } else if high < fastest_same {
        Verdict::Faster
    } else if low >= fastest_same && high <= slowest_same {
        Verdict::Same
    } else {
        Verdict::Undecided
    };
    (evaluation.low, evaluation.high) = (low, high);
    StoredComparison::Judged(Judgement {
        evaluation,
        choice,
        resolves: slowest_same * (reach + range.1 - range.0).exp() - 1.0,
    })
}

/// Takes the samples of the clock that may decide.
fn prepare(a: &StoredResult<'_>, b: &StoredResult<'_>) -> Result<Prepared, String> {
    same_conditions(a, b)?;
    let sides = [a, b];
    let on_device = is_device_time(a.measurement.conditions.mode);
    let unfit = match on_device {
        // A device's events do not see the host's load, but they see the device's clock.
        true => {
            for side in sides {
                if let Some(why) = &side.fitness.throttled {
                    return Err(format!("the device's clock was held down: {why}"));
                }
            }
            let clocks = a.fitness.clock_mhz.zip(b.fitness.clock_mhz);
            if let Some((before, now)) = clocks.filter(|(before, now)| apart(*before, *now)) {
                return Err(format!(
                    "the device ran at {before:.0} MHz then and at {now:.0} MHz now"
                ));
            }
            None
        }
        false => sides
            .iter()
            .find_map(|side| side.fitness.host_unfit().or(taken_away(side.measurement))),
    };
    let choice = choose(a.measurement, b.measurement, unfit)?;
    let samples = |side: &StoredResult<'_>| -> Result<Vec<Placed>, String> {
        let measurement = side.measurement;
        let samples: Vec<Placed> = match choice.clock {
            Clock::Cpu => measurement
                .cpu_seconds
                .iter()
                .copied()
                .enumerate()
                .collect(),
            Clock::Wall => {
                let basis = measurement.basis().0;
                if matches!(basis, Basis::CpuTime | Basis::Disturbed) {
                    return Err("most samples were taken at a lower clock".to_owned());
                }
                let disturbed = measurement.disturbed();
                let all = measurement.seconds.iter().copied().enumerate();
                all.filter(|(place, _)| disturbed.binary_search(place).is_err())
                    .collect()
            }
        };
        if samples.len() < SAMPLES_NEEDED {
            return Err(format!(
                "`{}` has {} samples; {SAMPLES_NEEDED} are needed",
                measurement.name,
                samples.len()
            ));
        }
        match samples.iter().all(|(_, s)| s.is_finite() && *s > 0.0) {
            true => Ok(samples),
            false => Err(format!(
                "`{}` has a sample that is no time",
                measurement.name
            )),
        }
    };
    let (before, now) = (samples(a)?, samples(b)?);
    let readings = Readings::of((a.measurement, &before), (b.measurement, &now));
    Ok(Prepared { readings, choice })
}

fn same_conditions(a: &StoredResult<'_>, b: &StoredResult<'_>) -> Result<(), String> {
    let machines = a.fitness.machine.as_ref().zip(b.fitness.machine.as_ref());
    if let Some((before, now)) = machines.filter(|(before, now)| before != now) {
        return Err(format!("measured on two machines: {before}, and {now}"));
    }
    let (before, now) = (&a.measurement.conditions, &b.measurement.conditions);
    if before.device != now.device {
        return Err(format!(
            "measured on two devices: {}, and {}",
            before.device, now.device
        ));
    }
    match before.mode == now.mode {
        true => Ok(()),
        false => Err(format!(
            "sampled in two ways: {:?}, and {:?}",
            before.mode, now.mode
        )),
    }
}

fn is_device_time(mode: SampleMode) -> bool {
    use SampleMode as Mode;
    matches!(
        mode,
        Mode::GpuCold | Mode::GpuHot | Mode::GpuBatch | Mode::GpuGraph
    )
}

/// Whether two clocks differ by more than one step of a GPU's clock table.
fn apart(before: f64, now: f64) -> bool {
    (before / now).ln().abs() > 0.03
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;
    use crate::cpu::machine_probe::MachineSpeed;
    use crate::measurement::Sample;

    struct Lab {
        random: Random,
    }

    impl Lab {
        fn run(&mut self, name: &str, cpu: f64, queue: f64, count: usize) -> Measurement {
            let mut measurement = Measurement::of_command(name);
            for _ in 0..count {
                let cpu = cpu * (1.0 + 0.005 * self.random.normal());
                let queued = queue * self.random.unit();
                measurement.push(Sample {
                    cpu_seconds: Some(cpu),
                    waited_seconds: Some(0.0),
                    preempted: queue > 0.0,
                    ..Sample::of_seconds(cpu + queued)
                });
            }
            measurement
        }
    }

    fn compare_two(a: &Measurement, b: &Measurement, fitness: &Fitness) -> StoredComparison {
        let result = |measurement| StoredResult {
            measurement,
            fitness,
        };
        compare_stored(&[(result(a), result(b))], 0.03, 0.05).remove(0)
    }

    fn reason(comparison: StoredComparison) -> String {
        match comparison {
            StoredComparison::NotComparable { reason } => reason,
            StoredComparison::Judged(judged) => panic!("{judged:?}"),
        }
    }

    #[test]
    fn a_level_that_wanders_inside_a_run_widens_what_runs_may_differ_by() {
        let mut random = Random::seeded(8);
        let mut closure = |level: f64, wanders: f64| {
            let mut measurement = Measurement::imported("x", Vec::new());
            measurement.conditions.mode = SampleMode::CpuClosure;
            let mut now = 1.0;
            for index in 0..2000 {
                if index % 100 == 0 {
                    now = level * (1.0 + wanders * random.normal());
                }
                measurement.push(Sample::of_seconds(now * (1.0 + 0.005 * random.normal())));
            }
            measurement
        };
        let verdict =
            |a: &Measurement, b: &Measurement| match compare_two(a, b, &Fitness::default()) {
                StoredComparison::Judged(judged) => judged.evaluation.verdict,
                StoredComparison::NotComparable { reason } => panic!("{reason}"),
            };
        let (quiet, slower) = (closure(1.0, 0.0), closure(1.08, 0.0));
        assert_eq!(verdict(&quiet, &slower), Verdict::Slower);
        assert_eq!(verdict(&quiet, &closure(1.08, 0.08)), Verdict::Undecided);
        assert_eq!(verdict(&quiet, &closure(2.0, 0.08)), Verdict::Slower);
    }

    #[test]
    fn a_machine_that_was_slower_for_a_loop_of_ours_explains_as_much() {
        let steady = |level: f64, probe: f64| {
            let mut measurement = Measurement::imported("x", Vec::new());
            measurement.conditions.mode = SampleMode::CpuClosure;
            for index in 0..400 {
                let seconds = level * (1.0 + 0.002 * f64::from(index % 5));
                measurement.push(Sample::of_seconds(seconds));
            }
            for _ in 0..20 {
                measurement.push_probe(MachineSpeed {
                    chain_seconds: probe,
                    cache_seconds: 1e-5,
                });
            }
            measurement
        };
        let verdict =
            |a: &Measurement, b: &Measurement| match compare_two(a, b, &Fitness::default()) {
                StoredComparison::Judged(judged) => judged.evaluation.verdict,
                StoredComparison::NotComparable { reason } => panic!("{reason}"),
            };
        let base = steady(1.0, 20e-6);
        assert_eq!(verdict(&base, &steady(1.1, 20e-6)), Verdict::Slower);
        assert_eq!(verdict(&base, &steady(1.1, 22e-6)), Verdict::Undecided);
        assert_eq!(verdict(&base, &steady(1.25, 22e-6)), Verdict::Slower);
    }

    #[test]
    fn results_beside_a_loop_are_judged_by_their_pieces() {
        let pieces = |level: f64, spread: f64| -> Vec<f64> {
            (0..8)
                .map(|k| level + spread * (f64::from(k % 4) - 1.5))
                .collect()
        };
        let verdict = |a: &[f64], b: &[f64]| match compare_relative(a, b, 0.01, 0.05) {
            StoredComparison::Judged(judged) => judged.evaluation.verdict,
            StoredComparison::NotComparable { reason } => panic!("{reason}"),
        };
        let base = pieces(0.0, 0.002);
        assert_eq!(verdict(&base, &pieces(0.06, 0.002)), Verdict::Slower);
        assert_eq!(verdict(&base, &pieces(0.06, 0.03)), Verdict::Undecided);
        let few = compare_relative(&[0.0; 4], &base, 0.01, 0.05);
        assert!(reason(few).contains("5 pieces"));
    }

    #[test]
    fn a_large_change_is_called_by_the_clock_that_was_fit() {
        let mut lab = Lab {
            random: Random::seeded(1),
        };
        for (queue, clock) in [(0.0, Clock::Wall), (0.05, Clock::Cpu)] {
            let a = lab.run("a", 0.01, queue, 60);
            let b = lab.run("b", 0.012, queue, 60);
            let StoredComparison::Judged(judged) = compare_two(&a, &b, &Fitness::default()) else {
                panic!("not judged");
            };
            assert_eq!(judged.evaluation.verdict, Verdict::Slower, "{judged:?}");
            assert_eq!(judged.choice.clock, clock, "{judged:?}");
            assert!(judged.resolves > 0.03 && judged.resolves < 0.2);
        }
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let mut lab = Lab {
            random: Random::seeded(2),
        };
        let (a, few) = (lab.run("a", 0.01, 0.0, 60), lab.run("few", 0.01, 0.0, 4));
        let fit = Fitness::default();
        assert!(reason(compare_two(&a, &few, &fit)).contains("`few` has 4 samples"));
        let busy = Fitness {
            load_per_core: Some(6.0),
            ..Fitness::default()
        };
        let mut unread = a.clone();
        unread.cpu_seconds.clear();
        let why = reason(compare_two(&unread, &unread, &busy));
        assert!(why.contains("others wanted 6.0"), "{why}");
        assert!(why.contains("CPU time was not read"), "{why}");
        let mut nought = a.clone();
        nought.seconds[3] = 0.0;
        assert!(reason(compare_two(&a, &nought, &fit)).contains("no time"));
        nought.conditions.device = "another".into();
        assert!(reason(compare_two(&a, &nought, &fit)).contains("two devices"));
        let on = |machine: &str| Fitness {
            machine: Some(machine.to_owned()),
            ..Fitness::default()
        };
        let (here, there) = (on("here"), on("there"));
        let side = |fitness| StoredResult {
            measurement: &a,
            fitness,
        };
        let apart = compare_stored(&[(side(&here), side(&there))], 0.03, 0.05).remove(0);
        assert!(reason(apart).contains("two machines"));
    }

    #[test]
    fn a_throttled_device_is_not_judged() {
        let mut gpu = Measurement::imported("k", vec![1e-3; 40]);
        gpu.conditions.mode = SampleMode::GpuHot;
        let throttled = Fitness {
            throttled: Some("power cap".into()),
            load_per_core: Some(9.0),
            ..Fitness::default()
        };
        assert!(reason(compare_two(&gpu, &gpu, &throttled)).contains("power cap"));
        let loaded = Fitness {
            throttled: None,
            ..throttled
        };
        let judged = compare_two(&gpu, &gpu, &loaded);
        assert!(matches!(judged, StoredComparison::Judged(_)), "{judged:?}");
    }

    /// Forty workloads whose levels wander from run to run as they do between two reports.
    fn two_reports(lab: &mut Lab, level: f64, slow: Option<usize>) -> Vec<StoredComparison> {
        let run = |lab: &mut Lab, i: usize, factor: f64| {
            let level = (level * lab.random.normal()).exp();
            lab.run(&format!("w{i}"), 0.001 * factor * level, 0.0, 30)
        };
        let fitness = Fitness::default();
        let runs: Vec<_> = (0..40)
            .map(|i| {
                let factor = if slow == Some(i) { 1.8 } else { 1.0 };
                (run(lab, i, 1.0), run(lab, i, factor))
            })
            .collect();
        let side = |measurement| StoredResult {
            measurement,
            fitness: &fitness,
        };
        let pairs: Vec<_> = runs.iter().map(|(a, b)| (side(a), side(b))).collect();
        compare_stored(&pairs, 0.03, 0.05)
    }

    #[test]
    fn levels_that_wander_between_runs_are_not_called() {
        let mut lab = Lab {
            random: Random::seeded(3),
        };
        let mut false_calls = 0;
        for level in [0.0, 0.01, 0.05, 0.1] {
            for _ in 0..20 {
                for comparison in two_reports(&mut lab, level, None) {
                    let StoredComparison::Judged(judged) = comparison else {
                        panic!("{comparison:?}");
                    };
                    let verdict = judged.evaluation.verdict;
                    false_calls +=
                        usize::from(matches!(verdict, Verdict::Slower | Verdict::Faster));
                }
            }
        }
        assert_eq!(false_calls, 0);
        let found = two_reports(&mut lab, 0.02, Some(7)).remove(7);
        let StoredComparison::Judged(judged) = found else {
            panic!("{found:?}");
        };
        assert_eq!(judged.evaluation.verdict, Verdict::Slower);
    }

    #[test]
    fn verdict_and_interval_never_contradict_each_other() {
        let mut lab = Lab {
            random: Random::seeded(4),
        };
        for level in [0.0, 0.002, 0.05] {
            for comparison in two_reports(&mut lab, level, Some(3)) {
                let StoredComparison::Judged(judged) = comparison else {
                    panic!("{comparison:?}");
                };
                let e = judged.evaluation;
                assert!(e.low <= e.ratio && e.ratio <= e.high);
                match e.verdict {
                    Verdict::Slower => assert!(e.low > 1.03),
                    Verdict::Faster => assert!(e.high < 1.0 / 1.03),
                    Verdict::Same => assert!(e.low >= 1.0 / 1.03 && e.high <= 1.03),
                    Verdict::Undecided => assert!(e.low <= 1.03 && e.high >= 1.0 / 1.03),
                }
            }
        }
    }
}
