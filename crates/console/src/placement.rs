//! Where a problem runs: the chooser with this machine's wisdom, devices and telemetry.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::Serialize;
use warpsmith_core::Seconds;
use warpsmith_device::{
    CpuDevice, CudaDevice, Device, DeviceChoice, GpuFacts, cuda_devices, vulkan_devices,
};
use warpsmith_telemetry::GpuLoad;
use warpsmith_wisdom::{
    Bus, Candidate, Chooser, Condition, Constraints, Identity, Loaded, OperationId, Origin, Parts,
    Problem, Profile, Wisdom, WisdomFile,
};
use warpsmith_workload::{Parameters, Workload};

use crate::background_calibration;
use crate::catalogue;
use crate::global::Global;
use crate::output;

/// Seconds since 1970; 0 where the clock is before.
pub fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since: Duration| since.as_secs())
}

/// A chooser for one operation on this machine.
pub struct Placement {
    operation: String,
    chooser: Chooser,
    id: OperationId,
    choices: Vec<DeviceChoice>,
    identity: Identity,
    file: WisdomFile,
    wisdom: Option<Wisdom>,
    /// Why there is a file that is not used.
    useless: Option<String>,
}

/// A decision, for people and programs.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// What was chosen.
    pub device: String,
    /// Whether the user left the choice to us.
    pub automatic: bool,
    /// Every candidate.
    pub candidates: Vec<CandidateLine>,
    /// Where wisdom lies, and whether it was used.
    pub wisdom: String,
}

/// One candidate of a decision.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateLine {
    device: String,
    /// Seconds.
    predicted: f64,
    parts: Parts,
    origin: Origin,
    condition: Condition,
    refused: Option<&'static str>,
}

/// The device for a workload whose data are there before it begins: the one that was requested, or
/// the faster one.
pub fn device_for(
    global: &Global,
    workload: &dyn Workload,
    parameters: &Parameters,
) -> Result<Device> {
    // Without a GPU there is nothing to choose between; one that does not start is an error.
    let choice = || !cuda_devices().unwrap_or_default().is_empty() || knows_vulkan(workload.id());
    if global.device != DeviceChoice::Auto || !choice() {
        return Ok(Device::open(global.device)?);
    }
    let cost = workload.cost(parameters);
    let passes = workload
        .passes()
        .map_or(1, |name| parameters.integer(name).max(1)) as f64;
    let problem = Problem {
        size: cost.units as f64 / passes,
        passes,
        // What a pass touches is the least that has to be there.
        footprint: cost.bytes.0 as f64 / passes,
        ..Problem::default()
    };
    let placement = Placement::of(workload.id())?.with_measured_vulkan();
    let (device, decision) = placement.decide(global, &problem, false)?;
    if global.verbose {
        output::note(global, &decision.explain());
    }
    Ok(device)
}

/// Whether the workload was measured on a Vulkan device of this machine.
fn knows_vulkan(workload: &str) -> bool {
    let identity = Identity::here();
    match WisdomFile::of(&identity).load(&identity) {
        Loaded::Found(wisdom) => wisdom.find(workload, "vulkan:0").is_some(),
        Loaded::Absent | Loaded::Useless(_) => false,
    }
}

impl Placement {
    /// Looks at the machine for the operation of a workload: devices, wisdom, telemetry.
    pub fn of(workload: &str) -> Result<Self> {
        let workload = catalogue::named(workload)?;
        let parameters = Parameters::resolve(workload.parameters(), &[])?;
        let cost = workload.cost(&parameters);
        let per_unit = |amount: u64| amount as f64 / cost.units.max(1) as f64;
        let (bytes, flops) = (per_unit(cost.bytes.0), per_unit(cost.flops.0));
        let on_cpu = Profile::modelled_on_cpu(CpuDevice::open()?.threads(), bytes, flops);
        Ok(Self::look(workload.id(), on_cpu, |facts, _| {
            Profile::modelled_on_gpu(facts, bytes, flops)
        }))
    }

