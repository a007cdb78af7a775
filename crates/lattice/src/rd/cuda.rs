//! Runs on a GPU: a launch per step, several steps per pass over memory, or many steps in one
//! launch for lattices that the multiprocessors hold between them.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, kernel, ptx};
use warpsmith_device::{
    Argument, CudaDevice, DeviceBuffer, DeviceError, GpuFacts, Graph, Kernel, LaunchShape, Stream,
};

use super::field::Field;
use super::rule::Rule;
use super::tiling::{self, Tiling};
use crate::error::LatticeError;
use crate::shape::Shape;

const PTX: &[u8] = ptx!("lattice/rd");

/// u, e, next u, next e; extents and chunk; the rule.
const FIELDS: &[Parameter] = &[
    Parameter::In(Element::F32),
    Parameter::In(Element::F32),
    Parameter::Out(Element::F32),
    Parameter::Out(Element::F32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::U32),
    Parameter::Value(Element::F32),
    Parameter::Value(Element::F32),
    Parameter::Value(Element::F32),
    Parameter::Value(Element::F32),
    Parameter::Value(Element::F32),
];

// SAFETY: `rd.cu` declares it with the parameters of `FIELDS`; it returns unless all four lengths
// hold nx·ny·nz cells, and every access is at an (x, y, z) inside that.
static STEP: KernelImage = unsafe { kernel!("lattice/rd", PTX, rd_step: FIELDS) };

// SAFETY: as above.
static STEP4: KernelImage = unsafe { kernel!("lattice/rd", PTX, rd_step4: FIELDS) };

// SAFETY: as above.
static BLOCK2: KernelImage = unsafe { kernel!("lattice/rd", PTX, rd_block2: FIELDS) };

// SAFETY: as above.
static BLOCK3: KernelImage = unsafe { kernel!("lattice/rd", PTX, rd_block3: FIELDS) };

// SAFETY: `rd.cu` takes four fields, letters and these values; it returns unless all four
// lengths hold nx·ny·nz cells, the letters twice as many, and a tile fits its threads and shared
// memory; accesses are inside as above.
static RESIDENT: KernelImage = unsafe {
    kernel!("lattice/rd", PTX, rd_resident(
        in f32, in f32, out f32, out f32, out u64, u32, u32, u32, u32, u32, u32, u32, f32, f32,
        f32, f32, f32
    ))
};

/// How the GPU does it. Every form gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaForm {
    /// One step per launch, `planes` planes to a block; 0 chooses.
    Steps {
        /// Planes that a block marches along.
        planes: u32,
    },
    /// Two or three steps per launch; 0 planes chooses.
    Blocked {
        /// Steps per launch.
        depth: u32,
        /// Planes that a block marches along.
        planes: u32,
    },
    /// All steps in one launch; single steps where the lattice is too large for that.
    Resident,
}

impl CudaForm {
    /// What is fastest: all steps in one launch where the multiprocessors hold the lattice.
    pub fn best(shape: Shape, steps: usize, facts: &GpuFacts) -> Self {
        match tiling_on(facts, shape) {
            Some(_) if steps > 1 => Self::Resident,
            _ => Self::by_passes(shape, steps, facts),
        }
    }

    /// What is fastest with launches for every pass: single steps where the lattice lives in the
    /// cache and passes are not what costs, else several steps to a pass.
    pub fn by_passes(shape: Shape, steps: usize, facts: &GpuFacts) -> Self {
        let planes = 0;
        let cached = 16 * shape.cells() as u64 <= facts.l2_bytes;
        match cached || !shape.row().is_multiple_of(4) || steps < 2 {
            true => Self::Steps { planes },
            false => Self::Blocked { depth: 3, planes },
        }
    }
}

fn tiling_on(facts: &GpuFacts, shape: Shape) -> Option<Tiling> {
    Tiling::of(shape, facts.multiprocessors, facts.shared_bytes_per_block)
}

/// Medium and memory on the device.
#[derive(Debug)]
struct DeviceField {
    u: DeviceBuffer<f32>,
    e: DeviceBuffer<f32>,
}

impl DeviceField {
    fn empty(gpu: &CudaDevice, cells: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            u: gpu.alloc(cells)?,
            e: gpu.alloc(cells)?,
        })
    }
}

/// Loaded kernels with what they need to know.
#[derive(Debug)]
struct Stepper {
    rule: Rule,
    shape: Shape,
    step: Arc<Kernel>,
    step4: Arc<Kernel>,
    blocks: [Arc<Kernel>; 2],
    /// Blocks of each of `blocks` that the device holds at once.
    resident_blocks: [u32; 2],
    resident: Arc<Kernel>,
    tiling: Option<Tiling>,
    multiprocessors: u32,
    stream: Stream,
}

