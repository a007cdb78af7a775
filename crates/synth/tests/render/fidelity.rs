//! Against double precision: signal-to-noise, aliases, steps.

use warpsmith_synth::quality::{alias_db, largest_step_db, snr_db};
use warpsmith_synth::{
    EnvelopeRate, Formulas, Note, Params, Patch, Phrase, PhraseRenderer, Preset, Saw,
    StreamSettings, Voice, compose, reference,
};

fn settings(formulas: Formulas, saw: Saw) -> StreamSettings {
    StreamSettings {
        sample_rate: 44_100,
        formulas,
        saw,
        ..StreamSettings::default()
    }
}

fn composed(seconds: u64) -> Phrase {
    let mut params = Params::preset(Preset::Bright);
    params.intensity = 0.9;
    Phrase {
        sample_rate: 48_000,
        frames: 48_000 * seconds as usize,
        notes: compose(11, &params, 48_000, 48_000 * seconds),
    }
}

fn snr(phrase: &Phrase, formulas: Formulas, saw: Saw, effects: Option<Params>) -> f64 {
    let expected = reference::phrase(phrase, formulas, saw, effects.as_ref());
    let mut renderer =
        PhraseRenderer::new(phrase.clone(), settings(formulas, saw), effects).unwrap();
    let mut actual = vec![[f32::NAN; 2]; phrase.frames];
    renderer.render_f32(&mut actual);
    snr_db(
        expected.as_flattened(),
        actual.as_flattened().iter().map(|value| f64::from(*value)),
    )
}

#[test]
fn the_original_formulas_are_120_db_above_the_noise() {
    for saw in [Saw::Naive, Saw::Spline] {
        let snr = snr(&Phrase::reference(), Formulas::Original, saw, None);
        assert!(snr > 120.0, "{saw:?}: {snr:.1} dB");
    }
}

#[test]
fn click_free_formulas_are_120_db_above_the_noise_dry_and_95_with_effects() {
    let phrase = composed(20);
    let dry = snr(&phrase, Formulas::ClickFree, Saw::Spline, None);
    assert!(dry > 120.0, "{dry:.1} dB");
    // What is struck begins in milliseconds: a cubic follows it all the same.
    for preset in [Preset::Piano, Preset::Pulse] {
        let mut params = Params::preset(preset);
        params.parts.bells = true;
        let struck = Phrase {
            notes: compose(11, &params, 48_000, 48_000 * 20),
            ..phrase.clone()
        };
        let dry = snr(&struck, Formulas::ClickFree, Saw::Spline, None);
        assert!(dry > 100.0, "{preset}: {dry:.1} dB");
    }
    let params = Params::preset(Preset::Meditation);
    let wet = snr(&phrase, Formulas::ClickFree, Saw::Spline, Some(params));
    // The lines of the room have 16 bits and a common exponent for each block.
    assert!(wet > 95.0, "{wet:.1} dB");
}

#[test]
fn the_band_limited_saw_keeps_its_aliases_down() {
    // A4 and A6. The naive saw has 1/h² harmonics folded back at full strength.
    for (frequency, naive, blep, spline) in
        [(440, -19.0, -34.0, -45.0), (1760, -12.0, -23.0, -31.0)]
    {
        let [n, b, s] =
            [Saw::Naive, Saw::PolyBlep, Saw::Spline].map(|saw| alias_db(saw, frequency, 44_100));
        println!("{frequency} Hz: naive {n:.1} dB, polyblep {b:.1} dB, spline {s:.1} dB");
        assert!(n > naive - 2.0, "{n}");
        assert!(b < blep && s < spline, "{b} {s}");
    }
}

#[test]
fn envelopes_step_in_the_original_and_nowhere_else() {
    let phrase = Phrase::reference();
    let steps = |formulas, rate| largest_step_db(&phrase, formulas, rate);
    assert!(steps(Formulas::Original, EnvelopeRate::Cubic) > -16.0);
    let smooth = steps(Formulas::ClickFree, EnvelopeRate::Cubic);
    assert!(smooth < -65.0);
    // Held envelopes step as often as they are held, and by as much more.
    let held = steps(Formulas::ClickFree, EnvelopeRate::Hold16);
    let longer = steps(Formulas::ClickFree, EnvelopeRate::Hold64);
    assert!(
        held > smooth + 18.0 && longer > held + 8.0,
        "{smooth} {held} {longer}"
    );
}

#[test]
fn no_note_of_ours_starts_or_ends_with_a_click() {
    let usual = [
        Voice::Pad,
        Voice::Bass,
        Voice::Lead,
        Voice::Kick,
        Voice::Swell,
    ];
    let usual = usual.map(|voice| (voice, Patch::Usual));
    let struck = [Patch::Felt, Patch::Bell, Patch::String].map(|patch| (Voice::Lead, patch));
    for (voice, patch) in usual.into_iter().chain(struck) {
        // Swells last three seconds and more.
        let shortest = if voice == Voice::Swell { 132_300 } else { 500 };
        for length in [shortest, 150_000, 200_003] {
            let note = Note {
                voice,
                start: 0,
                length,
                pitch: 57.0,
                velocity: 1.0,
                pan: 0.0,
                seed: 3,
                patch,
            };
            let samples = reference::note(&note, 44_100, Formulas::ClickFree, Saw::Spline);
            let (first, last) = (samples[0].abs(), samples.last().unwrap().abs());
            // A kick starts with the slope of its 150 Hz: 0.043 in the first sample.
            let allowed = if voice == Voice::Kick { 0.05 } else { 1e-3 };
            assert!(
                first < allowed && last < 1e-2,
                "{voice:?} {length}: {first} {last}"
            );
        }
    }
}
