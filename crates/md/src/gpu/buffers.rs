//! What a trajectory holds on the device; all of it is taken at the start.

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError};

/// Words of the device's own state, as the kernels number them.
pub(super) const STATE_WORDS: usize = 8;

/// Vectors have four numbers to an atom; `positions` have one more that is not a number.
pub(super) struct Buffers {
    pub(super) positions: DeviceBuffer<f32>,
    pub(super) losses: DeviceBuffer<f32>,
    pub(super) velocities: DeviceBuffer<f32>,
    pub(super) forces: DeviceBuffer<f32>,
    pub(super) references: DeviceBuffer<f32>,
    pub(super) virials: DeviceBuffer<f32>,
    pub(super) identities: DeviceBuffer<u32>,
    pub(super) new_positions: DeviceBuffer<f32>,
    pub(super) new_losses: DeviceBuffer<f32>,
    pub(super) new_velocities: DeviceBuffer<f32>,
    pub(super) new_identities: DeviceBuffer<u32>,
    pub(super) cells: DeviceBuffer<u32>,
    pub(super) ranks: DeviceBuffer<u32>,
    pub(super) order: DeviceBuffer<u32>,
    pub(super) counts: DeviceBuffer<u32>,
    pub(super) starts: DeviceBuffer<u32>,
    pub(super) entries: DeviceBuffer<u32>,
    pub(super) lengths: DeviceBuffer<u32>,
    pub(super) state: DeviceBuffer<u32>,
    pub(super) sums: DeviceBuffer<f64>,
}

impl Buffers {
    /// Room for as many atoms as there are `identities`, for `cells` cells, and for lists of
    /// `entries` entries in all.
    pub(super) fn take(
        gpu: &CudaDevice,
        identities: &[u32],
        cells: usize,
        entries: usize,
    ) -> Result<Self, DeviceError> {
        let atoms = identities.len();
        Ok(Self {
            positions: gpu.alloc(4 * atoms + 4)?,
            losses: gpu.upload(&vec![0.0; 4 * atoms])?,
            velocities: gpu.alloc(4 * atoms)?,
            forces: gpu.alloc(4 * atoms)?,
            references: gpu.alloc(4 * atoms)?,
            virials: gpu.alloc(atoms)?,
            identities: gpu.upload(identities)?,
            new_positions: gpu.alloc(4 * atoms)?,
            new_losses: gpu.alloc(4 * atoms)?,
            new_velocities: gpu.alloc(4 * atoms)?,
            new_identities: gpu.alloc(atoms)?,
            cells: gpu.alloc(atoms)?,
            ranks: gpu.alloc(atoms)?,
            order: gpu.alloc(atoms)?,
            counts: gpu.upload(&vec![0; cells])?,
            starts: gpu.alloc(cells + 1)?,
            entries: gpu.alloc(entries)?,
            lengths: gpu.alloc(atoms)?,
            state: gpu.upload(&[0; STATE_WORDS])?,
            sums: gpu.alloc(6)?,
        })
    }

    /// Size of all of them.
    pub(super) fn bytes(&self) -> u64 {
        let numbers = [
            &self.positions,
            &self.losses,
            &self.velocities,
            &self.forces,
            &self.references,
            &self.virials,
            &self.new_positions,
            &self.new_losses,
            &self.new_velocities,
        ];
        let words = [
            &self.identities,
            &self.new_identities,
            &self.cells,
            &self.ranks,
            &self.order,
            &self.counts,
            &self.starts,
            &self.entries,
            &self.lengths,
            &self.state,
        ];
        let numbers: usize = numbers.iter().map(|buffer| buffer.bytes()).sum();
        let words: usize = words.iter().map(|buffer| buffer.bytes()).sum();
        (numbers + words + self.sums.bytes()) as u64
    }
}
