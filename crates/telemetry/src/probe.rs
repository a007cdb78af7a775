//! One GPU on its schedule: each step takes the tiers that are due and says what they read.
//!
//! Invariants: a step never sleeps; a lost GPU is said to be lost once, and is looked for again on
//! the slow tier's beat; the power and utilisation rings are read without gaps or repeats.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::event::{Event, Happening, Presence, ProcessUse, RingSample, Xid};

use crate::process_identity::ProcessLookup;
use crate::schedule::{Agenda, Schedule, Tier};
use crate::source::{Depth, Gpu, Reading, Refusal, Ring, SteadyWanted, Wanted};
use crate::{Clock, Micros};

/// How often a lost GPU is looked for.
const LOST_RETRY: Duration = Duration::from_secs(5);
/// How often memory and the cheap throttle counters are read, which are a part of the state.
const COUNTERS: Duration = Duration::from_secs(1);
/// How often the dear ones are, a millisecond each on an H200: they only grow, and verdicts take
/// differences over a run, whose ends are read anyway. They are also read when the reasons say that
/// one of them begins or ends to move.
const DEAR_COUNTERS: Duration = Duration::from_secs(60);
/// The reasons behind the dear counters: hardware slowdown, software and hardware heat, brake.
const DEAR_REASONS: i64 = 0x8 | 0x20 | 0x40 | 0x80;
/// How often the thermal margin is read, for the same reason, while the temperature moves, and
/// while it does not.
const MARGIN: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(30)];

/// The driver refreshes utilisation every 200 ms: asking more often tells nothing new.
const BUSY: Duration = Duration::from_millis(200);
/// How often temperature and memory clock are worth reading.
const TEMPERATURE: Duration = Duration::from_millis(500);

/// Samples one GPU.
pub(crate) struct GpuProbe {
    handle: Box<dyn Gpu>,
    position: u16,
    mig: bool,
    agenda: Agenda,
    clock: Clock,
    lookup: ProcessLookup,
    known_pids: HashSet<u32>,
    ring_seen: [Micros; 3],
    lost_since: Option<Micros>,
    next_retry: Micros,
    counters_due: Micros,
    dear_counters_due: Micros,
    /// When the margin was read last, and at which temperature.
    margin_read: Option<(Micros, Option<i64>)>,
    temperature_c: Option<i64>,
    busy_polled: bool,
    busy_percent: Option<i64>,
    /// States, lists of processes and steady readings so far: some parts of them take turns.
    turn: u32,
    lists: u32,
    seconds: u32,
    /// Every how many states utilisation and temperature are read.
    busy_turns: u32,
    temperature_turns: u32,
    /// How busy each process keeps the GPU, where that is known, and when the driver said it.
    process_use: Option<BTreeMap<u32, i64>>,
    process_use_seen: Micros,
    process_use_wanted: bool,
    dear_reasons: i64,
}

impl GpuProbe {
    pub(crate) fn new(
        handle: Box<dyn Gpu>,
        position: u16,
        mig: bool,
        schedule: Schedule,
        clock: Clock,
        lookup: ProcessLookup,
        process_use_wanted: bool,
    ) -> Self {
        let start = clock.now();
        let period = schedule.period(Tier::State).as_millis().max(1);
        let turns = |every: Duration| {
            u32::try_from(every.as_millis() / period).map_or(1, |turns| turns.max(1))
        };
        Self {
            busy_turns: turns(BUSY),
            temperature_turns: turns(TEMPERATURE),
            handle,
            position,
            mig,
            agenda: Agenda::new(schedule, start),
            clock,
            lookup,
            known_pids: HashSet::new(),
            // Rings hold seconds from before the start: those are not part of this run.
            ring_seen: [start; 3],
            lost_since: None,
            next_retry: start,
            counters_due: start,
            dear_counters_due: start,
            margin_read: None,
            temperature_c: None,
            busy_polled: false,
            busy_percent: None,
            process_use: None,
            process_use_seen: start,
            process_use_wanted,
            turn: 0,
            lists: 0,
            seconds: 0,
            dear_reasons: 0,
        }
    }

