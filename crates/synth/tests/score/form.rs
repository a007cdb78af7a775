//! Sections by the novelty of half-minute windows (Foote's checkerboard), and how much a window
//! resembles the one before it.
//!
//! A boundary is a local maximum over a minute and a half on each side that lies above the 97th
//! percentile of the same curve on shuffled windows: music without form has one to five an hour.

use warpsmith_synth::{Note, Voice};
use warpsmith_workload::random::Random;

use crate::span;

const WINDOW_SECONDS: f64 = 30.0;
/// Windows on each side of the checkerboard.
const HALF: usize = 4;
const SHUFFLES: usize = 200;
const FEATURES: usize = 17;

/// Twelve pitch classes by duration, onsets, mean pitch, melody notes, mean velocity, top pitch.
fn features(notes: &[Note]) -> Vec<[f64; FEATURES]> {
    let pitched = || {
        notes
            .iter()
            .filter(|n| !matches!(n.voice, Voice::Kick | Voice::Swell))
    };
    let ends = pitched().map(|note| span(note).0 + span(note).1);
    let end = ends.fold(0.0, f64::max);
    let count = (end / WINDOW_SECONDS) as usize;
    let mut rows = vec![[0.0; FEATURES]; count];
    for note in pitched() {
        let (start, length) = span(note);
        let class = (note.pitch.round() as usize) % 12;
        let first = (start / WINDOW_SECONDS) as usize;
        for (window, row) in rows.iter_mut().enumerate().skip(first) {
            let from = window as f64 * WINDOW_SECONDS;
            if from > start + length {
                break;
            }
            let inside = (start + length).min(from + WINDOW_SECONDS) - start.max(from);
            row[class] += inside.max(0.0);
        }
        if let Some(row) = rows.get_mut(first) {
            let pitch = f64::from(note.pitch);
            row[12] += 1.0;
            row[13] += pitch;
            row[14] += f64::from(u8::from(note.voice == Voice::Lead));
            row[15] += 127.0 * f64::from(note.velocity);
            row[16] = row[16].max(pitch);
        }
    }
    for row in &mut rows {
        let onsets = row[12].max(1.0);
        row[13] /= onsets;
        row[15] /= onsets;
        let sounding: f64 = row[..12].iter().sum::<f64>() + 1e-9;
        row[..12].iter_mut().for_each(|class| *class /= sounding);
    }
    rows
}

/// Each feature with mean 0 and deviation 1.
fn standard(rows: &[[f64; FEATURES]]) -> Vec<[f64; FEATURES]> {
    let count = rows.len() as f64;
    let mut out = rows.to_vec();
    for feature in 0..FEATURES {
        let mean = rows.iter().map(|row| row[feature]).sum::<f64>() / count;
        let power: f64 = rows.iter().map(|row| (row[feature] - mean).powi(2)).sum();
        let deviation = (power / count).sqrt() + 1e-9;
        for row in &mut out {
            row[feature] = (row[feature] - mean) / deviation;
        }
    }
    out
}

/// How much both sides of each window resemble themselves more than each other.
fn novelty(alike: &[Vec<f64>], order: &[usize]) -> Vec<f64> {
    let count = order.len();
    let mean = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let size = (rows.len() * columns.len()) as f64;
        let sums =
            rows.map(|i| -> f64 { columns.clone().map(|j| alike[order[i]][order[j]]).sum() });
        sums.sum::<f64>() / size
    };
    (0..count)
        .map(|at| {
            if at < 2 || at + 1 >= count {
                return 0.0;
            }
            let half = HALF.min(at).min(count - at);
            let (before, after) = (at - half..at, at..at + half);
            0.5 * (mean(before.clone(), before.clone()) + mean(after.clone(), after.clone()))
                - mean(before, after)
        })
        .collect()
}

/// Correlation of a feature with itself one window later; none where it stands still.
fn memory(rows: &[[f64; FEATURES]], feature: usize) -> Option<f64> {
    let values: Vec<f64> = rows.iter().map(|row| row[feature]).collect();
    let (now, next) = (&values[..values.len() - 1], &values[1..]);
    let count = now.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (a, b) = (mean(now), mean(next));
    let power = |values: &[f64], mean: f64| values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let both = (power(now, a) * power(next, b)).sqrt();
    let joint: f64 = now.iter().zip(next).map(|(x, y)| (x - a) * (y - b)).sum();
    (both > 1e-12).then(|| joint / both)
}

/// Sections, share that lasts 2 to 6 minutes %, window memory.
pub(crate) fn figures(notes: &[Note]) -> [f64; 3] {
    let rows = features(notes);
    let even = standard(&rows);
    let alike: Vec<Vec<f64>> = even
        .iter()
        .map(|a| {
            let product = |b: &[f64; FEATURES]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            even.iter().map(|b| product(b) / FEATURES as f64).collect()
        })
        .collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let curve = novelty(&alike, &order);
    let mut random = Random::seeded(1);
    let mut chance = Vec::new();
    for _ in 0..SHUFFLES {
        random.shuffle(&mut order);
        let shuffled = novelty(&alike, &order);
        chance.extend_from_slice(&shuffled[2..shuffled.len() - 1]);
    }
    chance.sort_by(f64::total_cmp);
    let level = chance[(0.97 * (chance.len() - 1) as f64) as usize];
    let mut edges = vec![0.0];
    for at in 2..curve.len() - 2 {
        let around = &curve[at.saturating_sub(3)..(at + 4).min(curve.len())];
        let highest = around.iter().copied().fold(f64::MIN, f64::max);
        if curve[at] >= level && curve[at] == highest {
            edges.push(at as f64 * WINDOW_SECONDS);
        }
    }
    edges.push(rows.len() as f64 * WINDOW_SECONDS);
    let minutes: Vec<f64> = edges
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 60.0)
        .collect();
    let usual = minutes.iter().filter(|m| (2.0..=6.0).contains(*m)).count();
    let memories: Vec<f64> = (0..FEATURES).filter_map(|f| memory(&rows, f)).collect();
    [
        minutes.len() as f64,
        100.0 * usual as f64 / minutes.len() as f64,
        memories.iter().sum::<f64>() / memories.len().max(1) as f64,
    ]
}
