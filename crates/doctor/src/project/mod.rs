//! `audit`: one project, from its files.

pub(crate) mod baseline;
pub(crate) mod evaluate;
mod facts;
pub(crate) mod fix;
mod keywords;
pub(crate) mod parse;
mod report;
pub(crate) mod rules;
mod score;
mod settings;
mod suppression;
mod twelve_factor;
mod walk;

pub use baseline::Baseline;
pub use evaluate::{Evaluation, Label, Measured, evaluate};
pub use fix::{Patch, PatchError, apply_patches, mendable, plan_fixes};
pub use report::{AuditBody, AuditError, AuditOptions, AuditOutcome, NotAssessed, audit_project};
pub use score::{AreaScore, Score};
pub use settings::check_codes;
pub use suppression::Suppressed;
pub use twelve_factor::FactorRow;
