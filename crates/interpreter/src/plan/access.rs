//! How a kernel uses the memory of its parameters, which decides whether threads may run in any order.

/// What happens to one array parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// Elements are read, other than a thread's own.
    pub(crate) reads: bool,
    /// Elements are written, other than a thread's own.
    pub(crate) writes: bool,
    /// A thread reads or writes the element that its own coordinates name.
    pub(crate) own_reads: bool,
    pub(crate) own_writes: bool,
    /// Integers are updated by operations that commute, and the old values are not looked at.
    pub(crate) commutes: bool,
    /// The same, of the gradients.
    pub(crate) gradient_reads: bool,
    pub(crate) gradient_writes: bool,
    pub(crate) own_gradient: bool,
}

impl Access {
    /// Whether anything reads or writes the values.
    pub(crate) fn uses_values(self) -> bool {
        self.reads || self.own_reads || self.changes_values()
    }

    /// Whether anything writes the values.
    pub(crate) fn changes_values(self) -> bool {
        self.writes || self.own_writes || self.commutes
    }

    /// Whether anything reads or writes the gradients.
    pub(crate) fn uses_gradients(self) -> bool {
        self.gradient_reads || self.gradient_writes || self.own_gradient
    }

    /// Whether the order of threads can show in the results.
    pub(crate) fn is_ordered(self) -> bool {
        let values = self.writes
            || (self.own_writes && (self.reads || self.commutes))
            || (self.commutes && (self.reads || self.own_reads));
        let gradients = self.gradient_writes || (self.own_gradient && self.gradient_reads);
        values || gradients
    }
}
