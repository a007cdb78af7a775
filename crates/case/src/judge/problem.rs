//! A KernelBench problem as a task: `Model`, `get_inputs` and `get_init_inputs` in a Python file.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use warpsmith_measure::kernel_file::{Direction, Scalar};
use warpsmith_workload::random::Random;

use super::bank::{Given, Limits, Round, RoundKind, Task};
use super::channel::{Channel, Lost};
use crate::description::{Callable, Fill};
use crate::instance::{BoundArgument, BoundValue};
use crate::reference::{Answer, Truth, keep_the_end, python_program};

const SCRIPT: &str = concat!(
    include_str!("frames.py"),
    include_str!("../../../../python/warpsmith/truth.py"),
    include_str!("problem_process.py")
);
/// The problems' own sizes need minutes and gigabytes on a CPU.
const LIMIT: Duration = Duration::from_secs(600);
/// Bytes of an input with its answers.
const MOST_BYTES: usize = 64 << 30;
/// Fresh inputs for timed calls, as many as fit this much memory, and at least six.
const TIMED: usize = 12;
const BANK_BYTES: usize = 2 << 30;

struct ProblemProcess {
    child: Child,
    channel: Channel,
}

impl ProblemProcess {
    fn start() -> Result<Self, String> {
        let python = python_program();
        let failed = |error: std::io::Error| {
            format!(
                "cannot start Python (`{}`): {error}; `WARPSMITH_PYTHON` names another",
                python.to_string_lossy()
            )
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let copy = theirs.try_clone().map_err(failed)?;
        // The import from the future stands first, and the parts of the script follow each other.
        let future = "from __future__ import annotations\n";
        let script = format!("{future}{}", SCRIPT.replace(future, ""));
        let mut child = Command::new(&python)
            .args(["-c", &script])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(OwnedFd::from(copy)))
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || keep_the_end(stderr, &Arc::new(Mutex::new(Vec::new()))));
        }
        Ok(Self {
            child,
            channel: Channel::new(ours).map_err(failed)?,
        })
    }

    fn ask(&mut self, request: &Value) -> Result<(Value, Vec<u8>), String> {
        let lost = |lost: Lost| match lost {
            Lost::TooLong(seconds) => format!("the problem did not answer within {seconds} s"),
            Lost::Garbled(seen) => format!("the problem's process answers nonsense: {seen}"),
            _ => "the problem's process ended".to_owned(),
        };
        self.channel
            .send(request, &[], LIMIT, &mut || Ok(()))
            .map_err(lost)?;
        let (header, bytes) = self
            .channel
            .receive(MOST_BYTES, LIMIT, &mut || Ok(()))
            .map_err(lost)?;
        match header["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok((header, bytes)),
        }
    }
}

impl Drop for ProblemProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Task {
    /// A problem in KernelBench's layout as a task for candidates with a class `ModelNew`.
    pub fn of_problem(file: &Path, seed: u64, limits: &Limits) -> Result<Self, String> {
        let named = |problem: String| format!("`{}`: {problem}", file.display());
        let mut random = Random::seeded(seed);
        // A seed of its own: torch takes 63 bits.
        let weights_seed = random.bits() >> 2;
        let mut process = ProblemProcess::start()?;
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        process
            .ask(&json!({ "file": absolute, "seed": weights_seed, "numbers": limits.numbers }))
            .map_err(named)?;
        let (header, weights) = process.ask(&json!({ "op": "weights" })).map_err(named)?;
        let construct = json!({
            "op": "construct", "seed": weights_seed, "init": header["init"],
            "weights": header["weights"], "bytes": weights.len(),
        });
        let mut rounds = Vec::new();
        let mut notes = Vec::new();
        let mut ask =
            |kind: RoundKind, inputs: &str, seed: u64, change: u64| -> Result<usize, String> {
                let request =
                    json!({ "op": "round", "seed": seed >> 2, "kind": inputs, "change": change });
                let (header, bytes) = process.ask(&request).map_err(named)?;
                if header["undefined"] == true {
                    notes.push(format!("{inputs} inputs give no numbers here: left out"));
                    return Ok(0);
                }
                let size = bytes.len();
                let words = match inputs {
                    "own" => "the problem's own inputs".to_owned(),
                    other => format!("{other} inputs of the same shapes"),
                };
                rounds.push(round(&header, &bytes, kind, words).ok_or_else(|| {
                    named("an input or output has a type that cannot be judged".into())
                })?);
                Ok(size)
            };
        let size = ask(RoundKind::Check, "own", random.bits(), 0)?;
        // `torch.rand` is never negative: what differs below zero alone would pass.
        ask(RoundKind::Check, "normal", random.bits(), 0)?;
        let begun = Instant::now();
        let first = random.bits();
        let most = (BANK_BYTES / size.max(1)).clamp(6, TIMED);
        for index in 0..most {
            let seed = if index == 0 { first } else { random.bits() };
            ask(RoundKind::Timed, "own", seed, 0)?;
            if index >= 5 && begun.elapsed() > Duration::from_secs(60) {
                break;
            }
        }
        ask(RoundKind::Changed, "own", first, 1 + (random.bits() >> 2))?;
        Ok(Self {
            name: file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            form: "model",
            entry: "ModelNew".into(),
            rounds,
            stated: None,
            rival: Some(Callable {
                file: file.to_owned(),
                function: "Model".into(),
            }),
            construct: Some((construct, weights)),
            hidden: vec![file.to_owned()],
            modules: vec!["numpy", "torch"],
            seed,
            notes,
        })
    }
}

