//! The adjoint of a builtin without side effects, from the scalar operations that it is made of.
//!
//! The operations are laid out once more, then walked backwards with the chain rule; what turns out not
//! to be needed is taken out again. What [`stated_adjoint`](super::stated_adjoint) states goes before. Where a function has no derivative, the rules here choose: ties of
//! `min` and `max` go to the second argument, lengths and clamped arcs have derivative zero where they
//! have none, `mod` passes the gradient to its first argument.

use super::builder::{Builder, Planned};
use super::call::{Operand, Signature};
use super::frame::Frame;
use super::stated_adjoint::shares;
use super::vector::Math;
use crate::factorisation::Factorisation;
use crate::instruction::{Binary, Instruction, Unary};
use crate::lanes::Cell;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::small_keys::{Map, Set};
use warpsmith_ir::types::Scalar;
use warpsmith_ir::{Call, Callee, Comparison, VarId};

/// Duals of cells while one call is walked back.
#[derive(Default)]
struct Duals {
    /// Duals of variables, which are added to in place.
    variables: Map<Cell, Cell>,
    /// Duals of intermediate results, absent while zero.
    temporaries: Map<Cell, Cell>,
    /// Cells that depend on a variable with a dual.
    active: Set<Cell>,
    /// For results that the adjoint is given: where their variables hold them.
    held: Map<Cell, Cell>,
}

/// Whether the adjoint of a builtin is given its results.
fn takes_output(call: &Call) -> bool {
    match call.callee {
        Callee::Builtin(index, row) => {
            BUILTINS[usize::from(index)].rows[usize::from(row)].adjoint_takes_output
        }
        _ => false,
    }
}

