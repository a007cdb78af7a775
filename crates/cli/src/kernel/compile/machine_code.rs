//! `warpsmith compile FILE.py --emit ptx|sass-stats`: the emitted text through NVRTC, with its complaints
//! brought back to the lines of the Python source.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use warpsmith_compiler::launch_abi::nvrtc_options;
use warpsmith_compiler::runtime_header;
use warpsmith_core::{Finding, Severity, Span};
use warpsmith_device::{
    CompileCache, CompileOptions, Compiled, DeviceError, KernelResources, Target, kernel_resources,
};

use super::cuda::CudaOptions;

/// What a kernel costs, as `--format json` has it.
#[derive(Serialize)]
struct Cost {
    kernel: String,
    instructions: u64,
    registers: u32,
    stack_bytes: u32,
    shared_bytes: u64,
    constant_bytes: u64,
}

/// The architecture whose machine code is counted where none is requested.
const DEFAULT_SM: u32 = 90;

/// PTX of an emitted text, or the findings that kept it from compiling.
pub(super) fn ptx(
    file: &str,
    text: &str,
    options: &CudaOptions,
) -> Result<Result<String, Vec<Finding>>> {
    let target = match options.target() {
        Target::Cubin(sm) | Target::Ptx(sm) => Target::Ptx(sm),
    };
    let compiled = compile(file, text, target, options)?;
    Ok(compiled.map(|compiled| compiled.ptx().unwrap_or_default().to_owned()))
}

/// What the machine code of an emitted text costs, as a table and as JSON.
pub(super) fn statistics(
    file: &str,
    text: &str,
    options: &CudaOptions,
) -> Result<Result<(String, serde_json::Value), Vec<Finding>>> {
    let sm = architecture(options);
    match compile(file, text, Target::Cubin(sm), options)? {
        Ok(compiled) => Ok(Ok(statistics_of(sm, &compiled.code)?)),
        Err(findings) => Ok(Err(findings)),
    }
}

/// The architecture whose machine code is counted.
pub(super) fn architecture(options: &CudaOptions) -> u32 {
    match options.target() {
        Target::Cubin(sm) => sm,
        Target::Ptx(_) => DEFAULT_SM,
    }
}

/// What machine code costs, as a table and as JSON.
pub(super) fn statistics_of(sm: u32, code: &[u8]) -> Result<(String, serde_json::Value)> {
    let Some(kernels) = kernel_resources(code) else {
        anyhow::bail!(
            "cannot read the machine code that NVRTC wrote for sm_{sm}: not a 64-bit ELF"
        );
    };
    let costs: Vec<Cost> = kernels.into_iter().map(cost).collect();
    let json = serde_json::json!({ "architecture": format!("sm_{sm}"), "kernels": costs });
    Ok((table(sm, &costs), json))
}

fn cost(kernel: KernelResources) -> Cost {
    Cost {
        kernel: kernel.name,
        instructions: kernel.instructions,
        registers: kernel.registers,
        stack_bytes: kernel.stack_bytes,
        shared_bytes: kernel.shared_bytes,
        constant_bytes: kernel.constant_bytes,
    }
}

fn table(sm: u32, costs: &[Cost]) -> String {
    let mut text = format!("machine code for sm_{sm}\n");
    let width = costs.iter().map(|cost| cost.kernel.len()).max();
    let width = width.unwrap_or(0).max("kernel".len());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{:width$}  instructions  registers  stack B  shared B  constant B",
        "kernel"
    );
    for cost in costs {
        let _ = writeln!(
            text,
            "{:width$}  {:>12}  {:>9}  {:>7}  {:>8}  {:>10}",
            cost.kernel,
            cost.instructions,
            cost.registers,
            cost.stack_bytes,
            cost.shared_bytes,
            cost.constant_bytes
        );
    }
    text
}

fn compile(
    file: &str,
    text: &str,
    target: Target,
    options: &CudaOptions,
) -> Result<Result<Compiled, Vec<Finding>>> {
    let missing = runtime_header::missing(text);
    if !missing.is_empty() {
        let message = format!("the runtime header lacks {}", missing.join(", "));
        let finding = Finding::new("K021", Severity::Error, message)
            .hint("this kernel can be written as C++ text, not as machine code");
        return Ok(Err(vec![finding]));
    }
    let nvrtc = options.nvrtc()?;
    let (major, minor) = nvrtc.version();
    let version = (major.cast_unsigned(), minor.cast_unsigned());
    let flags = nvrtc_options(version).into_iter().map(str::to_owned);
    let settings = CompileOptions {
        target,
        flags: flags.chain(options.flags().iter().cloned()).collect(),
        headers: Vec::new(),
    };
    let prologue = runtime_header::prologue(text);
    let source = format!("{prologue}{text}");
    match CompileCache::for_user().compile(&nvrtc, EMITTED, &source, &settings) {
        Ok(compiled) => Ok(Ok(compiled)),
        Err(DeviceError::Compile { log, .. }) => Ok(Err(complaints(file, &source, &log))),
        Err(error) => Err(error.into()),
    }
}

/// What NVRTC's messages call the text.
const EMITTED: &str = "kernels.py.cu";

/// NVRTC's errors, each at the Python line whose code it stands in.
fn complaints(file: &str, source: &str, log: &str) -> Vec<Finding> {
    let lines: Vec<&str> = source.lines().collect();
    let mut findings = Vec::new();
    for message in log.lines().filter(|line| line.contains("error")) {
        let number = message
            .strip_prefix(EMITTED)
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.split(')').next())
            .and_then(|number| number.parse::<usize>().ok());
        let mut finding = Finding::new("K028", Severity::Error, format!("NVRTC: {message}"))
            .hint("the emitted text does not compile; `--emit cuda` shows it");
        let quoted = number.and_then(|number| {
            let above = lines.get(..number)?;
            above.iter().rev().find_map(|line| python_line(line))
        });
        if let Some(line) = quoted {
            finding = finding.at(Span {
                file: file.to_owned(),
                line,
                column: 1,
                end_column: 1,
            });
        }
        findings.push(finding);
    }
    if findings.is_empty() {
        let message = format!("NVRTC: {}", log.trim());
        findings.push(Finding::new("K028", Severity::Error, message));
    }
    findings
}

/// The number in a quoted source line of the emitted text: `// x = 1   <L 7>`.
fn python_line(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once("<L ")?;
    rest.strip_suffix('>')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_nvrtc_is_found_at_its_python_line() {
        let source = "{\n    // def k():        <L 5>\n    // x = wp.tid()     <L 6>\n    oops;\n";
        let log =
            "kernels.py.cu(4): error: identifier \"oops\" is undefined\n\n1 error detected.\n";
        let findings = complaints("k.py", source, log);
        let span = findings[0].span.as_ref().expect("a place");
        assert_eq!((span.file.as_str(), span.line), ("k.py", 6));
        assert!(findings[0].message.contains("oops"));
    }
}
