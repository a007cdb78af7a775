//! Functions of vectors, matrices and quaternions have the bits that Warp's CPU gives them, forward and
//! backward. What Warp gives was recorded by `warp_bits/record.py`; where Warp is, it is asked about other
//! numbers, too.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use warpsmith_compiler::{Options, compile};
use warpsmith_interpreter::{Argument, ArrayArgument, Interpreter};

use crate::conformance;

pub(crate) fn trials(full: bool) -> Vec<Trial> {
    let python = conformance::oracle("warp/bin/python");
    let missing = !full || !python.is_file();
    vec![
        Trial::test("the recorded bits of Warp", recorded),
        Trial::test("the bits of Warp for other numbers", move || fresh(&python))
            .with_ignored_flag(missing),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/warp_bits")
}

fn recorded() -> Result<(), Failed> {
    let file = std::fs::File::open(folder().join("recorded.json.gz"))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
    compare(&text)
}

fn fresh(python: &Path) -> Result<(), Failed> {
    let cache = tempfile::tempdir()?;
    let output = Command::new(python)
        .arg(folder().join("record.py"))
        .args(["2", "40"])
        .env("WARP_KERNEL_CACHE", cache.path())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    compare(std::str::from_utf8(&output.stdout)?)
}

fn compare(text: &str) -> Result<(), Failed> {
    let rows: Vec<Value> = serde_json::from_str(text)?;
    let mut wrong = Vec::new();
    for row in &rows {
        let differences = differences(row)?;
        if !differences.is_empty() {
            let name = row["name"].as_str().unwrap_or_default();
            wrong.push(format!("{name}: {}", differences.join("; ")));
        }
    }
    eprintln!("{} of {} cases agree", rows.len() - wrong.len(), rows.len());
    if wrong.is_empty() && !rows.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

/// What differs in one case, in words.
fn differences(row: &Value) -> Result<Vec<String>, Failed> {
    let source = row["source"].as_str().ok_or("no source")?;
    let threads = row["threads"].as_u64().ok_or("no number of threads")? as usize;
    let module = compile(source, &Options::default())
        .map_err(|findings| Failed::from(format!("{findings:?}\n{source}")))?;
    let given: Vec<Vec<u8>> = (row["arguments"].as_array().ok_or("no arguments")?.iter())
        .map(bytes)
        .collect();
    let (result, seed) = (bytes(&row["result"]), bytes(&row["seed"]));
    let array = |data: Vec<u8>, gradient: Vec<u8>| {
        Argument::Array(ArrayArgument {
            shape: vec![threads],
            data,
            gradient: Some(gradient),
        })
    };
    let mut arguments: Vec<Argument> = (given.iter())
        .map(|data| array(data.clone(), vec![0; data.len()]))
        .chain([array(vec![0; result.len()], seed)])
        .collect();
    let mut found = Vec::new();
    let size = match row["scalar"].as_str() {
        Some("float16") => 2,
        Some("float64") => 8,
        _ => 4,
    };
    for (direction, planned) in [
        ("forward", Interpreter::forward(&module)),
        ("backward", Interpreter::adjoint(&module)),
    ] {
        let interpreter = planned.map_err(|findings| Failed::from(format!("{findings:?}")))?;
        let (_, difference) = interpreter.run_both(&[threads], &mut arguments)?;
        if let Some(difference) = difference {
            found.push(format!("native code, {direction}: {difference}"));
        }
        if direction == "forward" {
            if let Some(Argument::Array(array)) = arguments.last() {
                found.extend(unequal("result", size, &array.data, &result));
            }
            continue;
        }
        let gradients = row["gradients"].as_array().ok_or("no gradients")?;
        for (n, (argument, expected)) in arguments.iter().zip(gradients).enumerate() {
            if let Argument::Array(ArrayArgument {
                gradient: Some(gradient),
                ..
            }) = argument
            {
                let name = format!("gradient of {}", ["a", "b", "c"][n]);
                found.extend(unequal(&name, size, gradient, &bytes(expected)));
            }
        }
    }
    Ok(found)
}

/// The little-endian bytes of hexadecimal words.
fn bytes(words: &Value) -> Vec<u8> {
    let words = words.as_str().unwrap_or_default().split(' ');
    words
        .flat_map(|word| {
            let number = u64::from_str_radix(word, 16).unwrap_or_default();
            number.to_le_bytes().into_iter().take(word.len() / 2)
        })
        .collect()
}

fn unequal(name: &str, size: usize, ours: &[u8], theirs: &[u8]) -> Option<String> {
    let pairs = ours.chunks(size).zip(theirs.chunks(size));
    let count = pairs.clone().filter(|(x, y)| x != y).count();
    let first = pairs.clone().position(|(x, y)| x != y)?;
    let hexadecimal = |bytes: &[u8]| {
        let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    };
    let at = first * size..(first + 1) * size;
    Some(format!(
        "{name}: {count} of {} differ, the first is {}, Warp's {}",
        pairs.len(),
        hexadecimal(&ours[at.clone()]),
        hexadecimal(&theirs[at]),
    ))
}
