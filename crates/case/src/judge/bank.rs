//! A task with inputs and right answers, made once for all of its candidates.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::kernel_file::{Direction, Scalar};
use warpsmith_workload::random::Random;

use crate::description::{Callable, Case, ReferenceKind, Source, StatedTolerance};
use crate::element::{float_at, is_float, numpy_bytes, numpy_name, push_float};
use crate::expression::Scope;
use crate::instance::{BoundArgument, BoundValue, Contents, Instance};
use crate::program::{Fault, Settings};
use crate::reference::Answer;
use crate::sizes::size_words;
use crate::verify::Expectation;

/// Checks before anything is timed; the last is at the size that is timed.
const CHECKS: usize = 5;
/// Fresh contents for timed calls.
const TIMED: usize = 14;
/// Calls in which one element differs from an earlier call.
const CHANGED: usize = 2;
/// Elements of all arrays of a check that is not at the timed size.
const SMALL: i64 = 1 << 17;

/// What a candidate may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Seconds for importing and constructing.
    pub load: Duration,
    /// Seconds for one call.
    pub call: Duration,
    /// Bytes of memory beside what Python itself takes.
    pub memory: u64,
    /// Whether it may start processes while it loads, as compilers of kernels do.
    pub processes: bool,
    /// Functions that it may not call, `numpy.matmul`, and operators, `aten.mm`.
    pub forbid: Vec<String>,
    /// Where tensors lie: `cuda`, or the host.
    pub device: Option<String>,
    /// Numbers of a KernelBench problem that take other values, `batch_size`.
    pub numbers: std::collections::BTreeMap<String, i64>,
    /// Which GPUs Python sees, as `CUDA_VISIBLE_DEVICES` says it.
    pub visible: Option<String>,
    /// Elements of all arrays of a timed call.
    pub elements: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            load: Duration::from_secs(60),
            call: Duration::from_secs(10),
            memory: 4 << 30,
            processes: false,
            forbid: Vec::new(),
            device: None,
            numbers: std::collections::BTreeMap::new(),
            visible: None,
            elements: 1 << 22,
        }
    }
}

/// What candidates are to do, with inputs and answers that they never see.
pub struct Task {
    pub(super) name: String,
    pub(super) form: &'static str,
    /// The function or class that is called where a candidate names none.
    pub(super) entry: String,
    pub(super) rounds: Vec<Round>,
    pub(super) stated: Option<StatedTolerance>,
    /// The reference as something that can be timed.
    pub(super) rival: Option<Callable>,
    /// Header and bytes that construct a model.
    pub(super) construct: Option<(Value, Vec<u8>)>,
    /// Files that no candidate has a reason to open.
    pub(super) hidden: Vec<PathBuf>,
    pub(super) modules: Vec<&'static str>,
    /// Decides the inputs.
    pub(super) seed: u64,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// One input with its right answer.
pub(super) struct Round {
    pub(super) words: String,
    pub(super) kind: RoundKind,
    pub(super) inputs: Vec<Given>,
    pub(super) numbers: Map<String, Value>,
    pub(super) outputs: Vec<BoundArgument>,
    pub(super) answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundKind {
    Check,
    Timed,
    /// As the first timed round, but for one element.
    Changed,
}

/// An input of a call.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Array {
        name: String,
        descr: String,
        shape: Vec<usize>,
        bytes: Vec<u8>,
    },
    Value {
        name: String,
        value: Value,
    },
}

