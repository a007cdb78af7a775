//! Random numbers that belong to one pair: a function of seed, index and attempt, and of nothing that
//! ran before.

/// SplitMix64 (Sebastiano Vigna), started from the counters of one pair.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// One round of SplitMix64's mixing.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The numbers of pair `index` of `seed`, at its `attempt`-th try.
    pub(crate) fn of_pair(seed: u64, index: u64, attempt: u32) -> Self {
        Self(mix(mix(mix(seed) ^ index).wrapping_add(u64::from(attempt))))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        let word = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        word
    }

    /// A number below `bound`, which is not 0. The bias of the multiplication is below 2^-32 for the
    /// small bounds that a grammar has.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (((self.bits() >> 32) * bound as u64) >> 32) as usize
    }

    /// Whether something that happens in `percent` of all cases happens now.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A position, as often as its weight says; the weights do not add up to 0.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.below(total as usize) as u32;
        for (position, weight) in weights.iter().enumerate() {
            if left < *weight {
                return position;
            }
            left -= weight;
        }
        weights.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_streams_of_their_own() {
        let first = |seed, index, attempt| Random::of_pair(seed, index, attempt).bits();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        assert_ne!(first(1, 2, 3), first(1, 2, 4));
        assert_ne!(first(1, 2, 3), first(1, 3, 3));
        assert_ne!(first(1, 2, 3), first(2, 2, 3));
    }

    #[test]
    fn weights_of_nothing_are_never_drawn() {
        let mut random = Random::of_pair(0, 0, 0);
        assert!((0..200).all(|_| random.weighted(&[0, 3, 0, 1]) % 2 == 1));
    }
}
