//! A built-in workload as reference: it brings its own inputs, and the kernel gets the same.
//!
//! Which workloads there are is the program's to say: this crate knows none.

use std::path::PathBuf;
use std::sync::OnceLock;

use warpsmith_core::did_you_mean;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::kernel_file::{Direction, Scalar};
use warpsmith_workload::{Output, Parameters, Workload};

use super::answer::{Answer, Truth};
use crate::description::{Case, Reference, ReferenceKind, WorkloadReference};
use crate::document::{CaseError, Place};
use crate::expression::Scope;
use crate::instance::{BoundValue, Contents, Instance};
use crate::program::Fault;

/// Makes the list of workloads.
type List = fn() -> Vec<Box<dyn Workload>>;

static OFFERED: OnceLock<List> = OnceLock::new();

/// Says which workloads a case may name as its reference. The first word counts.
pub fn offer_workloads(list: List) {
    let _ = OFFERED.set(list);
}

/// The workload of this name, or why there is none.
pub(crate) fn find(id: &str) -> Result<Box<dyn Workload>, String> {
    let Some(list) = OFFERED.get() else {
        return Err("built-in workloads are not available here".into());
    };
    let all = list();
    let names: Vec<&str> = all.iter().map(|one| one.id()).collect();
    let advice = did_you_mean(
        id,
        names.iter().copied(),
        "`warpsmith bench --list` has all",
    );
    let found = all.into_iter().find(|one| one.id() == id);
    found.ok_or_else(|| format!("there is no workload `{id}`; {advice}"))
}

/// A workload that answers.
pub(crate) struct BuiltIn {
    workload: Box<dyn Workload>,
    reference: WorkloadReference,
    file: PathBuf,
    place: Place,
    dimensions: Vec<String>,
    cpu: Device,
}

impl BuiltIn {
    /// The workload of a case; `None` where its reference is another.
    pub(crate) fn of(case: &Case) -> Result<Option<Self>, Fault> {
        let Some(Reference {
            kind: ReferenceKind::Workload(reference),
            place,
            ..
        }) = &case.reference
        else {
            return Ok(None);
        };
        let workload = find(&reference.id).map_err(|problem| case.error(place, problem))?;
        Ok(Some(Self {
            workload,
            reference: reference.clone(),
            file: case.file.clone(),
            place: place.clone(),
            dimensions: case.sizes.names.clone(),
            cpu: Device::open(DeviceChoice::Cpu)?,
        }))
    }

    /// The workload's inputs as contents of the kernel's arguments, and what it makes of them.
    pub(crate) fn answer(
        &self,
        instance: &Instance,
        seed: u64,
    ) -> Result<(Contents, Answer), Fault> {
        let parameters = self.parameters(instance)?;
        let wrong = |problem: String| Fault::Case(self.error(problem));
        let failed = |error: warpsmith_workload::WorkloadError| wrong(error.to_string());
        let mut prepared = self
            .workload
            .prepare(&self.cpu, &parameters, seed)
            .map_err(failed)?;
        let inputs = prepared.inputs();
        if inputs.is_empty() {
            return Err(wrong(format!(
                "`{}` has no plain arrays as inputs and cannot be a reference; the workloads of \
                 `training` and `machine/saxpy` can",
                self.reference.id
            )));
        }
        let contents = self.contents(instance, seed, &parameters, &inputs)?;
        prepared.run_once().map_err(failed)?;
        let output = prepared.output().map_err(failed)?;
        let Some(wanted) = instance.arguments.iter().find(|one| one.is_output()) else {
            return Err(wrong("the kernel has no output to compare".into()));
        };
        if output.len() != wanted.elements() {
            return Err(wrong(format!(
                "`{}` with {parameters} computes {} numbers, `{}` has {}; `parameters` says which \
                 dimension is which",
                self.reference.id,
                output.len(),
                wanted.name,
                wanted.elements()
            )));
        }
        let terms: usize = inputs.iter().map(Output::len).sum();
        let answer = Answer {
            outputs: vec![truth(&output, terms)],
            wide: false,
            note: None,
        };
        Ok((contents, answer))
    }

