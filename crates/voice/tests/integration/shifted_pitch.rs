//! Sounds whose pitch was shifted have the pitch that they should have.

use warpsmith_voice::effect::{StretchSettings, pitch_shift};
use warpsmith_voice::{Framing, Padding, PitchRange, Yin};

#[test]
fn a_shifted_tone_is_within_a_cent_of_where_it_should_be() {
    let rate = 16_000;
    let signal: Vec<f32> = (0..32_000)
        .map(|n| {
            let phase = std::f64::consts::TAU * 220.0 * f64::from(n) / 16_000.0;
            (1..6)
                .map(|k| 0.2 * (f64::from(k) * phase).sin() / f64::from(k))
                .sum::<f64>() as f32
        })
        .collect();
    for semitones in [-7.0, -1.0, 0.5, 3.0, 12.0] {
        let out = pitch_shift(&signal, semitones, StretchSettings::for_voice(rate)).unwrap();
        assert_eq!(out.len(), signal.len());
        let framing = Framing {
            length: 2048,
            hop: 160,
            padding: Padding::Inside,
        };
        let track = Yin::new(rate, framing, PitchRange::VOICE, 0.1)
            .unwrap()
            .track(&out[8000..24_000])
            .unwrap();
        let mut cents: Vec<f64> = track
            .iter()
            .map(|hz| 1200.0 * (f64::from(*hz) / 220.0).log2() - 100.0 * semitones)
            .collect();
        cents.sort_unstable_by(f64::total_cmp);
        let median = cents[cents.len() / 2];
        assert!(median.abs() < 1.0, "{semitones}: {median} cents");
    }
    assert!(pitch_shift(&signal, f64::NAN, StretchSettings::for_voice(rate)).is_err());
}
