//! Runs the kernels in `tests/kernels` that say what they compute. Comments at the top are directives:
//!
//! - `# run: dim=N[,M] NAME=VALUE… -> NAME=VALUE…` runs the kernel; what stands after the arrow is
//!   expected. A value is a number, or a list in brackets, which gives an array of one dimension (the
//!   components of vectors one after the other).
//! - `# adjoint: …` runs the adjoint in the same way; `grad.NAME` is an array's gradient, zero if it is
//!   not given.
//! - `# finding: CODE …` runs the kernel, looks for races and results that are not finite too, and expects
//!   a finding of that code; `# finding: none …` expects that there is none.
//! - `# prints: dim=N … -> TEXT` runs the kernel and expects it to print the text; `|` ends a line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::interpreter_against_warp::floats;
use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::ir::{Module, Number};
use warpsmith_compiler::{Scalar, Type, compile};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter, Outcome};

/// Relative to the value expected: what a few operations in `float32` lose.
const TOLERANCE: f64 = 1e-6;

pub(crate) fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let runs = |path: &PathBuf| {
        std::fs::read_to_string(path).is_ok_and(|source| !directives(&source).is_empty())
    };
    files
        .into_iter()
        .filter(runs)
        .map(|path| {
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            Trial::test(name.unwrap_or_default(), move || check(&path))
        })
        .collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let compiled = compile(&source, &Default::default());
    let module = compiled.map_err(|findings| findings[0].to_string())?;
    for (word, rest) in directives(&source) {
        let result = match word {
            "run" => run(&module, rest, false, None),
            "adjoint" => run(&module, rest, true, None),
            "prints" => prints(&module, rest),
            _ => {
                let (code, rest) = rest
                    .split_once(' ')
                    .ok_or("a finding has a code and arguments")?;
                run(&module, rest, false, Some(code))
            }
        };
        result.map_err(|why| format!("# {word}: {rest}\n{why}"))?;
    }
    Ok(())
}

/// The directives of a file that ask for a run.
fn directives(source: &str) -> Vec<(&str, &str)> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("# ")?.split_once(": "))
        .filter(|(word, _)| matches!(*word, "run" | "adjoint" | "finding" | "prints"))
        .collect()
}

/// `NAME=VALUE` pairs; brackets may hold spaces.
fn pairs(text: &str) -> Result<BTreeMap<&str, &str>, String> {
    let mut pairs = BTreeMap::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let end = if after.starts_with('[') {
            after.find(']').ok_or("a bracket is not closed")? + 1
        } else {
            after.find(' ').unwrap_or(after.len())
        };
        pairs.insert(name.trim(), &after[..end]);
        rest = after[end..].trim_start();
    }
    Ok(pairs)
}

fn numbers(text: &str) -> Result<Vec<f64>, String> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    let parts = inside
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.parse()
                .map_err(|_| format!("`{part}` is not a number"))
        })
        .collect()
}

fn encode(scalar: Scalar, values: &[f64]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for value in values {
        match scalar {
            Scalar::F32 => bytes.extend((*value as f32).to_le_bytes()),
            Scalar::F64 => bytes.extend(value.to_le_bytes()),
            Scalar::I32 => bytes.extend((*value as i32).to_le_bytes()),
            Scalar::Bool => bytes.push(u8::from(*value != 0.0)),
            _ => {
                return Err(format!(
                    "directives have no values of type {}",
                    scalar.name()
                ));
            }
        }
    }
    Ok(bytes)
}

fn decode(scalar: Scalar, bytes: &[u8]) -> Vec<f64> {
    match scalar {
        Scalar::F64 | Scalar::F32 => floats(scalar, bytes),
        Scalar::I32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| f64::from(i32::from_le_bytes(*word)))
            .collect(),
        _ => bytes.iter().map(|byte| f64::from(*byte)).collect(),
    }
}

fn prints(module: &Module, directive: &str) -> Result<(), String> {
    let (given, expected) = directive
        .split_once("-> ")
        .ok_or("no text after an arrow")?;
    let (outcome, _, _) = launch(module, &pairs(given)?, false, false)?;
    let printed = outcome.printed.join("|");
    if printed == expected {
        Ok(())
    } else {
        Err(format!("prints {printed:?}"))
    }
}

