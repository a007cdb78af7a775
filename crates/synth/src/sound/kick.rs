//! The kick: one table for all, made once per sample rate.

use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::instrument::{KICK_GAIN, pan_gains};
use super::{Lane, QUANTUM};
use crate::note::{Formulas, Note};

/// A tenth of a second of a sine that falls from 150 to 40 Hz, at velocity 1.
pub(crate) fn kick_wave(sample_rate: u32, formulas: Formulas) -> Vec<f64> {
    let count = (sample_rate / 10) as usize;
    let rate = f64::from(sample_rate);
    let (high, low) = (150f64.ln(), 40f64.ln());
    let decay = |k: f64| (-10.0 * k / rate / 0.15).exp();
    // What is left at the end would be a step.
    let left = match formulas {
        Formulas::Original => 0.0,
        Formulas::ClickFree => decay(count as f64),
    };
    let mut phase = 0.0;
    (0..count)
        .map(|k| {
            let along = k as f64 / (count - 1).max(1) as f64;
            phase += (high + (low - high) * along).exp() / rate;
            KICK_GAIN * (TAU * phase).sin() * (decay(k as f64) - left) / (1.0 - left)
        })
        .collect()
}

/// The table of a rate and of a set of formulas, while somebody plays it.
type Shared = (u32, Formulas, Weak<[f32]>);

/// Tables in use, so that a thousand streams of one rate share one.
static TABLES: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// The table that voices play. Taken when a stream is made, never while one renders.
pub(crate) fn kick_table(sample_rate: u32, formulas: Formulas) -> Arc<[f32]> {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.retain(|(.., table)| table.strong_count() > 0);
    let shared = tables
        .iter()
        .find(|(rate, of, _)| (*rate, *of) == (sample_rate, formulas))
        .and_then(|(.., table)| table.upgrade());
    if let Some(table) = shared {
        return table;
    }
    let wave = kick_wave(sample_rate, formulas);
    let table: Arc<[f32]> = wave.into_iter().map(|value| value as f32).collect();
    tables.push((sample_rate, formulas, Arc::downgrade(&table)));
    table
}

/// A kick that sounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kick {
    start: u64,
    gains: [f32; 2],
}

impl Kick {
    pub(crate) fn new(note: &Note, formulas: Formulas) -> Self {
        let gains = pan_gains(note.pan, formulas).map(|gain| gain as f32 * note.velocity);
        Self {
            start: note.start,
            gains,
        }
    }

    pub(crate) fn end(&self, table: &[f32]) -> u64 {
        self.start + table.len() as u64
    }

    pub(crate) fn add(&self, table: &[f32], position: u64, [left, right]: &mut [Lane; 2]) {
        for j in 0..QUANTUM {
            let k = (position + j as u64).wrapping_sub(self.start);
            let value = usize::try_from(k).ok().and_then(|k| table.get(k));
            if let Some(value) = value {
                left[j] += value * self.gains[0];
                right[j] += value * self.gains[1];
            }
        }
    }
}
