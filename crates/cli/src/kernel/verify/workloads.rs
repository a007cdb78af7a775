//! The part of `warpsmith verify` that is about workloads: a GPU against the CPU, or the CPU against
//! definitions in double precision, on fresh random inputs with poisoned outputs.

use anyhow::Result;
use serde::Serialize;
use warpsmith_core::{Finding, Seconds, Severity};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::gpu::self_check::{InstrumentCheck, check_instruments};
use warpsmith_measure::{Parity, check_definition, check_parity};
use warpsmith_workload::random::Random;
use warpsmith_workload::{ParameterKind, Parameters, Workload, WorkloadError, affordable_settings};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// What is compared.
pub(super) enum Against {
    /// A GPU with the CPU, where there is one.
    Gpu(Option<Device>),
    /// The CPU with definitions.
    Definition,
}

impl Against {
    fn gpu(&self) -> Option<&Device> {
        match self {
            Self::Gpu(gpu) => gpu.as_ref(),
            Self::Definition => None,
        }
    }

    /// Why nothing can be checked.
    fn lacks(&self) -> &'static str {
        match self {
            Self::Gpu(_) => "no GPU",
            Self::Definition => "no definition apart from its CPU form",
        }
    }
}

/// How it is checked.
pub(super) struct Request<'a> {
    /// All workloads: with what measurements rest on.
    pub(super) all: bool,
    pub(super) settings: &'a [(String, String)],
    pub(super) small: bool,
    pub(super) inputs: usize,
    pub(super) seed: u64,
}

const SMALL: u64 = 65_537;

/// Operations and bytes of one run that the reference may take: some tenths of a second.
const REFERENCE_BUDGET: f64 = 2e8;

#[derive(Serialize)]
struct Body {
    /// What results are compared with: `cpu`, or `definition` where the CPU itself is checked.
    reference: &'static str,
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
    /// Why it was skipped.
    #[serde(skip)]
    lacks: &'static str,
}

impl Row {
    /// Nothing is wrong, and a GPU was not missing.
    fn is_fine(&self) -> bool {
        self.host_only.is_some() || self.parity.as_ref().is_some_and(Parity::holds)
    }

    fn was_skipped(&self) -> bool {
        self.parity.is_none() && self.problem.is_none()
    }
}

#[derive(Serialize)]
struct KernelRow {
    module: String,
    entry: String,
    ptx_sha256: String,
    loaded_from: String,
    load_seconds: f64,
}

