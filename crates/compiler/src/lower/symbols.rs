//! The names of a function body and what each is bound to, in the order of first binding.

use super::value::Binding;
use warpsmith_ir::names::Name;

/// An ordered map from names to bindings; bodies have few names, so a list is the fastest one.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    entries: Vec<(Name, Binding)>,
}

impl Symbols {
    pub(super) fn with_capacity(names: usize) -> Self {
        Self {
            entries: Vec::with_capacity(names),
        }
    }

    pub(super) fn get(&self, name: Name) -> Option<Binding> {
        self.entries
            .iter()
            .find(|entry| entry.0 == name)
            .map(|entry| entry.1)
    }

    pub(super) fn contains(&self, name: Name) -> bool {
        self.entries.iter().any(|entry| entry.0 == name)
    }

    /// Binds a name; a known one keeps its place in the order.
    pub(super) fn set(&mut self, name: Name, binding: Binding) {
        match self.entries.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => entry.1 = binding,
            None => self.entries.push((name, binding)),
        }
    }

    pub(super) fn remove(&mut self, name: Name) {
        self.entries.retain(|entry| entry.0 != name);
    }

    pub(super) fn entries(&self) -> &[(Name, Binding)] {
        &self.entries
    }

    /// Whether any name is bound to `binding`.
    pub(super) fn is_bound(&self, binding: Binding) -> bool {
        self.entries.iter().any(|entry| entry.1 == binding)
    }
}
