//! Metal texts through a C++ compiler that is given Metal's names: they are well-formed, and compute what
//! the interpreter computes. Nothing here is Metal's own compiler.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::{Options, compile};
use warpsmith_execution::compare_arguments;
use warpsmith_interpreter::{Argument, Interpreter, random_arguments};
use warpsmith_spirv::{BufferAddresses, LaunchBlock, Spirv, metal};

use crate::kernel_files;

const SHIM: &str = include_str!("metal_shim.h");
const MAIN: &str = include_str!("metal_main.h");

pub(crate) fn trials() -> Vec<Trial> {
    let missing = Command::new("g++").arg("--version").output().is_err();
    if missing {
        eprintln!("no `g++`: Metal texts are not read");
    }
    let trial = Trial::test(
        "Metal texts compute what the interpreter does",
        texts_compute,
    );
    vec![trial.with_ignored_flag(missing)]
}

fn texts_compute() -> Result<(), Failed> {
    let mut modules = Vec::new();
    for path in kernel_files() {
        let source = std::fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if let Ok(module) = compile(&source, &Options::default()) {
            modules.push((name.into_owned(), module));
        }
    }
    let (mut unit, mut calls) = (String::from("#include <metal_stdlib>\n"), String::new());
    let (mut written, mut refused) = (Vec::new(), 0);
    for (name, module) in &modules {
        for adjoint in [false, true] {
            let Ok(interpreter) = planned(module, adjoint) else {
                continue;
            };
            let text = match metal(&interpreter) {
                Ok(text) => text,
                Err(findings) => {
                    let message = &findings[0].message;
                    assert!(
                        message.starts_with("Metal kernels do not support "),
                        "{message}"
                    );
                    refused += 1;
                    continue;
                }
            };
            assert!(text.contains("UNVERIFIED"));
            let n = written.len();
            let after = text.split("kernel void ").nth(1);
            let function = after.and_then(|after| after.split('(').next());
            let function = function.ok_or("the text has no kernel")?;
            unit.push_str(&format!("namespace kernel_{n} {{\n{text}}}\n"));
            calls.push_str(&format!(
                "    case {n}: kernel_{n}::{function}(block, group, groups, local); break;\n"
            ));
            written.push((name, module, adjoint));
        }
    }
    unit.push_str(&format!(
        "static void run(ulong which, ulong block, uint3 group, uint3 groups, uint local) {{\n  \
         switch (which) {{\n{calls}  }}\n}}\n{MAIN}"
    ));
    let folder = tempfile::tempdir()?;
    let program = built(folder.path(), &unit)?;
    let (mut ran, mut wrong) = (0, String::new());
    for (which, (name, module, adjoint)) in written.iter().enumerate() {
        match differs(&program, which, module, *adjoint)? {
            None => {}
            Some(None) => ran += 1,
            Some(Some(difference)) => {
                wrong.push_str(&format!("{name}, adjoint {adjoint}: {difference}\n"));
            }
        }
    }
    eprintln!(
        "{} texts are well-formed, {refused} refused; {ran} ran and agree",
        written.len()
    );
    assert!(
        2 * ran > written.len() && written.len() > refused,
        "most kernels run"
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}

fn planned(module: &Module, adjoint: bool) -> Result<Interpreter<'_>, ()> {
    let planned = if adjoint {
        Interpreter::adjoint(module)
    } else {
        Interpreter::forward(module)
    };
    Ok(planned
        .map_err(drop)?
        .with_block_dim(Spirv::WORKGROUP as i32))
}

/// Compiles the texts; complaints are those of a strict compiler.
fn built(folder: &Path, unit: &str) -> Result<std::path::PathBuf, Failed> {
    std::fs::write(folder.join("metal_stdlib"), SHIM)?;
    std::fs::write(folder.join("metal_atomic"), "")?;
    let (source, program) = (folder.join("texts.cpp"), folder.join("texts"));
    std::fs::write(&source, unit)?;
    let said = Command::new("g++")
        .args([
            "-std=c++17",
            "-O1",
            "-ffp-contract=off",
            "-w",
            "-fno-strict-aliasing",
            "-I",
        ])
        .arg(folder)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()?;
    match said.status.success() {
        true => Ok(program),
        false => {
            let words = String::from_utf8_lossy(&said.stderr);
            Err(words.lines().take(20).collect::<Vec<_>>().join("\n").into())
        }
    }
}

/// What a text computes otherwise than the interpreter; nothing at all where there is nothing to compare.
fn differs(
    program: &Path,
    which: usize,
    module: &Module,
    adjoint: bool,
) -> Result<Option<Option<String>>, Failed> {
    let rank = match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => (*launch_rank as usize).max(1),
        FunctionKind::Device { .. } => 1,
    };
    let dim = vec![4; rank];
    let Ok(given) = random_arguments(module, &dim, 7) else {
        return Ok(None);
    };
    let Ok(interpreter) = planned(module, adjoint) else {
        return Ok(None);
    };
    let interpreter = interpreter.checking_races();
    let mut expected = given.clone();
    let outcome = match interpreter.run(&dim, &mut expected) {
        Ok(outcome) if outcome.findings.is_empty() && outcome.races.is_empty() => outcome,
        _ => return Ok(None),
    };
    drop(outcome);
    let mut actual = given;
    let launch = LaunchBlock::new(&interpreter, &dim, &actual)?;
    if !launch.own_buffers().is_empty() {
        return Ok(None);
    }
    let arrays = LaunchBlock::arrays(module, &mut actual);
    let mut input = Vec::new();
    let mut word = |value: usize| input.extend((value as u64).to_le_bytes());
    word(which);
    word(launch.threads() as usize);
    // One at least: a kernel without arrays looks there too.
    word(arrays.len().max(1));
    if arrays.is_empty() {
        word(0);
        word(0);
    }
    for array in &arrays {
        input.extend((array.data.len() as u64).to_le_bytes());
        input.extend(&array.data);
        input.extend(u64::from(array.gradient.is_some()).to_le_bytes());
        input.extend(array.gradient.as_deref().unwrap_or_default());
    }
    let addresses = vec![BufferAddresses::default(); arrays.len()];
    let block = launch.bytes(0, 0, &addresses);
    input.extend((block.len() as u64 / 8).to_le_bytes());
    input.extend(block);
    let output = answered(program, &input)?;
    let mut at = 8;
    if output[..8] != [0xff; 8] {
        return Ok(Some(Some("only the text finds a fault".to_owned())));
    }
    for array in arrays {
        let parts = std::iter::once(&mut array.data).chain(&mut array.gradient);
        for part in parts {
            let bytes = output.get(at..at + part.len());
            part.copy_from_slice(bytes.ok_or("the program wrote too little")?);
            at += part.len();
        }
    }
    Ok(Some(difference(module, &actual, &expected)))
}

fn difference(module: &Module, actual: &[Argument], expected: &[Argument]) -> Option<String> {
    let difference = compare_arguments(module, actual, expected)?;
    Some(format!("{difference:?}"))
}

fn answered(program: &Path, input: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    stdin.write_all(input)?;
    drop(stdin);
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("the program ended with {}", output.status).into()),
    }
}
