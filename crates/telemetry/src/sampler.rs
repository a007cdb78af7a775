//! Sampling threads: one per GPU, and one that reads the host and watches over them.
//!
//! A wake-up costs more than most readings, so that there are few: each GPU's thread wakes ten times
//! a second, the other one once. `tests/wake_ups.rs` counts them.
//!
//! Invariants: a driver call that hangs holds up its own GPU only, and that GPU is said to be stale
//! within `stale_after` and two watchdog rounds; nothing here waits for the one who reads the
//! events; stopping waits for hung calls no longer than a short grace.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Event, Happening, Presence};
use crate::host::HostProbe;
use crate::machine::{Machine, Settings};
use crate::probe::GpuProbe;
use crate::process_identity::ProcessLookup;
use crate::pulse::Pulse;
use crate::schedule::Schedule;
use crate::source::Gpu;
use crate::{Clock, Micros};

/// Stale is said within the limit of 1.5 s and one round: under 3 s. The host's period is a multiple
/// of it, so that reading the host wakes nobody else.
const WATCHDOG_ROUND: Duration = Duration::from_millis(1_000);
/// How long stopping waits for the last readings.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// A stop signal that sleepers hear at once.
#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Sleeps; true when stopping was requested meanwhile.
    fn sleep(&self, span: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, _) = self
            .changed
            .wait_timeout_while(asked, span, |asked| !*asked)
            .unwrap_or_else(PoisonError::into_inner);
        *asked
    }
}

/// Running sampling threads.
pub struct Sampler {
    settings: Settings,
    lookup: ProcessLookup,
    stop: Arc<Stop>,
    events: Sender<Event>,
    pulses: Pulses,
    keeper: Option<thread::JoinHandle<()>>,
}

/// The pulses of the GPUs' threads, in the order in which they joined.
type Pulses = Arc<Mutex<Vec<Arc<Pulse>>>>;

