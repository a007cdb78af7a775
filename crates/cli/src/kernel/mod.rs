//! Verbs about kernels: compile, run, check, measure.

pub(crate) mod ablate;
pub(crate) mod bench;
mod command_end;
pub(crate) mod compare;
pub(crate) mod compile;
mod drawn_case;
pub(crate) mod exec;
pub(crate) mod inspect;
pub(crate) mod judge;
pub(crate) mod leak;
pub(crate) mod new;
mod nsight_compute;
pub(crate) mod profile;
mod python_file;
pub(crate) mod run;
pub(crate) mod scale;
mod size_argument;
pub(crate) mod tune;
pub(crate) mod verify;
mod warp_library;
