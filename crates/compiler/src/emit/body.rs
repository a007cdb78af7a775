//! Function bodies: declarations, the forward pass, its replay, and the backward walk.

use super::Target;
use super::literal;
use super::writer::{Writer, spaces};
use crate::builtin::BUILTINS;
use crate::ir::{
    Call, Callee, Function, FunctionKind, LoopKind, Module, Op, Place, Slot, SlotStep, Step,
    Template, VarId,
};
use crate::types::Type;

/// Which of the two passes over the operations is written forwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    Replay,
}

/// Where a body stands.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) target: Target,
    /// Whether `return` leaves an iteration of the grid-stride loop.
    pub(super) strided: bool,
}

impl Frame {
    fn base(self, function: &Function) -> usize {
        match (self.target, &function.kind) {
            (Target::Cuda, FunctionKind::Kernel { .. }) => 8,
            _ => 4,
        }
    }
}

fn writer<'a>(
    module: &'a Module,
    function: &'a Function,
    frame: Frame,
    out: &'a mut String,
) -> Writer<'a> {
    Writer {
        out,
        module,
        function,
        base: frame.base(function),
        level: 0,
    }
}

/// Appends the body of the forward function.
pub(super) fn forward(module: &Module, function: &Function, frame: Frame, out: &mut String) {
    let mut writer = writer(module, function, frame, out);
    writer.argument_vars(frame, false);
    writer.primal_vars();
    writer.section("forward");
    writer.walk(0, function.ops.len(), Pass::Forward, frame.strided);
}

/// Appends the body of the adjoint function.
pub(super) fn backward(module: &Module, function: &Function, frame: Frame, out: &mut String) {
    let mut writer = writer(module, function, frame, out);
    writer.argument_vars(frame, true);
    writer.primal_vars();
    writer.section("dual vars");
    for (var, variable) in function.locals() {
        writer.start();
        let ty = module.types.value_of(variable.ty);
        writer.text(module.types.spelling(ty));
        writer.text(" ");
        writer.adj(var);
        writer.text(" = {};\n");
    }
    writer.section("forward");
    writer.walk(0, function.ops.len(), Pass::Replay, false);
    writer.section("reverse");
    writer.walk_back(0, function.ops.len());
    writer.start();
    writer.text(if frame.strided {
        "continue;\n"
    } else {
        "return;\n"
    });
}