/// Rows of threads of `rd_step4`'s blocks.
const STEP_ROWS: u32 = 8;
/// What a chunk of planes of a stripe of rows reads and writes.
const STRIPE_BYTES: u64 = 32 << 20;
/// Threads of `rd_block*`'s blocks in y, and rows of a tile.
const BLOCK_THREADS: u32 = 16;
const BLOCK_ROWS: u32 = 32;
/// Groups of four cells that a tile of `rd_block*` writes.
const BLOCK_GROUPS: u32 = 30;
/// A grid's limit in y and z.
const GRID_LIMIT: u32 = 65_535;
/// Steps of one launch of `rd_resident`, so that a GPU that also draws a screen gets to it.
const LONGEST_LAUNCH: usize = 4096;

impl Stepper {
    fn new(gpu: &CudaDevice, rule: Rule, shape: Shape) -> Result<Self, DeviceError> {
        let blocks = [gpu.kernel(&BLOCK2)?, gpu.kernel(&BLOCK3)?];
        let mut resident_blocks = [0; 2];
        for ((kernel, resident), depth) in blocks.iter().zip(&mut resident_blocks).zip(2..) {
            let shared = Self::shared_bytes(depth);
            kernel.allow_shared_bytes(shared)?;
            *resident = kernel.resident_blocks(32 * BLOCK_THREADS, shared)?.max(1);
        }
        let resident = gpu.kernel(&RESIDENT)?;
        let tiling = tiling_on(gpu.facts(), shape);
        if let Some(tiling) = &tiling {
            resident.allow_shared_bytes(tiling.shared_bytes)?;
        }
        Ok(Self {
            rule,
            shape,
            step: gpu.kernel(&STEP)?,
            step4: gpu.kernel(&STEP4)?,
            blocks,
            resident_blocks,
            resident,
            tiling,
            multiprocessors: gpu.facts().multiprocessors,
            stream: gpu.stream().clone(),
        })
    }

    /// Two parities of a tile per step, 16 bytes to a group of four cells.
    fn shared_bytes(depth: u32) -> u32 {
        2 * depth * BLOCK_ROWS * 32 * 16
    }

    /// Extents x, y, z; they fit because `Shape` bounds them.
    fn extents(&self) -> [u32; 3] {
        let [nz, ny, nx] = self.shape.extents();
        [nx as u32, ny as u32, nz as u32]
    }

    /// Planes to a block of a single step: few, so that the planes that two blocks read are still in
    /// L2, and fewer where there would be too few blocks for the device.
    fn step_planes(&self, columns: u32) -> u32 {
        let nz = self.extents()[2];
        let blocks = |planes: u32| u64::from(columns) * u64::from(nz.div_ceil(planes));
        let device = u64::from(self.multiprocessors);
        let planes = if blocks(4) >= 3 * device {
            4
        } else if 5 * blocks(2) >= 9 * device {
            2
        } else {
            1
        };
        planes.max(nz.div_ceil(GRID_LIMIT))
    }

    /// Planes to a block of several steps: the number of rounds in which the device takes all blocks
    /// times the planes that a block marches along, `2·depth` of them to get under way, is least.
    fn block_planes(&self, tiles: u32, depth: u32) -> u32 {
        let nz = self.extents()[2];
        let resident = u64::from(self.resident_blocks[depth as usize - 2]);
        let marched = |chunks: u32| {
            let rounds = (u64::from(tiles) * u64::from(chunks)).div_ceil(resident);
            rounds * u64::from(nz.div_ceil(chunks) + 2 * depth)
        };
        let most = nz.div_ceil(2 * depth).clamp(1, 256);
        let chunks = (1..=most)
            .min_by_key(|&chunks| marched(chunks))
            .unwrap_or(1);
        nz.div_ceil(chunks).max(nz.div_ceil(GRID_LIMIT))
    }

