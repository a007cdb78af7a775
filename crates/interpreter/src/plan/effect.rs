//! Builtins that ask about the launch, draw random numbers, print, or check.

use super::builder::{Builder, LaidOut};
use super::frame::Frame;
use crate::instruction::{Binary, Instruction, Unary};
use crate::lanes::Cell;
use warpsmith_ir::types::Scalar;
use warpsmith_ir::{Call, Comparison, VarId};

impl<'m> Builder<'m> {
    /// Lays out such a builtin; false if it is none.
    pub(super) fn effect(&mut self, frame: &mut Frame<'m>, call: &Call, name: &str) -> LaidOut {
        let function = frame.function;
        let args = call.operands.args(&function.pool);
        let outs = call.operands.outs(&function.pool);
        match name {
            "tid" => {
                for (axis, out) in outs.iter().enumerate() {
                    let rank = if outs.len() == 1 { 1 } else { self.rank };
                    let dst = frame.cell(*out);
                    self.emit(Instruction::Tid {
                        dst,
                        axis: axis as u8,
                        rank,
                    });
                }
                // A coordinate that the kernel changes no longer names the thread's own element.
                let kept = outs.iter().all(|out| !Self::changes(function, *out));
                if outs.len() == usize::from(self.rank) && self.depth == 0 && kept {
                    frame.coordinates = outs.to_vec();
                }
            }
            "block_dim" => {
                let size = match self.block_dim {
                    Some(cell) => cell,
                    None => self.cells_for(1),
                };
                self.block_dim = Some(size);
                if let [out] = *outs {
                    self.copy(Scalar::I32, frame.cell(out), size);
                }
            }
            "range" => self.range(frame, args, outs),
            "slice" => {
                let [out] = *outs else { return Ok(false) };
                let known: Vec<i64> = args
                    .iter()
                    .filter_map(|arg| frame.constant_int(*arg))
                    .collect();
                if let [start, stop, step] = *known {
                    frame.slices.insert(out, [start, stop, step]);
                }
                for (n, arg) in args.iter().enumerate() {
                    let index = self.index_of(frame, *arg)?;
                    self.copy(Scalar::I32, frame.cell(out).at(n), index);
                }
            }
            "print" => self.print(frame, args)?,
            "printf" => self.printf(frame, args)?,
            "zeros" => {
                let [out] = *outs else { return Ok(false) };
                self.own_array(frame, out)?;
            }
            "lower_bound" => self.lower_bound(frame, args, outs)?,
            "sample_cdf" => {
                let ([state, array], [out]) = (args, outs) else {
                    return Ok(false);
                };
                let value = self.next_unit(frame.cell(*state));
                let array = self.array_cells(frame, *array)?;
                let begin = self.integer(0);
                self.search(Scalar::F32, frame.cell(*out), array, begin, None, value);
            }
            "expect_eq" | "expect_neq" => {
                let [a, b] = *args else { return Ok(false) };
                let equal = name == "expect_eq";
                let op = if equal {
                    Comparison::Equal
                } else {
                    Comparison::NotEqual
                };
                let cond = self.compare_values(frame, a, b, op)?;
                self.expect(cond, format!("`{name}` does not hold"), false);
            }
            "expect_near" => {
                let [a, b, tolerance] = *args else {
                    return Ok(false);
                };
                self.expect_near(frame, a, b, tolerance);
            }
            "dense_gemm" | "dense_chol" | "dense_subs" | "dense_solve" => {
                self.dense_call(frame, name, args)?;
            }
            _ => return self.random(frame, name, args, outs),
        }
        Ok(true)
    }

    /// Reports the lanes in which `cond` is false.
    pub(super) fn expect(&mut self, cond: Cell, message: String, stops: bool) {
        let number = self.messages.len() as u32;
        self.messages.push(message);
        self.emit(Instruction::Expect {
            cond,
            message: number,
            stops,
        });
    }

    fn expect_near(&mut self, frame: &Frame<'m>, a: VarId, b: VarId, tolerance: VarId) {
        let (a, b) = (self.operand(frame, a), self.operand(frame, b));
        let (ty, tolerance) = (a.scalar, frame.cell(tolerance));
        let mut all = self.bits(Scalar::Bool, 1);
        for (a, b) in a.cells().into_iter().zip(b.cells()) {
            let difference = self.binary(Binary::Sub, ty, a, b);
            let distance = self.unary(Unary::Abs, ty, difference);
            let near = self.compare(Comparison::LessEqual, ty, distance, tolerance);
            all = self.binary(Binary::And, Scalar::Bool, all, near);
        }
        self.expect(all, "`expect_near` does not hold".to_owned(), false);
    }

