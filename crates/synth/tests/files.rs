//! What leaves as files: stems that are the piece again, and FLAC that loses nothing.

use warpsmith_formats::flac::{BLOCK, FlacEncoder};
use warpsmith_signal::Audio;
use warpsmith_synth::{Params, Parts, Preset, Stream};

fn samples(seed: u64, params: Params, seconds: usize) -> Vec<f32> {
    let mut out = vec![0.0; 2 * 48_000 * seconds];
    Stream::new(seed, params).unwrap().render_into(&mut out);
    out
}

#[test]
fn the_parts_of_a_piece_add_up_to_it() {
    let mut params = Params::preset(Preset::Bright);
    (params.parts.pulse, params.parts.bells) = (true, true);
    let alone = Parts::NAMES.iter().map(|name| {
        let mut parts = Parts::NONE;
        *parts.of_mut(name).unwrap() = true;
        parts
    });
    let whole = samples(5, params, 60);
    let mut sum = vec![0.0f64; whole.len()];
    for parts in alone {
        let part = samples(5, Params { parts, ..params }, 60);
        assert!(
            part.iter().any(|value| value.abs() > 1e-3),
            "{parts:?} is silent"
        );
        for (sum, value) in sum.iter_mut().zip(part) {
            *sum += f64::from(value);
        }
    }
    let left: f64 = whole
        .iter()
        .zip(&sum)
        .map(|(a, b)| (f64::from(*a) - b).powi(2))
        .sum();
    let power: f64 = whole.iter().map(|a| f64::from(*a).powi(2)).sum();
    let db = 10.0 * (left.max(1e-30) / power).log10();
    // The lines of each part's room are rounded by themselves.
    assert!(db < -95.0, "{db:.1} dB");
}

#[test]
fn flac_is_decoded_to_the_very_samples_by_a_decoder_that_is_not_ours() {
    let mut music = vec![0i16; 2 * (5 * BLOCK + 1_234)];
    Stream::new(7, Params::default())
        .unwrap()
        .render_into(&mut music);
    let loud: Vec<i16> = (0..2 * (BLOCK + 17) as u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as i16)
        .collect();
    // Full scale on both sides, with both signs against each other.
    let steep: Vec<i16> = (0..2 * 100)
        .map(|n| if n % 3 == 0 { i16::MIN } else { i16::MAX })
        .collect();
    for (name, samples) in [
        ("music", music),
        ("loud", loud),
        ("steep", steep),
        ("short", vec![3, -4]),
    ] {
        let mut encoder = FlacEncoder::new(48_000, samples.len() as u64 / 2);
        let mut bytes = encoder.head();
        for block in samples.chunks(2 * BLOCK) {
            bytes.extend(encoder.block(block));
        }
        let name = format!("{name}.flac");
        let audio = Audio::read_stream(name.as_ref(), &mut &bytes[..]).unwrap();
        assert_eq!(
            (audio.sample_rate, audio.channels.len()),
            (48_000, 2),
            "{name}"
        );
        let sides = audio.channels[0].iter().zip(&audio.channels[1]);
        let heard: Vec<i16> = sides
            .flat_map(|(left, right)| [*left, *right])
            .map(|value| (value * 32_768.0) as i16)
            .collect();
        assert!(heard == samples, "{name} differs");
    }
}
