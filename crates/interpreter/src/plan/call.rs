//! Lays out calls: functions of the module, constructors of structs, builtins.

use super::builder::{Builder, Planned};
use super::frame::{Frame, Pass};
use super::mesh_call::results_of_query;
use super::named::{Named, replay_of};
use super::object_call::goes_on;
use super::reference::Reference;
use super::{matrix, quaternion, scalar, transform, vector};
use crate::factorisation::Factorisation;
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::layout::Layout;
use crate::noise::Noise;
use std::ops::Range;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Call, Callee, Function, Op, VarId};

/// Functions may call functions this deep.
const DEEPEST_CALL: u32 = 64;

/// The arguments that a builtin writes its results to.
pub(super) fn result_arguments(name: &str, given: usize) -> Option<Range<usize>> {
    match (name, given) {
        ("quat_to_axis_angle" | "qr3" | "eig3", 3) | ("svd2" | "svd3", 4) => Some(1..given),
        ("volume_sample_grad_f" | "volume_sample_grad", 4) => Some(3..4),
        ("volume_sample_grad_index", 6) => Some(5..6),
        _ => results_of_query(name, given).map(|(first, results)| first..first + results.len()),
    }
}

/// What goes into a builtin without side effects and what comes out, by result or by argument.
pub(super) struct Signature<'f> {
    pub(super) inputs: &'f [VarId],
    /// The variables whose duals the inputs' gradients go to.
    pub(super) adjoints: &'f [VarId],
    pub(super) outputs: &'f [VarId],
    /// The variables whose duals the outputs' gradients come from.
    pub(super) output_duals: &'f [VarId],
}

impl<'f> Signature<'f> {
    pub(super) fn of(function: &'f Function, call: &Call, name: &str) -> Self {
        let args = call.operands.args(&function.pool);
        let adjoints = call.operands.adjoints(&function.pool);
        let outs = call.operands.outs(&function.pool);
        match result_arguments(name, args.len()) {
            Some(Range { start: inputs, .. }) => Self {
                inputs: &args[..inputs],
                adjoints: &adjoints[..inputs.min(adjoints.len())],
                outputs: &args[inputs..],
                output_duals: &adjoints[inputs.min(adjoints.len())..],
            },
            None => Self {
                inputs: args,
                adjoints,
                outputs: outs,
                output_duals: outs,
            },
        }
    }
}

/// An argument of a builtin without side effects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) ty: Type,
    /// The scalar that it is made of; `Any` for what is not made of one.
    pub(super) scalar: Scalar,
    pub(super) first: Cell,
    pub(super) len: usize,
}

impl Operand {
    pub(super) fn cells(&self) -> Vec<Cell> {
        (0..self.len).map(|n| self.first.at(n)).collect()
    }
}

impl<'m> Builder<'m> {
    pub(super) fn call(&mut self, frame: &mut Frame<'m>, call: &Call) -> Planned<()> {
        match call.callee {
            Callee::Function(index) => self.inline(frame, call, index),
            Callee::Struct(_) => self.construct(frame, call),
            Callee::Builtin(index, _) => {
                let name = BUILTINS[usize::from(index)].name;
                if self.array_call(frame, call, name)?
                    || self.inplace(frame, call, name)?
                    || self.effect(frame, call, name)?
                    || self.object_call(frame, call, name)?
                    || self.volume_index_call(frame, call, name)?
                    || self.reversed(frame, call, name)
                    || self.tile_choice(frame, call, name, false)?
                {
                    return Ok(());
                }
                let start = self.code.len();
                let results = self.expand(frame, call, name)?;
                self.deliver(frame, call, name, &results, start);
                Ok(())
            }
        }
    }

