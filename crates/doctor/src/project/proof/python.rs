//! What a setup.py proves: what runs on every way through it, and who runs it.

use warpsmith_core::Finding;

use super::{Standing, file_of, folder_of, open, proved};
use crate::project::facts::ProjectFacts;
use crate::project::parse::setup_py::SetupPy;

pub(super) fn undotted_list(facts: &ProjectFacts, _: &Finding) -> Standing {
    let own = facts
        .setups
        .iter()
        .find(|s| s.computed_gencode || s.gencode_line.is_some());
    match (own, facts.extension()) {
        (Some(setup), _) => open(format!("the flags of {} take the list's place", setup.path)),
        (None, Some(setup)) => proved(format!("torch reads the list for {}", setup.path)),
        (None, None) => open("nothing here builds with torch's extension tools"),
    }
}

/// torch is imported on every way through setup.py, pip runs it in isolation, and nothing in the
/// project switches the isolation off.
pub(super) fn build_isolation(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let file = file_of(finding);
    let line = finding.span.as_ref().map_or(0, |span| span.line);
    let Some(setup) = facts.setups.iter().find(|s| s.path == file) else {
        return open("the file was not read as a setup.py");
    };
    if let Some(block) = block_of(&setup.text, line) {
        return open(format!("the import stands under `{block}`"));
    }
    if !setup.text.contains("setup(") {
        return open("nothing here calls setup()");
    }
    if says_without_isolation(&setup.text) {
        return open("its own text says how to build without isolation");
    }
    if let Some(source) = source_below_the_root(facts, setup) {
        return open(format!(
            "`{source}` is found from the root alone: pip never runs it"
        ));
    }
    let own = format!("{}pyproject.toml", folder_of(file));
    let project = facts.pyprojects.iter().find(|p| p.path == own);
    let backend = project.and_then(|p| p.build_requires.as_ref());
    if backend.is_some_and(|r| !r.is_empty() && !r.iter().any(|l| l.starts_with("setuptools"))) {
        return open(format!("{own} names another build backend"));
    }
    match without_isolation(facts) {
        Some(place) => open(format!("{place} builds without isolation")),
        None => proved("the import runs first, and pip builds in isolation"),
    }
}

/// The block that a line of Python stands in, where it need not run. What a `try` protects does run.
fn block_of(text: &str, line: u32) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line as usize).collect();
    let indent = |l: &str| l.len() - l.trim_start().len();
    let (own, before) = lines.split_last()?;
    let mut depth = indent(own);
    for outer in before.iter().rev() {
        let body = outer.trim();
        if body.is_empty() || body.starts_with('#') || indent(outer) >= depth {
            continue;
        }
        depth = indent(outer);
        let always = body.starts_with("try") || body.contains("__name__");
        if !always {
            return Some(body.trim_end_matches(':').chars().take(60).collect());
        }
    }
    None
}

fn says_without_isolation(text: &str) -> bool {
    let lower = text.to_ascii_lowercase().replace('_', "-");
    lower.contains("no-build-isolation")
}

/// A source that setup.py names from the project's root, while it lies in a folder below: such a script
/// is started from the root, where pip would look for another setup.py.
fn source_below_the_root<'s>(facts: &ProjectFacts, setup: &'s SetupPy) -> Option<&'s str> {
    let folder = folder_of(&setup.path);
    if folder.is_empty() {
        return None;
    }
    let mut literals = setup.text.split(['"', '\'']).skip(1).step_by(2);
    literals.find(|text| {
        let is_source = [".cu", ".cpp", ".cc"].iter().any(|end| text.ends_with(end));
        is_source && facts.has_file(text) && !facts.has_file(&format!("{folder}{text}"))
    })
}

