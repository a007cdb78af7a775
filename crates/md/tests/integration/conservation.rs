//! What physics and other programs say: energies known in advance, forces as slopes, conserved
//! quantities, and the error's law in the time step.

use warpsmith_device::CpuDevice;
use warpsmith_md::{
    Atoms, Engine, InstructionSet, LennardJones, PeriodicBox, Real, Settings, Simulation,
    Thermostat, Truncation, fcc_lattice, maxwell_velocities, reference_forces,
};
use warpsmith_workload::random::Random;

const DENSITY: f64 = 0.8442;

fn cpu() -> CpuDevice {
    CpuDevice::with_threads(1).unwrap()
}

fn potential(cutoff: f64, truncation: Truncation) -> LennardJones {
    LennardJones::new(cutoff, truncation).unwrap()
}

fn with(cutoff: f64, truncation: Truncation) -> Settings {
    Settings {
        potential: potential(cutoff, truncation),
        ..Settings::standard()
    }
}

/// A fluid that has forgotten its lattice.
fn melt(cells: usize) -> Atoms {
    let atoms = Atoms::lattice(cells, DENSITY, 1.44, 11).unwrap();
    let settings = with(2.5, Truncation::ForceShift);
    let mut simulation = Simulation::<f64>::new(&cpu(), &atoms, settings).unwrap();
    simulation.advance(400).unwrap();
    simulation.atoms().unwrap()
}

fn nist_configuration_4() -> Atoms {
    let text = include_str!("../data/nist_lj_config4.xyz");
    let positions: Vec<[f64; 3]> = text
        .lines()
        .skip(2)
        .map(|line| {
            let fields: Vec<f64> = line
                .split_whitespace()
                .map(|x| x.parse().unwrap())
                .collect();
            [fields[1], fields[2], fields[3]]
        })
        .collect();
    assert_eq!(positions.len(), 30);
    Atoms {
        cell: PeriodicBox::new([8.0; 3]).unwrap(),
        velocities: vec![[0.0; 3]; positions.len()],
        positions,
    }
}

#[test]
fn the_lattice_has_the_energy_that_lammps_gives_it() {
    for cells in [5, 10] {
        let atoms = Atoms::lattice(cells, DENSITY, 1.44, 1).unwrap();
        let settings = with(2.5, Truncation::Cut);
        let mut simulation = Simulation::<f64>::new(&cpu(), &atoms, settings).unwrap();
        let found = simulation.thermodynamics().unwrap();
        assert!((found.potential + 6.7733681).abs() < 5e-8, "{found:?}");
        assert!((found.temperature - 1.44).abs() < 1e-12);
        let mut single = Simulation::<f32>::new(&cpu(), &atoms, settings).unwrap();
        let found = single.thermodynamics().unwrap();
        // Distances of the lattice are multiples of one length, so f32 errors do not average out.
        assert!((found.potential + 6.7733681).abs() < 2e-5, "{found:?}");
    }
}

#[test]
fn the_start_of_lammps_bench_has_its_energy_and_pressure() {
    let atoms = Atoms::lattice(20, DENSITY, 1.44, 1).unwrap();
    let settings = with(2.5, Truncation::Cut);
    let mut simulation = Simulation::<f64>::new(&cpu(), &atoms, settings).unwrap();
    let found = simulation.thermodynamics().unwrap();
    assert!((found.total + 4.6134356).abs() < 1e-7, "{found:?}");
    assert!((found.pressure + 5.0197073).abs() < 1e-6, "{found:?}");
}

#[test]
fn nist_configuration_4_has_its_published_energies() {
    let atoms = nist_configuration_4();
    for (cutoff, truncation, energy, virial) in [
        (3.0, Truncation::Cut, -16.790321304625856, -46.249196746),
        (4.0, Truncation::Cut, -17.060453220, -47.868828191),
        (3.0, Truncation::ForceShift, -15.001402287, -43.096005539),
    ] {
        let potential = potential(cutoff, truncation);
        let (_, sums) = reference_forces(&potential, &atoms.cell, &atoms.positions).unwrap();
        assert!((sums.energy - energy).abs() < 1e-9, "{sums:?}");
        assert!((sums.virial - virial).abs() < 1e-9, "{sums:?}");
        if cutoff == 3.0 {
            let settings = Settings {
                skin: 0.5,
                ..with(cutoff, truncation)
            };
            let mut simulation = Simulation::<f64>::new(&cpu(), &atoms, settings).unwrap();
            let found = simulation.thermodynamics().unwrap().potential * 30.0;
            assert!((found - energy).abs() < 1e-9, "{found}");
        }
    }
}

