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

    /// Takes a run for a measurement, where nobody calibrates: at each size the least time counts.
    pub fn note_run(&mut self, operation: &str, backend: &str, size: f64, seconds: f64, unix: u64) {
        let mut known = match self.find(operation, backend) {
            Some(known) => known.clone(),
            None => OperationWisdom {
                operation: operation.to_owned(),
                backend: backend.to_owned(),
                unix,
                points: Vec::new(),
                correction: Correction::default(),
            },
        };
        known.unix = unix;
        known.note_run(size.max(1.0), seconds.max(1e-9));
        self.put(known);
    }

    /// Keeps at most `most` of the entries whose operation begins with `prefix`, the newest.
    pub fn forget_oldest(&mut self, prefix: &str, most: usize) {
        let of_prefix = |wisdom: &OperationWisdom| wisdom.operation.starts_with(prefix);
        let mut times: Vec<u64> = self
            .operations
            .iter()
            .filter(|wisdom| of_prefix(wisdom))
            .map(|wisdom| wisdom.unix)
            .collect();
        times.sort_unstable();
        let Some(excess) = times.len().checked_sub(most).filter(|excess| *excess > 0) else {
            return;
        };
        let last = times[excess - 1];
        let mut left = excess;
        self.operations.retain(|wisdom| {
            let goes = left > 0 && of_prefix(wisdom) && wisdom.unix <= last;
            left -= usize::from(goes);
            !goes
        });
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
                    return Err(format!("the copies of `{device}` are not measurements"));
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
    fn note_run(&mut self, size: f64, seconds: f64) {
        /// Sizes that are kept of runs.
        const SIZES: usize = 16;
        let at = self.points.partition_point(|point| point.size < size);
        if let Some(known) = self.points.get_mut(at).filter(|known| known.size == size) {
            known.pass = known.pass.min(seconds);
            return;
        }
        let point = Point {
            size,
            start: 1e-9,
            pass: seconds,
        };
        self.points.insert(at, point);
        if self.points.len() > SIZES {
            // The neighbour says about the same.
            self.points.remove(if at == 0 { 1 } else { at - 1 });
        }
    }

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
            return Err("its corrections are not measurements".to_owned());
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
    fn runs_become_measurements_and_the_oldest_go() {
        let mut wisdom = sample();
        let kernel = |wisdom: &Wisdom| wisdom.find("exec/k", "cpu").unwrap().clone();
        wisdom.note_run("exec/k", "cpu", 100.0, 2.0, 5);
        wisdom.note_run("exec/k", "cpu", 10.0, 0.5, 6);
        wisdom.note_run("exec/k", "cpu", 100.0, 1.0, 7);
        wisdom.note_run("exec/k", "cpu", 100.0, 3.0, 8);
        let points: Vec<_> = kernel(&wisdom)
            .points
            .iter()
            .map(|p| (p.size, p.pass))
            .collect();
        assert_eq!(points, [(10.0, 0.5), (100.0, 1.0)]);
        for size in 0..50 {
            wisdom.note_run("exec/k", "cpu", f64::from(size), f64::from(size), 9);
        }
        assert_eq!(kernel(&wisdom).points.len(), 16);
        for age in 0..9 {
            wisdom.note_run(&format!("exec/old{age}"), "cpu", 1.0, 1.0, age);
        }
        wisdom.forget_oldest("exec/", 3);
        wisdom.check().unwrap();
        let mut left: Vec<_> = wisdom
            .operations
            .iter()
            .map(|one| one.operation.as_str())
            .collect();
        left.dedup();
        assert_eq!(left, ["exec/k", "exec/old7", "exec/old8", "lattice/rd"]);
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
            ("\"rate\":50000000000.0", "\"rate\":0", "not measurements"),
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
