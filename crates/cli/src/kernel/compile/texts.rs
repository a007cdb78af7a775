//! What becomes of one kernel of many.

use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{emit_cpu, emit_cuda, refused_text};
use warpsmith_core::Finding;

/// The texts of a kernel, or why there are none.
#[derive(Serialize)]
pub(super) struct Texts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cuda: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<Finding>,
}

impl Texts {
    pub(super) fn of(compiled: Result<&Module, Vec<Finding>>) -> Self {
        let compiled = compiled.and_then(|module| match refused_text(module) {
            Some(finding) => Err(vec![finding]),
            None => Ok(module),
        });
        match compiled {
            Ok(module) => Self {
                cuda: Some(emit_cuda(module)),
                cpu: Some(emit_cpu(module)),
                findings: Vec::new(),
            },
            Err(findings) => Self {
                cuda: None,
                cpu: None,
                findings,
            },
        }
    }
}
