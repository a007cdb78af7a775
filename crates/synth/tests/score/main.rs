//! Whether the music is worth an hour: figures of the score beside those of music that people wrote.
//!
//! No weight of the composer was chosen by looking at the seeds that judge here. The tests
//! print what they measure: `cargo test -p warpsmith-synth --test score -- --nocapture`.
//! Ranges are those of eleven styles (chorales, folk songs, quartets): 53 to 83 % of melodic
//! intervals are at most two semitones, at most 1.7 % exceed an octave, and 32 to 73 % of
//! three-interval shapes return within 200 notes.

#![allow(clippy::print_stdout)] // figures are read

mod form;
mod melody;
mod voice_leading;

use warpsmith_synth::{Note, Params, Preset, Voice, compose};

const RATE: u32 = 8_000;
/// Seeds that judge.
const TEN_MINUTES: std::ops::Range<u64> = 1_001..1_021;
const HOURS: std::ops::Range<u64> = 2_001..2_006;

fn notes(seed: u64, preset: Preset, minutes: u64) -> Vec<Note> {
    let frames = minutes * 60 * u64::from(RATE);
    compose(seed, &Params::preset(preset), RATE, frames)
}

/// Seconds of a note's start and length.
fn span(note: &Note) -> (f64, f64) {
    let rate = f64::from(RATE);
    (note.start as f64 / rate, f64::from(note.length) / rate)
}

fn part(notes: &[Note], voice: Voice) -> Vec<Note> {
    notes
        .iter()
        .filter(|note| note.voice == voice)
        .copied()
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        0.5 * (values[middle - 1] + values[middle])
    }
}

/// Median over seeds of each figure that `measure` gives.
fn medians<const N: usize>(
    seeds: std::ops::Range<u64>,
    measure: impl Fn(u64) -> [f64; N],
) -> [f64; N] {
    let all: Vec<[f64; N]> = seeds.map(measure).collect();
    std::array::from_fn(|figure| median(all.iter().map(|row| row[figure]).collect()))
}

#[test]
fn melodies_step_and_their_shapes_return() {
    println!(
        "{:12} steps%  >octave%  mean  3-grams%  5-grams%  leap-step%  range24  rests%",
        ""
    );
    for &preset in Preset::ALL {
        let figures = medians(TEN_MINUTES, |seed| {
            melody::figures(&notes(seed, preset, 10))
        });
        let [steps, wide, mean, three, five, answered, range, rests] = figures;
        println!(
            "{preset:12} {steps:6.1} {wide:9.1} {mean:5.2} {three:9.1} {five:9.1} {answered:11.1} {range:8.1} \
             {rests:7.1}"
        );
        assert!((55.0..=75.0).contains(&steps), "{preset}: {steps} % steps");
        assert!(wide <= 2.0, "{preset}: {wide} % over an octave");
        // Above three quarters it is a loop.
        assert!(
            (35.0..=75.0).contains(&three),
            "{preset}: {three} % trigrams return"
        );
        assert!(
            answered >= 40.0,
            "{preset}: {answered} % of leaps are answered by a step"
        );
        assert!(range <= 14.0, "{preset}: 24 notes span {range} semitones");
        assert!(
            (25.0..=70.0).contains(&rests),
            "{preset}: {rests} % of the time is silence"
        );
    }
}

#[test]
fn chords_move_to_the_nearest_voicing() {
    println!("{:12} voicings  excess  move  parallels%  mud%", "");
    for &preset in Preset::ALL {
        let figures = medians(TEN_MINUTES, |seed| {
            voice_leading::figures(&notes(seed, preset, 10))
        });
        let [voicings, excess, moved, parallels, mud] = figures;
        println!("{preset:12} {voicings:8} {excess:7.2} {moved:5.2} {parallels:11.1} {mud:5.1}");
        assert!(voicings >= 40.0, "{preset}: {voicings} voicings");
        assert!(
            excess <= 0.5,
            "{preset}: {excess} semitones more than needed"
        );
        assert!(moved <= 1.5, "{preset}: a voice moves {moved} semitones");
        assert!(
            parallels <= 1.0,
            "{preset}: {parallels} % parallel fifths and octaves"
        );
        assert!(mud <= 8.0, "{preset}: {mud} % of chords are muddy");
    }
}

#[test]
fn an_hour_has_sections_of_minutes() {
    println!("{:12} sections  2-6min%  memory", "");
    for &preset in Preset::ALL {
        let figures = medians(HOURS, |seed| form::figures(&notes(seed, preset, 60)));
        let [sections, usual, memory] = figures;
        println!("{preset:12} {sections:8} {usual:8.1} {memory:7.2}");
        assert!(sections >= 10.0, "{preset}: {sections} sections");
        assert!(
            usual >= 60.0,
            "{preset}: {usual} % of sections last 2 to 6 minutes"
        );
        assert!(memory >= 0.4, "{preset}: window memory {memory}");
    }
}
