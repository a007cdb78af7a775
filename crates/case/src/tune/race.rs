//! Which of several candidates is the fastest, by samples taken in turns.
//!
//! All start; one whose lower bound lies above the best one's upper bound leaves; those that stay
//! double their samples. The level is shared among the candidates, so that many of them do not make
//! a winner by chance.

use warpsmith_workload::random::Random;

/// A candidate's samples.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Seconds of each sample.
    pub seconds: Vec<f64>,
    /// Whether it left the race.
    pub out: bool,
}

impl Lane {
    /// The median, infinite without samples.
    pub fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::INFINITY,
            count if count % 2 == 1 => sorted[count / 2],
            count => 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]),
        }
    }

    /// Bounds of the median, `deviations` standard errors wide on each side.
    fn bounds(&self, deviations: f64) -> (f64, f64) {
        let median = self.median();
        let mut distances: Vec<f64> = self
            .seconds
            .iter()
            .map(|one| (one - median).abs())
            .collect();
        distances.sort_unstable_by(f64::total_cmp);
        // 1.4826 makes a median distance a standard deviation, 1.2533 the error of a median of that of
        // a mean. Few samples agree by chance: at least half a percent is always doubted.
        let spread = distances.get(distances.len() / 2).copied().unwrap_or(0.0) * 1.4826 * 1.2533;
        let error = (spread / (self.seconds.len() as f64).sqrt()).max(0.005 * median / 3.0);
        (median - deviations * error, median + deviations * error)
    }
}

/// Races `count` candidates: `sample` takes one sample of one. Ends when one is left, when the rest is
/// within `equal` of the best, or after `most` samples of each. The lanes come back in their order.
pub fn race<E>(
    count: usize,
    first: usize,
    most: usize,
    equal: f64,
    seed: u64,
    sample: &mut dyn FnMut(usize) -> Result<f64, E>,
) -> Result<Vec<Lane>, E> {
    let mut lanes = vec![Lane::default(); count];
    let mut random = Random::seeded(seed);
    // 3 standard errors are a level of 0.3 %; sharing it among many asks for more.
    let deviations = 3.0 + 0.5 * (count.max(1) as f64).log10();
    let mut target = first.max(3);
    loop {
        loop {
            let mut due: Vec<usize> = (0..count)
                .filter(|at| !lanes[*at].out && lanes[*at].seconds.len() < target)
                .collect();
            if due.is_empty() {
                break;
            }
            random.shuffle(&mut due);
            for at in due {
                let seconds = sample(at)?;
                lanes[at].seconds.push(seconds);
            }
        }
        let best = (0..count)
            .filter(|at| !lanes[*at].out)
            .min_by(|a, b| lanes[*a].median().total_cmp(&lanes[*b].median()));
        let Some(best) = best else {
            break;
        };
        let (_, upper) = lanes[best].bounds(deviations);
        let fastest = lanes[best].median();
        for (at, lane) in lanes.iter_mut().enumerate() {
            lane.out |= at != best && lane.bounds(deviations).0 > upper;
        }
        let rest: Vec<&Lane> = lanes.iter().filter(|lane| !lane.out).collect();
        let all_equal = target >= 2 * first.max(3)
            && rest
                .iter()
                .all(|lane| lane.median() <= fastest * (1.0 + equal));
        if rest.len() <= 1 || all_equal || target >= most {
            break;
        }
        target = (target * 2).min(most);
    }
    Ok(lanes)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn the_fastest_wins_and_hopeless_ones_leave_early() {
        let means = [1.30, 1.00, 1.05, 3.0, 1.02];
        let mut random = Random::seeded(9);
        let mut sample = |at: usize| -> Result<f64, Infallible> {
            Ok(means[at] * (1.0 + 0.01 * random.normal()))
        };
        let Ok(lanes) = race(5, 4, 128, 0.005, 1, &mut sample);
        assert!(lanes[3].out && lanes[3].seconds.len() == 4);
        assert!(lanes[0].out && !lanes[1].out);
        let best = (0..5).min_by(|a, b| lanes[*a].median().total_cmp(&lanes[*b].median()));
        assert_eq!(best, Some(1));
    }

    #[test]
    fn equal_ones_end_the_race() {
        let mut sample = |_: usize| -> Result<f64, Infallible> { Ok(1.0) };
        let Ok(lanes) = race(3, 4, 1024, 0.01, 1, &mut sample);
        assert!(
            lanes
                .iter()
                .all(|lane| !lane.out && lane.seconds.len() == 8)
        );
    }
}
