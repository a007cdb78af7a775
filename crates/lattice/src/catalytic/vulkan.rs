//! The programme in Vulkan memory that somebody else has filled, recorded as one submission.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::VulkanDevice;
use warpsmith_execution::{VulkanFunction, VulkanWork, WorkArgument, WorkLaunch};
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::programme::{Direction, Walks};
use super::workload::{ID, output};
use crate::error::failed as refused;
use crate::vulkan::failed;

const SOURCE: &str = include_str!("catalytic.py");

/// The two halves of the borrowed memory, then two readings and what the word at the source was, and the
/// rows of bits that say which cells are open.
const A: usize = 0;
const B: usize = 1;
const READINGS: usize = 2;
const OPEN: usize = 3;

/// Borrowed memory on a Vulkan device.
#[derive(Debug)]
pub struct VulkanBorrow {
    work: VulkanWork,
}

impl VulkanBorrow {
    /// Uploads the memory that is lent, and records the programme.
    pub fn new(
        device: &VulkanDevice,
        walks: &Walks,
        a: &[u32],
        b: &[u32],
    ) -> Result<Self, WorkloadError> {
        let shape = walks.shape;
        let (dim, cells) = (shape.extents().to_vec(), shape.cells());
        walks.check_halves(a, b).map_err(refused(ID))?;
        let compiled = |name| VulkanFunction::compile(device, SOURCE, name).map_err(failed(ID));
        let word = compiled("feistel_word")?;
        let mut buffers = vec![
            device.upload(cast_slice(a))?,
            device.upload(cast_slice(b))?,
            device.upload(&[0; 12])?,
        ];
        let mut open = None;
        let pass = match &walks.obstacles {
            Some(obstacles) => {
                let mut rows = dim.clone();
                rows[2] = rows[2].div_ceil(32);
                buffers.push(device.upload(cast_slice(obstacles.words()))?);
                open = Some(WorkArgument::Array(OPEN, rows));
                compiled("feistel_masked")?
            }
            None => compiled("feistel")?,
        };
        let sweep = |from: usize, to: usize, direction: Direction| {
            let halves = [from, to].map(|half| WorkArgument::Array(half, dim.clone()));
            let sign = WorkArgument::Int(i64::from(direction.sign()));
            WorkLaunch {
                function: &pass,
                dim: dim.clone(),
                arguments: halves
                    .into_iter()
                    .chain(open.clone())
                    .chain([sign])
                    .collect(),
            }
        };
        let read_and_add = |array: usize, at: usize, delta: u32, slot: i64| WorkLaunch {
            function: &word,
            dim: vec![1],
            arguments: vec![
                WorkArgument::Array(array, vec![cells]),
                WorkArgument::Int(at as i64),
                WorkArgument::Int(i64::from(delta)),
                WorkArgument::Array(READINGS, vec![3]),
                WorkArgument::Int(slot),
            ],
        };
        let (source, tap) = (shape.index(walks.source), shape.index(walks.tap));
        let tapped = if walks.read_from_b() { B } else { A };
        let launches = [
            sweep(A, B, Direction::Forward),
            sweep(B, A, Direction::Forward),
            sweep(A, B, Direction::Undo),
            sweep(B, A, Direction::Undo),
            read_and_add(tapped, tap, 0, 0),
            read_and_add(tapped, tap, 0, 1),
            read_and_add(A, source, 1, 2),
            read_and_add(A, source, u32::MAX, 2),
        ];
        let sweeps = |step: u32, undo: usize| 2 * undo + usize::from(!Walks::changes_b(step));
        let mut steps = Vec::new();
        for (reading, change) in [(4, 6), (5, 7)] {
            steps.extend((0..walks.steps).map(|step| sweeps(step, 0)));
            steps.push(reading);
            steps.extend((0..walks.steps).rev().map(|step| sweeps(step, 1)));
            steps.push(change);
        }
        let work = VulkanWork::new(device, buffers, &launches, &steps).map_err(failed(ID))?;
        Ok(Self { work })
    }

    /// What the last run counted.
    pub fn count(&self) -> Result<u32, WorkloadError> {
        let readings: Vec<u32> = self.work.output(READINGS).map_err(failed(ID))?;
        Ok(readings[1].wrapping_sub(readings[0]))
    }

    /// The two halves of the borrowed memory.
    pub fn memory(&self) -> Result<(Vec<u32>, Vec<u32>), WorkloadError> {
        let read = |at| self.work.output(at).map_err(failed(ID));
        Ok((read(A)?, read(B)?))
    }
}

impl Prepared for VulkanBorrow {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.work.run().map_err(failed(ID))
    }

    fn device_seconds(&self) -> Option<f64> {
        self.work.seconds()
    }

    fn set_limit(&mut self, limit: Duration) {
        self.work.set_limit(limit);
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // The borrowed memory is not ours to poison.
        self.work.poison(READINGS).map_err(failed(ID))
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let (a, b) = self.memory()?;
        Ok(output(self.count()?, &a, &b))
    }
}
