//! A fitted law in words: which one, what else fits, or that these sizes cannot tell.

use warpsmith_measure::scaling::{self, Law, LawFit, Scaling, SizePoint};

/// Laws are requested from this many sizes on,
const SIZES: usize = 8;
/// and over this factor between the least and the largest.
const FACTOR: f64 = 100.0;

/// Points that lie farther from the best law than this follow none.
const MOST_SCATTER: f64 = 0.25;

/// What sizes and times say.
pub enum Judged {
    /// There are too few sizes, or they are too close.
    NotRequested {
        /// How many.
        sizes: usize,
        /// The largest over the least.
        factor: f64,
    },
    /// A law; others may fit as well.
    Law {
        /// The simplest that fits.
        fit: LawFit,
        /// Others that fit as well, of nearly the same growth.
        others: Vec<Law>,
        /// Where work and overhead take the same time.
        balance: Option<f64>,
    },
    /// Laws of different growth fit equally.
    CannotTell(Vec<Law>),
    /// No law is near the points: they lie this far from the best one, as a share.
    Scattered(f64),
}

fn growth(law: Law) -> f64 {
    match law {
        Law::Constant | Law::Logarithmic => 0.0,
        Law::Linear | Law::Linearithmic => 1.0,
        Law::ThreeHalves => 1.5,
        Law::Quadratic => 2.0,
        Law::Cubic => 3.0,
    }
}

/// Judges times over sizes.
pub fn judge(points: &[SizePoint]) -> Judged {
    let least = points.iter().map(|p| p.size).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.size).fold(0.0, f64::max);
    let factor = if points.is_empty() { 0.0 } else { most / least };
    let not_requested = Judged::NotRequested {
        sizes: points.len(),
        factor,
    };
    if points.len() < SIZES || factor < FACTOR {
        return not_requested;
    }
    match scaling::fit(points) {
        Some(scaling) => of_scaling(&scaling),
        None => not_requested,
    }
}

fn of_scaling(scaling: &Scaling) -> Judged {
    if scaling.chosen.relative_error > MOST_SCATTER {
        return Judged::Scattered(scaling.chosen.relative_error);
    }
    let mut laws = vec![scaling.chosen.law];
    laws.extend(&scaling.rivals);
    // Times that rise in the upper half have a law that rises.
    let (_, low, _) = scaling.exponent;
    if low > 0.1 && laws.iter().any(|law| growth(*law) > 0.0) {
        laws.retain(|law| growth(*law) > 0.0);
    }
    let growths = laws.iter().map(|law| growth(*law));
    let spread = growths.clone().fold(0.0, f64::max) - growths.fold(f64::INFINITY, f64::min);
    if spread >= 0.5 {
        return Judged::CannotTell(laws);
    }
    let chosen = laws[0];
    let fit = match chosen == scaling.chosen.law {
        true => scaling.chosen,
        false => scaling::fit_of(chosen, &scaling.points),
    };
    Judged::Law {
        fit,
        others: laws[1..].to_vec(),
        balance: scaling
            .balance_size
            .filter(|_| chosen == scaling.chosen.law),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: u32, seconds: impl Fn(f64) -> f64) -> Vec<SizePoint> {
        (0..count)
            .map(|i| f64::from(1000 << i))
            .map(|size| SizePoint {
                size,
                seconds: seconds(size),
            })
            .collect()
    }

    #[test]
    fn a_law_is_drawn_only_from_enough_sizes() {
        let linear = |n: f64| 1e-5 + 1e-9 * n;
        assert!(matches!(
            judge(&points(6, linear)),
            Judged::NotRequested { sizes: 6, .. }
        ));
        assert!(matches!(judge(&[]), Judged::NotRequested { .. }));
        let Judged::Law { fit, .. } = judge(&points(10, linear)) else {
            panic!("no law");
        };
        assert_eq!(fit.law, Law::Linear);
    }

    #[test]
    fn points_that_follow_no_law_get_none() {
        let scattered = |n: f64| {
            1e-9 * n
                * if (n as u64 / 1000).ilog2().is_multiple_of(2) {
                    1.0
                } else {
                    3.0
                }
        };
        assert!(matches!(
            judge(&points(10, scattered)),
            Judged::Scattered(_)
        ));
    }

    #[test]
    fn what_rises_is_never_called_constant() {
        // Flat for most sizes, as a GPU is until it is full.
        let rises = |n: f64| 1e-5 + if n > 100_000.0 { 3e-11 * n } else { 0.0 };
        match judge(&points(10, rises)) {
            Judged::Law { fit, .. } => assert_ne!(fit.law, Law::Constant),
            Judged::CannotTell(laws) => assert!(!laws.contains(&Law::Constant), "{laws:?}"),
            Judged::Scattered(far) => panic!("the points lie {far} from every law"),
            Judged::NotRequested { .. } => panic!("ten sizes over a factor of 512 are enough"),
        }
    }
}