impl Round {
    /// The header and bytes of a call.
    pub(super) fn request(
        &self,
        place: &str,
        poison: u8,
        nonce: u64,
        watched: bool,
    ) -> (Value, Vec<&[u8]>) {
        let mut parts: Vec<&[u8]> = Vec::new();
        let inputs: Vec<Value> = self
            .inputs
            .iter()
            .map(|given| match given {
                Given::Array {
                    name,
                    descr,
                    shape,
                    bytes,
                } => {
                    parts.push(bytes);
                    json!({ "name": name, "descr": descr, "shape": shape })
                }
                Given::Value { name, value } => json!({ "name": name, "value": value }),
            })
            .collect();
        let outputs: Vec<Value> = self
            .outputs
            .iter()
            .map(|output| {
                let shape = match &output.value {
                    BoundValue::Array { shape, .. } => shape.clone(),
                    BoundValue::Number { .. } | BoundValue::Components { .. } => Vec::new(),
                };
                json!({ "name": output.name, "descr": numpy_name(output.scalar), "shape": shape })
            })
            .collect();
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let header = json!({
            "op": "call", "nonce": nonce, "place": place, "poison": poison, "watched": watched,
            "inputs": inputs, "outputs": outputs, "numbers": self.numbers, "bytes": total,
        });
        (header, parts)
    }

    /// Bytes that an answer has at most.
    pub(super) fn output_bytes(&self) -> usize {
        self.outputs
            .iter()
            .map(|output| output.elements() * numpy_width(output.scalar))
            .sum()
    }
}

/// Bytes of an element as it travels: `bf16` goes as `f32`.
pub(super) fn numpy_width(scalar: Scalar) -> usize {
    match scalar {
        Scalar::Bf16 => 4,
        other => other.bytes(),
    }
}

impl Task {
    /// What the task is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A case as a task for Python candidates.
    pub fn of_case(case: &Case, seed: u64, limits: &Limits) -> Result<Self, Fault> {
        let choice = case.first_choice();
        let cpu = Device::open(DeviceChoice::Cpu)?;
        let mut expectation = Expectation::prepare(case, &choice, &cpu, Settings::default())?;
        if matches!(expectation, Expectation::BuiltIn(_)) {
            return Err(Fault::Unsupported(format!(
                "`{}`: a built-in workload answers to its own inputs alone, and candidates get others; \
                 name a Python function as reference",
                case.file.display()
            )));
        }
        if matches!(expectation, Expectation::Nothing) {
            return Err(Fault::Unsupported(format!(
                "`{}` has no reference: nothing can be judged by it",
                case.file.display()
            )));
        }
        let mut random = Random::seeded(seed);
        let (timed, checks) = sizes(case, limits, &mut random)?;
        let mut rounds = Vec::new();
        let mut add = |kind,
                       size: &Scope,
                       fill: usize,
                       change: Option<&Contents>,
                       seed: u64|
         -> Result<Option<Contents>, Fault> {
            let instance = case.instance(size, &choice)?;
            let contents = match change {
                Some(contents) => match with_one_changed(&instance, contents, seed) {
                    Some(contents) => contents,
                    None => return Ok(None),
                },
                None => instance
                    .contents(seed, fill, false)
                    .map_err(Fault::Unsupported)?,
            };
            let Some(answer) = expectation.answer_to(&instance, &contents)? else {
                return Ok(None);
            };
            rounds.push(round(case, &instance, &contents, answer, kind));
            Ok(Some(contents))
        };
        for (index, size) in checks.iter().enumerate() {
            add(RoundKind::Check, size, index, None, random.bits())?;
        }
        let begun = Instant::now();
        let mut first = None;
        for index in 0..TIMED {
            let contents = add(RoundKind::Timed, &timed, 0, None, random.bits())?;
            if index == 0 {
                first = contents;
            }
            // A slow reference gets fewer: five make an interval.
            if index >= 5 && begun.elapsed() > Duration::from_secs(20) {
                break;
            }
        }
        if let Some(first) = &first {
            for _ in 0..CHANGED {
                add(RoundKind::Changed, &timed, 0, Some(first), random.bits())?;
            }
        }
        let mut notes = Vec::new();
        let (rival, mut hidden) = match case.reference.as_ref().map(|reference| &reference.kind) {
            Some(ReferenceKind::Function(callable)) => {
                (Some(callable.clone()), vec![callable.file.clone()])
            }
            _ => {
                notes.push("the reference is no Python function: candidates are not timed".into());
                (None, Vec::new())
            }
        };
        hidden.push(case.file.clone());
        if let Source::Callable(callable) = &case.source {
            hidden.push(callable.file.clone());
        }
        let entry = match (&case.source, &case.kernel) {
            (Source::Callable(callable), _) => callable.function.clone(),
            (_, Some(kernel)) => kernel.clone(),
            _ => case.name(),
        };
        Ok(Self {
            name: case.name(),
            form: "function",
            entry,
            rounds,
            stated: case.tolerance.clone(),
            rival,
            construct: None,
            hidden,
            modules: vec!["numpy"],
            seed,
            notes,
        })
    }

