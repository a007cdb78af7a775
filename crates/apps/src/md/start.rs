//! Where a run of `warpsmith md` begins: a lattice, a file of atoms, or a checkpoint.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_core::Finding;
use warpsmith_device::{CpuDevice, Device, DeviceError};
use warpsmith_md::{
    Atoms, Checkpoint, CudaSimulation, Engine, LennardJones, PeriodicBox, Precision, Settings,
    Simulation, State, Thermostat, Truncation, maxwell_velocities, mixed_arithmetic, read_frame,
};

use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Atoms, forces and thermostat of a run.
#[derive(Args)]
pub(super) struct Start {
    /// Atoms of a face-centred cubic lattice to start from, rounded to a whole one (4·c³).
    #[arg(long, default_value_t = 4000, conflicts_with_all = ["input", "restart"])]
    atoms: usize,
    /// Start from the last frame of an XYZ or extended XYZ file.
    #[arg(long, value_name = "FILE", conflicts_with = "restart", value_parser = inputs::file())]
    input: Option<PathBuf>,
    /// Sides of the box, `x,y,z`, where the file names none.
    #[arg(
        hide_short_help = true,
        long = "box",
        value_name = "X,Y,Z",
        value_delimiter = ',',
        requires = "input"
    )]
    sides: Option<Vec<f64>>,
    /// Continue from a checkpoint; everything but `--steps` and the output comes from it.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    restart: Option<PathBuf>,
    /// Atoms in a cubic σ.
    #[arg(long, default_value_t = 0.8442, allow_negative_numbers = true)]
    density: f64,
    /// Temperature of the start, and of the thermostat.
    #[arg(long, default_value_t = 1.44, allow_negative_numbers = true)]
    temperature: f64,
    /// Time step.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true)]
    dt: f64,
    /// Where the potential ends.
    #[arg(
        hide_short_help = true,
        long,
        default_value_t = 2.5,
        allow_negative_numbers = true
    )]
    cutoff: f64,
    /// How much further neighbour lists reach; default: what is fastest on the device.
    #[arg(hide_short_help = true, long, allow_negative_numbers = true)]
    skin: Option<f64>,
    /// What is done about the step of the energy at the cut-off.
    #[arg(hide_short_help = true, long, value_enum, default_value_t = Truncate::Cut)]
    truncation: Truncate,
    /// What keeps the temperature.
    #[arg(long, value_enum, default_value_t = Keep::None)]
    thermostat: Keep,
    /// Friction of the Langevin thermostat.
    #[arg(
        hide_short_help = true,
        long,
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    friction: f64,
    /// Seed of velocities and thermostat.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Numbers of the trajectory; GPUs have f32.
    #[arg(hide_short_help = true, long, value_enum, default_value_t = Numbers::F32)]
    precision: Numbers,
}

#[derive(Clone, Copy, ValueEnum)]
enum Truncate {
    /// Nothing, as in LAMMPS' lj/cut and NIST's tables.
    Cut,
    /// The energy is shifted to zero.
    Shift,
    /// Energy and force are shifted to zero: conserves energy best.
    ForceShift,
}

#[derive(Clone, Copy, ValueEnum)]
enum Keep {
    /// Nothing (NVE).
    None,
    /// Friction and noise on every atom (NVT).
    Langevin,
}

#[derive(Clone, Copy, ValueEnum)]
enum Numbers {
    F32,
    F64,
}

/// What a run starts from.
pub(super) enum Source {
    /// Atoms with velocities.
    Atoms(Atoms),
    /// A run that was left.
    Left(Box<State>),
}

impl Source {
    pub(super) fn atoms(&self) -> usize {
        match self {
            Self::Atoms(atoms) => atoms.len(),
            Self::Left(state) => state.identities.len(),
        }
    }
}

/// A trajectory that is ready to go on.
pub(super) struct Started {
    pub(super) engine: Box<dyn Engine>,
    pub(super) settings: Settings,
    pub(super) precision: Precision,
    pub(super) atoms: usize,
    pub(super) findings: Vec<Finding>,
}

impl Start {
    /// Reads or makes what was requested.
    pub(super) fn source(&self, global: &Global) -> Result<Source> {
        Ok(match (&self.restart, &self.input) {
            (Some(path), _) => Source::Left(Box::new(Checkpoint::read(path)?)),
            (None, Some(path)) => Source::Atoms(self.read_atoms(global, path)?),
            (None, None) => Source::Atoms(self.lattice(global)?),
        })
    }

    /// The numbers of the trajectory.
    pub(super) fn precision(&self, source: &Source) -> Precision {
        match (source, self.precision) {
            (Source::Left(state), _) => state.precision,
            (Source::Atoms(_), Numbers::F32) => Precision::F32,
            (Source::Atoms(_), Numbers::F64) => Precision::F64,
        }
    }

