//! Every parameter is heard: each one changes what is measured of the notes or of the sound.

use warpsmith_synth::{Key, Mode, Note, Params, Stream, Voice, compose};

const RATE: u32 = 44_100;
const MINUTES_10: u64 = 600 * RATE as u64;

fn notes(change: impl FnOnce(&mut Params)) -> Vec<Note> {
    let mut params = Params::default();
    change(&mut params);
    compose(21, &params, RATE, MINUTES_10)
}

fn count(notes: &[Note], voice: Voice) -> usize {
    notes.iter().filter(|note| note.voice == voice).count()
}

fn classes(notes: &[Note], voice: Voice) -> [usize; 12] {
    let mut classes = [0; 12];
    for note in notes.iter().filter(|note| note.voice == voice) {
        classes[note.pitch as usize % 12] += 1;
    }
    classes
}

#[test]
fn the_key_moves_every_pad_and_the_mode_changes_the_scale() {
    let c = notes(|p| p.key = Key::above_c(0));
    let d = notes(|p| p.key = Key::above_c(2));
    let (c, d) = (classes(&c, Voice::Pad), classes(&d, Voice::Pad));
    for class in 0..12 {
        assert_eq!(c[class], d[(class + 2) % 12]);
    }
    // Lydian has F# and no F, aeolian E flat and no E.
    let lydian = notes(|p| (p.key, p.mode) = (Key::above_c(0), Mode::Lydian));
    let aeolian = notes(|p| (p.key, p.mode) = (Key::above_c(0), Mode::Aeolian));
    let (lydian, aeolian) = (classes(&lydian, Voice::Pad), classes(&aeolian, Voice::Pad));
    assert!(lydian[6] > 0 && lydian[5] == 0 && aeolian[3] > 0 && aeolian[4] == 0);
}

#[test]
fn the_bass_moves_with_the_chords() {
    let bass = classes(&notes(|_| ()), Voice::Bass);
    assert!(
        bass.iter().filter(|count| **count > 0).count() >= 4,
        "{bass:?}"
    );
}

#[test]
fn tempo_sets_the_bars_and_the_melody() {
    let (slow, fast) = (notes(|p| p.bpm = 40.0), notes(|p| p.bpm = 120.0));
    let bars = |notes: &[Note]| count(notes, Voice::Bass);
    assert_eq!((bars(&slow), bars(&fast)), (100, 300));
    assert!(count(&fast, Voice::Lead) > 2 * count(&slow, Voice::Lead));
}

#[test]
fn intensity_brings_notes_octaves_loudness_and_percussion() {
    let (calm, intense) = (notes(|p| p.intensity = 0.1), notes(|p| p.intensity = 1.0));
    assert!(count(&intense, Voice::Lead) > 2 * count(&calm, Voice::Lead));
    assert_eq!(
        (count(&calm, Voice::Kick), count(&calm, Voice::Swell)),
        (0, 0)
    );
    assert!(count(&intense, Voice::Kick) > 20 && count(&intense, Voice::Swell) > 20);
    let highest = |notes: &[Note]| notes.iter().map(|n| n.pitch).fold(0.0, f32::max);
    assert!(highest(&intense) > highest(&calm) + 11.0);
    let loudest = |notes: &[Note]| {
        let pads = notes.iter().filter(|n| n.voice == Voice::Pad);
        pads.map(|n| n.velocity).fold(0.0, f32::max)
    };
    assert!(loudest(&intense) > 1.3 * loudest(&calm));
}

#[test]
fn complexity_leaves_the_scale_variety_the_usual_path_density_fills_chords() {
    let outside = |complexity| {
        let notes =
            notes(|p| (p.key, p.mode, p.complexity) = (Key::above_c(0), Mode::Aeolian, complexity));
        let classes = classes(&notes, Voice::Lead);
        let foreign: usize = [1, 4, 6, 9, 11].iter().map(|class| classes[*class]).sum();
        foreign as f64 / classes.iter().sum::<usize>() as f64
    };
    assert!(outside(1.0) > outside(0.0) + 0.05);
    let tonic = |variety| {
        let notes = notes(|p| (p.key, p.bpm, p.variety) = (Key::above_c(0), 120.0, variety));
        let bass = classes(&notes, Voice::Bass);
        bass[0] as f64 / bass.iter().sum::<usize>() as f64
    };
    assert!(
        tonic(0.0) > tonic(1.0) + 0.05,
        "{} {}",
        tonic(0.0),
        tonic(1.0)
    );
    let a_bar = |density| {
        let notes = notes(|p| p.density = density);
        count(&notes, Voice::Pad) / count(&notes, Voice::Bass)
    };
    assert_eq!([0.0, 0.4, 0.6, 1.0].map(a_bar), [2, 3, 4, 5]);
}

#[test]
fn parts_can_be_silenced_one_by_one() {
    let intense = |change: fn(&mut Params)| {
        let notes = notes(|p| {
            p.intensity = 1.0;
            change(p);
        });
        [
            Voice::Pad,
            Voice::Bass,
            Voice::Lead,
            Voice::Kick,
            Voice::Swell,
        ]
        .map(|v| count(&notes, v) > 0)
    };
    assert_eq!(
        intense(|p| p.parts.pads = false),
        [false, true, true, true, true]
    );
    assert_eq!(
        intense(|p| p.parts.bass = false),
        [true, false, true, true, true]
    );
    assert_eq!(
        intense(|p| p.parts.melody = false),
        [true, true, false, true, true]
    );
    assert_eq!(
        intense(|p| p.parts.kicks = false),
        [true, true, true, false, true]
    );
    assert_eq!(
        intense(|p| p.parts.swells = false),
        [true, true, true, true, false]
    );
}

/// Power of the difference of neighbouring samples over the power of samples: the mean frequency.
fn brightness(change: impl FnOnce(&mut Params)) -> f64 {
    let samples = left(change);
    let power: f64 = samples.iter().map(|x| x * x).sum();
    let steep: f64 = samples.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
    steep / power
}

fn left(change: impl FnOnce(&mut Params)) -> Vec<f64> {
    let mut params = Params::default();
    (params.parts.melody, params.parts.swells) = (false, false);
    change(&mut params);
    let mut stream = Stream::new(8, params).unwrap();
    let mut block = vec![0.0f32; 2 * 48_000 * 6];
    stream.render_into(&mut block);
    block.iter().step_by(2).map(|x| f64::from(*x)).collect()
}

#[test]
fn brightness_space_and_volume_are_heard() {
    let bright = brightness(|p| p.brightness = 1.0);
    let dark = brightness(|p| p.brightness = 0.0);
    assert!(bright > 2.0 * dark, "{bright} {dark}");
    let power = |samples: &[f64]| samples.iter().map(|x| x * x).sum::<f64>();
    let (quiet, loud) = (left(|p| p.volume = 0.1), left(|p| p.volume = 0.8));
    assert!(power(&loud) > 20.0 * power(&quiet));
    // After the first chord of a dry and of a reverberant room differ in their tails.
    let (dry, wet) = (left(|p| p.space = 0.0), left(|p| p.space = 1.0));
    let difference: Vec<f64> = dry.iter().zip(&wet).map(|(a, b)| a - b).collect();
    assert!(power(&difference) > 0.02 * power(&dry));
}
