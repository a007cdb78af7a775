//! Parsers for what a project is made of. Each takes text and gives structure with line numbers;
//! none fails on input: what cannot be read is left out.

pub(crate) mod cmake;
pub(crate) mod cmake_condition;
pub(crate) mod condition;
pub(crate) mod cuda;
pub(crate) mod cuda_api;
pub(crate) mod cuda_function;
pub(crate) mod cuda_lexer;
pub(crate) mod dockerfile;
pub(crate) mod jinja;
pub(crate) mod markdown;
pub(crate) mod pyproject;
pub(crate) mod python_condition;
pub(crate) mod python_source;
pub(crate) mod requirements;
pub(crate) mod secrets;
pub(crate) mod setup_py;
pub(crate) mod shell;
pub(crate) mod yaml;
