//! Checkpoints: a run that was interrupted goes on bit for bit, and a damaged file says where.

use std::path::Path;

use warpsmith_device::CpuDevice;
use warpsmith_md::{
    Atoms, Checkpoint, Engine, MdError, PeriodicBox, Real, Settings, Simulation, Thermostat,
    of_error,
};

fn settings(thermostat: Thermostat) -> Settings {
    Settings {
        thermostat,
        ..Settings::standard()
    }
}

const LANGEVIN: Thermostat = Thermostat::Langevin {
    temperature: 1.1,
    friction: 0.7,
    seed: 77,
};

fn interrupted_equals_whole<R: Real>(thermostat: Thermostat) {
    let cpu = CpuDevice::with_threads(2).unwrap();
    let atoms = Atoms::lattice(6, 0.8442, 1.44, 4).unwrap();
    let mut whole = Simulation::<R>::new(&cpu, &atoms, settings(thermostat)).unwrap();
    whole.advance(301).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ckpt");
    let mut first = Simulation::<R>::new(&cpu, &atoms, settings(thermostat)).unwrap();
    // 137 is between two lists; looking at the energy must not change anything either.
    first.advance(137).unwrap();
    first.thermodynamics().unwrap();
    Checkpoint::write(&path, &first.state().unwrap()).unwrap();
    drop(first);
    let state = Checkpoint::read(&path).unwrap();
    let mut second = Simulation::<R>::resume(&cpu, &state).unwrap();
    assert_eq!(second.step(), 137);
    second.advance(301 - 137).unwrap();
    assert_eq!(second.rebuilds(), whole.rebuilds());
    assert!(whole.state().unwrap() == second.state().unwrap());
    assert_eq!(
        whole.thermodynamics().unwrap(),
        second.thermodynamics().unwrap()
    );
}

#[test]
fn a_restart_gives_the_bits_of_a_run_that_never_stopped() {
    interrupted_equals_whole::<f32>(Thermostat::None);
    interrupted_equals_whole::<f64>(Thermostat::None);
    interrupted_equals_whole::<f32>(LANGEVIN);
    interrupted_equals_whole::<f64>(LANGEVIN);
}

fn state_bytes() -> Vec<u8> {
    let cpu = CpuDevice::with_threads(1).unwrap();
    let atoms = Atoms::lattice(4, 0.8442, 1.44, 4).unwrap();
    let mut simulation = Simulation::<f32>::new(&cpu, &atoms, settings(LANGEVIN)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ckpt");
    Checkpoint::write(&path, &simulation.state().unwrap()).unwrap();
    std::fs::read(path).unwrap()
}

fn read(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.ckpt");
    std::fs::write(&path, bytes).unwrap();
    Checkpoint::read(&path).map(|_| ()).map_err(|error| {
        error
            .to_string()
            .replace(&path.display().to_string(), "damaged.ckpt")
    })
}

#[test]
fn damage_is_found_wherever_it_is_and_named_by_its_place() {
    let bytes = state_bytes();
    read(&bytes).unwrap();
    // Every flipped bit, every missing end: an error, never a wrong trajectory, never a panic.
    for at in (0..bytes.len()).step_by(37) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        let message = read(&flipped).unwrap_err();
        assert!(
            message.starts_with("`damaged.ckpt` offset "),
            "{at}: {message}"
        );
        let message = read(&bytes[..at]).unwrap_err();
        assert!(message.contains("the file ends"), "{at}: {message}");
    }
    let message = read(b"not a checkpoint").unwrap_err();
    assert_eq!(
        message,
        "`damaged.ckpt` offset 0: this is not a checkpoint of a trajectory"
    );
    let mut longer = bytes.clone();
    longer.push(0);
    let message = read(&longer).unwrap_err();
    assert_eq!(
        message,
        format!(
            "`damaged.ckpt` offset {}: 1 bytes follow the last section",
            bytes.len()
        )
    );
    let mut velocity = bytes.clone();
    let end = velocity.len() - 3000;
    velocity[end] ^= 1;
    let message = read(&velocity).unwrap_err();
    assert!(
        message.ends_with("does not match its checksum"),
        "{message}"
    );
}

#[test]
fn a_missing_file_says_so() {
    let error = Checkpoint::read(Path::new("nowhere.ckpt")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read `nowhere.ckpt`");
}

fn start(change: impl FnOnce(&mut Atoms)) -> Result<(), MdError> {
    let cpu = CpuDevice::with_threads(1).unwrap();
    let mut atoms = Atoms::lattice(5, 0.8442, 1.44, 4).unwrap();
    change(&mut atoms);
    Simulation::<f64>::new(&cpu, &atoms, Settings::standard()).map(|_| ())
}

#[test]
fn overlapping_and_impossible_atoms_are_findings() {
    start(|_| ()).unwrap();
    let error = start(|atoms| atoms.positions[7] = atoms.positions[300]).unwrap_err();
    assert_eq!(of_error(&error).unwrap().code, "T001");
    assert!(
        error
            .to_string()
            .starts_with("atoms 7 and 300 are 0.0000 σ apart"),
        "{error}"
    );
    let error = start(|atoms| atoms.positions[7][2] = f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "the position of atom 7 is NaN");
    assert_eq!(of_error(&error).unwrap().code, "T002");
    let error = start(|atoms| atoms.velocities[9][0] = f64::INFINITY).unwrap_err();
    assert_eq!(error.to_string(), "the velocity of atom 9 is inf");
    let error = start(|atoms| atoms.cell = PeriodicBox::new([5.0; 3]).unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("half the shortest side"),
        "{error}"
    );
}

#[test]
fn a_blow_up_is_found_at_its_step() {
    let cpu = CpuDevice::with_threads(1).unwrap();
    let atoms = Atoms::lattice(5, 0.8442, 1.44, 4).unwrap();
    let reckless = Settings {
        time_step: 0.2,
        ..Settings::standard()
    };
    let mut simulation = Simulation::<f32>::new(&cpu, &atoms, reckless).unwrap();
    let error = simulation.advance(1000).unwrap_err();
    assert_eq!(of_error(&error).unwrap().code, "T003");
}
