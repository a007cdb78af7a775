//! `warpsmith exec FILE.py`: runs a kernel on arguments from the command line and from files.

use std::io::{Write, stderr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_compiler::{Compiler, Options};
use warpsmith_device::{CompileCache, CudaDevice, DeviceChoice, Nvrtc, VulkanDevice};
use warpsmith_execution::{GpuKernel, VulkanError, VulkanProgram, differs_from_interpreter};
use warpsmith_formats::npy::NpyArray;
use warpsmith_formats::{OutputFile, check_inputs_kept};
use warpsmith_interpreter::{Argument, Interpreter};

use super::argument::{self, Parameter};
use super::numpy_type::dtype;
use super::placement;
use crate::kernel::python_file::{ProjectRoot, PythonFile};
use crate::kernel::warp_library::WarpLibrary;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::placement::Decision;

/// Run a kernel written in Python, forward or its adjoint.
///
/// On the CPU the kernel runs natively on all cores; indices out of range and variables without a value are
/// reported. `--check` compares the results with the reference interpreter's, bit for bit. On a GPU the run
/// is checked on the CPU first, and the GPU then computes the results.
///
/// `--device vulkan` runs on a GPU of any maker, or on the CPU where Mesa's software driver is
/// installed; kernels check their indices there. + − × ÷ √ and whole numbers give the interpreter's bits.
/// Threads print up to 1 MiB there.
///
/// `--device auto` takes the CPU: a run on a CUDA GPU is checked on the CPU first, so that none is sooner
/// done, and Vulkan is used only where it is requested. `--explain` shows the predictions. Runs are
/// remembered for the next prediction.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  \
    warpsmith exec saxpy.py --dim 1000 --arg x=random:1000:f32:7 --arg y=zeros:1000:f32 --arg a=2.5 --out y=@y.npy\n  \
    warpsmith exec saxpy.py --device cuda --dim 1000 --arg x=random:1000:f32 --arg y=zeros:1000:f32 --arg a=2\n  \
    warpsmith exec saxpy.py --device vulkan --dim 1000 --arg x=random:1000:f32 --arg y=zeros:1000:f32 --arg a=2\n  \
    warpsmith exec saxpy.py --explain --dim 1000 --arg x=random:1000:f32 --arg y=zeros:1000:f32 --arg a=2\n  \
    warpsmith exec saxpy.py --dim 64 --arg x=@x.npy --arg y=@y.npy --arg a=2 --adjoint --grad y=ones --out-grad x=@gx.npy\n\n\
    Arguments: NUMBER[,NUMBER…] for values, @FILE.npy, zeros:SHAPE:TYPE, ones:SHAPE:TYPE,\n\
    random:SHAPE:TYPE[:SEED] for arrays; SHAPE is 1000 or 100x3, TYPE is f32, i32, u8, bool, …")]
pub(crate) struct Exec {
    /// The source.
    file: PathBuf,
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    #[command(flatten)]
    library: WarpLibrary,
    #[command(flatten)]
    root: ProjectRoot,
    /// The launch grid: threads along one to four dimensions.
    #[arg(long, value_name = "N[,M…]", value_delimiter = ',', required = true)]
    dim: Vec<usize>,
    /// An argument.
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument::parse_assignment)]
    arguments: Vec<(String, String)>,
    /// A file for an array after the run.
    #[arg(long = "out", value_name = "NAME=@FILE.npy", value_parser = argument::parse_assignment)]
    outputs: Vec<(String, String)>,
    /// Run the adjoint: gradients flow from outputs to inputs, values stay.
    #[arg(long)]
    adjoint: bool,
    /// The gradient that an array begins with: `ones`, `zeros` (the default) or a file.
    #[arg(long = "grad", value_name = "NAME=ones|@FILE.npy", value_parser = argument::parse_assignment, requires = "adjoint")]
    gradients: Vec<(String, String)>,
    /// A file for an array's gradient after the run.
    #[arg(long = "out-grad", value_name = "NAME=@FILE.npy", value_parser = argument::parse_assignment, requires = "adjoint")]
    gradient_outputs: Vec<(String, String)>,
    /// Also run the interpreter, and compare all results bit for bit.
    ///
    /// On Vulkan functions such as `sin`, and sums of floats that threads add to in any order, may differ by
    /// rounding. On CUDA it is the CPU's run before that is compared.
    #[arg(long)]
    check: bool,
    /// Stop the kernel when it has run this long, with a finding (K107); on CUDA, the check on the CPU before it.
    #[arg(long, value_name = "TIME", value_parser = numbers::seconds)]
    limit: Option<f64>,
    /// Print what each device was predicted to take, in parts, and where the numbers come from.
    #[arg(long)]
    explain: bool,
}

