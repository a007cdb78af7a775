//! Level shifts: lazy allocations and releases that move the floor once are not a leak.
//!
//! A few isolated jumps are found, for the trend to be fitted around them; a dip that is undone at
//! once is bridged. Many jumps upwards are a staircase, which is what a leak through a coarse
//! allocator looks like, and are no shifts; where as many go down, an arena grows and shrinks.
//!
//! Shifts that are too small to stand out look like growth to a line: [`steps_explain`] asks whether
//! a few levels explain the marks better.

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

/// Bridges dips of `marks`, which were met at `places`, and finds the isolated shifts.
pub fn find_isolated(marks: &mut [f64], places: &[f64]) -> Vec<LevelShift> {
    // Without the growth between two places, which are not evenly apart where the floor moves.
    let ordinary = ordinary_growth(marks, places);
    let growth = places.iter().map(|place| ordinary * place);
    let mut level: Vec<f64> = marks.iter().zip(growth).map(|(m, g)| m - g).collect();
    bridge_dips(&mut level);
    for ((mark, level), place) in marks.iter_mut().zip(&level).zip(places) {
        *mark = level + ordinary * place;
    }
    let steps = differences(&level);
    let Some(is_jump) = jump_test(&steps) else {
        return Vec::new();
    };
    let mut shifts: Vec<LevelShift> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| is_jump(**step))
        .map(|(index, step)| LevelShift {
            mark: index + 1,
            bytes: *step,
        })
        .collect();
    let falls = shifts.iter().filter(|shift| shift.bytes < 0.0).count();
    let rises = shifts.len() - falls;
    // Falls alone are the resets of a saw-tooth, rises alone a staircase. Around resets, what is left
    // of the marks is the saw's teeth, which all rise: a few of them are enough to make a leak.
    let both_ways = 3 * falls.min(rises) >= shifts.len();
    let most = marks.len() / if both_ways { 4 } else { 12 };
    if shifts.len() > most.max(2) || falls > rises + 1 {
        shifts.clear();
    }
    shifts
}

/// Whether one to three levels explain `marks` better than a line does, by the Bayesian information
/// criterion: each change of level costs a height and a place.
pub fn steps_explain(marks: &[f64]) -> bool {
    let n = marks.len();
    let count = n as f64;
    let Some(line) = line_squares(marks).filter(|squares| *squares > 0.0) else {
        return false;
    };
    let mut sums = vec![(0.0, 0.0)];
    for mark in marks {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + mark, squares + mark * mark));
    }
    // What is left of the marks `from..to` around their mean.
    let left = |from: usize, to: usize| {
        let sum: f64 = sums[to].0 - sums[from].0;
        let squares: f64 = sums[to].1 - sums[from].1;
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut best = [f64::INFINITY; 2];
    for first in SHORTEST..n.saturating_sub(SHORTEST - 1) {
        best[0] = best[0].min(left(0, first) + left(first, n));
        for second in first + SHORTEST..n.saturating_sub(SHORTEST - 1) {
            best[1] = best[1].min(left(0, first) + left(first, second) + left(second, n));
        }
    }
    let criterion =
        |squares: f64, terms: f64| count * squares.max(1e-300).ln() + terms * count.ln();
    let of_line = criterion(line, 2.0);
    criterion(best[0], 3.0) < of_line || criterion(best[1], 5.0) < of_line
}

/// Marks that make a level.
const SHORTEST: usize = 4;

/// What is left of `marks` around the line through them.
fn line_squares(marks: &[f64]) -> Option<f64> {
    let n = marks.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = marks.iter().sum::<f64>() / n;
    let (mut across, mut along) = (0.0, 0.0);
    for (i, mark) in marks.iter().enumerate() {
        let x = i as f64 - middle;
        across += x * (mark - mean);
        along += x * x;
    }
    let slope = across / along;
    let off = |(i, mark): (usize, &f64)| mark - mean - slope * (i as f64 - middle);
    (along > 0.0).then(|| marks.iter().enumerate().map(|one| off(one).powi(2)).sum())
}

