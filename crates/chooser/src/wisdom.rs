//! What has been measured on a machine, as plain data.
//!
//! Invariants, checked wherever wisdom comes in: sizes rise, all numbers are finite and positive, a
//! pair of operation and backend stands once, and the whole is small.

use serde::{Deserialize, Serialize};

use super::curve::Curve;
use super::identity::Identity;
use super::observe::Correction;
use super::profile::{Bus, Profile};

/// Version of the format; a file of a newer one is not read.
pub(crate) const FORMAT: u32 = 1;
/// More than a machine ever has.
const MOST_OPERATIONS: usize = 4096;

/// Measurements of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wisdom {
    /// Version of the format.
    pub format: u32,
    /// Whose it is.
    pub identity: Identity,
    /// Copies to and from each device, by its name.
    #[serde(default)]
    pub buses: Vec<(String, StoredBus, StoredBus)>,
    /// Operations on backends.
    #[serde(default)]
    pub operations: Vec<OperationWisdom>,
}

/// A [`Bus`] in a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredBus {
    /// Fixed seconds.
    pub latency: f64,
    /// Bytes per second.
    pub rate: f64,
}

/// One operation on one backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationWisdom {
    /// The operation, e.g. `lattice/rd`.
    pub operation: String,
    /// The backend, e.g. `cpu` or `cuda:0`.
    pub backend: String,
    /// When it was measured, in seconds since 1970.
    pub unix: u64,
    /// Measurements at rising sizes.
    pub points: Vec<Point>,
    /// What runs have taught since.
    #[serde(default)]
    pub correction: Correction,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of the pass.
    pub size: f64,
    /// Seconds of a run that are there whatever the number of passes.
    pub start: f64,
    /// Seconds of one pass.
    pub pass: f64,
}

impl Wisdom {
    /// A machine of which nothing is known.
    pub fn empty(identity: Identity) -> Self {
        Self {
            format: FORMAT,
            identity,
            buses: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// What is known about an operation on a backend.
    pub fn find(&self, operation: &str, backend: &str) -> Option<&OperationWisdom> {
        self.operations
            .iter()
            .find(|wisdom| wisdom.operation == operation && wisdom.backend == backend)
    }

    /// As [`Wisdom::find`], to be updated.
    pub fn find_mut(&mut self, operation: &str, backend: &str) -> Option<&mut OperationWisdom> {
        self.operations
            .iter_mut()
            .find(|wisdom| wisdom.operation == operation && wisdom.backend == backend)
    }

    /// Puts a measurement in the place of an older one.
    pub fn put(&mut self, wisdom: OperationWisdom) {
        match self.find_mut(&wisdom.operation.clone(), &wisdom.backend.clone()) {
            Some(old) => *old = wisdom,
            None => self.operations.push(wisdom),
        }
        self.operations
            .sort_by(|a, b| (&a.operation, &a.backend).cmp(&(&b.operation, &b.backend)));
    }

    /// Copies to and from a device.
    pub fn bus(&self, device: &str) -> Option<[Bus; 2]> {
        let (_, to, back) = self.buses.iter().find(|(name, _, _)| name == device)?;
        Some([to, back].map(|bus| Bus {
            latency: bus.latency,
            rate: bus.rate,
        }))
    }

    /// Puts a bus in the place of an older one.
    pub fn put_bus(&mut self, device: &str, to: Bus, back: Bus) {
        self.buses.retain(|(name, _, _)| name != device);
        let stored = |bus: Bus| StoredBus {
            latency: bus.latency,
            rate: bus.rate,
        };
        self.buses
            .push((device.to_owned(), stored(to), stored(back)));
    }

    /// Reads wisdom; every way in which it can be wrong has words.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.format != FORMAT {
            return Err(format!(
                "format {}, this program reads format {FORMAT}",
                version.format
            ));
        }
        let wisdom: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        wisdom.check()?;
        Ok(wisdom)
    }