/// A round from the process's answer: inputs first, then truth, plain values and spread of each output.
fn round(header: &Value, bytes: &[u8], kind: RoundKind, words: String) -> Option<Round> {
    let mut at = 0;
    let mut take = |count: usize| -> Option<Vec<u8>> {
        let part = bytes.get(at..at + count)?.to_vec();
        at += count;
        Some(part)
    };
    let shape_of = |one: &Value| -> Option<Vec<usize>> {
        let extents = one["shape"].as_array()?.iter();
        extents
            .map(|extent| usize::try_from(extent.as_u64()?).ok())
            .collect()
    };
    let mut inputs = Vec::new();
    for one in header["inputs"].as_array()? {
        let name = one["name"].as_str()?.to_owned();
        if one.get("value").is_some() {
            inputs.push(Given::Value {
                name,
                value: one["value"].clone(),
            });
            continue;
        }
        let descr = one["descr"].as_str()?.to_owned();
        let width: usize = descr.get(2..)?.parse().ok()?;
        let shape = shape_of(one)?;
        let bytes = take(shape.iter().product::<usize>() * width)?;
        inputs.push(Given::Array {
            name,
            descr,
            shape,
            bytes,
        });
    }
    let (mut outputs, mut truths, mut wide) = (Vec::new(), Vec::new(), true);
    for one in header["outputs"].as_array()? {
        let shape = shape_of(one)?;
        let count: usize = shape.iter().product();
        let mut floats = || -> Option<Vec<f64>> {
            let words = take(count * 8)?;
            Some(
                words
                    .as_chunks()
                    .0
                    .iter()
                    .map(|word| f64::from_le_bytes(*word))
                    .collect(),
            )
        };
        let exact = one["exact"] == true;
        let values = floats()?;
        let whole: Option<Vec<i64>> = exact.then(|| {
            values
                .iter()
                .map(|value| value.to_bits().cast_signed())
                .collect()
        });
        let values = match &whole {
            Some(whole) => whole.iter().map(|value| *value as f64).collect(),
            None => values,
        };
        let plain = if exact { None } else { Some(floats()?) };
        let spread = if one["spread"] == true {
            Some(floats()?)
        } else {
            None
        };
        wide &= one["wide"] == true;
        truths.push(Truth {
            values,
            whole,
            plain,
            spread,
            in_turn: None,
            fan_in: one["fan_in"].as_f64().unwrap_or(1.0).max(1.0),
        });
        outputs.push(BoundArgument {
            name: one["name"].as_str()?.to_owned(),
            scalar: scalar_of(one["descr"].as_str()?)?,
            value: BoundValue::Array {
                direction: Direction::Out,
                axes: (0..shape.len()).map(|axis| format!("dim{axis}")).collect(),
                shape,
                fill: Fill::Zeros,
            },
        });
    }
    Some(Round {
        words,
        kind,
        inputs,
        numbers: Map::new(),
        outputs,
        answer: Answer {
            outputs: truths,
            wide,
            note: None,
        },
    })
}

fn scalar_of(descr: &str) -> Option<Scalar> {
    Some(match descr {
        "<f8" => Scalar::F64,
        "<f4" => Scalar::F32,
        "<f2" => Scalar::F16,
        "<i8" => Scalar::I64,
        "<i4" => Scalar::I32,
        "<i2" => Scalar::I16,
        "|i1" => Scalar::I8,
        "|u1" | "|b1" => Scalar::U8,
        _ => return None,
    })
}
