//! Sampling threads: one per GPU, and one that reads the host and watches over them.
//!
//! A wake-up costs more than most readings, so that there are few: each GPU's thread wakes ten times
//! a second, the other one once. `tests/wake_ups.rs` counts them.
//!
//! Invariants: a driver call that hangs holds up its own GPU only, and that GPU is said to be stale
//! within `stale_after` and two watchdog rounds; nothing here waits for the one who reads the
//! events; stopping waits for hung calls no longer than a short grace.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Event, Happening, Inventory, Presence};
use crate::host::HostProbe;
use crate::machine::{Machine, Settings};
use crate::probe::GpuProbe;
use crate::process_identity::ProcessLookup;
use crate::schedule::Schedule;
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

/// What a GPU's thread is doing, for the watchdog: the microsecond since the sampler's start at
/// which it entered the driver, or [`OUTSIDE`], or [`ENDED`].
struct Pulse(AtomicU64);

const OUTSIDE: u64 = u64::MAX;
const ENDED: u64 = u64::MAX - 1;

/// Running sampling threads.
pub struct Sampler {
    inventory: Inventory,
    stop: Arc<Stop>,
    pulses: Vec<Arc<Pulse>>,
    keeper: Option<thread::JoinHandle<()>>,
}

impl Sampler {
    /// Starts sampling; events queue up in the receiver until they are taken, without waking
    /// anybody for each.
    pub fn start(machine: Machine, settings: &Settings) -> (Self, Receiver<Event>) {
        let (events, received) = channel();
        let stop = Arc::new(Stop::default());
        let origin = Instant::now();
        let lookup = ProcessLookup::new(&settings.proc_root, settings.command_lines);
        let mut pulses = Vec::new();
        for (position, handle) in machine.handles.into_iter().enumerate() {
            let pulse = Arc::new(Pulse(AtomicU64::new(OUTSIDE)));
            pulses.push(Arc::clone(&pulse));
            let probe = GpuProbe::new(
                handle,
                u16::try_from(position).unwrap_or(u16::MAX),
                machine.inventory.gpus[position].mig,
                settings.schedule.clone(),
                Clock::System,
                lookup.clone(),
            );
            let (stop, events) = (Arc::clone(&stop), events.clone());
            named(&format!("gpu {position}"), move || {
                sample_gpu(probe, &pulse, origin, &stop, &events)
            });
        }
        let keeper = Keeper {
            host: HostProbe::new(&settings.proc_root),
            host_period: settings.schedule.host,
            watchdog: Watchdog {
                stale: vec![false; pulses.len()],
                pulses: pulses.clone(),
                origin,
                limit: settings.stale_after,
            },
        };
        let keeper_stop = Arc::clone(&stop);
        let keeper = named("host", move || keeper.keep(&keeper_stop, &events));
        (
            Self {
                inventory: machine.inventory,
                stop,
                pulses,
                keeper: Some(keeper),
            },
            received,
        )
    }

    /// What is being sampled.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
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
        let running = |pulse: &Arc<Pulse>| pulse.0.load(Ordering::Acquire) != ENDED;
        while self.pulses.iter().any(running) && Instant::now() < deadline {
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

fn sample_gpu(
    mut probe: GpuProbe,
    pulse: &Pulse,
    origin: Instant,
    stop: &Stop,
    events: &Sender<Event>,
) {
    // A receiver that is gone means that nobody listens any more: the stop signal follows.
    let mut say = |event| drop(events.send(event));
    let enter = || {
        let now = u64::try_from(origin.elapsed().as_micros()).unwrap_or(0);
        pulse.0.store(now, Ordering::Release);
    };
    loop {
        enter();
        let next = probe.step(&mut say);
        pulse.0.store(OUTSIDE, Ordering::Release);
        if stop.sleep(next.since(Clock::System.now())) {
            break;
        }
    }
    enter();
    probe.mark();
    probe.step(&mut say);
    pulse.0.store(ENDED, Ordering::Release);
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
            let next = match self.watchdog.pulses.is_empty() {
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

/// Which GPUs' threads have been inside of the driver for too long.
struct Watchdog {
    pulses: Vec<Arc<Pulse>>,
    stale: Vec<bool>,
    origin: Instant,
    limit: Duration,
}

impl Watchdog {
    /// Says which GPUs began or ceased to hang since the last look.
    fn look(&mut self, say: &mut dyn FnMut(Event)) {
        let now = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(0);
        for (position, pulse) in self.pulses.iter().enumerate() {
            let entered = pulse.0.load(Ordering::Acquire);
            let hangs =
                entered < ENDED && Duration::from_micros(now.saturating_sub(entered)) > self.limit;
            if hangs != self.stale[position] {
                self.stale[position] = hangs;
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
/// time.
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
    pub fn new(machine: Machine, settings: &Settings, clock: Clock) -> Self {
        let start = clock.now();
        let lookup = ProcessLookup::new(&settings.proc_root, settings.command_lines);
        let probes: Vec<_> = machine
            .handles
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