/// Where the project itself says `--no-build-isolation`.
fn without_isolation(facts: &ProjectFacts) -> Option<String> {
    let says = says_without_isolation;
    let settings = facts.pyprojects.iter().find(|p| p.no_isolation);
    let mut documents = facts.documents.iter();
    let document = documents.find(|d| d.lines.iter().any(|l| says(l)));
    let script = || facts.scripts.iter().find(|(_, text)| says(text));
    let yaml = || {
        let mut files = facts
            .workflows
            .iter()
            .chain(&facts.other_ci)
            .chain(&facts.yaml);
        files.find(|file| says(&file.text))
    };
    let image = || {
        facts.dockerfiles.iter().find(|file| {
            let mut all = file.stages.iter().flat_map(|s| &s.instructions);
            all.any(|i| says(&i.arguments))
        })
    };
    settings
        .map(|p| &p.path)
        .or(document.map(|d| &d.path))
        .or_else(|| script().map(|(path, _)| path))
        .or_else(|| yaml().map(|file| &file.path))
        .or_else(|| image().map(|file| &file.path))
        .cloned()
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;
    use crate::project::parse::pyproject::Pyproject;

    const PLAIN: &str = "import torch\nfrom setuptools import setup\nsetup(name='x')\n";

    fn project(setup: &str) -> ProjectFacts {
        ProjectFacts {
            setups: vec![SetupPy::parse("setup.py", setup)],
            ..ProjectFacts::default()
        }
    }

    fn at(line: u32) -> Finding {
        Finding::new("BLD006", Severity::Error, "m").at(Span::line("setup.py", line))
    }

    #[test]
    fn an_import_that_always_runs_is_proof() {
        assert!(build_isolation(&project(PLAIN), &at(1)).is_ok());
        let tried =
            "try:\n    import torch\nexcept ImportError:\n    raise SystemExit(1)\nsetup()\n";
        assert!(build_isolation(&project(tried), &at(2)).is_ok());
        let inside = "def flags():\n    import torch\nsetup(ext_modules=flags())\n";
        assert!(
            build_isolation(&project(inside), &at(2))
                .unwrap_err()
                .contains("def flags")
        );
    }

    #[test]
    fn what_pip_does_not_run_in_isolation_is_no_proof() {
        let own = format!("\"\"\"pip install -e . --no-build-isolation\"\"\"\n{PLAIN}");
        assert!(build_isolation(&project(&own), &at(2)).is_err());
        let mut uv = project(PLAIN);
        let text = "[tool.uv]\nno-build-isolation-package = [\"x\"]\n";
        uv.pyprojects = vec![Pyproject::parse("pyproject.toml", text)];
        let open = build_isolation(&uv, &at(1)).unwrap_err();
        assert!(open.contains("pyproject.toml"), "{open}");

        let script = "import torch\nsetup(ext_modules=[Extension('x', ['csrc/a.cpp'])])\n";
        let at = Finding::new("BLD006", Severity::Error, "m").at(Span::line("csrc/setup.py", 1));
        let mut below = ProjectFacts {
            setups: vec![SetupPy::parse("csrc/setup.py", script)],
            files: vec!["csrc/a.cpp".into(), "csrc/setup.py".into()],
            ..ProjectFacts::default()
        };
        assert!(build_isolation(&below, &at).unwrap_err().contains("root"));
        below.files = vec!["csrc/csrc/a.cpp".into(), "csrc/setup.py".into()];
        assert!(build_isolation(&below, &at).is_ok());
    }

    #[test]
    fn a_build_without_isolation_or_another_backend_leaves_it_open() {
        let mut scripted = project(PLAIN);
        scripted.scripts = vec![(
            "make.sh".into(),
            "pip install --no-build-isolation .".into(),
        )];
        assert!(
            build_isolation(&scripted, &at(1))
                .unwrap_err()
                .contains("make.sh")
        );
        let mut other = project(PLAIN);
        let text = "[build-system]\nrequires = [\"scikit-build-core\"]\n";
        other.pyprojects = vec![Pyproject::parse("pyproject.toml", text)];
        assert!(
            build_isolation(&other, &at(1))
                .unwrap_err()
                .contains("backend")
        );
    }
}
