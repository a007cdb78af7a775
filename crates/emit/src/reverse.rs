//! The backward walk: adjoints of operations, last first.

use super::body::Forward;
use super::writer::Writer;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::{Call, Callee, LoopKind, Op};

impl Writer<'_> {
    /// Writes the adjoints of the operations `from..to`, last first.
    pub(super) fn walk_back(&mut self, from: usize, to: usize, layout: &Forward) {
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
                    self.loop_back(index, begin as usize, at, layout);
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
                    self.out.push_short(self.module.names.get(field));
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
                        self.out.push_short(self.module.names.get(path));
                        self.text(";\n");
                    }
                    self.start();
                    self.adj(root);
                    self.text(".");
                    self.out.push_short(self.module.names.get(path));
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
                Op::Text { text, .. } => {
                    let function = self.function;
                    let reverse = &function.texts[text as usize].reverse;
                    if !reverse.is_empty() {
                        self.start();
                        self.pieces(reverse);
                    }
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
        // An author's own adjoint takes gradients only.
        let own = match call.callee {
            Callee::Function(index) => self.module.functions[index as usize].custom().has_gradient,
            _ => false,
        };
        let gives_outputs = (outs.len() > 1 && !own) || (takes_output && !outs.is_empty());
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

    /// A loop in the backward walk: iterations in reverse order, each replayed and then walked back.
    fn loop_back(&mut self, index: u32, begin: usize, end: usize, layout: &Forward) {
        let function = self.function;
        let this = &function.loops[index as usize];
        let is_while = this.kind == LoopKind::While;
        let mut body = begin + 1;
        match this.kind {
            LoopKind::While => {
                self.start_flush();
                self.start_label(index);
                while !matches!(function.ops[body], Op::Test { index: i, .. } if i == index) {
                    body += 1;
                }
                // The condition is evaluated, side effects and all.
                self.out
                    .repeat(layout.offsets[begin + 1], layout.offsets[body]);
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
                range,
            } => {
                self.start();
                self.var(counter);
                self.text(" = ");
                self.signed(range.last());
                self.text(";\n");
                self.start();
                self.start_label(index);
                let past = if range.step > 0 { " < " } else { " > " };
                self.leave_past(index, "\t", (counter, past, range.start));
                self.take_counter("\t", (value, counter), (" -= ", range.step));
            }
        }
        for var in &this.zeroed {
            // A view's gradients belong to the tile that it is a view of.
            let tile = self.module.types.tile_of(function.var(*var).ty);
            if tile.is_some_and(|tile| !tile.owner) {
                continue;
            }
            if is_while {
                self.start_flush();
            } else {
                self.start();
                self.text("\t");
            }
            self.adj(*var);
            self.text(match tile {
                Some(_) => ".grad_zero();\n",
                None => " = {};\n",
            });
        }
        self.level += 1;
        self.replay(body, end, layout);
        self.walk_back(body, end, layout);
        self.level -= 1;
        if is_while {
            self.start_flush();
        } else {
            self.start();
            self.text("\t");
        }
        self.go_to_start(index);
        if is_while {
            self.start_flush();
        } else {
            self.start();
        }
        self.end_label(index);
    }
}
