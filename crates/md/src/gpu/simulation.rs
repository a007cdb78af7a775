//! A Lennard-Jones trajectory on a GPU: everything stays on the device, and a step is a graph.
//!
//! Invariants: `f32`; the host reads back only what is requested, and the few words that say whether
//! something went wrong; nothing is allocated after the start.

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Graph, Stream};

use super::buffers::{Buffers, STATE_WORDS};
use super::kernels::Kernels;
use crate::cell_grid::CellGrid;
use crate::checkpoint::{Precision, State};
use crate::error::{MdError, Result};
use crate::overlap::check_overlap;
use crate::periodic_box::PeriodicBox;
use crate::settings::Settings;
use crate::start::Atoms;

/// Places in the device's own state, as the kernels number them.
const REBUILD: usize = 0;
const BLOWN: usize = 1;
const CROWDED: usize = 2;
const REBUILDS: usize = 3;
const STEP: usize = 4;
const BLOWN_STEP: usize = 6;

/// Steps of the long graph: its launch costs the host about as much as that of a single step.
const STEPS_PER_GRAPH: u64 = 16;
/// No fluid is locally denser than this; a crystal under pressure is reported as crowded.
const DENSEST: f64 = 1.4;

/// A trajectory in progress on a GPU.
pub struct CudaSimulation {
    pub(super) stream: Stream,
    pub(super) kernels: Kernels,
    pub(super) buffers: Buffers,
    pub(super) settings: Settings,
    pub(super) cell: PeriodicBox,
    pub(super) grid: CellGrid,
    pub(super) atoms: usize,
    /// Threads that share an atom, and entries that its list has room for.
    pub(super) lanes: u32,
    pub(super) room: u32,
    pub(super) graphs: Option<(Graph, Graph)>,
    pub(super) step: u64,
    pub(super) name: String,
}

impl CudaSimulation {
    /// Starts at step zero from `atoms`. With `graph` steps are recorded once and launched as one.
    pub fn new(gpu: &CudaDevice, atoms: &Atoms, settings: Settings, graph: bool) -> Result<Self> {
        settings.check(&atoms.cell, atoms.len())?;
        atoms.check_finite()?;
        check_overlap(atoms)?;
        let identities: Vec<u32> = (0..atoms.len() as u32).collect();
        let mut simulation = Self::empty(gpu, atoms.cell, settings, &identities)?;
        let (positions, velocities) = (&atoms.positions, &atoms.velocities);
        simulation.place_atoms(positions, velocities, None)?;
        simulation.record(graph)?;
        Ok(simulation)
    }

    /// Continues from a checkpoint.
    pub fn resume(gpu: &CudaDevice, state: &State, graph: bool) -> Result<Self> {
        state.settings.check(&state.cell, state.identities.len())?;
        if state.precision != Precision::F32 {
            let reason = "trajectories on a GPU are f32; restart this one with `--device cpu`";
            return Err(MdError::setting("precision", "f64", reason));
        }
        let mut simulation = Self::empty(gpu, state.cell, state.settings, &state.identities)?;
        simulation.step = state.step;
        let stream = simulation.stream.clone();
        let losses = four_each(&state.losses);
        simulation.buffers.losses.upload(&stream, &losses)?;
        simulation.place_atoms(&state.references, &state.velocities, Some(&state.positions))?;
        let mut words = simulation.words()?;
        words[REBUILDS] = state.rebuilds as u32;
        simulation.buffers.state.upload(&stream, &words)?;
        simulation.record(graph)?;
        Ok(simulation)
    }

    fn empty(
        gpu: &CudaDevice,
        cell: PeriodicBox,
        settings: Settings,
        identities: &[u32],
    ) -> Result<Self> {
        let atoms = identities.len();
        let grid = CellGrid::new(&cell, settings.reach());
        // Small systems need every thread they can get; large ones have enough atoms to fill the
        // device, and fewer lanes waste less of a list's end.
        let lanes: u32 = match atoms {
            0..=20_000 => 16,
            20_001..=200_000 => 8,
            _ => 4,
        };
        let padding = 4 * lanes;
        let volume = 4.0 / 3.0 * std::f64::consts::PI * settings.reach().powi(3);
        let density = (atoms as f64 / cell.volume()).max(DENSEST);
        let most = (volume * density).ceil().min(atoms as f64) as u32;
        let room = (most + 8).next_multiple_of(padding);
        let entries = atoms
            .checked_mul(room as usize)
            .ok_or_else(|| MdError::setting("atoms", atoms, "their lists have no size"))?;
        Ok(Self {
            stream: gpu.stream().clone(),
            kernels: Kernels::load(gpu)?,
            buffers: Buffers::take(gpu, identities, grid.len(), entries)?,
            settings,
            cell,
            grid,
            atoms,
            lanes,
            room,
            graphs: None,
            step: 0,
            name: gpu.facts().name.clone(),
        })
    }

