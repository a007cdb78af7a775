//! Which commit of a range brought a change, with as few builds as the readings allow: every commit
//! has a probability of being the first slow one, and the next measurement is made where it halves
//! what is left.
//!
//! Invariants: what the readings of one commit say is bounded, because a build may be placed well or
//! badly in memory; a commit is built once, and measured again before another one is built where
//! that tells nearly as much; builds and repeats are limited, so that every search ends; what is not
//! decided is left as a range.

/// How a commit compares with the good end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// ln(time of the commit / time of the good end).
    pub change: f64,
    /// Its standard error.
    pub error: f64,
}

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchPlan {
    /// A commit with this probability is the answer.
    pub confidence: f64,
    /// Measurements of one commit at most.
    pub repeats: usize,
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            repeats: 6,
        }
    }
}

/// Where a search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The shortest range of commits that holds the first slow one with the wanted confidence.
    pub first: usize,
    /// The last of that range; the same where one commit is left.
    pub last: usize,
    /// Probability that the change lies in it.
    pub probability: f64,
    /// Measurements that were made.
    pub measured: usize,
    /// Commits that were measured, each once.
    pub built: usize,
}

impl Found {
    /// Whether one commit is left.
    pub fn is_certain(&self) -> bool {
        self.first == self.last
    }
}

/// Finds the first of `count` commits that has the change; the last has it, and `whole` is its
/// reading. `measure` compares a commit with the good end; it is called again for a commit whose
/// readings leave it open.
pub fn search<E>(
    count: usize,
    whole: Reading,
    plan: &SearchPlan,
    measure: &mut dyn FnMut(usize) -> Result<Reading, E>,
) -> Result<Found, E> {
    let mut readings: Vec<Vec<Reading>> = vec![Vec::new(); count];
    // Halving takes log2(count) builds; twice as many, and what they leave open stays open.
    let halvings = usize::BITS - count.leading_zeros();
    let most_built = 2 * halvings as usize;
    loop {
        let weights: Vec<f64> = readings.iter().map(|of| evidence(of, whole)).collect();
        let chances = probabilities(&weights);
        let found = shortest_range(&chances, plan.confidence, &readings);
        let next = match found.is_certain() {
            true => None,
            false => {
                let repeats_only = found.built >= most_built;
                next_commit(&chances, &weights, &readings, plan, repeats_only)
            }
        };
        let Some(index) = next else {
            return Ok(found);
        };
        readings[index].push(measure(index)?);
    }
}

/// Most that the readings of one commit can say: one in two hundred misleads, whatever their
/// intervals claim.
const STRONGEST: f64 = 5.3;
/// Builds of the same code differ by this much for where they lie in memory, as a standard
/// deviation.
const PLACEMENT: f64 = 0.003;

/// ln(chance of the readings, had the commit the change / had it not), bounded.
fn evidence(readings: &[Reading], whole: Reading) -> f64 {
    let precision: f64 = readings.iter().map(|r| r.error.powi(-2)).sum();
    if precision <= 0.0 || !precision.is_finite() {
        return 0.0;
    }
    let sum: f64 = readings.iter().map(|r| r.change * r.error.powi(-2)).sum();
    let mean = sum / precision;
    let own = 1.0 / precision + PLACEMENT.powi(2);
    let with = own + whole.error.powi(2);
    let fits = |distance: f64, variance: f64| -0.5 * (distance.powi(2) / variance + variance.ln());
    let said = fits(mean - whole.change, with) - fits(mean, own);
    // Far beyond both levels the wider law always wins; a level that overshoots still has the change.
    let said = match mean {
        mean if mean >= whole.change => said.abs(),
        mean if mean <= 0.0 => -said.abs(),
        _ => said,
    };
    said.clamp(-STRONGEST, STRONGEST)
}