    /// Takes what is due and returns when to come back.
    pub(crate) fn step(&mut self, say: &mut dyn FnMut(Event)) -> Micros {
        let now = self.clock.now();
        if self.lost_since.is_some() {
            return self.look_for_lost(now, say);
        }
        for tier in Tier::ALL {
            if self.agenda.take(tier, now) && self.read(tier, say) == Err(Refusal::Lost) {
                self.lost_since = Some(now);
                self.next_retry = now.plus(LOST_RETRY);
                self.say_xids(now, say);
                self.say(now, Happening::Presence(Presence::Lost), say);
                return self.next_retry;
            }
        }
        self.agenda.next()
    }

    /// Reads the marks of a measurement now: every counter, and what the rings still hold.
    pub(crate) fn mark(&mut self) {
        let now = self.clock.now();
        for tier in [
            Tier::State,
            Tier::PowerRing,
            Tier::BusyRing,
            Tier::Slow,
            Tier::Energy,
        ] {
            self.agenda.mark(tier, now);
        }
        (self.counters_due, self.dear_counters_due) = (now, now);
    }

    fn look_for_lost(&mut self, now: Micros, say: &mut dyn FnMut(Event)) -> Micros {
        if now >= self.next_retry {
            self.next_retry = now.plus(LOST_RETRY);
            if self.handle.reopen().is_ok() {
                self.lost_since = None;
                self.say(now, Happening::Presence(Presence::Live), say);
                return now;
            }
        }
        self.next_retry
    }

    fn say(&self, at: Micros, what: Happening, say: &mut dyn FnMut(Event)) {
        say(Event {
            at,
            gpu: self.position,
            what,
        });
    }

    fn read(&mut self, tier: Tier, say: &mut dyn FnMut(Event)) -> Reading<()> {
        let at = self.clock.now();
        match tier {
            Tier::State => {
                let (depth, turn) = (self.depth(at), self.turn);
                self.turn = self.turn.wrapping_add(1);
                let busy = turn.is_multiple_of(self.busy_turns);
                let temperature = turn.is_multiple_of(self.temperature_turns);
                let wanted = Wanted {
                    depth,
                    busy,
                    temperature,
                };
                let state = self.handle.state(at, wanted)?;
                self.temperature_c = state.temperature_c;
                self.busy_percent = state.busy_percent;
                self.busy_polled |= state.busy_percent.is_some();
                let reasons = state.event_reasons.unwrap_or(0) & DEAR_REASONS;
                if std::mem::replace(&mut self.dear_reasons, reasons) != reasons {
                    (self.counters_due, self.dear_counters_due) = (at, at);
                }
                self.say(at, Happening::State(state), say);
            }
            Tier::Steady => {
                let margin = self.margin_due(at);
                if margin {
                    self.margin_read = Some((at, self.temperature_c));
                }
                // A rate takes two samples of activity: the second comes soon, the others cost too much.
                let wanted = SteadyWanted {
                    margin,
                    seldom: self.seconds.is_multiple_of(10),
                    activity: self.seconds.is_multiple_of(4) || self.seconds == 2,
                };
                self.seconds = self.seconds.wrapping_add(1);
                let steady = self.handle.steady(at, wanted)?;
                self.say(at, Happening::Steady(steady), say);
                self.say_xids(at, say);
            }
            Tier::Slow => {
                let slow = self.handle.slow()?;
                self.say(at, Happening::Slow(slow), say);
            }
            Tier::Energy => {
                let energy = self.handle.energy()?;
                // The counter takes milliseconds: the reading belongs to the end of the call.
                if energy.energy_mj.is_some() {
                    self.say(self.clock.now(), Happening::Energy(energy), say);
                }
            }
            Tier::PowerRing => {
                let samples = self.ring(Ring::Power)?;
                if !samples.is_empty() {
                    self.say(at, Happening::PowerRing(samples), say);
                }
            }
            Tier::BusyRing => {
                // Nearly three milliseconds of CPU each on an H200. The driver refreshes utilisation
                // five times a second and the polls see every value: the rings are for GPUs whose
                // utilisation cannot be polled.
                if !self.busy_polled {
                    let busy = self.ring(Ring::Busy)?;
                    if !busy.is_empty() {
                        self.say(at, Happening::BusyRing(busy), say);
                    }
                    let memory_busy = self.ring(Ring::MemoryBusy)?;
                    if !memory_busy.is_empty() {
                        self.say(at, Happening::MemoryBusyRing(memory_busy), say);
                    }
                }
            }
            Tier::Processes => {
                // Instances and shares cost more than the list: every other time.
                let thorough = self.lists.is_multiple_of(2);
                self.lists = self.lists.wrapping_add(1);
                if self.mig && thorough {
                    let instances = self.handle.mig_instances();
                    self.say(at, Happening::Mig(instances), say);
                }
                if let Some(mut uses) = self.handle.processes(at)? {
                    if self.process_use_wanted && thorough && !uses.is_empty() {
                        self.read_process_use()?;
                    }
                    if let Some(shares) = &self.process_use {
                        for process in &mut uses {
                            let share = shares.get(&process.pid).copied().unwrap_or(0);
                            process.busy_percent.get_or_insert(share);
                        }
                    }
                    self.introduce(at, &uses, say);
                    self.say(at, Happening::Processes(uses), say);
                }
            }
        }
        Ok(())
    }

