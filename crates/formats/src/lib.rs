//! What leaves the program as a file: the formats that several crates write, the shell of HTML pages,
//! and [`write_output`], the one way to write a file that a user named.
//!
//! Knows no GPU, no statistics and no verb. Formats that one crate alone has (recordings, checkpoints,
//! manifests) stay with that crate; it writes them through [`OutputFile`].

pub mod base64;
pub mod csv;
pub mod flac;
pub mod html;
pub mod npy;
mod output;
pub mod png;
pub mod table;
pub mod wav;

pub use output::{
    InputOverwritten, OutputError, OutputFile, SameOutput, TEMPORARY_PREFIX, check_distinct,
    check_inputs_kept, check_partial_vacant, check_vacant, is_stdout, write_new_private,
    write_output, write_output_durably,
};
