//! The names that the functions around the one at hand give it: they come before its module's.

use super::value::Slot;
use super::{Global, Scope};
use warpsmith_ir::names::Name;

/// What to go back to.
#[derive(Debug)]
pub(crate) struct Outer {
    module: u16,
    names: Vec<Slot>,
}

impl Scope {
    /// Enters a function of `module` around which `names` stand for something. The caller's own such names
    /// are out of sight until [`Scope::leave_closure`].
    pub(crate) fn enter_closure(&mut self, module: u16, names: &[(Name, Global)]) -> Outer {
        self.exchange();
        let outer = Outer {
            names: std::mem::take(&mut self.enclosing),
            module: self.enter_module(module),
        };
        self.enclosing = names
            .iter()
            .map(|(name, value)| (*name, Some(*value)))
            .collect();
        self.exchange();
        outer
    }

    /// Goes back to where [`Scope::enter_closure`] was called.
    pub(crate) fn leave_closure(&mut self, outer: Outer) {
        self.exchange();
        self.enter_module(outer.module);
        self.enclosing = outer.names;
        self.exchange();
    }

    /// Exchanges what the names stand for with what the module says.
    fn exchange(&mut self) {
        for at in 0..self.enclosing.len() {
            let (name, value) = self.enclosing[at];
            self.enclosing[at].1 = self.replace(name, value);
        }
    }

    /// What a function around the one at hand gives a name.
    pub(super) fn enclosing_value(&self, name: Name) -> Option<Global> {
        let mut names = self.enclosing.iter();
        let is_known = names.any(|(known, _)| *known == name);
        self.get(name).filter(|_| is_known)
    }

    /// The names around the function at hand, with what they stand for now.
    pub(super) fn enclosing_values(&self) -> Vec<(Name, Global)> {
        let names = self.enclosing.iter();
        names
            .filter_map(|(name, _)| Some((*name, self.get(*name)?)))
            .collect()
    }
}
