//! The reference of a case, ready to answer.

use std::sync::Arc;

use warpsmith_device::Device;

use crate::description::{Callable, Case, Reference, ReferenceKind, TunableValue};
use crate::element::{float_at, is_float};
use crate::instance::{Contents, Instance};
use crate::program::{Fault, KernelOf, Program, Settings};
use crate::reference::{
    Answer, Answered, BuiltIn, Detail, LookAhead, PythonFunction, Start, Truth, Wanted,
    stored_answers,
};

/// Where the right answers come from.
#[allow(clippy::large_enum_variant)] // There is one of these for a whole run.
pub(crate) enum Expectation {
    Function(Function),
    Stored(Vec<(String, std::path::PathBuf)>),
    Kernel(Program),
    BuiltIn(BuiltIn),
    /// The case has none: only what needs no reference is checked.
    Nothing,
}

/// A Python function: one worker for what is asked at once, others that look ahead.
pub(crate) struct Function {
    start: Start,
    own: Option<PythonFunction>,
    ahead: Option<LookAhead>,
}

impl Function {
    fn own(&mut self) -> Result<&mut PythonFunction, Fault> {
        let started = match self.own.take() {
            Some(started) => started,
            None => PythonFunction::start(self.start.clone())?,
        };
        Ok(self.own.insert(started))
    }

    fn answer(&mut self, wanted: &Wanted) -> Result<(Contents, Answer), Fault> {
        if let Some(ahead) = &mut self.ahead
            && let Some(answered) = ahead.take(wanted)
        {
            return answered;
        }
        let contents = wanted.contents()?;
        let answer = self
            .own()?
            .answer(&wanted.instance, &contents, wanted.detail())?;
        Ok((contents, answer))
    }
}

impl Expectation {
    pub(crate) fn prepare(
        case: &Case,
        choice: &[(String, TunableValue)],
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        let Some(reference) = &case.reference else {
            return Ok(Self::Nothing);
        };
        Ok(match &reference.kind {
            ReferenceKind::Function(callable) => Self::of_function(reference, callable),
            ReferenceKind::Npy(files) => Self::Stored(files.clone()),
            ReferenceKind::Workload(_) => match BuiltIn::of(case)? {
                Some(workload) => Self::BuiltIn(workload),
                None => Self::Nothing,
            },
            ReferenceKind::Interpreter => {
                let cpu = Device::open(warpsmith_device::DeviceChoice::Cpu)?;
                Self::Kernel(Program::of(&KernelOf::case(case), choice, &cpu, settings)?)
            }
            ReferenceKind::Kernel {
                source,
                kernel,
                launch,
            } => Self::Kernel(Program::of(
                &KernelOf {
                    case,
                    source,
                    kernel: kernel.as_deref(),
                    launch: launch.as_ref(),
                },
                choice,
                device,
                settings,
            )?),
        })
    }

    /// A Python function, which starts when it is first needed, and needs no device.
    pub(crate) fn of_function(reference: &Reference, callable: &Callable) -> Self {
        Self::Function(Function {
            start: Start {
                callable: callable.clone(),
                seconds: reference.seconds,
                memory: reference.memory,
                device: None,
                threads: None,
            },
            own: None,
            ahead: None,
        })
    }

    /// Prepares these answers in the background, where that takes long enough to be worth it.
    pub(crate) fn look_ahead(&mut self, wanted: Vec<Wanted>) {
        let Self::Function(function) = self else {
            return;
        };
        match &function.ahead {
            // Workers that are there are not started again.
            Some(ahead) if ahead.is_free() => ahead.want(wanted),
            _ => {
                let start = function.start.clone();
                let begin = move |threads| {
                    let threads = Some(threads);
                    Ok(PythonFunction::start(Start {
                        threads,
                        ..start.clone()
                    })?)
                };
                function.ahead = Some(LookAhead::begin(wanted, begin));
            }
        }
    }

