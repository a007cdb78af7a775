//! A NumPy or PyTorch function as reference, or as the kernel itself.

use std::path::Path;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use warpsmith_formats::npy::NpyArray;
use warpsmith_measure::kernel_file::Direction;
use warpsmith_measure::measurement::Sample;

use super::answer::{Answer, Truth};
use super::python_worker::{PythonWorker, Start, WorkerError, label};
use super::stored::truth;
use crate::element::{numpy_bytes, numpy_name};
use crate::instance::{BoundValue, Contents, Instance};

/// What a function returns beside its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Nothing: the outputs in the inputs' own type.
    OwnType,
    /// The outputs in float64 too.
    Float64,
    /// Also how many inputs decide an output.
    Float64AndFanIn,
    /// Also how far the inputs' last bits move the outputs, which takes twenty-one answers more.
    Spread,
}

/// A function with its process and the folder through which arrays travel.
pub(crate) struct PythonFunction {
    /// Nothing after a call that took the process with it: the next call starts another.
    worker: Option<PythonWorker>,
    /// How the process is started.
    start: Start,
    folder: TempDir,
    function: String,
    /// What was bound to be timed gets numbers, which are never used again.
    bound: u64,
}

/// What is known of a function that was bound to be timed.
pub(crate) struct Bound {
    pub(crate) id: u64,
    /// Whether a GPU's clock times it.
    pub(crate) gpu: bool,
    /// Calls of a sample.
    pub(crate) inner: u64,
}

impl PythonFunction {
    /// Starts Python and loads the function.
    pub(crate) fn start(start: Start) -> Result<Self, WorkerError> {
        let function = label(&start.callable);
        // Memory where there is any: arrays are written and read once.
        let shared = Path::new("/dev/shm");
        let folder = match shared.is_dir() {
            true => tempfile::tempdir_in(shared).or_else(|_| tempfile::tempdir()),
            false => tempfile::tempdir(),
        };
        let folder = folder.map_err(|error| WorkerError::Wrong {
            function: function.clone(),
            problem: format!("there is no folder for its arrays: {error}"),
        })?;
        Ok(Self {
            worker: Some(PythonWorker::start(&start)?),
            start,
            folder,
            function,
            bound: 0,
        })
    }

