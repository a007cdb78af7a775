//! Where trajectories start: atoms on a face-centred cubic lattice with Maxwell's velocities.

use warpsmith_workload::random::Random;

use crate::error::{MdError, Result};
use crate::periodic_box::PeriodicBox;
use crate::thermodynamics::degrees_of_freedom;

/// Atoms in a unit cell of the lattice.
pub const FCC_ATOMS: usize = 4;

/// Atoms as a user knows them, in their own order.
#[derive(Clone, Debug, PartialEq)]
pub struct Atoms {
    /// The box they live in.
    pub cell: PeriodicBox,
    /// Where they are.
    pub positions: Vec<[f64; 3]>,
    /// How fast they are.
    pub velocities: Vec<[f64; 3]>,
}

impl Atoms {
    /// `4·cells³` atoms on a lattice of this density, at this temperature.
    pub fn lattice(cells: usize, density: f64, temperature: f64, seed: u64) -> Result<Self> {
        let (cell, positions) = fcc_lattice(cells, density)?;
        let velocities = maxwell_velocities(positions.len(), temperature, seed)?;
        Ok(Self {
            cell,
            positions,
            velocities,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Refuses what is not a number.
    pub fn check_finite(&self) -> Result<()> {
        for (what, values) in [
            ("position", &self.positions),
            ("velocity", &self.velocities),
        ] {
            for (atom, vector) in values.iter().enumerate() {
                if let Some(&value) = vector.iter().find(|value| !value.is_finite()) {
                    return Err(MdError::NotFinite { what, atom, value });
                }
            }
        }
        Ok(())
    }
}

/// `4·cells³` atoms in a cube, each unit cell with one atom at its corner and three on its faces.
pub fn fcc_lattice(cells: usize, density: f64) -> Result<(PeriodicBox, Vec<[f64; 3]>)> {
    const CORNER_AND_FACES: [[f64; 3]; FCC_ATOMS] = [
        [0.0, 0.0, 0.0],
        [0.0, 0.5, 0.5],
        [0.5, 0.0, 0.5],
        [0.5, 0.5, 0.0],
    ];
    // 512³ cells are half a billion atoms; beyond that indices would not fit.
    if !(1..=512).contains(&cells) {
        return Err(MdError::setting(
            "cells",
            cells,
            "between 1 and 512 unit cells to a side",
        ));
    }
    let cell = PeriodicBox::cube(FCC_ATOMS * cells.pow(3), density)?;
    let step = cell.sides[0] / cells as f64;
    let mut positions = Vec::with_capacity(FCC_ATOMS * cells.pow(3));
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                for offset in CORNER_AND_FACES {
                    let corner = [x as f64, y as f64, z as f64];
                    positions.push(std::array::from_fn(|axis| {
                        step * (corner[axis] + offset[axis])
                    }));
                }
            }
        }
    }
    Ok((cell, positions))
}

/// Velocities with normal components, scaled to exactly this temperature and to no momentum.
pub fn maxwell_velocities(atoms: usize, temperature: f64, seed: u64) -> Result<Vec<[f64; 3]>> {
    if !(temperature.is_finite() && temperature >= 0.0) {
        let reason = "a temperature is zero or a positive number";
        return Err(MdError::setting("temperature", temperature, reason));
    }
    let mut random = Random::seeded(seed);
    let mut velocities: Vec<[f64; 3]> = (0..atoms)
        .map(|_| std::array::from_fn(|_| random.normal()))
        .collect();
    for axis in 0..3 {
        let mean = velocities.iter().map(|v| v[axis]).sum::<f64>() / atoms.max(1) as f64;
        velocities.iter_mut().for_each(|v| v[axis] -= mean);
    }
    let squares: f64 = velocities.iter().flatten().map(|v| v * v).sum();
    // One atom alone has no thermal motion left once its momentum is taken away.
    let scale = if squares > 0.0 {
        (temperature * degrees_of_freedom(atoms) / squares).sqrt()
    } else {
        0.0
    };
    velocities.iter_mut().flatten().for_each(|v| *v *= scale);
    Ok(velocities)
}
