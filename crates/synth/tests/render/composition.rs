//! Every parameter is heard: each one changes what is measured of the notes or of the sound.

use warpsmith_synth::{
    Composer, Key, Mode, Note, Params, Scale, Stream, StreamSettings, Voice, compose, compose_with,
};

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
    // Without variety the key stays. Lydian has F# and no F, aeolian E flat and no E.
    let home = |p: &mut Params| (p.key, p.variety) = (Key::above_c(0), 0.0);
    let lydian = notes(|p| {
        home(p);
        p.mode = Mode::Lydian;
    });
    let aeolian = notes(|p| {
        home(p);
        p.mode = Mode::Aeolian;
    });
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
    let bars = |bpm| {
        let params = Params {
            bpm,
            ..Params::default()
        };
        let mut composer = Composer::new(21, RATE);
        let mut bars = 0;
        while composer.next_bar() < MINUTES_10 {
            composer.compose_bar(&params, &mut |_| ());
            bars += 1;
        }
        bars
    };
    assert_eq!((bars(40.0), bars(120.0)), (100, 300));
    let (slow, fast) = (notes(|p| p.bpm = 40.0), notes(|p| p.bpm = 120.0));
    assert!(count(&fast, Voice::Lead) > 2 * count(&slow, Voice::Lead));
}

#[test]
fn a_new_key_and_tempo_are_heard_within_two_bars() {
    let mut params = Params::default();
    let mut composer = Composer::new(4, RATE);
    for _ in 0..21 {
        composer.compose_bar(&params, &mut |_| ());
    }
    let changed = composer.next_bar();
    (params.key, params.bpm) = (Key::above_c(1), 100.0);
    let mut starts = Vec::new();
    for _ in 0..2 {
        composer.compose_bar(&params, &mut |note| {
            if note.voice == Voice::Pad {
                starts.push(note.start);
            }
        });
    }
    let two_bars = 2 * 240 * u64::from(RATE) / 100;
    assert!(
        starts.iter().any(|start| start - changed <= two_bars),
        "{starts:?}"
    );
}

#[test]
fn a_silenced_part_leaves_the_others_as_they_are() {
    let whole = notes(|_| ());
    let without = notes(|p| (p.parts.melody, p.parts.kicks) = (false, false));
    let others: Vec<Note> = whole
        .into_iter()
        .filter(|note| !matches!(note.voice, Voice::Lead | Voice::Kick))
        .collect();
    // Thousands of notes are not worth printing.
    assert!(others == without);
}

#[test]
fn a_users_scale_is_played_in_its_own_pitches() {
    let scale = Scale::new(&[0.0, 231.0, 498.0, 702.0, 966.0]).unwrap();
    let notes = notes(|p| {
        (p.key, p.scale, p.variety, p.complexity) = (Key::above_c(0), Some(scale), 0.0, 0.0)
    });
    let classes = [0, 231, 498, 702, 966];
    for note in notes
        .iter()
        .filter(|n| !matches!(n.voice, Voice::Kick | Voice::Swell))
    {
        let cents = (100.0 * note.pitch).round() as i32;
        assert!(classes.contains(&cents.rem_euclid(1_200)), "{note:?}");
    }
    assert!(count(&notes, Voice::Lead) > 50 && count(&notes, Voice::Pad) > 50);
}

#[test]
fn a_form_has_an_end_that_is_quieter_than_its_middle() {
    let settings = StreamSettings {
        sample_rate: RATE,
        form_seconds: Some(600.0),
        ..StreamSettings::default()
    };
    let notes = compose_with(9, &Params::default(), &settings, 2 * MINUTES_10);
    // The last chord is the first one's, and then nothing begins.
    let bass: Vec<f32> = notes
        .iter()
        .filter(|n| n.voice == Voice::Bass)
        .map(|n| n.pitch % 12.0)
        .collect();
    assert_eq!(bass.first(), bass.last());
    assert!(
        notes
            .iter()
            .all(|note| note.start < MINUTES_10 + u64::from(RATE))
    );
    let loudness = |from: u64, to: u64| {
        let minute = 60 * u64::from(RATE);
        let span = from * minute..to * minute;
        let pads = notes
            .iter()
            .filter(|n| n.voice == Voice::Pad && span.contains(&n.start));
        let velocities: Vec<f32> = pads.map(|n| n.velocity).collect();
        velocities.iter().sum::<f32>() / velocities.len() as f32
    };
    assert!(loudness(4, 6) > 1.05 * loudness(0, 1));
    assert!(loudness(4, 6) > 1.05 * loudness(9, 10));
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
        let notes = notes(|p| {
            (p.key, p.mode, p.complexity) = (Key::above_c(0), Mode::Aeolian, complexity);
            p.variety = 0.0;
        });
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
