//! The state of a function body under construction, and the primitive steps that extend it.

use super::function::Shared;
use super::symbols::Symbols;
use super::value::{Res, Value, fail};
use crate::globals::Global;
use crate::syntax::{ExprId, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Query, StructId, Type, TypeId};
use warpsmith_ir::{
    Alias, Call, Callee, Comparison, Constant, Function, Line, Loop, Op, Operands, Piece, Place,
    Slot, Template, Text, VarId, Variable,
};

/// A loop that is being built.
pub(super) struct OpenLoop {
    pub(super) index: u32,
    /// Bindings at the start of the body.
    pub(super) entry: Symbols,
    pub(super) body: List,
}

/// Constant bounds of a slice, where known.
pub(super) type SliceBounds = [Option<i64>; 3];

/// A function body under construction.
pub(super) struct Body<'a, 's> {
    pub(super) shared: &'a mut Shared<'s>,
    pub(super) is_kernel: bool,
    /// Subtracted from line numbers, for instances of generic functions.
    pub(super) line_base: u32,
    pub(super) vars: Vec<Variable>,
    pub(super) params: u32,
    pub(super) ops: Vec<Op>,
    pub(super) pool: Vec<VarId>,
    pub(super) comparisons: Vec<Comparison>,
    pub(super) places: Vec<Place>,
    pub(super) slots: Vec<Slot>,
    pub(super) loops: Vec<Loop>,
    pub(super) templates: Vec<Vec<Template>>,
    pub(super) literals: Vec<Constant>,
    pub(super) texts: Vec<Text>,
    pub(super) aliases: Vec<Alias>,
    /// How many parameters have gradients that the body may change: it is an adjoint.
    pub(super) gradient_inputs: Option<u32>,
    pub(super) symbols: Symbols,
    /// Variables made in each open block, outermost first.
    pub(super) blocks: Vec<Vec<VarId>>,
    pub(super) open_loops: Vec<OpenLoop>,
    pub(super) labels: u32,
    line: u32,
    pub(super) line_slots: Vec<u32>,
    /// Values of multiple results.
    pub(super) many: Vec<VarId>,
    /// The traced place of a variable.
    pub(super) traced: Vec<(VarId, Place)>,
    /// The slot that a reference points at.
    pub(super) slot_of: Vec<(VarId, u32)>,
    /// The bounds of a slice.
    pub(super) slice_of: Vec<(VarId, SliceBounds)>,
    /// The bounds of a tile's slice, as far as they are written.
    pub(super) tile_slices: Vec<(VarId, SliceBounds)>,
    /// The values of a tuple.
    pub(super) tuple_of: Vec<(VarId, Vec<VarId>)>,
    /// Loop variables of unrolled loops.
    pub(super) unrolled: Vec<Name>,
    /// Expressions of `wp.static` that were worked out where the body is defined.
    pub(super) statics: Vec<(ExprId, Global)>,
    /// What the last `return` gave.
    pub(super) returned: Option<Vec<VarId>>,
    pub(super) scalar_tid: bool,
    pub(super) long_constant_loop: bool,
    /// A component update that has no adjoint; a problem once the adjoint is wanted.
    pub(super) unsupported_adjoint: Option<(u32, u32)>,
}