impl Writer<'_> {
    fn section(&mut self, title: &str) {
        self.start();
        self.text("//---------\n");
        self.start();
        self.text("// ");
        self.text(title);
        self.text("\n");
    }

    /// On the CPU a kernel unpacks its arguments.
    fn argument_vars(&mut self, frame: Frame, backward: bool) {
        let is_kernel = matches!(self.function.kind, FunctionKind::Kernel { .. });
        if frame.target != Target::Cpu || !is_kernel {
            return;
        }
        self.section("argument vars");
        for dual in [false, true] {
            if dual && !backward {
                break;
            }
            for (var, variable) in self.function.parameters() {
                self.start();
                self.text(self.module.types.spelling(variable.ty));
                self.text(" ");
                if dual {
                    self.adj(var);
                    self.text(" = _wp_adj_args->");
                } else {
                    self.var(var);
                    self.text(" = _wp_args->");
                }
                self.label(var);
                self.text(";\n");
            }
        }
    }

    fn primal_vars(&mut self) {
        self.section("primal vars");
        for (var, variable) in self.function.locals() {
            self.start();
            if variable.constant.is_some() {
                self.text("const ");
            }
            self.text(self.module.types.spelling(variable.ty));
            self.text(" ");
            self.var(var);
            if let Some(constant) = variable.constant {
                self.text(" = ");
                literal::constant(self.module, constant, self.out);
            }
            self.text(";\n");
        }
    }

    /// A quoted source line.
    fn quote(&mut self, line: u32, back: bool) {
        let line = &self.module.lines[line as usize];
        self.start();
        self.text(if back { "// adj: " } else { "// " });
        self.text(self.module.names.get(line.text));
        let padded = 80_usize.saturating_sub(4 * self.level);
        let padding = padded.saturating_sub(line.width as usize);
        spaces(self.out, padding + if back { 2 } else { 7 });
        self.text("<L ");
        self.number(line.number);
        self.text(">\n");
    }

    /// Writes the operations `from..to` in order.
    fn walk(&mut self, from: usize, to: usize, pass: Pass, strided: bool) {
        let mut at = from;
        while at < to {
            match self.function.ops[at] {
                Op::Line(line) => self.quote(line, false),
                Op::Call(call) => {
                    let skipped = pass == Pass::Replay && !self.function.ops[at].is_replayed();
                    self.call(&call, skipped);
                }
                Op::Load { dst, src } => {
                    self.start();
                    self.var(dst);
                    self.text(" = wp::load(");
                    self.var(src);
                    self.text(");\n");
                }
                Op::Set { dst, src } => {
                    self.start();
                    self.var(dst);
                    self.text(" = ");
                    self.var(src);
                    self.text(";\n");
                }
                Op::Accumulate { dst, src, or } => {
                    self.start();
                    self.var(dst);
                    self.text(" = ");
                    self.var(dst);
                    self.text(if or { " || " } else { " && " });
                    self.var(src);
                    self.text(";\n");
                }
                Op::SetInt { dst, value } => {
                    self.start();
                    self.var(dst);
                    self.text(" = ");
                    self.signed(value);
                    self.text(";\n");
                }
                Op::Literal { dst, literal } => {
                    self.start();
                    self.var(dst);
                    self.text(" = ");
                    let constant = self.function.literals[literal as usize];
                    literal::constant(self.module, constant, self.out);
                    self.text(";\n");
                }
                Op::Compare {
                    dst,
                    operands,
                    comparisons,
                    count,
                } => {
                    self.compare(dst, operands, comparisons, count);
                }
                Op::If { cond, negated, .. } => {
                    self.open_branch(cond, negated);
                }
                Op::EndIf { .. } => {
                    self.level -= 1;
                    self.start();
                    self.text("}\n");
                }
                Op::Loop { index, end } => {
                    if pass == Pass::Replay {
                        at = end as usize + 1;
                        continue;
                    }
                    self.loop_head(index);
                }
                Op::Test { index, cond } => {
                    self.loop_test(index, cond);
                    self.level += 1;
                }
                Op::EndLoop { index, .. } => {
                    let is_while = self.is_while(index);
                    if is_while {
                        self.level -= 1;
                        self.start_flush();
                    } else {
                        self.start();
                    }
                    self.text("goto start_");
                    self.loop_label(index);
                    self.text(";\n");
                    if is_while {
                        self.start_flush();
                    } else {
                        self.level -= 1;
                        self.start();
                    }
                    self.text("end_");
                    self.loop_label(index);
                    self.text(":;\n");
                }
                Op::Break { index } => {
                    self.start();
                    self.text("goto end_");
                    self.loop_label(index);
                    self.text(";\n");
                }
                Op::Continue { index } => {
                    self.start();
                    self.text("goto start_");
                    self.loop_label(index);
                    self.text(";\n");
                }
                Op::Return {
                    values,
                    count,
                    label,
                } => {
                    self.give_back(values, count, label, pass, strided);
                }
                Op::ReturnDefault => {
                    if pass == Pass::Forward {
                        self.start();
                        self.text("return {};\n");
                    }
                }
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    place,
                    ..
                } => {
                    self.start();
                    self.var(dst);
                    self.text(" = &(");
                    match place {
                        Some(place) => {
                            let function = self.function;
                            self.place(&function.places[place as usize]);
                        }
                        None => {
                            self.var(aggregate);
                            let ty = self.function.var(aggregate).ty;
                            let arrow = self.module.types.is_reference(ty);
                            self.text(if arrow { "->" } else { "." });
                            self.text(self.module.names.get(field));
                        }
                    }
                    self.text(");\n");
                }
                Op::FieldStore {
                    root, path, value, ..
                } => {
                    self.start();
                    self.var(root);
                    self.text(".");
                    self.text(self.module.names.get(path));
                    self.text(" = ");
                    self.var(value);
                    self.text(";\n");
                }
                Op::SlotAddress { dst, slot } => {
                    let function = self.function;
                    self.start();
                    self.var(dst);
                    self.text(" = &(");
                    self.slot_lvalue(&function.slots[slot as usize]);
                    self.text(");\n");
                }
                Op::SlotStore { slot, value } => {
                    let function = self.function;
                    self.start();
                    if pass == Pass::Replay {
                        self.text("// ");
                    }
                    self.text("wp::store(&(");
                    self.slot_lvalue(&function.slots[slot as usize]);
                    self.text("), ");
                    self.var(value);
                    self.text(");\n");
                }
                Op::SlotAtomic {
                    slot,
                    value,
                    update,
                } => {
                    let function = self.function;
                    let slot = &function.slots[slot as usize];
                    self.start();
                    if pass == Pass::Replay {
                        self.text("// ");
                    }
                    self.text("wp::array_atomic_");
                    self.text(update.word());
                    self.text("_slot(");
                    self.slot_array(slot);
                    self.text(", ");
                    self.var(value);
                    self.slot_accessor(slot);
                    self.text(");\n");
                }
                Op::Assert { cond, text } => {
                    self.start();
                    self.text("assert(((void)\"");
                    self.text(self.module.names.get(text));
                    self.text("\",");
                    self.var(cond);
                    self.text("));\n");
                }
            }
            at += 1;
        }
    }

    /// Writes the adjoints of the operations `from..to`, last first.
    fn walk_back(&mut self, from: usize, to: usize) {
        let mut at = to;
        while at > from {
            at -= 1;
            match self.function.ops[at] {
                Op::Line(line) => self.quote(line, true),
                Op::Call(call) => {
                    if call.has_adjoint {
                        self.adjoint_call(&call);
                    }
                }
                Op::EndIf { cond, negated, .. } => self.open_branch(cond, negated),
                Op::If { .. } => {
                    self.level -= 1;
                    self.start();
                    self.text("}\n");
                }
                Op::EndLoop { index, begin } => {
                    self.loop_back(index, begin as usize, at);
                    at = begin as usize;
                }
                Op::Return {
                    values,
                    count,
                    label,
                } => {
                    self.start();
                    self.text("label");
                    self.number(label);
                    self.text(":;\n");
                    for value in (0..count).rev() {
                        let var = self.function.pool[(values + value) as usize];
                        self.start();
                        self.adj(var);
                        self.text(" += adj_ret");
                        if count > 1 {
                            self.text("_");
                            self.number(value);
                        }
                        self.text(";\n");
                    }
                }
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    accumulates,
                    ..
                } => {
                    self.start();
                    self.adj(aggregate);
                    self.text(".");
                    self.text(self.module.names.get(field));
                    self.text(if accumulates { " += " } else { " = " });
                    self.adj(dst);
                    self.text(";\n");
                }
                Op::FieldStore {
                    root,
                    path,
                    value,
                    accumulates,
                } => {
                    if accumulates {
                        self.start();
                        self.adj(value);
                        self.text(" += ");
                        self.adj(root);
                        self.text(".");
                        self.text(self.module.names.get(path));
                        self.text(";\n");
                    }
                    self.start();
                    self.adj(root);
                    self.text(".");
                    self.text(self.module.names.get(path));
                    self.text(" = {};\n");
                }
                Op::SlotStore { slot, value } => self.slot_adjoint("store", slot, value),
                Op::SlotAtomic {
                    slot,
                    value,
                    update,
                } => {
                    self.slot_adjoint(
                        match update.word() {
                            "add" => "atomic_add",
                            "sub" => "atomic_sub",
                            "and" => "atomic_and",
                            "or" => "atomic_or",
                            _ => "atomic_xor",
                        },
                        slot,
                        value,
                    );
                }
                Op::Load { .. }
                | Op::Set { .. }
                | Op::Accumulate { .. }
                | Op::SetInt { .. }
                | Op::Literal { .. }
                | Op::Compare { .. }
                | Op::Loop { .. }
                | Op::Test { .. }
                | Op::Break { .. }
                | Op::Continue { .. }
                | Op::ReturnDefault
                | Op::SlotAddress { .. }
                | Op::Assert { .. } => {}
            }
        }
    }

    fn signed(&mut self, value: i64) {
        if value < 0 {
            self.text("-");
        }
        let magnitude = value.unsigned_abs();
        match u32::try_from(magnitude) {
            Ok(small) => self.number(small),
            Err(_) => self.text(&magnitude.to_string()),
        }
    }

    fn open_branch(&mut self, cond: VarId, negated: bool) {
        self.start();
        self.text(if negated { "if (!" } else { "if (" });
        self.var(cond);
        self.text(") {\n");
        self.level += 1;
    }

    fn compare(&mut self, dst: VarId, operands: u32, comparisons: u32, count: u32) {
        let function = self.function;
        let vars = &function.pool[operands as usize..][..count as usize + 1];
        let symbols = &function.comparisons[comparisons as usize..][..count as usize];
        self.start();
        self.var(dst);
        self.text(" = ");
        for _ in 0..count {
            self.text("(");
        }
        for (at, symbol) in symbols.iter().enumerate() {
            if at > 0 {
                self.text(" && (");
            }
            self.var(vars[at]);
            self.text(" ");
            self.text(symbol.symbol());
            self.text(" ");
            self.var(vars[at + 1]);
            self.text(if at > 0 { "))" } else { ")" });
        }
        self.text(";\n");
    }

    fn give_back(&mut self, values: u32, count: u32, label: u32, pass: Pass, strided: bool) {
        let function = self.function;
        let values = &function.pool[values as usize..][..count as usize];
        if values.len() > 1 {
            for (at, value) in values.iter().enumerate() {
                self.start();
                self.text("ret_");
                self.number(at as u32);
                self.text(" = ");
                self.var(*value);
                self.text(";\n");
            }
        }
        self.start();
        if pass == Pass::Replay {
            self.text("goto label");
            self.number(label);
        } else if let [value] = values {
            self.text("return ");
            self.var(*value);
        } else {
            self.text(if strided { "continue" } else { "return" });
        }
        self.text(";\n");
    }

    fn callee(&mut self, call: &Call, adjoint: bool) {
        match call.callee {
            Callee::Builtin(index, row) => {
                let row = &BUILTINS[usize::from(index)].rows[usize::from(row)];
                self.text(if adjoint { row.adjoint } else { row.native });
            }
            Callee::Function(index) => {
                if adjoint {
                    self.text("adj_");
                }
                let native = self.module.functions[index as usize].native;
                self.text(self.module.names.get(native));
            }
            Callee::Struct(id) => {
                if adjoint {
                    self.text("adj_");
                }
                let native = self.module.types.struct_def(id).native;
                self.text(self.module.names.get(native));
            }
        }
    }

    fn call(&mut self, call: &Call, skipped: bool) {
        let function = self.function;
        let args = call.operands.args(&function.pool);
        let outs = call.operands.outs(&function.pool);
        self.start();
        if skipped {
            self.text("// ");
        }
        if let [out] = outs {
            self.var(*out);
            self.text(" = ");
        }
        self.callee(call, false);
        if let Some(template) = call.template {
            self.template(&function.templates[template as usize]);
        }
        self.text(if call.braces { "({" } else { "(" });
        self.vars(args);
        if outs.len() > 1 {
            if !args.is_empty() {
                self.text(", ");
            }
            self.vars(outs);
        }
        self.text(if call.braces { "});\n" } else { ");\n" });
    }

    fn template(&mut self, args: &[Template]) {
        self.text("<");
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.text(", ");
            }
            match *arg {
                Template::Int(value) => self.signed(value),
                Template::Type(ty) => self.text(self.module.types.spelling(ty)),
            }
        }
        self.text(">");
    }

    fn adjoint_call(&mut self, call: &Call) {
        let function = self.function;
        let args = call.operands.args(&function.pool);
        let adjoints = call.operands.adjoints(&function.pool);
        let outs = call.operands.outs(&function.pool);
        let takes_output = match call.callee {
            Callee::Builtin(index, row) => {
                BUILTINS[usize::from(index)].rows[usize::from(row)].adjoint_takes_output
            }
            _ => false,
        };
        let gives_outputs = outs.len() > 1 || (takes_output && !outs.is_empty());
        self.start();
        self.callee(call, true);
        self.text("(");
        if call.braces {
            self.text("{");
            self.vars(args);
            self.text("}, ");
            if outs.len() > 1 {
                self.text("{");
                self.vars(outs);
                self.text("}, ");
            }
            self.text("{");
            for (at, var) in adjoints.iter().enumerate() {
                self.text(if at > 0 { ", &" } else { "&" });
                self.adj(*var);
            }
            self.text("}");
            for out in outs {
                self.text(", ");
                self.adj(*out);
            }
            self.text(");\n");
            return;
        }
        self.vars(args);
        if gives_outputs {
            self.text(", ");
            self.vars(outs);
        }
        for var in adjoints.iter().chain(outs) {
            self.text(", ");
            self.adj(*var);
        }
        self.text(");\n");
    }

    fn is_while(&self, index: u32) -> bool {
        self.function.loops[index as usize].kind == LoopKind::While
    }

    /// `for_0`, `while_2`.
    fn loop_label(&mut self, index: u32) {
        let function = self.function;
        let this = &function.loops[index as usize];
        self.text(this.kind.word());
        self.text("_");
        self.number(this.label);
    }

    /// The label and, for a counted or range loop, the test and the step.
    fn loop_head(&mut self, index: u32) {
        let function = self.function;
        let kind = function.loops[index as usize].kind;
        match kind {
            LoopKind::While => {
                self.start_flush();
                self.text("start_");
                self.loop_label(index);
                self.text(":;\n");
            }
            LoopKind::Range { iter, value } => {
                self.start();
                self.text("start_");
                self.loop_label(index);
                self.text(":;\n");
                self.level += 1;
                self.start();
                self.text("if (iter_cmp(");
                self.var(iter);
                self.text(") == 0) goto end_");
                self.loop_label(index);
                self.text(";\n");
                self.start();
                self.var(value);
                self.text(" = wp::iter_next(");
                self.var(iter);
                self.text(");\n");
            }
            LoopKind::Counted {
                counter,
                value,
                stop,
                step,
                ..
            } => {
                self.start();
                self.text("start_");
                self.loop_label(index);
                self.text(":;\n");
                self.level += 1;
                self.start();
                self.text("if (");
                self.var(counter);
                self.text(if step > 0 { " >= " } else { " <= " });
                self.signed(stop);
                self.text(") goto end_");
                self.loop_label(index);
                self.text(";\n");
                self.start();
                self.var(value);
                self.text(" = ");
                self.var(counter);
                self.text(";\n");
                self.start();
                self.var(counter);
                self.text(" += ");
                self.signed(step);
                self.text(";\n");
            }
        }
    }

    fn loop_test(&mut self, index: u32, cond: VarId) {
        self.start_flush();
        self.text("if ((");
        self.var(cond);
        self.text(") == false) goto end_");
        self.loop_label(index);
        self.text(";\n");
    }

    /// A loop in the backward walk: iterations in reverse order, each replayed and then walked back.
    fn loop_back(&mut self, index: u32, begin: usize, end: usize) {
        let function = self.function;
        let this = &function.loops[index as usize];
        let is_while = this.kind == LoopKind::While;
        let mut body = begin + 1;
        match this.kind {
            LoopKind::While => {
                self.start_flush();
                self.text("start_");
                self.loop_label(index);
                self.text(":;\n");
                while !matches!(function.ops[body], Op::Test { index: i, .. } if i == index) {
                    body += 1;
                }
                self.walk(begin + 1, body, Pass::Forward, false);
                if let Op::Test { cond, .. } = function.ops[body] {
                    self.loop_test(index, cond);
                }
                body += 1;
            }
            LoopKind::Range { iter, .. } => {
                self.start();
                self.var(iter);
                self.text(" = wp::iter_reverse(");
                self.var(iter);
                self.text(");\n");
                self.loop_head(index);
                self.level -= 1;
            }
            LoopKind::Counted {
                counter,
                value,
                start,
                stop,
                step,
            } => {
                let count = (i128::from(stop) - i128::from(start)).unsigned_abs();
                let steps = count.div_ceil(u128::from(step.unsigned_abs()));
                let last =
                    i128::from(start) + i128::from(step) * (i128::try_from(steps).unwrap_or(1) - 1);
                self.start();
                self.var(counter);
                self.text(" = ");
                self.signed(last as i64);
                self.text(";\n");
                self.start();
                self.text("start_");
                self.loop_label(index);
                self.text(":;\n");
                self.start();
                self.text("\tif (");
                self.var(counter);
                self.text(if step > 0 { " < " } else { " > " });
                self.signed(start);
                self.text(") goto end_");
                self.loop_label(index);
                self.text(";\n");
                self.start();
                self.text("\t");
                self.var(value);
                self.text(" = ");
                self.var(counter);
                self.text(";\n");
                self.start();
                self.text("\t");
                self.var(counter);
                self.text(" -= ");
                self.signed(step);
                self.text(";\n");
            }
        }
        for var in &this.zeroed {
            if is_while {
                self.start_flush();
            } else {
                self.start();
                self.text("\t");
            }
            self.adj(*var);
            self.text(" = {};\n");
        }
        self.level += 1;
        self.walk(body, end, Pass::Replay, false);
        self.walk_back(body, end);
        self.level -= 1;
        if is_while {
            self.start_flush();
        } else {
            self.start();
            self.text("\t");
        }
        self.text("goto start_");
        self.loop_label(index);
        self.text(";\n");
        if is_while {
            self.start_flush();
        } else {
            self.start();
        }
        self.text("end_");
        self.loop_label(index);
        self.text(":;\n");
    }

    /// A traced place as an lvalue.
    fn place(&mut self, place: &Place) {
        let mut prefix = String::new();
        // Built inside out, since each step wraps what comes before it.
        std::mem::swap(self.out, &mut prefix);
        self.var(place.root);
        for step in &place.steps {
            let inner = std::mem::take(self.out);
            self.step(&inner, step);
        }
        let built = std::mem::replace(self.out, prefix);
        self.out.push_str(&built);
    }

    fn step(&mut self, inner: &str, step: &Step) {
        match step {
            Step::Field(field) => {
                self.text("(");
                self.text(inner);
                self.text(").");
                self.text(self.module.names.get(*field));
            }
            Step::Element(indices) => {
                self.text("(*wp::address(");
                self.text(inner);
                self.text(", ");
                self.vars(indices);
                self.text("))");
            }
            Step::View(indices) => {
                self.text("wp::view(");
                self.text(inner);
                self.text(", ");
                self.vars(indices);
                self.text(")");
            }
        }
    }

    fn slot_array(&mut self, slot: &Slot) {
        if self
            .module
            .types
            .is_reference(self.function.var(slot.array).ty)
        {
            self.text("*(");
            self.var(slot.array);
            self.text(")");
        } else {
            self.var(slot.array);
        }
    }

    fn slot_lvalue(&mut self, slot: &Slot) {
        self.text("wp::index(");
        self.slot_array(slot);
        self.text(", ");
        self.vars(&slot.indices);
        self.text(")");
        self.slot_access(slot);
    }

    fn slot_access(&mut self, slot: &Slot) {
        for step in &slot.steps {
            match *step {
                SlotStep::Component(index) => {
                    self.text(".component_ref(");
                    self.var(index);
                    self.text(")");
                }
                SlotStep::Element(row, col) => {
                    self.text(".element_ref(");
                    self.vars(&[row, col]);
                    self.text(")");
                }
                SlotStep::Row(row) => {
                    self.text(".row_ref(");
                    self.var(row);
                    self.text(")");
                }
                SlotStep::Field(field) => {
                    self.text(".");
                    self.text(self.module.names.get(field));
                }
            }
        }
    }

    /// The lambda that finds the slot in an element, and the indices.
    fn slot_accessor(&mut self, slot: &Slot) {
        self.text(", [&](auto& _e) -> auto& { return _e");
        self.slot_access(slot);
        self.text("; }, ");
        self.vars(&slot.indices);
    }

    fn slot_adjoint(&mut self, operation: &str, slot: u32, value: VarId) {
        let function = self.function;
        let slot = &function.slots[slot as usize];
        self.start();
        self.text("wp::adj_array_");
        self.text(operation);
        self.text("_slot(");
        self.slot_array(slot);
        self.text(", ");
        self.slot_gradient(slot);
        self.text(", ");
        self.adj(value);
        self.slot_accessor(slot);
        self.text(");\n");
    }

    /// The array that holds the gradients of a slot's array, found along the same path.
    fn slot_gradient(&mut self, slot: &Slot) {
        let Some(place) = &slot.place else {
            return self.adj(slot.array);
        };
        if place.steps.is_empty() {
            return self.adj(place.root);
        }
        let array_ty = self.module.types.value_of(self.function.var(slot.array).ty);
        self.text("([&]() -> ");
        self.text(self.module.types.spelling(array_ty));
        self.text(" { auto slot_adj_0 = ");
        self.adj(place.root);
        self.text(";");
        for (at, step) in place.steps.iter().enumerate() {
            let source = format!("slot_adj_{at}");
            if !matches!(step, Step::Field(_)) {
                self.text(" if (!");
                self.text(&source);
                self.text(".data) return {};");
            }
            self.text(" auto slot_adj_");
            self.number(at as u32 + 1);
            self.text(" = ");
            self.step(&source, step);
            self.text(";");
        }
        self.text(" return slot_adj_");
        self.number(place.steps.len() as u32);
        self.text("; }())");
    }
}

/// Whether a parameter is a plain array of one dimension, whose stride a CPU kernel may fix.
pub(super) fn is_vector_array(module: &Module, ty: crate::types::TypeId) -> bool {
    matches!(module.types.get(ty), Type::Array { rank: 1, .. })
}
