//! A machine whose board is there at once: what answers joins it, what does not is named on it.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::board::{Board, LiveBoard};
use crate::event::{Happening, Presence};
use crate::machine::{Machine, OpenError, Settings};
use crate::opening::Opening;
use crate::sampler::Sampler;
use crate::schedule::Tier;

/// How long GPUs are collected before they join, so that they stand in the order of their indices;
/// those that take longer come behind. Also the time after which a verb says what it waits for.
pub(crate) const PROMPT: Duration = Duration::from_secs(1);

/// The machine with a board of what is known now.
pub struct LiveMachine {
    board: Arc<LiveBoard>,
    /// Taken when it stops.
    sampler: Arc<Mutex<Option<Sampler>>>,
    failure: Receiver<OpenError>,
}

impl LiveMachine {
    /// Starts to open and to sample; never waits for the driver.
    pub fn start(settings: &Settings) -> Self {
        let mut opening = Opening::begin(settings);
        let (sampler, events) = Sampler::start_host(settings);
        let board = Arc::new(LiveBoard::new(opening.inventory(), events));
        let sampler = Arc::new(Mutex::new(Some(sampler)));
        let (fail, failure) = channel();
        let machine = Self {
            failure,
            board: Arc::clone(&board),
            sampler: Arc::clone(&sampler),
        };
        let attend = move || {
            let mut complete = opening.wait(PROMPT);
            if let Some(failure) = opening.failure() {
                // Whether anybody wants to know is theirs to say.
                let _ = fail.send(failure);
            }
            drop(fail);
            loop {
                for (handle, identity) in opening.take_opened() {
                    let sampler = sampler.lock().unwrap_or_else(PoisonError::into_inner);
                    // It has stopped meanwhile: nobody wants to know any more.
                    let Some(sampler) = &*sampler else { return };
                    let mig = identity.mig;
                    board.join(identity, || sampler.join(handle, mig));
                }
                board.learn(opening.inventory());
                if complete {
                    return;
                }
                complete = opening.wait_for_one();
            }
        };
        // Without a thread the board stays as it is: waiting for the driver.
        let _ = thread::Builder::new().name("open".to_owned()).spawn(attend);
        machine
    }

    /// The board.
    pub fn board(&self) -> &Arc<LiveBoard> {
        &self.board
    }

    /// Fails where a GPU was requested that is not there; waits for the driver's word on that for a
    /// second.
    pub fn check_requested(&self) -> Result<(), OpenError> {
        self.failure.recv_timeout(2 * PROMPT).map_or(Ok(()), Err)
    }

    /// Takes the last readings and stops, as [`Sampler::stop`] does.
    pub fn stop(self) {
        let sampler = self
            .sampler
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(sampler) = sampler {
            sampler.stop();
        }
    }
}

/// Reads every tier once; a GPU that has not answered within `limit` is on the board as hung.
pub fn snapshot(machine: Machine, settings: &Settings, limit: Duration) -> Board {
    let mut board = Board::new(machine.inventory().clone());
    // Shares of time need two readings of the host with some time in between.
    let mut settings = settings.clone();
    let step = Duration::from_millis(100);
    settings.schedule = settings.schedule.with_host(step);
    let mut rounds = 1;
    if machine.handles.iter().any(|gpu| gpu.takes_two_looks()) {
        // The second look tells how busy it is, and the state behind it says so.
        rounds = 3;
        for tier in [Tier::State, Tier::Steady, Tier::Processes] {
            settings.schedule = settings.schedule.with(tier, step);
        }
    }
    let (sampler, events) = Sampler::start(machine, &settings);
    let deadline = Instant::now() + limit;
    let mut host = false;
    while (!host || !sampler.incomplete(rounds).is_empty()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
        for event in events.try_iter() {
            host |= matches!(event.what, Happening::Host(_));
            board.apply(event);
        }
    }
    for (position, call) in sampler.incomplete(1) {
        board.gpus[position].presence = Presence::Stale;
        board.gpus[position].hangs_in = call;
    }
    // Stopping takes the last readings, of which a snapshot has no need.
    drop(sampler);
    board
}

/// Opens a machine and says what it waits for, once, when that takes more than a moment.
pub fn open_telling(settings: &Settings, tell: impl FnOnce(&str)) -> Result<Machine, OpenError> {
    let mut opening = Opening::begin(settings);
    if !opening.wait(PROMPT.min(settings.patience)) {
        let waits: Vec<String> = opening
            .waits_for()
            .iter()
            .map(ToString::to_string)
            .collect();
        let left = settings.patience.saturating_sub(PROMPT);
        tell(&format!(
            "waiting for the driver for {} s more: {}",
            left.as_secs(),
            waits.join("; ")
        ));
        opening.wait(left);
    }
    opening.finish()
}
