//! The interpreter computes what Warp computes on the CPU: kernels of the suite on random arguments,
//! forward and backward.
//!
//! Needs the suite and a virtual environment with Warp in `target/oracle/warp`. Tries a sample of the
//! suite, or all of it with `WARPSMITH_SUITE_STRIDE=1`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use crate::suite::conformance;
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use warpsmith_compiler::ir::{FunctionKind, Module, Number};
use warpsmith_compiler::{Options, Scalar, Type, TypeId, compile};
use warpsmith_core::Finding;
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter, Outcome};

const LAST_TIER: u32 = 8;
/// Kernels with tiles.
const TILES: u32 = 15;
const SAMPLE_STRIDE: usize = 25;
const MOST_ITERATIONS: u64 = 1 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    let python = conformance::oracle("warp/bin/python");
    let missing = conformance::file().is_none() || !python.is_file();
    (0..=LAST_TIER)
        .chain([TILES])
        .map(|tier| {
            Trial::test(format!("tier S{tier} agrees with Warp"), move || {
                compare(tier)
            })
            .with_ignored_flag(missing)
        })
        .collect()
}

fn compare(tier: u32) -> Result<(), Failed> {
    let path = conformance::file().ok_or("the suite is missing")?;
    let mut modules = BTreeMap::new();
    let mut manifest = Vec::new();
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let all: Vec<_> = conformance::kernels(&path, tier)
        .into_iter()
        .filter(|k| k.tier == tier)
        .collect();
    for kernel in all.iter().step_by(conformance::stride(SAMPLE_STRIDE)) {
        let options = Options {
            kernel: Some(kernel.name.clone()),
            ..Options::default()
        };
        let compiled = compile(&kernel.source, &options)
            .or_else(|_| compile(&kernel.source, &Options::default()));
        let Ok(module) = compiled else {
            *verdicts
                .entry("refused by the compiler".into())
                .or_default() += 1;
            continue;
        };
        let FunctionKind::Kernel { launch_rank, .. } = module.kernel.kind else {
            continue;
        };
        let line = json!({"id": kernel.id, "source": kernel.source, "rank": launch_rank});
        manifest.push(line.to_string());
        modules.insert(kernel.id.clone(), module);
    }
    let mut wrong = String::new();
    for line in answers(&manifest)? {
        let row: Value = serde_json::from_str(&line)?;
        let id = row["id"].as_str().unwrap_or_default();
        let Some(module) = modules.get(id) else {
            continue;
        };
        let verdict = judge(module, &row).unwrap_or_else(|difference| {
            let _ = writeln!(wrong, "{id}: {difference}");
            "differs".into()
        });
        *verdicts.entry(verdict).or_default() += 1;
    }
    eprintln!("S{tier}: {verdicts:?}");
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.into())
    }
}

