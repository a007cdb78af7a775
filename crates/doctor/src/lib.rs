//! Facts about a machine (`check`) and about a project (`audit`), and rules over facts.
//!
//! Both commands are one pipeline: collectors read, and write typed facts that carry where they
//! were read; rules are pure functions over facts; findings are ordered into causes and
//! consequences; reports are views. A rule whose inputs are missing is unknown, never passed.

mod catalog;
mod conclude;
mod host;
mod machine;
mod outcome;
mod project;
mod view;

pub use catalog::{Area, FAMILIES, Fix, MACHINE_RULES, PROJECT_RULES, RuleInfo, rule_info};
pub use host::{CommandOutput, DirectoryHost, Host, RealHost, RecordingHost, Session, Stat};
pub use machine::{
    Cause, CheckBody, CheckOutcome, FileAnswer, FileQuestionError, GpuSpecification, MachineFacts,
    MatrixRow, check_machine, collect_machine, machine_identity, will_it_run,
};
pub use outcome::Outcome;
pub use project::{
    Apart, ApartCount, AreaScore, AuditBody, AuditError, AuditOptions, AuditOutcome, Baseline,
    Evaluation, FactorRow, FixOptions, FixPlan, Include, Label, Measured, NotAssessed, Patch,
    PatchError, Score, Step, Suppressed, apply_patches, audit_project, check_codes, evaluate,
    fixable, is_safe, plan_fixes,
};
pub use view::{
    Detail, audit_github, audit_html, audit_junit, audit_markdown, audit_sarif, audit_text,
    check_text, unified_diff,
};
pub use warpsmith_compatibility::{
    ByteSource, Capability, Coverage, Database, Runs, Target, Version, VersionRange, WheelError,
    coverage_of_elf, coverage_of_wheel, database,
};