    fn step(
        &self,
        planes: u32,
        from: &DeviceField,
        to: &mut DeviceField,
    ) -> Result<(), DeviceError> {
        let [nx, ny, nz] = self.extents();
        let rows = ny.div_ceil(STEP_ROWS);
        if nx.is_multiple_of(4) {
            let columns = (nx / 4).div_ceil(32);
            let planes = match planes {
                0 => self.step_planes(columns.saturating_mul(rows)),
                given => given.max(nz.div_ceil(GRID_LIMIT)),
            };
            // Stripes of rows of which a chunk of planes stays in L2 until the next chunk.
            let bytes = 16 * u64::from(nx) * u64::from(STEP_ROWS * planes);
            let stripe = (STRIPE_BYTES / bytes).clamp(1, u64::from(rows)) as u32;
            let stripe = stripe.max(rows.div_ceil(GRID_LIMIT));
            let shape = LaunchShape {
                grid: [columns * stripe, nz.div_ceil(planes), rows.div_ceil(stripe)],
                block: [32, STEP_ROWS, 1],
                shared_bytes: 0,
            };
            return self.launch(&self.step4, shape, planes, from, to);
        }
        let mut shape = LaunchShape::linear(self.shape.plane(), 256);
        let planes = match planes {
            0 => self.step_planes(shape.grid[0]),
            given => given,
        };
        shape.grid[1] = nz.div_ceil(planes).min(GRID_LIMIT);
        self.launch(&self.step, shape, planes, from, to)
    }

    fn block(
        &self,
        depth: u32,
        planes: u32,
        from: &DeviceField,
        to: &mut DeviceField,
    ) -> Result<(), DeviceError> {
        let [nx, ny, nz] = self.extents();
        let (columns, rows) = (
            (nx / 4).div_ceil(BLOCK_GROUPS),
            ny.div_ceil(BLOCK_ROWS - 2 * depth),
        );
        let planes = match planes {
            0 => self.block_planes(columns.saturating_mul(rows), depth),
            given => given.max(nz.div_ceil(GRID_LIMIT)),
        };
        let shape = LaunchShape {
            grid: [columns, rows, nz.div_ceil(planes)],
            block: [32, BLOCK_THREADS, 1],
            shared_bytes: Self::shared_bytes(depth),
        };
        self.launch(&self.blocks[depth as usize - 2], shape, planes, from, to)
    }

    fn launch(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        planes: u32,
        from: &DeviceField,
        to: &mut DeviceField,
    ) -> Result<(), DeviceError> {
        let [nx, ny, nz] = self.extents();
        let [centre, diffusion, reaction, damped, threshold] = self.rule_arguments();
        let arguments = [
            from.u.read(),
            from.e.read(),
            to.u.write(),
            to.e.write(),
            nx.into(),
            ny.into(),
            nz.into(),
            planes.into(),
            centre,
            diffusion,
            reaction,
            damped,
            threshold,
        ];
        self.stream.launch(kernel, shape, &arguments)
    }

    /// The rule's numbers in the kernels' order.
    fn rule_arguments(&self) -> [Argument<'static>; 5] {
        let Rule {
            centre,
            diffusion,
            reaction,
            damped,
            threshold,
        } = self.rule;
        [centre, diffusion, reaction, damped, threshold].map(Argument::from)
    }

    fn resident(
        &self,
        tiling: &Tiling,
        from: &DeviceField,
        to: &mut DeviceField,
        letters: &mut DeviceBuffer<u64>,
        before: u32,
        steps: u32,
    ) -> Result<(), DeviceError> {
        let [nx, ny, nz] = self.extents();
        let [centre, diffusion, reaction, damped, threshold] = self.rule_arguments();
        let arguments = [
            from.u.read(),
            from.e.read(),
            to.u.write(),
            to.e.write(),
            letters.write(),
            nx.into(),
            ny.into(),
            nz.into(),
            tiling.rows.into(),
            tiling.planes.into(),
            before.into(),
            steps.into(),
            centre,
            diffusion,
            reaction,
            damped,
            threshold,
        ];
        let shape = LaunchShape {
            grid: [tiling.blocks, 1, 1],
            block: [tiling::THREADS, 1, 1],
            shared_bytes: tiling.shared_bytes,
        };
        self.stream
            .launch_cooperative(&self.resident, shape, &arguments)
    }

    /// Whether the forms that work on groups of four cells can run.
    fn in_groups(&self) -> bool {
        let [nx, ny, _] = self.extents();
        nx.is_multiple_of(4) && ny.div_ceil(BLOCK_ROWS / 2) <= GRID_LIMIT
    }
}

/// A run on a GPU. The initial field stays as it is, so that a run can be repeated.
#[derive(Debug)]
pub struct CudaRun {
    stepper: Stepper,
    form: CudaForm,
    initial: DeviceField,
    work: [DeviceField; 2],
    /// Which of `work` holds the state; the initial field where nothing has been done.
    latest: Option<usize>,
    /// What the blocks of `rd_resident` tell each other; empty in the other forms.
    letters: DeviceBuffer<u64>,
    /// Steps that were taken with these letters.
    told: u32,
}