    /// Whether the margin is worth its price: it follows the temperature.
    fn margin_due(&self, at: Micros) -> bool {
        let [moving, still] = MARGIN;
        self.margin_read.is_none_or(|(read, temperature_c)| {
            let period = if temperature_c == self.temperature_c {
                still
            } else {
                moving
            };
            at >= read.plus(period)
        })
    }

    fn say_xids(&mut self, at: Micros, say: &mut dyn FnMut(Event)) {
        for code in self.handle.xids() {
            self.say(at, Happening::Xid(Xid { code: Some(code) }), say);
        }
    }

    /// What of the state is due.
    fn depth(&mut self, at: Micros) -> Depth {
        if at < self.counters_due {
            return Depth::Values;
        }
        self.counters_due = at.plus(COUNTERS);
        if at < self.dear_counters_due {
            return Depth::Counters;
        }
        self.dear_counters_due = at.plus(DEAR_COUNTERS);
        Depth::All
    }

    fn ring(&mut self, ring: Ring) -> Reading<Vec<RingSample>> {
        let seen = self.ring_seen[ring as usize];
        let mut samples = self.handle.ring(ring, seen)?;
        samples.sort_by_key(|sample| sample.at);
        samples.dedup_by_key(|sample| sample.at);
        samples.retain(|sample| match ring {
            Ring::Power => sample.value >= 0,
            Ring::Busy | Ring::MemoryBusy => (0..=100).contains(&sample.value),
        });
        if let Some(last) = samples.last() {
            self.ring_seen[ring as usize] = last.at;
        }
        Ok(samples)
    }

    /// Reads how busy each process keeps the GPU: 2.4 ms on an H200, and nothing where the GPU is idle,
    /// since nobody keeps it busy then. Where the driver has nothing new, it is as it was.
    fn read_process_use(&mut self) -> Reading<()> {
        if self.busy_percent == Some(0) {
            self.process_use = Some(BTreeMap::new());
        } else if let Some((shares, seen)) = self.handle.process_use(self.process_use_seen)? {
            self.process_use = Some(shares);
            self.process_use_seen = seen;
        }
        Ok(())
    }

    /// Says who the processes are that were not there before; a pid that went away is forgotten,
    /// since it may come back as somebody else.
    fn introduce(&mut self, at: Micros, uses: &[ProcessUse], say: &mut dyn FnMut(Event)) {
        self.known_pids
            .retain(|pid| uses.iter().any(|process| process.pid == *pid));
        for process in uses {
            if self.known_pids.insert(process.pid) {
                let identity = self.lookup.identify(process.pid);
                for ancestor in self.lookup.ancestors(&identity) {
                    self.say(at, Happening::Process(ancestor), say);
                }
                self.say(at, Happening::Process(identity), say);
            }
        }
    }
}
