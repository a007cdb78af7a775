//! How a trajectory is made: potential, step, lists, thermostat.

use std::f64::consts::PI;

use warpsmith_device::Device;
use warpsmith_lanes::InstructionSet;

use crate::error::{MdError, Result};
use crate::periodic_box::PeriodicBox;
use crate::potential::{LennardJones, Truncation};
use crate::real::Real;
use crate::verlet::Bath;

/// What keeps the temperature.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Thermostat {
    /// Nothing: the energy is constant (NVE).
    #[default]
    None,
    /// Friction and noise on every atom (NVT).
    Langevin {
        /// The temperature that is kept.
        temperature: f64,
        /// Friction, one over a time.
        friction: f64,
        /// Seed of the noise.
        seed: u64,
    },
}

impl Thermostat {
    pub(crate) fn bath<R: Real>(&self, settings: &Settings, step: u64) -> Option<Bath<R>> {
        let Self::Langevin {
            temperature,
            friction,
            seed,
        } = *self
        else {
            return None;
        };
        let damping = (-friction * settings.time_step).exp();
        Some(Bath {
            damping: R::of(damping),
            noise: (temperature * (1.0 - damping * damping)).sqrt(),
            seed,
            step,
        })
    }
}

/// Everything about a trajectory but its atoms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Settings {
    /// The potential.
    pub potential: LennardJones,
    /// Time step.
    pub time_step: f64,
    /// How much further than the cut-off lists reach.
    pub skin: f64,
    /// What keeps the temperature.
    pub thermostat: Thermostat,
    /// Instructions of the CPU.
    #[serde(serialize_with = "crate::instructions::serialize")]
    pub instructions: InstructionSet,
    /// Whether atoms are kept in the order of their cells.
    pub sort: bool,
    /// Whether lists are used for several steps.
    pub reuse_list: bool,
}

impl Settings {
    /// LAMMPS' `bench/in.lj`: cut-off 2.5, time step 0.005, no thermostat; a skin that is best here.
    pub fn standard() -> Self {
        Self {
            potential: LennardJones {
                cutoff: 2.5,
                truncation: Truncation::Cut,
            },
            time_step: 0.005,
            skin: 0.4,
            thermostat: Thermostat::None,
            instructions: InstructionSet::widest(),
            sort: true,
            reuse_list: true,
        }
    }

    /// [`Settings::standard`] with the skin that is fastest on `device`: on a GPU longer lists cost
    /// less than making them more often.
    pub fn for_device(device: &Device) -> Self {
        Self {
            skin: match device {
                Device::Cpu(_) => 0.4,
                Device::Cuda(_) | Device::Vulkan(_) => 0.6,
            },
            ..Self::standard()
        }
    }

    /// How far lists reach.
    pub fn reach(&self) -> f64 {
        self.potential.cutoff + self.skin
    }

    /// Entries of an atom's list in a uniform fluid.
    pub(crate) fn expected_neighbours(&self, cell: &PeriodicBox, atoms: usize) -> usize {
        let density = atoms as f64 / cell.volume();
        let most = atoms.saturating_sub(1);
        ((4.0 / 3.0 * PI * self.reach().powi(3) * density).ceil() as usize).min(most)
    }

    /// Refuses what makes no trajectory.
    pub(crate) fn check(&self, cell: &PeriodicBox, atoms: usize) -> Result<()> {
        let bad = |name, value: f64, reason: &str| Err(MdError::setting(name, value, reason));
        if !(self.time_step.is_finite() && self.time_step > 0.0) {
            return bad("time step", self.time_step, "a positive number");
        }
        if !(self.skin.is_finite() && self.skin > 0.0) {
            return bad("skin", self.skin, "a positive number; 0.3 to 0.5 is usual");
        }
        LennardJones::new(self.potential.cutoff, self.potential.truncation)?;
        if atoms == 0 {
            return Err(MdError::setting("atoms", 0, "there must be at least one"));
        }
        if atoms > (1 << 30) - 2 {
            return Err(MdError::setting("atoms", atoms, "at most 1,073,741,822"));
        }
        if 2.0 * self.reach() > cell.shortest() {
            let reason = format!(
                "cut-off and skin must be at most half the shortest side of the box, {:.4}",
                cell.shortest()
            );
            return bad("cut-off + skin", self.reach(), &reason);
        }
        if let Thermostat::Langevin {
            temperature,
            friction,
            ..
        } = self.thermostat
        {
            if !(temperature.is_finite() && temperature >= 0.0) {
                return bad("temperature", temperature, "zero or a positive number");
            }
            if !(friction.is_finite() && friction >= 0.0) {
                return bad("friction", friction, "zero or a positive number");
            }
        }
        Ok(())
    }
}
