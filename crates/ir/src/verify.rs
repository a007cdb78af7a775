//! The invariants of the IR, checked.
//!
//! 1. Every variable, pool entry, place, slot, loop, template, literal, line, function and struct that
//!    an operation points at exists.
//! 2. Branches and loops nest: each begin points at its end and back, and nothing crosses.
//! 3. A `while` has exactly one test, directly in the loop, before its body; other loops have none.
//! 4. `break` and `continue` name a loop that is open.
//! 5. Results of comparisons, `and` and `or` are of type `bool`; conditions are scalars (or arrays, which
//!    are true if they have data); a comparison compares at least two operands.
//! 6. A load reads a reference and gives its value type.
//! 7. A constant is defined by nothing but its declaration, and parameters by nothing.
//! 8. A call has as many operands as its function has parameters, of equal types, and as many results; a
//!    constant that a later `literal` makes 64 bits wide is converted.
//! 9. A function that is called stands before its caller.
//! 10. Field names exist in the structs that they are read from or stored to.
//! 11. The step of a counted loop is not 0, and its variables are `int32`.
//! 12. Labels of returns and loops are unique within a function.

use std::collections::HashSet;
use std::fmt;

use super::{Callee, Function, LoopKind, Module, Op, Piece, VarId};
use crate::names::Name;
use crate::types::{Type, TypeId};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The function's native name.
    pub function: String,
    /// The operation's position; `None` for the function as a whole.
    pub op: Option<usize>,
    /// What is broken.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "{}, operation {op}: {}", self.function, self.message),
            None => write!(f, "{}: {}", self.function, self.message),
        }
    }
}

/// Checks a module; empty means that every invariant holds.
pub fn verify(module: &Module) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, function) in module.functions.iter().chain([&module.kernel]).enumerate() {
        let mut checker = Checker {
            module,
            function,
            index,
            op: None,
            found: &mut found,
        };
        checker.function();
    }
    found
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    index: usize,
    op: Option<usize>,
    found: &'a mut Vec<Violation>,
}

