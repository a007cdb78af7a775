//! The choice itself: constraints first, then the least predicted time. Allocates nothing.

use serde::Serialize;

use super::error::ChooserError;
use super::profile::{Bus, Condition, Parts, Profile};

/// A problem to be placed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Problem {
    /// Size of a pass in the operation's own unit.
    pub size: f64,
    /// Passes.
    pub passes: f64,
    /// Bytes that the candidates need while they run.
    pub footprint: f64,
    /// Bytes that must be brought to a device before; 0 where they are there.
    pub bytes_in: f64,
    /// Bytes that must come back; 0 where they may stay.
    pub bytes_out: f64,
}

impl Problem {
    /// The same problem with its data already where they are worked on.
    #[must_use]
    pub fn resident(self) -> Self {
        Self {
            bytes_in: 0.0,
            bytes_out: 0.0,
            ..self
        }
    }
}

/// What a choice must respect before it may be fast.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Constraints {
    /// Only candidates that give the specification's bits.
    pub exact: bool,
    /// Only this candidate.
    pub forced: Option<usize>,
    /// Only candidates whose prediction is within this many seconds.
    pub deadline: Option<f64>,
    /// What was chosen last: it stays unless another is 5 % faster, so that choices do not flap.
    pub current: Option<usize>,
}

/// One way to run an operation.
#[derive(Clone, Debug)]
pub struct Candidate {
    name: String,
    profile: Profile,
    /// Whether it gives the specification's bits.
    pub exact: bool,
    /// Free memory in bytes; infinite where nobody says.
    pub memory: f64,
    /// To the device and back; `None` where the data are there already.
    pub bus: Option<[Bus; 2]>,
    /// What telemetry says now.
    pub condition: Condition,
}

impl Candidate {
    /// A candidate that works on the caller's own memory.
    pub fn on_host(name: &str, profile: Profile) -> Self {
        Self {
            name: name.to_owned(),
            profile,
            exact: true,
            memory: f64::INFINITY,
            bus: None,
            condition: Condition::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known about it.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Predicts a run.
    pub fn predict(&self, problem: &Problem) -> Parts {
        let mut parts = self
            .profile
            .predict(problem.size, problem.passes, &self.condition);
        if let Some([to, back]) = &self.bus {
            parts.copies = to.seconds(problem.bytes_in) + back.seconds(problem.bytes_out);
        }
        parts
    }

    /// Why it cannot take the problem.
    pub fn refuses(
        &self,
        index: usize,
        problem: &Problem,
        constraints: &Constraints,
    ) -> Option<Refusal> {
        // A tenth of the memory is left to whatever the driver and others take meanwhile.
        if problem.footprint > 0.9 * self.memory {
            return Some(Refusal::DoesNotFit);
        }
        if constraints.exact && !self.exact {
            return Some(Refusal::OtherBits);
        }
        if constraints.forced.is_some_and(|forced| forced != index) {
            return Some(Refusal::NotAskedFor);
        }
        if constraints
            .deadline
            .is_some_and(|deadline| self.predict(problem).total() > deadline)
        {
            return Some(Refusal::TooLate);
        }
        None
    }
}

/// Why a candidate is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Its memory does not hold the problem with a reserve.
    DoesNotFit,
    /// It does not give the specification's bits.
    OtherBits,
    /// The caller requested another one.
    NotAskedFor,
    /// It would miss the deadline.
    TooLate,
}

impl Refusal {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DoesNotFit => "does not fit into its memory",
            Self::OtherBits => "does not give the same bits",
            Self::NotAskedFor => "another device was requested",
            Self::TooLate => "would miss the deadline",
        }
    }
}

/// What was chosen and what it should take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Index of the candidate.
    pub candidate: usize,
    /// Its prediction.
    pub parts: Parts,
}

/// Handle of an operation, so that a choice need not look a name up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationId(usize);

