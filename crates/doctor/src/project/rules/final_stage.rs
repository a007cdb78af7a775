//! Whether an image that is started carries what only its build needed.

use warpsmith_core::Certainty;

use super::Check;
use super::container::each;
use super::place::{as_info, at};
use crate::conclude::Judgement;
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::parse::dockerfile::{Dockerfile, Instruction, Stage};

pub(super) const RULES: &[Check] = &[("DKR004", devel_final)];

fn devel_final(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        let Some(stage) = file.last() else {
            return Vec::new();
        };
        let root = file.root_of(stage);
        if !root.base.contains("-devel") {
            return Vec::new();
        }
        let found = at(
            "DKR004",
            &file.path,
            root.line,
            "the final image carries compilers and headers",
            root.base.clone(),
        )
        .hint("compile in a devel stage and copy into a runtime stage");
        vec![
            if !starts_a_program(file, stage) || to_build_in(&file.path) {
                let why = "nothing says that it is more than an image to build and work in";
                as_info(found.sure(Certainty::Hint, why))
            } else if let Some(who) = compiles_when_it_runs(facts) {
                as_info(found.sure(Certainty::Hint, format!("{who} compiles when it runs")))
            } else {
                found
            },
        ]
    })
}

/// What of a project needs a compiler in the image that is started.
fn compiles_when_it_runs(facts: &ProjectFacts) -> Option<String> {
    const COMPILING: [&str; 9] = [
        "deepspeed",
        "flashinfer",
        "flashinfer-python",
        "pycuda",
        "sglang",
        "tensorrt-llm",
        "tilelang",
        "triton",
        "vllm",
    ];
    let demanded = facts
        .demands()
        .find(|r| COMPILING.contains(&r.name.as_str()) && !is_test(&r.file));
    let imported = || {
        let mut sources = facts.python.iter().filter(|p| !p.is_test);
        sources.find(|p| {
            let is_setup = p.path.rsplit('/').next() == Some("setup.py");
            !is_setup
                && p.imports.iter().any(|module| {
                    let package = module.split('.').next().unwrap_or(module);
                    module == "torch.utils.cpp_extension" || COMPILING.contains(&package)
                })
        })
    };
    demanded
        .map(|r| r.name.clone())
        .or_else(|| imported().map(|p| p.path.clone()))
}

/// Whether the image ends in a program that is neither a shell nor a build.
fn starts_a_program(file: &Dockerfile, stage: &Stage) -> bool {
    const NOT_ONE: [&str; 8] = [
        "bash", "sh", "zsh", "make", "cmake", "nvcc", "cargo", "ninja",
    ];
    let starts = |i: &&Instruction| matches!(i.keyword.as_str(), "CMD" | "ENTRYPOINT");
    let lineage = file.lineage(stage);
    let last = lineage.iter().copied().rfind(starts);
    last.is_some_and(|instruction| {
        let text = instruction.arguments.replace(['[', ']', '"', ','], " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        // `bash run.sh` starts a program, `bash` and `make bench` do not.
        let script = words
            .iter()
            .any(|w| w.ends_with(".sh") || w.ends_with(".py"));
        let first = words.first().map_or(String::new(), |w| name(w));
        !words.is_empty() && (script || !NOT_ONE.contains(&first.as_str()))
    })
}

/// Whether a path says that its image is for building, developing or testing.
fn to_build_in(path: &str) -> bool {
    const WORDS: [&str; 9] = [
        "build",
        "builder",
        "ci",
        "dev",
        "devel",
        "devcontainer",
        "development",
        "test",
        "tests",
    ];
    let lower = path.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use warpsmith_core::Severity;

    use super::*;
    use crate::project::parse::python_source::PythonFile;

    #[test]
    fn an_image_that_compiles_when_it_runs_keeps_its_compilers() {
        let severity = |source: &str| {
            let text = "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nCMD python3 serve.py\n";
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse("Dockerfile", text)],
                python: vec![PythonFile::parse("ops.py", source, false)],
                ..ProjectFacts::default()
            };
            devel_final(&facts).unwrap()[0].severity
        };
        assert_eq!(severity("import torch\n"), Severity::Warning);
        for source in [
            "from torch.utils.cpp_extension import load\n",
            "import triton.language as tl\n",
            "import pycuda.autoinit\n",
        ] {
            assert_eq!(severity(source), Severity::Info, "{source}");
        }
    }

    #[test]
    fn an_image_to_work_in_keeps_its_compilers() {
        let severity = |path: &str, end: &str| {
            let text = format!("FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\n{end}\n");
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse(path, &text)],
                ..ProjectFacts::default()
            };
            devel_final(&facts).unwrap()[0].severity
        };
        let run = "CMD [\"python3\", \"serve.py\"]";
        assert_eq!(severity("Dockerfile", run), Severity::Warning);
        assert_eq!(
            severity("Dockerfile", "ENTRYPOINT [\"/bin/bash\", \"run.sh\"]"),
            Severity::Warning
        );
        for end in [
            "CMD [\"/bin/bash\"]",
            "CMD make bench",
            "RUN pip install cmake",
        ] {
            assert_eq!(severity("Dockerfile", end), Severity::Info, "{end}");
        }
        assert_eq!(
            severity("docker/ubuntu_devel/Dockerfile", run),
            Severity::Info
        );
    }
}
