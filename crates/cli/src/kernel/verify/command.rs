//! `warpsmith verify`: CPU/GPU parity on fresh random inputs with poisoned outputs.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_case::{Plan, Scope};
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::{Device, DeviceChoice, VulkanDevice};
use warpsmith_measure::gpu::self_check::{InstrumentCheck, check_instruments};
use warpsmith_measure::{Parity, check_parity};
use warpsmith_workload::random::Random;
use warpsmith_workload::{ParameterKind, Parameters, Workload, WorkloadError, affordable_settings};

use super::one_off::OneOff;
use super::{case, cuda, jobs, native, vulkan};
use crate::kernel::size_argument;
use crate::kernel::warp_library::WarpLibrary;
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Check a kernel against its reference, or the GPU against the CPU.
///
/// A case (`.toml`, see `warpsmith new`) is checked at its sizes and at awkward ones around them (1, primes,
/// blocks ± 1), on fresh random inputs, with poisoned outputs, guard zones around every array and inputs
/// compared afterwards. Where the case states no tolerance, it follows from rounding. A kernel that
/// faults or never ends costs its own process. Warp-style `.py` kernels run on the interpreter where there is
/// no GPU.
///
/// With `--device cpu` Python kernels run as native code on the CPU, bit for bit against the interpreter.
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

const SMALL: u64 = 65_537;

#[derive(Serialize)]
struct Body {
    /// The GPU with its driver, empty where there is none.
    verified_on: String,
    seed: u64,
    rows: Vec<Row>,
    /// What measurements rest on, checked along with all workloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instruments: Vec<InstrumentCheck>,
    /// Kernels that took part, where every workload agreed.
    verified_kernels: Vec<KernelRow>,
}

#[derive(Serialize)]
struct Row {
    workload: String,
    parameters: Parameters,
    tolerance_because: String,
    /// Absent where it was skipped.
    parity: Option<Parity>,
    /// Why it could not be checked.
    problem: Option<String>,
    /// Why there is nothing to check: the workload has no form for the GPU with these parameters.
    host_only: Option<String>,
}

#[derive(Serialize)]
struct KernelRow {
    module: String,
    entry: String,
    ptx_sha256: String,
    loaded_from: String,
    load_seconds: f64,
}

