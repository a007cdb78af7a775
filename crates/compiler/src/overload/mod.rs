//! Which overload of a builtin takes an argument list, and what type the call then has.

mod matching;
mod result;

pub(crate) use matching::{Bound, describe_types, select, select_plain};
pub(crate) use result::{
    CallError, Outcome, PYTHON_SCALAR, call_result, common_scalar, result_type,
};