impl<'m> Builder<'m> {
    /// Lays out the adjoint of a call.
    pub(super) fn derive(&mut self, frame: &Frame<'m>, call: &Call, name: &str) -> Planned<()> {
        let Signature {
            inputs,
            adjoints,
            outputs,
            output_duals,
        } = Signature::of(frame.function, call, name);
        let mut duals = Duals::default();
        for (arg, adjoint) in inputs.iter().zip(adjoints) {
            let Some(dual) = frame.dual(*adjoint) else {
                continue;
            };
            let ty = frame.value_type(self, *arg);
            for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                if leaf.scalar.is_float() {
                    let cell = frame.cell(*arg).at(n);
                    duals.variables.insert(cell, dual.at(n));
                    duals.active.insert(cell);
                }
            }
        }
        if duals.active.is_empty() {
            return Ok(());
        }
        let mut seeds = Vec::new();
        for (out, dual) in outputs.iter().zip(output_duals) {
            let ty = frame.value_type(self, *out);
            for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                let dual = frame.dual(*dual).filter(|_| leaf.scalar.is_float());
                seeds.push((leaf.scalar, dual.map(|dual| dual.at(n))));
            }
        }
        if let ([out], [Some(dual)]) =
            (outputs, &self.float_duals(frame, outputs, output_duals)[..])
        {
            let args: Vec<Operand> = inputs.iter().map(|var| self.operand(frame, *var)).collect();
            let result = self.operand(frame, *out);
            let duals: Vec<Option<Cell>> = adjoints.iter().map(|var| frame.dual(*var)).collect();
            if self.derive_stated(name, &args, &duals, result, *dual) {
                return Ok(());
            }
        }
        let start = self.code.len();
        let results = self.expand(frame, call, name)?;
        // Such an adjoint is given the variable, which a loop may have overwritten since; and nothing is
        // computed twice.
        if takes_output(call) {
            let mut results = results.iter();
            for out in outputs {
                let (ty, held) = (frame.value_type(self, *out), frame.cell(*out));
                let leaves = self.layout(ty).leaves.len();
                let cells = results.by_ref().take(leaves).enumerate();
                duals
                    .held
                    .extend(cells.map(|(n, cell)| (*cell, held.at(n))));
            }
        }
        self.derive_since(start, duals, &results, seeds)
    }

    /// The duals of results that are floats.
    fn float_duals(
        &mut self,
        frame: &Frame<'m>,
        outputs: &[VarId],
        duals: &[VarId],
    ) -> Vec<Option<Cell>> {
        let pairs = outputs.iter().zip(duals);
        pairs
            .map(|(out, dual)| {
                let floats = self.operand(frame, *out).scalar.is_float();
                frame.dual(*dual).filter(|_| floats)
            })
            .collect()
    }

    /// Lays out an adjoint that is stated as a whole; false if it is not. The result is where its variable
    /// holds it.
    pub(super) fn derive_stated(
        &mut self,
        name: &str,
        args: &[Operand],
        duals: &[Option<Cell>],
        result: Operand,
        dual: Cell,
    ) -> bool {
        let Some(first) = args.first() else {
            return false;
        };
        let (start, ty) = (self.code.len(), first.scalar);
        if !ty.is_float() || args.iter().any(|arg| arg.scalar != ty) {
            return false;
        }
        let gradient: Vec<Cell> = (0..result.len).map(|n| dual.at(n)).collect();
        let mut math = Math { b: self, ty };
        let Some(shares) = shares(&mut math, name, args, &result.cells(), &gradient) else {
            return false;
        };
        for share in shares {
            if let Some(dual) = duals.get(share.argument).copied().flatten() {
                let dst = dual.at(share.leaf);
                self.emit(Instruction::Binary {
                    op: share.op,
                    ty,
                    dst,
                    a: dst,
                    b: share.value,
                });
            }
        }
        self.drop_unused(start);
        true
    }

    /// Lays out the adjoint of the operations since `start`, from the gradients of their results to those of
    /// cells: pairs of a cell and its dual.
    pub(super) fn derive_cells(
        &mut self,
        start: usize,
        cells: Vec<(Cell, Cell)>,
        results: &[Cell],
        seeds: Vec<(Scalar, Option<Cell>)>,
    ) -> Planned<()> {
        let duals = Duals {
            active: cells.iter().map(|(cell, _)| *cell).collect(),
            variables: cells.into_iter().collect(),
            ..Duals::default()
        };
        self.derive_since(start, duals, results, seeds)
    }

    fn derive_since(
        &mut self,
        start: usize,
        mut duals: Duals,
        results: &[Cell],
        seeds: Vec<(Scalar, Option<Cell>)>,
    ) -> Planned<()> {
        let operations = self.code[start..].to_vec();
        for operation in &operations {
            let Some((dst, sources)) = flow(operation) else {
                continue;
            };
            if sources.iter().any(|source| duals.active.contains(source)) {
                duals.active.insert(dst);
            }
        }
        for (result, (ty, seed)) in results.iter().zip(seeds) {
            if let Some(seed) = seed {
                self.accumulate(&mut duals, ty, *result, seed);
            }
        }
        for operation in operations.iter().rev() {
            self.chain(&mut duals, operation)?;
        }
        self.drop_unused(start);
        Ok(())
    }

    /// The adjoint of a factorisation, which has a rule of its own.
    pub(super) fn factor_adjoint(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        kind: Factorisation,
        name: &str,
    ) {
        let Signature {
            adjoints,
            outputs,
            output_duals,
            ..
        } = Signature::of(frame.function, call, name);
        let Some(target) = adjoints.first().and_then(|var| frame.dual(*var)) else {
            return;
        };
        let Some(ty) = outputs.first().and_then(|var| {
            let ty = frame.value_type(self, *var);
            self.layout(ty).leaves.first().map(|leaf| leaf.scalar)
        }) else {
            return;
        };
        let zero = self.bits(ty, 0);
        let mut pairs = Vec::with_capacity(kind.outputs());
        for (out, dual) in outputs.iter().zip(output_duals) {
            let value_type = frame.value_type(self, *out);
            for n in 0..self.layout(value_type).leaves.len() {
                let dual = frame.dual(*dual).map_or(zero, |dual| dual.at(n));
                pairs.push((frame.cell(*out).at(n), dual));
            }
        }
        self.factor_shares(kind, ty, &pairs, target);
    }

    /// Adds what a matrix receives of the gradients of its factors, numbers and gradients in pairs, to the dual at
    /// `target`.
    pub(super) fn factor_shares(
        &mut self,
        kind: Factorisation,
        ty: Scalar,
        pairs: &[(Cell, Cell)],
        target: Cell,
    ) {
        let (src, dst) = (
            self.cells_for(2 * kind.outputs()),
            self.cells_for(kind.inputs()),
        );
        for (n, (factor, dual)) in pairs.iter().enumerate() {
            self.copy(ty, src.at(n), *factor);
            self.copy(ty, src.at(kind.outputs() + n), *dual);
        }
        let backward = true;
        self.emit(Instruction::Factor {
            kind,
            ty,
            dst,
            src,
            backward,
        });
        for n in 0..kind.inputs() {
            self.add_to(ty, target.at(n), dst.at(n));
        }
    }

    /// The dual of `cell` receives `value`.
    fn accumulate(&mut self, duals: &mut Duals, ty: Scalar, cell: Cell, value: Cell) {
        if let Some(dual) = duals.variables.get(&cell).copied() {
            let op = Binary::Add;
            self.emit(Instruction::Binary {
                op,
                ty,
                dst: dual,
                a: dual,
                b: value,
            });
        } else if duals.active.contains(&cell) {
            let sum = match duals.temporaries.get(&cell).copied() {
                Some(before) => self.binary(Binary::Add, ty, before, value),
                None => value,
            };
            duals.temporaries.insert(cell, sum);
        }
    }

    fn chain(&mut self, duals: &mut Duals, operation: &Instruction) -> Planned<()> {
        let Some((dst, _)) = flow(operation) else {
            return Ok(());
        };
        let Some(g) = duals.temporaries.get(&dst).copied() else {
            return Ok(());
        };
        let dst = duals.held.get(&dst).copied().unwrap_or(dst);
        match *operation {
            Instruction::Binary { op, ty, a, b, .. } if ty.is_float() => {
                let wanted = (duals.active.contains(&a), duals.active.contains(&b));
                let (da, db) = self.binary_rule(op, ty, (dst, a, b), g, wanted)?;
                for (cell, share) in [(a, da), (b, db)] {
                    if let Some(share) = share {
                        self.accumulate(duals, ty, cell, share);
                    }
                }
            }
            Instruction::Unary { op, ty, a, .. } if ty.is_float() => {
                if let Some(share) = self.unary_rule(op, ty, dst, a, g) {
                    self.accumulate(duals, ty, a, share);
                }
            }
            Instruction::MulAdd { ty, a, b, c, .. } => {
                for (cell, factor) in [(a, b), (b, a)] {
                    if duals.active.contains(&cell) {
                        let share = self.binary(Binary::Mul, ty, g, factor);
                        self.accumulate(duals, ty, cell, share);
                    }
                }
                self.accumulate(duals, ty, c, g);
            }
            Instruction::Select { ty, cond, a, b, .. } if ty.is_float() => {
                let zero = self.bits(ty, 0);
                for (cell, x, y) in [(a, g, zero), (b, zero, g)] {
                    if duals.active.contains(&cell) {
                        let share = self.select(ty, cond, x, y);
                        self.accumulate(duals, ty, cell, share);
                    }
                }
            }
            Instruction::Move { ty, src, .. } if ty.is_float() => {
                self.accumulate(duals, ty, src, g);
            }
            Instruction::Cast { from, to, src, .. } if from.is_float() && to.is_float() => {
                let share = self.cast(to, from, g);
                self.accumulate(duals, from, src, share);
            }
            Instruction::Gather {
                ty,
                first,
                len,
                index,
                ..
            } if ty.is_float() => {
                let Some(run) = duals.variables.get(&first).copied() else {
                    return Ok(());
                };
                let before = self.temporary();
                self.emit(Instruction::Gather {
                    ty,
                    dst: before,
                    first: run,
                    len,
                    index,
                });
                let src = self.binary(Binary::Add, ty, before, g);
                self.emit(Instruction::Scatter {
                    ty,
                    first: run,
                    len,
                    index,
                    src,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// What each operand's dual receives, where it is wanted.
    fn binary_rule(
        &mut self,
        op: Binary,
        ty: Scalar,
        (dst, a, b): (Cell, Cell, Cell),
        g: Cell,
        (want_a, want_b): (bool, bool),
    ) -> Planned<(Option<Cell>, Option<Cell>)> {
        let zero = self.bits(ty, 0);
        let mut shares = (None, None);
        match op {
            Binary::Add => shares = (Some(g), Some(g)),
            Binary::Sub => {
                shares.0 = Some(g);
                shares.1 = want_b.then(|| self.unary(Unary::Neg, ty, g));
            }
            Binary::Mul => {
                shares.0 = want_a.then(|| self.binary(Binary::Mul, ty, g, b));
                shares.1 = want_b.then(|| self.binary(Binary::Mul, ty, g, a));
            }
            Binary::Div => {
                let quotient = self.binary(Binary::Div, ty, g, b);
                shares.0 = Some(quotient);
                shares.1 = want_b.then(|| {
                    let product = self.binary(Binary::Mul, ty, quotient, dst);
                    self.unary(Unary::Neg, ty, product)
                });
            }
            Binary::Min | Binary::Max => {
                let op = if op == Binary::Min {
                    Comparison::Less
                } else {
                    Comparison::Greater
                };
                let first = self.compare(op, ty, a, b);
                shares.0 = want_a.then(|| self.select(ty, first, g, zero));
                shares.1 = want_b.then(|| self.select(ty, first, zero, g));
            }
            Binary::Pow => {
                if want_a {
                    let one = self.number(ty, 1.0);
                    let exponent = self.binary(Binary::Sub, ty, b, one);
                    let power = self.binary(Binary::Pow, ty, a, exponent);
                    let slope = self.binary(Binary::Mul, ty, b, power);
                    shares.0 = Some(self.binary(Binary::Mul, ty, slope, g));
                }
                if want_b {
                    let log = self.unary(Unary::Log, ty, a);
                    let slope = self.binary(Binary::Mul, ty, log, dst);
                    shares.1 = Some(self.binary(Binary::Mul, ty, slope, g));
                }
            }
            Binary::Atan2 => {
                let (yy, xx) = (
                    self.binary(Binary::Mul, ty, a, a),
                    self.binary(Binary::Mul, ty, b, b),
                );
                let square = self.binary(Binary::Add, ty, xx, yy);
                let defined = self.compare(Comparison::Greater, ty, square, zero);
                let share = self.guarded_quotient(ty, defined, g, square);
                shares.0 = want_a.then(|| self.binary(Binary::Mul, ty, b, share));
                shares.1 = want_b.then(|| {
                    let product = self.binary(Binary::Mul, ty, a, share);
                    self.unary(Unary::Neg, ty, product)
                });
            }
            Binary::CopySign => {
                let one = self.number(ty, 1.0);
                let (sa, sb) = (
                    self.binary(Binary::CopySign, ty, one, a),
                    self.binary(Binary::CopySign, ty, one, b),
                );
                let sign = self.binary(Binary::Mul, ty, sa, sb);
                shares.0 = Some(self.binary(Binary::Mul, ty, g, sign));
            }
            Binary::Mod => shares.0 = Some(g),
            Binary::FloorDiv => {}
            _ => return self.unknown("the adjoint of an operation on bits"),
        }
        Ok(shares)
    }

    /// `g / d` where `defined`, else zero; no lane divides by zero.
    fn guarded_quotient(&mut self, ty: Scalar, defined: Cell, g: Cell, d: Cell) -> Cell {
        let (zero, one) = (self.bits(ty, 0), self.number(ty, 1.0));
        let divisor = self.select(ty, defined, d, one);
        let quotient = self.binary(Binary::Div, ty, g, divisor);
        self.select(ty, defined, quotient, zero)
    }

    /// What the operand's dual receives.
    fn unary_rule(&mut self, op: Unary, ty: Scalar, dst: Cell, a: Cell, g: Cell) -> Option<Cell> {
        let zero = self.bits(ty, 0);
        let times = |this: &mut Self, slope| Some(this.binary(Binary::Mul, ty, g, slope));
        let over = |this: &mut Self, numerator: f64, d| {
            let numerator = this.number(ty, numerator);
            let slope = this.binary(Binary::Div, ty, numerator, d);
            Some(this.binary(Binary::Mul, ty, g, slope))
        };
        match op {
            Unary::Neg => Some(self.unary(Unary::Neg, ty, g)),
            Unary::Abs => {
                let negative = self.compare(Comparison::Less, ty, a, zero);
                let minus = self.unary(Unary::Neg, ty, g);
                Some(self.select(ty, negative, minus, g))
            }
            Unary::Sqrt => over(self, 0.5, dst),
            Unary::Length => {
                let defined = self.compare(Comparison::Greater, ty, dst, zero);
                let half = self.number(ty, 0.5);
                let half = self.binary(Binary::Mul, ty, g, half);
                Some(self.guarded_quotient(ty, defined, half, dst))
            }
            Unary::Cbrt => {
                let three = self.number(ty, 3.0);
                let square = self.binary(Binary::Mul, ty, dst, dst);
                let square = self.binary(Binary::Mul, ty, three, square);
                over(self, 1.0, square)
            }
            Unary::Sin => {
                let cos = self.unary(Unary::Cos, ty, a);
                times(self, cos)
            }
            Unary::Cos => {
                let sin = self.unary(Unary::Sin, ty, a);
                let minus = self.unary(Unary::Neg, ty, sin);
                times(self, minus)
            }
            Unary::Tan => {
                let cos = self.unary(Unary::Cos, ty, a);
                let square = self.binary(Binary::Mul, ty, cos, cos);
                over(self, 1.0, square)
            }
            Unary::Asin | Unary::Acos => {
                let one = self.number(ty, 1.0);
                let square = self.binary(Binary::Mul, ty, a, a);
                let rest = self.binary(Binary::Sub, ty, one, square);
                let root = self.unary(Unary::Sqrt, ty, rest);
                let defined = self.compare(Comparison::Greater, ty, root, zero);
                let share = self.guarded_quotient(ty, defined, g, root);
                Some(if op == Unary::Asin {
                    share
                } else {
                    self.unary(Unary::Neg, ty, share)
                })
            }
            Unary::Atan => {
                let one = self.number(ty, 1.0);
                let square = self.binary(Binary::Mul, ty, a, a);
                let sum = self.binary(Binary::Add, ty, square, one);
                over(self, 1.0, sum)
            }
            Unary::Sinh => {
                let cosh = self.unary(Unary::Cosh, ty, a);
                times(self, cosh)
            }
            Unary::Cosh => {
                let sinh = self.unary(Unary::Sinh, ty, a);
                times(self, sinh)
            }
            Unary::Tanh => {
                let one = self.number(ty, 1.0);
                let square = self.binary(Binary::Mul, ty, dst, dst);
                let slope = self.binary(Binary::Sub, ty, one, square);
                times(self, slope)
            }
            Unary::Exp => times(self, dst),
            Unary::Log => over(self, 1.0, a),
            Unary::Log2 => over(self, std::f64::consts::LOG2_E, a),
            Unary::Log10 => over(self, std::f64::consts::LOG10_E, a),
            Unary::Erf | Unary::Erfc => {
                let square = self.binary(Binary::Mul, ty, a, a);
                self.bell(
                    ty,
                    op == Unary::Erfc,
                    std::f64::consts::FRAC_2_SQRT_PI,
                    square,
                    true,
                    g,
                )
            }
            Unary::ErfInv | Unary::ErfcInv => {
                let square = self.binary(Binary::Mul, ty, dst, dst);
                let half_root_pi = 1.0 / std::f64::consts::FRAC_2_SQRT_PI;
                self.bell(ty, op == Unary::ErfcInv, half_root_pi, square, false, g)
            }
            _ => None,
        }
    }

    /// `g * scale * exp(-square)`, or `exp(square)`; the sign turned if `minus`.
    fn bell(
        &mut self,
        ty: Scalar,
        minus: bool,
        scale: f64,
        square: Cell,
        falls: bool,
        g: Cell,
    ) -> Option<Cell> {
        let exponent = if falls {
            self.unary(Unary::Neg, ty, square)
        } else {
            square
        };
        let exp = self.unary(Unary::Exp, ty, exponent);
        let scale = self.number(ty, if minus { -scale } else { scale });
        let slope = self.binary(Binary::Mul, ty, scale, exp);
        Some(self.binary(Binary::Mul, ty, g, slope))
    }

    /// Takes out operations since `start` whose results nothing uses.
    fn drop_unused(&mut self, start: usize) {
        let code = self.take_code(start);
        let mut live: Set<Cell> = Set::default();
        let mut kept = Vec::with_capacity(code.len());
        for operation in code.into_iter().rev() {
            if let Some((dst, sources)) = flow(&operation)
                && Self::is_temporary(dst)
            {
                if !live.contains(&dst) {
                    continue;
                }
                live.extend(sources);
            } else {
                live.extend(
                    flow(&operation)
                        .map(|(_, sources)| sources)
                        .unwrap_or_default(),
                );
                if let Instruction::Scatter { index, src, .. } = operation {
                    live.extend([index, src]);
                } else if let Instruction::Component { index, .. } = operation {
                    live.insert(index);
                }
            }
            kept.push(operation);
        }
        for operation in kept.into_iter().rev() {
            self.emit(operation);
        }
    }
}

/// The result and the sources of an operation that does nothing else.
fn flow(operation: &Instruction) -> Option<(Cell, Vec<Cell>)> {
    Some(match *operation {
        Instruction::Binary { dst, a, b, .. } | Instruction::Compare { dst, a, b, .. } => {
            (dst, vec![a, b])
        }
        Instruction::Unary { dst, a, .. } | Instruction::Classify { dst, a, .. } => (dst, vec![a]),
        Instruction::MulAdd { dst, a, b, c, .. } => (dst, vec![a, b, c]),
        Instruction::Select {
            dst, cond, a, b, ..
        } => (dst, vec![cond, a, b]),
        Instruction::Move { dst, src, .. } | Instruction::Cast { dst, src, .. } => (dst, vec![src]),
        Instruction::Gather {
            dst,
            first,
            len,
            index,
            ..
        } => {
            let run = (0..len as usize).map(|n| first.at(n));
            (dst, run.chain([index]).collect())
        }
        _ => return None,
    })
}
