//! Sorts of tiles.

use super::super::control::Machine;
use super::super::lane_function::less;
use crate::instruction::Space;
use crate::tile::Tile;
use std::cmp::Ordering;

impl Machine<'_> {
    /// Sorts keys, the least first, and values along with them; equal keys keep their order.
    pub(super) fn tile_sort(&mut self, lane: usize, keys: &Tile, values: &Tile) {
        let ty = keys.scalars[0];
        let bits = self.read_tile(lane, (keys, Space::Value), 0);
        let mut order: Vec<usize> = (0..bits.len()).collect();
        order.sort_by(
            |&a, &b| match (less(ty, bits[a], bits[b]), less(ty, bits[b], bits[a])) {
                (true, _) => Ordering::Less,
                (_, true) => Ordering::Greater,
                _ => Ordering::Equal,
            },
        );
        let sorted: Vec<u64> = order.iter().map(|n| bits[*n]).collect();
        self.write_tile(lane, (keys, Space::Value), 0, &sorted);
        for leaf in 0..values.scalars.len() {
            let bits = self.read_tile(lane, (values, Space::Value), leaf);
            let sorted: Vec<u64> = order.iter().map(|n| bits[*n]).collect();
            self.write_tile(lane, (values, Space::Value), leaf, &sorted);
        }
    }
}
