//! Running medians over a `[row, frame]` matrix whose edges are mirrored, as scipy's
//! `median_filter(mode="reflect")` takes them: the edge value is repeated, and of an even number of
//! values the upper middle one counts.

use rayon::prelude::*;

/// Columns that are turned into rows at a time: as many as a cache line has values.
const STRIP: usize = 16;

/// The median of `kernel` frames around each value of its row.
pub(super) fn median_along_frames(matrix: &[f32], frames: usize, kernel: usize) -> Vec<f32> {
    let mut out = vec![0.0f32; matrix.len()];
    if frames > 0 {
        out.par_chunks_exact_mut(frames)
            .zip(matrix.par_chunks_exact(frames))
            .for_each_init(Vec::new, |sorted, (out, row)| {
                running_median(row, kernel, sorted, out);
            });
    }
    out
}

/// The median of `kernel` rows around each value of its frame.
pub(super) fn median_along_rows(matrix: &[f32], frames: usize, kernel: usize) -> Vec<f32> {
    let mut out = vec![0.0f32; matrix.len()];
    let rows = matrix.len().checked_div(frames).unwrap_or(0);
    if rows == 0 {
        return out;
    }
    let strips: Vec<Vec<f32>> = (0..frames.div_ceil(STRIP))
        .into_par_iter()
        .map_init(Vec::new, |sorted, strip| {
            let columns = strip * STRIP..frames.min((strip + 1) * STRIP);
            let mut medians = vec![0.0f32; columns.len() * rows];
            let mut column = vec![0.0f32; rows];
            for (medians, at) in medians.chunks_exact_mut(rows).zip(columns) {
                for (slot, row) in column.iter_mut().zip(matrix.chunks_exact(frames)) {
                    *slot = row[at];
                }
                running_median(&column, kernel, sorted, medians);
            }
            medians
        })
        .collect();
    for (strip, medians) in strips.iter().enumerate() {
        for (column, medians) in medians.chunks_exact(rows).enumerate() {
            for (row, median) in out.chunks_exact_mut(frames).zip(medians) {
                row[strip * STRIP + column] = *median;
            }
        }
    }
    out
}

/// The place of a value at `at` in a row that is mirrored at its ends as often as needed.
fn mirrored(at: i64, length: usize) -> usize {
    let period = 2 * length as i64;
    let place = at.rem_euclid(period) as usize;
    place.min(2 * length - 1 - place)
}

/// Keeps the values around one sorted, and replaces one of them when it goes on.
fn running_median(values: &[f32], kernel: usize, sorted: &mut Vec<f32>, out: &mut [f32]) {
    let value = |at: i64| values[mirrored(at, values.len())];
    let before = (kernel / 2) as i64;
    let after = kernel as i64 - before;
    sorted.clear();
    sorted.extend((-before..after).map(value));
    sorted.sort_unstable_by(f32::total_cmp);
    for (here, slot) in out.iter_mut().enumerate() {
        *slot = sorted[kernel / 2];
        let here = here as i64;
        let (leaves, comes) = (value(here - before), value(here + after));
        let from = sorted.partition_point(|x| x.total_cmp(&leaves).is_lt());
        let to = sorted.partition_point(|x| x.total_cmp(&comes).is_lt());
        if to > from {
            sorted.copy_within(from + 1..to, from);
            sorted[to - 1] = comes;
        } else {
            sorted.copy_within(to..from, to + 1);
            sorted[to] = comes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By definition.
    fn plain(values: &[f32], kernel: usize, at: usize) -> f32 {
        let first = at as i64 - (kernel / 2) as i64;
        let mut around: Vec<f32> = (first..first + kernel as i64)
            .map(|n| values[mirrored(n, values.len())])
            .collect();
        around.sort_unstable_by(f32::total_cmp);
        around[kernel / 2]
    }

    proptest! {
        #[test]
        fn a_running_median_is_the_median_everywhere(
            values in prop::collection::vec(0u8..9, 1..60),
            kernel in 1usize..40,
        ) {
            let row: Vec<f32> = values.iter().map(|x| f32::from(*x)).collect();
            let expected: Vec<f32> = (0..row.len()).map(|at| plain(&row, kernel, at)).collect();
            prop_assert_eq!(&median_along_frames(&row, row.len(), kernel), &expected);
            prop_assert_eq!(&median_along_rows(&row, 1, kernel), &expected);
            // Three columns of the same are three times the same.
            let wide: Vec<f32> = row.iter().flat_map(|x| [*x; 3]).collect();
            let medians = median_along_rows(&wide, 3, kernel);
            prop_assert_eq!(&medians.iter().copied().step_by(3).collect::<Vec<_>>(), &expected);
        }
    }

    #[test]
    fn edges_are_mirrored_with_their_value() {
        let places: Vec<usize> = (-4..7).map(|at| mirrored(at, 3)).collect();
        assert_eq!(places, [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]);
        assert!(median_along_frames(&[], 0, 3).is_empty());
        assert!(median_along_rows(&[], 0, 3).is_empty());
    }
}