/// Seconds below which a run is not worth a file.
const WORTH_REMEMBERING: f64 = 1e-3;

/// A launch on Vulkan that takes longer does not end.
const LONGEST_RUN: Duration = Duration::from_secs(600);

/// Where a kernel ran, why there, and what was seen.
struct Ran {
    device: String,
    decision: Decision,
    outcome: warpsmith_interpreter::Outcome,
    /// What the kernel printed beyond what the device's buffer takes.
    lost_lines: u32,
    /// Whether the results were compared with the interpreter's.
    checked: bool,
}

/// What the run did.
#[derive(Serialize)]
struct Body {
    kernel: String,
    device: String,
    direction: &'static str,
    dim: Vec<usize>,
    /// Whether threads ran on several cores.
    parallel: bool,
    /// Whether native code ran on the CPU, rather than the interpreter.
    native: bool,
    /// Whether the interpreter ran, too, and gave the same results.
    checked: bool,
    printed: Vec<String>,
    /// How many more lines there were than the device's buffer takes.
    #[serde(skip_serializing_if = "is_zero")]
    lost_lines: u32,
    /// Why this device.
    decision: Decision,
    arrays: Vec<ArrayView>,
}

/// An array after the run: its first numbers.
#[derive(Serialize)]
struct ArrayView {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    shape: Vec<usize>,
    first: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_gradients: Option<Vec<String>>,
}

