//! What a workflow proves: whose code it runs, and with which rights.

use std::collections::BTreeSet;

use warpsmith_core::Finding;

use super::{Standing, file_of, open, proved, seen};
use crate::project::facts::{ProjectFacts, YamlFile};
use crate::project::rules::owner;
use crate::project::walk;

/// The action is taken from a branch of somebody who is neither the project nor the host.
pub(super) fn branch_of_others(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let uses = seen(finding).trim_start_matches("uses: ");
    let (action, reference) = uses.split_once('@').unwrap_or((uses, ""));
    let theirs = action.split('/').next().unwrap_or("").to_ascii_lowercase();
    if matches!(theirs.as_str(), "actions" | "github") {
        return open("GitHub's own: it runs the workflow anyway");
    }
    if reference.starts_with("release") {
        return open("a release branch moves as a tag of a major version does");
    }
    if named_owners(facts).contains(&theirs) {
        return open(format!(
            "the project's own files name {theirs}: it may be one of its own"
        ));
    }
    let line = finding.span.as_ref().map_or(0, |span| span.line);
    let secret = workflow(facts, finding).and_then(|w| secret_of_step(&w.text, line));
    // Without one the rights of the job decide, and who belongs to the project is not known from here.
    let Some(secret) = secret else {
        return open("the step hands it no secret");
    };
    match owner(facts) {
        Some(own) => proved(format!("the project of {own} hands it `{secret}`")),
        None => open("the project does not say who owns it"),
    }
}

/// The first secret that the step or job with `uses:` on a line hands over.
fn secret_of_step(text: &str, line: u32) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = (line as usize)
        .checked_sub(1)
        .filter(|at| *at < lines.len())?;
    let indent = |l: &str| l.len() - l.trim_start().len();
    // `- uses:` and `uses:` below `- name:` are keys of the same step.
    let column = |l: &str| {
        indent(l)
            + if l.trim_start().starts_with("- ") {
                2
            } else {
                0
            }
    };
    let own = column(lines[at]);
    let same = |l: &&&str| l.trim().is_empty() || column(l) >= own;
    let starts = |l: &str| l.trim_start().starts_with("- ") && column(l) == own;
    let mut step: Vec<&str> = vec![lines[at]];
    if !starts(lines[at]) {
        for before in lines[..at].iter().rev().take_while(same) {
            step.push(before);
            if starts(before) {
                break;
            }
        }
    }
    let behind = lines[at + 1..].iter().take_while(same);
    step.extend(behind.take_while(|l| !starts(l)));
    step.iter().find_map(|l| {
        let found = ["secrets.", "secrets: inherit"]
            .iter()
            .find_map(|mark| l.find(mark))?;
        let name = l[found..].split([' ', '}', '\'', '"']).next().unwrap_or("");
        Some(name.to_owned())
    })
}

/// Everybody on GitHub whom the README, the metadata and the conditions of workflows name.
fn named_owners(facts: &ProjectFacts) -> BTreeSet<String> {
    let mut owners = BTreeSet::new();
    let mut read = |text: &str| {
        let lower = text.to_ascii_lowercase();
        for mark in ["github.com/", "github.com:", "github.io/", "ghcr.io/"] {
            for rest in lower.split(mark).skip(1) {
                owners.extend(word(rest));
            }
        }
        for mark in ["github.repository ==", "github.repository_owner =="] {
            for rest in lower.split(mark).skip(1) {
                owners.extend(word(rest.trim_start_matches([' ', '\'', '"'])));
            }
        }
    };
    if let Some(readme) = facts.readme() {
        for line in &readme.lines {
            read(line);
        }
    }
    for setup in facts.setups.iter().filter(|s| !s.path.contains('/')) {
        read(&setup.text);
    }
    for name in [
        "pyproject.toml",
        "setup.cfg",
        "Cargo.toml",
        "CITATION.cff",
        ".git/config",
    ] {
        if let Some(text) = walk::read(&facts.root, name) {
            read(&text);
        }
    }
    for workflow in &facts.workflows {
        read(&workflow.text);
    }
    owners
}

/// The name that a text starts with.
fn word(text: &str) -> Option<String> {
    let name: String = text
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    (!name.is_empty()).then_some(name)
}

fn workflow<'f>(facts: &'f ProjectFacts, finding: &Finding) -> Option<&'f YamlFile> {
    facts.workflows.iter().find(|w| w.path == file_of(finding))
}

/// Commands that execute what lies in the folder.
const EXECUTING: [&str; 12] = [
    "pip install .",
    "pip install -e",
    "setup.py",
    "npm ",
    "yarn ",
    "make",
    "pytest",
    "tox",
    "bash ",
    "./",
    "cargo ",
    "docker build",
];

