//! The command: what its arguments name, and who checks that.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_case::{Plan, Scope};
use warpsmith_device::{Device, DeviceChoice, VulkanDevice};

use super::one_off::OneOff;
use super::workloads::{self, Against};
use super::{case, cuda, jobs, native, vulkan};
use crate::kernel::python_file::{ProjectRoot, PythonFile};
use crate::kernel::size_argument;
use crate::kernel::warp_library::WarpLibrary;
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Check a kernel against its reference, or the GPU against the CPU.
///
/// A case (`.toml`, see `warpsmith new`) is checked at its sizes and at awkward ones around them (1, primes,
/// blocks ± 1), on fresh random inputs, with poisoned outputs, guard zones around every array and inputs
/// compared afterwards. Where the case states no tolerance, it follows from rounding. A kernel that
/// faults or never ends costs its own process. Warp-style `.py` kernels run on the interpreter where there is
/// no GPU.
///
/// With `--device cpu` Python kernels run as native code on the CPU, bit for bit against the interpreter, and
/// workloads run on the CPU against their definitions: the formula in double precision, which shares no code
/// with them. A workload without a definition is skipped; the exit code is 3 where none has one.
///
/// Otherwise everything is skipped without a GPU and the exit code is 3, unless WARPSMITH_REQUIRE_GPU=1 is
/// set: then it is an error.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith verify softmax.toml\n  \
                        warpsmith verify softmax.toml --inputs 10 --special\n  \
                        warpsmith verify add.cu --size n=1000,65537 --arg x:in:f32:n --arg y:inout:f32:n \
                        --arg n:i32=n --grid 'ceil_div(n,256)' --block 256 --reference add.py:add\n  \
                        warpsmith verify saxpy.py --device cpu\n  \
                        warpsmith verify machine/saxpy\n  \
                        warpsmith verify machine/saxpy --set n=1000003\n  \
                        warpsmith verify training --device cpu\n  \
                        warpsmith verify --all --format json > verified.json")]
pub(crate) struct Verify {
    /// A case, a `.cu` or `.ptx` file, Python kernels, or workloads.
    ///
    /// A case (`.toml`), or a `.cu` or `.ptx` file that options describe; workloads, by id or by area; or a file of Python kernels (`.py`, or `.jsonl[.gz]` with `id` and
    /// `source`, or pairs of `corpus generate --as jsonl`), which are checked against the interpreter.
    #[arg(required_unless_present = "all")]
    workloads: Vec<String>,
    /// Verify every workload.
    #[arg(long, conflicts_with = "workloads")]
    all: bool,
    /// Set a parameter of the one workload named, or a tunable of the case, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Cap every size at 65,537, which leaves a tail in every block: for slow tools like
    /// compute-sanitizer.
    #[arg(long, conflicts_with = "settings")]
    small: bool,
    /// How many random inputs to try; default: 3, and 1 for the large sizes of a case.
    #[arg(long, value_name = "N")]
    inputs: Option<usize>,
    /// Seed of the inputs; default: drawn from the clock, and always printed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// With a case: one more round with infinities, NaN, denormals and zeros among the inputs.
    #[arg(long)]
    special: bool,
    /// With a case: give up a launch on a GPU that takes longer than this.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = numbers::seconds)]
    limit: f64,
    /// With a case on a GPU: also look for races of shared memory, with compute-sanitizer's racecheck.
    #[arg(long)]
    races: bool,
    /// The second process of a case: the first check, and how many.
    #[arg(long, hide = true, value_parser = parse_range)]
    worker: Option<(usize, usize)>,
    /// compute-sanitizer watches.
    #[arg(long, hide = true)]
    watched: bool,
    /// Only these sizes of a case.
    #[arg(long, hide = true, value_name = "NAME=N,…", value_parser = size_argument::parse)]
    only: Vec<Scope>,
    #[command(flatten)]
    one_off: OneOff,
    #[command(flatten)]
    library: WarpLibrary,
    #[command(flatten)]
    root: ProjectRoot,
}

/// Whether a name on the command line is a file's, by its ending.
fn is_file_name(name: &str) -> bool {
    [".toml", ".cu", ".ptx"]
        .iter()
        .any(|ending| name.ends_with(ending))
        || jobs::is_kernel_file(name)
}

fn parse_range(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once(',');
    let numbers = parts.and_then(|(from, count)| Some((from.parse().ok()?, count.parse().ok()?)));
    numbers.ok_or_else(|| format!("`{text}` is no range"))
}