    /// Whether this can be answered at once. What is not prepared in the background never waits for anybody.
    pub(super) fn is_ready(&self, wanted: &Wanted) -> bool {
        match self {
            Self::Function(function) => {
                let ahead = function.ahead.as_ref();
                ahead.is_some_and(|ahead| ahead.is_ready(wanted))
            }
            _ => true,
        }
    }

    /// The next answer that was prepared, with what it belongs to.
    pub(super) fn take_next(&mut self) -> Option<(Arc<Wanted>, Answered)> {
        match self {
            Self::Function(function) => function.ahead.as_mut()?.take_next(),
            _ => None,
        }
    }

    /// Adds how far the inputs' last bits move the outputs.
    pub(super) fn measure_spread(
        &mut self,
        wanted: &Wanted,
        contents: &Contents,
        answer: &mut Answer,
    ) -> Result<(), Fault> {
        let Self::Function(function) = self else {
            return Ok(());
        };
        let measured = function
            .own()?
            .answer(&wanted.instance, contents, Detail::Spread)?;
        for (truth, measured) in answer.outputs.iter_mut().zip(measured.outputs) {
            truth.spread = measured.spread;
            truth.in_turn = measured.in_turn;
        }
        Ok(())
    }

    /// The inputs, and the right answer to them; `None` where there is none for this size.
    pub(super) fn answer(&mut self, wanted: &Wanted) -> Result<(Contents, Option<Answer>), Fault> {
        if let Self::Function(function) = self {
            let (contents, answer) = function.answer(wanted)?;
            return Ok((contents, Some(answer)));
        }
        if let (Self::BuiltIn(workload), false) = (&self, wanted.special) {
            let (contents, answer) = workload.answer(&wanted.instance, wanted.seed)?;
            return Ok((contents, Some(answer)));
        }
        let contents = wanted.contents()?;
        let answer = self.answer_at_once(&wanted.instance, &contents)?;
        Ok((contents, answer))
    }

    /// The right answer to these contents with everything that is known of it; `None` where there is
    /// none for this size.
    pub(crate) fn answer_to(
        &mut self,
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Option<Answer>, Fault> {
        let Self::Function(function) = self else {
            return self.answer_at_once(instance, contents);
        };
        let own = function.own()?;
        let mut answer = own.answer(instance, contents, Detail::Float64AndFanIn)?;
        if answer.wide {
            let measured = own.answer(instance, contents, Detail::Spread)?;
            for (truth, measured) in answer.outputs.iter_mut().zip(measured.outputs) {
                truth.spread = measured.spread;
                truth.in_turn = measured.in_turn;
            }
        }
        Ok(Some(answer))
    }

    fn answer_at_once(
        &mut self,
        instance: &Instance,
        contents: &Contents,
    ) -> Result<Option<Answer>, Fault> {
        match self {
            // A workload knows the answer to its own inputs alone.
            Self::Nothing | Self::Function(_) | Self::BuiltIn(_) => Ok(None),
            Self::Stored(files) => stored_answers(files, instance).map_err(Fault::Unsupported),
            Self::Kernel(program) => {
                let ran = program.run(instance, contents, 0)?;
                let pairs = instance.arguments.iter().zip(&ran.arrays);
                let outputs = pairs
                    .filter(|(argument, _)| argument.is_output())
                    .map(|(argument, bytes)| {
                        let bytes = bytes.as_deref().unwrap_or_default();
                        let count = argument.elements();
                        let values =
                            (0..count).map(|index| float_at(argument.scalar, bytes, index));
                        let values: Vec<f64> = values.collect();
                        let whole = (!is_float(argument.scalar))
                            .then(|| values.iter().map(|value| *value as i64).collect());
                        // How many terms decide an element is not known of a kernel: all inputs might.
                        let inputs: usize =
                            instance.arguments.iter().map(|one| one.elements()).sum();
                        Truth {
                            values,
                            whole,
                            plain: None,
                            spread: None,
                            in_turn: None,
                            fan_in: (inputs as f64 / count.max(1) as f64).max(64.0),
                        }
                    })
                    .collect();
                Ok(Some(Answer {
                    outputs,
                    wide: false,
                    note: None,
                }))
            }
        }
    }
}
