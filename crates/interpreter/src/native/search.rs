//! Searches in sorted arrays.

use super::step::{Body, Step};
use super::worker::Worker;
use crate::instruction::Instruction;
use crate::lanes::{Cell, each};
use crate::layout::{ARRAY_SHAPE, ARRAY_STRIDES, scalar_bytes};
use crate::machine::{first_not_less, less};
use crate::memory::lane_bits;

/// The search that the instruction at `at` of the program's code describes.
pub(super) struct FirstNotLess;

impl Body for FirstNotLess {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let Instruction::LowerBound {
            ty,
            array,
            begin,
            end,
            value,
            ..
        } = worker.machine.program.code[step.at as usize]
        else {
            return;
        };
        let out = worker.row::<i32>(step.dst);
        for lane in each(worker.mask) {
            let field = |cell: Cell| {
                let row = cell.0 - worker.machine.program.first_cell;
                // SAFETY: a row of the registers, and one of its lanes.
                unsafe { *worker.row::<i32>(row).add(lane) }
            };
            let number = usize::try_from(field(array)).ok();
            let region = number.and_then(|number| worker.shared.regions.get(number));
            let (base, stride) = (field(array.at(1)), field(array.at(ARRAY_STRIDES)));
            let wanted = worker.machine.registers.bits(value, ty, lane);
            let is_less = |index: i32| {
                let element = usize::try_from(base.wrapping_add(index.wrapping_mul(stride)));
                let Some((element, region)) = element.ok().zip(region) else {
                    return false;
                };
                if element >= region.elements {
                    return false;
                }
                let from = region.values.wrapping_add(element * region.stride);
                // SAFETY: the element lies in the array and is a scalar of this type; nobody writes to an
                // array while others search it.
                let bytes = unsafe { std::slice::from_raw_parts(from, scalar_bytes(ty)) };
                less(ty, lane_bits(ty, bytes), wanted)
            };
            let size = field(array.at(ARRAY_SHAPE));
            let found = first_not_less(field(begin), field(end).min(size), is_less);
            // SAFETY: a row of the registers, and one of its lanes.
            unsafe { *out.add(lane) = found };
        }
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};

    use crate::{Argument, ArrayArgument, Interpreter};

    #[test]
    fn a_search_finds_what_the_interpreter_finds() {
        for (ty, bytes) in [
            ("float", |n: i32| (n as f32).to_le_bytes().to_vec()),
            ("wp.float64", |n: i32| f64::from(n).to_le_bytes().to_vec()),
            ("wp.int64", |n: i32| i64::from(n).to_le_bytes().to_vec()),
            ("wp.int8", |n: i32| vec![n as u8]),
        ] as [(&str, fn(i32) -> Vec<u8>); 4]
        {
            let source = format!(
                "import warp as wp\n\n@wp.kernel\ndef search(x: wp.array(dtype={ty}), v: wp.array(dtype={ty}), \
                 o: wp.array2d(dtype=int)):\n    i = wp.tid()\n    o[i, 0] = wp.lower_bound(x, v[i])\n    \
                 o[i, 1] = wp.lower_bound(x, i % 7 - 2, i % 40, v[i])\n"
            );
            let module = compile(&source, &Options::default()).unwrap();
            let kernel = Interpreter::forward(&module).unwrap();
            let array = |shape: &[usize], values: Vec<i32>| {
                Argument::Array(ArrayArgument {
                    shape: shape.to_vec(),
                    data: values.into_iter().flat_map(bytes).collect(),
                    gradient: None,
                })
            };
            let values = (0..100).map(|n| n * 37 % 101 - 50).collect();
            let sorted = (0..30).map(|n| 3 * n - 45).collect();
            let out = Argument::Array(ArrayArgument {
                shape: vec![100, 2],
                data: vec![0xff; 800],
                gradient: None,
            });
            let mut arguments = [array(&[30], sorted), array(&[100], values), out];
            let (outcome, difference) = kernel.run_both(&[100], &mut arguments).unwrap();
            assert!(
                outcome.native && difference.is_none(),
                "{ty}: {difference:?}"
            );
            let Argument::Array(found) = &arguments[2] else {
                panic!();
            };
            // The first value, -50, is less than all; the second, -13, lies after 11 of them.
            let first = |n: usize| i32::from_le_bytes(found.data[8 * n..][..4].try_into().unwrap());
            assert_eq!([first(0), first(1)], [0, 11], "{ty}");
        }
    }
}