    /// Opens it on `device`.
    pub(super) fn open(&self, source: &Source, device: &Device) -> Result<Started> {
        let atoms = match source {
            Source::Left(state) => return resume(device, state),
            Source::Atoms(atoms) => atoms,
        };
        let settings = self.settings(device);
        let precision = self.precision(source);
        let engine: Box<dyn Engine> = match (device, precision) {
            (Device::Cpu(cpu), Precision::F32) => {
                Box::new(Simulation::<f32>::new(cpu, atoms, settings)?)
            }
            (Device::Cpu(cpu), Precision::F64) => {
                Box::new(Simulation::<f64>::new(cpu, atoms, settings)?)
            }
            (Device::Cuda(gpu), Precision::F32) => {
                Box::new(CudaSimulation::new(gpu, atoms, settings, true)?)
            }
            (Device::Vulkan(_), _) => bail!(DeviceError::NotOnVulkan { what: "`md`" }),
            (Device::Cuda(_), Precision::F64) => {
                bail!(
                    "trajectories on a GPU are f32; add `--device cpu`, or leave `--precision` out"
                )
            }
        };
        Ok(Started {
            engine,
            settings,
            precision,
            atoms: atoms.len(),
            findings: Vec::new(),
        })
    }

    fn settings(&self, device: &Device) -> Settings {
        let standard = Settings::for_device(device);
        Settings {
            potential: LennardJones {
                cutoff: self.cutoff,
                truncation: match self.truncation {
                    Truncate::Cut => Truncation::Cut,
                    Truncate::Shift => Truncation::Shift,
                    Truncate::ForceShift => Truncation::ForceShift,
                },
            },
            time_step: self.dt,
            skin: self.skin.unwrap_or(standard.skin),
            thermostat: match self.thermostat {
                Keep::None => Thermostat::None,
                Keep::Langevin => Thermostat::Langevin {
                    temperature: self.temperature,
                    friction: self.friction,
                    seed: self.seed,
                },
            },
            ..standard
        }
    }

    fn lattice(&self, global: &Global) -> Result<Atoms> {
        if self.atoms == 0 {
            bail!("`--atoms 0` leaves nothing to simulate");
        }
        let cells = ((self.atoms as f64 / 4.0).cbrt().round() as usize).max(1);
        let atoms = Atoms::lattice(cells, self.density, self.temperature, self.seed)?;
        if atoms.len() != self.atoms {
            let (made, asked) = (atoms.len(), self.atoms);
            let note = format!("{made} atoms: the whole lattice that is nearest to {asked}");
            output::note(global, &note);
        }
        Ok(atoms)
    }

    fn read_atoms(&self, global: &Global, path: &Path) -> Result<Atoms> {
        let cell = match self.sides.as_deref() {
            Some(&[x, y, z]) => Some(PeriodicBox::new([x, y, z])?),
            Some(sides) => bail!("`--box` takes three sides, {} were given", sides.len()),
            None => None,
        };
        let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let mut file = BufReader::new(file);
        let (mut last, mut line) = (None, 0);
        while let Some(frame) = read_frame(&mut file, path, line, cell)? {
            line += frame.atoms.len() + 2;
            last = Some(frame);
        }
        let Some(frame) = last else {
            bail!("`{}` holds no atoms", path.display());
        };
        let mut atoms = frame.atoms;
        if !frame.has_velocities {
            output::note(
                global,
                &format!(
                    "`{}` has no velocities; drawn at temperature {}",
                    path.display(),
                    self.temperature
                ),
            );
            atoms.velocities = maxwell_velocities(atoms.len(), self.temperature, self.seed)?;
        }
        Ok(atoms)
    }
}

fn resume(device: &Device, state: &State) -> Result<Started> {
    let on_cpu = |cpu: &CpuDevice| -> Result<Box<dyn Engine>> {
        Ok(match state.precision {
            Precision::F32 => Box::new(Simulation::<f32>::resume(cpu, state)?),
            Precision::F64 => Box::new(Simulation::<f64>::resume(cpu, state)?),
        })
    };
    let engine = match device {
        Device::Cpu(cpu) => on_cpu(cpu)?,
        Device::Cuda(gpu) => Box::new(CudaSimulation::resume(gpu, state, true)?),
        Device::Vulkan(_) => bail!(DeviceError::NotOnVulkan { what: "`md`" }),
    };
    let findings = mixed_arithmetic(&state.arithmetic, &engine.arithmetic());
    Ok(Started {
        engine,
        settings: state.settings,
        precision: state.precision,
        atoms: state.identities.len(),
        findings: findings.into_iter().collect(),
    })
}
