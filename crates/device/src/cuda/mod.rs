//! CUDA: the driver binding and everything built on it. Nothing outside this folder sees a raw
//! pointer of the driver's.

mod argument;
mod buffer;
mod context;
mod cubin;
mod event;
mod facts;
mod fault;
mod graph;
mod host_flag;
mod host_words;
mod kernel;
mod mapped;
mod mapped_buffer;
mod pinned;
mod pool;
pub mod raw;
mod stream;
mod tiled_matrix;

pub use argument::{Argument, DeviceElement, LaunchShape};
pub use buffer::DeviceBuffer;
pub use context::{CudaDevice, MemoryInfo, any_context_given_up};
pub use cubin::{EmbeddedCubin, embed_cubins};
pub use event::Event;
pub use facts::{GpuFacts, cuda_devices};
pub use graph::Graph;
pub use host_flag::HostFlag;
pub use host_words::HostWords;
pub use kernel::{Kernel, LoadedFrom};
pub use mapped_buffer::MappedBuffer;
pub use pinned::PinnedBuffer;
pub use pool::{BufferPool, PoolStats};
pub use stream::Stream;
pub use tiled_matrix::TiledMatrix;
