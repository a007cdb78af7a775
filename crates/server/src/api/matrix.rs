//! The optimisation matrix, measured once for all who look.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::watch;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_measure::comparison::paired_rounds::ComparisonPlan;
use warpsmith_synth::matrix::{TECHNIQUES, cells, measure};

use crate::process;

/// Rounds of a row: a first look, since listeners share the machine.
const ROUNDS: usize = 6;

#[derive(Default)]
struct State {
    rows: Vec<Arc<str>>,
    running: bool,
    done: bool,
}

/// The rows so far.
pub(crate) struct Matrix {
    device: DeviceChoice,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

impl Matrix {
    pub(crate) fn new(device: DeviceChoice) -> Self {
        Self {
            device,
            state: Mutex::default(),
            changed: watch::channel(0).0,
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures, unless that was done or is being done; `again` forgets what was done.
    pub(crate) fn begin(self: &Arc<Self>, again: bool) {
        let mut state = self.locked();
        if state.running || state.done && !again {
            return;
        }
        *state = State {
            running: true,
            ..State::default()
        };
        drop(state);
        let matrix = Arc::clone(self);
        std::thread::spawn(move || {
            // Nobody's music may stutter for a table.
            process::step_back();
            matrix.run();
        });
    }

    fn run(&self) {
        match Device::open(self.device) {
            Err(error) => self.add(json!({ "error": error.to_string() }).to_string()),
            Ok(device) => {
                let plan = ComparisonPlan {
                    rounds: ROUNDS,
                    maximum_rounds: ROUNDS,
                    ..ComparisonPlan::default()
                };
                self.add(json!({ "device": device.name(), "rows": TECHNIQUES.len() }).to_string());
                for technique in TECHNIQUES {
                    let row = measure(technique, &device, &plan, None);
                    let line = json!({ "cells": cells(&row), "platform": row.platform });
                    self.add(line.to_string());
                }
            }
        }
        let mut state = self.locked();
        state.running = false;
        state.done = true;
        drop(state);
        self.changed.send_modify(|changes| *changes += 1);
    }

    fn add(&self, line: String) {
        self.locked().rows.push(line.into());
        self.changed.send_modify(|changes| *changes += 1);
    }

    /// Lines after the first `seen`, and whether there will be no more.
    pub(crate) fn after(&self, seen: usize) -> (Vec<Arc<str>>, bool) {
        let state = self.locked();
        let rows = state.rows.get(seen..).unwrap_or_default().to_vec();
        (rows, state.done)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
