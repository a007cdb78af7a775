//! GPU architectures: targets, the three notations of architecture lists, and whether code built
//! for some targets runs on a device.
//!
//! The binary rules: machine code runs on the same major and an equal or higher minor (never
//! between Tegra and other parts); a target with suffix `a` runs on exactly its capability, one
//! with `f` inside its family; PTX can be compiled for any equal or higher capability if the driver
//! understands its version.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Capability {
    /// Generation.
    pub major: u32,
    /// Member of the generation.
    pub minor: u32,
}

impl Capability {
    /// From `8.6`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once('.')?;
        Some(Self {
            major: major.parse().ok().filter(|m| *m < 100)?,
            minor: minor.parse().ok().filter(|m| *m < 10)?,
        })
    }

    /// From the number in `sm_86`.
    pub fn from_sm(number: u32) -> Self {
        Self {
            major: number / 10,
            minor: number % 10,
        }
    }

    /// The number in `sm_86`.
    pub fn sm(self) -> u32 {
        self.major * 10 + self.minor
    }

    /// Embedded parts, whose machine code is not shared with other parts.
    pub fn is_tegra(self) -> bool {
        matches!(self.sm(), 53 | 62 | 72 | 87 | 88 | 101 | 110)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a compiler takes as a target: `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The capability.
    pub capability: Capability,
    /// `a` (this part only), `f` (its family), or nothing.
    pub suffix: Option<char>,
}

impl Target {
    /// From `90a`, `8.6`, `sm_80` or `compute_80`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = ["sm_", "compute_", "lto_"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let (number, suffix) = match text.chars().last()? {
            c @ ('a' | 'f') => (&text[..text.len() - 1], Some(c)),
            _ => (text, None),
        };
        let capability = if number.contains('.') {
            Capability::parse(number)?
        } else {
            let number: u32 = number.parse().ok()?;
            (20..1000)
                .contains(&number)
                .then(|| Capability::from_sm(number))?
        };
        Some(Self { capability, suffix })
    }

    /// Whether machine code for this target runs on `device`.
    pub fn runs_on(self, device: Capability) -> bool {
        let own = self.capability;
        match self.suffix {
            Some('a') => own == device,
            _ if own.is_tegra() || device.is_tegra() => own == device,
            _ => own.major == device.major && own.minor <= device.minor,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.capability.sm())?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// What a build asks for, or what a binary contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Machine code.
    pub cubins: BTreeSet<Target>,
    /// PTX.
    pub ptx: BTreeSet<Target>,
}

/// Whether code runs on a device, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// Machine code is there.
    Native(Target),
    /// The driver compiles this PTX at load.
    Jit(Target),
    /// Neither; says what is missing.
    No(String),
}

impl Coverage {
    /// Whether there is any device code at all.
    pub fn is_empty(&self) -> bool {
        self.cubins.is_empty() && self.ptx.is_empty()
    }

    /// Adds what `other` has.
    pub fn merge(&mut self, other: &Self) {
        self.cubins.extend(&other.cubins);
        self.ptx.extend(&other.ptx);
    }

    /// Whether this code runs on `device`.
    pub fn runs_on(&self, device: Capability) -> Runs {
        let best = |set: &BTreeSet<Target>, fits: &dyn Fn(Target) -> bool| {
            set.iter().copied().filter(|t| fits(*t)).max()
        };
        if let Some(target) = best(&self.cubins, &|t| t.runs_on(device)) {
            return Runs::Native(target);
        }
        let from_ptx = |t: Target| match t.suffix {
            Some('a') => t.capability == device,
            Some('f') => t.capability.major == device.major && t.capability <= device,
            _ => t.capability <= device,
        };
        if let Some(target) = best(&self.ptx, &from_ptx) {
            return Runs::Jit(target);
        }
        Runs::No(format!(
            "no machine code for sm_{} ({}), {}",
            device.sm(),
            names(&self.cubins).unwrap_or_else(|| "none at all".into()),
            match names(&self.ptx) {
                None => "and no PTX to compile from".into(),
                Some(ptx) => format!("and its PTX is for newer GPUs ({ptx})"),
            }
        ))
    }

    /// `sm_80 sm_86 + PTX sm_90`.
    pub fn describe(&self) -> String {
        let cubins = names(&self.cubins).unwrap_or_else(|| "no machine code".into());
        match names(&self.ptx) {
            None => format!("{cubins}, no PTX"),
            Some(ptx) => format!("{cubins}, PTX for {ptx}"),
        }
    }
}

fn names(set: &BTreeSet<Target>) -> Option<String> {
    (!set.is_empty()).then(|| {
        set.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    })
}

/// The names that torch accepts in TORCH_CUDA_ARCH_LIST.
const FAMILIES: [(&str, &str); 13] = [
    ("Kepler", "3.5+PTX"),
    ("Kepler+Tesla", "3.7"),
    ("Maxwell", "5.0;5.2+PTX"),
    ("Maxwell+Tegra", "5.3"),
    ("Pascal", "6.0;6.1+PTX"),
    ("Volta", "7.0+PTX"),
    ("Volta+Tegra", "7.2"),
    ("Turing", "7.5+PTX"),
    ("Ampere", "8.0;8.6+PTX"),
    ("Ampere+Tegra", "8.7"),
    ("Ada", "8.9+PTX"),
    ("Hopper", "9.0+PTX"),
    ("Blackwell", "10.0;10.3;12.0;12.1+PTX"),
];

/// A TORCH_CUDA_ARCH_LIST, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TorchArchList {
    /// What the well-formed entries ask for.
    pub coverage: Coverage,
    /// Entries without a dot, such as `86`, which torch rejects.
    pub undotted: Vec<String>,
    /// Entries that name no architecture.
    pub unknown: Vec<String>,
}

impl TorchArchList {
    /// Reads a list separated by `;`, `,` or spaces.
    pub fn parse(text: &str) -> Self {
        let mut list = Self::default();
        for entry in text
            .split([';', ' ', ','])
            .map(|e| e.trim_matches(['"', '\'']))
            .filter(|e| !e.is_empty())
        {
            if let Some((_, meaning)) = FAMILIES
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(entry))
            {
                let inner = Self::parse(meaning);
                list.coverage.merge(&inner.coverage);
                continue;
            }
            let (number, with_ptx) = match entry.strip_suffix("+PTX") {
                Some(number) => (number, true),
                None => (entry, false),
            };
            match Target::parse(number) {
                Some(target) if number.contains('.') => {
                    list.coverage.cubins.insert(target);
                    if with_ptx {
                        list.coverage.ptx.insert(target);
                    }
                }
                Some(target) if number.chars().next().is_some_and(|c| c.is_ascii_digit()) => {
                    list.coverage.cubins.insert(target);
                    list.undotted.push(entry.to_owned());
                }
                _ => list.unknown.push(entry.to_owned()),
            }
        }
        list
    }

    /// The list in the form that torch accepts.
    pub fn dotted(text: &str) -> String {
        text.split(';')
            .map(|entry| {
                let (number, tail) = match entry.trim().strip_suffix("+PTX") {
                    Some(number) => (number, "+PTX"),
                    None => (entry.trim(), ""),
                };
                match Target::parse(number) {
                    Some(t) if !number.contains('.') => format!(
                        "{}{}{tail}",
                        t.capability,
                        t.suffix.map(String::from).unwrap_or_default()
                    ),
                    _ => entry.trim().to_owned(),
                }
            })
            .collect::<Vec<_>>()
            .join(";")
    }
}

/// Reads CMAKE_CUDA_ARCHITECTURES: `80-real;90`, where an entry without `-real` or `-virtual` is
/// both machine code and PTX. `native`, `all` and `all-major` give an empty coverage.
pub fn cmake_architectures(text: &str) -> Coverage {
    let mut coverage = Coverage::default();
    for entry in text.split([';', ' ', '"']).filter(|e| !e.is_empty()) {
        let (number, real, virtual_) = match entry.split_once('-') {
            Some((number, "real")) => (number, true, false),
            Some((number, "virtual")) => (number, false, true),
            _ => (entry, true, true),
        };
        if let Some(target) = Target::parse(number) {
            if real {
                coverage.cubins.insert(target);
            }
            if virtual_ {
                coverage.ptx.insert(target);
            }
        }
    }
    coverage
}

/// Reads `-gencode arch=compute_80,code=[sm_80,compute_80]` and `-arch=sm_80` in compiler flags.
pub fn gencode_flags(text: &str) -> Coverage {
    let mut coverage = Coverage::default();
    let mut add = |word: &str| {
        if let Some(target) = Target::parse(word) {
            if word.starts_with("compute_") {
                coverage.ptx.insert(target);
            } else if word.starts_with("sm_") {
                coverage.cubins.insert(target);
            }
        }
    };
    for (at, _) in text.match_indices("code=") {
        let rest = &text[at + 5..];
        let list = match rest.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or(""),
            None => rest
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ','))
                .next()
                .unwrap_or(""),
        };
        list.split(',').map(str::trim).for_each(&mut add);
    }
    for (at, _) in text.match_indices("-arch=sm_") {
        let word = text[at + 6..]
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .next()
            .unwrap_or("");
        add(word);
        // `-arch=sm_80` alone embeds PTX for the same architecture too.
        add(&word.replace("sm_", "compute_"));
    }
    coverage
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cc(text: &str) -> Capability {
        Capability::parse(text).unwrap()
    }

    fn coverage(cubins: &[&str], ptx: &[&str]) -> Coverage {
        let set = |words: &[&str]| words.iter().map(|w| Target::parse(w).unwrap()).collect();
        Coverage {
            cubins: set(cubins),
            ptx: set(ptx),
        }
    }

    #[test]
    fn machine_code_runs_on_the_same_major_and_no_lower_minor() {
        let c = coverage(&["80"], &[]);
        assert!(matches!(c.runs_on(cc("8.6")), Runs::Native(_)));
        assert!(matches!(c.runs_on(cc("7.5")), Runs::No(_)));
        assert!(matches!(c.runs_on(cc("9.0")), Runs::No(_)));
        // Orin shares its major with desktop Ampere and not its machine code.
        assert!(matches!(c.runs_on(cc("8.7")), Runs::No(_)));
        assert!(matches!(
            coverage(&["90a"], &[]).runs_on(cc("9.0")),
            Runs::Native(_)
        ));
        assert!(matches!(
            coverage(&["100a"], &[]).runs_on(cc("10.3")),
            Runs::No(_)
        ));
        assert!(matches!(
            coverage(&["100f"], &[]).runs_on(cc("10.3")),
            Runs::Native(_)
        ));
    }

    #[test]
    fn ptx_carries_code_forward_and_never_back() {
        let c = coverage(&[], &["80"]);
        assert!(matches!(c.runs_on(cc("12.0")), Runs::Jit(_)));
        assert!(matches!(c.runs_on(cc("7.5")), Runs::No(_)));
        assert!(matches!(
            coverage(&[], &["90a"]).runs_on(cc("10.0")),
            Runs::No(_)
        ));
    }

    #[test]
    fn lists_are_read_in_their_three_notations() {
        let list = TorchArchList::parse("7.0;7.5 8.6+PTX");
        assert_eq!(list.coverage, coverage(&["70", "75", "86"], &["86"]));
        let list = TorchArchList::parse("70;75;9.0a;Ampere;nonsense");
        assert_eq!(list.undotted, ["70", "75"]);
        assert_eq!(list.unknown, ["nonsense"]);
        assert_eq!(TorchArchList::dotted("80;86;90a+PTX"), "8.0;8.6;9.0a+PTX");
        assert_eq!(
            cmake_architectures("75-real;80-virtual;90"),
            coverage(&["75", "90"], &["80", "90"])
        );
        assert_eq!(
            gencode_flags(
                "-gencode arch=compute_80,code=[sm_80,compute_80] -gencode=arch=compute_90,code=sm_90"
            ),
            coverage(&["80", "90"], &["80"])
        );
    }

    proptest! {
        #[test]
        fn any_list_is_read_without_a_panic(text in "\\PC{0,80}") {
            let _ = TorchArchList::parse(&text);
            let _ = TorchArchList::dotted(&text);
            let _ = cmake_architectures(&text);
            let _ = gencode_flags(&text);
        }

        #[test]
        fn more_code_never_runs_on_fewer_devices(
            sms in proptest::collection::btree_set(50u32..130, 0..6), extra in 50u32..130, device in 50u32..130
        ) {
            let make = |set: &BTreeSet<u32>| Coverage {
                cubins: set.iter().map(|n| Target { capability: Capability::from_sm(*n), suffix: None }).collect(),
                ptx: BTreeSet::new(),
            };
            let device = Capability::from_sm(device);
            let before = matches!(make(&sms).runs_on(device), Runs::Native(_));
            let mut more = sms.clone();
            more.insert(extra);
            let after = matches!(make(&more).runs_on(device), Runs::Native(_));
            prop_assert!(!before || after);
        }
    }
}
