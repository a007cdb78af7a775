//! The launches of a step: drift, lists where they are due, forces.

use warpsmith_device::{DeviceError, LaunchShape};

use super::simulation::CudaSimulation;
use crate::settings::Thermostat;
use crate::verlet::Bath;

/// Threads of a block.
const THREADS: u32 = 128;
/// Most blocks of a kernel that strides: 16 to a multiprocessor of the largest GPUs.
const MOST_BLOCKS: u32 = 2112;

impl CudaSimulation {
    pub(super) fn queue_step(&mut self) -> Result<(), DeviceError> {
        self.queue_drift()?;
        self.queue_lists()?;
        self.queue_force(0.5 * self.settings.time_step as f32, 1)
    }

    fn queue_drift(&mut self) -> Result<(), DeviceError> {
        let (settings, buffers) = (&self.settings, &mut self.buffers);
        let bath: Option<Bath<f32>> = settings.thermostat.bath(settings, 0);
        let (damping, noise) = bath.map_or((1.0, 0.0), |bath| (bath.damping, bath.noise as f32));
        let seed = match settings.thermostat {
            Thermostat::Langevin { seed, .. } => seed,
            Thermostat::None => 0,
        };
        let limit = 0.5 * settings.potential.cutoff;
        // A list that is not to be kept is remade whatever the motion.
        let rebuild_square = if settings.reuse_list {
            (0.25 * settings.skin * settings.skin) as f32
        } else {
            -1.0
        };
        let arguments = [
            buffers.positions.write(),
            buffers.losses.write(),
            buffers.velocities.write(),
            buffers.forces.read(),
            buffers.references.read(),
            buffers.identities.read(),
            buffers.state.write(),
            (settings.time_step as f32).into(),
            rebuild_square.into(),
            ((limit * limit) as f32).into(),
            u32::from(bath.is_some()).into(),
            damping.into(),
            noise.into(),
            (seed as u32).into(),
            ((seed >> 32) as u32).into(),
        ];
        let shape = LaunchShape::linear(self.atoms, THREADS);
        self.stream.launch(&self.kernels.drift, shape, &arguments)
    }

    pub(super) fn queue_lists(&mut self) -> Result<(), DeviceError> {
        let (kernels, buffers, stream) = (&self.kernels, &mut self.buffers, &self.stream);
        let [nx, ny, nz] = self.grid.cells.map(|count| count as u32);
        let [x, y, z] = self.cell.sides.map(|side| side as f32);
        // Few blocks that stride: most steps they only look at the state and leave.
        let shape = |threads: usize| {
            let mut shape = LaunchShape::linear(threads, THREADS);
            shape.grid[0] = shape.grid[0].min(MOST_BLOCKS);
            shape
        };
        stream.launch(
            &kernels.bin,
            shape(self.atoms),
            &[
                buffers.positions.write(),
                buffers.cells.write(),
                buffers.ranks.write(),
                buffers.counts.write(),
                buffers.state.read(),
                x.into(),
                y.into(),
                z.into(),
                nx.into(),
                ny.into(),
                nz.into(),
            ],
        )?;
        stream.launch(
            &kernels.scan,
            LaunchShape::linear(1024, 1024),
            &[
                buffers.counts.write(),
                buffers.starts.write(),
                buffers.state.write(),
            ],
        )?;
        stream.launch(
            &kernels.place,
            shape(self.atoms),
            &[
                buffers.cells.read(),
                buffers.ranks.read(),
                buffers.starts.read(),
                buffers.order.write(),
                buffers.state.read(),
            ],
        )?;
        stream.launch(
            &kernels.arrange,
            shape(self.atoms),
            &[
                buffers.cells.read(),
                buffers.starts.read(),
                buffers.order.read(),
                buffers.positions.read(),
                buffers.losses.read(),
                buffers.velocities.read(),
                buffers.identities.read(),
                buffers.new_positions.write(),
                buffers.new_losses.write(),
                buffers.new_velocities.write(),
                buffers.new_identities.write(),
                buffers.state.read(),
            ],
        )?;
        let reach = self.settings.reach();
        stream.launch(
            &kernels.list,
            shape(self.atoms.saturating_mul(32)),
            &[
                buffers.new_positions.read(),
                buffers.new_losses.read(),
                buffers.new_velocities.read(),
                buffers.new_identities.read(),
                buffers.starts.read(),
                buffers.positions.write(),
                buffers.losses.write(),
                buffers.velocities.write(),
                buffers.identities.write(),
                buffers.references.write(),
                buffers.entries.write(),
                buffers.lengths.write(),
                buffers.state.write(),
                x.into(),
                y.into(),
                z.into(),
                ((reach * reach) as f32).into(),
                nx.into(),
                ny.into(),
                nz.into(),
                self.room.into(),
                (4 * self.lanes).into(),
            ],
        )
    }

    pub(super) fn queue_force(&mut self, kick: f32, advance: u32) -> Result<(), DeviceError> {
        let [x, y, z] = self.cell.sides.map(|side| side as f32);
        let potential = &self.settings.potential;
        let (energy_shift, force_shift) = potential.shifts();
        let buffers = &mut self.buffers;
        let arguments = [
            buffers.positions.read(),
            buffers.entries.read(),
            buffers.lengths.read(),
            buffers.velocities.write(),
            buffers.forces.write(),
            buffers.virials.write(),
            buffers.state.write(),
            x.into(),
            y.into(),
            z.into(),
            ((potential.cutoff * potential.cutoff) as f32).into(),
            (energy_shift as f32).into(),
            (force_shift as f32).into(),
            kick.into(),
            self.room.into(),
            self.lanes.into(),
            advance.into(),
        ];
        let threads = self.atoms.saturating_mul(self.lanes as usize);
        let shape = LaunchShape::linear(threads, THREADS);
        self.stream.launch(&self.kernels.force, shape, &arguments)
    }
}
