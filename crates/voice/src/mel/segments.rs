//! Mel filters cut at their centres: between two neighbouring centres every bin has at most two
//! weights, one of the filter above, where it rises, and one of the filter below, where it falls.
//!
//! Segments are taken sixteen at a time, a lane to a segment, with weights in the order of the loads.

use super::bank::MelBank;

/// Segments that work side by side.
const LANES: usize = 16;

/// The tables of `mel512.cu`.
#[derive(Debug, PartialEq)]
pub(super) struct MelSegments {
    /// First bin of each segment, an even one; the segment after the last filter's centre comes last.
    pub(super) firsts: Vec<u32>,
    /// Pairs of weights of each group, an even number, then of the last segment.
    pub(super) counts: Vec<u32>,
    /// Pairs (rising, falling): `[pair, lane]` of each group, then of the last segment.
    pub(super) slopes: Vec<f32>,
}

/// The bins of one segment.
#[derive(Clone, Default)]
struct Segment {
    first: usize,
    weights: Vec<[f32; 2]>,
}

impl MelSegments {
    /// Pairs of weights of a lane, over all groups.
    pub(super) fn pairs(&self) -> u32 {
        self.counts[..self.counts.len() - 1].iter().sum()
    }

    /// The segments of `bank`; `None` where some bin has weights of more than two neighbours.
    pub(super) fn new(bank: &MelBank, bins: usize, gain: f32) -> Option<Self> {
        let filters = bank.filters().len();
        let mut segments = vec![Segment::default(); filters + 1];
        let mut current = 0;
        for bin in 0..bins {
            let weights: Vec<(usize, f32)> = bank
                .filters()
                .iter()
                .enumerate()
                .filter_map(|(m, filter)| {
                    let weight = filter.weights.get(bin.checked_sub(filter.first)?)?;
                    (*weight != 0.0).then_some((m, weight * gain))
                })
                .collect();
            current = match weights[..] {
                [] => current,
                // One weight alone rises or falls: the last filter's falls after its largest, others
                // are whichever keeps the segments in order.
                [(m, weight)] if m == current && m + 1 == filters => {
                    let before = segments[m].weights.last();
                    m + usize::from(before.is_some_and(|pair| pair[0] > weight))
                }
                [(m, _)] if m >= current => m,
                [(m, _)] if m + 1 == current => current,
                [(m, _), (n, _)] if n == m + 1 && n >= current => n,
                _ => return None,
            };
            let segment = &mut segments[current];
            if segment.weights.is_empty() {
                // The kernel loads two bins at once.
                segment.first = bin - bin % 2;
                segment.weights.resize(bin % 2, [0.0; 2]);
            }
            let mut pair = [0.0; 2];
            for (m, weight) in weights {
                pair[usize::from(m != current)] = weight;
            }
            segment.weights.push(pair);
        }
        let last = segments.pop()?;
        let mut tables = Self {
            firsts: Vec::new(),
            counts: Vec::new(),
            slopes: Vec::new(),
        };
        for group in segments.chunks(LANES) {
            let longest = group.iter().map(|segment| segment.weights.len()).max()?;
            let count = longest.next_multiple_of(2);
            tables.counts.push(count as u32);
            for lane in 0..LANES {
                let first = group.get(lane).map_or(0, |segment| segment.first);
                tables.firsts.push(first as u32);
            }
            for pair in 0..count {
                for lane in 0..LANES {
                    let weights = group
                        .get(lane)
                        .and_then(|segment| segment.weights.get(pair));
                    tables.slopes.extend(weights.unwrap_or(&[0.0; 2]));
                }
            }
        }
        tables.firsts.push(last.first as u32);
        tables.counts.push(last.weights.len() as u32);
        tables.slopes.extend(last.weights.as_flattened());
        Some(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mel::preset::{Preset, Sizes, Stage};

    #[test]
    fn the_tables_hold_every_weight_of_every_bank_once() {
        for preset in [Preset::Librosa, Preset::Torchaudio, Preset::Kaldi] {
            for filters in [12, 40, 64, 77, 80, 128] {
                let sizes = Sizes {
                    filters,
                    ..Sizes::for_speech(16_000)
                };
                let settings = preset.feature(16_000, sizes, Stage::Mel);
                let bank = MelBank::new(&settings.mel, 16_000, 512).unwrap();
                let tables = MelSegments::new(&bank, 257, 1.0).unwrap();
                let mut dense = vec![0.0f32; (filters + 1) * 257];
                let mut put = |segment: usize, bin: usize, pair: &[f32]| {
                    if segment < filters && pair[0] != 0.0 {
                        dense[segment * 257 + bin] += pair[0];
                    }
                    if segment > 0 && pair[1] != 0.0 {
                        dense[(segment - 1) * 257 + bin] += pair[1];
                    }
                };
                let mut at = 0;
                for (group, count) in tables.counts[..filters.div_ceil(16)].iter().enumerate() {
                    for pair in 0..*count as usize {
                        for lane in 0..16 {
                            let segment = 16 * group + lane;
                            let bin = tables.firsts[segment] as usize + pair;
                            put(segment, bin, &tables.slopes[at..at + 2]);
                            at += 2;
                        }
                    }
                }
                let first = tables.firsts[tables.firsts.len() - 1] as usize;
                for (i, pair) in tables.slopes[at..].chunks_exact(2).enumerate() {
                    put(filters, first + i, pair);
                }
                for (m, filter) in bank.filters().iter().enumerate() {
                    let mut row = vec![0.0; 257];
                    row[filter.first..][..filter.weights.len()].copy_from_slice(&filter.weights);
                    assert_eq!(
                        row,
                        dense[m * 257..][..257],
                        "{preset} {filters}: filter {m}"
                    );
                }
            }
        }
    }
}