impl<'a, 's> Body<'a, 's> {
    pub(super) fn new(shared: &'a mut Shared<'s>, is_kernel: bool, line_base: u32) -> Self {
        let lines = shared.source.count() + 1;
        let mut line_slots = shared.spare_lines.pop().unwrap_or_default();
        line_slots.clear();
        line_slots.resize(lines, u32::MAX);
        let spare = shared.spare.pop().unwrap_or_else(|| Function {
            vars: Vec::with_capacity(64),
            ops: Vec::with_capacity(128),
            pool: Vec::with_capacity(256),
            ..Function::empty()
        });
        Self {
            shared,
            is_kernel,
            line_base,
            vars: spare.vars,
            params: 0,
            ops: spare.ops,
            pool: spare.pool,
            comparisons: spare.comparisons,
            places: spare.places,
            slots: spare.slots,
            loops: spare.loops,
            templates: spare.templates,
            literals: spare.literals,
            texts: spare.texts,
            aliases: spare.aliases,
            gradient_inputs: None,
            symbols: Symbols::with_capacity(16),
            blocks: vec![Vec::with_capacity(64)],
            open_loops: Vec::new(),
            labels: 0,
            line: 0,
            line_slots,
            many: Vec::new(),
            traced: Vec::new(),
            slot_of: Vec::new(),
            slice_of: Vec::new(),
            tile_slices: Vec::new(),
            tuple_of: Vec::new(),
            unrolled: Vec::new(),
            statics: Vec::new(),
            returned: None,
            scalar_tid: false,
            long_constant_loop: false,
            unsupported_adjoint: None,
        }
    }

    /// Quotes a source line when it differs from the last one quoted; line 0 is no line.
    pub(super) fn enter_line(&mut self, line: u32) {
        if line == 0 || line == self.line {
            return;
        }
        self.line = line;
        let slot = &mut self.line_slots[line as usize];
        if *slot == u32::MAX {
            let text = self.shared.source.line(self.shared.text, line).trim();
            let width = if text.is_ascii() {
                text.len()
            } else {
                text.chars().count()
            } as u32;
            let text = self.shared.names.push(text);
            *slot = self.shared.lines.len() as u32;
            self.shared.lines.push(Line {
                number: line - self.line_base,
                text,
                width,
            });
        }
        let index = *slot;
        self.ops.push(Op::Line(index));
    }

    pub(super) fn add_var(&mut self, ty: TypeId) -> VarId {
        self.push_var(Variable {
            ty,
            constant: None,
            name: None,
        })
    }

