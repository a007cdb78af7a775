//! GPUs of one kind: the same model under similar load, and how far apart they are.
//!
//! The median and the median absolute deviation do not move when a few of them are sick: those few
//! would widen a mean and a standard deviation until they fit inside.

use serde::{Deserialize, Serialize};

use super::reading::{GpuReading, HostReading};

/// Fewer than these have no typical value that one of them could differ from.
pub(super) const FEWEST: usize = 8;
/// A normal distribution's standard deviation in units of its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// What a GPU has to do; only those with similar load are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A kernel runs less than 5 % of the time.
    Idle,
    /// In between.
    Partial,
    /// A kernel runs at least 80 % of the time.
    Busy,
    /// The exporter does not say.
    Unknown,
}

impl Load {
    /// The load of a GPU.
    pub fn of(gpu: &GpuReading) -> Self {
        match gpu.busy_ratio {
            None => Self::Unknown,
            Some(busy) if busy < 0.05 => Self::Idle,
            Some(busy) if busy < 0.8 => Self::Partial,
            Some(_) => Self::Busy,
        }
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Partial => "partly busy",
            Self::Busy => "busy",
            Self::Unknown => "load unknown",
        }
    }
}

/// Something that GPUs of a kind have in common.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) of: fn(&GpuReading) -> Option<f64>,
    /// A difference that matters: this much, or this share of the median.
    pub(super) matters: (f64, f64),
    /// Whether more than the others is worth saying, and whether less is.
    pub(super) above: bool,
    pub(super) below: bool,
}

impl Quantity {
    /// Whether a value is so far from the others of its kind that it is worth saying.
    pub(super) fn is_remarkable(&self, value: f64, typical: &Typical) -> bool {
        let apart = value - typical.median;
        let worth = if apart > 0.0 { self.above } else { self.below };
        worth && typical.count >= FEWEST && apart.abs() > typical.bound(self.matters)
    }

    /// A value and what others of its kind have.
    pub(super) fn beside(&self, value: f64, typical: &Typical) -> String {
        format!(
            "{value:.0} {unit}, others of its kind {:.0} ± {:.0} {unit}",
            typical.median,
            typical.deviation,
            unit = self.unit,
        )
    }
}

/// What is compared. Colder is fine, and so is a higher clock; power tells in both directions: little
/// under load is work that waits, much at rest is something that does not sleep.
pub(super) const QUANTITIES: [Quantity; 5] = [
    Quantity {
        name: "power",
        unit: "W",
        of: |gpu| gpu.power_watts,
        matters: (5.0, 0.05),
        above: true,
        below: true,
    },
    Quantity {
        name: "temperature",
        unit: "°C",
        of: |gpu| gpu.temperature_celsius,
        matters: (5.0, 0.0),
        above: true,
        below: false,
    },
    Quantity {
        name: "memory temperature",
        unit: "°C",
        of: |gpu| gpu.memory_temperature_celsius,
        matters: (5.0, 0.0),
        above: true,
        below: false,
    },
    Quantity {
        name: "SM clock",
        unit: "MHz",
        of: |gpu| gpu.sm_clock_mhz,
        matters: (30.0, 0.03),
        above: false,
        below: true,
    },
    Quantity {
        name: "memory clock",
        unit: "MHz",
        of: |gpu| gpu.memory_clock_mhz,
        matters: (10.0, 0.01),
        above: false,
        below: true,
    },
];

/// The middle of some values, and how far they usually are from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Typical {
    /// Values.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The median absolute deviation, as a normal distribution's standard deviation.
    pub deviation: f64,
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

impl Typical {
    /// Of these values; `None` where there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&lowest, &highest) = (values.first()?, values.last()?);
        let middle = median(&values);
        let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        distances.sort_by(f64::total_cmp);
        Some(Self {
            count: values.len(),
            median: middle,
            deviation: NORMAL * median(&distances),
            lowest,
            highest,
        })
    }

    /// How far from the median a value may be before it is one of another kind. The deviation of few
    /// values is itself uncertain: by simulation, 5 + 40/n of them keep false alarms below one in a
    /// thousand normal values from 8 on, and below one in ten thousand from 32 on.
    pub(super) fn bound(&self, matters: (f64, f64)) -> f64 {
        let certain = 5.0 + 40.0 / self.count as f64;
        let (amount, share) = matters;
        (certain * self.deviation)
            .max(amount)
            .max(share * self.median.abs())
    }
}

