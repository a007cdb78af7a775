//! Rules about operation, tests and security that are more than a word in a file.

use warpsmith_core::Certainty;

use super::Check;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::parse::dockerfile::Instruction;

pub(super) const RULES: &[Check] = &[
    ("OPS009", debug_server),
    ("TST001", extension_untested),
    ("TST002", cpu_untested),
    ("SEC001", secrets),
    ("SEC002", unsafe_load),
];

fn debug_server(facts: &ProjectFacts) -> Judgement {
    applies(facts.is_service(), "not a web service with an image")?;
    let mut findings = Vec::new();
    for file in &facts.dockerfiles {
        let Some(stage) = file.last() else {
            continue;
        };
        // Of several commands the last one is started.
        let started = ["CMD", "ENTRYPOINT"].iter().filter_map(|keyword| {
            let mut lines = stage.instructions.iter();
            lines.rfind(|i| i.keyword == *keyword)
        });
        for instruction in started {
            let text = instruction
                .arguments
                .replace(['[', ']', '"', '\'', ','], " ");
            let words: Vec<&str> = text.split_whitespace().collect();
            let script = words.get(1).filter(|_| words[0].starts_with("python"));
            // What a script starts is in the script: many start uvicorn or waitress themselves.
            let runs = script.is_some_and(|script| {
                let name = script.rsplit('/').next().unwrap_or(script);
                let mut files = facts.python.iter();
                files.any(|p| p.path.rsplit('/').next() == Some(name) && p.development_server)
            });
            let names = |program: &str, verb: &str| {
                let is = |word: &&str| word.rsplit('/').next() == Some(program);
                let behind = words.iter().skip_while(|word| !is(word)).skip(1);
                behind.into_iter().any(|word| *word == verb)
            };
            if runs || names("flask", "run") || names("manage.py", "runserver") {
                findings.push(
                    at(
                        "OPS009",
                        &file.path,
                        instruction.line,
                        "the image starts the framework's development server",
                        instruction.arguments.trim().to_owned(),
                    )
                    .hint("start gunicorn or uvicorn instead"),
                );
            }
        }
    }
    for python in facts.python.iter().filter(|p| !p.is_test) {
        if let Some(line) = python.debug_server {
            let found = at(
                "OPS009",
                &python.path,
                line,
                "a debug server runs code that a visitor sends",
                "debug=True",
            )
            .hint("take debug from the environment, off by default");
            findings.push(if may_be_started(facts, &python.path) {
                found
            } else {
                let why = "the images start something else, and a server of it runs no such block";
                as_info(found.sure(Certainty::Hint, why))
            });
        }
    }
    Ok(findings)
}

