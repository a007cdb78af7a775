//! Computing in borrowed memory: a Feistel stencil that leaves every bit as it was.
//!
//! Two arrays A and B of 32-bit words belong to somebody else and hold anything. Step t adds to one
//! of them the sum of its cells' neighbours in the other (even t: B += S·A, odd t: A += S·B, modulo
//! 2³²), which subtraction undoes. All steps together are a linear map, so the difference of two
//! runs whose starts differ by one in one word is that map applied to a unit vector, whatever the
//! memory holds: the number of walks from the source to the tap of lengths up to T with T's parity,
//! weighted by the coefficients of the Fibonacci polynomial F_{T+1}.
//!
//! The clean memory is two words, some counters and a row of zeros. Nothing is saved by it: it
//! borrows memory that is in use. See Buhrman, Cleve, Koucký, Loff and Speelman, "Computing with a
//! full memory: catalytic space", STOC 2014.

mod borrowed_file;
mod cuda;
mod journal;
mod mapped_file;
mod obstacles;
mod programme;
mod stencil;
mod vulkan;
mod workload;

pub use borrowed_file::{Progress, Restored, journal_path, restore, run_in_file};
pub use cuda::CudaBorrow;
pub use obstacles::Obstacles;
pub use programme::{CpuBorrow, Walks};
pub use vulkan::VulkanBorrow;
pub use workload::CatalyticWorkload;
