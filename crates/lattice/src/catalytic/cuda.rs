//! The programme in device memory that somebody else has filled.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

use super::programme::{Direction, Walks};
use crate::error::LatticeError;
use crate::shape::Shape;

/// Source, target, obstacles; extents and chunk; sign; which end to begin at.
const ARRAYS: &[Parameter] = &[
    Parameter::In(Element::U32),
    Parameter::Out(Element::U32),
    Parameter::In(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
];

// SAFETY: `catalytic.cu` takes the parameters of `ARRAYS`; it returns unless the arrays hold
// nx·ny·nz words and the obstacles, where there are any, all rows; accesses are inside.
static PLAIN: KernelImage = unsafe { kernel!("lattice/catalytic", feistel: ARRAYS) };

// SAFETY: as above.
static GROUPED: KernelImage = unsafe { kernel!("lattice/catalytic", feistel4: ARRAYS) };

// SAFETY: as above.
static MASKED: KernelImage = unsafe { kernel!("lattice/catalytic", feistel4_masked: ARRAYS) };

// SAFETY: `catalytic.cu` takes the array, a place, a number, the output and a place in it; both
// places are compared with their lengths.
static WORD: KernelImage =
    unsafe { kernel!("lattice/catalytic", feistel_word(out u32, u64, u32, out u32, u64)) };

/// Rows of threads of a block.
const ROWS: u32 = 8;
/// A grid's limit in y and z.
const GRID_LIMIT: u32 = 65_535;

/// Borrowed memory on a GPU.
#[derive(Debug)]
pub struct CudaBorrow {
    walks: Walks,
    a: DeviceBuffer<u32>,
    b: DeviceBuffer<u32>,
    open: DeviceBuffer<u32>,
    /// Two readings, and what the word at the source was.
    readings: DeviceBuffer<u32>,
    plain: Arc<Kernel>,
    grouped: Arc<Kernel>,
    word: Arc<Kernel>,
    multiprocessors: u32,
    /// Whether a pass leaves much of what it touched in L2.
    nearly_cached: bool,
    /// Whether the next pass begins with the last planes.
    backwards: bool,
    stream: Stream,
}

impl CudaBorrow {
    /// Uploads the memory that is lent.
    pub fn new(gpu: &CudaDevice, walks: Walks, a: &[u32], b: &[u32]) -> Result<Self, LatticeError> {
        walks.check_halves(a, b)?;
        let expected = walks.shape.cells();
        let open = walks.obstacles.as_ref();
        Ok(Self {
            a: gpu.upload(a)?,
            b: gpu.upload(b)?,
            open: match open {
                Some(obstacles) => gpu.upload(obstacles.words())?,
                None => gpu.alloc(0)?,
            },
            readings: gpu.upload(&[0; 3])?,
            plain: gpu.kernel(&PLAIN)?,
            grouped: gpu.kernel(if open.is_some() { &MASKED } else { &GROUPED })?,
            word: gpu.kernel(&WORD)?,
            multiprocessors: gpu.facts().multiprocessors,
            nearly_cached: 8 * expected as u64 <= 4 * gpu.facts().l2_bytes,
            backwards: false,
            stream: gpu.stream().clone(),
            walks,
        })
    }

    /// The stream that passes are queued on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Queues the whole programme.
    pub fn queue(&mut self) -> Result<(), DeviceError> {
        let source = self.walks.shape.index(self.walks.source) as u64;
        self.reading(0)?;
        self.read_and_add(false, source, 1, 2)?;
        self.reading(1)?;
        self.read_and_add(false, source, u32::MAX, 2)
    }

    fn reading(&mut self, slot: u64) -> Result<(), DeviceError> {
        let steps = self.walks.steps;
        for step in 0..steps {
            self.pass(step, Direction::Forward)?;
        }
        let tap = self.walks.shape.index(self.walks.tap) as u64;
        self.read_and_add(self.walks.read_from_b(), tap, 0, slot)?;
        for step in (0..steps).rev() {
            self.pass(step, Direction::Undo)?;
        }
        Ok(())
    }

    fn read_and_add(
        &mut self,
        in_b: bool,
        at: u64,
        delta: u32,
        slot: u64,
    ) -> Result<(), DeviceError> {
        let array = if in_b { &mut self.b } else { &mut self.a };
        let arguments = [
            array.write(),
            at.into(),
            delta.into(),
            self.readings.write(),
            slot.into(),
        ];
        self.stream
            .launch(&self.word, LaunchShape::linear(1, 32), &arguments)
    }

    /// Queues one step forward: the unit that a pass over memory is measured in.
    pub fn queue_pass(&mut self, step: u32) -> Result<(), DeviceError> {
        self.pass(step, Direction::Forward)
    }

    /// Queues undoing one step.
    pub fn queue_undo(&mut self, step: u32) -> Result<(), DeviceError> {
        self.pass(step, Direction::Undo)
    }

    fn pass(&mut self, step: u32, direction: Direction) -> Result<(), DeviceError> {
        let Self {
            a, b, open, stream, ..
        } = self;
        let (source, target) = if Walks::changes_b(step) {
            (&*a, b)
        } else {
            (&*b, a)
        };
        let (kernel, shape, planes) = if grouped(self.walks.shape) {
            let (shape, planes) = grouped_launch(self.walks.shape, self.multiprocessors);
            (&self.grouped, shape, planes)
        } else {
            let mut shape = LaunchShape::linear(self.walks.shape.plane(), 256);
            let nz = self.walks.shape.extents()[0] as u32;
            shape.grid[1] = nz.div_ceil(8).min(GRID_LIMIT);
            (&self.plain, shape, 8)
        };
        let [nz, ny, nx] = self.walks.shape.extents().map(|extent| extent as u32);
        let arguments = [
            source.read(),
            target.write(),
            open.read(),
            nx.into(),
            ny.into(),
            nz.into(),
            planes.into(),
            direction.sign().into(),
            u32::from(self.backwards).into(),
        ];
        stream.launch(kernel, shape, &arguments)?;
        self.backwards = self.nearly_cached && !self.backwards;
        Ok(())
    }

    /// Waits, and says what was counted.
    pub fn count(&self) -> Result<u32, DeviceError> {
        let readings = self.readings.download(&self.stream)?;
        Ok(readings[1].wrapping_sub(readings[0]))
    }

    /// Waits, and brings the borrowed memory back.
    pub fn memory(&self) -> Result<(Vec<u32>, Vec<u32>), DeviceError> {
        Ok((
            self.a.download(&self.stream)?,
            self.b.download(&self.stream)?,
        ))
    }

    /// Fills the readings with ones. The borrowed memory is not ours to poison.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        let stream = self.stream.clone();
        self.readings.fill_bytes(&stream, 0xFF)
    }
}

fn grouped(shape: Shape) -> bool {
    let [_, ny, nx] = shape.extents();
    nx.is_multiple_of(4) && ny.div_ceil(ROWS as usize) <= GRID_LIMIT as usize
}

/// Grid and planes to a block.
fn grouped_launch(shape: Shape, multiprocessors: u32) -> (LaunchShape, u32) {
    let [nz, ny, nx] = shape.extents().map(|extent| extent as u32);
    let (columns, rows) = ((nx / 4).div_ceil(32), ny.div_ceil(ROWS));
    // Few planes to a block: those that two blocks read are then still in L2.
    let most = if nx.saturating_mul(ny) <= 1 << 18 {
        8
    } else {
        4
    };
    let blocks = u64::from(columns) * u64::from(rows) * u64::from(nz.div_ceil(most));
    let planes = if blocks >= 3 * u64::from(multiprocessors) {
        most
    } else {
        1
    };
    let planes = planes.max(nz.div_ceil(GRID_LIMIT));
    let shape = LaunchShape {
        grid: [columns, rows, nz.div_ceil(planes)],
        block: [32, ROWS, 1],
        shared_bytes: 0,
    };
    (shape, planes)
}
