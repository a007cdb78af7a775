//! Level shifts: lazy allocations and releases that move the floor once are not a leak.
//!
//! A few isolated jumps are found, for the trend to be fitted around them; a dip that is undone at
//! once is bridged. Many jumps are a staircase, which is what a leak through a coarse allocator
//! looks like, and are no shifts.

use crate::statistics::order::{MAD_TO_SIGMA, mad_about, median_of};

/// The floor moved once and stayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelShift {
    /// Index of the mark that is first on the new level.
    pub mark: usize,
    /// How far the floor moved.
    pub bytes: f64,
}

/// How many spreads of an ordinary step make a jump.
const JUMP: f64 = 8.0;

/// Bridges dips of `marks` and finds the isolated shifts.
pub fn find_isolated(marks: &mut [f64]) -> Vec<LevelShift> {
    bridge_dips(marks);
    let steps = differences(marks);
    let Some(is_jump) = jump_test(&steps) else {
        return Vec::new();
    };
    let ordinary = median_of(&steps);
    let mut shifts: Vec<LevelShift> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| is_jump(**step))
        .map(|(index, step)| LevelShift {
            mark: index + 1,
            bytes: step - ordinary,
        })
        .collect();
    if shifts.len() > (marks.len() / 12).max(2) {
        shifts.clear();
    }
    shifts
}

fn differences(marks: &[f64]) -> Vec<f64> {
    marks.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// A test for steps that stand out; `None` where there are too few steps to say what is ordinary.
fn jump_test(steps: &[f64]) -> Option<impl Fn(f64) -> bool + use<>> {
    if steps.len() < 8 {
        return None;
    }
    let ordinary = median_of(steps);
    let spread = MAD_TO_SIGMA * mad_about(steps, ordinary);
    Some(move |step: f64| (step - ordinary).abs() > JUMP * spread)
}

/// A fall of up to two marks that is undone: the floor was not reached, a neighbour was.
fn bridge_dips(marks: &mut [f64]) {
    let steps = differences(marks);
    let Some(is_jump) = jump_test(&steps) else {
        return;
    };
    for width in 1..=2 {
        for first in 1..marks.len().saturating_sub(width) {
            let (before, after) = (marks[first - 1], marks[first + width]);
            let fall = marks[first] - before;
            let rise = after - marks[first + width - 1];
            let undone = (fall + rise).abs() < 0.3 * fall.abs().max(rise.abs());
            if is_jump(fall) && is_jump(rise) && undone && fall < 0.0 {
                for (offset, mark) in marks[first..first + width].iter_mut().enumerate() {
                    let part = (offset + 1) as f64 / (width + 1) as f64;
                    *mark = before + part * (after - before);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(n: usize) -> Vec<f64> {
        let mut random = Random::seeded(1);
        (0..n)
            .map(|i| f64::from(i as u32) + 0.3 * random.normal())
            .collect()
    }

    #[test]
    fn two_jumps_are_found_and_measured() {
        let mut marks = noise(60);
        marks[20..].iter_mut().for_each(|mark| *mark += 100.0);
        marks[41..].iter_mut().for_each(|mark| *mark += 50.0);
        let shifts = find_isolated(&mut marks);
        assert_eq!(
            shifts.iter().map(|shift| shift.mark).collect::<Vec<_>>(),
            [20, 41]
        );
        assert!((shifts[0].bytes - 100.0).abs() < 2.0);
    }

    #[test]
    fn a_dip_is_bridged_and_is_no_shift() {
        let mut marks = noise(60);
        marks[30] -= 500.0;
        assert!(find_isolated(&mut marks).is_empty());
        assert!((marks[30] - 30.0).abs() < 2.0);
    }

    #[test]
    fn a_staircase_is_left_alone() {
        let mut marks: Vec<f64> = (0..60).map(|i| f64::from(i / 5) * 2.0).collect();
        let before = marks.clone();
        assert!(find_isolated(&mut marks).is_empty());
        assert_eq!(marks, before);
    }
}