/// The probability of every commit to be the first with the change.
fn probabilities(weights: &[f64]) -> Vec<f64> {
    // ln of the chance of all readings were `first` the first: commits from it on have the change.
    let mut chances: Vec<f64> = Vec::with_capacity(weights.len());
    let mut with: f64 = weights.iter().sum();
    for weight in weights {
        chances.push(with);
        with -= weight;
    }
    let most = chances.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = chances.iter().map(|chance| (chance - most).exp()).collect();
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

/// The shortest run of commits that holds the change with `confidence`.
fn shortest_range(chances: &[f64], confidence: f64, readings: &[Vec<Reading>]) -> Found {
    let mut best = Found {
        first: 0,
        last: chances.len().saturating_sub(1),
        probability: 1.0,
        measured: readings.iter().map(Vec::len).sum(),
        built: readings.iter().filter(|of| !of.is_empty()).count(),
    };
    for first in 0..chances.len() {
        let mut probability = 0.0;
        for (last, chance) in chances.iter().enumerate().skip(first) {
            probability += chance;
            if probability < confidence {
                continue;
            }
            let length = |found: &Found| found.last - found.first;
            if last - first < length(&best)
                || (last - first == length(&best) && probability > best.probability)
            {
                best = Found {
                    first,
                    last,
                    probability,
                    ..best
                };
            }
            break;
        }
    }
    best
}

/// The commit whose measurement splits what is left best. One that is built already costs no build,
/// so that it may split a little worse.
fn next_commit(
    chances: &[f64],
    weights: &[f64],
    readings: &[Vec<Reading>],
    plan: &SearchPlan,
    repeats_only: bool,
) -> Option<usize> {
    const BUILT_ALREADY: f64 = 0.25;
    // A split this uneven tells nothing that is worth a measurement.
    const WORTHLESS: f64 = 0.495;
    let mut before = 0.0;
    let mut best: Option<(f64, usize)> = None;
    // The last commit is known to have it.
    for index in 0..chances.len().saturating_sub(1) {
        before += chances[index];
        let uneven = (before - 0.5).abs();
        let settled = weights[index].abs() >= STRONGEST;
        let new = readings[index].is_empty();
        let spent = readings[index].len() >= plan.repeats || (new && repeats_only);
        if settled || spent || uneven > WORTHLESS {
            continue;
        }
        let cost = match new {
            true => uneven,
            false => uneven - BUILT_ALREADY,
        };
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, index));
        }
    }
    best.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use warpsmith_workload::random::Random;

    use super::*;

    const STEP: Reading = Reading {
        change: 0.03,
        error: 0.003,
    };

    fn find(count: usize, measure: &mut dyn FnMut(usize) -> Reading) -> Found {
        let plan = SearchPlan::default();
        let Ok(found) = search::<Infallible>(count, STEP, &plan, &mut |index| Ok(measure(index)));
        found
    }

    #[test]
    fn every_place_is_found_with_few_builds_where_readings_are_sharp() {
        for count in 1..70 {
            for place in 0..count {
                let found = find(count, &mut |index| Reading {
                    change: if index >= place { 0.03 } else { 0.0 },
                    error: 0.001,
                });
                assert_eq!(
                    (found.first, found.last),
                    (place, place),
                    "{count} {found:?}"
                );
                // By halves, and one more to be sure of an answer that hangs on one reading.
                let halves = (usize::BITS - (count - 1).leading_zeros()) as usize;
                assert!(found.built <= halves + 2, "{found:?} of {count} at {place}");
                assert_eq!(found.built, found.measured, "{found:?}");
            }
        }
    }

    #[test]
    fn noise_costs_measurements_and_few_wrong_answers() {
        let mut random = Random::seeded(5);
        let (mut right, mut wrong, mut most) = (0, 0, 0);
        for _ in 0..300 {
            let place = random.below(60);
            let found = find(60, &mut |index| Reading {
                change: if index >= place { 0.03 } else { 0.0 } + 0.007 * random.normal(),
                error: 0.007,
            });
            match found.is_certain() {
                true if found.first == place => right += 1,
                true => wrong += 1,
                false => {}
            }
            most = most.max(found.measured);
        }
        assert!(right >= 260, "{right} of 300");
        assert!(wrong <= 15, "{wrong} of 300");
        assert!(most <= 40, "{most}");
    }

    #[test]
    fn what_cannot_be_decided_leaves_a_range_and_ends() {
        let mut asked = 0;
        let found = find(20, &mut |_| {
            asked += 1;
            Reading {
                change: 0.015,
                error: 0.1,
            }
        });
        assert!(!found.is_certain());
        // Ten builds of six readings.
        assert!(asked <= 60, "{asked}");
        // Without errors that can be used, nothing is learnt either.
        let found = find(8, &mut |_| Reading {
            change: f64::NAN,
            error: f64::INFINITY,
        });
        assert_eq!((found.first, found.last), (0, 7));
    }
}