/// Operations and bytes of one run that the CPU's reference may take: some tenths of a second.
const REFERENCE_BUDGET: f64 = 2e8;

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
            _ if self.one_off.any_given() => {
                bail!("`--arg`, `--size`, `--grid` and the like go with one `.cu` or `.ptx` file")
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
            let seed = self.seed.unwrap_or_else(clock_seed);
            if let DeviceChoice::Vulkan(index) = global.device {
                let device = VulkanDevice::open(index)?;
                return vulkan::run(global, file, &device, seed, self.library.text()?);
            }
            if global.device == DeviceChoice::Cpu {
                return native::run(global, file, seed, self.library.text()?);
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
            return cuda::run(global, file, gpu, seed, self.library.text()?);
        }
        let workloads = catalogue::choose(&self.workloads)?;
        if !self.settings.is_empty() && workloads.len() != 1 {
            bail!("`--set` applies to one workload; got {}", workloads.len());
        }
        let seed = self.seed.unwrap_or_else(clock_seed);
        let gpu = match Device::open(gpu_choice(global.device)) {
            Ok(gpu) => Some(gpu),
            Err(error) if error.is_missing_hardware() && !gpu_is_required() => {
                output::note(global, &format!("no GPU: {error}"));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let reference = Device::open(DeviceChoice::Cpu)?;
        let mut rows = Vec::new();
        for workload in &workloads {
            for parameters in self.cases(workload.as_ref())? {
                output::progress(global, &format!("{} {parameters}", workload.id()));
                rows.push(self.check(
                    workload.as_ref(),
                    parameters,
                    gpu.as_ref(),
                    &reference,
                    seed,
                ));
            }
        }
        output::progress(global, "");
        let agrees =
            |row: &Row| row.host_only.is_some() || row.parity.as_ref().is_some_and(Parity::holds);
        let instruments = match gpu.as_ref().and_then(Device::cuda) {
            Some(gpu) if self.workloads.is_empty() => check_instruments(gpu)?,
            _ => Vec::new(),
        };
        let all_agree =
            rows.iter().all(agrees) && instruments.iter().all(|instrument| instrument.right);
        let body = Body {
            verified_on: gpu.as_ref().map_or(String::new(), describe_gpu),
            seed,
            verified_kernels: if all_agree {
                kernels(gpu.as_ref())
            } else {
                Vec::new()
            },
            rows,
            instruments,
        };
        let mut report = output::report("verify", body);
        let disagreements = report.body.rows.iter().filter(|row| !agrees(row));
        let wrong = report.body.instruments.iter().filter(|one| !one.right);
        report.findings = disagreements
            .filter_map(finding)
            .chain(wrong.map(|one| {
                let message = format!("`{}` does not match its reference", one.kernels);
                Finding::new("M050", Severity::Error, message).because("seen", one.seen.clone())
            }))
            .collect();
        output::print(global, &report, describe)?;
        Ok(match gpu {
            None => Outcome::CannotHere,
            Some(_) if all_agree => Outcome::Fine,
            Some(_) => Outcome::NotFine,
        })
    }

    /// What to check: the parameters given, or else the defaults, made small enough for the CPU, and
    /// every choice of words.
    fn cases(&self, workload: &dyn Workload) -> Result<Vec<Parameters>> {
        let specs = workload.parameters();
        if !self.settings.is_empty() {
            return Ok(vec![Parameters::resolve(specs, &self.settings)?]);
        }
        let mut base = Vec::new();
        for spec in specs {
            if let ParameterKind::Integer { default, min, .. } = spec.kind
                && self.small
                && default > SMALL
            {
                base.push((spec.name.to_owned(), SMALL.max(min).to_string()));
            }
        }
        let base = affordable_settings(workload, &base, REFERENCE_BUDGET)?;
        let mut cases = vec![Parameters::resolve(specs, &base)?];
        for spec in specs {
            if let ParameterKind::Choice(words) = spec.kind {
                for word in &words[1..] {
                    let mut settings = base.clone();
                    settings.push((spec.name.to_owned(), (*word).to_owned()));
                    cases.push(Parameters::resolve(specs, &settings)?);
                }
            }
        }
        Ok(cases)
    }

    fn check(
        &self,
        workload: &dyn Workload,
        parameters: Parameters,
        gpu: Option<&Device>,
        reference: &Device,
        seed: u64,
    ) -> Row {
        let mut random = Random::seeded(seed);
        let seeds: Vec<u64> = (0..self.inputs().max(1)).map(|_| random.bits()).collect();
        let checked = gpu
            .map(|gpu| check_parity(workload, gpu, reference, &parameters, &seeds))
            .transpose();
        let (parity, problem, host_only) = match checked {
            Ok(parity) => (parity, None, None),
            Err(WorkloadError::Unsupported { reason, .. }) => (None, None, Some(reason)),
            Err(error) => (None, Some(error.to_string()), None),
        };
        let tolerance_because = workload.tolerance(&parameters).because.to_owned();
        Row {
            workload: workload.id().to_owned(),
            parameters,
            tolerance_because,
            parity,
            problem,
            host_only,
        }
    }
}

/// `verify` is about the GPU: `auto` means the first one, and never the CPU.
fn gpu_choice(choice: DeviceChoice) -> DeviceChoice {
    match choice {
        DeviceChoice::Cuda(_) | DeviceChoice::Vulkan(_) => choice,
        DeviceChoice::Auto | DeviceChoice::Cpu => DeviceChoice::Cuda(0),
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

fn describe_gpu(device: &Device) -> String {
    match device {
        Device::Cpu(_) => String::new(),
        Device::Cuda(gpu) => {
            let facts = gpu.facts();
            let driver = facts.driver_version.as_deref().unwrap_or("unknown");
            format!("{} (sm_{}), driver {driver}", facts.name, facts.sm())
        }
        Device::Vulkan(device) => {
            let facts = device.facts();
            let (name, api, driver) = (&facts.name, &facts.api, &facts.driver);
            format!("{name} (Vulkan {api}), driver {driver}")
        }
    }
}

fn kernels(device: Option<&Device>) -> Vec<KernelRow> {
    let loaded = device
        .and_then(Device::cuda)
        .map(|gpu| gpu.loaded_kernels())
        .unwrap_or_default();
    let row = |kernel: &warpsmith_device::Kernel| KernelRow {
        module: kernel.module().to_owned(),
        entry: kernel.entry().to_owned(),
        ptx_sha256: kernel.ptx_sha256(),
        loaded_from: kernel.loaded_from().to_string(),
        load_seconds: kernel.load_time().0,
    };
    loaded.iter().map(|kernel| row(kernel)).collect()
}

fn finding(row: &Row) -> Option<Finding> {
    let seen = match (&row.parity, &row.problem) {
        (_, Some(problem)) => problem.clone(),
        (Some(Parity::Disagrees { agreement, seed }), _) => {
            format!("{agreement} (input seed {seed})")
        }
        (Some(Parity::Incomparable { reason }), _) => reason.clone(),
        (Some(Parity::Agrees { .. }) | None, None) => return None,
    };
    let message = format!("`{}` on the GPU is not what the CPU says", row.workload);
    Some(
        Finding::new("M050", Severity::Error, message)
            .because(format!("{} {}", row.workload, row.parameters), seen)
            .hint("run it again under `compute-sanitizer`; a difference that moves is a race"),
    )
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["workload", "parameters", "parity", "detail"]);
    let (mut agree, mut disagree, mut skipped) = (0, 0, 0);
    for row in &body.rows {
        let (word, detail) = match (&row.parity, &row.problem) {
            (_, Some(problem)) => ("FAILED", problem.clone()),
            (None, None) => {
                let reason = row.host_only.as_deref().unwrap_or("no GPU");
                ("skipped", reason.to_owned())
            }
            (Some(Parity::Agrees { worst, seeds }), _) => {
                ("agrees", format!("{worst}, {seeds} inputs"))
            }
            (Some(Parity::Disagrees { agreement, .. }), _) => ("DISAGREES", agreement.to_string()),
            (Some(Parity::Incomparable { reason }), _) => ("FAILED", reason.clone()),
        };
        match word {
            "agrees" => agree += 1,
            "skipped" => skipped += 1,
            _ => disagree += 1,
        }
        table.row([
            row.workload.clone(),
            row.parameters.to_string(),
            word.into(),
            detail,
        ]);
    }
    let mut text =
        format!("{table}\nverify: {agree} passed, {disagree} failed, {skipped} skipped\n");
    if !body.verified_on.is_empty() {
        text.push_str(&format!("on {}, seed {}\n", body.verified_on, body.seed));
    }
    for instrument in &body.instruments {
        text.push_str(&format!("{}: {}\n", instrument.kernels, instrument.seen));
    }
    for kernel in &body.verified_kernels {
        text.push_str(&format!(
            "kernel {}:{} loaded from {} in {}\n",
            kernel.module,
            kernel.entry,
            kernel.loaded_from,
            Seconds(kernel.load_seconds)
        ));
    }
    text
}
