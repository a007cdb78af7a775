//! Shortest paths on a lattice with blocked cells, without a graph: 4×4×4 cells are the bits of one
//! word, and a cell's distance is kept modulo 3 in two bits.
//!
//! A frontier moves by shifting words; its parts that leave a tile are handed to the neighbouring
//! tile. Distances of neighbours differ by at most one, so the distance modulo 3 tells which
//! neighbour is nearer, and a path is walked back without any table of distances.

mod cpu;
mod cuda;
mod labels;
mod map;
mod maze;
mod queue;
mod slab;
mod tile;
mod workload;

pub use cpu::TileSearch;
pub use cuda::CudaSearch;
pub use labels::{Labels, Reach};
pub use map::{DrawnMaze, parse_map};
pub use maze::Maze;
pub use queue::QueueSearch;
pub use workload::BfsWorkload;
