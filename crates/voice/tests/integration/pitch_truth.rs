//! Pitch trackers on signals whose pitch is known by construction.

use std::f64::consts::TAU;

use warpsmith_voice::{
    Framing, Padding, PitchRange, Pyin, PyinSettings, PyinStream, PyinTrack, Yin,
};

const RATE: u32 = 16_000;
const FRAMING: Framing = Framing {
    length: 1024,
    hop: 160,
    padding: Padding::CentredZero,
};

/// Harmonics `first..=12` of the contour `hertz(seconds)`, each at 1/k.
fn harmonics(seconds: f64, first: u32, hertz: impl Fn(f64) -> f64) -> Vec<f32> {
    let rate = f64::from(RATE);
    let mut phase = 0.0;
    (0..(seconds * rate) as usize)
        .map(|n| {
            let frequency = hertz(n as f64 / rate);
            phase += TAU * frequency / rate;
            let sum: f64 = (first..=12)
                .map(f64::from)
                .filter(|k| k * frequency < 0.95 * rate / 2.0)
                .map(|k| (k * phase + 0.7 * k * k).sin() / k)
                .sum();
            (0.2 * sum) as f32
        })
        .collect()
}

/// Mean distance in cents of the frames well inside the signal, and the largest.
fn distance(track: &[f32], hertz: impl Fn(f64) -> f64) -> (f64, f64) {
    let inside = 5..track.len() - 5;
    let cents: Vec<f64> = inside
        .map(|frame| {
            let truth = hertz(frame as f64 * 160.0 / f64::from(RATE));
            (1200.0 * (f64::from(track[frame]) / truth).log2()).abs()
        })
        .collect();
    let mean = cents.iter().sum::<f64>() / cents.len() as f64;
    (mean, cents.iter().copied().fold(0.0, f64::max))
}

fn yin(signal: &[f32]) -> Vec<f32> {
    let mut yin = Yin::new(RATE, FRAMING, PitchRange::VOICE, 0.1).unwrap();
    yin.track(signal).unwrap()
}

#[test]
fn steady_tones_are_found_to_a_few_cents() {
    // YIN's parabola is the peer's, whose mean error over such tones is 0.9 cents.
    let mut sum = 0.0;
    for step in 0..24 {
        let hertz = 72.0 * (740.0f64 / 72.0).powf(f64::from(step) / 23.0);
        let (mean, largest) = distance(&yin(&harmonics(0.5, 1, |_| hertz)), |_| hertz);
        assert!(largest < 10.0, "{hertz} Hz: {largest} cents");
        sum += mean;
    }
    assert!(sum / 24.0 < 1.5, "{} cents", sum / 24.0);
}

#[test]
fn a_sweep_is_followed_without_octave_errors() {
    let contour = |t: f64| 80.0 * (700.0f64 / 80.0).powf(t / 4.0);
    let (mean, largest) = distance(&yin(&harmonics(4.0, 1, contour)), contour);
    assert!(mean < 2.0 && largest < 50.0, "{mean}, {largest}");
}

#[test]
fn a_missing_fundamental_is_found() {
    let contour = |t: f64| 170.0 + 60.0 * (1.3 * t).sin();
    let (mean, largest) = distance(&yin(&harmonics(4.0, 3, contour)), contour);
    assert!(mean < 3.0 && largest < 50.0, "{mean}, {largest}");
}

#[test]
fn clipping_does_not_move_the_pitch() {
    let clipped: Vec<f32> = harmonics(1.0, 1, |_| 200.0)
        .iter()
        .map(|x| (8.0 * x).clamp(-1.0, 1.0))
        .collect();
    let (mean, _) = distance(&yin(&clipped), |_| 200.0);
    assert!(mean < 1.0, "{mean}");
}

#[test]
fn pyin_tells_voice_from_silence_and_noise() {
    let mut signal = harmonics(1.0, 1, |_| 150.0);
    signal.extend(vec![0.0; 16_000]);
    let mut seed = 1u64;
    signal.extend((0..16_000).map(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((seed >> 40) as f32 / 16_777_216.0 - 0.5) * 0.2
    }));
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(RATE, FRAMING, PitchRange::VOICE, settings).unwrap();
    let track = pyin.track(&signal);
    assert!(track.voiced[5..95].iter().all(|voiced| *voiced));
    assert!(track.voiced[110..195].iter().all(|voiced| !voiced));
    // The peer, too, hears a pitch in a fifth of such frames.
    let noise = &track.voiced[205..295];
    let unvoiced = noise.iter().filter(|voiced| !**voiced).count();
    assert!(unvoiced >= 60, "{unvoiced} of 90");
    let (mean, _) = distance(&track.frequency[..100], |_| 150.0);
    // The grid is 10 cents wide.
    assert!(mean <= 5.1, "{mean}");
}

#[test]
fn nothing_in_nothing_out() {
    assert!(yin(&[]).is_empty());
    let settings = PyinSettings::default();
    let mut pyin = Pyin::new(RATE, FRAMING, PitchRange::VOICE, settings).unwrap();
    assert!(pyin.track(&[]).voiced.is_empty());
    assert!(pyin.track(&[0.0; 5000]).voiced.iter().all(|voiced| !voiced));
    assert_eq!(pyin.track(&[0.5]).voiced.len(), 1);
}

#[test]
fn what_is_shorter_than_a_period_is_not_voiced() {
    let (framing, settings) = (FRAMING, PyinSettings::default());
    for samples in 1..=20 {
        let signal: Vec<f32> = (0..samples).map(|n| 0.3 - 0.01 * n as f32).collect();
        let mut pyin = Pyin::new(RATE, framing, PitchRange::VOICE, settings).unwrap();
        let whole = pyin.track(&signal);
        assert_eq!(
            (&whole.voiced[..], &whole.probability[..]),
            (&[false][..], &[0.0][..])
        );
        let mut stream = PyinStream::new(RATE, framing, PitchRange::VOICE, settings).unwrap();
        let mut heard = PyinTrack::default();
        stream.process(&signal, &mut heard);
        stream.finish(&mut heard);
        assert_eq!(heard.voiced, whole.voiced);
    }
}
