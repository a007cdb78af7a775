//! Streams: blocks cannot be heard, seeds repeat, parameters glide, snapshots go on, nothing
//! allocates.

use warpsmith_synth::{Formulas, Key, Mode, Params, Preset, Stream, StreamSettings};

use crate::allocations;

fn loud() -> Params {
    let mut params = Params::preset(Preset::Bright);
    (params.intensity, params.density, params.bpm) = (1.0, 1.0, 120.0);
    params
}

fn render(stream: &mut Stream, frames: usize, block: usize) -> Vec<f32> {
    let mut out = vec![f32::NAN; 2 * frames];
    for block in out.chunks_mut(2 * block) {
        stream.render_into(block);
    }
    out
}

#[test]
fn a_block_of_one_frame_gives_the_same_bits_as_a_block_of_512() {
    for formulas in [Formulas::ClickFree, Formulas::Original] {
        let settings = StreamSettings {
            formulas,
            ..StreamSettings::default()
        };
        let stream = || Stream::with_settings(5, loud(), settings).unwrap();
        let frames = 48_000 * 5;
        let whole = render(&mut stream(), frames, 512);
        for block in [1, 7, 64, 4_800, frames] {
            assert_eq!(render(&mut stream(), frames, block), whole, "{block}");
        }
        assert!(whole.iter().all(|value| value.abs() <= 1.0));
        assert!(whole.iter().any(|value| value.abs() > 0.1));
    }
}

#[test]
fn a_seed_is_a_piece_of_music() {
    let piece = |seed| render(&mut Stream::new(seed, loud()).unwrap(), 48_000 * 3, 480);
    assert_eq!(piece(1), piece(1));
    assert_ne!(piece(1), piece(2));
}

#[test]
fn integers_are_the_floats_rounded_with_noise_that_does_not_know_them() {
    let mut a = Stream::new(3, loud()).unwrap();
    let mut b = Stream::new(3, loud()).unwrap();
    let floats = render(&mut a, 96_000, 480);
    let mut integers = vec![0i16; floats.len()];
    b.render_into(&mut integers);
    let errors: Vec<f64> = floats
        .iter()
        .zip(&integers)
        .map(|(float, integer)| f64::from(*integer) - f64::from(float * 32_767.0))
        .collect();
    assert!(errors.iter().all(|error| error.abs() <= 1.5001));
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let power = errors.iter().map(|error| error * error).sum::<f64>() / count;
    // Triangular noise of 1/6 and rounding of 1/12, whatever the signal is.
    assert!(
        mean.abs() < 0.01 && (power - 0.25).abs() < 0.01,
        "{mean} {power}"
    );
    let (music, joint) = floats
        .iter()
        .zip(&errors)
        .fold((0.0, 0.0), |(m, j), (f, e)| {
            (m + f64::from(*f).powi(2), j + f64::from(*f) * e)
        });
    let correlation = joint / (music * power * count).sqrt();
    assert!(correlation.abs() < 0.01, "{correlation}");
}

#[test]
fn rendering_allocates_nothing_whatever_is_changed() {
    let mut stream = Stream::new(9, loud()).unwrap();
    let mut snapshot = stream.snapshot();
    let mut floats = vec![0.0f32; 2 * 4_800];
    let mut integers = vec![0i16; 2 * 333];
    let presets: Vec<Params> = Preset::ALL.iter().map(|p| Params::preset(*p)).collect();
    let counted = allocations(|| {
        for step in 0..300 {
            stream.render_into(&mut floats);
            stream.render_into(&mut integers);
            stream.set_params(presets[step % presets.len()]).unwrap();
            stream.snapshot_into(&mut snapshot);
        }
    });
    assert_eq!(counted, 0);
    assert_eq!(snapshot.position(), stream.position());
}

#[test]
fn a_snapshot_goes_on_exactly() {
    let mut stream = Stream::new(4, loud()).unwrap();
    render(&mut stream, 48_000 * 4 + 17, 480);
    let snapshot = stream.snapshot();
    let expected = render(&mut stream, 48_000 * 4, 333);
    let mut resumed = Stream::resume(&snapshot);
    assert_eq!(resumed.position(), 48_000 * 4 + 17);
    assert_eq!(render(&mut resumed, 48_000 * 4, 512), expected);
}

