//! The tempo: the lag at which a recording is most like itself, among those that are likely.

use warpsmith_voice::Result;

use super::envelope::{Over, envelope};
use super::settings::RhythmSettings;
use super::tempogram::{Tempogram, lag_bpm};

/// The tempo of a signal, beats per minute; `None` where nothing rises.
pub fn find_tempo(
    signal: &[f32],
    sample_rate: u32,
    settings: &RhythmSettings,
) -> Result<Option<f64>> {
    settings.window_frames(sample_rate)?;
    let strength = envelope(signal, sample_rate, settings, Over::Mean)?;
    tempo_of(&strength, sample_rate, settings)
}

/// The tempo of the rises of all frames.
pub fn tempo_of(
    strength: &[f32],
    sample_rate: u32,
    settings: &RhythmSettings,
) -> Result<Option<f64>> {
    let lags = settings.window_frames(sample_rate)?;
    if strength.iter().all(|rise| *rise == 0.0) {
        return Ok(None);
    }
    let mean = Tempogram::new(lags)?.mean(strength);
    let likely = |bpm: f64| {
        let octaves = (bpm.log2() - settings.start_bpm.log2()) / settings.spread_octaves;
        -0.5 * octaves * octaves
    };
    let mut best = (f64::NEG_INFINITY, None);
    for (lag, similar) in mean.iter().enumerate().skip(1) {
        let bpm = lag_bpm(lag, sample_rate, settings.hop);
        if bpm >= settings.fastest_bpm {
            continue;
        }
        let score = (1e6 * similar).ln_1p() + likely(bpm);
        if score > best.0 {
            best = (score, Some(bpm));
        }
    }
    Ok(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rhythm::beats::tests::clicks;

    #[test]
    fn the_tempo_of_clicks_is_found_to_a_frame() {
        let rate = 22_050;
        let settings = RhythmSettings::default();
        for bpm in [70.0, 96.0, 120.0, 151.0] {
            let signal = clicks(bpm, 12.0, rate);
            let found = find_tempo(&signal, rate, &settings).unwrap().unwrap();
            let period = 60.0 * f64::from(rate) / settings.hop as f64;
            assert!(
                (period / found - period / bpm).abs() <= 1.0,
                "{bpm}: {found}"
            );
        }
        assert_eq!(find_tempo(&[0.0; 9000], rate, &settings).unwrap(), None);
        assert_eq!(find_tempo(&[], rate, &settings).unwrap(), None);
    }
}
