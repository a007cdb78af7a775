//! Dense matrices in arrays, on the memory of the arguments.

use super::step::{Body, Step};
use super::worker::Worker;
use crate::instruction::{Instruction, Space};
use crate::lanes::{Cell, each};
use crate::machine::{LaneMemory, run_dense};

/// The call on matrices that the instruction at `at` of the program's code describes.
pub(super) struct Dense;

/// The memory of the arguments as a lane sees it.
struct Lane<'a, 'p> {
    worker: &'a Worker<'p>,
    lane: usize,
}

impl Lane<'_, '_> {
    /// Where an element lies, if the array has it and the memory.
    fn place(&self, space: Space, buffer: usize, element: usize) -> Option<*mut u8> {
        let region = self.worker.shared.regions.get(buffer)?;
        let memory = match space {
            Space::Value => region.values,
            Space::Gradient => region.gradients,
        };
        let inside = element < region.elements && !memory.is_null();
        inside.then(|| memory.wrapping_add(element * region.stride))
    }
}

impl LaneMemory for Lane<'_, '_> {
    fn word(&self, cell: Cell) -> u32 {
        let row = cell.0 - self.worker.machine.program.first_cell;
        // SAFETY: a row of the registers, and one of its lanes.
        unsafe { *self.worker.row::<u32>(row).add(self.lane) }
    }

    fn has(&self, buffer: usize, element: usize) -> bool {
        let region = self.worker.shared.regions.get(buffer);
        region.is_some_and(|region| element < region.elements)
    }

    fn load(&mut self, space: Space, buffer: usize, element: usize) -> f32 {
        let place = self.place(space, buffer, element);
        // SAFETY: the element lies in the array, which has floats; lanes follow one another.
        place.map_or(0.0, |from| unsafe { from.cast::<f32>().read_unaligned() })
    }

    fn store(&mut self, space: Space, buffer: usize, element: usize, value: f32) {
        if let Some(to) = self.place(space, buffer, element) {
            // SAFETY: as above.
            unsafe { to.cast::<f32>().write_unaligned(value) };
        }
    }
}

impl Body for Dense {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let program = worker.machine.program;
        let Instruction::Dense { entry } = program.code[step.at as usize] else {
            return;
        };
        let call = &program.dense[entry as usize];
        for lane in each(worker.mask) {
            let mut memory = Lane { worker, lane };
            if let Some(index) = run_dense(call, &mut memory) {
                let machine = &mut worker.machine;
                machine.stop_outside_dense(lane, step.at as usize, index);
            }
        }
        worker.refresh();
    }
}
