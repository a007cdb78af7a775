//! The GPU's trajectory as an engine: what users see of it.

use warpsmith_device::{DeviceBuffer, LaunchShape};

use super::simulation::CudaSimulation;
use crate::checkpoint::{Precision, State};
use crate::engine::Engine;
use crate::error::Result;
use crate::reference::PairSums;
use crate::start::Atoms;
use crate::thermodynamics::{Motion, Thermodynamics};

impl Engine for CudaSimulation {
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.queue(steps)?;
        self.check_words()
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics> {
        let buffers = &mut self.buffers;
        self.stream.launch(
            &self.kernels.totals,
            LaunchShape::linear(256, 256),
            &[
                buffers.velocities.read(),
                buffers.forces.read(),
                buffers.virials.read(),
                buffers.sums.write(),
            ],
        )?;
        let sums = self.buffers.sums.download(&self.stream)?;
        let motion = Motion {
            atoms: self.atoms,
            twice_kinetic: sums[2],
            momentum: [sums[3], sums[4], sums[5]],
        };
        let pairs = PairSums {
            energy: sums[0],
            virial: sums[1],
        };
        let time = self.step as f64 * self.settings.time_step;
        Ok(Thermodynamics::from_sums(
            self.step, time, &motion, pairs, &self.cell,
        ))
    }

    fn atoms(&mut self) -> Result<Atoms> {
        Ok(Atoms {
            cell: self.cell,
            positions: self.in_user_order(&self.buffers.positions)?,
            velocities: self.in_user_order(&self.buffers.velocities)?,
        })
    }

    fn state(&mut self) -> Result<State> {
        let three = |buffer: &DeviceBuffer<f32>| -> Result<Vec<[f64; 3]>> {
            let values = buffer.download(&self.stream)?;
            let vectors = values.chunks_exact(4).take(self.atoms);
            Ok(vectors.map(|v| [v[0], v[1], v[2]].map(f64::from)).collect())
        };
        Ok(State {
            precision: Precision::F32,
            arithmetic: self.arithmetic(),
            step: self.step,
            rebuilds: self.rebuilds()?,
            settings: self.settings,
            cell: self.cell,
            identities: self.buffers.identities.download(&self.stream)?,
            positions: three(&self.buffers.positions)?,
            losses: three(&self.buffers.losses)?,
            velocities: three(&self.buffers.velocities)?,
            references: three(&self.buffers.references)?,
        })
    }

    fn arithmetic(&self) -> String {
        format!("cuda f32 {} {} lanes", self.name, self.lanes)
    }

    fn memory_bytes(&self) -> u64 {
        self.buffers.bytes()
    }
}
