//! The best path through the pitch candidates of all frames, and the frames cut into pieces for a GPU that
//! searches all of them at once.

mod candidates;
mod pieces;
mod search;
mod search_cuda;

pub(crate) use candidates::{Candidate, candidate, maxima, tops};
pub(crate) use pieces::{PieceMemory, Pieces};
pub(crate) use search::{PathCosts, PathSearch};
pub(crate) use search_cuda::{Launch, PieceSearch, Searched};
