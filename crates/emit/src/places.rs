//! Places in memory: traced lvalues, and slots of array elements.

use super::writer::Writer;
use warpsmith_ir::{Place, Slot, SlotStep, Step, VarId};

impl Writer<'_> {
    /// A traced place as an lvalue: each step is wrapped around those before it.
    pub(super) fn place(&mut self, place: &Place) {
        self.steps(place.root, &place.steps);
    }

    fn steps(&mut self, root: VarId, steps: &[Step]) {
        match steps.split_last() {
            None if self.module.types.is_reference(self.function.var(root).ty) => {
                self.text("*(");
                self.var(root);
                self.text(")");
            }
            None => self.var(root),
            Some((last, inner)) => self.step(last, |writer| writer.steps(root, inner)),
        }
    }

    fn step(&mut self, step: &Step, inner: impl FnOnce(&mut Self)) {
        match step {
            Step::Field(field) => {
                self.text("(");
                inner(self);
                self.text(").");
                self.out.push_short(self.module.names.get(*field));
            }
            Step::Element(indices) => {
                self.text("(*wp::address(");
                inner(self);
                self.text(", ");
                self.vars(indices);
                self.text("))");
            }
            Step::View(indices) => {
                self.text("wp::view(");
                inner(self);
                self.text(", ");
                self.vars(indices);
                self.text(")");
            }
        }
    }

    pub(super) fn slot_array(&mut self, slot: &Slot) {
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

    pub(super) fn slot_lvalue(&mut self, slot: &Slot) {
        self.text("wp::index(");
        self.slot_array(slot);
        self.text(", ");
        self.vars(&slot.indices);
        self.text(")");
        self.slot_access(slot);
    }

    pub(super) fn slot_access(&mut self, slot: &Slot) {
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
                    self.out.push_short(self.module.names.get(field));
                }
            }
        }
    }

    /// The lambda that finds the slot in an element, and the indices.
    pub(super) fn slot_accessor(&mut self, slot: &Slot) {
        self.text(", [&](auto& _e) -> auto& { return _e");
        self.slot_access(slot);
        self.text("; }, ");
        self.vars(&slot.indices);
    }

    pub(super) fn slot_adjoint(&mut self, operation: &str, slot: u32, value: VarId) {
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
        self.out.push_short(self.module.types.spelling(array_ty));
        self.text(" { auto slot_adj_0 = ");
        self.adj(place.root);
        self.text(";");
        for (at, step) in place.steps.iter().enumerate() {
            let at = at as u32;
            if !matches!(step, Step::Field(_)) {
                self.text(" if (!slot_adj_");
                self.number(at);
                self.text(".data) return {};");
            }
            self.text(" auto slot_adj_");
            self.number(at + 1);
            self.text(" = ");
            self.step(step, |writer| {
                writer.text("slot_adj_");
                writer.number(at);
            });
            self.text(";");
        }
        self.text(" return slot_adj_");
        self.number(place.steps.len() as u32);
        self.text("; }())");
    }
}