/// The median rise from mark to mark, per place.
fn ordinary_growth(marks: &[f64], places: &[f64]) -> f64 {
    let apart = differences(places);
    let rises: Vec<f64> = differences(marks)
        .iter()
        .zip(apart)
        .filter(|(_, apart)| *apart > 0.0)
        .map(|(rise, apart)| rise / apart)
        .collect();
    if rises.is_empty() {
        0.0
    } else {
        median_of(&rises)
    }
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
    use warpsmith_workload::random::Random;

    use super::*;

    fn find_in(marks: &mut [f64]) -> Vec<LevelShift> {
        let places: Vec<f64> = (0..marks.len()).map(|i| i as f64).collect();
        find_isolated(marks, &places)
    }

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
        let shifts = find_in(&mut marks);
        assert_eq!(
            shifts.iter().map(|shift| shift.mark).collect::<Vec<_>>(),
            [20, 41]
        );
        assert!((shifts[0].bytes - 100.0).abs() < 2.0);
    }

    #[test]
    fn a_release_within_a_window_is_one_shift() {
        let places: Vec<f64> = (0..60)
            .map(|i| f64::from(i) + if i == 30 { 0.6 } else { 0.0 })
            .collect();
        let mut random = Random::seeded(2);
        let level = |place: &f64| if *place > 30.5 - 1e-9 { -90.0 } else { 0.0 };
        let mut marks: Vec<f64> = places
            .iter()
            .map(|place| 3.0 * place + level(place) + 0.02 * random.normal())
            .collect();
        let shifts = find_isolated(&mut marks, &places);
        assert_eq!(shifts.len(), 1, "{shifts:?}");
        assert!((shifts[0].bytes + 90.0).abs() < 1.0);
    }

    #[test]
    fn a_dip_is_bridged_and_is_no_shift() {
        let mut marks = noise(60);
        marks[30] -= 500.0;
        assert!(find_in(&mut marks).is_empty());
        assert!((marks[30] - 30.0).abs() < 2.0);
    }

    #[test]
    fn an_arena_that_grows_and_shrinks_has_many_shifts() {
        let mut marks = noise(60);
        for (nth, at) in [5, 12, 20, 26, 33, 40, 47, 54].into_iter().enumerate() {
            let height = if nth % 2 == 0 { 80.0 } else { -80.0 };
            marks[at..].iter_mut().for_each(|mark| *mark += height);
        }
        assert_eq!(find_in(&mut marks).len(), 8);
    }

    #[test]
    fn the_resets_of_a_saw_tooth_are_no_shifts() {
        let mut marks = noise(60);
        for at in [6, 11, 17, 22, 28, 33, 39, 44, 50, 55] {
            marks[at..].iter_mut().for_each(|mark| *mark -= 30.0);
        }
        assert!(find_in(&mut marks).is_empty());
    }

    #[test]
    fn the_few_resets_of_a_long_saw_tooth_are_no_shifts() {
        let mut marks = noise(60);
        for at in [14, 33, 50] {
            marks[at..].iter_mut().for_each(|mark| *mark -= 18.0);
        }
        assert!(find_in(&mut marks).is_empty());
    }

    #[test]
    fn two_small_shifts_are_levels_and_a_ramp_is_not() {
        let mut random = Random::seeded(5);
        let mut noisy = |level: fn(usize) -> f64| -> Vec<f64> {
            (0..60).map(|i| level(i) + 0.3 * random.normal()).collect()
        };
        let levels = noisy(|i| f64::from(u8::from(i >= 18)) + f64::from(u8::from(i >= 40)));
        let ramp = noisy(|i| i as f64 / 20.0);
        assert!(steps_explain(&levels) && !steps_explain(&ramp));
        assert!(!steps_explain(&[1.0; 60]));
    }

    #[test]
    fn a_staircase_is_left_alone() {
        let mut marks: Vec<f64> = (0..60).map(|i| f64::from(i / 5) * 2.0).collect();
        let before = marks.clone();
        assert!(find_in(&mut marks).is_empty());
        let moved = marks.iter().zip(&before).map(|(a, b)| (a - b).abs());
        assert!(moved.fold(0.0, f64::max) < 1e-9);
    }
}
