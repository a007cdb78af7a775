//! What each path answers.

mod control;
pub(crate) mod matrix;
mod music;
mod route;
mod status;

pub(crate) use control::wanted;
pub(crate) use route::Router;