    /// Holds the wisdom against the invariants.
    pub fn check(&self) -> Result<(), String> {
        if self.operations.len() > MOST_OPERATIONS || self.buses.len() > MOST_OPERATIONS {
            return Err("more entries than a machine has".to_owned());
        }
        for (device, to, back) in &self.buses {
            for bus in [to, back] {
                let sound = (0.0..1e3).contains(&bus.latency) && (1.0..1e18).contains(&bus.rate);
                if !sound {
                    return Err(format!("the copies of `{device}` are no measurements"));
                }
            }
        }
        for (index, wisdom) in self.operations.iter().enumerate() {
            let name = format!("`{}` on `{}`", wisdom.operation, wisdom.backend);
            wisdom
                .profile()
                .map_err(|problem| format!("{name}: {problem}"))?;
            let first = self.find(&wisdom.operation, &wisdom.backend);
            if first.is_some_and(|first| !std::ptr::eq(first, &self.operations[index])) {
                return Err(format!("{name} stands twice"));
            }
        }
        Ok(())
    }
}

impl OperationWisdom {
    /// As the chooser uses it.
    pub fn profile(&self) -> Result<Profile, String> {
        let curve = |seconds: fn(&Point) -> f64| {
            let points: Vec<_> = self
                .points
                .iter()
                .map(|point| (point.size, seconds(point)))
                .collect();
            Curve::through(&points).map_err(|error| error.to_string())
        };
        if !self.correction.is_sound() {
            return Err("its corrections are no measurements".to_owned());
        }
        let (start, pass) = (curve(|point| point.start)?, curve(|point| point.pass)?);
        let mut profile = Profile::measured(start, pass, self.unix);
        profile.correction = self.correction;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn sample() -> Wisdom {
        let mut wisdom = Wisdom::empty(Identity::here());
        for backend in ["cuda:0", "cpu"] {
            wisdom.put(OperationWisdom {
                operation: "lattice/rd".into(),
                backend: backend.into(),
                unix: 1_700_000_000,
                points: vec![
                    Point {
                        size: 1e3,
                        start: 1e-6,
                        pass: 1e-6,
                    },
                    Point {
                        size: 1e6,
                        start: 1e-5,
                        pass: 1e-3,
                    },
                ],
                correction: Correction::default(),
            });
        }
        let bus = Bus {
            latency: 1e-5,
            rate: 5e10,
        };
        wisdom.put_bus("cuda:0", bus, bus);
        wisdom
    }

    fn text() -> String {
        serde_json::to_string(&sample()).unwrap()
    }

    #[test]
    fn wisdom_comes_back_and_newer_entries_replace_older_ones() {
        assert_eq!(Wisdom::parse(&text()).unwrap(), sample());
        let mut wisdom = sample();
        let mut newer = wisdom.find("lattice/rd", "cpu").unwrap().clone();
        newer.unix += 1;
        wisdom.put(newer.clone());
        assert_eq!(wisdom.operations.len(), 2);
        assert_eq!(wisdom.find("lattice/rd", "cpu"), Some(&newer));
        assert_eq!(wisdom.bus("cuda:0").unwrap()[0].rate, 5e10);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to, problem) in [
            ("\"format\":1", "\"format\":2", "format 2"),
            ("\"size\":1000.0", "\"size\":1e9", "sizes must rise"),
            ("\"pass\":0.001", "\"pass\":-1", "above zero"),
            ("\"start\":0.00001", "\"start\":0", "above zero"),
            (
                "\"backend\":\"cpu\"",
                "\"backend\":\"cuda:0\"",
                "stands twice",
            ),
            ("\"rate\":50000000000.0", "\"rate\":0", "no measurements"),
        ] {
            let changed = text().replace(from, to);
            assert_ne!(changed, text(), "{from}");
            let error = Wisdom::parse(&changed).unwrap_err();
            assert!(error.contains(problem), "{to}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_wisdom_or_an_error(text in ".{0,200}") {
            let _ = Wisdom::parse(&text);
        }

        #[test]
        fn any_damage_gives_sound_wisdom_or_an_error(at in 0usize..4000, byte in any::<u8>(), cut in any::<bool>()) {
            let mut bytes = text().into_bytes();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            if let Ok(text) = String::from_utf8(bytes)
                && let Ok(wisdom) = Wisdom::parse(&text)
            {
                prop_assert!(wisdom.check().is_ok());
                for operation in &wisdom.operations {
                    let profile = operation.profile().unwrap();
                    prop_assert!(profile.pass.seconds(1e5).is_finite());
                }
            }
        }
    }
}
