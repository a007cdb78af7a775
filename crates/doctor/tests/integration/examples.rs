//! The example in a code's story is what the product prints: where a described machine or project
//! shows the finding, the story quotes one of them word for word. `WARPSMITH_BLESS=1` quotes the
//! first one again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::project::Project;
use crate::support::MachineDescription;
use warpsmith_core::Severity;
use warpsmith_doctor::{
    AuditOptions, DirectoryHost, FAMILIES, audit_project, check_machine, collect_machine, rule_info,
};

/// Every finding of every description, as printed, by its code.
fn shown() -> BTreeMap<String, Vec<String>> {
    let mut findings = Vec::new();
    for (_, machine) in MachineDescription::all() {
        let directory = tempfile::tempdir().unwrap();
        machine.write(directory.path());
        let facts = collect_machine(&DirectoryHost::open(directory.path()).unwrap());
        findings.extend(check_machine(&facts).findings);
    }
    for project in Project::all() {
        let directory = project.write();
        let report = audit_project(directory.path(), &AuditOptions::default()).unwrap();
        findings.extend(report.findings);
    }
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in findings {
        let text = finding.to_string();
        shown.entry(finding.code).or_default().push(text);
    }
    shown
}

fn indented(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

#[test]
fn every_example_is_what_a_description_shows() {
    let shown = shown();
    assert!(shown.len() >= 100, "{} codes are shown", shown.len());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog/stories");
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    let mut wrong = Vec::new();
    for family in &FAMILIES {
        let path = folder.join(format!("{}.md", family.letters()));
        let mut text = fs::read_to_string(&path).unwrap();
        for story in family.stories() {
            let severity = rule_info(story.code).unwrap().severity;
            let example = story.example_text();
            let Some(real) = shown.get(story.code) else {
                // A rule may report a place that matters less as information.
                let start = |severity| example.starts_with(&format!("{severity} {}: ", story.code));
                if !start(severity) && !start(Severity::Info) {
                    wrong.push(format!("{} must begin with its severity", story.code));
                }
                continue;
            };
            if real.contains(&example) {
                continue;
            }
            if !bless {
                wrong.push(format!("{} is shown as\n{}", story.code, real[0]));
                continue;
            }
            let at = text.find(&format!("\n## {} ", story.code)).unwrap();
            let from = at + text[at..].find("\nexample:").unwrap() + "\nexample:".len();
            let to = text[from..].find("\n## ").map_or(text.len(), |n| from + n);
            text.replace_range(from..to, &format!("\n\n{}\n", indented(&real[0])));
        }
        if bless {
            fs::write(&path, text).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