impl Verify {
    fn inputs(&self) -> usize {
        self.inputs.unwrap_or(3)
    }

    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        for file in self.workloads.iter().filter(|name| is_file_name(name)) {
            match file.ends_with(".toml") {
                true => inputs::check_case(file.as_ref())?,
                false => inputs::check_file(file.as_ref())?,
            }
        }
        let written = match &self.workloads[..] {
            [file] if file.ends_with(".cu") || file.ends_with(".ptx") => {
                Some(self.one_off.case(file.as_ref())?)
            }
            [file] if file.ends_with(".py") && self.one_off.only_kernel_given() => None,
            _ if self.one_off.any_given() => {
                bail!(
                    "`--arg`, `--size`, `--grid` and the like go with one `.cu` or `.ptx` file, `--kernel` also with a `.py` file"
                )
            }
            _ => None,
        };
        let case = match (&written, &self.workloads[..]) {
            (Some((_, path)), _) => Some(path.as_path()),
            (None, [file]) if file.ends_with(".toml") => Some(file.as_ref()),
            _ => None,
        };
        if let Some(file) = case {
            return case::run(
                global,
                &case::Request {
                    file,
                    plan: Plan {
                        inputs: self.inputs(),
                        seed: self.seed.unwrap_or_else(clock_seed),
                        special: self.special,
                    },
                    inputs_given: self.inputs.is_some(),
                    limit: self.limit,
                    worker: self.worker,
                    races: self.races,
                    watched: self.watched,
                    only: self.only.clone(),
                    settings: self.settings.clone(),
                },
            );
        }
        if let [file] = &self.workloads[..]
            && jobs::is_kernel_file(file)
        {
            let bind = self.root.bindings();
            let jobs = if file.ends_with(".py") {
                let source = Arc::new(PythonFile::read(file.as_ref(), &self.root)?);
                match jobs::jobs_of(&source, self.one_off.kernel(), &bind)? {
                    Ok(jobs) => jobs,
                    Err(findings) => return source.refuse(global, "verify kernels", findings),
                }
            } else {
                jobs::read_lines(file.as_ref())?
            };
            let kernels = jobs::Kernels {
                jobs,
                bind,
                seed: self.seed.unwrap_or_else(clock_seed),
                library: self.library.for_running()?,
            };
            if let DeviceChoice::Vulkan(index) = global.device {
                let device = VulkanDevice::open(index)?;
                return vulkan::run(global, &kernels, &device);
            }
            if global.device == DeviceChoice::Cpu {
                return native::run(global, &kernels);
            }
            let device = match Device::open(gpu_choice(global.device)) {
                Err(error) if error.is_missing_hardware() && !gpu_is_required() => {
                    let why = format!(
                        "no GPU to compare with the interpreter: {error}\n`--device cpu` compares native \
                         code on the CPU with it"
                    );
                    output::note(global, &why);
                    return Ok(Outcome::CannotHere);
                }
                opened => opened?,
            };
            let Some(gpu) = device.cuda() else {
                return Ok(Outcome::CannotHere);
            };
            return cuda::run(global, &kernels, gpu);
        }
        let chosen = catalogue::choose(&self.workloads)?;
        if !self.settings.is_empty() && chosen.len() != 1 {
            bail!("`--set` applies to one workload; got {}", chosen.len());
        }
        let request = workloads::Request {
            all: self.workloads.is_empty(),
            settings: &self.settings,
            small: self.small,
            inputs: self.inputs(),
            seed: self.seed.unwrap_or_else(clock_seed),
        };
        if global.device == DeviceChoice::Cpu {
            return request.run(global, &chosen, &Against::Definition);
        }
        let gpu = match Device::open(gpu_choice(global.device)) {
            Ok(gpu) => Some(gpu),
            Err(error) if error.is_missing_hardware() && !gpu_is_required() => {
                output::note(global, &format!("no GPU: {error}"));
                None
            }
            Err(error) => return Err(error.into()),
        };
        request.run(global, &chosen, &Against::Gpu(gpu))
    }
}

/// What is compared with the interpreter or the CPU is a GPU: `auto` means the first one.
fn gpu_choice(choice: DeviceChoice) -> DeviceChoice {
    match choice {
        DeviceChoice::Auto => DeviceChoice::Cuda(0),
        chosen => chosen,
    }
}

fn gpu_is_required() -> bool {
    std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some_and(|value| value == "1")
}

fn clock_seed() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