fn listed(pulses: &Pulses) -> MutexGuard<'_, Vec<Arc<Pulse>>> {
    pulses.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sampler {
    /// Starts sampling; events queue up in the receiver until they are taken, without waking
    /// anybody for each.
    pub fn start(mut machine: Machine, settings: &Settings) -> (Self, Receiver<Event>) {
        let (sampler, events) = Self::start_host(settings);
        let handles = std::mem::take(&mut machine.handles);
        for (handle, identity) in handles.into_iter().zip(&machine.inventory.gpus) {
            sampler.join(handle, identity.mig);
        }
        (sampler, events)
    }

    /// Starts with the host alone: GPUs may [`Sampler::join`].
    pub(crate) fn start_host(settings: &Settings) -> (Self, Receiver<Event>) {
        let (events, received) = channel();
        let stop = Arc::new(Stop::default());
        let pulses = Pulses::default();
        let keeper = Keeper {
            host: HostProbe::new(&settings.proc_root),
            host_period: settings.schedule.host,
            watchdog: Watchdog {
                stale: Vec::new(),
                pulses: Arc::clone(&pulses),
                limit: settings.stale_after,
            },
        };
        let (keeper_stop, keeper_events) = (Arc::clone(&stop), events.clone());
        let keeper = named("host", move || keeper.keep(&keeper_stop, &keeper_events));
        let sampler = Self {
            settings: settings.clone(),
            lookup: ProcessLookup::new(&settings.proc_root, settings.command_lines),
            stop,
            events,
            pulses,
            keeper: Some(keeper),
        };
        (sampler, received)
    }

    /// Samples one GPU more, in a thread of its own.
    pub(crate) fn join(&self, handle: Box<dyn Gpu>, mig: bool) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse::default());
        let position = {
            let mut pulses = listed(&self.pulses);
            pulses.push(Arc::clone(&pulse));
            pulses.len() - 1
        };
        let probe = GpuProbe::new(
            handle,
            u16::try_from(position).unwrap_or(u16::MAX),
            mig,
            self.settings.schedule.clone(),
            Clock::System,
            self.lookup.clone(),
            self.settings.process_use,
        );
        let (own, stop, events) = (
            Arc::clone(&pulse),
            Arc::clone(&self.stop),
            self.events.clone(),
        );
        named(&format!("gpu {position}"), move || {
            sample_gpu(probe, &own, &stop, &events);
        });
        pulse
    }

    /// The calls that GPUs' threads have not returned from, by position, before they had taken this many
    /// rounds of readings.
    pub(crate) fn incomplete(&self, wanted: u64) -> Vec<(usize, Option<&'static str>)> {
        let pulses = listed(&self.pulses);
        let incomplete = pulses.iter().enumerate();
        incomplete
            .filter(|(_, pulse)| pulse.rounds() < wanted)
            .map(|(position, pulse)| (position, pulse.hangs_in(Duration::ZERO)))
            .collect()
    }

    /// Takes the last readings (energy, rings) and stops. A GPU whose call hangs is left behind:
    /// its thread ends with the call or with the program.
    pub fn stop(mut self) {
        self.stop.ask();
        if let Some(keeper) = self.keeper.take() {
            // A panic of this thread has been reported by the runtime already.
            let _ = keeper.join();
        }
        let deadline = Instant::now() + STOP_GRACE;
        let running = |pulse: &Arc<Pulse>| !pulse.has_ended();
        while listed(&self.pulses).iter().any(running) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A thread whose name tells in `top -H` what its time went into.
fn named(name: &str, work: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    match thread::Builder::new().name(name.to_owned()).spawn(work) {
        Ok(handle) => handle,
        // The same that `thread::spawn` does: without threads there is no sampling.
        Err(error) => panic!("cannot start the thread `{name}`: {error}"),
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

fn sample_gpu(mut probe: GpuProbe, pulse: &Arc<Pulse>, stop: &Stop, events: &Sender<Event>) {
    pulse.attach();
    // A receiver that is gone means that nobody listens any more: the stop signal follows.
    let mut say = |event| drop(events.send(event));
    loop {
        let next = probe.step(&mut say);
        pulse.count_round();
        if stop.sleep(next.since(Clock::System.now())) {
            break;
        }
    }
    probe.mark();
    probe.step(&mut say);
    pulse.end();
}

/// What one thread does for all: reads the host, and says which GPUs hang.
struct Keeper {
    host: HostProbe,
    host_period: Duration,
    watchdog: Watchdog,
}

impl Keeper {
    fn keep(mut self, stop: &Stop, events: &Sender<Event>) {
        let start = Instant::now();
        let mut host_due = start + self.host_period;
        let mut round_due = start + WATCHDOG_ROUND;
        // A receiver that is gone means that nobody listens any more: the stop signal follows.
        let mut say = |event| drop(events.send(event));
        loop {
            let next = match listed(&self.watchdog.pulses).is_empty() {
                true => host_due,
                false => host_due.min(round_due),
            };
            let stopping = stop.sleep(next.saturating_duration_since(Instant::now()));
            let now = Instant::now();
            if stopping || now >= round_due {
                round_due = after(round_due, WATCHDOG_ROUND, now);
                self.watchdog.look(&mut say);
            }
            if stopping {
                return;
            }
            if now >= host_due {
                host_due = after(host_due, self.host_period, now);
                say(Event {
                    at: Clock::System.now(),
                    gpu: 0,
                    what: Happening::Host(self.host.read()),
                });
            }
        }
    }
}

/// The turn after `due` on its beat; turns that were missed are skipped.
fn after(due: Instant, period: Duration, now: Instant) -> Instant {
    let next = due + period;
    if next > now { next } else { now + period }
}

/// Which GPUs' threads have been inside of one call for too long.
struct Watchdog {
    pulses: Pulses,
    stale: Vec<bool>,
    limit: Duration,
}

impl Watchdog {
    /// Says which GPUs began or ceased to hang since the last look.
    fn look(&mut self, say: &mut dyn FnMut(Event)) {
        let pulses = listed(&self.pulses);
        self.stale.resize(pulses.len(), false);
        for (position, (pulse, stale)) in pulses.iter().zip(&mut self.stale).enumerate() {
            let hangs = !pulse.has_ended() && pulse.hangs_in(self.limit).is_some();
            if hangs != *stale {
                *stale = hangs;
                let presence = if hangs {
                    Presence::Stale
                } else {
                    Presence::Live
                };
                say(Event {
                    at: Clock::System.now(),
                    gpu: u16::try_from(position).unwrap_or(u16::MAX),
                    what: Happening::Presence(presence),
                });
            }
        }
    }
}

/// Sampling in the caller's own thread and on the caller's clock: what the threads do, in virtual
/// time. A call that hangs holds the caller up, so that this is for drivers that are known to answer.
pub struct SteppedSampler {
    probes: Vec<GpuProbe>,
    due: Vec<Micros>,
    host: HostProbe,
    host_due: Micros,
    schedule: Schedule,
    clock: Clock,
}

impl SteppedSampler {
    /// Begins at the clock's time.
    pub fn new(mut machine: Machine, settings: &Settings, clock: Clock) -> Self {
        let start = clock.now();
        let lookup = ProcessLookup::new(&settings.proc_root, settings.command_lines);
        let handles = std::mem::take(&mut machine.handles);
        let probes: Vec<_> = handles
            .into_iter()
            .zip(&machine.inventory.gpus)
            .enumerate()
            .map(|(position, (handle, identity))| {
                GpuProbe::new(
                    handle,
                    u16::try_from(position).unwrap_or(u16::MAX),
                    identity.mig,
                    settings.schedule.clone(),
                    clock.clone(),
                    lookup.clone(),
                    settings.process_use,
                )
            })
            .collect();
        Self {
            due: vec![start; probes.len()],
            probes,
            host: HostProbe::new(&settings.proc_root),
            host_due: start.plus(settings.schedule.host),
            schedule: settings.schedule.clone(),
            clock,
        }
    }

    /// Takes what is due now; returns when the next is.
    pub fn step(&mut self, say: &mut dyn FnMut(Event)) -> Micros {
        let now = self.clock.now();
        for (probe, due) in self.probes.iter_mut().zip(&mut self.due) {
            if *due <= now {
                *due = probe.step(say);
            }
        }
        if self.host_due <= now {
            self.host_due = now.plus(self.schedule.host);
            say(Event {
                at: now,
                gpu: 0,
                what: Happening::Host(self.host.read()),
            });
        }
        self.due.iter().copied().fold(self.host_due, Micros::min)
    }

    /// Takes the last readings: energy and what the rings still hold.
    pub fn finish(mut self, say: &mut dyn FnMut(Event)) {
        for probe in &mut self.probes {
            probe.mark();
            probe.step(say);
        }
    }
}