impl Exec {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.check_outputs(global)?;
        inputs::check_file(&self.file)?;
        if self.file.extension().is_some_and(|ending| ending == "cu") {
            bail!(
                "`{0}` is CUDA C++, and `exec` runs kernels written in Python; `warpsmith new {0}` \
                 writes a case for `verify` and `bench`",
                self.file.display()
            );
        }
        let source = PythonFile::read(&self.file, &self.root)?;
        let options = Options {
            kernel: self.kernel.clone(),
            file: self.file.display().to_string(),
            library: Some(self.library.for_running()?),
            bind: self.root.bindings(),
            ..Options::default()
        };
        let module = match source.compile(&mut Compiler::new(), &options) {
            Ok(module) => module,
            Err(findings) => return source.refuse(global, "exec", findings),
        };
        let planned = if self.adjoint {
            Interpreter::adjoint(&module)
        } else {
            Interpreter::forward(&module)
        };
        let interpreter = match planned {
            Ok(interpreter) => interpreter,
            Err(findings) => return source.refuse(global, "exec", findings),
        };
        let limit = self.limit.map(Duration::from_secs_f64);
        let interpreter = match limit {
            Some(limit) => interpreter.with_time_limit(limit),
            None => interpreter,
        };
        let parameters: Vec<Parameter> = interpreter
            .parameters()
            .map(|(name, ty)| Parameter::new(&module, name, ty))
            .collect::<Result<_>>()?;
        let mut arguments = argument::bind(&parameters, &self.arguments)?;
        if self.adjoint {
            argument::bind_gradients(&parameters, &mut arguments, &self.gradients)?;
        }
        // The emitted text checks no index. The interpreter runs first, on a copy: what it finds would be
        // an access outside an array on the GPU, and nothing is launched then.
        let direction = if self.adjoint { "backward" } else { "forward" };
        if let DeviceChoice::Vulkan(index) = global.device {
            let device = VulkanDevice::open(index)?;
            let program = match VulkanProgram::build(&device, &module, interpreter) {
                Err(VulkanError::Refused(findings)) => {
                    return source.refuse(global, "exec", findings);
                }
                built => built?,
            };
            // Kernels on Vulkan check every index themselves: the interpreter is not needed first.
            let given = self.check.then(|| arguments.clone());
            let did = program.run(&self.dim, &mut arguments, limit.unwrap_or(LONGEST_RUN))?;
            let mut checked = false;
            if let Some(given) = given.filter(|_| did.findings.is_empty()) {
                let (facts, dim) = (device.facts(), &self.dim);
                let differs =
                    differs_from_interpreter(facts, &module, self.adjoint, dim, given, &arguments);
                match differs {
                    Err(VulkanError::Refused(findings)) => {
                        return source.refuse(global, "exec", findings);
                    }
                    Ok(Some(difference)) => {
                        bail!("{} and the interpreter differ in {difference}", facts.name)
                    }
                    Ok(None) => checked = true,
                    Err(error) => return Err(error.into()),
                }
            }
            let ran = Ran {
                device: format!("{}: {}", global.device, device.facts().name),
                decision: Decision::requested(global.device),
                lost_lines: did.printed.lost,
                outcome: warpsmith_interpreter::Outcome {
                    findings: did.findings,
                    printed: did.printed.lines,
                    parallel: true,
                    ..warpsmith_interpreter::Outcome::default()
                },
                checked,
            };
            return self.report(global, &source, &module, &parameters, &arguments, ran);
        }
        let problem = placement::problem(&self.dim, &arguments);
        let placement = placement::of(&self.file, source.text(), direction);
        let (chosen, decision) = placement.decide(global, &problem, false)?;
        let gpu = chosen.cuda();
        let mut checked = gpu.map(|_| arguments.clone());
        let begun = Instant::now();
        let given = checked.as_mut().unwrap_or(&mut arguments);
        let (outcome, difference) = if self.check {
            interpreter.run_both(&self.dim, given)?
        } else {
            (interpreter.run_native(&self.dim, given)?, None)
        };
        if let Some(difference) = difference {
            bail!("native code and the interpreter differ in {difference}");
        }
        let seconds = begun.elapsed().as_secs_f64();
        if outcome.findings.is_empty() && seconds > WORTH_REMEMBERING && !self.check {
            placement.remember(global, &problem, seconds);
        }
        let mut device = "cpu".to_owned();
        if let Some(gpu) = gpu
            && outcome.findings.is_empty()
        {
            self.run_on(gpu, &module, &mut arguments)?;
            device = format!("cuda: {}", gpu.facts().name);
        }
        let ran = Ran {
            device,
            decision,
            checked: self.check && outcome.native,
            outcome,
            lost_lines: 0,
        };
        self.report(global, &source, &module, &parameters, &arguments, ran)
    }

    /// Writes the results to the requested files and says what the run did.
    fn report(
        &self,
        global: &Global,
        source: &PythonFile,
        module: &Module,
        parameters: &[Parameter],
        arguments: &[Argument],
        ran: Ran,
    ) -> Result<Outcome> {
        let Ran {
            device,
            decision,
            outcome,
            lost_lines,
            checked,
        } = ran;
        for (outputs, gradient) in [(&self.outputs, false), (&self.gradient_outputs, true)] {
            for (name, file) in outputs {
                save(parameters, arguments, name, file, gradient)?;
            }
        }
        let body = Body {
            kernel: module.names.get(module.kernel.native).to_owned(),
            device,
            direction: if self.adjoint { "backward" } else { "forward" },
            dim: self.dim.clone(),
            parallel: outcome.parallel,
            native: outcome.native,
            checked,
            printed: outcome.printed,
            lost_lines,
            decision,
            arrays: parameters
                .iter()
                .zip(arguments)
                .filter_map(|(p, a)| view(p, a))
                .collect(),
        };
        let fine = outcome.findings.is_empty();
        let mut report = output::report("exec", body);
        report.findings = outcome.findings;
        if global.format == Format::Json {
            output::print(global, &report, |_| String::new())?;
        } else {
            for finding in std::mem::take(&mut report.findings) {
                write!(stderr(), "{}", source.render(&finding))?;
            }
            if self.explain {
                output::note(global, report.body.decision.explain().trim_end());
            }
            if lost_lines > 0 {
                let lost = format!(
                    "{lost_lines} more lines were printed than the device's buffer of 1 MiB takes"
                );
                output::note(global, &lost);
            }
            output::print(global, &report, human)?;
        }
        Ok(Outcome::fine_if(fine))
    }

    fn check_outputs(&self, global: &Global) -> Result<Global> {
        let named = |option: &str, outputs: &[(String, String)]| -> Vec<(String, PathBuf)> {
            let paths = outputs.iter().filter_map(|(name, file)| {
                let path = file.strip_prefix('@')?;
                Some((format!("{option} {name}"), path.into()))
            });
            paths.collect()
        };
        let mut outputs = named("--out", &self.outputs);
        outputs.extend(named("--out-grad", &self.gradient_outputs));
        let written: Vec<_> = (outputs.iter())
            .map(|(name, path)| (name.as_str(), path.as_path()))
            .collect();
        // Arrays may be written where they were read: a step of a simulation.
        check_inputs_kept(&[&self.file], &written)?;
        let outputs: Vec<_> = written
            .iter()
            .map(|(name, path)| (*name, Some(*path)))
            .collect();
        output::check_outputs(global, &outputs)
    }

    /// Runs on the GPU, whose results replace the arguments.
    fn run_on(&self, gpu: &CudaDevice, module: &Module, arguments: &mut [Argument]) -> Result<()> {
        let nvrtc = Nvrtc::find()?;
        let cache = CompileCache::for_user();
        let kernel = GpuKernel::build(gpu, &nvrtc, &cache, module)?;
        let direction = if self.adjoint {
            Direction::Backward
        } else {
            Direction::Forward
        };
        // SAFETY: the interpreter has run with these very arguments over this grid and reported no
        // access outside an array.
        unsafe { kernel.run(gpu, module, direction, &self.dim, arguments)? };
        Ok(())
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn human(body: &Body) -> String {
    let mut text: String = body
        .printed
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    for array in &body.arrays {
        text.push_str(&format!(
            "{} {} {:?}: {}\n",
            array.name,
            array.ty,
            array.shape,
            array.first.join(" ")
        ));
        if let Some(gradients) = &array.first_gradients {
            text.push_str(&format!(
                "{} gradient: {}\n",
                array.name,
                gradients.join(" ")
            ));
        }
    }
    text
}

fn view(parameter: &Parameter, argument: &Argument) -> Option<ArrayView> {
    let (Argument::Array(array), Some(kind)) = (argument, &parameter.array) else {
        return None;
    };
    Some(ArrayView {
        name: parameter.name.clone(),
        ty: parameter.described.clone(),
        shape: array.shape.clone(),
        first: argument::first_numbers(kind.scalar, &array.data),
        first_gradients: array
            .gradient
            .as_ref()
            .map(|data| argument::first_numbers(kind.scalar, data)),
    })
}

fn save(
    parameters: &[Parameter],
    arguments: &[Argument],
    name: &str,
    file: &str,
    gradient: bool,
) -> Result<()> {
    let Some(path) = file.strip_prefix('@') else {
        bail!("cannot write `{name}` to `{file}`: give a file as `{name}=@FILE.npy`");
    };
    let at = parameters
        .iter()
        .position(|parameter| parameter.name == name);
    let Some((Argument::Array(array), Some(kind))) =
        at.map(|at| (&arguments[at], &parameters[at].array))
    else {
        bail!("cannot write `{name}`: the kernel has no array of that name");
    };
    let data = if gradient {
        array.gradient.clone().unwrap_or_default()
    } else {
        array.data.clone()
    };
    let Some((descr, _)) = dtype(kind.scalar) else {
        bail!(
            "cannot write `{name}`: NumPy has no type `{}`",
            kind.scalar.name()
        );
    };
    let shape = array
        .shape
        .iter()
        .chain(&kind.components)
        .copied()
        .collect();
    let array = NpyArray {
        descr: descr.to_owned(),
        shape,
        data,
    };
    let mut file = OutputFile::create(path.as_ref())?;
    array
        .write_to(&mut file)
        .with_context(|| format!("cannot write `{path}`"))?;
    Ok(file.finish()?)
}