    fn error(&self, problem: String) -> CaseError {
        self.place.error(&self.file, problem)
    }

    /// The workload's parameters at this size: those that the case names, and dimensions of the same name.
    fn parameters(&self, instance: &Instance) -> Result<Parameters, Fault> {
        let mut scope: Scope = instance.size.clone();
        for (name, value) in &instance.choice {
            if let crate::description::TunableValue::Whole(value) = value {
                scope.insert(name.clone(), *value);
            }
        }
        let mut settings: Vec<(String, String)> = Vec::new();
        for (name, (text, expression)) in &self.reference.parameters {
            // What names no dimension is a word, such as the name of a type.
            let known = expression.as_ref().filter(|expression| {
                let mut names = expression.names().into_iter();
                names.all(|name| scope.contains_key(name))
            });
            let value = match known {
                Some(expression) => expression
                    .value(&scope)
                    .map_err(|error| self.error(format!("`{name}`: {error}")))?
                    .to_string(),
                None => text.clone(),
            };
            settings.push((name.clone(), value));
        }
        for spec in self.workload.parameters() {
            let is_set = settings.iter().any(|(name, _)| name == spec.name);
            if let (false, Some(value)) = (is_set, instance.size.get(spec.name)) {
                settings.push((spec.name.to_owned(), value.to_string()));
            }
        }
        // A dimension that nothing follows from is left out by mistake.
        let told = |name: &String| {
            settings.iter().any(|(set, _)| set == name)
                || self
                    .reference
                    .parameters
                    .iter()
                    .any(|(_, (_, expression))| {
                        expression
                            .as_ref()
                            .is_some_and(|one| one.names().contains(&name.as_str()))
                    })
        };
        if let Some(name) = self.dimensions.iter().find(|name| !told(name)) {
            let is_set = |name: &str| settings.iter().any(|(set, _)| set == name);
            let takes: Vec<&str> = self
                .workload
                .parameters()
                .iter()
                .map(|spec| spec.name)
                .collect();
            return Err(Fault::Case(self.error(format!(
                "no parameter of `{}` follows from `{name}`; it takes {}: write, for example, \
                 `parameters = {{ {} = \"{name}\" }}`",
                self.reference.id,
                takes.join(", "),
                takes.iter().find(|one| !is_set(one)).unwrap_or(&"n")
            ))));
        }
        Parameters::resolve(self.workload.parameters(), &settings)
            .map_err(|error| Fault::Case(self.error(format!("`{}`: {error}", self.reference.id))))
    }

    /// The kernel's arguments: those that are inputs of the workload hold these, others what the case says.
    fn contents(
        &self,
        instance: &Instance,
        seed: u64,
        parameters: &Parameters,
        inputs: &[Output],
    ) -> Result<Contents, Fault> {
        let wrong = |problem: String| Fault::Case(self.error(problem));
        let is_read = |value: &BoundValue| matches!(value, BoundValue::Array { direction, .. } if *direction != Direction::Out);
        let read: Vec<&str> = instance
            .arguments
            .iter()
            .filter(|argument| is_read(&argument.value))
            .map(|argument| argument.name.as_str())
            .collect();
        let named: Vec<&str> = match self.reference.inputs.is_empty() {
            true => read.clone(),
            false => self.reference.inputs.iter().map(String::as_str).collect(),
        };
        if named.len() != inputs.len() {
            return Err(wrong(format!(
                "`{}` reads {} arrays, the kernel gets {} ({}); `inputs` names the arguments that get \
                 them, in the workload's order",
                self.reference.id,
                inputs.len(),
                named.len(),
                named.join(", ")
            )));
        }
        let mut contents = instance
            .contents(seed, 0, false)
            .map_err(Fault::Unsupported)?;
        for (name, input) in named.iter().zip(inputs) {
            let at = instance.arguments.iter().position(|one| one.name == *name);
            let Some(at) = at.filter(|_| read.contains(name)) else {
                return Err(wrong(format!(
                    "`{name}` is no array that the kernel reads; there are {}",
                    read.join(", ")
                )));
            };
            let argument = &instance.arguments[at];
            let (scalar, bytes) = bytes_of(input);
            if argument.scalar != scalar || argument.elements() != input.len() {
                return Err(wrong(format!(
                    "`{}` with {parameters} reads {} numbers of type {} there, `{name}` has {} of type {}",
                    self.reference.id,
                    input.len(),
                    scalar.name(),
                    argument.elements(),
                    argument.scalar.name()
                )));
            }
            contents[at] = Some(bytes);
        }
        Ok(contents)
    }
}

