//! Which torch a project names: what is gone from a release is an error only where every torch that the
//! project names is without it.

use warpsmith_core::Finding;

use super::{Standing, file_of, folder_of, open, proved, seen};
use crate::project::facts::ProjectFacts;
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

/// The release of torch without THC's headers.
const WITHOUT_THC: &str = "1.11.0";

/// Releases that stand for those before them, old to new.
const MILESTONES: [&str; 12] = [
    "0.4.1", "1.0.0", "1.3.1", "1.5.1", "1.7.1", "1.9.1", "1.10.2", "1.11.0", "1.13.1", "2.0.1",
    "2.6.0", "2.13.0",
];

/// NVIDIA's images by month, with the torch that they bring.
const NVIDIA_IMAGES: [(u64, u64, &str); 6] = [
    (19, 1, "1.0.0"),
    (20, 1, "1.4.0"),
    (21, 1, "1.8.0"),
    (22, 3, "1.12.0"),
    (23, 1, "1.14.0"),
    (23, 9, "2.1.0"),
];

pub(super) fn removed_header(facts: &ProjectFacts, finding: &Finding) -> Standing {
    every_torch_from(facts, file_of(finding), WITHOUT_THC)
}

pub(super) fn old_standard(facts: &ProjectFacts, finding: &Finding) -> Standing {
    if !finding.message.contains("torch") {
        return open("which TensorFlow is installed is not known");
    }
    let flag: u32 = seen(finding)
        .trim_start_matches("-std=c++")
        .parse()
        .unwrap_or(0);
    let first = database().torch.iter().find(|row| {
        let standard = row.cxx_standard_required.as_deref();
        let needed = standard.and_then(|s| s.trim_start_matches("c++").parse::<u32>().ok());
        needed.is_some_and(|needed| needed > flag)
    });
    match first {
        Some(row) => every_torch_from(facts, file_of(finding), &row.torch.to_string()),
        None => open("every torch takes it"),
    }
}

/// A torch that the project names: where, as what, and whether it may be older than some release.
struct Named {
    place: String,
    text: String,
    older: bool,
}

/// Whether every torch that the project names for `file` is `first` or newer.
fn every_torch_from(facts: &ProjectFacts, file: &str, first: &str) -> Standing {
    let Some(limit) = Version::parse(first) else {
        return open("the release is not known");
    };
    let named = named(facts, file, &limit);
    if let Some(older) = named.iter().find(|n| n.older) {
        return open(format!(
            "{} names {}, which may be older than {first}",
            older.place, older.text
        ));
    }
    match named.first() {
        Some(named) => proved(format!(
            "{} names {}, and the project no older one",
            named.place, named.text
        )),
        None => open(format!(
            "no file of the project says which torch it needs; before {first} this compiles"
        )),
    }
}

fn named(facts: &ProjectFacts, file: &str, limit: &Version) -> Vec<Named> {
    let mut found = Vec::new();
    for demand in facts
        .demands()
        .filter(|r| r.name == "torch" && !r.range.is_unbounded())
    {
        let probes = MILESTONES.iter().filter_map(|v| Version::parse(v));
        let pinned = demand.range.pinned().filter(|v| *v < limit);
        found.push(Named {
            place: format!("{}:{}", demand.file, demand.line),
            text: format!("torch{}", demand.range),
            older: pinned.is_some()
                || probes
                    .filter(|v| v < limit)
                    .any(|v| demand.range.contains(&v)),
        });
    }
    let mut version = |place: String, text: &str, version: Version| {
        found.push(Named {
            place,
            text: text.to_owned(),
            older: version < *limit,
        });
    };
    for image in &facts.dockerfiles {
        for stage in &image.stages {
            if let Some(torch) = torch_of_image(&stage.base) {
                version(format!("{}:{}", image.path, stage.line), &stage.base, torch);
            }
            for run in stage.instructions.iter().filter(|i| i.keyword == "RUN") {
                for (text, torch) in pins(&run.arguments) {
                    version(format!("{}:{}", image.path, run.line), &text, torch);
                }
            }
        }
    }
    for yaml in facts
        .yaml
        .iter()
        .chain(&facts.other_ci)
        .chain(&facts.workflows)
    {
        for (text, torch) in pins(&yaml.text) {
            version(yaml.path.clone(), &text, torch);
        }
    }
    for (path, script) in &facts.scripts {
        for (text, torch) in pins(script) {
            version(path.clone(), &text, torch);
        }
    }
    // A README speaks about its folder and what lies below.
    for document in facts
        .documents
        .iter()
        .filter(|d| file.starts_with(folder_of(&d.path)))
    {
        for (line, text) in document.lower() {
            for (words, torch) in pins(&text).into_iter().chain(prose(&text)) {
                version(format!("{}:{line}", document.path), &words, torch);
            }
        }
    }
    found
}