    fn range(&mut self, frame: &Frame<'m>, args: &[VarId], outs: &[VarId]) {
        let [out] = *outs else { return };
        let range = frame.cell(out);
        let (zero, one) = (self.integer(0), self.integer(1));
        let cells: Vec<Cell> = args.iter().map(|arg| frame.cell(*arg)).collect();
        let (start, end, step) = match *cells {
            [end] => (zero, end, one),
            [start, end] => (start, end, one),
            [start, end, step, ..] => (start, end, step),
            [] => (zero, zero, one),
        };
        for (n, source) in [start, end, step].into_iter().enumerate() {
            self.copy(Scalar::I32, range.at(n), source);
        }
    }

    fn cos_sin(&mut self, angle: Cell) -> (Cell, Cell) {
        let cos = self.unary(Unary::Cos, Scalar::F32, angle);
        (cos, self.unary(Unary::Sin, Scalar::F32, angle))
    }

    /// The next word of the generator whose state lies in `state`.
    pub(super) fn next_word(&mut self, state: Cell) -> Cell {
        let (op, ty) = (Unary::Pcg, Scalar::U32);
        self.emit(Instruction::Unary {
            op,
            ty,
            dst: state,
            a: state,
        });
        let word = self.temporary();
        self.copy(ty, word, state);
        word
    }

    /// Uniform in [0, 1): 24 bits, as many as a `float32` holds exactly.
    pub(super) fn next_unit(&mut self, state: Cell) -> Cell {
        let word = self.next_word(state);
        let eight = self.bits(Scalar::U32, 8);
        let high = self.binary(Binary::Shr, Scalar::U32, word, eight);
        let float = self.cast(Scalar::U32, Scalar::F32, high);
        let scale = self.number(Scalar::F32, 1.0 / 16_777_216.0);
        self.binary(Binary::Mul, Scalar::F32, float, scale)
    }

    pub(super) fn next_between(&mut self, state: Cell, low: Cell, high: Cell) -> Cell {
        let unit = self.next_unit(state);
        let width = self.binary(Binary::Sub, Scalar::F32, high, low);
        let scaled = self.binary(Binary::Mul, Scalar::F32, width, unit);
        self.binary(Binary::Add, Scalar::F32, scaled, low)
    }

    /// The next integer from `low` to before `high`, both of 32 bits.
    pub(super) fn next_integer_between(&mut self, state: Cell, low: Cell, high: Cell) -> Cell {
        let word = self.next_word(state);
        let width = self.binary(Binary::Sub, Scalar::U32, high, low);
        let rest = self.binary(Binary::Mod, Scalar::U32, word, width);
        self.binary(Binary::Add, Scalar::U32, low, rest)
    }

    fn next_angle(&mut self, state: Cell) -> Cell {
        let (zero, turn) = (
            self.number(Scalar::F32, 0.0),
            self.number(Scalar::F32, std::f64::consts::TAU),
        );
        self.next_between(state, zero, turn)
    }

