//! What is known about builtins: their overloads in resolution order, how an argument list is
//! matched to one, and what type the call then has.

mod matching;
mod result;
mod row;
#[rustfmt::skip]
mod table;

pub(crate) use matching::{Bound, describe_types, select, select_plain};
pub(crate) use result::{CallError, Outcome, common_scalar, result_type};
pub use row::{Braces, Builtin, Default, Dispatch, Param, Pattern, Row, Rule};
pub use table::BUILTINS;

/// The builtin at a position of the table, which is also the index of its interned name.
pub fn builtin(index: usize) -> Option<&'static Builtin> {
    BUILTINS.get(index)
}
