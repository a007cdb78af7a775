//! Kernels written in Python, compiled without starting NVIDIA Warp.

use pyo3::prelude::*;
use serde::Serialize;
use warpsmith_compiler::{Compiler, Options, emit_cpu, emit_cuda, ir, render, runtime_header};
use warpsmith_core::Finding;

use crate::json;

#[derive(Serialize)]
struct Compiled {
    cuda: String,
    cpu: String,
    ir: String,
    header: String,
}

#[derive(Serialize)]
struct Refused {
    findings: Vec<Finding>,
    text: String,
}

/// The kernel's texts as JSON, or why it was refused: a pair of which one is nothing.
#[pyfunction]
pub(crate) fn compile(
    py: Python<'_>,
    source: &str,
    kernel: Option<String>,
    file: String,
) -> PyResult<(Option<String>, Option<String>)> {
    py.detach(|| {
        let options = Options {
            kernel,
            file,
            ..Options::default()
        };
        match Compiler::new().compile(source, &options) {
            Ok(module) => {
                let cuda = emit_cuda(&module);
                let compiled = Compiled {
                    header: runtime_header::prologue(&cuda),
                    cpu: emit_cpu(&module),
                    ir: ir::print(&module),
                    cuda,
                };
                Ok((Some(json(&compiled)?), None))
            }
            Err(findings) => {
                let text = findings
                    .iter()
                    .map(|finding| render(finding, source))
                    .collect();
                Ok((None, Some(json(&Refused { findings, text })?)))
            }
        }
    })
}
