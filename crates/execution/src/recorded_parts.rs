//! Long recordings in parts: a driver gives up on a submission that takes seconds, and equal parts are
//! recorded once.

use std::collections::HashMap;
use std::ops::Range;

/// Steps that are submitted part by part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Where each part to be recorded lies in the steps; no two hold the same steps.
    pub(crate) distinct: Vec<Range<usize>>,
    /// The parts of a run, one after the other, by their place in `distinct`.
    pub(crate) order: Vec<usize>,
}

/// Bounds of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Launches, at most.
    pub(crate) launches: usize,
    /// Bytes that its launches pass over, at most, unless one launch alone does more.
    pub(crate) bytes: u64,
}

/// Cuts `steps` into parts, where a launch of number `step` passes over `bytes(step)` bytes.
pub(crate) fn cut(steps: &[usize], bytes: impl Fn(usize) -> u64, bounds: Bounds) -> Parts {
    let mut known: HashMap<&[usize], usize> = HashMap::new();
    let mut parts = Parts {
        distinct: Vec::new(),
        order: Vec::new(),
    };
    let mut first = 0;
    while first < steps.len() {
        let mut end = first;
        let mut passed = 0_u64;
        while end < steps.len() && end - first < bounds.launches {
            passed = passed.saturating_add(bytes(steps[end]));
            if end > first && passed > bounds.bytes {
                break;
            }
            end += 1;
        }
        let at = *known.entry(&steps[first..end]).or_insert_with(|| {
            parts.distinct.push(first..end);
            parts.distinct.len() - 1
        });
        parts.order.push(at);
        first = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(parts: &Parts, steps: &[usize]) -> Vec<usize> {
        let runs = parts.order.iter().map(|at| &parts.distinct[*at]);
        runs.flat_map(|range| steps[range.clone()].to_vec())
            .collect()
    }

    #[test]
    fn parts_make_the_steps_again_within_the_bounds() {
        let steps: Vec<usize> = (0..1000).map(|n| (n * n + n / 7) % 5).collect();
        for launches in [1, 2, 3, 64, 999, 1000, 5000] {
            for most in [1, 10, 100, u64::MAX] {
                let bounds = Bounds {
                    launches,
                    bytes: most,
                };
                let weigh = |step: usize| 3 * step as u64;
                let parts = cut(&steps, weigh, bounds);
                assert_eq!(together(&parts, &steps), steps);
                for part in &parts.distinct {
                    let bytes: u64 = steps[part.clone()].iter().map(|step| weigh(*step)).sum();
                    assert!(part.len() <= launches && !part.is_empty());
                    assert!(bytes <= most || part.len() == 1, "{part:?}: {bytes}");
                }
            }
        }
    }

    #[test]
    fn equal_parts_are_recorded_once() {
        let steps: Vec<usize> = (0..1 << 20).map(|n| n % 2).collect();
        for launches in [1 << 14, (1 << 14) - 1] {
            let bounds = Bounds {
                launches,
                bytes: u64::MAX,
            };
            let parts = cut(&steps, |_| 1, bounds);
            assert_eq!(parts.order.len(), (1_usize << 20).div_ceil(launches));
            assert!(parts.distinct.len() <= 3, "{:?}", parts.distinct);
            assert_eq!(together(&parts, &steps), steps);
        }
    }

    #[test]
    fn nothing_has_no_parts() {
        let bounds = Bounds {
            launches: 4,
            bytes: 4,
        };
        assert_eq!(cut(&[], |_| 1, bounds).order, Vec::<usize>::new());
    }
}
