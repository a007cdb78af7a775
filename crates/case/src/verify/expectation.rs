//! The reference of a case, ready to answer.

use warpsmith_device::Device;

use crate::description::{Case, Reference, ReferenceKind, TunableValue};
use crate::element::{float_at, is_float};
use crate::instance::{Contents, Instance};
use crate::program::{Fault, KernelOf, Program, Settings};
use crate::reference::{Answer, PythonFunction, Truth, stored_answers};

/// Where the right answers come from.
#[allow(clippy::large_enum_variant)] // There is one of these for a whole run.
pub(super) enum Expectation {
    Function(PythonFunction),
    Stored(Vec<(String, std::path::PathBuf)>),
    Kernel(Program),
    /// The case has none: only what needs no reference is checked.
    Nothing,
}

impl Expectation {
    pub(super) fn prepare(
        case: &Case,
        choice: &[(String, TunableValue)],
        device: &Device,
        settings: Settings,
    ) -> Result<Self, Fault> {
        let Some(Reference {
            kind,
            seconds,
            memory,
            ..
        }) = &case.reference
        else {
            return Ok(Self::Nothing);
        };
        Ok(match kind {
            ReferenceKind::Function(callable) => {
                Self::Function(PythonFunction::start(callable, *seconds, *memory, None)?)
            }
            ReferenceKind::Npy(files) => Self::Stored(files.clone()),
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

    /// The right answer; `None` where there is none for this size.
    pub(super) fn answer(
        &mut self,
        instance: &Instance,
        contents: &Contents,
        special: bool,
        probe: bool,
    ) -> Result<Option<Answer>, Fault> {
        match self {
            Self::Nothing => Ok(None),
            // Special values overflow and underflow where the type does, not where float64 does.
            Self::Function(function) => Ok(Some(function.answer(
                instance,
                contents,
                !special,
                probe && !special,
            )?)),
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
