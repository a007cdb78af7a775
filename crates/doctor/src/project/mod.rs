//! `audit`: one project, from its files.

mod apart;
mod arch_list;
pub(crate) mod baseline;
mod confidence;
pub(crate) mod evaluate;
mod facts;
pub(crate) mod fix;
mod keywords;
mod names;
pub(crate) mod parse;
mod proof;
mod report;
pub(crate) mod rules;
mod score;
mod settings;
mod suppression;
mod twelve_factor;
mod walk;

pub use apart::{Apart, ApartCount, Include};
pub use baseline::Baseline;
pub use evaluate::{Evaluation, Label, Measured, evaluate};
pub use fix::{
    FixOptions, FixPlan, Patch, PatchError, apply_patches, fixable, is_safe, plan_fixes,
};
pub use report::{AuditBody, AuditError, AuditOptions, AuditOutcome, NotAssessed, audit_project};
pub use score::{AreaScore, Score, Step};
pub use settings::check_codes;
pub use suppression::Suppressed;
pub use twelve_factor::FactorRow;