/// Largest difference of two sets of vectors, relative to the largest component.
fn difference(a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
    let scale = b.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.fold(0.0f64, |m, (x, y)| m.max((x - y).abs())) / scale
}

fn fast_forces_agree<R: Real>(atoms: &Atoms, settings: Settings, tolerance: f64) {
    let mut simulation = Simulation::<R>::new(&cpu(), atoms, settings).unwrap();
    let (forces, sums) =
        reference_forces(&settings.potential, &atoms.cell, &atoms.positions).unwrap();
    let apart = difference(&simulation.forces(), &forces);
    assert!(apart < tolerance, "{} {settings:?}: {apart:e}", R::NAME);
    let energy = simulation.thermodynamics().unwrap().potential * atoms.len() as f64;
    assert!(
        (energy / sums.energy - 1.0).abs() < tolerance,
        "{energy} {sums:?}"
    );
}

#[test]
fn lists_and_vectors_give_the_forces_of_all_pairs() {
    // 2048 atoms have cells, 500 do not: their box is too small for three.
    for cells in [5, 8] {
        let atoms = melt(cells);
        for truncation in [Truncation::Cut, Truncation::Shift, Truncation::ForceShift] {
            for instructions in InstructionSet::present() {
                for sort in [true, false] {
                    let settings = Settings {
                        instructions,
                        sort,
                        ..with(2.5, truncation)
                    };
                    fast_forces_agree::<f64>(&atoms, settings, 1e-12);
                    // f32 coordinates of up to 13.4 are known to 5e-7; the steepest pairs have
                    // slopes of some 300 per force of 100.
                    fast_forces_agree::<f32>(&atoms, settings, 3e-5);
                }
            }
        }
    }
}

#[test]
fn atoms_anywhere_give_the_forces_of_all_pairs() {
    // A gas in a long box, atoms far outside it: images, empty cells, uneven sides.
    let mut random = Random::seeded(3);
    let cell = PeriodicBox::new([9.5, 14.0, 31.0]).unwrap();
    let mut positions: Vec<[f64; 3]> = Vec::new();
    while positions.len() < 400 {
        let new: [f64; 3] =
            std::array::from_fn(|axis| 3.0 * cell.sides[axis] * (random.unit() - 0.5));
        let clear = positions.iter().all(|old| {
            let apart = cell.shortest_vector(new, *old);
            apart.iter().map(|x| x * x).sum::<f64>() > 0.81
        });
        if clear {
            positions.push(new);
        }
    }
    let velocities = vec![[0.0; 3]; positions.len()];
    let atoms = Atoms {
        cell,
        positions,
        velocities,
    };
    fast_forces_agree::<f64>(&atoms, with(2.5, Truncation::Cut), 1e-11);
    fast_forces_agree::<f32>(&atoms, with(2.5, Truncation::Cut), 1e-4);
}

#[test]
fn forces_are_minus_the_gradient_of_the_energy() {
    let atoms = melt(5);
    let potential = potential(2.5, Truncation::ForceShift);
    let settings = with(2.5, Truncation::ForceShift);
    let forces = Simulation::<f64>::new(&cpu(), &atoms, settings)
        .unwrap()
        .forces();
    let h = 1e-5;
    for (atom, axis) in [(0, 0), (17, 1), (250, 2), (499, 0)] {
        let energy_at = |offset: f64| {
            let mut moved = atoms.positions.clone();
            moved[atom][axis] += offset;
            reference_forces(&potential, &atoms.cell, &moved)
                .unwrap()
                .1
                .energy
        };
        let slope = (energy_at(h) - energy_at(-h)) / (2.0 * h);
        let force: f64 = forces[atom][axis];
        assert!(
            (force + slope).abs() < 1e-6 * force.abs().max(1.0),
            "{force} {slope}"
        );
    }
}