/// A stranger's code is executed beside a token that may write, or a secret.
pub(super) fn foreign_code_runs(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let Some(workflow) = workflow(facts, finding) else {
        return open("the workflow was not read");
    };
    let outline = &workflow.outline;
    let labelled = outline
        .entries
        .iter()
        .any(|e| e.path.contains("pull_request_target") && e.value.contains("labeled"));
    if labelled {
        return open("somebody with rights sets the label that starts it");
    }
    let executes = outline.entries.iter().any(|e| {
        e.path.ends_with("/run") && EXECUTING.iter().any(|command| e.value.contains(command))
    });
    if !executes {
        return open("no command is known to execute what was checked out");
    }
    let stated: Vec<_> = outline
        .entries
        .iter()
        .filter(|e| e.path.split('/').any(|part| part == "permissions"))
        .collect();
    let writes = stated.is_empty() || stated.iter().any(|e| e.value.contains("write"));
    if writes || workflow.text.contains("secrets.") {
        proved("a command executes it beside rights or secrets")
    } else {
        open("the token may only read, and no secret is named")
    }
}

/// Without stated permissions the repository's default decides.
pub(super) fn stated_permissions(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let stated = workflow(facts, finding).is_some_and(|w| {
        let mut entries = w.outline.entries.iter();
        entries.any(|e| e.path.split('/').any(|part| part == "permissions"))
    });
    if stated {
        proved("the workflow states its permissions, and this one is not among them")
    } else {
        open("the repository's default permissions may grant it")
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;
    use crate::project::parse::markdown::Document;
    use crate::project::parse::yaml::Outline;

    fn project(readme: &str, workflow: &str) -> ProjectFacts {
        ProjectFacts {
            documents: vec![Document::parse("README.md", readme)],
            workflows: vec![YamlFile {
                path: ".github/workflows/a.yml".into(),
                outline: Outline::parse(workflow),
                text: workflow.into(),
            }],
            ..ProjectFacts::default()
        }
    }

    fn found(seen: &str) -> Finding {
        Finding::new("CIA004", Severity::Error, "m")
            .because("a.yml:1", seen)
            .at(Span::line(".github/workflows/a.yml", 1))
    }

    #[test]
    fn a_branch_of_others_is_an_error_where_it_gets_a_secret() {
        let own = "https://github.com/me/a and https://github.com/me/b";
        let with = "    with:\n      token: ${{ secrets.PUBLISH }}\n";
        let standing = |readme: &str, uses: &str, with: &str| {
            let text =
                format!("steps:\n  - uses: {uses}\n{with}  - run: x ${{{{ secrets.OTHER }}}}\n");
            let mut finding = found(&format!("uses: {uses}"));
            finding.span = Some(Span::line(".github/workflows/a.yml", 2));
            branch_of_others(&project(readme, &text), &finding)
        };
        let proof = standing(own, "other/action@master", with).unwrap();
        assert!(proof.contains("secrets.PUBLISH"), "{proof}");
        assert!(standing(own, "other/action@master", "").is_err());
        assert!(standing("", "other/action@master", with).is_err());
        assert!(standing(own, "actions/checkout@master", with).is_err());
        assert!(standing(own, "pypa/gh-action-pypi-publish@release/v1", with).is_err());
        let partner = format!("{own} with https://github.com/other/thing");
        assert!(standing(&partner, "other/action@master", with).is_err());
    }

    #[test]
    fn a_secret_belongs_to_its_step() {
        let text = "steps:\n  - name: a\n    env:\n      T: ${{ secrets.A }}\n    uses: o/a@main\n  - uses: o/b@main\n";
        assert_eq!(secret_of_step(text, 5).as_deref(), Some("secrets.A"));
        assert_eq!(secret_of_step(text, 6), None);
        let called = "jobs:\n  a:\n    uses: o/w/.github/workflows/b.yml@main\n    secrets: inherit\n  b:\n    runs-on: x\n";
        assert_eq!(secret_of_step(called, 3).as_deref(), Some("secrets:"));
        assert_eq!(secret_of_step("", 9), None);
    }

    #[test]
    fn an_upload_fails_for_sure_where_permissions_are_stated() {
        let stated = project(
            "",
            "permissions:\n  contents: read\njobs:\n  a:\n    runs-on: x\n",
        );
        assert!(stated_permissions(&stated, &found("")).is_ok());
        let silent = project("", "jobs:\n  a:\n    runs-on: x\n");
        assert!(stated_permissions(&silent, &found("")).is_err());
    }

    #[test]
    fn a_strangers_code_has_to_be_executed() {
        let text = |run: &str| {
            format!("on: pull_request_target\njobs:\n  a:\n    steps:\n      - run: {run}\n")
        };
        let standing = |run: &str| foreign_code_runs(&project("", &text(run)), &found(""));
        assert!(standing("pip install . && pytest").is_ok());
        assert!(standing("git diff").is_err());
    }
}