    /// Looks at the machine for an operation, with what it is thought to take where nothing was
    /// measured: on the CPU, and on a GPU by its facts and what is known of the CPU.
    pub fn look(
        operation: &str,
        on_cpu: Profile,
        on_gpu: impl Fn(&GpuFacts, &Profile) -> Profile,
    ) -> Self {
        let identity = Identity::here();
        let file = WisdomFile::of(&identity);
        let (wisdom, useless) = match file.load(&identity) {
            Loaded::Found(wisdom) => (Some(wisdom), None),
            Loaded::Absent => (None, None),
            Loaded::Useless(why) => (None, Some(why)),
        };
        let measured = |backend: &str| {
            let known = wisdom.as_ref()?.find(operation, backend)?;
            known.profile().ok()
        };
        let on_cpu = measured("cpu").unwrap_or(on_cpu);
        let mut candidates = vec![Candidate::on_host("cpu", on_cpu)];
        let mut choices = vec![DeviceChoice::Cpu];
        let loads = GpuLoad::look();
        // A driver that does not start is an error only where a GPU is requested.
        for facts in cuda_devices().unwrap_or_default() {
            let name = format!("cuda:{}", facts.index);
            let profile = measured(&name).unwrap_or_else(|| on_gpu(&facts, &on_cpu));
            let mut candidate = Candidate::on_host(&name, profile);
            let bus = wisdom.as_ref().and_then(|wisdom| wisdom.bus(&name));
            candidate.bus = Some(bus.unwrap_or([Bus::UNMEASURED; 2]));
            candidate.memory = facts.memory_bytes as f64;
            if let Some(load) = loads.iter().find(|load| load.uuid == facts.uuid) {
                candidate.condition = Condition {
                    clock_share: load.clock_share(facts.sm_clock_hz),
                    others_share: load.busy_share(),
                };
            }
            candidates.push(candidate);
            choices.push(DeviceChoice::Cuda(facts.index));
        }
        let mut chooser = Chooser::new();
        let id = chooser.add(operation, candidates);
        Self {
            operation: operation.to_owned(),
            chooser,
            id,
            choices,
            identity,
            file,
            wisdom,
            useless,
        }
    }

    /// With the Vulkan devices on which the operation was measured: of others nothing is known, and a
    /// driver may run on the CPU.
    fn with_measured_vulkan(mut self) -> Self {
        let Some(wisdom) = &self.wisdom else {
            return self;
        };
        let mut candidates = self.chooser.candidates(self.id).to_vec();
        for facts in vulkan_devices().unwrap_or_default() {
            let choice = DeviceChoice::Vulkan(facts.index);
            let name = choice.to_string();
            let known = wisdom.find(&self.operation, &name);
            if let Some(profile) = known.and_then(|known| known.profile().ok()) {
                let mut candidate = Candidate::on_host(&name, profile);
                candidate.memory = facts.memory as f64;
                candidates.push(candidate);
                self.choices.push(choice);
            }
        }
        self.chooser = Chooser::new();
        self.id = self.chooser.add(&self.operation, candidates);
        self
    }

    /// Decides, or explains what the user decided.
    pub fn decide(
        &self,
        global: &Global,
        problem: &Problem,
        exact: bool,
    ) -> Result<(Device, Decision)> {
        let forced = match global.device {
            DeviceChoice::Auto => None,
            // A device that is not there fails when it is opened, with words of its own.
            asked => self.choices.iter().position(|&choice| choice == asked),
        };
        let constraints = Constraints {
            exact,
            forced,
            ..Constraints::default()
        };
        let device = match global.device {
            DeviceChoice::Auto => {
                let choice = self.chooser.choose(self.id, problem, &constraints)?;
                self.choices[choice.candidate]
            }
            asked => asked,
        };
        let candidates = self.chooser.candidates(self.id);
        let decision = Decision {
            device: device.to_string(),
            automatic: global.device == DeviceChoice::Auto,
            candidates: candidates
                .iter()
                .enumerate()
                .map(|(index, candidate)| {
                    let parts = candidate.predict(problem);
                    CandidateLine {
                        device: candidate.name().to_owned(),
                        predicted: parts.total(),
                        parts,
                        origin: candidate.profile().origin,
                        condition: candidate.condition,
                        refused: candidate
                            .refuses(index, problem, &constraints)
                            .map(|refusal| refusal.words()),
                    }
                })
                .collect(),
            wisdom: match (&self.wisdom, &self.useless) {
                (Some(_), _) => format!("{}", self.file.path().display()),
                (None, Some(why)) => format!("not used: {why}"),
                (None, None) => "none; `warpsmith wisdom calibrate` measures this machine".into(),
            },
        };
        if let (Some(why), DeviceChoice::Auto) = (&self.useless, global.device) {
            let path = self.file.path().display();
            output::note(global, &format!("note: `{path}` is not used: {why}"));
        }
        Ok((Device::open(device)?, decision))
    }

    /// GPUs compute something else than was requested, such as f32 instead of f64.
    pub fn gpus_are_inexact(&mut self) {
        for candidate in &mut self.chooser.candidates_mut(self.id)[1..] {
            candidate.exact = false;
        }
    }

    /// Takes note of a run, where there is wisdom to add it to; where a choice had none, it is
    /// measured in the background.
    pub fn learn(mut self, global: &Global, decision: &Decision, problem: &Problem, seconds: f64) {
        let device = decision.device.as_str();
        if self.measure_what_was_guessed(global, decision) {
            return;
        }
        let candidates = self.chooser.candidates(self.id);
        let Some(index) = candidates.iter().position(|one| one.name() == device) else {
            return;
        };
        self.chooser.observe(self.id, index, problem, seconds);
        let profile = *self.chooser.candidates(self.id)[index].profile();
        self.amend(global, |wisdom, operation| {
            // Measured again meanwhile, it has another curve: the lesson was about the old one.
            let known = wisdom.find_mut(operation, device)?;
            let same = profile.origin == Origin::Measured { unix: known.unix };
            same.then(|| known.correction = profile.correction)
        });
    }

