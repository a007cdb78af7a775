//! Whether a result follows what an output held before the run.
//!
//! A kernel with float atomics gives other bits in every run, and by chance the same bits twice. So a
//! difference between two runs alone says nothing: an element counts only where its value shows the
//! bytes that were there (still there, added to, or larger than every result), again and again.

use warpsmith_measure::kernel_file::{Direction, Scalar};

use crate::element::{float_at, is_float};
use crate::instance::{BoundArgument, Instance};
use crate::program::Ran;

/// What every byte of an output holds before the two runs of a round: NaN in every float type, and a
/// large number, positive in even rounds and negative in odd ones, so that both a maximum and a minimum
/// over what was there are seen.
pub(super) fn poisons(round: usize) -> [u8; 2] {
    [0xFF, if round.is_multiple_of(2) { 0x7B } else { 0xFB }]
}

/// Elements of an output that followed the poison in every pair of runs so far.
pub(super) struct Leftover {
    argument: usize,
    elements: Vec<usize>,
}

impl Leftover {
    /// The elements of the first output whose values show the poison of these two runs.
    pub(super) fn of(instance: &Instance, runs: [&Ran; 2], poisons: [u8; 2]) -> Option<Self> {
        let outputs = instance.arguments.iter().enumerate();
        outputs
            .filter(|(_, argument)| argument.direction() == Some(Direction::Out))
            .find_map(|(at, argument)| {
                let elements = (0..argument.elements())
                    .filter(|element| follows(argument, at, *element, runs, poisons))
                    .collect::<Vec<_>>();
                (!elements.is_empty()).then_some(Self {
                    argument: at,
                    elements,
                })
            })
    }

    /// What is left of them after another pair of runs with the same poisons.
    pub(super) fn again(
        mut self,
        instance: &Instance,
        runs: [&Ran; 2],
        poisons: [u8; 2],
    ) -> Option<Self> {
        let argument = &instance.arguments[self.argument];
        self.elements
            .retain(|element| follows(argument, self.argument, *element, runs, poisons));
        (!self.elements.is_empty()).then_some(self)
    }

    /// The output's name and the number of elements.
    pub(super) fn told(&self, instance: &Instance) -> (String, usize) {
        let name = instance.arguments[self.argument].name.clone();
        (name, self.elements.len())
    }

    /// Elements of the output of this name.
    pub(super) fn elements_of(&self, instance: &Instance, name: &str) -> usize {
        match instance.arguments[self.argument].name == name {
            true => self.elements.len(),
            false => 0,
        }
    }
}

fn follows(
    argument: &BoundArgument,
    at: usize,
    element: usize,
    runs: [&Ran; 2],
    poisons: [u8; 2],
) -> bool {
    let width = argument.scalar.bytes();
    let range = element * width..(element + 1) * width;
    let bits = |run: &Ran| Some(run.arrays.get(at)?.as_ref()?.get(range.clone())?.to_vec());
    match (bits(runs[0]), bits(runs[1])) {
        (Some(a), Some(b)) if a != b => shows(argument.scalar, [&a, &b], poisons),
        _ => false,
    }
}

/// Whether the two values show the two poisons.
fn shows(scalar: Scalar, values: [&[u8]; 2], poisons: [u8; 2]) -> bool {
    let is = |run: usize| values[run].iter().all(|byte| *byte == poisons[run]);
    if is(0) && is(1) {
        return true;
    }
    // A byte or two may be the poison by chance; four may not.
    if is(1) && scalar.bytes() >= 4 {
        return true;
    }
    let of_poison = |run: usize| vec![poisons[run]; scalar.bytes()];
    if is_float(scalar) {
        let [a, b] = values.map(|value| float_at(scalar, value, 0));
        let old = float_at(scalar, &of_poison(1), 0);
        // Arithmetic with NaN is NaN, with a huge number huge.
        return a.is_nan() && !b.is_nan() && b.abs() >= old.abs() / 1024.0;
    }
    let whole = |bytes: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    let added = |run: usize| {
        let sum = whole(values[run]).wrapping_sub(whole(&of_poison(run)));
        sum & (u64::MAX >> (64 - 8 * scalar.bytes() as u32))
    };
    added(0) == added(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POISONS: [u8; 2] = [0xFF, 0x7B];

    fn floats(a: f32, b: f32) -> bool {
        shows(Scalar::F32, [&a.to_le_bytes(), &b.to_le_bytes()], POISONS)
    }

    #[test]
    fn rounding_is_no_leftover() {
        // What an atomic sum over 16 million terms gives in two runs.
        assert!(!floats(4_093.127, 4_093.131));
        assert!(!floats(0.0, 1e-7) && !floats(f32::NAN, 3.0));
        let order =
            |a: i32, b: i32| shows(Scalar::I32, [&a.to_le_bytes(), &b.to_le_bytes()], POISONS);
        assert!(!order(5, 9) && !order(-1, 5));
    }

    #[test]
    fn what_stays_is_added_to_or_wins_is_a_leftover() {
        let [nan, huge] = POISONS.map(|byte| f32::from_le_bytes([byte; 4]));
        assert!(floats(nan, huge), "never written");
        assert!(floats(nan + 1.0, huge + 1.0), "added to");
        assert!(floats(f32::NAN, 0.9 * huge), "averaged with");
        assert!(floats(3.0, huge), "a maximum");
        let [minus_one, large] = POISONS.map(|byte| i32::from_le_bytes([byte; 4]));
        assert!(shows(
            Scalar::I32,
            [
                &(minus_one + 41).to_le_bytes(),
                &large.wrapping_add(41).to_le_bytes()
            ],
            POISONS
        ));
        assert_eq!(poisons(1)[1], 0xFB);
    }
}
