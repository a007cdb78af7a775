//! Samples of volumes whose values lie in an array, at the numbers of the voxels: `volume_sample_index` and
//! `volume_sample_grad_index`. What is not numbered has a value that the call gives.

use super::builder::{Builder, LaidOut, Planned};
use super::call::Operand;
use super::frame::Frame;
use crate::instruction::{Binary, Instruction, Location};
use crate::lanes::Cell;
use crate::object::Question;
use warpsmith_ir::types::Scalar;
use warpsmith_ir::{Call, Comparison, VarId};

/// Voxels around a place.
const CORNERS: u8 = 8;
/// Of what a question about one of them gives, where its share, its slopes and their bends are.
const SHARE: usize = 1;
const SLOPE: usize = 2;
const BEND: usize = 5;

/// A sample and where its parts lie.
struct Sample {
    /// The volume, the place and the mode.
    words: Vec<Cell>,
    /// Whether values are mixed.
    linear: Cell,
    array: VarId,
    background: Operand,
    /// The type of the values' numbers.
    ty: Scalar,
}

/// A voxel around the place: what the question gave, its value, and whether that lies in the array.
struct Corner {
    part: Cell,
    value: Cell,
    at: Location,
    is_stored: Cell,
}

impl<'m> Builder<'m> {
    fn sample(&mut self, frame: &Frame<'m>, args: &[VarId]) -> Option<Sample> {
        let &[id, place, mode, array, background, ..] = args else {
            return None;
        };
        let words = [id, place, mode].map(|var| self.operand(frame, var).cells());
        let words = words.concat();
        let background = self.operand(frame, background);
        let one = self.integer(1);
        let is_linear = self.compare(Comparison::Equal, Scalar::I32, *words.last()?, one);
        let linear = self.cells_for(1);
        self.copy(Scalar::Bool, linear, is_linear);
        Some(Sample {
            words,
            linear,
            array,
            ty: background.scalar,
            background,
        })
    }

    fn corner(&mut self, frame: &Frame<'m>, sample: &Sample, number: u8) -> Planned<Corner> {
        let (ty, length) = (sample.ty, sample.background.len);
        let part = self.asked(Question::VolumePart(number), sample.words.clone());
        let value = self.cells_for(length);
        for n in 0..length {
            self.copy(ty, value.at(n), sample.background.first.at(n));
        }
        let zero = self.integer(0);
        let found = self.compare(Comparison::GreaterEqual, Scalar::I32, part, zero);
        let is_stored = self.cells_for(1);
        self.copy(Scalar::Bool, is_stored, found);
        let mut place = None;
        self.only_where(is_stored, |this| {
            let at = this.element_at(frame, sample.array, &mut [part])?;
            this.note_read(at, false);
            for n in 0..length {
                let from = Location {
                    column: at.column + n as u32,
                    ..at
                };
                let dst = value.at(n);
                this.emit(Instruction::Load { ty, dst, from });
            }
            place = Some(at);
            Ok(())
        })?;
        let Some(at) = place else {
            return self.unknown("a volume's values without an array");
        };
        Ok(Corner {
            part,
            value,
            at,
            is_stored,
        })
    }

    /// Adds a product to a cell.
    fn add_product(&mut self, ty: Scalar, to: Cell, a: Cell, b: Cell) {
        let product = self.binary(Binary::Mul, ty, a, b);
        let sum = self.binary(Binary::Add, ty, to, product);
        self.copy(ty, to, sum);
    }

    /// The sum of products, the first of which is not added to anything.
    fn sum_of_products(&mut self, ty: Scalar, pairs: &[(Cell, Cell)]) -> Cell {
        let mut sum = None;
        for (a, b) in pairs {
            let product = self.binary(Binary::Mul, ty, *a, *b);
            sum = Some(match sum {
                Some(sum) => self.binary(Binary::Add, ty, sum, product),
                None => product,
            });
        }
        sum.unwrap_or_else(|| self.number(ty, 0.0))
    }

