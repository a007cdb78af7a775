//! The catalogue of rules: what each code means, apart from the code that establishes it.

mod machine;
mod project;
mod row;

pub use machine::RULES as MACHINE_RULES;
pub use project::RULES as PROJECT_RULES;
pub(crate) use row::row;
pub use row::{Area, FAMILIES, Fix, RuleInfo, rule_info};
