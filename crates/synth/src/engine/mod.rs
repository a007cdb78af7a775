//! The GPU engine: note tables, kernels, and what is kept on the device between blocks.

pub(crate) mod blocks;
pub(crate) mod dry_voices;
pub(crate) mod images;
pub(crate) mod note_table;
pub(crate) mod operators;