    fn ask(&mut self, request: &Value) -> Result<Value, WorkerError> {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => PythonWorker::start(&self.start)?,
        };
        let answer = worker.ask(request);
        let is_gone = matches!(
            answer,
            Err(WorkerError::Ended { .. }
                | WorkerError::TooLong { .. }
                | WorkerError::TooLarge { .. })
        );
        if !is_gone {
            self.worker = Some(worker);
        }
        answer
    }

    /// Keeps the function with these arguments, warmed up, to be timed.
    pub(crate) fn bind(
        &mut self,
        instance: &Instance,
        contents: &Contents,
        mode: &str,
    ) -> Result<Bound, WorkerError> {
        self.bound += 1;
        let id = self.bound;
        let mut request = self.request(instance, contents)?;
        request["what"] = json!("bind");
        request["id"] = json!(id);
        request["mode"] = json!(mode);
        let facts = self.ask(&request)?;
        Ok(Bound {
            id,
            gpu: facts["gpu"].as_bool().unwrap_or(false),
            inner: facts["inner"].as_u64().unwrap_or(1).max(1),
        })
    }

    /// Samples of what was bound.
    pub(crate) fn sample(&mut self, id: u64, count: usize) -> Result<Vec<Sample>, WorkerError> {
        let request = json!({ "what": "sample", "id": id, "count": count });
        let facts = self.ask(&request)?;
        let read = |one: &Value| {
            Some(Sample {
                cpu_seconds: one[1].as_f64(),
                preempted: one[2].as_bool().unwrap_or(false),
                ..Sample::of_seconds(one[0].as_f64().filter(|seconds| *seconds >= 0.0)?)
            })
        };
        let samples: Option<Vec<Sample>> = facts["samples"]
            .as_array()
            .and_then(|all| all.iter().map(read).collect());
        let samples = samples.filter(|samples| !samples.is_empty());
        samples.ok_or_else(|| WorkerError::Wrong {
            function: self.function.clone(),
            problem: "its samples are no times".into(),
        })
    }

    /// Forgets what was bound.
    pub(crate) fn release(&mut self, id: u64) {
        if self.worker.is_some() {
            let _ = self.ask(&json!({ "what": "release", "id": id }));
        }
    }

    /// The arrays as files and the numbers by name: those of the case, its dimensions, its tunables.
    fn request(&self, instance: &Instance, contents: &Contents) -> Result<Value, WorkerError> {
        let wrong = |problem: String| WorkerError::Wrong {
            function: self.function.clone(),
            problem,
        };
        let mut numbers = Map::new();
        for (name, value) in &instance.choice {
            numbers.insert(name.clone(), json!(value));
        }
        numbers.extend(instance.numbers());
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (index, argument) in instance.arguments.iter().enumerate() {
            let BoundValue::Array { shape, .. } = &argument.value else {
                continue;
            };
            if let Some(bytes) = &contents[index]
                && argument.direction() != Some(Direction::Out)
            {
                let file = format!("input{index}.npy");
                let array = NpyArray {
                    descr: numpy_name(argument.scalar).to_owned(),
                    shape: shape.clone(),
                    data: numpy_bytes(argument.scalar, bytes),
                };
                // The folder is ours and temporary: no user's file.
                let written = std::fs::File::create(self.folder.path().join(&file))
                    .and_then(|mut out| array.write_to(&mut out));
                written.map_err(|error| wrong(format!("cannot pass an array on: {error}")))?;
                inputs.push(json!({ "name": argument.name, "file": file }));
            }
            if argument.is_output() {
                outputs.push(json!({ "name": argument.name, "shape": shape }));
            }
        }
        Ok(json!({
            "folder": self.folder.path(), "inputs": inputs, "outputs": outputs,
            "numbers": Value::Object(numbers),
        }))
    }

    /// What the function says about these contents.
    pub(crate) fn answer(
        &mut self,
        instance: &Instance,
        contents: &Contents,
        detail: Detail,
    ) -> Result<Answer, WorkerError> {
        let mut request = self.request(instance, contents)?;
        request["wide"] = json!(detail != Detail::OwnType);
        request["probe"] = json!(detail == Detail::Float64AndFanIn);
        request["spread"] = json!(detail == Detail::Spread);
        let count = request["outputs"].as_array().map_or(0, Vec::len);
        let facts = self.ask(&request)?;
        let wrong = |problem: String| WorkerError::Wrong {
            function: self.function.clone(),
            problem,
        };
        let read = |file: String| NpyArray::read(&self.folder.path().join(file)).ok();
        let mut answers = Vec::new();
        for index in 0..count {
            let name = format!("truth{index}.npy");
            let array = read(name.clone()).ok_or_else(|| wrong("its result is missing".into()))?;
            let mut found = truth(&array, Path::new(&name)).map_err(wrong)?;
            let floats = |file: String| -> Option<Vec<f64>> {
                Some(truth(&read(file)?, Path::new("")).ok()?.values)
            };
            if found.whole.is_none() {
                found.plain = floats(format!("plain{index}.npy"));
            }
            let is_wide = facts["precision"] == "float64";
            if is_wide && detail == Detail::Spread {
                found.spread = floats(format!("spread{index}.npy"));
                found.in_turn = floats(format!("in_turn{index}.npy"));
            }
            found.fan_in = facts["fan_in"][index].as_f64().unwrap_or(1.0).max(1.0);
            answers.push(found);
        }
        // A later answer without one of these must not find an older one's.
        for index in 0..count {
            for kind in ["truth", "plain", "spread", "in_turn"] {
                let _ = std::fs::remove_file(self.folder.path().join(format!("{kind}{index}.npy")));
            }
        }
        Ok(Answer {
            outputs: answers,
            wide: facts["precision"] == "float64",
            note: facts["note"].as_str().map(str::to_owned),
        })
    }
}

impl Truth {
    /// The values as elements of a type, for results that a callable computed.
    pub(crate) fn to_bytes(&self, scalar: warpsmith_measure::kernel_file::Scalar) -> Vec<u8> {
        let mut bytes = Vec::new();
        match &self.whole {
            Some(whole) => whole
                .iter()
                .for_each(|value| crate::element::push_whole(scalar, *value, &mut bytes)),
            None => self
                .values
                .iter()
                .for_each(|value| crate::element::push_float(scalar, *value, &mut bytes)),
        }
        bytes
    }
}