#[test]
fn no_parameter_change_makes_a_step() {
    // Without changes, the largest jump between neighbouring samples of this music.
    let jump = |samples: &[f32]| {
        let left: Vec<f32> = samples.iter().copied().step_by(2).collect();
        let jumps = left.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        jumps.fold(0.0, f32::max)
    };
    let mut calm = Params::preset(Preset::Meditation);
    calm.parts.melody = false;
    let mut other = calm;
    other.brightness = 1.0;
    other.volume = 0.1;
    other.space = 0.0;
    other.bpm = 120.0;
    let mut still = Stream::new(2, calm).unwrap();
    let bound = 1.5 * jump(&render(&mut still, 48_000 * 12, 480));
    let mut stream = Stream::new(2, calm).unwrap();
    let mut heard = Vec::new();
    for step in 0..120 {
        heard.extend(render(&mut stream, 4_800, 480));
        stream
            .set_params(if step % 7 < 3 { other } else { calm })
            .unwrap();
    }
    // A bright filter lets steeper waves through: compare with music that is bright all along.
    let mut bright = calm;
    bright.brightness = 1.0;
    let mut steady = Stream::new(2, bright).unwrap();
    let bright_bound = 1.5 * jump(&render(&mut steady, 48_000 * 12, 480));
    assert!(
        jump(&heard) < bound.max(bright_bound),
        "{} {bright_bound}",
        jump(&heard)
    );
}

#[test]
fn where_a_change_begins_the_music_does_not_jump_away() {
    // A third of a millisecond from where it is heard, against the same stream without the change.
    // Later they are different music, and a slope is no step.
    let (lead, watched) = (48_000 * 3, 16);
    let base = Params::preset(Preset::Bright);
    let changes: [fn(&mut Params); 5] = [
        |params| params.brightness = 0.1,
        |params| params.volume = 0.2,
        |params| params.space = 0.9,
        |params| params.bpm = 44.0,
        |params| (params.brightness, params.intensity, params.volume) = (0.0, 0.0, 0.9),
    ];
    for (seed, change) in (8..).zip(changes) {
        let mut changed = base;
        change(&mut changed);
        // There, and back again.
        for (from, to) in [(base, changed), (changed, base)] {
            let mut stream = Stream::new(seed, from).unwrap();
            render(&mut stream, lead, 480);
            let mut other = Stream::resume(&stream.snapshot());
            other.set_params(to).unwrap();
            // What was in the limiter is the same on both sides.
            let before = render(&mut stream, Stream::LATENCY, 480);
            assert_eq!(render(&mut other, Stream::LATENCY, 480), before);
            let (without, with) = (
                render(&mut stream, watched, 480),
                render(&mut other, watched, 480),
            );
            let apart: Vec<f32> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
            let start = apart[0].abs().max(apart[1].abs());
            let steps = apart.windows(3).map(|w| (w[2] - w[0]).abs());
            let db = 20.0 * steps.fold(start, f32::max).max(1e-9).log10();
            assert!(db < -60.0, "seed {seed}: {db:.1} dB");
        }
    }
}

#[test]
fn a_refused_change_changes_nothing() {
    let mut stream = Stream::new(1, loud()).unwrap();
    let mut wrong = loud();
    wrong.key = Key::above_c(1);
    wrong.density = f32::INFINITY;
    assert_eq!(stream.set_params(wrong).unwrap_err().code(), "Y001");
    assert_eq!(*stream.params(), loud());
    let settings = StreamSettings {
        sample_rate: 7_000,
        ..StreamSettings::default()
    };
    let refused = Stream::with_settings(1, loud(), settings).unwrap_err();
    assert_eq!(refused.code(), "Y003");
}

#[test]
fn hours_go_by_without_a_gap_a_drift_or_a_dropped_note() {
    // Six hours of composing and a minute of sound at their end.
    let settings = StreamSettings {
        sample_rate: 8_000,
        ..StreamSettings::default()
    };
    let mut params = loud();
    params.mode = Mode::Phrygian;
    let mut stream = Stream::with_settings(6, params, settings).unwrap();
    let mut block = vec![0i16; 2 * 8_000];
    let mut silent = 0;
    for _ in 0..900 {
        stream.render_into(&mut block);
        silent += usize::from(block.iter().all(|sample| sample.unsigned_abs() < 64));
    }
    assert_eq!((silent, stream.dropped_notes()), (0, 0));
    assert!(stream.sounding_voices() > 5);
}
