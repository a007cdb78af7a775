//! What arrays hold before a run.
//!
//! Invariant: the same seed gives the same bytes, whatever the number of threads. Elements come in parts
//! of a fixed size, each with a stream of its own.

use rayon::prelude::*;
use warpsmith_formats::npy::NpyArray;
use warpsmith_measure::kernel_file::{Direction, Scalar};
use warpsmith_workload::random::Random;

use crate::description::Fill;
use crate::element::{is_float, numpy_name, put_float, put_whole, smallest_normal};
use crate::instance::{BoundArgument, BoundValue, Contents, Instance};

/// Elements of one stream of random numbers.
const PART: usize = 1 << 14;

impl Instance {
    /// What every array holds before a run; the same for the same seed. `round` chooses among the fills
    /// that a case leaves open.
    pub fn contents(&self, seed: u64, round: usize, special: bool) -> Result<Contents, String> {
        let mut all = Vec::new();
        for (index, argument) in self.arguments.iter().enumerate() {
            let BoundValue::Array {
                direction,
                shape,
                fill,
                ..
            } = &argument.value
            else {
                all.push(None);
                continue;
            };
            if *direction == Direction::Out {
                all.push(None);
                continue;
            }
            // A stream for each array: one more argument changes no other.
            let own = seed
                .wrapping_mul(0x9e37_79b9)
                .wrapping_add(index as u64 + 1);
            let ordinary = matches!(fill, Fill::Natural | Fill::Normal(..) | Fill::Uniform(..));
            let fill = match (fill, round % 3) {
                _ if special && ordinary && is_float(argument.scalar) => &Fill::Special,
                (Fill::Natural, 1) => &Fill::Normal(0.0, 30.0),
                (Fill::Natural, 2) => &Fill::Uniform(0.0, 1.0),
                (Fill::Natural, _) => &Fill::Normal(0.0, 1.0),
                _ => fill,
            };
            all.push(Some(filled(argument, shape, fill, own)?));
        }
        Ok(all)
    }
}

fn filled(
    argument: &BoundArgument,
    shape: &[usize],
    fill: &Fill,
    seed: u64,
) -> Result<Vec<u8>, String> {
    let (scalar, count) = (argument.scalar, argument.elements());
    let width = scalar.bytes();
    if let Fill::Npy(path) = fill {
        let array =
            NpyArray::read(path).map_err(|error| format!("`{}`: {error}", argument.name))?;
        if array.shape != shape || array.descr != numpy_name(scalar) || scalar == Scalar::Bf16 {
            return Err(format!(
                "`{}`: `{}` holds {} of shape {:?}, expected {} of shape {shape:?}",
                argument.name,
                path.display(),
                array.descr,
                array.shape,
                numpy_name(scalar),
            ));
        }
        return Ok(array.data);
    }
    let mut bytes = vec![0u8; count * width];
    if *fill == Fill::Sorted {
        let mut random = Random::seeded(seed);
        let mut values: Vec<f64> = (0..count).map(|_| random.unit()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let scale = if is_float(scalar) { 1.0 } else { 100.0 };
        for (slot, value) in bytes.chunks_exact_mut(width).zip(values) {
            put_float(scalar, value * scale, slot);
        }
        return Ok(bytes);
    }
    let parts = bytes.par_chunks_mut(PART * width).enumerate();
    parts.for_each(|(part, bytes)| {
        // The streams of parts lie far apart, and the first is the seed's own.
        let mut random = Random::seeded(seed ^ (part as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
        for (at, slot) in bytes.chunks_exact_mut(width).enumerate() {
            put(scalar, fill, part * PART + at, &mut random, slot);
        }
    });
    Ok(bytes)
}

/// One element.
fn put(scalar: Scalar, fill: &Fill, index: usize, random: &mut Random, slot: &mut [u8]) {
    match *fill {
        Fill::Normal(mean, deviation) => {
            put_float(scalar, mean + deviation * random.normal(), slot);
        }
        Fill::Uniform(low, high) => {
            put_float(scalar, low + (high - low) * random.unit(), slot);
        }
        Fill::Integers(low, high) => {
            let span = high.wrapping_sub(low) as u64;
            let offset = match span.checked_add(1) {
                Some(span) => ((u128::from(random.bits()) * u128::from(span)) >> 64) as u64,
                None => random.bits(),
            };
            put_whole(scalar, low.wrapping_add(offset as i64), slot);
        }
        Fill::Special => put_float(scalar, special(scalar, random), slot),
        Fill::Zeros => put_float(scalar, 0.0, slot),
        Fill::Ones => put_float(scalar, 1.0, slot),
        Fill::Iota => put_whole(scalar, index as i64, slot),
        // These are no numbers of one element; the caller has dealt with them.
        Fill::Sorted | Fill::Npy(_) | Fill::Natural => {}
    }
}

/// An ordinary number in seven of eight cases, else one that formulas forget.
fn special(scalar: Scalar, random: &mut Random) -> f64 {
    let tiny = smallest_normal(scalar);
    match random.below(64) {
        0 => f64::INFINITY,
        1 => f64::NEG_INFINITY,
        2 => f64::NAN,
        3 => 0.0,
        4 => -0.0,
        5 => tiny,
        6 => tiny / 4.0,
        7 => -tiny / 4.0,
        _ => random.normal(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::description::Case;
    use crate::expression::Scope;

    fn values(count: i64, fill: &Fill) -> Vec<f32> {
        let text = "source = \"a.cu\"\n[sizes]\nn = 10\n[[arguments]]\nname = \"x\"\ndirection = \"in\"\n\
                    type = \"f32\"\nshape = \"n\"\n[launch]\ngrid = 1\nblock = 32\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let size = Scope::from([("n".to_owned(), count)]);
        let bound = case.bind(&case.arguments[0], &size).unwrap();
        let bytes = filled(&bound, &[count as usize], fill, 1).unwrap();
        let words = bytes.as_chunks().0.iter();
        words.map(|word| f32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn special_fills_have_every_kind_and_integers_stay_inside() {
        let special = values(3000, &Fill::Special);
        assert!(special.iter().any(|v| v.is_nan()) && special.contains(&f32::INFINITY));
        assert!(special.iter().any(|v| v.is_subnormal()));
        let integers = values(3000, &Fill::Integers(-2, 2));
        let all = [-2.0, -1.0, 0.0, 1.0, 2.0];
        assert!(all.iter().all(|v| integers.contains(v)));
        assert!(integers.iter().all(|v| v.abs() <= 2.0));
    }

    #[test]
    fn parts_have_streams_of_their_own_and_a_shorter_array_is_the_longer_ones_start() {
        let long = values(2 * PART as i64 + 3, &Fill::Normal(0.0, 1.0));
        assert_ne!(long[..PART], long[PART..2 * PART]);
        let short = values(PART as i64 + 9, &Fill::Normal(0.0, 1.0));
        assert_eq!(short, long[..PART + 9]);
        let iota = values(PART as i64 + 2, &Fill::Iota);
        assert_eq!(iota[PART + 1], PART as f32 + 1.0);
    }
}
