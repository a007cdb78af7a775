//! Intervals, shapes that return, leaps and rests of the melody.

use std::collections::HashMap;

use warpsmith_synth::{Note, Voice};

use crate::{median, part, span};

/// Share of `n`-grams that occur again, in windows of 200 intervals: the median window.
fn recurring(intervals: &[i32], n: usize) -> f64 {
    let windows = (0..intervals.len().saturating_sub(50).max(1)).step_by(200);
    let shares = windows.map(|from| {
        let window = &intervals[from..(from + 200).min(intervals.len())];
        let mut counts: HashMap<&[i32], usize> = HashMap::new();
        for gram in window.windows(n) {
            *counts.entry(gram).or_default() += 1;
        }
        let total = window.len().saturating_sub(n - 1).max(1);
        let again: usize = counts.values().filter(|count| **count > 1).sum();
        100.0 * again as f64 / total as f64
    });
    median(shares.collect())
}

fn share(hits: usize, of: usize) -> f64 {
    100.0 * hits as f64 / of.max(1) as f64
}

/// Steps %, over an octave %, mean interval, trigrams and pentagrams that return %, leaps answered
/// by a step %, range of 24 notes, rests %.
pub(crate) fn figures(notes: &[Note]) -> [f64; 8] {
    let line = part(notes, Voice::Lead);
    let pitches: Vec<i32> = line.iter().map(|note| note.pitch.round() as i32).collect();
    let intervals: Vec<i32> = pitches.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count = intervals.len();
    let within = |most: i32| intervals.iter().filter(|i| i.abs() <= most).count();
    let leaps: Vec<&[i32]> = intervals
        .windows(2)
        .filter(|pair| pair[0].abs() >= 5)
        .collect();
    let answered = leaps
        .iter()
        .filter(|pair| pair[1].abs() <= 2 && pair[0].signum() != pair[1].signum());
    let ranges = pitches.windows(24).step_by(12).map(|window| {
        let (low, high) = (window.iter().min(), window.iter().max());
        f64::from(high.unwrap_or(&0) - low.unwrap_or(&0))
    });
    let sounding: f64 = line
        .windows(2)
        .map(|pair| span(&pair[0]).1.min(span(&pair[1]).0 - span(&pair[0]).0))
        .sum();
    let whole = line
        .last()
        .map_or(1.0, |last| span(last).0 - span(&line[0]).0);
    let total: i32 = intervals.iter().map(|interval| interval.abs()).sum();
    [
        share(within(2), count),
        share(count - within(12), count),
        f64::from(total) / count.max(1) as f64,
        recurring(&intervals, 3),
        recurring(&intervals, 5),
        share(answered.count(), leaps.len()),
        median(ranges.collect()),
        100.0 * (1.0 - sounding / whole),
    ]
}