/// Root mean square of the total energy about its mean, and its trend over one unit of time.
fn energy_error<R: Real>(atoms: &Atoms, time_step: f64, time: f64) -> (f64, f64) {
    let settings = Settings {
        time_step,
        ..with(2.5, Truncation::ForceShift)
    };
    let mut simulation = Simulation::<R>::new(&cpu(), atoms, settings).unwrap();
    let mut totals = Vec::new();
    let samples = (time / 0.008).round() as u64;
    for _ in 0..samples {
        simulation
            .advance((0.008 / time_step).round() as u64)
            .unwrap();
        totals.push(simulation.thermodynamics().unwrap().total);
    }
    let mean = totals.iter().sum::<f64>() / totals.len() as f64;
    let square = totals.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / totals.len() as f64;
    let centre = (totals.len() - 1) as f64 / 2.0;
    let (mut above, mut below) = (0.0, 0.0);
    for (index, total) in totals.iter().enumerate() {
        let at = index as f64 - centre;
        above += at * (total - mean);
        below += at * at;
    }
    (square.sqrt(), above / below / 0.008)
}

#[test]
fn the_energy_error_shrinks_with_the_square_of_the_time_step() {
    let atoms = melt(5);
    let steps = [0.001, 0.002, 0.004, 0.008];
    let errors = steps.map(|step| energy_error::<f64>(&atoms, step, 4.0));
    let logs: Vec<(f64, f64)> = steps
        .iter()
        .zip(errors)
        .map(|(s, e)| (s.ln(), e.0.ln()))
        .collect();
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / 4.0;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let slope = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>()
        / logs.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>();
    assert!((slope - 2.0).abs() < 0.15, "{slope}: {errors:?}");
    assert!(errors[1].1.abs() < 1e-5, "drift per time {:e}", errors[1].1);
    let (_, drift) = energy_error::<f32>(&atoms, 0.004, 4.0);
    assert!(drift.abs() < 1e-4, "f32 drift per time {drift:e}");
}

#[test]
fn momentum_stays_zero() {
    let atoms = melt(5);
    let mut simulation =
        Simulation::<f64>::new(&cpu(), &atoms, with(2.5, Truncation::Cut)).unwrap();
    simulation.advance(200).unwrap();
    let momentum = simulation.thermodynamics().unwrap().momentum;
    assert!(momentum < 1e-10, "{momentum:e}");
}

#[test]
fn time_runs_backwards_too() {
    let atoms = melt(5);
    let settings = with(2.5, Truncation::ForceShift);
    let mut simulation = Simulation::<f64>::new(&cpu(), &atoms, settings).unwrap();
    simulation.advance(100).unwrap();
    let mut there = simulation.atoms().unwrap();
    there.velocities.iter_mut().flatten().for_each(|v| *v = -*v);
    let mut simulation = Simulation::<f64>::new(&cpu(), &there, settings).unwrap();
    simulation.advance(100).unwrap();
    let back = simulation.atoms().unwrap();
    let farthest = atoms
        .positions
        .iter()
        .zip(&back.positions)
        .fold(0.0f64, |m, (a, b)| {
            let apart = atoms.cell.shortest_vector(*a, *b);
            apart.iter().fold(m, |m, x| m.max(x.abs()))
        });
    assert!(farthest < 1e-8, "{farthest:e}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let atoms = melt(8);
    let settings = with(2.5, Truncation::Cut);
    let run = |threads: usize| {
        let cpu = CpuDevice::with_threads(threads).unwrap();
        let mut simulation = Simulation::<f32>::new(&cpu, &atoms, settings).unwrap();
        simulation.advance(30).unwrap();
        simulation.atoms().unwrap()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_thermostat_keeps_its_temperature_and_the_known_energy() {
    // NIST's Monte Carlo at density 0.776 and temperature 0.85 with tail: −5.5121; NVT as they have.
    let (cell, positions) = fcc_lattice(5, 0.776).unwrap();
    let velocities = maxwell_velocities(positions.len(), 0.85, 2).unwrap();
    let atoms = Atoms {
        cell,
        positions,
        velocities,
    };
    let potential = potential(3.0, Truncation::Cut);
    let settings = Settings {
        potential,
        thermostat: Thermostat::Langevin {
            temperature: 0.85,
            friction: 1.0,
            seed: 9,
        },
        ..Settings::standard()
    };
    let mut simulation = Simulation::<f32>::new(&cpu(), &atoms, settings).unwrap();
    simulation.advance(2000).unwrap();
    let (mut temperature, mut energy, samples) = (0.0, 0.0, 400);
    for _ in 0..samples {
        simulation.advance(25).unwrap();
        let found = simulation.thermodynamics().unwrap();
        temperature += found.temperature / f64::from(samples);
        energy += found.potential / f64::from(samples);
    }
    energy += potential.tail_energy(0.776);
    assert!((temperature - 0.85).abs() < 0.01, "{temperature}");
    assert!((energy + 5.5121).abs() < 0.03, "{energy}");
}
