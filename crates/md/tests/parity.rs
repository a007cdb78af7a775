//! The GPU against the CPU on fresh starts. Without a GPU these count as ignored; where one is
//! promised (`WARPSMITH_REQUIRE_GPU=1`) that is a failure. A program of its own: one trial at a time.

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_core::Tolerance;
use warpsmith_device::{CpuDevice, CudaDevice, Device, DeviceChoice};
use warpsmith_md::{
    Atoms, Checkpoint, CudaSimulation, Engine, LennardJones, MdError, Settings, Simulation,
    Thermostat, Truncation, reference_forces, workloads,
};
use warpsmith_measure::{Parity, check_parity};
use warpsmith_workload::Parameters;

type Check = fn(&CudaDevice, u64) -> Result<(), Failed>;

const CHECKS: &[(&str, Check)] = &[
    ("forces_are_those_of_all_pairs", forces),
    ("steps_agree_with_the_cpu", steps_agree),
    ("the_network_agrees_with_the_cpu", network_agrees),
    ("the_same_start_gives_the_same_bits", repeats),
    (
        "a_restart_gives_the_bits_of_a_run_that_never_stopped",
        restart,
    ),
    ("energy_is_conserved_through_rebuilds", energy),
    ("the_thermostat_follows_the_cpu", langevin),
    ("a_blow_up_is_found", blow_up),
];

fn main() {
    let mut arguments = Arguments::from_args();
    // One stream, which records graphs: trials must not queue on it between each other.
    arguments.test_threads = Some(1);
    let gpu = CudaDevice::open(0).ok();
    let required = std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some();
    let seed = std::env::var("WARPSMITH_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    // Fresh inputs for every run; the seed is in the message of what fails.
    let seed = seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |since| since.as_nanos() as u64)
    });
    let trials = CHECKS
        .iter()
        .map(|&(name, check)| {
            let gpu = gpu.clone();
            let ignored = gpu.is_none() && !required;
            let run = move || {
                let gpu = gpu.ok_or("there is no GPU, and one was promised")?;
                check(&gpu, seed).map_err(|failed| {
                    let said = failed.message().unwrap_or("failed").to_owned();
                    Failed::from(format!("{said} (WARPSMITH_SEED={seed})"))
                })
            };
            Trial::test(name, run).with_ignored_flag(ignored)
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn cpu() -> Result<CpuDevice, Failed> {
    Ok(CpuDevice::open()?)
}

fn with(truncation: Truncation) -> Settings {
    Settings {
        potential: LennardJones {
            cutoff: 2.5,
            truncation,
        },
        ..Settings::standard()
    }
}

/// A melt, in which nothing is regular any more.
fn melt(cells: usize, seed: u64) -> Result<Atoms, Failed> {
    let atoms = Atoms::lattice(cells, 0.8442, 1.44, seed)?;
    let mut simulation = Simulation::<f32>::new(&cpu()?, &atoms, Settings::standard())?;
    simulation.advance(300)?;
    Ok(simulation.atoms()?)
}

fn ensure(holds: bool, said: impl Into<String>) -> Result<(), Failed> {
    if holds {
        Ok(())
    } else {
        Err(Failed::from(said.into()))
    }
}

fn forces(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    // One cell, few cells, many.
    for cells in [5, 6, 9] {
        let atoms = melt(cells, seed)?;
        for truncation in [Truncation::Cut, Truncation::Shift, Truncation::ForceShift] {
            let settings = with(truncation);
            let mut simulation = CudaSimulation::new(gpu, &atoms, settings, true)?;
            let (expected, sums) =
                reference_forces(&settings.potential, &atoms.cell, &atoms.positions)?;
            let scale = expected
                .iter()
                .flatten()
                .fold(0.0f64, |m, x| m.max(x.abs()));
            let found = simulation.forces()?;
            let pairs = found.iter().flatten().zip(expected.iter().flatten());
            let worst = pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / scale;
            // As for the CPU in f32: coordinates known to 1e-6, slopes of hundreds.
            ensure(
                worst < 5e-5,
                format!("{cells} {truncation:?}: forces {worst:e} apart"),
            )?;
            let energy = simulation.thermodynamics()?.potential * atoms.len() as f64;
            let apart = (energy / sums.energy - 1.0).abs();
            ensure(
                apart < 1e-5,
                format!("{cells} {truncation:?}: energy {apart:e} apart"),
            )?;
        }
    }
    Ok(())
}

fn steps_agree(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("steps", "40"), ("n", "2048")],
        &[("steps", "40"), ("n", "32000")],
        &[("steps", "12"), ("n", "32000"), ("list", "every-step")],
        &[("steps", "40"), ("n", "500"), ("graph", "off")],
        &[("steps", "10"), ("n", "256000")],
    ];
    agree(gpu, seed, "md/lj", cases)
}

