//! From syntax to IR: each function body is walked once, statement by statement, in the order in which
//! Python would evaluate it, and every variable and operation is made at that moment. The order of
//! creation is part of the result, since variables are numbered by it.

mod address;
mod argument_rules;
mod arguments;
mod assign;
mod attribute;
mod augmented;
mod body;
mod branch;
mod call;
mod callable;
mod component;
mod constructor;
mod expression;
mod function;
mod gradient;
mod gradient_call;
mod loops;
mod rigid_constructor;
mod slot;
mod static_expression;
mod subscript;
mod symbols;
mod tile;
mod unroll;
mod user_call;
mod value;

pub(crate) use function::{Operators, Shared, build_kernel};