impl Request<'_> {
    pub(super) fn run(
        &self,
        global: &Global,
        workloads: &[Box<dyn Workload>],
        against: &Against,
    ) -> Result<Outcome> {
        let cpu = Device::open(DeviceChoice::Cpu)?;
        let mut rows = Vec::new();
        for workload in workloads {
            for parameters in self.cases(workload.as_ref())? {
                output::progress(global, &format!("{} {parameters}", workload.id()));
                rows.push(self.check(workload.as_ref(), parameters, against, &cpu));
            }
        }
        output::progress(global, "");
        let gpu = against.gpu();
        let instruments = match gpu.and_then(Device::cuda) {
            Some(gpu) if self.all => check_instruments(gpu)?,
            _ => Vec::new(),
        };
        let all_agree =
            rows.iter().all(Row::is_fine) && instruments.iter().all(|instrument| instrument.right);
        let outcome = match against {
            Against::Gpu(None) => Outcome::CannotHere,
            Against::Gpu(Some(_)) => Outcome::fine_if(all_agree),
            Against::Definition if rows.iter().all(Row::was_skipped) => Outcome::CannotHere,
            Against::Definition => {
                Outcome::fine_if(rows.iter().all(|row| row.was_skipped() || row.is_fine()))
            }
        };
        let body = Body {
            reference: match against {
                Against::Gpu(_) => "cpu",
                Against::Definition => "definition",
            },
            verified_on: gpu.map_or(String::new(), describe_gpu),
            seed: self.seed,
            verified_kernels: if all_agree { kernels(gpu) } else { Vec::new() },
            rows,
            instruments,
        };
        let mut report = output::report("verify", body);
        let disagreements = report.body.rows.iter().filter(|row| !row.is_fine());
        let wrong = report.body.instruments.iter().filter(|one| !one.right);
        report.findings = disagreements
            .filter_map(|row| finding(row, against))
            .chain(wrong.map(|one| {
                let message = format!("`{}` does not match its reference", one.kernels);
                Finding::new("M050", Severity::Error, message).because("seen", one.seen.clone())
            }))
            .collect();
        output::print(global, &report, describe)?;
        Ok(outcome)
    }

    /// What to check: the parameters given, or else the defaults, made small enough for the CPU, every choice of
    /// words, and what else leads the workload another way.
    fn cases(&self, workload: &dyn Workload) -> Result<Vec<Parameters>> {
        let specs = workload.parameters();
        if !self.settings.is_empty() {
            return Ok(vec![Parameters::resolve(specs, self.settings)?]);
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
        for way in workload.other_ways() {
            let settings: Vec<_> = (way.iter())
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            cases.push(Parameters::resolve(specs, &settings)?);
        }
        Ok(cases)
    }

    fn check(
        &self,
        workload: &dyn Workload,
        parameters: Parameters,
        against: &Against,
        cpu: &Device,
    ) -> Row {
        let mut random = Random::seeded(self.seed);
        let seeds: Vec<u64> = (0..self.inputs.max(1)).map(|_| random.bits()).collect();
        let definition = workload.definition(&parameters);
        let checked = match (against, &definition) {
            (Against::Gpu(Some(gpu)), _) => {
                Some(check_parity(workload, gpu, cpu, &parameters, &seeds))
            }
            (Against::Definition, Some(definition)) => Some(check_definition(
                workload,
                definition,
                cpu,
                &parameters,
                &seeds,
            )),
            _ => None,
        };
        let (parity, problem, host_only) = match checked.transpose() {
            Ok(parity) => (parity, None, None),
            Err(WorkloadError::Unsupported { reason, .. }) => (None, None, Some(reason)),
            Err(error) => (None, Some(error.to_string()), None),
        };
        let tolerance = match (against, definition) {
            (Against::Definition, Some(definition)) => definition.tolerance,
            _ => workload.tolerance(&parameters),
        };
        Row {
            workload: workload.id().to_owned(),
            tolerance_because: tolerance.because.to_owned(),
            parameters,
            parity,
            problem,
            host_only,
            lacks: against.lacks(),
        }
    }
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

fn finding(row: &Row, against: &Against) -> Option<Finding> {
    let seen = match (&row.parity, &row.problem) {
        (_, Some(problem)) => problem.clone(),
        (Some(Parity::Disagrees { agreement, seed }), _) => {
            format!("{agreement} (input seed {seed})")
        }
        (Some(Parity::Incomparable { reason }), _) => reason.clone(),
        (Some(Parity::Agrees { .. }) | None, None) => return None,
    };
    let (message, hint) = match against {
        Against::Gpu(_) => (
            format!("`{}` on the GPU is not what the CPU says", row.workload),
            "run it again under `compute-sanitizer`; a difference that moves is a race",
        ),
        Against::Definition => (
            format!(
                "`{}` on the CPU does not follow its definition",
                row.workload
            ),
            "what the GPU is compared with is wrong, or the tolerance's argument is",
        ),
    };
    Some(
        Finding::new("M050", Severity::Error, message)
            .because(format!("{} {}", row.workload, row.parameters), seen)
            .hint(hint),
    )
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["workload", "parameters", "parity", "detail"]);
    let (mut agree, mut disagree, mut skipped) = (0, 0, 0);
    for row in &body.rows {
        let (word, detail) = match (&row.parity, &row.problem) {
            (_, Some(problem)) => ("FAILED", problem.clone()),
            (None, None) => {
                let reason = row.host_only.as_deref().unwrap_or(row.lacks);
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
    if body.reference == "definition" && agree + disagree > 0 {
        let seed = body.seed;
        text.push_str(&format!(
            "on the CPU, against definitions in double precision, seed {seed}\n"
        ));
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