fn network_agrees(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("hidden", "64"), ("n", "1")],
        &[("hidden", "256"), ("n", "77"), ("graph", "on")],
        &[("n", "1001"), ("graph", "on")],
    ];
    agree(gpu, seed, "md/network", cases)
}

/// The workload `id` on both devices, on three fresh inputs for each case.
fn agree(gpu: &CudaDevice, seed: u64, id: &str, cases: &[&[(&str, &str)]]) -> Result<(), Failed> {
    let gpu = Device::Cuda(gpu.clone());
    let reference = Device::open(DeviceChoice::Cpu)?;
    let all = workloads();
    let workload = all.iter().find(|workload| workload.id() == id);
    let workload = workload.ok_or_else(|| format!("there is no `{id}`"))?;
    for case in cases {
        let given: Vec<(String, String)> = case
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect();
        let parameters = Parameters::resolve(workload.parameters(), &given)?;
        let seeds = [seed, seed ^ 1, seed ^ 2];
        let parity = check_parity(workload.as_ref(), &gpu, &reference, &parameters, &seeds)?;
        let said = format!("{id} {case:?}: {parity:?}");
        ensure(matches!(parity, Parity::Agrees { .. }), said)?;
    }
    Ok(())
}

fn repeats(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let atoms = melt(8, seed)?;
    let run = |graph: bool| -> Result<Atoms, MdError> {
        let mut simulation = CudaSimulation::new(gpu, &atoms, Settings::standard(), graph)?;
        simulation.advance(250)?;
        simulation.atoms()
    };
    let first = run(true)?;
    ensure(first == run(true)?, "two runs differ")?;
    ensure(first == run(false)?, "with and without a graph differ")
}

fn restart(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let langevin = Thermostat::Langevin {
        temperature: 1.0,
        friction: 0.5,
        seed,
    };
    for thermostat in [Thermostat::None, langevin] {
        let atoms = melt(8, seed)?;
        let settings = Settings {
            thermostat,
            ..Settings::standard()
        };
        let mut whole = CudaSimulation::new(gpu, &atoms, settings, true)?;
        whole.advance(301)?;
        let mut first = CudaSimulation::new(gpu, &atoms, settings, true)?;
        first.advance(137)?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.ckpt");
        Checkpoint::write(&path, &first.state()?)?;
        let mut second = CudaSimulation::resume(gpu, &Checkpoint::read(&path)?, true)?;
        second.advance(301 - 137)?;
        ensure(
            whole.state()? == second.state()?,
            format!("{thermostat:?}: states differ"),
        )?;
    }
    Ok(())
}

fn energy(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let atoms = melt(10, seed)?;
    let settings = with(Truncation::ForceShift);
    let mut simulation = CudaSimulation::new(gpu, &atoms, settings, true)?;
    let before = simulation.thermodynamics()?;
    simulation.advance(4000)?;
    let after = simulation.thermodynamics()?;
    let rebuilds = simulation.rebuilds()?;
    ensure(rebuilds > 100, format!("{rebuilds} rebuilds in 4000 steps"))?;
    // The oscillation at this step is 4e-5; the bound for f32 is 1e-4 in a unit of time, 20 here.
    let apart = (after.total - before.total).abs();
    ensure(
        apart < 1e-3,
        format!("energy moved by {apart:e}: {before:?} {after:?}"),
    )?;
    ensure(after.momentum < 0.5, format!("momentum {}", after.momentum))
}

fn langevin(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let atoms = melt(6, seed)?;
    let settings = Settings {
        thermostat: Thermostat::Langevin {
            temperature: 0.9,
            friction: 2.0,
            seed,
        },
        ..Settings::standard()
    };
    let mut here = Simulation::<f32>::new(&cpu()?, &atoms, settings)?;
    let mut there = CudaSimulation::new(gpu, &atoms, settings, true)?;
    here.advance(25)?;
    there.advance(25)?;
    let flat = |atoms: Atoms| atoms.velocities.into_flattened();
    let (a, b) = (flat(there.atoms()?), flat(here.atoms()?));
    let tolerance = Tolerance {
        abs: 1e-3,
        rel: 0.0,
        ulp: 0,
    };
    let agreement = tolerance.compare(&a, &b);
    ensure(agreement.holds(), agreement.to_string())
}

fn blow_up(gpu: &CudaDevice, seed: u64) -> Result<(), Failed> {
    let atoms = Atoms::lattice(6, 0.8442, 1.44, seed)?;
    let reckless = Settings {
        time_step: 0.2,
        ..Settings::standard()
    };
    let mut simulation = CudaSimulation::new(gpu, &atoms, reckless, true)?;
    let seen = simulation.advance(200);
    ensure(
        matches!(
            seen,
            Err(MdError::BlowUp { .. } | MdError::CrowdedList { .. })
        ),
        format!("{seen:?}"),
    )
}