/// `pytorch/pytorch:1.7.1-cuda11.0` and `nvcr.io/nvidia/pytorch:21.03-py3`.
fn torch_of_image(image: &str) -> Option<Version> {
    let (name, tag) = image.split('@').next()?.rsplit_once(':')?;
    let version = Version::parse(tag.split('-').next()?)?;
    if name.ends_with("nvidia/pytorch") {
        let month = (version.part(0), version.part(1));
        let mut rows = NVIDIA_IMAGES.iter().rev();
        let row = rows.find(|(year, m, _)| (*year, *m) <= month);
        return Version::parse(row.map_or("0.4.1", |(.., torch)| torch));
    }
    (name.ends_with("pytorch/pytorch") && version.precision() >= 2).then_some(version)
}

/// `torch==1.4.0`, `pytorch=1.4`, `torch 1.4` of commands and environment files.
fn pins(text: &str) -> Vec<(String, Version)> {
    text.split([' ', '"', '\'', '\n', '\\', ',', '`'])
        .filter_map(|word| {
            let rest = ["torch==", "pytorch==", "pytorch="]
                .iter()
                .find_map(|start| word.strip_prefix(start))?;
            Some((word.to_owned(), Version::parse(rest)?))
        })
        .collect()
}

/// `PyTorch 1.4`, `pytorch (>= 1.1)`, `torch-1.7` of prose in lower case.
fn prose(text: &str) -> Vec<(String, Version)> {
    text.match_indices("torch")
        .filter_map(|(at, _)| {
            let behind = &text[at + "torch".len()..];
            let start = behind
                .find(|c: char| c.is_ascii_digit())
                .filter(|n| *n <= 14)?;
            let between = &behind[..start];
            // Another word between them has the number.
            let words = between
                .split(|c: char| !c.is_ascii_alphabetic())
                .filter(|w| !w.is_empty() && !matches!(*w, "version" | "v" | "ver"));
            if words.count() > 0 {
                return None;
            }
            let digits: String = behind[start..]
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            let version = Version::parse(digits.trim_end_matches('.'))?;
            (version.precision() >= 2 && version.major() < 3)
                .then(|| (format!("torch {version}"), version))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::markdown::Document;
    use crate::project::parse::requirements::parse_requirements;

    fn project(requirements: &str, readme: &str) -> ProjectFacts {
        ProjectFacts {
            requirements: parse_requirements("requirements.txt", requirements).0,
            documents: vec![Document::parse("README.md", readme)],
            ..ProjectFacts::default()
        }
    }

    #[test]
    fn a_removed_header_is_proved_by_every_torch_that_is_named() {
        let standing = |requirements: &str, readme: &str| {
            every_torch_from(&project(requirements, readme), "ops/a.cu", WITHOUT_THC)
        };
        assert!(standing("torch>=1.13\n", "").is_ok());
        assert!(standing("torch==2.1.0\n", "needs PyTorch 2.0 or newer").is_ok());
        assert!(standing("", "").unwrap_err().contains("no file"));
        assert!(standing("torch\n", "").unwrap_err().contains("no file"));
        assert!(
            standing("torch>=1.3\n", "")
                .unwrap_err()
                .contains("requirements.txt:1")
        );
        let readme = "# A\ntested with PyTorch 1.4";
        assert!(
            standing("torch>=1.13\n", readme)
                .unwrap_err()
                .contains("README.md:2")
        );
    }

    #[test]
    fn versions_are_read_from_images_and_prose() {
        let image = |name: &str| torch_of_image(name).map(|v| v.minor_name());
        assert_eq!(
            image("pytorch/pytorch:1.7.1-cuda11.0").as_deref(),
            Some("1.7")
        );
        assert_eq!(
            image("nvcr.io/nvidia/pytorch:22.01-py3").as_deref(),
            Some("1.8")
        );
        assert_eq!(
            image("nvcr.io/nvidia/pytorch:25.01-py3").as_deref(),
            Some("2.1")
        );
        assert_eq!(image("ubuntu:22.04"), None);
        let found = |text: &str| prose(text).len();
        assert_eq!(found("pytorch (>= 1.1), python 3.7"), 1);
        assert_eq!(found("pytorch with cuda 10.2"), 0);
        assert_eq!(found("torch version 1.4"), 1);
    }
}
