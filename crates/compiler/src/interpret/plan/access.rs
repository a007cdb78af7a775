//! How a kernel uses the memory of its parameters, which decides whether threads may run in any order.

/// What happens to one array parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::interpret) struct Access {
    /// Elements are read, other than a thread's own.
    pub(in crate::interpret) reads: bool,
    /// Elements are written, other than a thread's own.
    pub(in crate::interpret) writes: bool,
    /// A thread reads or writes the element that its own coordinates name.
    pub(in crate::interpret) own_reads: bool,
    pub(in crate::interpret) own_writes: bool,
    /// Integers are updated by operations that commute, and the old values are not looked at.
    pub(in crate::interpret) commutes: bool,
    /// The same, of the gradients.
    pub(in crate::interpret) gradient_reads: bool,
    pub(in crate::interpret) gradient_writes: bool,
    pub(in crate::interpret) own_gradient: bool,
}

impl Access {
    /// Whether anything reads or writes the values.
    pub(in crate::interpret) fn uses_values(self) -> bool {
        self.reads || self.own_reads || self.changes_values()
    }

    /// Whether anything writes the values.
    pub(in crate::interpret) fn changes_values(self) -> bool {
        self.writes || self.own_writes || self.commutes
    }

    /// Whether anything reads or writes the gradients.
    pub(in crate::interpret) fn uses_gradients(self) -> bool {
        self.gradient_reads || self.gradient_writes || self.own_gradient
    }

    /// Whether the order of threads can show in the results.
    pub(in crate::interpret) fn is_ordered(self) -> bool {
        let values = self.writes
            || (self.own_writes && (self.reads || self.commutes))
            || (self.commutes && (self.reads || self.own_reads));
        let gradients = self.gradient_writes || (self.own_gradient && self.gradient_reads);
        values || gradients
    }
}