    /// Uploads atoms, makes their lists from `listed` and computes the forces at `positions`, or at
    /// `listed` where there are none.
    fn place_atoms(
        &mut self,
        listed: &[[f64; 3]],
        velocities: &[[f64; 3]],
        positions: Option<&[[f64; 3]]>,
    ) -> Result<()> {
        let stream = self.stream.clone();
        let mut words = [0u32; STATE_WORDS];
        words[REBUILD] = 1;
        words[STEP] = self.step as u32;
        words[STEP + 1] = (self.step >> 32) as u32;
        let buffers = &mut self.buffers;
        buffers.state.upload(&stream, &words)?;
        buffers.positions.upload(&stream, &with_nobody(listed))?;
        buffers.velocities.upload(&stream, &four_each(velocities))?;
        self.queue_lists()?;
        if let Some(positions) = positions {
            self.buffers
                .positions
                .upload(&stream, &with_nobody(positions))?;
        }
        self.queue_force(0.0, 0)?;
        self.check_words()
    }

    fn record(&mut self, graph: bool) -> Result<()> {
        if graph {
            let stream = self.stream.clone();
            let one = stream.capture(|_| self.queue_step())?;
            let many =
                stream.capture(|_| (0..STEPS_PER_GRAPH).try_for_each(|_| self.queue_step()))?;
            self.graphs = Some((one, many));
        }
        Ok(())
    }

    /// The stream that steps are queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Queues `steps` steps and does not wait for them.
    pub fn queue(&mut self, steps: u64) -> Result<(), DeviceError> {
        let mut left = steps;
        while left > 0 {
            match &self.graphs {
                Some((_, many)) if left >= STEPS_PER_GRAPH => {
                    many.launch(&self.stream)?;
                    left -= STEPS_PER_GRAPH;
                }
                Some((one, _)) => {
                    one.launch(&self.stream)?;
                    left -= 1;
                }
                None => {
                    self.queue_step()?;
                    left -= 1;
                }
            }
        }
        self.step += steps;
        Ok(())
    }

    fn words(&self) -> Result<[u32; STATE_WORDS]> {
        let mut words = [0; STATE_WORDS];
        self.buffers.state.download_into(&self.stream, &mut words)?;
        Ok(words)
    }

    /// Waits, and says what went wrong on the device.
    pub(super) fn check_words(&mut self) -> Result<()> {
        let words = self.words()?;
        if words[CROWDED] != 0 {
            return Err(MdError::CrowdedList {
                found: words[CROWDED],
                room: self.room,
            });
        }
        if words[BLOWN] != 0 {
            let low = u64::from(words[BLOWN_STEP]);
            return Err(MdError::BlowUp {
                step: (self.step >> 32 << 32) | low,
                moved: f64::from(f32::from_bits(words[BLOWN])).sqrt(),
            });
        }
        Ok(())
    }

    /// Waits for what is queued, and fails where the device found an atom gone or a list too long.
    pub fn check(&mut self) -> Result<()> {
        self.check_words()
    }

    /// Makes everything that is only scratch not numbers: what a kernel reads of it without having
    /// written it shows in the trajectory.
    pub(crate) fn poison_scratch(&mut self) -> Result<(), DeviceError> {
        let (stream, buffers) = (&self.stream, &mut self.buffers);
        buffers.virials.fill_bytes(stream, 0xFF)?;
        buffers.new_positions.fill_bytes(stream, 0xFF)?;
        buffers.new_losses.fill_bytes(stream, 0xFF)?;
        buffers.new_velocities.fill_bytes(stream, 0xFF)?;
        buffers.new_identities.fill_bytes(stream, 0xFF)?;
        buffers.order.fill_bytes(stream, 0xFF)?;
        buffers.ranks.fill_bytes(stream, 0xFF)
    }

    /// How often the lists were made.
    pub fn rebuilds(&self) -> Result<u64> {
        Ok(u64::from(self.words()?[REBUILDS]))
    }

    /// The force on each atom, in the user's order.
    pub fn forces(&self) -> Result<Vec<[f64; 3]>> {
        self.in_user_order(&self.buffers.forces)
    }

    pub(super) fn in_user_order(&self, vectors: &DeviceBuffer<f32>) -> Result<Vec<[f64; 3]>> {
        let identities = self.buffers.identities.download(&self.stream)?;
        let values = vectors.download(&self.stream)?;
        let mut ordered = vec![[0.0; 3]; self.atoms];
        for (vector, identity) in values.chunks_exact(4).zip(identities) {
            if let Some(slot) = ordered.get_mut(identity as usize) {
                *slot = [vector[0], vector[1], vector[2]].map(f64::from);
            }
        }
        Ok(ordered)
    }
}

/// Four numbers to an atom.
fn four_each(vectors: &[[f64; 3]]) -> Vec<f32> {
    vectors
        .iter()
        .flat_map(|&[x, y, z]| [x as f32, y as f32, z as f32, 0.0])
        .collect()
}

/// Four numbers to an atom, and the atom that is none.
fn with_nobody(vectors: &[[f64; 3]]) -> Vec<f32> {
    let mut values = four_each(vectors);
    values.extend([f32::NAN; 4]);
    values
}
