//! Kernels that mean something. A [`Specification`] says what a kernel computes; its description in
//! English, its references in NumPy and PyTorch, and its kernels in Warp-style Python and in CUDA C++ all
//! follow from it, so that none can contradict another. The code leads back to the specification.

mod axis;
mod catalogue;
mod expression;
mod families;
mod family;
mod fault;
mod function;
mod recognise;
mod specification;
mod split;
mod task;
mod template;

pub use expression::Language;
pub use family::Group;
pub use fault::{Fault, FaultKind, faults};
pub use specification::{CudaKernel, Specification};
pub use split::Split;
pub use task::{Task, Tolerance, files};
