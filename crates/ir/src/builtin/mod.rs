//! What is known about builtins: their overloads in resolution order, and the rule for the type of
//! a call.

mod row;
#[rustfmt::skip]
mod table;

pub use row::{Braces, Builtin, Default, Dispatch, Param, Pattern, Row, Rule};
pub use table::BUILTINS;

/// The builtin at a position of the table, which is also the index of its interned name.
pub fn builtin(index: usize) -> Option<&'static Builtin> {
    BUILTINS.get(index)
}