    /// Lays out `reversed(range)`; false if it is something else.
    fn reversed(&mut self, frame: &Frame<'m>, call: &Call, name: &str) -> bool {
        let pool = &frame.function.pool;
        let (args, outs) = (call.operands.args(pool), call.operands.outs(pool));
        let ("reversed", [given], [out]) = (name, args, outs) else {
            return false;
        };
        let (from, range) = (frame.cell(*given), frame.cell(*out));
        for n in 0..3 {
            self.copy(Scalar::I32, range.at(n), from.at(n));
        }
        self.emit(Instruction::ReverseRange { range });
        true
    }

    /// Sees to it that results, made by the code since `start`, are in the variables that receive them.
    fn deliver(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
        results: &[Cell],
        start: usize,
    ) {
        let made = results;
        let mut results = results.iter();
        for out in Signature::of(frame.function, call, name).outputs {
            let ty = frame.value_type(self, *out);
            for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                if let Some(result) = results.next() {
                    let dst = frame.cell(*out).at(n);
                    if !self.write_straight(start, made, (*result, leaf.scalar, dst)) {
                        self.copy(leaf.scalar, dst, *result);
                    }
                }
            }
        }
    }

    pub(super) fn operand(&mut self, frame: &Frame<'m>, var: VarId) -> Operand {
        let id = frame.value_type(self, var);
        let layout = self.layout(id);
        Operand {
            ty: self.module.types.get(id),
            scalar: self.module.types.scalar_of(id).unwrap_or(Scalar::Any),
            first: frame.cell(var),
            len: layout.leaves.len(),
        }
    }

    /// The scalar operations of a builtin without side effects; gives the cells of its results.
    pub(super) fn expand(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> Planned<Vec<Cell>> {
        if name == "extract" {
            return self.extract(frame, call);
        }
        let Signature {
            inputs,
            outputs: outs,
            ..
        } = Signature::of(frame.function, call, name);
        let args: Vec<Operand> = inputs.iter().map(|var| self.operand(frame, *var)).collect();
        if args.iter().any(|arg| matches!(arg.ty, Type::Tile(_))) {
            return self.unknown(format!("`{name}` of a tile"));
        }
        let mut expected = 0;
        for out in outs {
            let ty = frame.value_type(self, *out);
            expected += self.layout(ty).leaves.len();
        }
        if matches!(name, "where" | "select") {
            return self.choose(frame, inputs, name == "where");
        }
        if let ("cast", [from], [to]) = (name, inputs, outs) {
            return self.reinterpret(frame, *from, *to);
        }
        if let (Some(kind), [matrix]) = (Factorisation::of(name), &args[..]) {
            let (ty, src, dst) = (matrix.scalar, matrix.first, self.cells_for(kind.outputs()));
            self.emit(Instruction::Factor {
                kind,
                ty,
                dst,
                src,
                backward: false,
            });
            return Ok((0..kind.outputs()).map(|n| dst.at(n)).collect());
        }
        if let Some(noise) = args.get(1).and_then(|point| Noise::of(name, point.len)) {
            return Ok(self.noise(noise, &args));
        }
        let out = outs.first().map_or(Type::Str, |out| frame.kind(self, *out));
        self.expand_cells(name, &args, out, expected)
    }

    /// The same, of arguments that need not be variables; `expected` is the number of results.
    pub(super) fn expand_cells(
        &mut self,
        name: &str,
        args: &[Operand],
        out: Type,
        expected: usize,
    ) -> Planned<Vec<Cell>> {
        for subject in [
            scalar::expand,
            vector::expand,
            matrix::expand,
            quaternion::expand,
            transform::expand,
        ] {
            if let Some(results) = subject(self, name, args, out)? {
                if results.len() != expected {
                    return self.unknown(format!("`{name}` with these arguments"));
                }
                return Ok(results);
            }
        }
        self.unknown(format!("`{name}`"))
    }

    /// One of two values, by a condition; leaf by leaf, whatever the type.
    fn choose(
        &mut self,
        frame: &Frame<'m>,
        args: &[VarId],
        first_when: bool,
    ) -> Planned<Vec<Cell>> {
        let [cond, x, y] = *args else {
            return self.unknown("a choice between other than two values");
        };
        let (x, y) = if first_when { (x, y) } else { (y, x) };
        let truth = self.condition(frame, cond)?;
        let ty = frame.value_type(self, x);
        let layout = self.layout(ty);
        let (x, y) = (frame.cell(x), frame.cell(y));
        let pairs = layout.leaves.iter().enumerate();
        Ok(pairs
            .map(|(n, leaf)| self.select(leaf.scalar, truth, x.at(n), y.at(n)))
            .collect())
    }

    /// The bytes of a value as another type.
    fn reinterpret(&mut self, frame: &Frame<'m>, from: VarId, to: VarId) -> Planned<Vec<Cell>> {
        let (from_ty, to_ty) = (frame.value_type(self, from), frame.value_type(self, to));
        let (from_layout, to_layout) = (self.layout(from_ty), self.layout(to_ty));
        if from_layout.holds_array || to_layout.holds_array {
            return self.unknown("a cast of arrays");
        }
        let entry = self.reinterpreted.len() as u32;
        let count = to_layout.leaves.len();
        self.reinterpreted
            .push((Layout::clone(&from_layout), Layout::clone(&to_layout)));
        let (src, dst) = (frame.cell(from), self.cells_for(count));
        self.emit(Instruction::Reinterpret { entry, dst, src });
        Ok((0..count).map(|n| dst.at(n)).collect())
    }

    fn construct(&mut self, frame: &Frame<'m>, call: &Call) -> Planned<()> {
        let pool = &frame.function.pool;
        let [out] = *call.operands.outs(pool) else {
            return self.unknown("a struct constructor without a result");
        };
        let ty = frame.value_type(self, out);
        let layout = self.layout(ty);
        let mut sources = Vec::new();
        for arg in call.operands.args(pool) {
            sources.extend(self.operand(frame, *arg).cells());
        }
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let source = match sources.get(n) {
                Some(source) => *source,
                None => self.bits(leaf.scalar, 0),
            };
            self.copy(leaf.scalar, frame.cell(out).at(n), source);
        }
        Ok(())
    }

    /// Whether a function changes a variable in place.
    pub(super) fn changes(function: &warpsmith_ir::Function, var: VarId) -> bool {
        function.ops.iter().any(|op| match *op {
            Op::Call(call) => {
                let Callee::Builtin(index, _) = call.callee else {
                    return false;
                };
                let name = BUILTINS[usize::from(index)].name;
                let changes = name == "assign"
                    || name.contains("inplace")
                    || name.starts_with("rand")
                    || name.starts_with("sample")
                    || name == "poisson"
                    || goes_on(name)
                    || name.starts_with("transform_set");
                let args = call.operands.args(&function.pool);
                let writes_second = goes_on(name) && args.get(1) == Some(&var);
                changes && args.first() == Some(&var)
                    || writes_second
                    || result_arguments(name, args.len())
                        .is_some_and(|results| args[results].contains(&var))
            }
            Op::FieldStore { root, .. } => root == var,
            Op::FieldAddress { aggregate, .. } => aggregate == var,
            _ => false,
        })
    }

    /// The frame of a callee: parameters shared with the caller where the callee leaves them alone.
    pub(super) fn callee_frame(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        index: u32,
        backward: bool,
    ) -> Planned<Frame<'m>> {
        let function = &self.module.functions[index as usize];
        let args = call.operands.args(&frame.function.pool);
        self.frame_of(frame, function, args, backward)
    }

    /// The frame of a function that is given variables of the caller, as many as there are.
    pub(super) fn frame_of(
        &mut self,
        frame: &Frame<'m>,
        function: &'m Function,
        args: &[VarId],
        backward: bool,
    ) -> Planned<Frame<'m>> {
        let module = self.module;
        if self.depth >= DEEPEST_CALL {
            return self.unknown("functions that call each other more than 64 deep");
        }
        let mut firsts = Vec::new();
        let mut copies = Vec::new();
        let mut references = Vec::new();
        for ((param, variable), arg) in function.parameters().zip(args) {
            if module.types.is_reference(variable.ty) {
                let reference = self.passed_reference(frame, *arg)?;
                let leaves = self.layout(variable.ty).leaves.len();
                firsts.push(match reference {
                    Reference::Local(first) => first,
                    _ => self.cells_for(leaves),
                });
                references.push((param, reference));
                continue;
            }
            let given = frame.value_type(self, *arg);
            if let (Type::Scalar(from), Type::Scalar(to)) =
                (module.types.get(given), module.types.get(variable.ty))
                && from != to
            {
                // A constant that was made 64 bits wide after this call was written.
                let (first, converted) = (self.cells_for(1), self.cast(from, to, frame.cell(*arg)));
                self.copy(to, first, converted);
                firsts.push(first);
            } else if Self::changes(function, param) {
                let layout = self.layout(variable.ty);
                let first = self.cells_for(layout.leaves.len());
                copies.push((layout, first, frame.cell(*arg)));
                firsts.push(first);
            } else {
                firsts.push(frame.cell(*arg));
            }
        }
        for (layout, first, source) in copies {
            for (n, leaf) in layout.leaves.iter().enumerate() {
                self.copy(leaf.scalar, first.at(n), source.at(n));
            }
        }
        // What further parameters there are lies in cells of its own.
        for (_, variable) in function.parameters().skip(args.len()) {
            let leaves = self.layout(variable.ty).leaves.len();
            firsts.push(self.cells_for(leaves));
        }
        let mut callee = Frame::new(self, function, &firsts, backward);
        callee.references.extend(references);
        for ((param, _), arg) in function.parameters().zip(args) {
            if let Some(bound) = frame.arrays.get(arg) {
                callee.arrays.insert(param, *bound);
            }
            if let Some(array @ Reference::OfMesh(..)) = frame.references.get(arg) {
                callee.references.insert(param, *array);
            }
        }
        Ok(callee)
    }

    /// What a parameter that is a reference points at.
    fn passed_reference(&mut self, frame: &Frame<'m>, arg: VarId) -> Planned<Reference> {
        let address = arg.alias().map(|alias| &frame.function.aliases[alias]);
        match address.and_then(|alias| Named::of(self.module, alias)) {
            Some(Named::Address(var)) => Ok(Reference::Local(frame.cell(var))),
            _ => match frame.references.get(&arg) {
                Some(reference) => Ok(*reference),
                None => self.unknown("a parameter that is passed by this reference"),
            },
        }
    }

    /// A call when the forward pass is repeated: of what its author wrote for that, where there is such a thing.
    pub(super) fn repeat(&mut self, frame: &mut Frame<'m>, call: &Call) -> Planned<()> {
        let replay = match call.callee {
            Callee::Function(index) => {
                replay_of(self.module, &self.module.functions[index as usize])
            }
            _ => None,
        };
        match replay {
            Some(index) => self.inline(frame, call, index),
            None => self.call(frame, call),
        }
    }

    fn inline(&mut self, frame: &mut Frame<'m>, call: &Call, index: u32) -> Planned<()> {
        let mut callee = self.callee_frame(frame, call, index, false)?;
        let outs = call.operands.outs(&frame.function.pool);
        callee.results = outs.iter().map(|out| frame.cell(*out)).collect();
        callee.result_tiles = self.result_tiles(frame, outs);
        callee.find_unassigned(self);
        self.lay_out(callee)
    }

    /// Lays out the operations of a function, whose arguments are in place, among the caller's.
    pub(super) fn lay_out(&mut self, mut callee: Frame<'m>) -> Planned<()> {
        let line = self.line;
        self.depth += 1;
        self.emit(Instruction::Enter);
        self.take_tiles(&callee)?;
        let end = callee.function.ops.len();
        self.walk(&mut callee, 0, end, Pass::Forward)?;
        self.emit(Instruction::Leave);
        self.depth -= 1;
        self.line = line;
        Ok(())
    }
}
