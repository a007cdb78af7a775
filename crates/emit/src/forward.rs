//! The forward pass, and its replay.

use super::body::{Exception, Forward};
use super::literal;
use super::writer::Writer;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::{Call, Callee, Chain, Op, Template, VarId};

/// Which of the two passes over the operations is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    /// Only operations that a replay writes differently are written in it.
    Replay,
}

impl Writer<'_> {
    /// Whether a replay writes the operation differently.
    fn is_exception(&self, op: &Op) -> bool {
        match op {
            Op::Return { .. } | Op::Loop { .. } => true,
            Op::Call(call) if self.is_replaced(call) => true,
            _ => !op.is_replayed(),
        }
    }

    /// Whether a replay calls something else.
    fn is_replaced(&self, call: &Call) -> bool {
        match call.callee {
            Callee::Function(index) => {
                self.module.functions[index as usize].is_replaced_in_replay()
            }
            _ => false,
        }
    }

    /// Writes all operations in order, and notes where each stands.
    pub(super) fn walk(&mut self, strided: bool, layout: &mut Forward) {
        let function = self.function;
        for (at, op) in function.ops.iter().enumerate() {
            layout.offsets.push(self.out.len());
            if self.is_exception(op) {
                layout.exceptions.push(Exception {
                    op: at as u32,
                    level: self.level as u32,
                });
            }
            if at >= layout.first {
                self.operation(*op, Pass::Forward, strided);
            }
        }
        layout.offsets.push(self.out.len());
    }

    /// Writes the operations `from..to` again, as the adjoint repeats them. Loops are left out: the
    /// backward walk repeats them iteration by iteration.
    pub(super) fn replay(&mut self, from: usize, to: usize, layout: &Forward) {
        let function = self.function;
        let level = self.level;
        let mut at = from;
        let first = layout
            .exceptions
            .partition_point(|exception| (exception.op as usize) < from);
        for exception in &layout.exceptions[first..] {
            let op = exception.op as usize;
            if op >= to {
                break;
            }
            if op < at {
                continue;
            }
            self.out.repeat(layout.offsets[at], layout.offsets[op]);
            at = op + 1;
            if let Op::Loop { end, .. } = function.ops[op] {
                at = end as usize + 1;
            } else {
                self.level = exception.level as usize;
                self.operation(function.ops[op], Pass::Replay, false);
            }
        }
        self.out.repeat(layout.offsets[at], layout.offsets[to]);
        self.level = level;
    }

    fn operation(&mut self, op: Op, pass: Pass, strided: bool) {
        match op {
            Op::Line(line) => self.quote(line, false),
            Op::Call(call) => self.call(&call, pass == Pass::Replay),
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
            Op::Compare { dst, chain } => {
                self.compare(dst, chain);
            }
            Op::If { cond, negated, .. } => {
                self.open_branch(cond, negated);
            }
            Op::EndIf { .. } => {
                self.level -= 1;
                self.start();
                self.text("}\n");
            }
            Op::Loop { index, .. } => self.loop_head(index),
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
                self.go_to_start(index);
                if is_while {
                    self.start_flush();
                } else {
                    self.level -= 1;
                    self.start();
                }
                self.end_label(index);
            }
            Op::Break { index } => {
                self.start();
                self.go_to_end(index);
            }
            Op::Continue { index } => {
                self.start();
                self.go_to_start(index);
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
                        self.out.push_short(self.module.names.get(field));
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
                self.out.push_short(self.module.names.get(path));
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
            Op::Text { text, .. } => {
                let function = self.function;
                self.start();
                if pass == Pass::Replay {
                    self.text("// ");
                }
                self.pieces(&function.texts[text as usize].forward);
            }
            Op::Assert { cond, text } => {
                self.start();
                self.text("assert(((void)\"");
                self.out.push_short(self.module.names.get(text));
                self.text("\",");
                self.var(cond);
                self.text("));\n");
            }
        }
    }

    fn compare(&mut self, dst: VarId, chain: Chain) {
        let function = self.function;
        let (vars, symbols) = (chain.operands(function), chain.comparisons(function));
        self.start();
        self.var(dst);
        self.text(" = ");
        for _ in symbols {
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

    pub(super) fn callee(&mut self, call: &Call, adjoint: bool) {
        match call.callee {
            Callee::Builtin(index, row) => {
                let row = &BUILTINS[usize::from(index)].rows[usize::from(row)];
                self.out
                    .push_short(if adjoint { row.adjoint } else { row.native });
            }
            Callee::Function(index) => {
                if adjoint {
                    self.text("adj_");
                }
                let native = self.module.functions[index as usize].native;
                self.out.push_short(self.module.names.get(native));
            }
            Callee::Struct(id) => {
                if adjoint {
                    self.text("adj_");
                }
                let native = self.module.types.struct_def(id).native;
                self.out.push_short(self.module.names.get(native));
            }
        }
    }

    fn call(&mut self, call: &Call, skipped: bool) {
        let function = self.function;
        let args = call.operands.args(&function.pool);
        let outs = call.operands.outs(&function.pool);
        let replaced = skipped && self.is_replaced(call);
        self.start();
        if skipped && !replaced {
            self.text("// ");
        }
        if let [out] = outs {
            self.var(*out);
            self.text(" = ");
        }
        if replaced {
            self.text("replay_");
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
}
