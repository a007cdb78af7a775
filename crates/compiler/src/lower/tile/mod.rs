//! Tiles: builtins, operators and subscripts on what a block of threads holds together. They become C++
//! templates, of which the IR keeps the text.
//!
//! Where a tile lies follows from what is done with it, anywhere in the function: a builtin that needs it
//! in shared memory puts it there, by its type, which no other tile has.

mod algebra;
mod block;
mod index;
mod make;
mod map;
mod memory;
mod native;
mod operators;
mod reduce;
mod texture;
mod view;

use super::body::Body;
use super::value::{Res, Value, fail};
use warpsmith_ir::names::Name;

impl Body<'_, '_> {
    /// Calls a builtin that works on tiles.
    pub(super) fn tile_builtin(
        &mut self,
        name: &'static str,
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Value> {
        let given = (positional, named);
        match name {
            "tile_zeros" | "tile_ones" | "tile_empty" => self.tile_fill(name, given),
            "tile_full" => self.tile_full(given),
            "tile_from_thread" => self.tile_from_thread(given),
            "tile_randi" | "tile_randf" => self.tile_random(name, given),
            "tile_arange" => self.tile_arange(given),
            "tile" => self.tile_of_threads(given),
            "untile" => self.untile(given),
            "tile_load" => self.tile_load(given),
            "tile_store" => self.tile_store(given),
            "tile_atomic_add" => self.tile_atomic_add(given),
            "tile_load_indexed" => self.tile_load_indexed(given),
            "tile_store_indexed" | "tile_atomic_add_indexed" => {
                self.tile_store_indexed(name, given)
            }
            "tile_view" => self.tile_view_call(given),
            "tile_squeeze" => self.tile_squeeze(given),
            "tile_reshape" => self.tile_reshape(given),
            "tile_astype" => self.tile_astype(given),
            "tile_assign" => self.tile_assign_call(given),
            "tile_transpose" => self.tile_transpose(given),
            "tile_broadcast" => self.tile_broadcast(given),
            "tile_extract" => self.tile_extract_call(given),
            "tile_sum" => self.tile_sum(given),
            "tile_dot" => self.tile_dot(given),
            "tile_axpy" => self.tile_axpy(given),
            "tile_sort" => self.tile_sort(given),
            "tile_min" | "tile_max" | "tile_argmin" | "tile_argmax" => {
                self.tile_extreme(name, given)
            }
            "tile_scan_inclusive"
            | "tile_scan_exclusive"
            | "tile_scan_max_inclusive"
            | "tile_scan_min_inclusive" => self.tile_scan(name, given),
            "tile_reduce" => self.tile_reduce(given),
            "tile_map" => self.tile_map(given),
            "tile_scatter_add" => self.tile_scatter_add(given),
            "tile_scatter_masked" => self.tile_scatter_masked(given),
            "tile_diag_add" => self.tile_diag_add(given),
            "tile_matmul" => self.tile_matmul(given),
            "tile_fft" | "tile_ifft" => self.tile_fft(name, given),
            "tile_cholesky" | "tile_cholesky_inplace" => self.tile_cholesky(name, given),
            "tile_cholesky_solve"
            | "tile_cholesky_solve_inplace"
            | "tile_lower_solve"
            | "tile_lower_solve_inplace"
            | "tile_upper_solve"
            | "tile_upper_solve_inplace" => self.tile_solve(name, given),
            "texture_sample" => self.texture_sample(given),
            "tile_stack" => self.tile_stack(given),
            "tile_stack_push" | "tile_stack_pop" | "tile_stack_clear" | "tile_stack_count" => {
                self.tile_stack_call(name, given)
            }
            "neg" | "add" | "sub" | "mul" | "div" | "bit_and" | "bit_or" | "bit_xor" => {
                self.tile_operator(name, given)
            }
            _ => match name.strip_suffix("_tiled").unwrap_or(name) {
                "tile_bvh_query_aabb" | "bvh_query_aabb" => {
                    self.tile_query("bvh_query_aabb", given)
                }
                "tile_bvh_query_ray" | "bvh_query_ray" => self.tile_query("bvh_query_ray", given),
                "tile_mesh_query_aabb" | "mesh_query_aabb" => {
                    self.tile_query("mesh_query_aabb", given)
                }
                "tile_bvh_query_next" | "bvh_query_next" => {
                    self.tile_query_next("bvh_query_next", given)
                }
                "tile_mesh_query_aabb_next" | "mesh_query_aabb_next" => {
                    self.tile_query_next("mesh_query_aabb_next", given)
                }
                "tile_query_valid" => self.tile_query_valid(given),
                _ => fail("K021", format!("`wp.{name}` is not supported")),
            },
        }
    }
}
