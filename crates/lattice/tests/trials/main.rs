//! The workloads of the machine and of the lattice on the Vulkan device that is here, against the CPU;
//! lavapipe will do. Without a Vulkan driver every trial is ignored, not passed.

#![allow(clippy::print_stderr, reason = "a trial says why it is ignored")]

use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_device::{Device, DeviceChoice, vulkan_messages, vulkan_validation_is_installed};
use warpsmith_lattice::Shape;
use warpsmith_lattice::rd::{CpuForm, CpuRun, Field, Rule, VulkanForm, VulkanRun};
use warpsmith_measure::run_sampler::{RunMode, RunSampler};
use warpsmith_measure::{Parity, check_parity};
use warpsmith_workload::{Output, Parameters, Prepared, Workload, WorkloadError};

/// A workload and what is set of it.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

/// Sizes that end in the middle of a workgroup, of a word and of a key.
const CASES: [Case; 11] = [
    ("machine/copy", &[("bytes", "100008")]),
    ("machine/saxpy", &[("n", "100003")]),
    ("machine/launch", &[("what", "one")]),
    ("machine/launch", &[("what", "series")]),
    ("machine/launch", &[("what", "graph")]),
    (
        "machine/launch",
        &[("what", "pageable"), ("bytes", "100000")],
    ),
    ("lattice/rd", &[("n", "21"), ("steps", "7")]),
    ("lattice/rd", &[("n", "16"), ("steps", "1")]),
    ("lattice/catalytic", &[("n", "13"), ("steps", "5")]),
    ("lattice/xor", &[("bytes", "10007"), ("key", "13")]),
    ("lattice/xor", &[("bytes", "3"), ("key", "256")]),
];

/// Lattices that end in the middle of a tile, and steps that leave a rest.
const MARCHES: [([usize; 3], usize); 3] =
    [([37, 45, 124], 14), ([16, 16, 8], 4), ([3, 70, 132], 2)];

fn main() {
    let arguments = Arguments::from_args();
    // Read when the first instance is made, so that the validation layer hears every trial.
    let wanted = u8::from(vulkan_validation_is_installed()).to_string();
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("WARPSMITH_VULKAN_VALIDATION", wanted) };
    let device = Device::open(DeviceChoice::Vulkan(0));
    if let Err(error) = &device {
        eprintln!("no Vulkan device: {error}");
    }
    let missing = device.is_err();
    let mut trials: Vec<Trial> = (CASES.into_iter())
        .map(|case| {
            let words: Vec<String> = case.1.iter().map(|(n, v)| format!("{n}={v}")).collect();
            let name = format!("{} {} on Vulkan is the CPU's", case.0, words.join(" "));
            heard(name, move || agrees(case))
        })
        .collect();
    let named = "a workload without a form is refused by name";
    trials.push(heard(named.to_owned(), refused));
    let timer = "the device's timer gives samples";
    trials.push(heard(timer.to_owned(), timed));
    for (extents, steps) in MARCHES {
        let name = format!("{steps} steps of {extents:?} in marches are the CPU's");
        trials.push(heard(name, move || marches(extents, steps)));
    }
    let trials = trials.into_iter();
    let mut trials: Vec<Trial> = trials
        .map(|trial| trial.with_ignored_flag(missing))
        .collect();
    let no_validator = Command::new("spirv-val").arg("--version").output().is_err();
    if no_validator {
        eprintln!("no `spirv-val` (Debian: `spirv-tools`): validity is not checked");
    }
    let valid = Trial::test("kernels that were written by hand are valid SPIR-V", valid);
    trials.push(valid.with_ignored_flag(no_validator));
    libtest_mimic::run(&arguments, trials).exit();
}

/// A trial in which the validation layer has nothing to say.
fn heard(name: String, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        run()?;
        match vulkan_messages().unwrap_or_default().first() {
            Some(message) => Err(format!("the validation layer says {message}").into()),
            None => Ok(()),
        }
    })
}

fn valid() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kernel.spv");
    for words in warpsmith_lattice::rd::every_module() {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        let checked = Command::new("spirv-val")
            .args(["--target-env", "vulkan1.2"])
            .arg(&file)
            .output()?;
        if !checked.status.success() {
            return Err(String::from_utf8_lossy(&checked.stderr).into_owned().into());
        }
    }
    Ok(())
}

