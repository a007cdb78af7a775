//! Tracks of pitch as rows: a frame's time, its frequency, and how sure that is.

use warpsmith_voice::{CrepeTrack, Framing, HqTrack, NetTrack, PraatTrack, PyinTrack, SwipeTrack};

use super::sheet::Sheet;

/// How sure the network of `crepe` must be that there is a pitch.
const CREPE_VOICED: f32 = 0.15;

pub(super) fn pyin_sheet(track: &PyinTrack, framing: Framing, rate: u32) -> Sheet {
    let times: Vec<f64> = (0..track.voiced.len())
        .map(|frame| (frame * framing.hop) as f64 / f64::from(rate))
        .collect();
    let hertz: Vec<f32> = track
        .frequency
        .iter()
        .zip(&track.voiced)
        .map(|(hertz, voiced)| if *voiced { *hertz } else { 0.0 })
        .collect();
    voiced_sheet(&times, &hertz, ("probability", &track.probability))
}

pub(super) fn praat_rows(track: &PraatTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.strength)
}

pub(super) fn praat_sheet(track: &PraatTrack) -> Sheet {
    Sheet::new(voiced_columns("strength"), praat_rows(track))
}

pub(super) fn swipe_rows(track: &SwipeTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.strength)
}

pub(super) fn swipe_sheet(track: &SwipeTrack) -> Sheet {
    Sheet::new(voiced_columns("strength"), swipe_rows(track))
}

pub(super) fn hq_rows(track: &HqTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.confidence)
}

pub(super) fn hq_sheet(track: &HqTrack) -> Sheet {
    Sheet::new(voiced_columns("confidence"), hq_rows(track))
}

pub(super) fn crepe_sheet(track: &CrepeTrack) -> Sheet {
    let frames = track.frequency.iter().zip(&track.periodicity);
    let hertz: Vec<f32> = frames
        .map(|(hertz, sure)| if *sure >= CREPE_VOICED { *hertz } else { 0.0 })
        .collect();
    let periodicity = ("periodicity", &track.periodicity[..]);
    voiced_sheet(&track.seconds, &hertz, periodicity)
}

pub(super) fn net_rows(track: &NetTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.voiced)
}

pub(super) fn net_sheet(track: &NetTrack) -> Sheet {
    Sheet::new(voiced_columns("probability"), net_rows(track))
}

/// Frames with a frequency, 0 where they are unvoiced, and how sure that is.
fn voiced_sheet(seconds: &[f64], hertz: &[f32], (name, sure): (&str, &[f32])) -> Sheet {
    Sheet::new(voiced_columns(name), voiced_rows(seconds, hertz, sure))
}

/// The names of columns whose last says how sure a frame is.
pub(super) fn voiced_columns(sure: &str) -> Vec<String> {
    ["seconds", "hertz", "voiced", sure]
        .map(str::to_owned)
        .to_vec()
}

fn voiced_rows(seconds: &[f64], hertz: &[f32], sure: &[f32]) -> Vec<f64> {
    let frames = seconds.iter().zip(hertz).zip(sure);
    frames
        .flat_map(|((seconds, hertz), sure)| {
            let voiced = *hertz > 0.0;
            [
                *seconds,
                if voiced { f64::from(*hertz) } else { f64::NAN },
                f64::from(u8::from(voiced)),
                f64::from(*sure),
            ]
        })
        .collect()
}

pub(super) fn yin_sheet(track: &[f32], framing: Framing, rate: u32) -> Sheet {
    let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(rate);
    Sheet::new(
        vec!["seconds".into(), "hertz".into()],
        track
            .iter()
            .enumerate()
            .flat_map(|(frame, hz)| [time(frame), f64::from(*hz)])
            .collect(),
    )
}