    fn push_var(&mut self, var: Variable) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(var);
        if let Some(block) = self.blocks.last_mut() {
            block.push(id);
        }
        id
    }

    /// An expression that stands where a variable does.
    pub(super) fn add_alias(&mut self, ty: TypeId, pieces: Vec<Piece>) -> VarId {
        let variable = Variable {
            ty,
            constant: None,
            name: None,
        };
        self.aliases.push(Alias { variable, pieces });
        VarId::of_alias(self.aliases.len() - 1)
    }

    pub(super) fn add_constant(&mut self, constant: Constant) -> VarId {
        let ty = match constant {
            Constant::Bool(_) => TypeId::BOOL,
            Constant::Number(warpsmith_ir::Number::Int(_)) => TypeId::I32,
            Constant::Number(warpsmith_ir::Number::Float(_)) => TypeId::F32,
            Constant::Typed(scalar, _) => TypeId::scalar(scalar),
            Constant::Str(_) => TypeId::STR,
            Constant::Compound { ty, .. } => ty,
        };
        self.add_typed_constant(ty, constant)
    }

    pub(super) fn add_typed_constant(&mut self, ty: TypeId, constant: Constant) -> VarId {
        self.push_var(Variable {
            ty,
            constant: Some(constant),
            name: None,
        })
    }

    pub(super) fn add_int(&mut self, value: i64) -> VarId {
        self.add_constant(Constant::Number(warpsmith_ir::Number::Int(i128::from(
            value,
        ))))
    }

    pub(super) fn ty(&self, var: VarId) -> TypeId {
        match var.alias() {
            Some(alias) => self.aliases[alias].variable.ty,
            None => self.vars[var.index()].ty,
        }
    }

    /// The type with a reference taken off.
    pub(super) fn value_ty(&self, var: VarId) -> TypeId {
        let types = &self.shared.types;
        types.plain_scalar(types.value_of(self.ty(var)))
    }

    /// What the value type is made of.
    pub(super) fn kind(&self, var: VarId) -> Type {
        self.shared.types.get(self.value_ty(var))
    }

    pub(super) fn is_reference(&self, var: VarId) -> bool {
        self.shared.types.is_reference(self.ty(var))
    }

    pub(super) fn constant(&self, var: VarId) -> Option<Constant> {
        match var.alias() {
            Some(_) => None,
            None => self.vars[var.index()].constant,
        }
    }

    pub(super) fn describe(&self, var: VarId) -> String {
        self.shared
            .types
            .describe(self.value_ty(var), self.shared.names)
    }

    /// The value behind a reference; any other variable is itself.
    pub(super) fn load(&mut self, var: VarId) -> VarId {
        let Type::Reference(value) = self.shared.types.get(self.ty(var)) else {
            return var;
        };
        let value = self.shared.types.plain_scalar(value);
        let dst = self.add_var(value);
        self.ops.push(Op::Load { dst, src: var });
        dst
    }

    /// Enters operands, adjoint targets and results into the pool.
    pub(super) fn operands(
        &mut self,
        args: &[VarId],
        adjoints: &[VarId],
        outs: &[VarId],
    ) -> Operands {
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(args);
        self.pool.extend_from_slice(adjoints);
        self.pool.extend_from_slice(outs);
        Operands {
            start,
            args: args.len() as u16,
            outs: outs.len() as u16,
        }
    }

    pub(super) fn push_call(&mut self, call: Call) {
        self.ops.push(Op::Call(call));
    }

    /// A single value, or a problem that says what stands in its place.
    pub(super) fn single(&self, value: Value) -> Res<VarId> {
        match value {
            Value::Var(var) => Ok(var),
            Value::Many { .. } => fail("K016", "several results stand where one value is needed"),
            Value::Type(_) | Value::PythonType(_) => {
                fail("K016", "a type stands where a value is needed")
            }
            Value::Function(_) | Value::Builtin(_) | Value::Gradient(_) | Value::Callable => {
                fail("K016", "a function stands where a value is needed")
            }
            Value::Int(_) => fail(
                "K016",
                "an attribute of a type is only understood as an argument",
            ),
            Value::Module(_) => fail("K016", "a module stands where a value is needed"),
            Value::Class(_) => fail("K016", "a class stands where a value is needed"),
        }
    }

    /// The place that a variable stands for, if it can be traced to a variable.
    pub(super) fn place_of(&self, var: VarId) -> Option<Place> {
        let traced = || {
            self.traced
                .iter()
                .rev()
                .find(|entry| entry.0 == var)
                .map(|entry| entry.1.clone())
        };
        match self.shared.types.get(self.ty(var)) {
            Type::Reference(_) => return traced(),
            Type::Array { .. } | Type::FixedArray { .. } | Type::MappedArray { .. } => {
                if let Some(place) = traced() {
                    return Some(place);
                }
            }
            _ => {}
        }
        if self.symbols.is_bound(super::value::Binding::Var(var)) {
            return Some(Place {
                root: var,
                steps: Vec::new(),
            });
        }
        traced()
    }

    pub(super) fn trace(&mut self, var: VarId, place: Place) {
        self.traced.push((var, place));
    }

    /// Whether the compiler needs to know where a value of this type came from.
    pub(super) fn needs_place(&self, ty: TypeId) -> bool {
        matches!(
            self.shared.types.get(self.shared.types.value_of(ty)),
            Type::Struct(_)
                | Type::Array { .. }
                | Type::FixedArray { .. }
                | Type::MappedArray { .. }
                | Type::Query(Query::Texture1 | Query::Texture2 | Query::Texture3)
        )
    }

    /// Notes that a struct is used, after the structs it is made of.
    pub(super) fn use_struct(&mut self, id: StructId) {
        self.shared.use_struct(id);
    }

    /// The callee of a builtin.
    pub(super) fn builtin_row(index: u16, row: usize) -> Callee {
        Callee::Builtin(index, row as u16)
    }
}
