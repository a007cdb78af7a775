//! Labels, tests and steps of loops.

use super::writer::Writer;
use warpsmith_ir::{LoopKind, VarId};

impl Writer<'_> {
    pub(super) fn is_while(&self, index: u32) -> bool {
        self.function.loops[index as usize].kind == LoopKind::While
    }

    /// `for_0`, `while_2`.
    pub(super) fn loop_label(&mut self, index: u32) {
        let function = self.function;
        let this = &function.loops[index as usize];
        self.text(this.kind.word());
        self.text("_");
        self.number(this.label);
    }

    /// The label that the loop's next pass starts at.
    pub(super) fn start_label(&mut self, index: u32) {
        self.text("start_");
        self.loop_label(index);
        self.text(":;\n");
    }

    /// The label behind the loop.
    pub(super) fn end_label(&mut self, index: u32) {
        self.text("end_");
        self.loop_label(index);
        self.text(":;\n");
    }

    pub(super) fn go_to_start(&mut self, index: u32) {
        self.text("goto start_");
        self.loop_label(index);
        self.text(";\n");
    }

    pub(super) fn go_to_end(&mut self, index: u32) {
        self.text("goto end_");
        self.loop_label(index);
        self.text(";\n");
    }

    /// The label and, for a counted or range loop, the test and the step.
    pub(super) fn loop_head(&mut self, index: u32) {
        let function = self.function;
        let kind = function.loops[index as usize].kind;
        match kind {
            LoopKind::While => {
                self.start_flush();
                self.start_label(index);
            }
            LoopKind::Range { iter, value } => {
                self.start();
                self.start_label(index);
                self.level += 1;
                self.start();
                self.text("if (iter_cmp(");
                self.var(iter);
                self.text(") == 0) ");
                self.go_to_end(index);
                self.start();
                self.var(value);
                self.text(" = wp::iter_next(");
                self.var(iter);
                self.text(");\n");
            }
            LoopKind::Counted {
                counter,
                value,
                range,
            } => {
                self.start();
                self.start_label(index);
                self.level += 1;
                let past = if range.step > 0 { " >= " } else { " <= " };
                self.leave_past(index, "", (counter, past, range.stop));
                self.take_counter("", (value, counter), (" += ", range.step));
            }
        }
    }

    /// Leaves a loop whose counter has come past a number.
    pub(super) fn leave_past(
        &mut self,
        index: u32,
        indent: &str,
        (counter, past, last): (VarId, &str, i64),
    ) {
        self.start();
        self.text(indent);
        self.text("if (");
        self.var(counter);
        self.text(past);
        self.signed(last);
        self.text(") ");
        self.go_to_end(index);
    }

    /// Gives a loop's variable the counter, which takes a step.
    pub(super) fn take_counter(
        &mut self,
        indent: &str,
        (value, counter): (VarId, VarId),
        (sign, step): (&str, i64),
    ) {
        self.start();
        self.text(indent);
        self.var(value);
        self.text(" = ");
        self.var(counter);
        self.text(";\n");
        self.start();
        self.text(indent);
        self.var(counter);
        self.text(sign);
        self.signed(step);
        self.text(";\n");
    }

    pub(super) fn loop_test(&mut self, index: u32, cond: VarId) {
        self.start_flush();
        self.text("if ((");
        self.var(cond);
        self.text(") == false) goto end_");
        self.loop_label(index);
        self.text(";\n");
    }
}