/// Where a pass reads and writes, and which of `work` that is.
fn ends<'run>(
    initial: &'run DeviceField,
    work: &'run mut [DeviceField; 2],
    latest: Option<usize>,
) -> (&'run DeviceField, &'run mut DeviceField, usize) {
    let [a, b] = work;
    match latest {
        None => (initial, a, 0),
        Some(0) => (a, b, 1),
        Some(_) => (b, a, 0),
    }
}

impl CudaRun {
    /// Uploads a field.
    pub fn new(
        gpu: &CudaDevice,
        rule: Rule,
        form: CudaForm,
        field: &Field,
    ) -> Result<Self, LatticeError> {
        let cells = field.shape.cells();
        let initial = DeviceField {
            u: gpu.upload(&field.u)?,
            e: gpu.upload(&field.e)?,
        };
        let stepper = Stepper::new(gpu, rule, field.shape)?;
        let letters = match stepper.tiling {
            Some(_) if form == CudaForm::Resident => 2 * cells,
            _ => 0,
        };
        Ok(Self {
            stepper,
            form,
            initial,
            work: [
                DeviceField::empty(gpu, cells)?,
                DeviceField::empty(gpu, cells)?,
            ],
            latest: None,
            letters: gpu.upload(&vec![0; letters])?,
            told: 0,
        })
    }

    /// The stream that steps are queued on.
    pub fn stream(&self) -> &Stream {
        &self.stepper.stream
    }

    /// Goes on in another form; [`CudaForm::Resident`] only where it began so.
    pub fn set_form(&mut self, form: CudaForm) {
        self.form = form;
    }

    /// Goes back to the initial field.
    pub fn restart(&mut self) {
        self.latest = None;
    }

    /// Queues `steps` steps.
    pub fn advance(&mut self, steps: usize) -> Result<(), DeviceError> {
        match self.form {
            CudaForm::Resident => match self.stepper.tiling {
                Some(tiling) if !self.letters.is_empty() => self.resident(&tiling, steps),
                _ => self.pass_by_pass(steps, 1, 0),
            },
            CudaForm::Steps { planes } => self.pass_by_pass(steps, 1, planes),
            CudaForm::Blocked { depth, planes } => {
                let depth = if self.stepper.in_groups() {
                    depth.clamp(1, 3)
                } else {
                    1
                };
                self.pass_by_pass(steps, depth as usize, planes)
            }
        }
    }

    fn pass_by_pass(&mut self, steps: usize, depth: usize, planes: u32) -> Result<(), DeviceError> {
        let mut left = steps;
        while left > 0 {
            let taken = left.min(depth);
            let (from, to, target) = ends(&self.initial, &mut self.work, self.latest);
            if taken == 1 {
                // Planes were given for the blocked form, if that was requested.
                let planes = if depth == 1 { planes } else { 0 };
                self.stepper.step(planes, from, to)?;
            } else {
                self.stepper.block(taken as u32, planes, from, to)?;
            }
            self.latest = Some(target);
            left -= taken;
        }
        Ok(())
    }

    fn resident(&mut self, tiling: &Tiling, steps: usize) -> Result<(), DeviceError> {
        let mut left = steps;
        while left > 0 {
            let taken = left.min(LONGEST_LAUNCH) as u32;
            let (from, to, target) = ends(&self.initial, &mut self.work, self.latest);
            self.stepper
                .resident(tiling, from, to, &mut self.letters, self.told, taken)?;
            self.told = self.told.wrapping_add(taken);
            self.latest = Some(target);
            left -= taken as usize;
        }
        Ok(())
    }

    /// Records `steps` steps from the initial field as a graph.
    pub fn record(&mut self, steps: usize) -> Result<Graph, DeviceError> {
        let stream = self.stepper.stream.clone();
        self.restart();
        stream.capture(|_| self.advance(steps))
    }

    /// Waits, and brings the state back.
    pub fn field(&self) -> Result<Field, LatticeError> {
        let state = match self.latest {
            None => &self.initial,
            Some(which) => &self.work[which],
        };
        let stream = self.stream();
        Ok(Field {
            shape: self.stepper.shape,
            u: state.u.download(stream)?,
            e: state.e.download(stream)?,
        })
    }

    /// Fills everything but the initial field with NaN.
    pub fn poison(&mut self) -> Result<(), DeviceError> {
        let stream = self.stepper.stream.clone();
        for field in &mut self.work {
            field.u.fill_bytes(&stream, 0xFF)?;
            field.e.fill_bytes(&stream, 0xFF)?;
        }
        Ok(())
    }
}