/// What a kernel is timed with: the inputs of the case's workload, or what the case says.
pub fn timed_contents(case: &Case, instance: &Instance, seed: u64) -> Result<Contents, Fault> {
    match BuiltIn::of(case)? {
        Some(workload) => Ok(workload.answer(instance, seed)?.0),
        None => instance
            .contents(seed, 0, false)
            .map_err(Fault::Unsupported),
    }
}

fn bytes_of(values: &Output) -> (Scalar, Vec<u8>) {
    match values {
        Output::F32(all) => (
            Scalar::F32,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::F64(all) => (
            Scalar::F64,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::I32(all) => (
            Scalar::I32,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::U32(all) => (
            Scalar::U32,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::U64(all) => (
            Scalar::U64,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::I16(all) => (
            Scalar::I16,
            all.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        Output::U8(all) => (Scalar::U8, all.clone()),
    }
}

fn truth(output: &Output, terms: usize) -> Truth {
    let whole: Option<Vec<i64>> = match output {
        Output::F32(_) | Output::F64(_) => None,
        Output::I32(all) => Some(all.iter().map(|v| i64::from(*v)).collect()),
        Output::U32(all) => Some(all.iter().map(|v| i64::from(*v)).collect()),
        // The bits, as a kernel's own elements are read.
        Output::U64(all) => Some(all.iter().map(|v| *v as i64).collect()),
        Output::I16(all) => Some(all.iter().map(|v| i64::from(*v)).collect()),
        Output::U8(all) => Some(all.iter().map(|v| i64::from(*v)).collect()),
    };
    let values: Vec<f64> = match (output, &whole) {
        (Output::F32(all), _) => all.iter().map(|v| f64::from(*v)).collect(),
        (Output::F64(all), _) => all.clone(),
        (_, Some(whole)) => whole.iter().map(|v| *v as f64).collect(),
        _ => Vec::new(),
    };
    // How many terms decide an element is not known: all inputs might.
    let share = terms as f64 / values.len().max(1) as f64;
    let fan_in = share.max(64.0);
    Truth {
        spread: whole.is_none().then(|| cancellation(&values, fan_in)),
        values,
        whole,
        plain: None,
        in_turn: None,
        fan_in,
    }
}

/// Neighbours whose terms are taken to be of one size.
const BLOCK: usize = 256;

/// How far the inputs' last bits are taken to move each element. An element near zero is a sum that cancels,
/// of terms as large as its neighbours: all of a block may be off by 16 roundings of its mean size.
fn cancellation(values: &[f64], fan_in: f64) -> Vec<f64> {
    let mut spread = Vec::with_capacity(values.len());
    for block in values.chunks(BLOCK) {
        let finite = block.iter().filter(|value| value.is_finite());
        let squares: f64 = finite.map(|value| value * value).sum();
        let size = (squares / block.len() as f64).sqrt();
        // What is compared is allowed eight times this for each step of a walk over the terms.
        let each = 2.0 * 2f64.powi(-23) * size / fan_in.sqrt();
        spread.extend(std::iter::repeat_n(each, block.len()));
    }
    spread
}