/// Where arrays stand among the arguments, and the scalar that they are made of.
type Places = BTreeMap<String, (usize, Scalar)>;

fn launch(
    module: &Module,
    given: &BTreeMap<&str, &str>,
    adjoint: bool,
    checks: bool,
) -> Result<(Outcome, Vec<Argument>, Places), String> {
    let dim: Vec<usize> = given
        .get("dim")
        .ok_or("no `dim`")?
        .split(',')
        .filter_map(|n| n.parse().ok())
        .collect();
    let mut arguments = Vec::new();
    let mut places = BTreeMap::new();
    for (_, variable) in module.kernel.parameters() {
        let name = variable.name.map_or("", |name| module.names.get(name));
        let values = numbers(given.get(name).ok_or(format!("`{name}` has no value"))?)?;
        let Type::Array { element, .. } = module.types.get(variable.ty) else {
            let whole = module.types.is_int(variable.ty);
            let number = |value: f64| {
                if whole {
                    Number::Int(value as i128)
                } else {
                    Number::Float(value)
                }
            };
            arguments.push(Argument::Value(values.into_iter().map(number).collect()));
            continue;
        };
        let scalar = module
            .types
            .scalar_of(element)
            .ok_or("directives have no arrays of structs")?;
        let components = match module.types.get(element) {
            Type::Vector { length, .. } => length as usize,
            Type::Matrix { rows, cols, .. } => (rows * cols) as usize,
            Type::Quat(_) => 4,
            Type::Transform(_) => 7,
            _ => 1,
        };
        let gradient = match given.get(format!("grad.{name}").as_str()) {
            Some(text) => numbers(text)?,
            None => vec![0.0; values.len()],
        };
        places.insert(name.to_owned(), (arguments.len(), scalar));
        arguments.push(Argument::Array(ArrayArgument {
            shape: vec![values.len() / components],
            data: encode(scalar, &values)?,
            gradient: adjoint.then(|| encode(scalar, &gradient)).transpose()?,
        }));
    }
    let planned = if adjoint {
        Interpreter::adjoint(module)
    } else {
        Interpreter::forward(module)
    };
    let mut interpreter = planned.map_err(|findings| findings[0].to_string())?;
    if checks {
        interpreter = interpreter.checking_races().checking_finiteness();
    }
    let outcome = interpreter
        .run(&dim, &mut arguments)
        .map_err(|error| error.to_string())?;
    Ok((outcome, arguments, places))
}

fn run(
    module: &Module,
    directive: &str,
    adjoint: bool,
    finding: Option<&str>,
) -> Result<(), String> {
    let (given, expected) = directive.split_once("->").unwrap_or((directive, ""));
    let (given, expected) = (pairs(given)?, pairs(expected)?);
    let (outcome, arguments, places) = launch(module, &given, adjoint, finding.is_some())?;
    let first = outcome.findings.first().or(outcome.races.first());
    match (finding, first.or(outcome.non_finite.first())) {
        (None, Some(found)) => return Err(format!("unexpected {found}")),
        (Some(code), found) => {
            let seen = found.map_or("none", |found| found.code.as_str());
            return if seen == code {
                Ok(())
            } else {
                Err(format!("expected {code}, found {seen}"))
            };
        }
        (None, None) => {}
    }
    for (name, text) in expected {
        let plain = name.strip_prefix("grad.");
        let (at, scalar) = places
            .get(plain.unwrap_or(name))
            .ok_or(format!("no array `{name}`"))?;
        let Argument::Array(array) = &arguments[*at] else {
            continue;
        };
        let bytes = if plain.is_some() {
            array.gradient.as_ref().ok_or("no gradient")?
        } else {
            &array.data
        };
        let (found, wanted) = (decode(*scalar, bytes), numbers(text)?);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * b.abs();
        if found.len() != wanted.len() || !found.iter().zip(&wanted).all(near) {
            return Err(format!("{name} is {found:?}"));
        }
    }
    Ok(())
}
