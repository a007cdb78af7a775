//! Voices rendered elsewhere: the thread of an engine, and what streams hand to it.
//!
//! Everything that waits is one batch, so that a thousand listeners are a few launches. An engine
//! that fails is given up: whoever waits for it learns so at once and renders by itself.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;
use warpsmith_core::Finding;
use warpsmith_synth::{DryEngine, DryRequest, EngineLost, gpu_lost};

/// Requests of a batch at most: what 4,096 listeners ask for at once.
const MOST: usize = 4_096;

struct Job {
    request: DryRequest,
    answer: oneshot::Sender<DryRequest>,
}

/// Where requests are handed in.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    jobs: Sender<Job>,
    device: Arc<str>,
    lost: Arc<OnceLock<Finding>>,
}

impl Desk {
    /// Starts the engine's thread, which ends with the last desk; `on_lost` hears why the engine
    /// was given up.
    pub(crate) fn open(
        engine: Box<dyn DryEngine>,
        on_lost: impl FnOnce(&Finding) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (jobs, waiting) = channel();
        let (device, lost) = (engine.name().into(), Arc::new(OnceLock::new()));
        let told = Arc::clone(&lost);
        std::thread::Builder::new()
            .name("voices".to_owned())
            .spawn(move || {
                if let Err(error) = work(engine, &waiting) {
                    on_lost(told.get_or_init(|| gpu_lost(&error.reason)));
                }
            })?;
        Ok(Self { jobs, device, lost })
    }

    /// What renders.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// Why the engine was given up, if it was.
    pub(crate) fn loss(&self) -> Option<&Finding> {
        self.lost.get()
    }

    /// Hands a request in; the answer does not come where the engine is lost.
    pub(crate) fn ask(&self, request: DryRequest) -> oneshot::Receiver<DryRequest> {
        let (answer, asked) = oneshot::channel();
        // A job that nobody takes drops its end of the answer.
        let _ = self.jobs.send(Job { request, answer });
        asked
    }
}

/// Renders batch after batch until nobody can ask any more, or the engine fails.
fn work(mut engine: Box<dyn DryEngine>, waiting: &Receiver<Job>) -> Result<(), EngineLost> {
    let (mut requests, mut answers) = (Vec::new(), Vec::new());
    while let Ok(first) = waiting.recv() {
        for job in std::iter::once(first).chain(waiting.try_iter()).take(MOST) {
            requests.push(job.request);
            answers.push(job.answer);
        }
        engine.render(&mut requests)?;
        for (request, answer) in requests.drain(..).zip(answers.drain(..)) {
            // Whoever asked may be gone.
            let _ = answer.send(request);
        }
    }
    Ok(())
}
