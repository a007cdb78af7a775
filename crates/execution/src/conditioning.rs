//! How far a kernel's results move when its inputs move by their last bit.
//!
//! A kernel that subtracts what is nearly equal (the gradient through `m * inverse(m)`, a difference
//! quotient) has results that are mostly rounding. A GPU rounds elsewhere than the interpreter, so that
//! both are right and differ. What such a kernel's results are worth shows when the interpreter runs
//! again on inputs that nobody could tell from the first ones.

use warpsmith_compiler::ir::Module;
use warpsmith_compiler::launch_abi::ScalarType;
use warpsmith_compiler::{Type, TypeId};
use warpsmith_interpreter::Argument;

use crate::agreement::read;
use crate::parameter::{parameter_type, scalars};

/// How many times the inputs are moved.
pub(crate) const MOVES: u64 = 8;

/// How many of the largest movements seen a result may be off: intermediate results carry the rounding
/// of several operations, the inputs were moved by that of one.
pub(crate) const ALLOWED_MOVES: f64 = 8.0;

/// The arguments with the last bit of some floating-point numbers of their arrays flipped, as `seed`
/// says.
pub(crate) fn moved(module: &Module, given: &[Argument], seed: u64) -> Vec<Argument> {
    let kernel = &module.kernel;
    let vars = &kernel.vars[..kernel.params as usize];
    let mut arguments = given.to_vec();
    for (index, (var, argument)) in vars.iter().zip(&mut arguments).enumerate() {
        let seed = mix(seed ^ (index as u64) << 32);
        move_argument(module, var.ty, argument, seed);
    }
    arguments
}

fn move_argument(module: &Module, ty: TypeId, argument: &mut Argument, seed: u64) {
    match (argument, module.types.get(ty)) {
        (
            Argument::Array(array),
            Type::Array { element, .. } | Type::MappedArray { element, .. },
        ) => {
            let Ok(ty) = parameter_type(module, element) else {
                return;
            };
            let mut places = Vec::new();
            scalars(&ty, 0, &mut places);
            move_elements(&places, ty.bytes(), &mut array.data, seed);
            if let Some(gradient) = &mut array.gradient {
                move_elements(&places, ty.bytes(), gradient, !seed);
            }
        }
        (Argument::Struct(values), Type::MappedArray { .. }) => {
            if let Some(array) = values.first_mut() {
                move_argument(module, ty, array, seed);
            }
        }
        (Argument::Struct(values), Type::Struct(id)) => {
            let fields = &module.types.struct_def(id).fields;
            for (index, (field, value)) in fields.iter().zip(values).enumerate() {
                move_argument(module, field.ty, value, mix(seed ^ index as u64));
            }
        }
        _ => {}
    }
}

fn move_elements(places: &[(usize, ScalarType)], width: usize, bytes: &mut [u8], seed: u64) {
    for (position, element) in bytes.chunks_exact_mut(width).enumerate() {
        for (place, &(offset, scalar)) in places.iter().enumerate() {
            let random = mix(seed ^ (position * places.len() + place) as u64);
            let floating = matches!(scalar, ScalarType::Float32 | ScalarType::Float64);
            // Zero stays: its last bit is the smallest number there is, and no neighbour of it.
            if floating && random & 1 == 1 && read(&element[offset..], scalar).is_normal() {
                element[offset] ^= 1;
            }
        }
    }
}

/// A well-mixed word (SplitMix64's finaliser).
fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};
    use warpsmith_interpreter::{Interpreter, random_arguments};

    use super::*;
    use crate::agreement::{compare_arguments, compare_conditioned};

    /// The module, the arguments after its adjoint ran on `given`, and after it ran on moved ones.
    fn run(source: &str) -> (Module, Vec<Argument>, Vec<Vec<Argument>>) {
        let module = compile(source, &Options::default()).unwrap();
        let given = random_arguments(&module, &[64], 5).unwrap();
        let adjoint = |mut arguments: Vec<Argument>| {
            let interpreter = Interpreter::adjoint(&module).unwrap();
            interpreter.run(&[64], &mut arguments).unwrap();
            arguments
        };
        let moved = (0..=MOVES).map(|seed| adjoint(moved(&module, &given, seed)));
        let (expected, moved) = (adjoint(given.clone()), moved.collect());
        (module, expected, moved)
    }

    const CANCELLING: &str = "import warp as wp\n@wp.kernel\ndef k(a: wp.array[wp.mat33], b: wp.array[wp.mat33]):\n    i = wp.tid()\n    b[i] = a[i] * wp.inverse(a[i])\n";
    const PLAIN: &str = "import warp as wp\n@wp.kernel\ndef k(a: wp.array[float], b: wp.array[float]):\n    i = wp.tid()\n    b[i] = a[i] * a[i]\n";

    #[test]
    fn rounding_that_a_kernel_amplifies_is_allowed_for() {
        let (module, expected, mut moved) = run(CANCELLING);
        let other = moved.remove(0);
        assert!(
            compare_arguments(&module, &other, &expected).is_some(),
            "the kernel does not amplify, so this test says nothing"
        );
        assert_eq!(
            compare_conditioned(&module, &other, &expected, &moved),
            None
        );
    }

    #[test]
    fn a_wrong_result_is_not() {
        for source in [CANCELLING, PLAIN] {
            let (module, expected, moved) = run(source);
            let mut wrong = expected.clone();
            let Argument::Array(array) = &mut wrong[0] else {
                panic!("not an array");
            };
            // A gradient that somebody forgot to add.
            array.gradient.as_mut().unwrap().fill(0);
            let found = compare_conditioned(&module, &wrong, &expected, &moved);
            assert!(found.is_some(), "{source}");
        }
    }
}
