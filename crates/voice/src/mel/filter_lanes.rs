//! The mel filters of one frame in the lanes of vectors.
//!
//! Neighbouring filters see neighbouring bins: eight of them take their bins together, lowest first, and a bin
//! that a filter does not see has no weight in its lane. Where all powers are finite that adds nothing, and a
//! filter's sum has the bits of one that is taken on its own.

use super::bank::MelBank;
use warpsmith_lanes::Lanes;

/// Filters in a vector.
const EIGHT: usize = 8;
/// Filters that are summed in turn, so that one sum does not wait for the other.
const SIXTEEN: usize = 2 * EIGHT;

/// The filters of a bank, sixteen by sixteen.
pub(crate) struct FilterLanes {
    groups: Vec<Group>,
    /// `[group, bin, filter]`.
    weights: Vec<f32>,
}

/// Sixteen filters: as many bins for either eight, from the first that one of them sees on, or from earlier
/// where there would not be as many.
struct Group {
    firsts: [usize; 2],
    bins: usize,
}

impl FilterLanes {
    /// The filters of `bank`, their weights times `gain`, over `bins` bins.
    pub(crate) fn new(bank: &MelBank, gain: f32, bins: usize) -> Self {
        let mut weights = Vec::new();
        let groups = bank
            .filters()
            .chunks(SIXTEEN)
            .map(|sixteen| {
                let halves = [0, 1].map(|half| {
                    let eight = sixteen.chunks(EIGHT).nth(half).unwrap_or_default();
                    let seen = eight.iter().filter(|filter| !filter.weights.is_empty());
                    let first = seen.clone().map(|filter| filter.first).min();
                    let end = seen.map(|filter| filter.first + filter.weights.len()).max();
                    (eight, first.unwrap_or(0), end.unwrap_or(0))
                });
                let lengths = halves.map(|(_, first, end)| end - first);
                let most = lengths[0].max(lengths[1]);
                let firsts = halves.map(|(_, first, _)| first.min(bins - most));
                for bin in 0..most {
                    for ((eight, ..), first) in halves.iter().zip(firsts) {
                        weights.extend((0..EIGHT).map(|lane| {
                            let weight = eight.get(lane).and_then(|filter| {
                                let at = (first + bin).checked_sub(filter.first)?;
                                filter.weights.get(at).map(|weight| weight * gain)
                            });
                            weight.unwrap_or(0.0)
                        }));
                    }
                }
                Group { firsts, bins: most }
            })
            .collect();
        Self { groups, weights }
    }

    /// The filters' sums over finite powers; `W` has eight lanes.
    #[inline(always)]
    pub(crate) fn sum<W: Lanes>(&self, power: &[f32], sums: &mut [f32]) {
        let mut weights = &self.weights[..];
        for (group, out) in self.groups.iter().zip(sums.chunks_mut(SIXTEEN)) {
            let (here, after) = weights.split_at(SIXTEEN * group.bins);
            weights = after;
            let [low, high] = group.firsts.map(|first| &power[first..][..group.bins]);
            let mut sums = [W::splat(0.0); 2];
            let bins = here.as_chunks::<SIXTEEN>().0.iter().zip(low).zip(high);
            for ((weights, low), high) in bins {
                sums[0] = W::splat(*low).mul_add(W::load(weights), sums[0]);
                sums[1] = W::splat(*high).mul_add(W::load(&weights[EIGHT..]), sums[1]);
            }
            let mut lanes = [0.0f32; SIXTEEN];
            sums[0].store(&mut lanes);
            sums[1].store(&mut lanes[EIGHT..]);
            out.copy_from_slice(&lanes[..out.len()]);
        }
    }
}

/// Whether none of the powers, which are not negative, is infinite or not a number.
#[inline(always)]
pub(crate) fn are_finite<W: Lanes>(powers: &[f32]) -> bool {
    let largest = W::splat(f32::MAX);
    let vectors = powers.chunks_exact(W::WIDTH);
    let mut rest = vectors.remainder().iter();
    let all = u32::MAX >> (32 - W::WIDTH);
    rest.all(|power| *power <= f32::MAX)
        && vectors.fold(all, |finite, powers| {
            finite & W::load(powers).less_or_equal(largest)
        }) == all
}
