//! Sorts of tiles.

use super::super::control::Machine;
use super::super::lane_function::less;
use crate::instruction::Space;
use crate::tile::Tile;

/// The order of keys by a bitonic network, the least first: equal keys come as the network leaves them, which is
/// how Warp orders their values. Places beyond the last key come last.
fn bitonic_order(count: usize, is_less: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count.next_power_of_two()).collect();
    let is_less = |a: usize, b: usize| match (a < count, b < count) {
        (true, true) => is_less(a, b),
        (within, _) => within,
    };
    let mut run = 2;
    while run <= order.len() {
        let mut step = run / 2;
        while step > 0 {
            for i in 0..order.len() {
                let other = i ^ step;
                let (low, high) = match i & run {
                    0 => (other, i),
                    _ => (i, other),
                };
                if other > i && is_less(order[low], order[high]) {
                    order.swap(i, other);
                }
            }
            step /= 2;
        }
        run *= 2;
    }
    order.retain(|n| *n < count);
    order
}

impl Machine<'_> {
    /// Sorts keys, the least first, and values along with them.
    pub(super) fn tile_sort(&mut self, lane: usize, keys: &Tile, values: &Tile) {
        let ty = keys.scalars[0];
        let bits = self.read_tile(lane, (keys, Space::Value), 0);
        let order = bitonic_order(bits.len(), |a, b| less(ty, bits[a], bits[b]));
        let sorted: Vec<u64> = order.iter().map(|n| bits[*n]).collect();
        self.write_tile(lane, (keys, Space::Value), 0, &sorted);
        for leaf in 0..values.scalars.len() {
            let bits = self.read_tile(lane, (values, Space::Value), leaf);
            let sorted: Vec<u64> = order.iter().map(|n| bits[*n]).collect();
            self.write_tile(lane, (values, Space::Value), leaf, &sorted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bitonic_order;

    #[test]
    fn keys_are_sorted_and_equal_ones_come_as_warp_has_them() {
        // Observed with Warp 1.19.0.
        let keys = [2, 3, 2, 2, 2, 2, 3, 1, 3, 2, 0, 1, 3, 2, 0, 3];
        let order = bitonic_order(keys.len(), |a, b| keys[a] < keys[b]);
        let warps = [10, 14, 7, 11, 4, 0, 2, 3, 13, 5, 9, 8, 15, 12, 6, 1];
        assert_eq!(order, warps);
        let keys: Vec<u32> = (0..33_u32)
            .map(|n| n.wrapping_mul(2_654_435_761) >> 8)
            .collect();
        let order = bitonic_order(keys.len(), |a, b| keys[a] < keys[b]);
        assert!(order.windows(2).all(|pair| keys[pair[0]] < keys[pair[1]]));
        assert_eq!(bitonic_order(1, |_, _| false), [0]);
    }
}
