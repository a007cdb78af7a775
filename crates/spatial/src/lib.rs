//! What kernels look things up in: meshes, trees of boxes, grids, volumes, textures, and how near edges and
//! triangles are to each other.
//!
//! Plain data with queries on it: whoever runs kernels gives the objects their numbers. The same query gives
//! the same bits on every machine.

pub mod box_query;
mod box_tree;
mod bvh;
pub mod edge_pair;
mod hash_grid;
mod mesh;
mod texture;
pub mod triangle_pair;
mod volume;

pub use bvh::Bvh;
pub use hash_grid::{GRID_QUERY_LEAVES, HashGrid};
pub use mesh::Mesh;
pub use texture::{Address, Sampling, Texel, Texture};
pub use volume::{Bits, MOST_NUMBERS, Volume, Voxel};
