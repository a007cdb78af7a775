//! What a launch gives a kernel: one block of 64-bit words, and the arrays of its arguments.
//!
//! The block: two zeros, the address of two status words, the number of threads, the grid, two ones, the number
//! of arrays, the address of the print buffer, the value of each scalar parameter and the description of each
//! array, then two addresses for each buffer.

use super::CUT;
use super::emitter::{
    DIM_WORD, FIRST_OWN_WORD, HEADER_WORDS, ONE_WORDS, PRINT_WORD, STATUS_WORD, THREADS_WORD, slots,
};
use std::collections::HashMap;
use warpsmith_core::Finding;
use warpsmith_interpreter::Interpreter;
use warpsmith_interpreter::{Argument, ArgumentError, ArrayArgument, Bytes};
use warpsmith_ir::Module;
use warpsmith_ir::types::{Type, TypeId};

/// Where an array lies on the device; 0 where it has no gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferAddresses {
    /// Its elements.
    pub values: u64,
    /// Their gradients.
    pub gradients: u64,
}

/// A launch that is ready but for its addresses.
#[derive(Clone, Debug)]
pub struct LaunchBlock {
    words: Vec<u64>,
    threads: u32,
    own: Vec<usize>,
}

impl LaunchBlock {
    /// Checks the arguments and lays them out.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub fn new<M: Bytes>(
        interpreter: &Interpreter<'_>,
        dim: &[usize],
        arguments: &[Argument<M>],
    ) -> Result<Self, ArgumentError> {
        let (module, program) = interpreter.scalar_form();
        let bound = interpreter.bound_arguments(dim, arguments)?;
        let threads = bound.threads;
        // The kernel counts elements in 32 bits.
        let own = |count: usize| threads.saturating_mul(count) > u32::MAX as usize;
        if let Some(array) = program.own_arrays.iter().find(|array| own(array.count())) {
            return Err(ArgumentError::Grid {
                dim: dim.to_vec(),
                reason: format!(
                    "each thread has {} elements of its own, and all of them may have 2³² at most",
                    array.count()
                ),
            });
        }
        let mut words = vec![0; HEADER_WORDS];
        words[THREADS_WORD] = threads as u64;
        words[FIRST_OWN_WORD] = bound.first_own as u64;
        for one in ONE_WORDS {
            words[one] = 1;
        }
        for axis in 0..4 {
            words[DIM_WORD + axis] = dim.get(axis).copied().unwrap_or(1) as u64;
        }
        let values: HashMap<u32, u64> = (bound.parameters)
            .into_iter()
            .map(|(cell, _, bits)| (cell.0, bits))
            .collect();
        for (cell, _) in slots(module, program, |_| ()) {
            words.push(values.get(&cell.0).copied().unwrap_or(0));
        }
        Ok(Self {
            words,
            threads: threads as u32,
            own: (program.own_arrays.iter())
                .map(|own| (threads * own.count()).saturating_mul(own.layout.bytes))
                .collect(),
        })
    }

    /// How many threads are launched.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Bytes of each buffer that threads have arrays of their own in; each is needed twice, for values and
    /// for gradients.
    pub fn own_buffers(&self) -> &[usize] {
        &self.own
    }

    /// The bytes of the block. `status` is the address of two words that hold [`u32::MAX`], `print` that of
    /// a [`PrintBuffer`](crate::PrintBuffer), or 0 where the kernel was not written to print; `buffers` are
    /// the arguments' arrays in the order of [`LaunchBlock::arrays`], then those of
    /// [`LaunchBlock::own_buffers`].
    pub fn bytes(&self, status: u64, print: u64, buffers: &[BufferAddresses]) -> Vec<u8> {
        let mut words = self.words.clone();
        words[STATUS_WORD] = status;
        words[PRINT_WORD] = print;
        // One at least: a thread without an array looks there too.
        let none = [BufferAddresses::default()];
        let buffers = if buffers.is_empty() { &none } else { buffers };
        for buffer in buffers {
            words.extend([buffer.values, buffer.gradients]);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The arrays among the arguments, in the order of their buffers.
    pub fn arrays<'a, M>(
        module: &Module,
        arguments: &'a mut [Argument<M>],
    ) -> Vec<&'a mut ArrayArgument<M>> {
        let mut arrays = Vec::new();
        let types: Vec<TypeId> = module.kernel.parameters().map(|(_, var)| var.ty).collect();
        for (ty, argument) in types.into_iter().zip(arguments) {
            collect(module, ty, argument, &mut arrays);
        }
        arrays
    }

    /// What the two status words say after a run; empty if nothing went wrong.
    pub fn findings(interpreter: &Interpreter<'_>, status: [u32; 2]) -> Vec<Finding> {
        let places = status.into_iter().filter(|word| *word != u32::MAX);
        places
            .map(|word| {
                let at = word.saturating_sub(1) as usize;
                interpreter.fault_at(at & !CUT, at & CUT != 0)
            })
            .collect()
    }
}

fn collect<'a, M>(
    module: &Module,
    ty: TypeId,
    argument: &'a mut Argument<M>,
    arrays: &mut Vec<&'a mut ArrayArgument<M>>,
) {
    match (module.types.get(ty), argument) {
        (Type::Array { .. } | Type::MappedArray { .. }, Argument::Array(array)) => {
            arrays.push(array);
        }
        (Type::MappedArray { .. }, Argument::Struct(parts)) => {
            arrays.extend(parts.iter_mut().filter_map(|part| match part {
                Argument::Array(array) => Some(array),
                _ => None,
            }));
        }
        (Type::Struct(id), Argument::Struct(values)) => {
            let fields = &module.types.struct_def(id).fields;
            for (field, value) in fields.iter().zip(values) {
                collect(module, field.ty, value, arrays);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_no_more_elements_of_their_own_than_32_bits_count() {
        let source = "import warp as wp\n\n@wp.kernel\ndef k():\n    \
                      a = wp.zeros(shape=(1024,), dtype=float)\n    a[0] = 1.0\n";
        let module = warpsmith_compiler::compile(source, &Default::default()).unwrap();
        let interpreter = Interpreter::forward(&module).unwrap();
        let none: [Argument; 0] = [];
        let of = |threads| LaunchBlock::new(&interpreter, &[threads], &none);
        assert_eq!(of(8).unwrap().own_buffers(), [8 * 1024 * 4]);
        let refused = of(1 << 22).unwrap_err().to_string();
        assert!(
            refused.contains("each thread has 1024 elements"),
            "{refused}"
        );
    }
}