    /// Has this operation measured in the background, where a choice had nothing to go by.
    pub fn measure_what_was_guessed(&self, global: &Global, decision: &Decision) -> bool {
        let modelled = |line: &CandidateLine| line.origin == Origin::Modelled;
        let guessed = decision.automatic
            && decision.candidates.len() > 1
            && decision.candidates.iter().any(modelled);
        if guessed {
            background_calibration::offer(global, &self.operation);
        }
        guessed
    }

    /// Takes note of a run on the CPU of something that is no workload: its runs are the only
    /// measurements that there will be of it.
    pub fn remember(self, global: &Global, problem: &Problem, seconds: f64) {
        /// Kernels that are remembered.
        const MOST: usize = 256;
        self.amend(global, |wisdom, operation| {
            wisdom.note_run(operation, "cpu", problem.size, seconds, unix_now());
            let (area, _) = operation.split_once('/')?;
            wisdom.forget_oldest(&format!("{area}/"), MOST);
            Some(())
        });
    }

    /// Changes the file as it is now: others may have written since it was read. `None` leaves it.
    fn amend(&self, global: &Global, change: impl FnOnce(&mut Wisdom, &str) -> Option<()>) {
        let mut wisdom = match self.file.load(&self.identity) {
            Loaded::Found(wisdom) => wisdom,
            Loaded::Absent => Wisdom::empty(self.identity.clone()),
            Loaded::Useless(_) => return,
        };
        // A folder that cannot be written costs a lesson, not the run.
        if change(&mut wisdom, &self.operation).is_some()
            && let Err(error) = self.file.save(&wisdom)
            && global.verbose
        {
            output::note(global, &format!("note: {error}"));
        }
    }
}

impl Decision {
    /// The user's own choice of a device that nothing is predicted for.
    pub fn requested(device: DeviceChoice) -> Self {
        Self {
            device: device.to_string(),
            automatic: false,
            candidates: Vec::new(),
            wisdom: "not used: the device was requested".to_owned(),
        }
    }

    /// Both predictions with their parts and where each number comes from.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for line in &self.candidates {
            let origin = match line.origin {
                Origin::Measured { unix } => format!("measured at {unix}"),
                Origin::Modelled => "modelled".to_owned(),
            };
            let mark = if line.device == self.device { '*' } else { ' ' };
            let _ = write!(
                text,
                "{mark} {:<7} {:>9}  = {} fixed + {} compute + {} copies; {origin}",
                line.device,
                Seconds(line.predicted),
                Seconds(line.parts.fixed),
                Seconds(line.parts.compute),
                Seconds(line.parts.copies),
            );
            let slowdown = line.condition.slowdown();
            if slowdown > 1.01 {
                let _ = write!(text, "; telemetry: {slowdown:.2} times slower now");
            }
            if let Some(refused) = line.refused {
                let _ = write!(text, "; {refused}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "  wisdom: {}", self.wisdom);
        text
    }
}

/// Every device with its name, for calibration.
pub fn devices(global: &Global) -> Result<Vec<(String, Device)>> {
    let cpu = || -> Result<_> { Ok(("cpu".to_owned(), Device::Cpu(CpuDevice::open()?))) };
    let gpu = |index: usize| -> Result<_> {
        Ok((
            format!("cuda:{index}"),
            Device::Cuda(CudaDevice::open(index)?),
        ))
    };
    match global.device {
        DeviceChoice::Cpu => Ok(vec![cpu()?]),
        DeviceChoice::Cuda(index) => Ok(vec![gpu(index)?]),
        DeviceChoice::Vulkan(_) => Ok(vec![(
            global.device.to_string(),
            Device::open(global.device)?,
        )]),
        DeviceChoice::Auto => {
            let mut all = vec![cpu()?];
            for facts in cuda_devices().unwrap_or_default() {
                all.push(gpu(facts.index)?);
            }
            Ok(all)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_with_sizes_can_be_calibrated_and_placed() {
        for workload in catalogue::workloads() {
            let Some(sizes) = workload.sizes() else {
                continue;
            };
            let mut last = 0;
            for size in sizes.values {
                let mut settings = vec![(sizes.parameter.to_owned(), (*size).to_owned())];
                settings.extend(
                    workload
                        .passes()
                        .map(|name| (name.to_owned(), "1".to_owned())),
                );
                let parameters = Parameters::resolve(workload.parameters(), &settings).unwrap();
                // A law cannot be fitted to a size of one: its logarithm is zero.
                assert!(parameters.integer(sizes.parameter) > 1, "{}", workload.id());
                let units = workload.cost(&parameters).units;
                assert!(units > last, "{} at {size}", workload.id());
                last = units;
            }
            Placement::of(workload.id()).unwrap();
        }
    }
}