/// Whether an image may run a Python file as a program: it names it, or starts what is not read here.
fn may_be_started(facts: &ProjectFacts, path: &str) -> bool {
    /// Programs that import an application instead of running its file.
    const SERVERS: [&str; 8] = [
        "celery",
        "flask",
        "gunicorn",
        "hypercorn",
        "nginx",
        "streamlit",
        "uvicorn",
        "waitress-serve",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let images = facts.dockerfiles.iter().filter_map(|file| file.last());
    let mut commands = images.map(|stage| {
        let starts = |i: &&Instruction| matches!(i.keyword.as_str(), "CMD" | "ENTRYPOINT");
        let lines = stage.instructions.iter().filter(starts);
        lines.map(|i| i.arguments.as_str()).collect::<String>()
    });
    commands.any(|text| {
        let mut words = text.split(|c: char| c.is_whitespace() || "[]\",'/;&".contains(c));
        let by_server = words.clone().any(|word| SERVERS.contains(&word));
        words.any(|word| word == name) || !by_server
    })
}

fn extension_untested(facts: &ProjectFacts) -> Judgement {
    let Some(setup) = facts.extension() else {
        return not_applicable("no setup.py that builds CUDA code");
    };
    let tests: Vec<_> = facts.python.iter().filter(|p| p.is_test).collect();
    if tests.is_empty() {
        return one(at(
            "TST001",
            &setup.path,
            setup.cuda_extension.unwrap_or(1),
            "no test imports the compiled extension: there are no Python tests",
            "no tests",
        )
        .hint("add one that imports the module and runs each kernel once"));
    }
    let package: Vec<String> = facts
        .files
        .iter()
        .filter(|f| f.ends_with("/__init__.py"))
        .filter_map(|f| f.split('/').rev().nth(1).map(str::to_owned))
        .collect();
    // The extension's own name stands in quotes in the setup.py that builds it.
    let built = |module: &str| {
        let mut setups = facts.setups.iter().filter(|s| s.cuda_extension.is_some());
        setups.any(|s| {
            ['"', '\'']
                .iter()
                .any(|q| s.text.contains(&format!("{q}{module}{q}")))
        })
    };
    let imports = tests.iter().flat_map(|t| &t.imports).any(|i| {
        let mut parts = i.split('.');
        built(i) || parts.any(|part| package.iter().any(|p| p == part) || built(part))
    });
    if imports {
        return pass();
    }
    one(at(
        "TST001",
        &setup.path,
        setup.cuda_extension.unwrap_or(1),
        "no test imports the compiled extension",
        format!("{} test files", tests.len()),
    )
    .hint("add one that imports the module and runs each kernel once"))
}

fn cpu_untested(facts: &ProjectFacts) -> Judgement {
    let claims = facts.readme().is_some_and(|d| {
        d.lower()
            .any(|(_, l)| l.contains("cpu") && l.contains("fallback"))
    });
    if !claims || !facts.has_cuda() {
        return not_applicable("no CPU fallback is documented");
    }
    if facts.python.iter().any(|p| p.cpu_test) {
        return pass();
    }
    one(as_info(
        finding("TST002", "the documented CPU fallback is not tested")
            .because("tests", "no mention of cpu")
            .hint("run a test with device=\"cpu\""),
    ))
}

fn secrets(facts: &ProjectFacts) -> Judgement {
    Ok(facts
        .secrets
        .iter()
        .map(|s| {
            at(
                "SEC001",
                &s.file,
                s.line,
                format!("{} stands in the repository", s.what),
                s.what,
            )
            .hint("revoke it now, then remove it; the history keeps it")
        })
        .collect())
}

fn unsafe_load(facts: &ProjectFacts) -> Judgement {
    applies(!facts.python.is_empty(), "no Python code")?;
    // From torch 2.6 on the safe loader is the default.
    let safe = super::build::newest_allowed_torch(facts).is_some()
        && facts.demands().filter(|r| r.name == "torch").any(|r| {
            !["2.5.1", "2.4.1", "2.0.1", "1.13.1"]
                .iter()
                .filter_map(|v| warpsmith_compatibility::Version::parse(v))
                .any(|v| r.range.contains(&v))
        });
    Ok(
        facts
            .python
            .iter()
            .filter(|p| !is_test(&p.path))
            .flat_map(|p| p.unsafe_loads.iter().map(move |line| (p, *line)))
            .map(|(p, line)| {
                let found = at("SEC002", &p.path, line, "torch.load runs code from the file where weights_only is not set and torch is below 2.6", "torch.load(…)").hint("pass weights_only=True");
                if safe { as_info(found) } else { found }
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use warpsmith_core::Severity;

    use super::*;
    use crate::project::parse::dockerfile::Dockerfile;
    use crate::project::parse::python_source::PythonFile;

    #[test]
    fn a_development_server_is_found_however_its_command_is_written() {
        let found = |end: &str| {
            let app = "import flask\nserve(app)\n";
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse(
                    "Dockerfile",
                    &format!("FROM a\nEXPOSE 5000\n{end}\n"),
                )],
                python: vec![PythonFile::parse("app.py", app, false)],
                ..ProjectFacts::default()
            };
            debug_server(&facts).unwrap().len()
        };
        for end in [
            "CMD flask run --host 0.0.0.0",
            "CMD [\"flask\", \"run\"]",
            "CMD [\"python3\", \"-m\", \"flask\", \"--app\", \"a\", \"run\"]",
            "ENTRYPOINT [\"python\", \"manage.py\", \"runserver\", \"0.0.0.0:80\"]",
        ] {
            assert_eq!(found(end), 1, "{end}");
        }
        assert_eq!(found("CMD [\"gunicorn\", \"app:app\"]"), 0);
        assert_eq!(found("CMD flask run\nCMD gunicorn app:app"), 0);
    }

    #[test]
    fn a_block_that_no_image_runs_is_the_developers() {
        let severity = |command: &str| {
            let app = "import flask\nif __name__ == '__main__':\n    app.run(debug=True)\n";
            let facts = ProjectFacts {
                dockerfiles: vec![Dockerfile::parse(
                    "Dockerfile",
                    &format!("FROM a\nEXPOSE 80\n{command}\n"),
                )],
                python: vec![PythonFile::parse("web/app.py", app, false)],
                ..ProjectFacts::default()
            };
            let found = debug_server(&facts).unwrap();
            found
                .iter()
                .find(|f| f.message.starts_with("a debug"))
                .unwrap()
                .severity
        };
        for command in [
            "CMD [\"python\", \"app.py\"]",
            "CMD [\"./start.sh\"]",
            "RUN true",
        ] {
            assert_eq!(severity(command), Severity::Warning, "{command}");
        }
        for command in ["CMD [\"gunicorn\", \"app:app\"]", "CMD flask run"] {
            assert_eq!(severity(command), Severity::Info, "{command}");
        }
    }
}
