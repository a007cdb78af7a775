//! Which measurements are good enough to be compared with anything.

use warpsmith_measure::measurement::{Basis, Figures, Measurement};

/// Samples below this number have no spread worth printing.
pub const FEWEST: usize = 8;
/// Wider intervals say too little for a share.
const WIDEST: f64 = 0.1;
/// The hypervisor may take this share of the time before wall time is no measure.
pub const MOST_STEAL: f64 = 0.02;

/// Why a measurement is not trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distrust {
    /// This many samples are too few.
    Few(usize),
    /// Samples that depend on one another so much that they have no interval: the machine changed meanwhile.
    Drifting(usize),
    /// The interval is this wide, relative to the median.
    Wide(f64),
    /// The hypervisor took this share of the time, and there is no CPU time to use instead.
    TakenAway(f64),
    /// Other programs disturbed most samples.
    Disturbed,
}

impl Distrust {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Few(_) => "few",
            Self::Wide(_) | Self::Drifting(_) => "unsteady",
            Self::TakenAway(_) => "taken away",
            Self::Disturbed => "disturbed",
        }
    }

    /// In a clause.
    pub fn clause(self) -> String {
        match self {
            Self::Few(1) => "too few samples (1)".to_owned(),
            Self::Few(count) => format!("too few samples ({count})"),
            Self::Drifting(count) => {
                format!("the machine changed while {count} samples were taken")
            }
            Self::Wide(half) => format!("the interval is ± {:.0} %", 100.0 * half),
            Self::TakenAway(share) => {
                format!("the hypervisor took {:.0} % of the time", 100.0 * share)
            }
            Self::Disturbed => "other programs disturbed most samples".to_owned(),
        }
    }
}

/// Half of the interval of the median, relative to it; infinite where there is none.
pub fn half_width(figures: &Figures) -> f64 {
    let interval = &figures.interval;
    let half = 0.5 * (interval.high - interval.low) / interval.median;
    if half.is_finite() {
        half
    } else {
        f64::INFINITY
    }
}

/// The figures of a measurement that can be trusted.
pub fn trusted(measurement: &Measurement) -> Result<Figures, Distrust> {
    let Some(figures) = measurement.figures() else {
        return Err(Distrust::Few(measurement.seconds.len()));
    };
    if figures.summary.count < FEWEST {
        return Err(Distrust::Few(figures.summary.count));
    }
    if figures.basis == Basis::Disturbed {
        return Err(Distrust::Disturbed);
    }
    // Undisturbed samples and CPU time leave out what the hypervisor took.
    let steal = measurement.conditions.steal_share.unwrap_or(0.0);
    if steal > MOST_STEAL && figures.basis == Basis::AllSamples {
        return Err(Distrust::TakenAway(steal));
    }
    match too_wide(half_width(&figures), figures.summary.count) {
        Some(distrust) => Err(distrust),
        None => Ok(figures),
    }
}

/// What an interval of so many samples, half as wide as this, is not trusted for.
fn too_wide(half: f64, count: usize) -> Option<Distrust> {
    if half <= WIDEST {
        None
    } else if half.is_finite() {
        Some(Distrust::Wide(half))
    } else {
        Some(Distrust::Drifting(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: Vec<f64>) -> Measurement {
        Measurement::imported("x", seconds)
    }

    #[test]
    fn few_or_scattered_samples_are_not_trusted() {
        assert_eq!(trusted(&of(vec![1.0; 3])), Err(Distrust::Few(3)));
        assert_eq!(trusted(&of(Vec::new())), Err(Distrust::Few(0)));
        // As of 5,000 launches while the clock rose.
        assert_eq!(
            too_wide(f64::INFINITY, 5000),
            Some(Distrust::Drifting(5000))
        );
        assert_eq!(too_wide(0.3, 5000), Some(Distrust::Wide(0.3)));
        assert_eq!(too_wide(0.01, 5000), None);
    }

    #[test]
    fn time_that_the_hypervisor_took_is_not_the_machines() {
        let mut stolen = of(vec![1.0; 40]);
        stolen.conditions.steal_share = Some(0.5);
        assert_eq!(trusted(&stolen), Err(Distrust::TakenAway(0.5)));
        stolen.conditions.steal_share = Some(0.01);
        assert!(trusted(&stolen).is_ok());
    }
}