    /// What is imported before a candidate with this text is forked.
    pub(super) fn modules_for(&self, text: &str, limits: &Limits) -> Vec<&'static str> {
        let mut modules = self.modules.clone();
        if text.contains("torch") && !modules.contains(&"torch") {
            modules.push("torch");
        }
        if modules.contains(&"torch") && !limits.forbid.is_empty() {
            // Watching operators imports it, which takes seconds.
            modules.push("torch._dynamo");
        }
        modules
    }
}

/// The size that is timed, and sizes that are checked before: some of the awkward ones, by chance.
fn sizes(case: &Case, limits: &Limits, random: &mut Random) -> Result<(Scope, Vec<Scope>), Fault> {
    let choice = case.first_choice();
    let listed = case.listed_sizes(&choice)?;
    let elements = |size: &Scope| case.elements(size, &choice).unwrap_or(i64::MAX);
    let fitting = listed
        .iter()
        .filter(|size| elements(size) <= limits.elements);
    let timed = fitting
        .max_by_key(|size| elements(size))
        .or_else(|| listed.iter().min_by_key(|size| elements(size)))
        .cloned()
        .ok_or_else(|| Fault::Unsupported(format!("`{}` lists no size", case.file.display())))?;
    let all = case.verification_sizes(&choice)?.sizes;
    let mut small: Vec<Scope> = all
        .into_iter()
        .filter(|size| elements(size) <= SMALL && elements(size) > 0)
        .collect();
    random.shuffle(&mut small);
    small.truncate(CHECKS - 1);
    small.push(timed.clone());
    Ok((timed, small))
}

/// One element of one array of numbers moved; `None` where there is none to move.
fn with_one_changed(instance: &Instance, contents: &Contents, seed: u64) -> Option<Contents> {
    let mut random = Random::seeded(seed);
    let arrays: Vec<usize> = (0..contents.len())
        .filter(|at| {
            let argument = &instance.arguments[*at];
            contents[*at].is_some() && is_float(argument.scalar) && argument.elements() > 0
        })
        .collect();
    let at = *arrays.get(random.below(arrays.len().max(1)))?;
    let scalar = instance.arguments[at].scalar;
    let element = random.below(instance.arguments[at].elements());
    let mut changed = contents.clone();
    let bytes = changed[at].as_mut()?;
    let mut moved = Vec::new();
    push_float(
        scalar,
        float_at(scalar, bytes, element) * 1.5 + 1.0,
        &mut moved,
    );
    bytes[element * scalar.bytes()..(element + 1) * scalar.bytes()].copy_from_slice(&moved);
    Some(changed)
}

fn round(
    case: &Case,
    instance: &Instance,
    contents: &Contents,
    answer: Answer,
    kind: RoundKind,
) -> Round {
    let mut inputs = Vec::new();
    for (argument, content) in instance.arguments.iter().zip(contents) {
        if let BoundValue::Array { shape, .. } = &argument.value
            && let Some(bytes) = content
            && argument.direction() != Some(Direction::Out)
        {
            inputs.push(Given::Array {
                name: argument.name.clone(),
                descr: numpy_name(argument.scalar).to_owned(),
                shape: shape.clone(),
                bytes: numpy_bytes(argument.scalar, bytes),
            });
        }
    }
    let outputs = instance
        .arguments
        .iter()
        .filter(|argument| argument.is_output());
    Round {
        words: size_words(&instance.size, &case.sizes.names),
        kind,
        inputs,
        numbers: instance.numbers(),
        outputs: outputs.cloned().collect(),
        answer,
    }
}
