//! The one way to write a file that a user named.
//!
//! Invariants:
//! - a reader of a regular file sees the old one or the new one, whole; a file that could not be
//!   finished leaves the old one as it was and nothing beside it, even if the process is killed
//!   (file systems without nameless files, such as NFS, then keep a `.part-…`, which may be removed);
//! - a file that is replaced keeps its mode and its owner, a new one has what the umask leaves of 0666;
//! - a symbolic link stays and its target is written, whether it exists or not;
//! - a device, a FIFO, a socket and an open descriptor (`/dev/stdout`, `/dev/fd/3`) are written in
//!   place and never replaced; `-` is the standard output;
//! - a file with other names (hard links), one that is a mount point and one of another user are
//!   overwritten when the new contents are complete: names, mount and owner stay, and a reader may
//!   see a mixture while the copy lasts;
//! - what cannot be written is found out before the work whose result it would hold.

mod destination;
mod distinct;
mod error;
mod file;
mod unfinished;

pub use destination::is_stdout;
pub use distinct::{InputOverwritten, SameOutput, check_distinct, check_inputs_kept};
pub use error::OutputError;
pub use file::{
    OutputFile, check_partial_vacant, check_vacant, write_new_private, write_output,
    write_output_durably,
};
pub use unfinished::TEMPORARY_PREFIX;