impl Checker<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.found.push(Violation {
            function: self.module.names.get(self.function.native).to_owned(),
            op: self.op,
            message: message.into(),
        });
    }

    fn check(&mut self, holds: bool, message: &str) {
        if !holds {
            self.report(message);
        }
    }

    fn ty(&self, var: VarId) -> Option<TypeId> {
        match var.alias() {
            Some(alias) => (self.function.aliases.get(alias)).map(|alias| alias.variable.ty),
            None => self.function.vars.get(var.index()).map(|var| var.ty),
        }
    }

    fn exists(&mut self, var: VarId) -> bool {
        let exists = self.ty(var).is_some();
        self.check(exists, "a variable that does not exist");
        exists
    }

    /// A variable that an operation defines.
    fn defined(&mut self, var: VarId) {
        if self.exists(var) {
            let is_constant = self.function.var(var).constant.is_some();
            self.check(!is_constant, "a constant is defined");
            self.check(var.alias().is_none(), "an expression is defined");
            self.check(var.0 >= self.function.params, "a parameter is defined");
        }
    }

    fn condition(&mut self, var: VarId) {
        if self.exists(var) {
            let fits = self.ty(var).is_some_and(|ty| {
                matches!(self.module.types.get(ty), Type::Scalar(_))
                    || self.module.types.array_parts(ty).is_some()
            });
            self.check(fits, "a condition that is neither scalar nor array");
        }
    }

    fn in_pool(&mut self, start: u32, count: usize) -> bool {
        let fits = (start as usize).saturating_add(count) <= self.function.pool.len();
        self.check(fits, "operands outside the pool");
        if fits {
            for at in 0..count {
                self.exists(self.function.pool[start as usize + at]);
            }
        }
        fits
    }

    fn function(&mut self) {
        let function = self.function;
        for alias in &function.aliases {
            for piece in &alias.pieces {
                if let Piece::Var(var) | Piece::Dual(var) = *piece {
                    let known = var.index() < function.vars.len();
                    self.check(known, "an expression of a variable that does not exist");
                }
            }
        }
        let mut open: Vec<usize> = Vec::new();
        let mut tested = HashSet::new();
        let mut labels = HashSet::new();
        for this in &function.loops {
            self.check(labels.insert(this.label), "two loops share a label");
        }
        for at in 0..function.ops.len() {
            self.op = Some(at);
            let op = function.ops[at];
            match op {
                Op::If { end, .. } | Op::Loop { end, .. } => {
                    let matched = match (op, function.ops.get(end as usize)) {
                        (Op::If { .. }, Some(Op::EndIf { begin, .. }))
                        | (Op::Loop { .. }, Some(Op::EndLoop { begin, .. })) => {
                            *begin as usize == at
                        }
                        _ => false,
                    };
                    self.check(matched, "a begin without its end");
                    open.push(at);
                }
                Op::EndIf { begin, .. } | Op::EndLoop { begin, .. } => {
                    let last = open.pop();
                    self.check(last == Some(begin as usize), "an end that crosses another");
                }
                Op::Test { index, .. } => {
                    let direct = open.last().is_some_and(
                        |begin| matches!(function.ops[*begin], Op::Loop { index: i, .. } if i == index),
                    );
                    self.check(direct, "a test outside its loop");
                    self.check(tested.insert(index), "a loop with two tests");
                }
                Op::Break { index } | Op::Continue { index } => {
                    let is_open = open.iter().any(
                        |begin| matches!(function.ops[*begin], Op::Loop { index: i, .. } if i == index),
                    );
                    self.check(is_open, "a jump to a loop that is not open");
                }
                Op::Return { label, .. } => {
                    self.check(labels.insert(label), "two labels are equal");
                }
                _ => {}
            }
            self.operation(op);
        }
        self.op = None;
        self.check(open.is_empty(), "a begin without its end");
        for (index, this) in function.loops.iter().enumerate() {
            let is_while = this.kind == LoopKind::While;
            let has_test = tested.contains(&(index as u32));
            self.check(
                is_while == has_test,
                "a `while` without a test, or a test elsewhere",
            );
            for var in &this.zeroed {
                self.exists(*var);
            }
            match this.kind {
                LoopKind::Counted {
                    counter,
                    value,
                    range,
                } => {
                    self.check(range.step != 0, "a counted loop with step 0");
                    for var in [counter, value] {
                        self.defined(var);
                        let fits = self.ty(var) == Some(TypeId::I32);
                        self.check(fits, "a counter that is not int32");
                    }
                }
                LoopKind::Range { iter, value } => {
                    self.defined(value);
                    self.exists(iter);
                    let fits = self.ty(iter).is_some_and(|ty| {
                        let kind = self.module.types.get(ty);
                        ty == TypeId::RANGE
                            || matches!(kind, Type::Query(query) if query.is_iterated())
                    });
                    self.check(fits, "a loop over something but a range");
                }
                LoopKind::While => {}
            }
        }
    }

    fn operation(&mut self, op: Op) {
        let function = self.function;
        match op {
            Op::Line(line) => {
                let known = (line as usize) < self.module.lines.len();
                self.check(known, "a line that does not exist");
            }
            Op::Call(call) => self.call(&call),
            Op::Load { dst, src } => {
                self.defined(dst);
                self.exists(src);
                let fits = match (self.ty(src), self.ty(dst)) {
                    (Some(src), Some(dst)) => match self.module.types.get(src) {
                        // What is pointed to may be written as Python writes it.
                        Type::Reference(value) => self.module.types.plain_scalar(value) == dst,
                        _ => false,
                    },
                    _ => false,
                };
                self.check(fits, "a load of something but a reference");
            }
            Op::Set { dst, src } | Op::Accumulate { dst, src, .. } => {
                self.defined(dst);
                self.exists(src);
                let fits = self.ty(dst) == Some(TypeId::BOOL);
                self.check(fits, "`and` or `or` into something but a boolean");
            }
            Op::SetInt { dst, .. } => self.defined(dst),
            Op::Literal { dst, literal } => {
                self.defined(dst);
                let known = (literal as usize) < function.literals.len();
                self.check(known, "a literal that does not exist");
            }
            Op::Compare { dst, chain } => {
                self.defined(dst);
                let fits = self.ty(dst) == Some(TypeId::BOOL);
                self.check(fits, "a comparison into something but a boolean");
                self.check(chain.count > 0, "a comparison of nothing");
                self.in_pool(chain.operands, chain.count as usize + 1);
                let end = (chain.comparisons + chain.count) as usize;
                let known = end <= function.comparisons.len();
                self.check(known, "a comparison that does not exist");
            }
            Op::If { cond, .. } | Op::EndIf { cond, .. } => self.condition(cond),
            Op::Test { index, cond } => {
                self.condition(cond);
                self.check(
                    (index as usize) < function.loops.len(),
                    "a loop that does not exist",
                );
            }
            Op::Loop { index, .. }
            | Op::EndLoop { index, .. }
            | Op::Break { index }
            | Op::Continue { index } => {
                self.check(
                    (index as usize) < function.loops.len(),
                    "a loop that does not exist",
                );
            }
            Op::Return { values, count, .. } => {
                if self.in_pool(values, count as usize) {
                    let fits = count == 0 || count as usize == function.returns.len();
                    self.check(fits, "a return of another number of values");
                }
            }
            Op::ReturnDefault => {}
            Op::FieldAddress {
                dst,
                aggregate,
                field,
                place,
                ..
            } => {
                self.defined(dst);
                if self.exists(aggregate) && !self.module.names.get(field).contains('.') {
                    self.field(aggregate, field);
                }
                if let Some(place) = place {
                    let known = (place as usize) < function.places.len();
                    self.check(known, "a place that does not exist");
                }
            }
            Op::FieldStore {
                root, path, value, ..
            } => {
                self.exists(value);
                if self.exists(root) && !self.module.names.get(path).contains('.') {
                    self.field(root, path);
                }
            }
            Op::SlotAddress { slot, .. }
            | Op::SlotStore { slot, .. }
            | Op::SlotAtomic { slot, .. } => {
                let known = (slot as usize) < function.slots.len();
                self.check(known, "a slot that does not exist");
                match op {
                    Op::SlotAddress { dst, .. } => self.defined(dst),
                    Op::SlotStore { value, .. } | Op::SlotAtomic { value, .. } => {
                        self.exists(value);
                    }
                    _ => {}
                }
            }
            Op::Assert { cond, .. } => self.condition(cond),
            Op::Text { text, .. } => {
                let Some(text) = function.texts.get(text as usize) else {
                    self.check(false, "a statement that does not exist");
                    return;
                };
                for piece in text.forward.iter().chain(&text.reverse) {
                    if let Piece::Var(var) | Piece::Dual(var) = *piece {
                        self.exists(var);
                    }
                }
            }
        }
    }

    fn field(&mut self, aggregate: VarId, field: Name) {
        let types = &self.module.types;
        let known = self
            .ty(aggregate)
            .is_some_and(|ty| match types.get(types.value_of(ty)) {
                Type::Struct(id) => types.struct_def(id).field(field).is_some(),
                Type::Query(query) => query.fields().contains(&self.module.names.get(field)),
                Type::Array { .. } | Type::FixedArray { .. } | Type::MappedArray { .. } => {
                    self.module.names.get(field) == "shape"
                }
                _ => false,
            });
        self.check(known, "a field that does not exist");
    }

    /// Whether a parameter takes searches of every kind, and this is one.
    fn is_erased(&self, param: TypeId, given: TypeId) -> bool {
        let kind = |ty| self.module.types.get(self.module.types.value_of(ty));
        matches!((kind(param), kind(given)), (Type::Query(a), Type::Query(b)) if a == b.erased())
    }

    /// Whether a variable is a number that a `literal` makes 64 bits wide, somewhere in the function.
    fn is_widened(&self, var: VarId) -> bool {
        let mut ops = self.function.ops.iter();
        ops.any(|op| matches!(op, Op::Literal { dst, .. } if *dst == var))
    }

    fn call(&mut self, call: &super::Call) {
        let function = self.function;
        let operands = call.operands;
        let count = 2 * usize::from(operands.args) + usize::from(operands.outs);
        if !self.in_pool(operands.start, count) {
            return;
        }
        let args = operands.args(&function.pool);
        let outs = operands.outs(&function.pool);
        for out in outs {
            self.defined(*out);
        }
        if let Some(template) = call.template {
            let known = (template as usize) < function.templates.len();
            self.check(known, "template arguments that do not exist");
        }
        match call.callee {
            Callee::Builtin(index, row) => {
                let known = crate::builtin::BUILTINS
                    .get(usize::from(index))
                    .is_some_and(|builtin| usize::from(row) < builtin.rows.len());
                self.check(known, "a builtin that does not exist");
            }
            Callee::Struct(id) => {
                let Some(def) = self.module.types.structs().get(id.index()) else {
                    return self.report("a struct that does not exist");
                };
                let fits = args.is_empty() || args.len() == def.fields.len();
                self.check(fits, "a struct made of another number of fields");
            }
            Callee::Function(callee) => {
                if callee as usize >= self.index.min(self.module.functions.len()) {
                    return self.report("a call of a function that does not come before");
                }
                let target = &self.module.functions[callee as usize];
                let same = args.len() == target.params as usize
                    && target.parameters().zip(args).all(|((_, param), arg)| {
                        self.ty(*arg).is_some_and(|ty| {
                            self.module.types.equal(param.ty, ty)
                                || self.module.types.array_parts(ty).is_some()
                                || self.is_widened(*arg)
                                || self.is_erased(param.ty, ty)
                        })
                    });
                self.check(same, "operands that do not fit the function's parameters");
                self.check(
                    outs.len() == target.returns.len(),
                    "another number of results",
                );
            }
        }
    }
}