/// Operations with their candidates.
#[derive(Clone, Debug, Default)]
pub struct Chooser {
    operations: Vec<(String, Vec<Candidate>)>,
}

/// A candidate must be this much faster to take the place of the current one.
const HYSTERESIS: f64 = 0.95;

impl Chooser {
    /// Knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation with its candidates.
    pub fn add(&mut self, operation: &str, candidates: Vec<Candidate>) -> OperationId {
        self.operations.push((operation.to_owned(), candidates));
        OperationId(self.operations.len() - 1)
    }

    /// The candidates of an operation.
    pub fn candidates(&self, operation: OperationId) -> &[Candidate] {
        &self.operations[operation.0].1
    }

    /// As [`Chooser::candidates`], to be updated.
    pub fn candidates_mut(&mut self, operation: OperationId) -> &mut [Candidate] {
        &mut self.operations[operation.0].1
    }

    /// The name of a candidate.
    pub fn name(&self, operation: OperationId, candidate: usize) -> &str {
        self.candidates(operation)[candidate].name()
    }

    /// Chooses. Allocates only where there is nothing to choose.
    pub fn choose(
        &self,
        operation: OperationId,
        problem: &Problem,
        constraints: &Constraints,
    ) -> Result<Choice, ChooserError> {
        let candidates = self.candidates(operation);
        let mut best: Option<Choice> = None;
        let mut best_weighted = f64::INFINITY;
        for (index, candidate) in candidates.iter().enumerate() {
            if candidate.refuses(index, problem, constraints).is_some() {
                continue;
            }
            let parts = candidate.predict(problem);
            let weighted = match constraints.current {
                Some(current) if current == index => HYSTERESIS * parts.total(),
                _ => parts.total(),
            };
            if weighted < best_weighted || best.is_none() {
                best_weighted = weighted;
                best = Some(Choice {
                    candidate: index,
                    parts,
                });
            }
        }
        best.ok_or_else(|| ChooserError::NoCandidate {
            reasons: candidates
                .iter()
                .enumerate()
                .filter_map(|(index, candidate)| {
                    let refusal = candidate.refuses(index, problem, constraints)?;
                    Some(format!("`{}` {}", candidate.name(), refusal.words()))
                })
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Takes note of how long a run took.
    pub fn observe(
        &mut self,
        operation: OperationId,
        candidate: usize,
        problem: &Problem,
        seconds: f64,
    ) {
        let Some(candidate) = self.candidates_mut(operation).get_mut(candidate) else {
            return;
        };
        let parts = candidate.predict(problem);
        let ratio = candidate.profile.correction.ratio(problem.size);
        // What the passes took, against what the curve alone said of them.
        let compute = seconds - parts.fixed - parts.copies;
        let predicted = parts.compute / ratio;
        // Where the fixed part is nearly all of it, the remainder is noise.
        if predicted > 0.1 * parts.total() && compute > 0.0 {
            candidate
                .profile
                .correction
                .observe(problem.size, predicted, compute);
        }
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;
    use crate::curve::Curve;

    fn linear(fixed: f64, per_unit: f64) -> Profile {
        let points: Vec<_> = (0..8)
            .map(|power| 10f64.powi(power))
            .map(|size| (size, size * per_unit))
            .collect();
        Profile::measured(Curve::constant(fixed), Curve::through(&points).unwrap(), 0)
    }

    #[test]
    fn constraints_come_before_speed() {
        let mut chooser = Chooser::new();
        let mut fast = Candidate::on_host("fast", linear(0.0, 1e-12));
        fast.exact = false;
        fast.memory = 1000.0;
        let slow = Candidate::on_host("slow", linear(0.0, 1e-9));
        let operation = chooser.add("op", vec![fast, slow]);
        let problem = Problem {
            size: 1e6,
            passes: 1.0,
            footprint: 800.0,
            ..Problem::default()
        };
        let choose = |problem: Problem, constraints: Constraints| {
            chooser
                .choose(operation, &problem, &constraints)
                .map(|choice| choice.candidate)
        };
        let free = Constraints::default();
        assert_eq!(choose(problem, free).unwrap(), 0);
        assert_eq!(
            choose(
                problem,
                Constraints {
                    exact: true,
                    ..free
                }
            )
            .unwrap(),
            1
        );
        assert_eq!(
            choose(
                problem,
                Constraints {
                    forced: Some(1),
                    ..free
                }
            )
            .unwrap(),
            1
        );
        assert_eq!(
            choose(
                Problem {
                    footprint: 950.0,
                    ..problem
                },
                free
            )
            .unwrap(),
            1
        );
        let error = choose(
            problem,
            Constraints {
                exact: true,
                forced: Some(0),
                ..free
            },
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "nothing here can do it: `fast` does not give the same bits, \
             `slow` another device was requested"
        );
        let late = Constraints {
            deadline: Some(1e-9),
            ..free
        };
        assert!(
            choose(problem, late)
                .unwrap_err()
                .to_string()
                .contains("miss the deadline")
        );
    }

    #[test]
    fn copies_and_other_tenants_move_the_choice() {
        let mut chooser = Chooser::new();
        let host = Candidate::on_host("cpu", linear(1e-6, 1e-9));
        let mut device = Candidate::on_host("cuda:0", linear(1e-5, 1e-11));
        let bus = Bus {
            latency: 1e-5,
            rate: 5e10,
        };
        device.bus = Some([bus, bus]);
        let operation = chooser.add("op", vec![host, device]);
        let at_home = Problem {
            size: 1e6,
            passes: 1.0,
            ..Problem::default()
        };
        let away = Problem {
            bytes_in: 4e7,
            bytes_out: 4e7,
            ..at_home
        };
        let pick = |chooser: &Chooser, problem: &Problem| {
            let choice = chooser
                .choose(operation, problem, &Constraints::default())
                .unwrap();
            chooser.name(operation, choice.candidate).to_owned()
        };
        assert_eq!(pick(&chooser, &at_home), "cuda:0");
        assert_eq!(pick(&chooser, &away), "cpu");
        chooser.candidates_mut(operation)[1].condition = Condition {
            clock_share: 0.2,
            others_share: 0.95,
        };
        assert_eq!(pick(&chooser, &at_home), "cpu");
    }

    #[test]
    fn a_choice_does_not_flap_between_equals() {
        let mut chooser = Chooser::new();
        let candidates = vec![
            Candidate::on_host("a", linear(0.0, 1.00e-9)),
            Candidate::on_host("b", linear(0.0, 0.97e-9)),
        ];
        let operation = chooser.add("op", candidates);
        let problem = Problem {
            size: 1e6,
            passes: 1.0,
            ..Problem::default()
        };
        let stay = Constraints {
            current: Some(0),
            ..Constraints::default()
        };
        assert_eq!(
            chooser
                .choose(operation, &problem, &stay)
                .unwrap()
                .candidate,
            0
        );
        let fresh = Constraints::default();
        assert_eq!(
            chooser
                .choose(operation, &problem, &fresh)
                .unwrap()
                .candidate,
            1
        );
    }

    #[test]
    fn a_device_that_becomes_slow_is_left_within_twenty_runs_and_taken_up_again() {
        let mut chooser = Chooser::new();
        let candidates = vec![
            Candidate::on_host("cpu", linear(0.0, 1.5e-9)),
            Candidate::on_host("gpu", linear(0.0, 1e-9)),
        ];
        let operation = chooser.add("op", candidates);
        let problem = Problem {
            size: 1e6,
            passes: 1.0,
            ..Problem::default()
        };
        let pick = |chooser: &Chooser| {
            chooser
                .choose(operation, &problem, &Constraints::default())
                .unwrap()
                .candidate
        };
        assert_eq!(pick(&chooser), 1);
        let mut runs = 0;
        while pick(&chooser) == 1 {
            chooser.observe(operation, 1, &problem, 2e-3);
            runs += 1;
            assert!(runs <= 20);
        }
        // Runs that the caller explores with tell that it is fast again.
        runs = 0;
        while pick(&chooser) == 0 {
            chooser.observe(operation, 1, &problem, 1e-3);
            runs += 1;
            assert!(runs <= 20);
        }
    }

    /// Machines that nobody has: random rates, latencies and noise. Curves are measured with noise
    /// at a few sizes; problems lie anywhere between and beyond.
    #[test]
    fn on_synthetic_machines_little_time_is_lost() {
        let mut random = Random::seeded(77);
        let (mut chosen_total, mut best_total) = (0.0, 0.0);
        let mut regrets = Vec::new();
        let (mut always, mut machines) = ([0.0; 2], 0);
        for _ in 0..100 {
            machines += 1;
            let span = |random: &mut Random, low: f64, high: f64| {
                (low.ln() + random.unit() * (high / low).ln()).exp()
            };
            // Fixed, least seconds of a pass, units per second in and beyond the cache.
            let machine: [[f64; 4]; 2] = std::array::from_fn(|index| {
                let rate = span(&mut random, 1e8, 1e9) * if index == 1 { 100.0 } else { 1.0 };
                let fixed = if index == 1 {
                    span(&mut random, 5e-6, 5e-5)
                } else {
                    5e-7
                };
                [
                    fixed,
                    span(&mut random, 1e-7, 4e-6),
                    rate,
                    rate / span(&mut random, 1.0, 4.0),
                ]
            });
            let cache = span(&mut random, 1e5, 1e7);
            let truth = |which: usize, size: f64, passes: f64| {
                let [fixed, least, near, far] = machine[which];
                // The rate falls smoothly over one octave around the cache's size.
                let beyond = (size / cache).powi(2) / (1.0 + (size / cache).powi(2));
                fixed + passes * f64::max(least, size / (near * (1.0 - beyond) + far * beyond))
            };
            let noise = 0.1 * random.unit();
            let mut chooser = Chooser::new();
            let candidates = (0..2)
                .map(|which| {
                    let points: Vec<_> = (3..=9)
                        .map(|power| {
                            let size = 10f64.powi(power);
                            // The least of three noisy runs.
                            let measured = (0..3)
                                .map(|_| truth(which, size, 10.0) * (1.0 + noise * random.unit()))
                                .fold(f64::INFINITY, f64::min);
                            (size, (measured - machine[which][0]) / 10.0)
                        })
                        .collect();
                    let curve = Curve::through(&points).unwrap();
                    Candidate::on_host(
                        "x",
                        Profile::measured(Curve::constant(machine[which][0]), curve, 0),
                    )
                })
                .collect();
            let operation = chooser.add("op", candidates);
            for _ in 0..100 {
                let (size, passes) = (span(&mut random, 1e3, 1e9), span(&mut random, 1.0, 100.0));
                let problem = Problem {
                    size,
                    passes,
                    ..Problem::default()
                };
                let choice = chooser
                    .choose(operation, &problem, &Constraints::default())
                    .unwrap();
                let times = [truth(0, size, passes), truth(1, size, passes)];
                let best = times[0].min(times[1]);
                chosen_total += times[choice.candidate];
                best_total += best;
                always[0] += times[0];
                always[1] += times[1];
                regrets.push(times[choice.candidate] / best - 1.0);
            }
        }
        assert_eq!(regrets.len(), 100 * machines);
        regrets.sort_by(f64::total_cmp);
        let mean = regrets.iter().sum::<f64>() / regrets.len() as f64;
        assert!(mean < 0.02, "mean regret {mean}");
        assert!(regrets[regrets.len() * 99 / 100] < 0.25);
        assert!(chosen_total <= 1.02 * best_total);
        assert!(chosen_total <= 1.05 * always[0].min(always[1]));
    }
}
