//! The shapes that were seen, in bounded memory: eight bytes each, in one open-addressing table.
//!
//! Ten million shapes take 134 MB. Two shapes with the same 64-bit hash would be taken for one; among
//! ten million the odds of a single such pair are three in a million, and the price is one pair that is
//! drawn again.

/// A set of 64-bit hashes.
#[derive(Debug)]
pub struct ShapeSet {
    slots: Vec<u64>,
    len: usize,
}

impl ShapeSet {
    /// Room for `expected` shapes; more are taken in by doubling.
    pub fn with_room_for(expected: usize) -> Self {
        let slots = (expected.saturating_mul(10) / 7)
            .max(64)
            .next_power_of_two();
        Self {
            slots: vec![0; slots],
            len: 0,
        }
    }

    /// Adds a shape; whether it is new.
    pub fn insert(&mut self, shape: u64) -> bool {
        if self.len * 10 >= self.slots.len() * 8 {
            self.grow();
        }
        // 0 marks an empty slot; the shape 0 shares its place with the shape 1.
        let shape = shape.max(1);
        let mask = self.slots.len() - 1;
        let mut at = shape as usize & mask;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = shape;
                    self.len += 1;
                    return true;
                }
                seen if seen == shape => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// How many shapes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        self.slots.len() * 8
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        self.len = 0;
        for shape in old.into_iter().filter(|shape| *shape != 0) {
            self.insert(shape);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_not_new() {
        let mut set = ShapeSet::with_room_for(4);
        for shape in 0..1000_u64 {
            assert!(
                set.insert(shape.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 2),
                "{shape}"
            );
        }
        for shape in 0..1000_u64 {
            assert!(!set.insert(shape.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 2));
        }
    }

    #[test]
    fn ten_million_shapes_fit_in_a_fraction_of_a_gigabyte() {
        assert!(ShapeSet::with_room_for(10_000_000).bytes() <= 160 << 20);
    }
}
