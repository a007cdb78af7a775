//! Views of reports: terminal, Markdown, HTML, SARIF 2.1.0, JUnit. The JSON report is the contract;
//! these are made from it.

mod audit_text;
mod check_text;
mod github;
mod html;
mod junit;
mod markdown;
mod patch_text;
mod printable;
mod sarif;

pub use audit_text::audit_text;
pub use check_text::{Detail, check_text};
pub use github::audit_github;
pub use html::audit_html;
pub use junit::audit_junit;
pub use markdown::audit_markdown;
pub use patch_text::unified_diff;
pub use sarif::audit_sarif;