    /// Weights of single precision as numbers of the values' type.
    fn weights(&mut self, ty: Scalar, first: Cell, count: usize) -> Vec<Cell> {
        let weights = (0..count).map(|n| self.cast(Scalar::F32, ty, first.at(n)));
        weights.collect()
    }

    /// Lays out a sample; false if the call is none.
    pub(super) fn volume_index_call(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> LaidOut {
        let pool = &frame.function.pool;
        let (args, outs) = (call.operands.args(pool), call.operands.outs(pool));
        let slopes = match (name, args.len()) {
            ("volume_sample_index", 5) => None,
            ("volume_sample_grad_index", 6) => Some(frame.cell(args[5])),
            _ => return Ok(false),
        };
        let (Some(sample), [out]) = (self.sample(frame, args), outs) else {
            return Ok(false);
        };
        let (ty, length) = (sample.ty, sample.background.len);
        let (value, slope) = (self.cells_for(length), self.cells_for(3 * length));
        let zero = self.bits(ty, 0);
        for n in 0..length {
            self.copy(ty, value.at(n), zero);
        }
        for n in 0..3 * length {
            self.copy(ty, slope.at(n), zero);
        }
        for number in 0..CORNERS {
            let corner = self.corner(frame, &sample, number)?;
            self.only_where(sample.linear, |this| {
                let share = this.cast(Scalar::F32, ty, corner.part.at(SHARE));
                let along = this.weights(ty, corner.part.at(SLOPE), 3);
                for n in 0..length {
                    let own = corner.value.at(n);
                    this.add_product(ty, value.at(n), share, own);
                    for (axis, along) in along.iter().enumerate() {
                        if slopes.is_some() {
                            this.add_product(ty, slope.at(3 * n + axis), own, *along);
                        }
                    }
                }
                Ok(())
            })?;
            if number == 0 {
                // The nearest voxel's value is given as it is.
                for n in 0..length {
                    let (mixed, own) = (value.at(n), corner.value.at(n));
                    let chosen = self.select(ty, sample.linear, mixed, own);
                    self.copy(ty, mixed, chosen);
                }
            }
        }
        for n in 0..length {
            self.copy(ty, frame.cell(*out).at(n), value.at(n));
        }
        if let Some(slopes) = slopes {
            for n in 0..3 * length {
                self.copy(ty, slopes.at(n), slope.at(n));
            }
        }
        Ok(true)
    }

    /// Lays out the adjoint of a sample; false if the call is none.
    pub(super) fn volume_index_adjoint(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> LaidOut {
        let pool = &frame.function.pool;
        let (args, outs) = (call.operands.args(pool), call.operands.outs(pool));
        if !matches!(name, "volume_sample_index" | "volume_sample_grad_index") {
            return Ok(false);
        }
        let adjoints = call.operands.adjoints(pool);
        let (Some(sample), [out]) = (self.sample(frame, args), outs) else {
            return Ok(false);
        };
        let (ty, length) = (sample.ty, sample.background.len);
        let Some(given) = frame.dual(*out).filter(|_| ty.is_float()) else {
            return Ok(true);
        };
        let bent = adjoints.get(5).and_then(|var| frame.dual(*var));
        let place = adjoints.get(1).and_then(|var| frame.dual(*var));
        let background = adjoints.get(4).and_then(|var| frame.dual(*var));
        for number in 0..CORNERS {
            let corner = self.corner(frame, &sample, number)?;
            // The nearest voxel alone receives all of it where values are not mixed.
            let received = self.cells_for(length);
            for n in 0..length {
                self.copy(ty, received.at(n), given.at(n));
            }
            self.only_where(sample.linear, |this| {
                let own = |n: usize| corner.value.at(n);
                let slopes = this.weights(ty, corner.part.at(SLOPE), 3);
                if let Some(place) = place {
                    let pairs: Vec<_> = (0..length).map(|n| (own(n), given.at(n))).collect();
                    let along = match length {
                        // Of two numbers Warp's product is one of single precision.
                        1 => {
                            let [a, b] = [pairs[0].0, pairs[0].1]
                                .map(|cell| this.cast(ty, Scalar::F32, cell));
                            let product = this.binary(Binary::Mul, Scalar::F32, a, b);
                            this.cast(Scalar::F32, ty, product)
                        }
                        _ => this.sum_of_products(ty, &pairs),
                    };
                    for (axis, slope) in slopes.iter().enumerate() {
                        let part = this.binary(Binary::Mul, ty, along, *slope);
                        this.add_single(ty, place.at(axis), part);
                    }
                    if let Some(bent) = bent {
                        let bends = this.weights(ty, corner.part.at(BEND), 9);
                        let row = [0, 1, 2].map(|k| {
                            let pairs = (0..length).map(|n| (own(n), bent.at(3 * n + k)));
                            this.sum_of_products(ty, &pairs.collect::<Vec<_>>())
                        });
                        for axis in 0..3 {
                            let pairs = [0, 1, 2].map(|k| (row[k], bends[3 * k + axis]));
                            let part = this.sum_of_products(ty, &pairs);
                            this.add_single(ty, place.at(axis), part);
                        }
                    }
                }
                let share = this.cast(Scalar::F32, ty, corner.part.at(SHARE));
                for n in 0..length {
                    let mut part = this.binary(Binary::Mul, ty, share, given.at(n));
                    if let Some(bent) = bent {
                        let pairs = [0, 1, 2].map(|axis| (bent.at(3 * n + axis), slopes[axis]));
                        let along = this.sum_of_products(ty, &pairs);
                        part = this.binary(Binary::Add, ty, part, along);
                    }
                    this.copy(ty, received.at(n), part);
                }
                Ok(())
            })?;
            let stored = |this: &mut Self| {
                this.only_where(corner.is_stored, |this| {
                    this.add_gradient(corner.at, &vec![ty; length], received, false);
                    Ok(())
                })?;
                let Some(background) = background else {
                    return Ok(());
                };
                let zero = this.bits(Scalar::Bool, 0);
                let other = this.compare(Comparison::Equal, Scalar::Bool, corner.is_stored, zero);
                this.only_where(other, |this| {
                    for n in 0..length {
                        let to = background.at(n);
                        let sum = this.binary(Binary::Add, ty, to, received.at(n));
                        this.copy(ty, to, sum);
                    }
                    Ok(())
                })
            };
            match number {
                0 => stored(self)?,
                _ => self.only_where(sample.linear, stored)?,
            }
        }
        Ok(true)
    }

    /// Adds a number, in single precision, to a cell.
    fn add_single(&mut self, ty: Scalar, to: Cell, part: Cell) {
        let part = self.cast(ty, Scalar::F32, part);
        let sum = self.binary(Binary::Add, Scalar::F32, to, part);
        self.copy(Scalar::F32, to, sum);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::random::SplitMix;
    use crate::{Argument, ArrayArgument, Interpreter, Object};
    use warpsmith_compiler::compile;
    use warpsmith_ir::Number;
    use warpsmith_spatial::{Volume, Voxel};

    const VOXELS: usize = 512;
    const PLACES: usize = 40;

    /// Runs a kernel's body on a volume and on arrays, each with its gradients; gives them all.
    fn run(body: &str, adjoint: bool, mode: i128, arrays: &[&[f32]; 4]) -> Vec<[Vec<f32>; 2]> {
        let source = format!(
            "import warp as wp\n\n\n@wp.kernel\ndef k(v: wp.uint64, mode: int, x: wp.array(dtype=wp.vec3), \
             y: wp.array(dtype=float), b: wp.array(dtype=float), o: wp.array(dtype=float)):\n    i = wp.tid()\n\
             {body}"
        );
        let module = compile(&source, &Default::default()).expect("the kernel compiles");
        let mut random = SplitMix(5);
        let volume = Volume::block(Voxel::FLOAT, || random.signed() as f32);
        let volume = Object::Volume(volume.expect("such a volume can be made"));
        let number = |value: i128| Argument::Value(vec![Number::Int(value)]);
        let mut arguments = vec![number(1), number(mode)];
        for (n, values) in arrays.iter().enumerate() {
            // The gradients of what is written are given, and differ.
            let given = (0..values.len()).map(|at| if n == 3 { 0.5 + at as f32 } else { 0.0 });
            let given: Vec<f32> = given.collect();
            let mut array = ArrayArgument::from_f32(values).with_gradient_f32(&given);
            if n == 0 {
                array.shape = vec![values.len() / 3];
            }
            arguments.push(Argument::Array(array));
        }
        let planned = match adjoint {
            true => Interpreter::adjoint(&module),
            false => Interpreter::forward(&module),
        };
        let objects = [(1, Arc::new(volume))].into_iter().collect();
        let interpreter = planned.expect("it is planned").with_objects(objects);
        let dim = [arrays[0].len() / 3];
        let outcome = interpreter.run(&dim, &mut arguments).expect("they fit");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        let arrays = arguments[2..].iter().map(|argument| match argument {
            Argument::Array(array) => [array.to_f32(), array.gradient_to_f32()],
            _ => unreachable!("an array stays one"),
        });
        arrays.collect()
    }

    #[test]
    fn values_in_an_array_are_sampled_as_those_of_the_volume() {
        let numbers: Vec<f32> = vec![0.0; 3 * VOXELS];
        let fill = "    p = i / 64\n    q = i / 8 % 8\n    r = i % 8\n    \
                    y[wp.volume_lookup_index(v, p, q, r)] = wp.volume_lookup_f(v, p, q, r)\n    \
                    b[i] = wp.volume_lookup_f(v, -100, 0, 0)\n";
        let empty = [0.0; VOXELS];
        let made = run(fill, false, 0, &[&numbers, &empty, &empty, &empty]);
        let (values, background) = (&made[1][0], &made[2][0][..PLACES]);
        let mut random = SplitMix(9);
        let places: Vec<f32> = (0..3 * PLACES)
            .map(|_| 3.0 + 6.0 * random.signed() as f32)
            .collect();
        let outputs = [0.0; 4 * PLACES];
        let arrays: [&[f32]; 4] = [&places, values, background, &outputs];
        for mode in [0, 1] {
            for (by_index, by_itself) in [
                (
                    "    o[i] = wp.volume_sample_index(v, x[i], mode, y, b[i])\n",
                    "    o[i] = wp.volume_sample_f(v, x[i], mode)\n",
                ),
                (
                    "    g = wp.vec3()\n    o[4 * i] = wp.volume_sample_grad_index(v, x[i], mode, y, b[i], g)\n    \
                     o[4 * i + 1] = g[0]\n    o[4 * i + 2] = g[1]\n    o[4 * i + 3] = g[2]\n",
                    "    g = wp.vec3()\n    o[4 * i] = wp.volume_sample_grad_f(v, x[i], mode, g)\n    \
                     o[4 * i + 1] = g[0]\n    o[4 * i + 2] = g[1]\n    o[4 * i + 3] = g[2]\n",
                ),
            ] {
                let ours = run(by_index, false, mode, &arrays);
                assert_eq!(
                    ours[3][0],
                    run(by_itself, false, mode, &arrays)[3][0],
                    "{by_index}"
                );
                let ours = run(by_index, true, mode, &arrays);
                let theirs = run(by_itself, true, mode, &arrays);
                assert_eq!(ours[0][1], theirs[0][1], "places of {by_index}");
                // Shares add up to one, and how they change to nothing.
                let received: f32 = ours[1][1].iter().chain(&ours[2][1]).sum();
                let step = if by_index.contains("grad") { 4 } else { 1 };
                let given: f32 = (0..PLACES).map(|at| 0.5 + (step * at) as f32).sum();
                assert!(
                    (received - given).abs() < 1e-2 * given,
                    "{received} of {given}"
                );
            }
        }
    }
}