fn marches(extents: [usize; 3], steps: usize) -> Result<(), Failed> {
    let device = Device::open(DeviceChoice::Vulkan(0))?;
    let device = device.vulkan().ok_or("no Vulkan device")?;
    let shape = Shape::new(&extents)?;
    let rule = Rule::usual(shape);
    let mut forms = Vec::new();
    for (steps, lines) in [(1, 8), (2, 8), (3, 8), (2, 16)] {
        for (subgroups, noted) in [(false, false), (false, true), (true, false), (true, true)] {
            if !subgroups || device.facts().subgroup_shuffles == 32 {
                forms.push(VulkanForm::Marches {
                    steps,
                    lines,
                    subgroups,
                    noted,
                });
            }
        }
    }
    // The front of a ball runs through numbers of every size.
    for (field, is_front) in [
        (Field::noise(shape, 5)?, false),
        (Field::ball(shape)?, true),
    ] {
        let Device::Cpu(cpu) = Device::open(DeviceChoice::Cpu)? else {
            return Err("no CPU".into());
        };
        let mut expected = CpuRun::new(&cpu, rule, CpuForm::Plain, field.clone())?;
        expected.advance(steps);
        let expected = expected.into_field();
        let expected = [expected.u, expected.e].concat();
        for form in &forms {
            let mut run = VulkanRun::with_form(device, rule, &field, steps, *form)?;
            run.poison()?;
            run.run_once()?;
            let Output::F32(actual) = run.output()? else {
                return Err("no floats".into());
            };
            let differ = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
            let count = (actual.iter().zip(&expected))
                .filter(|pair| differ(*pair))
                .count();
            if count > 0 || actual.len() != expected.len() {
                return Err(format!("{form:?}: {count} of {} differ", expected.len()).into());
            }
            let is_noted = matches!(form, VulkanForm::Marches { noted: true, .. });
            let repeated = run.repeated()?;
            if is_noted && !is_front && repeated > 0 {
                return Err(format!("{form:?}: {repeated} workgroups of noise repeated").into());
            }
            if is_noted && is_front && steps >= 14 && repeated == 0 {
                return Err(format!("{form:?}: a front has no small number").into());
            }
        }
    }
    Ok(())
}

fn workload(id: &str) -> Result<Box<dyn Workload>, Failed> {
    let mut all = warpsmith_machine::workloads();
    all.extend(warpsmith_lattice::workloads());
    let found = all.into_iter().find(|workload| workload.id() == id);
    Ok(found.ok_or("there is no such workload")?)
}

fn parameters(workload: &dyn Workload, (_, settings): Case) -> Result<Parameters, Failed> {
    let given: Vec<(String, String)> = (settings.iter())
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Ok(Parameters::resolve(workload.parameters(), &given)?)
}

fn agrees(case: Case) -> Result<(), Failed> {
    let workload = workload(case.0)?;
    let parameters = parameters(workload.as_ref(), case)?;
    let device = Device::open(DeviceChoice::Vulkan(0))?;
    let cpu = Device::open(DeviceChoice::Cpu)?;
    let seeds = [1, 2, 3];
    match check_parity(workload.as_ref(), &device, &cpu, &parameters, &seeds)? {
        Parity::Agrees { .. } => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn refused() -> Result<(), Failed> {
    let case: Case = ("lattice/bfs", &[("n", "8")]);
    let workload = workload(case.0)?;
    let parameters = parameters(workload.as_ref(), case)?;
    let device = Device::open(DeviceChoice::Vulkan(0))?;
    match workload.prepare(&device, &parameters, 1) {
        Err(WorkloadError::Unsupported { workload, .. }) => {
            assert_eq!(workload, "lattice/bfs");
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Err("it was prepared".into()),
    }
}

/// Twice the work takes longer, and never less than nothing.
fn timed() -> Result<(), Failed> {
    let device = Device::open(DeviceChoice::Vulkan(0))?;
    let has_timer = |facts: &warpsmith_device::VulkanFacts| facts.timestamp_period > 0.0;
    if !device
        .vulkan()
        .is_some_and(|vulkan| has_timer(vulkan.facts()))
    {
        return Ok(());
    }
    let mut medians = Vec::new();
    for steps in ["1", "16"] {
        let workload = workload("lattice/rd")?;
        let given = [
            ("n".to_owned(), "32".to_owned()),
            ("steps".to_owned(), steps.to_owned()),
        ];
        let parameters = Parameters::resolve(workload.parameters(), &given)?;
        let mut sampler = RunSampler::new(&device, RunMode::Warm)?;
        let prepared = workload.prepare(&device, &parameters, 1)?;
        let mut target = sampler.target(prepared)?;
        let mut seconds = Vec::new();
        for _ in 0..21 {
            seconds.push(sampler.sample(&mut target)?.seconds);
        }
        seconds.sort_by(f64::total_cmp);
        assert!(seconds[0] >= 0.0);
        medians.push(seconds[10]);
    }
    assert!(medians[1] > medians[0], "{medians:?}");
    Ok(())
}
