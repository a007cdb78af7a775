//! The network on a GPU, in one kernel.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

use super::weights::ForceNetwork;
use crate::error::{MdError, Result};

// SAFETY: `network.cu` takes these in this order, and returns before any access unless each
// buffer is as long as atoms and width ask for; atoms are compared with their number.
static NETWORK: KernelImage = unsafe {
    kernel!("md/network", network(
        in u32, in f32, in f32, in f32, in f32, in f32, in f32, out f32, out u32, u32
    ))
};

/// Threads and atoms of a block, as the kernel insists.
const THREADS: u32 = 512;
const ATOMS_PER_BLOCK: usize = 2;

/// A network on a GPU with the atoms of a call.
pub struct CudaNetwork {
    kernel: Arc<Kernel>,
    stream: Stream,
    atoms: usize,
    hidden: u32,
    species: DeviceBuffer<u32>,
    positions: DeviceBuffer<f32>,
    by_species: DeviceBuffer<f32>,
    coordinates: DeviceBuffer<f32>,
    matrices: DeviceBuffer<f32>,
    biases: DeviceBuffer<f32>,
    heads: DeviceBuffer<f32>,
    results: DeviceBuffer<f32>,
    ticket: DeviceBuffer<u32>,
}

impl CudaNetwork {
    /// Uploads `network` and the atoms of its calls.
    pub fn new(
        gpu: &CudaDevice,
        network: &ForceNetwork,
        species: &[u8],
        positions: &[[f32; 3]],
    ) -> Result<Self> {
        if ![64, 128, 256].contains(&network.hidden) {
            let reason = "the kernel knows 64, 128 and 256";
            return Err(MdError::setting("hidden", network.hidden, reason));
        }
        let species: Vec<u32> = species.iter().map(|&kind| u32::from(kind)).collect();
        let heads: Vec<f32> = network
            .heads
            .iter()
            .chain(&network.heads_bias)
            .copied()
            .collect();
        Ok(Self {
            kernel: gpu.kernel(&NETWORK)?,
            stream: gpu.stream().clone(),
            atoms: positions.len(),
            hidden: network.hidden as u32,
            species: gpu.upload(&species)?,
            positions: gpu.upload(positions.as_flattened())?,
            by_species: gpu.upload(&network.by_species)?,
            coordinates: gpu.upload(network.coordinate_rows())?,
            matrices: gpu.upload(&network.inner.concat())?,
            biases: gpu.upload(&network.inner_bias.concat())?,
            heads: gpu.upload(&heads)?,
            results: gpu.alloc(4 * positions.len() + 1)?,
            ticket: gpu.upload(&[0])?,
        })
    }

    /// Queues a call.
    pub fn queue(&mut self) -> Result<(), DeviceError> {
        let arguments = [
            self.species.read(),
            self.positions.read(),
            self.by_species.read(),
            self.coordinates.read(),
            self.matrices.read(),
            self.biases.read(),
            self.heads.read(),
            self.results.write(),
            self.ticket.write(),
            self.hidden.into(),
        ];
        let blocks = self.atoms.div_ceil(ATOMS_PER_BLOCK);
        let shape = LaunchShape::linear(blocks * THREADS as usize, THREADS);
        self.stream.launch(&self.kernel, shape, &arguments)
    }

    /// The stream that calls are queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the results not numbers.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        self.results.fill_bytes(&self.stream, 0xFF)
    }

    /// Three numbers of force to an atom, then the energy of each, then the energy of all.
    pub fn results(&self) -> Result<Vec<f32>, DeviceError> {
        self.results.download(&self.stream)
    }
}
