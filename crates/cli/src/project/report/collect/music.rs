//! Music from a seed that one can hear, and how fast it is made here.

use std::time::Instant;

use anyhow::Result;
use warpsmith_report::document::Sound;
use warpsmith_synth::{Params, Preset, Stream, StreamSettings};

use super::wav_sound::wav;

const SEED: u64 = 7;
/// Half of what music needs: the page is to stay small.
const RATE: u32 = 24_000;
const SECONDS: usize = 10;
/// Seconds until the first chord stands; what is heard begins there.
const SKIPPED: usize = 4;

/// Ten seconds of music, with how fast it was made.
pub(super) fn sound() -> Result<Sound> {
    let params = Params::preset(Preset::Focus);
    let settings = StreamSettings {
        sample_rate: RATE,
        ..StreamSettings::default()
    };
    let mut stream = Stream::with_settings(SEED, params, settings)?;
    let rate = RATE as usize;
    let mut samples = vec![0f32; 2 * rate];
    let mut heard = Vec::with_capacity(SECONDS * rate);
    let mut taken = 0.0;
    for second in 0..SKIPPED + SECONDS {
        let begun = Instant::now();
        stream.render_into(&mut samples);
        taken += begun.elapsed().as_secs_f64();
        if second >= SKIPPED {
            let frames = samples.chunks_exact(2);
            heard.extend(frames.map(|frame| 0.5 * (frame[0] + frame[1])));
        }
    }
    let faster = (SKIPPED + SECONDS) as f64 / taken;
    Ok(Sound {
        caption: format!(
            "{SECONDS} s of ambient music, seed {SEED}, mixed to mono at {} kHz for this page, made \
             {faster:.0} times as fast as it plays; `warpsmith synth render --seed {SEED}` makes it \
             in stereo at 48 kHz",
            RATE / 1000
        ),
        wav: wav(&heard, RATE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_can_be_heard() {
        let sound = sound().unwrap();
        let peak = sound.wav[44..]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|sample| i16::from_le_bytes(*sample).unsigned_abs())
            .max();
        assert!(peak.unwrap() > 1000, "{peak:?}");
    }
}
