//! Keys of pieces that are made in a known one.

use super::*;

/// Steps of the scales; minor is harmonic.
const MAJOR: [f64; 7] = [0.0, 2.0, 4.0, 5.0, 7.0, 9.0, 11.0];
const MINOR: [f64; 7] = [0.0, 2.0, 3.0, 5.0, 7.0, 8.0, 11.0];

/// A piece of chords on degrees of the key, four notes each, with falling harmonics.
fn piece(tonic: usize, mode: Mode, degrees: &[usize], tuning: f64, rate: u32) -> Vec<f32> {
    let scale = match mode {
        Mode::Major => MAJOR,
        Mode::Minor => MINOR,
    };
    let chord_samples = rate as usize * 6 / 10;
    let mut signal = Vec::new();
    for degree in degrees {
        let notes: Vec<f64> = [0, 2, 4, 7]
            .iter()
            .map(|third| {
                let step = degree + third;
                48.0 + tonic as f64 + scale[step % 7] + 12.0 * (step / 7) as f64 + tuning
            })
            .collect();
        signal.extend((0..chord_samples).map(|n| {
            let seconds = n as f64 / f64::from(rate);
            let sum: f64 = notes
                .iter()
                .flat_map(|note| {
                    let hertz = 440.0 * ((note - 69.0) / 12.0).exp2();
                    (1..5).map(move |k| {
                        let k = f64::from(k);
                        (std::f64::consts::TAU * k * hertz * seconds).sin() / (k * k)
                    })
                })
                .sum();
            (0.1 * sum * (-2.0 * seconds).exp()) as f32
        }));
    }
    signal
}

#[test]
fn cadences_in_all_keys_are_heard_in_their_key() {
    let rate = 16_000;
    // I IV V I vi ii V I.
    let degrees = [0, 3, 4, 0, 5, 1, 4, 0];
    for profile in [Profile::Temperley, Profile::Krumhansl] {
        for mode in [Mode::Major, Mode::Minor] {
            for tonic in 0..12 {
                let signal = piece(tonic, mode, &degrees, 0.0, rate);
                let settings = KeySettings {
                    profile,
                    ..KeySettings::default()
                };
                let found = find_key(&signal, rate, &settings).unwrap();
                let best = found.keys[0];
                assert_eq!((best.tonic, best.mode), (tonic, mode), "{profile:?}");
                assert!(best.correlation > 0.7 && found.keys.len() == 24);
            }
        }
    }
}

#[test]
fn a_piece_between_two_semitones_is_retuned() {
    let signal = piece(9, Mode::Minor, &[0, 3, 4, 0], 0.4, 16_000);
    let found = find_key(&signal, 16_000, &KeySettings::default()).unwrap();
    assert!((found.tuning - 0.4).abs() < 0.06, "{}", found.tuning);
    assert_eq!(found.keys[0].name(), "A minor");
    let shares: f64 = found.classes.iter().sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

#[test]
fn silence_has_no_key_and_a_wild_tuning_is_refused() {
    let settings = KeySettings::default();
    assert!(find_key(&[], 16_000, &settings).unwrap().keys.is_empty());
    let silent = find_key(&[0.0; 9000], 16_000, &settings).unwrap();
    assert!(silent.keys.is_empty());
    for tuning in [f64::NAN, 13.0] {
        let settings = KeySettings {
            tuning: Some(tuning),
            ..settings
        };
        assert!(find_key(&[0.1; 900], 16_000, &settings).is_err());
    }
}
