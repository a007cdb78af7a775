//! What a Dockerfile proves: what is built in it, and with what.

use warpsmith_core::Finding;

use super::{Standing, file_of, open, proved, seen};
use crate::project::facts::ProjectFacts;
use crate::project::parse::shell;
use crate::project::rules::{compiles, names_of, system_of};

/// The image compiles the extension, and names the torch that it does so with.
pub(super) fn compiles_with_pinned_torch(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let file = file_of(finding);
    let Some(image) = facts.dockerfiles.iter().find(|f| f.path == file) else {
        return open("the image was not read");
    };
    let runs = image.stages.iter().flat_map(|s| &s.instructions);
    let commands: Vec<Vec<String>> = runs
        .filter(|i| i.keyword == "RUN")
        .flat_map(|i| shell::commands(&i.arguments))
        .collect();
    if !commands.iter().any(|words| compiles(words)) {
        return open("no command of the image compiles the extension");
    }
    let pinned = commands.iter().flatten().any(|w| w.starts_with("torch=="));
    if pinned {
        proved("the image compiles against the torch that it pins")
    } else {
        open("the image takes the torch that is newest on the day of the build")
    }
}

/// Two files of the project ask for releases that exclude each other.
pub(super) fn both_are_installed(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let mut sources = finding.evidence.iter().map(|e| e.source.as_str());
    let of_image = sources.any(|s| facts.dockerfiles.iter().any(|f| s.starts_with(&f.path)));
    if of_image {
        open("pip may replace the image's release")
    } else {
        proved("both files stand in one folder, and neither has a condition")
    }
}

/// Words of a path whose images build binaries for systems that are older than they.
const FOR_OLD_SYSTEMS: [&str; 8] = [
    "compat",
    "manylinux",
    "packaging",
    "portable",
    "prebuild",
    "prebuilt",
    "wheel",
    "wheels",
];

/// The base is old by neglect: nothing says that the release was chosen.
pub(super) fn old_by_neglect(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let (file, base) = (file_of(finding), seen(finding));
    let lower = file.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    if base.contains("manylinux") || words.any(|word| FOR_OLD_SYSTEMS.contains(&word)) {
        return open("binaries for old systems are built on old systems");
    }
    // `DockerfilePaper`, `docker/paper/`: a paper's results need the environment that gave them.
    if lower.contains("paper") {
        return open("the path names a paper: its environment is kept as it was");
    }
    if let Some(system) = system_of(base)
        && let Some(name) = names_of(system).iter().find(|n| lower.contains(n.as_str()))
    {
        return open(format!("the path names `{name}`: the release was chosen"));
    }
    let newer = facts
        .dockerfiles
        .iter()
        .filter(|f| f.path != file)
        .find(|f| {
            let mut bases = f.stages.iter().filter_map(|s| system_of(&s.base));
            bases.any(|system| system.in_support)
        });
    match newer {
        Some(other) => open(format!(
            "`{}` is for a release that gets fixes: this one may be kept for others",
            other.path
        )),
        None => proved("the tag names the release, and no image of the project has a newer one"),
    }
}

/// setup.py ends without a GPU, and the image runs it.
pub(super) fn cannot_be_built(_: &ProjectFacts, finding: &Finding) -> Standing {
    if finding.message.starts_with("the image cannot be built") {
        proved("`docker build` has no GPU, and setup.py ends without one")
    } else {
        open("setup.py or the base image may set a list or leave the CUDA code out")
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;
    use crate::project::parse::dockerfile::Dockerfile;

    #[test]
    fn another_cuda_is_proved_by_a_build_in_the_image() {
        let standing = |text: &str| {
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse("Dockerfile", text)],
                ..ProjectFacts::default()
            };
            let found =
                Finding::new("DEP001", Severity::Error, "m").at(Span::line("Dockerfile", 1));
            compiles_with_pinned_torch(&facts, &found)
        };
        let base = "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n";
        assert!(
            standing(&format!(
                "{base}RUN pip install torch==2.8.0 && pip install .\n"
            ))
            .is_ok()
        );
        assert!(standing(&format!("{base}RUN pip install torch && pip install .\n")).is_err());
        assert!(standing(&format!("{base}RUN pip install torch==2.8.0\n")).is_err());
    }

    #[test]
    fn an_image_that_is_old_on_purpose_is_no_error() {
        let standing = |file: &str, base: &str, other: &str| {
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse(
                    "other/Dockerfile",
                    &format!("FROM {other}\n"),
                )],
                ..ProjectFacts::default()
            };
            let found = Finding::new("DKR005", Severity::Error, "m")
                .because("a:1", base)
                .at(Span::line(file, 1));
            old_by_neglect(&facts, &found)
        };
        let old = "nvidia/cuda:10.2-devel-ubuntu18.04";
        assert!(standing("Dockerfile", old, "ubuntu:18.04").is_ok());
        assert!(standing("Dockerfile", old, "ubuntu:jammy").is_err());
        assert!(standing("Dockerfile", "quay.io/pypa/manylinux2014_x86_64", old).is_err());
        for path in [
            "docker/bionic/Dockerfile",
            "a-ubuntu18.04/Dockerfile",
            "compat/Dockerfile",
            "DockerfilePaper",
        ] {
            assert!(standing(path, old, old).is_err(), "{path}");
        }
    }
}