/// What Warp says to each line of the manifest. Warp compiles half a second for each kernel and always
/// gives the same answer, so answers are kept beside the oracle.
fn answers(manifest: &[String]) -> Result<Vec<String>, Failed> {
    let scripts = ["interpreter_oracle.py", "warp_cpu_oracle.py"]
        .map(|name| conformance::root().join("crates/compiler/tests").join(name));
    let mut salt = DefaultHasher::new();
    for script in &scripts {
        std::fs::read(script)?.hash(&mut salt);
    }
    let folder = conformance::oracle("answers");
    std::fs::create_dir_all(&folder)?;
    let place = |line: &str| {
        let mut hasher = salt.clone();
        line.hash(&mut hasher);
        folder.join(format!("{:016x}.json", hasher.finish()))
    };
    let (mut known, mut asked) = (Vec::new(), Vec::new());
    for line in manifest {
        match std::fs::read_to_string(place(line)) {
            Ok(answer) => known.push(answer),
            Err(_) => asked.push(line.as_str()),
        }
    }
    if asked.is_empty() {
        return Ok(known);
    }
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("manifest.jsonl");
    std::fs::write(&file, asked.join("\n"))?;
    let mut oracle = Command::new(conformance::oracle("warp/bin/python"))
        .arg(&scripts[0])
        .arg(&file)
        .env("WARP_KERNEL_CACHE", scratch.path().join("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let stdout = oracle.stdout.take().ok_or("the oracle has no output")?;
    // One answer for each line, in order.
    for (answer, line) in BufReader::new(stdout).lines().zip(asked) {
        let answer = answer?;
        // What a busy machine did not finish in time may succeed another day.
        if !answer.contains("ends with status") {
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            file.write_all(answer.as_bytes())?;
            file.persist(place(line))?;
        }
        known.push(answer);
    }
    oracle.wait()?;
    Ok(known)
}

/// A verdict in words, or what differs.
fn judge(module: &Module, row: &Value) -> Result<String, String> {
    if let Some(reason) = row["not_run"].as_str() {
        let kind: String = reason.chars().take(60).collect();
        return Ok(format!("not run by Warp: {kind}"));
    }
    let dim: Vec<usize> = numbers(&row["dim"]);
    let trees = row["arguments"].as_array().ok_or("no arguments")?;
    let mut arguments: Vec<Argument> = trees.iter().map(argument).collect();
    let before = arguments.clone();
    let forward = match Interpreter::forward(module) {
        Ok(interpreter) => interpreter.with_iteration_limit(MOST_ITERATIONS),
        Err(findings) => return Ok(format!("not known: {}", findings[0].message)),
    };
    let outcome = run(forward, &dim, &mut arguments)?;
    let mut races = !outcome.races.is_empty();
    let complains = row["complains"] == true;
    let failed = outcome.findings.iter().any(is_expectation);
    // Warp compiles assertions out of release builds.
    if let Some(finding) = outcome
        .findings
        .iter()
        .find(|finding| !is_expectation(finding))
    {
        return Ok(format!("finding {}", finding.code));
    }
    if complains != failed {
        return Err(format!(
            "expectations: Warp complains: {complains}, findings {:?}",
            outcome.findings
        ));
    }
    agree(module, "forward", &arguments, &row["forward"])?;
    if row["backward"].is_null() {
        let order = if races { " in thread order" } else { "" };
        return Ok(format!("agrees{order}, forward"));
    }
    let backward = match Interpreter::adjoint(module) {
        Ok(interpreter) => interpreter.with_iteration_limit(MOST_ITERATIONS),
        Err(findings) => {
            return Ok(format!(
                "agrees, forward; not known: {}",
                findings[0].message
            ));
        }
    };
    let outcome = run(backward, &dim, &mut arguments)?;
    races |= !outcome.races.is_empty();
    if let Some(finding) = outcome
        .findings
        .iter()
        .find(|finding| finding.code != "K104")
    {
        return Ok(format!(
            "agrees, forward; backward finding {}",
            finding.code
        ));
    }
    agree(module, "backward", &arguments, &row["backward"])?;
    let idle = if arguments == before {
        ", changes nothing"
    } else {
        ""
    };
    let order = if races { " in thread order" } else { "" };
    Ok(format!("agrees{order}, forward and backward{idle}"))
}

/// Runs a pass; one in which threads race runs in thread order, which is what Warp does on a CPU.
fn run(
    interpreter: Interpreter<'_>,
    dim: &[usize],
    arguments: &mut [Argument],
) -> Result<Outcome, String> {
    let mut given = arguments.to_vec();
    let interpreter = interpreter.checking_races();
    let outcome = interpreter
        .run(dim, arguments)
        .map_err(|error| error.to_string())?;
    if outcome.races.is_empty() {
        return Ok(outcome);
    }
    let outcome = interpreter
        .in_thread_order()
        .run(dim, &mut given)
        .map_err(|error| error.to_string())?;
    arguments.clone_from_slice(&given);
    Ok(outcome)
}

fn is_expectation(finding: &Finding) -> bool {
    finding.code == "K104" && finding.message.starts_with("`expect")
}

fn numbers(value: &Value) -> Vec<usize> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(Value::as_u64)
        .map(|n| n as usize)
        .collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default().as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    text.chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn argument(tree: &Value) -> Argument {
    if let Some(fields) = tree["struct"].as_array() {
        return Argument::Struct(fields.iter().map(argument).collect());
    }
    if let Some(values) = tree["value"].as_array() {
        let number = |value: &Value| match value {
            Value::Bool(truth) => Number::Int(i128::from(*truth)),
            _ => match value.as_i64() {
                Some(integer) => Number::Int(i128::from(integer)),
                None => Number::Float(value.as_f64().unwrap_or(f64::NAN)),
            },
        };
        return Argument::Value(values.iter().map(number).collect());
    }
    Argument::Array(ArrayArgument {
        shape: numbers(&tree["shape"]),
        data: bytes(&tree["data"]),
        gradient: Some(bytes(&tree["gradient"])),
    })
}

/// Compares every array with the bytes that Warp left in it.
fn agree(
    module: &Module,
    phase: &str,
    arguments: &[Argument],
    state: &Value,
) -> Result<(), String> {
    let mut buffers = state.as_array().ok_or("no state")?.iter();
    for ((_, variable), argument) in module.kernel.parameters().zip(arguments) {
        let name = variable.name.map_or("", |name| module.names.get(name));
        agree_value(
            module,
            &format!("{phase}: {name}"),
            variable.ty,
            argument,
            &mut buffers,
        )?;
    }
    Ok(())
}

fn agree_value<'v>(
    module: &Module,
    label: &str,
    ty: TypeId,
    argument: &Argument,
    buffers: &mut impl Iterator<Item = &'v Value>,
) -> Result<(), String> {
    match (module.types.get(ty), argument) {
        (Type::Array { element, .. }, Argument::Array(array)) => {
            let sides = [
                ("", Some(&array.data)),
                ("gradient of ", array.gradient.as_ref()),
            ];
            for (what, ours) in sides {
                let theirs = bytes(buffers.next().ok_or("a buffer is missing")?);
                let (Some(ours), Some(scalar)) = (ours, module.types.scalar_of(element)) else {
                    continue;
                };
                // Warp leaves arbitrary bits in the gradients of integers.
                if what.is_empty() || scalar.is_float() {
                    differ(scalar, ours, &theirs)
                        .map_err(|error| format!("{what}{label}: {error}"))?;
                }
            }
        }
        (Type::Struct(id), Argument::Struct(values)) => {
            for (field, value) in module.types.struct_def(id).fields.iter().zip(values) {
                let label = format!("{label}.{}", module.names.get(field.name));
                agree_value(module, &label, field.ty, value, buffers)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Both sides compute in the named type, in different orders of summation and with different mathematics
/// libraries; errors are relative to the value or to the typical magnitude of the array.
fn tolerance(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => 4e-2,
        Scalar::BF16 => 1e-1,
        Scalar::F32 => 5e-4,
        _ => 1e-9,
    }
}

fn differ(scalar: Scalar, ours: &[u8], theirs: &[u8]) -> Result<(), String> {
    if !scalar.is_float() {
        let first = ours.iter().zip(theirs).position(|(a, b)| a != b);
        return first.map_or(Ok(()), |at| {
            Err(format!(
                "byte {at}: ours {}, Warp's {}",
                ours[at], theirs[at]
            ))
        });
    }
    let (ours, theirs) = (floats(scalar, ours), floats(scalar, theirs));
    let mut magnitudes: Vec<f64> = theirs
        .iter()
        .map(|x| x.abs())
        .filter(|x| x.is_finite())
        .collect();
    magnitudes.sort_by(f64::total_cmp);
    let typical = magnitudes.get(magnitudes.len() / 2).copied().unwrap_or(1.0);
    for (at, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan());
        let close = (a - b).abs() <= tolerance(scalar) * b.abs().max(typical);
        if !same && !close {
            return Err(format!("at {at}: ours {a}, Warp's {b}"));
        }
    }
    Ok(())
}

/// Numbers of a floating-point type from their bytes.
pub(crate) fn floats(scalar: Scalar, bytes: &[u8]) -> Vec<f64> {
    let half = |bits: u16| {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        sign * match exponent {
            0 => mantissa * 2.0_f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1.0 + mantissa / 1024.0) * 2.0_f64.powi(exponent - 15),
        }
    };
    match scalar {
        Scalar::F64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| f64::from_le_bytes(*word))
            .collect(),
        Scalar::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| f64::from(f32::from_le_bytes(*word)))
            .collect(),
        _ => {
            let words = bytes
                .as_chunks::<2>()
                .0
                .iter()
                .map(|word| u16::from_le_bytes(*word));
            if scalar == Scalar::F16 {
                words.map(half).collect()
            } else {
                words
                    .map(|bits| f64::from(f32::from_bits(u32::from(bits) << 16)))
                    .collect()
            }
        }
    }
}