/// Of sorted values, of which there is one at least.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

/// GPUs of one model under similar load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// The model.
    pub name: String,
    /// What they have to do.
    pub load: Load,
    /// How many there are.
    pub gpus: usize,
    /// Whether there are enough to compare one with the others.
    pub compared: bool,
    /// What is typical of them, by quantity.
    pub typical: Vec<(String, Typical)>,
}

/// The GPUs that answer, with their hosts, by kind; in the order of names and loads.
pub(super) fn by_kind(hosts: &[HostReading]) -> Vec<(Kind, Vec<(&HostReading, &GpuReading)>)> {
    let mut groups = std::collections::BTreeMap::<(&str, Load), Vec<_>>::new();
    for host in hosts {
        for gpu in host.gpus.iter().filter(|gpu| gpu.down.is_none()) {
            let members = groups
                .entry((gpu.name.as_str(), Load::of(gpu)))
                .or_default();
            members.push((host, gpu));
        }
    }
    // Under no name are GPUs that say nothing at all.
    let named = groups.into_iter().filter(|((name, _), _)| !name.is_empty());
    named
        .map(|((name, load), members)| (kind(name, load, &members), members))
        .collect()
}

fn kind(name: &str, load: Load, members: &[(&HostReading, &GpuReading)]) -> Kind {
    let typical = QUANTITIES.iter().filter_map(|quantity| {
        let values = members.iter().filter_map(|(_, gpu)| (quantity.of)(gpu));
        Some((quantity.name.to_owned(), Typical::of(values.collect())?))
    });
    Kind {
        name: name.to_owned(),
        load,
        gpus: members.len(),
        compared: members.len() >= FEWEST && load != Load::Unknown,
        typical: typical.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_sick_ones_do_not_move_what_is_typical() {
        let healthy: Vec<f64> = (0..20).map(|nth| 690.0 + f64::from(nth % 5)).collect();
        let mut sick = healthy.clone();
        sick[3] = 200.0;
        sick[11] = 100.0;
        let (healthy, sick) = (Typical::of(healthy).unwrap(), Typical::of(sick).unwrap());
        assert!((healthy.median - sick.median).abs() <= 1.0);
        assert!((healthy.deviation - sick.deviation).abs() <= NORMAL);
        assert!(sick.median - 200.0 > sick.bound((5.0, 0.05)));
        assert_eq!(Typical::of(Vec::new()), None);
    }

    #[test]
    fn equal_values_leave_what_matters_as_the_bound() {
        let same = Typical::of(vec![3201.0; 9]).unwrap();
        assert_eq!(same.deviation, 0.0);
        assert_eq!(same.bound((10.0, 0.01)), 32.01);
    }

    /// The claim in [`Typical::bound`], on values that vary as normal ones do.
    #[test]
    fn false_alarms_are_as_rare_as_promised() {
        // A fixed generator (splitmix64) and the sum of twelve uniforms: normal up to five deviations.
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        for (count, fleets, most) in [(8, 4000, 1e-3), (32, 2000, 1e-4), (200, 400, 5e-5)] {
            let mut alarms = 0_usize;
            for _ in 0..fleets {
                let values: Vec<f64> = (0..count).map(|_| normal()).collect();
                let typical = Typical::of(values.clone()).unwrap();
                let bound = typical.bound((0.0, 0.0));
                alarms += values
                    .iter()
                    .filter(|value| (*value - typical.median).abs() > bound)
                    .count();
            }
            let rate = alarms as f64 / (fleets * count) as f64;
            assert!(rate <= most, "{count} of a kind: {rate}");
        }
    }
}