    fn random(&mut self, frame: &Frame<'m>, name: &str, args: &[VarId], outs: &[VarId]) -> LaidOut {
        let ([state, rest @ ..], [out]) = (args, outs) else {
            return Ok(false);
        };
        let state = frame.cell(*state);
        let rest: Vec<Cell> = rest.iter().map(|arg| frame.cell(*arg)).collect();
        let f32 = Scalar::F32;
        let results = match (name, rest.as_slice()) {
            ("randu", []) => vec![self.next_word(state)],
            ("randi", []) => {
                let word = self.next_word(state);
                vec![self.cast(Scalar::U32, Scalar::I32, word)]
            }
            ("randu" | "randi", &[low, high]) => {
                vec![self.next_integer_between(state, low, high)]
            }
            ("randf", []) => vec![self.next_unit(state)],
            ("randf", &[low, high]) => vec![self.next_between(state, low, high)],
            ("randn", []) => vec![self.next_normal(state)],
            ("poisson", &[rate]) => {
                let dst = self.temporary();
                self.emit(Instruction::Poisson { dst, state, rate });
                vec![dst]
            }
            ("sample_triangle", []) => {
                let unit = self.next_unit(state);
                let root = self.unary(Unary::Sqrt, f32, unit);
                let one = self.number(f32, 1.0);
                let u = self.binary(Binary::Sub, f32, one, root);
                let second = self.next_unit(state);
                vec![u, self.binary(Binary::Mul, f32, second, root)]
            }
            ("sample_unit_ring", []) => {
                let angle = self.next_angle(state);
                vec![
                    self.unary(Unary::Cos, f32, angle),
                    self.unary(Unary::Sin, f32, angle),
                ]
            }
            ("sample_unit_disk", []) => {
                let unit = self.next_unit(state);
                let radius = self.unary(Unary::Sqrt, f32, unit);
                let angle = self.next_angle(state);
                let (cos, sin) = self.cos_sin(angle);
                vec![
                    self.binary(Binary::Mul, f32, radius, cos),
                    self.binary(Binary::Mul, f32, radius, sin),
                ]
            }
            ("sample_unit_sphere_surface", []) => self.direction(state, 2.0),
            ("sample_unit_hemisphere_surface", []) => self.direction(state, 1.0),
            ("sample_unit_sphere", []) => self.inside(state, 2.0),
            ("sample_unit_hemisphere", []) => self.inside(state, 1.0),
            ("sample_unit_square", []) => self.centred(state, 2),
            ("sample_unit_cube", []) => self.centred(state, 3),
            _ => return Ok(false),
        };
        let ty = frame.value_type(self, *out);
        for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
            self.copy(
                leaf.scalar,
                frame.cell(*out).at(n),
                results[n.min(results.len() - 1)],
            );
        }
        Ok(true)
    }

    /// Box and Muller's method; the smallest normal number keeps the logarithm finite.
    fn next_normal(&mut self, state: Cell) -> Cell {
        let f32 = Scalar::F32;
        let unit = self.next_unit(state);
        let tiny = self.number(f32, f64::from(f32::MIN_POSITIVE));
        let positive = self.binary(Binary::Add, f32, unit, tiny);
        let log = self.unary(Unary::Log, f32, positive);
        let minus_two = self.number(f32, -2.0);
        let square = self.binary(Binary::Mul, f32, minus_two, log);
        let radius = self.unary(Unary::Sqrt, f32, square);
        let second = self.next_unit(state);
        let turn = self.number(f32, std::f64::consts::TAU);
        let angle = self.binary(Binary::Mul, f32, turn, second);
        let cos = self.unary(Unary::Cos, f32, angle);
        self.binary(Binary::Mul, f32, radius, cos)
    }

    /// A direction whose height is uniform in `1 - span` to 1.
    fn direction(&mut self, state: Cell, span: f64) -> Vec<Cell> {
        let f32 = Scalar::F32;
        let unit = self.next_unit(state);
        let (one, span) = (self.number(f32, 1.0), self.number(f32, span));
        let drop = self.binary(Binary::Mul, f32, span, unit);
        let height = self.binary(Binary::Sub, f32, one, drop);
        let phi = self.unary(Unary::Acos, f32, height);
        let theta = self.next_angle(state);
        let radius = self.unary(Unary::Sin, f32, phi);
        let (cos, sin) = self.cos_sin(theta);
        vec![
            self.binary(Binary::Mul, f32, cos, radius),
            self.binary(Binary::Mul, f32, sin, radius),
            self.unary(Unary::Cos, f32, phi),
        ]
    }

    fn inside(&mut self, state: Cell, span: f64) -> Vec<Cell> {
        let direction = self.direction(state, span);
        let unit = self.next_unit(state);
        let radius = self.unary(Unary::Cbrt, Scalar::F32, unit);
        let scaled = |cell| self.binary(Binary::Mul, Scalar::F32, cell, radius);
        direction.into_iter().map(scaled).collect()
    }

    fn centred(&mut self, state: Cell, count: usize) -> Vec<Cell> {
        let half = self.number(Scalar::F32, 0.5);
        (0..count)
            .map(|_| {
                let unit = self.next_unit(state);
                self.binary(Binary::Sub, Scalar::F32, unit, half)
            })
            .collect()
    }
}
