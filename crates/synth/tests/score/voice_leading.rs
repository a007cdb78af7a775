//! How far the voices of a chord move, beside the least that any voicing would need.

use std::collections::HashSet;

use warpsmith_synth::{Note, Voice};

use crate::{part, span};

/// Pads that begin together, rising.
fn chords(notes: &[Note]) -> Vec<Vec<i32>> {
    let mut chords: Vec<(f64, Vec<i32>)> = Vec::new();
    for note in part(notes, Voice::Pad) {
        let (start, pitch) = (span(&note).0, note.pitch.round() as i32);
        match chords.last_mut() {
            Some((first, chord)) if start - *first <= 0.25 => chord.push(pitch),
            _ => chords.push((start, vec![pitch])),
        }
    }
    chords
        .into_iter()
        .map(|(_, mut chord)| {
            chord.sort_unstable();
            chord
        })
        .collect()
}

/// Least sum of moves over all pairings, octaves not counting.
fn least(from: &[i32], to: &[i32]) -> i32 {
    fn pair(from: &[i32], to: &mut Vec<i32>) -> i32 {
        let Some((first, rest)) = from.split_first() else {
            return 0;
        };
        (0..to.len())
            .map(|index| {
                let chosen = to.remove(index);
                let apart = (first - chosen).rem_euclid(12);
                let sum = apart.min(12 - apart) + pair(rest, to);
                to.insert(index, chosen);
                sum
            })
            .min()
            .unwrap_or(0)
    }
    pair(from, &mut to.to_vec())
}

/// C3: below it two notes nearer than a fourth are mud.
const LOW: i32 = 48;
const FOURTH: i32 = 5;

/// Distinct voicings, semitones moved above the least for a change, mean move of a voice, parallel
/// fifths and octaves %, chords with mud %.
pub(crate) fn figures(notes: &[Note]) -> [f64; 5] {
    let chords = chords(notes);
    let distinct: HashSet<&Vec<i32>> = chords.iter().collect();
    let changes: Vec<_> = chords
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .collect();
    let (mut excess, mut moved, mut voices) = (0, 0, 0);
    let (mut parallels, mut pairs) = (0, 0);
    for change in &changes {
        let [from, to] = [&change[0], &change[1]];
        assert_eq!(from.len(), to.len(), "a voice was lost");
        let moves: Vec<i32> = from.iter().zip(to).map(|(a, b)| b - a).collect();
        let sum: i32 = moves.iter().map(|m| m.abs()).sum();
        excess += sum - least(from, to);
        moved += sum;
        voices += moves.len();
        for upper in 0..moves.len() {
            for lower in 0..upper {
                let apart = |chord: &[i32]| (chord[upper] - chord[lower]).rem_euclid(12);
                let same_way = moves[upper] * moves[lower] > 0;
                pairs += usize::from(moves[upper] != 0);
                let hollow = [0, 7].contains(&apart(to));
                parallels += usize::from(same_way && hollow && apart(from) == apart(to));
            }
        }
    }
    let muddy = |chord: &&Vec<i32>| {
        let mut pairs = chord.windows(2);
        pairs.any(|pair| pair[0] < LOW && pair[1] - pair[0] < FOURTH)
    };
    let mud = chords.iter().filter(muddy).count();
    let of = |sum: i32, count: usize| f64::from(sum) / count.max(1) as f64;
    [
        distinct.len() as f64,
        of(excess, changes.len()),
        of(moved, voices),
        100.0 * parallels as f64 / pairs.max(1) as f64,
        100.0 * mud as f64 / chords.len().max(1) as f64,
    ]
}
