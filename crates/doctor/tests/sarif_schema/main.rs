//! Audit reports against the published SARIF schema, which `cargo xtask test` puts under
//! `target/wheels`. A program of its own: without the schema the trial counts as ignored.

mod json_schema;
#[path = "../integration/project.rs"]
mod project;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use sha2::{Digest, Sha256};
use warpsmith_doctor::{AuditOptions, FixOptions, audit_project, audit_sarif, plan_fixes};

use json_schema::violations;
use project::Project;

fn main() {
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/wheels/sarif-schema-2.1.0.json");
    let missing = !schema.is_file();
    let trial = Trial::test("sarif_obeys_its_published_schema", move || {
        sarif_obeys(&schema)
    });
    let trials = vec![trial.with_ignored_flag(missing)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn sarif_obeys(schema: &PathBuf) -> Result<(), Failed> {
    const HASH: &str = "7402cdfd5bfbff98071b3358e573041b86adb7e1c6ec8743303f93715937c371";
    let text = fs::read(schema)?;
    let hash: String = Sha256::digest(&text)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(hash, HASH, "the schema was changed");
    let schema = serde_json::from_slice(&text)?;
    for project in Project::all() {
        let folder = project.write();
        let report = audit_project(folder.path(), &AuditOptions::default())?;
        let fixes = plan_fixes(
            folder.path(),
            &FixOptions {
                suggested: true,
                ..FixOptions::default()
            },
        )?;
        let wrong = violations(&schema, &audit_sarif(&report, &fixes.patches));
        assert!(wrong.is_empty(), "{}: {}", project.name, wrong.join("\n"));
    }
    // The checker itself: a report that is broken in three ways is refused in three places.
    let broken =
        serde_json::json!({"version": "2.1", "runs": [{"tool": {"driver": {}}, "extra": 1}]});
    assert_eq!(
        violations(&schema, &broken).len(),
        3,
        "{:?}",
        violations(&schema, &broken)
    );
    Ok(())
}
