//! The one machine of this library: its devices, its clock, and the faults that are due.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::device::Device;
use crate::scenario::{Fault, Scenario};

/// NVML's return values that are used here.
pub(crate) mod code {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const INVALID_ARGUMENT: u32 = 2;
    pub(crate) const NOT_SUPPORTED: u32 = 3;
    pub(crate) const NOT_FOUND: u32 = 6;
    pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
    pub(crate) const TIMEOUT: u32 = 10;
    pub(crate) const UNKNOWN: u32 = 999;
}

/// Zero is the system's clock.
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// Calls so far, by name.
static CALLS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
static MACHINE: OnceLock<RwLock<Option<Arc<Machine>>>> = OnceLock::new();

pub(crate) struct Machine {
    pub(crate) devices: Vec<Device>,
    pub(crate) driver: String,
    pub(crate) init_code: u32,
    faults: Vec<Fault>,
    busy: Duration,
    start_us: u64,
}

/// The time in microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    match CLOCK.load(Ordering::SeqCst) {
        0 => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |span| span.as_micros() as u64),
        set => set,
    }
}

/// Replaces the clock; 0 gives it back to the system.
pub(crate) fn set_clock(micros: u64) {
    CLOCK.store(micros, Ordering::SeqCst);
}

/// The calls that were made so far, a line each.
pub(crate) fn called() -> String {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.keys().map(|name| format!("{name}\n")).collect()
}

/// How often `call` was made.
pub(crate) fn calls(call: &str) -> u64 {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.get(call).copied().unwrap_or(0)
}

fn slot() -> &'static RwLock<Option<Arc<Machine>>> {
    MACHINE.get_or_init(|| RwLock::new(None))
}

/// Makes the machine of a scenario; the clock of the scenario starts now.
pub(crate) fn load(text: &str) -> Result<(), String> {
    let scenario: Scenario = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut devices = Vec::new();
    for gpu in &scenario.gpus {
        for _ in 0..gpu.count {
            devices.push(Device::new(gpu.clone())?);
        }
    }
    let machine = Machine {
        devices,
        driver: scenario.driver,
        init_code: scenario.init_code,
        faults: scenario.faults,
        busy: Duration::from_micros(scenario.busy_us),
        start_us: now_us(),
    };
    *slot().write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(machine));
    Ok(())
}

/// The machine; the first use loads the scenario that the environment names.
pub(crate) fn machine() -> Option<Arc<Machine>> {
    if let Some(machine) = &*slot().read().unwrap_or_else(PoisonError::into_inner) {
        return Some(Arc::clone(machine));
    }
    let text = match std::env::var_os("FAKE_NVML_SCENARIO") {
        Some(path) => std::fs::read_to_string(path).ok()?,
        None => "{}".to_owned(),
    };
    load(&text).ok()?;
    slot()
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

impl Machine {
    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        now_us().saturating_sub(self.start_us) as f64 / 1e6
    }

    /// Seconds since the start as microseconds since 1970.
    pub(crate) fn stamp(&self, seconds: f64) -> u64 {
        self.start_us + (seconds * 1e6).round() as u64
    }

    /// Microseconds since 1970 as seconds since the start; before it, just before zero.
    pub(crate) fn unstamp(&self, micros: u64) -> f64 {
        if micros < self.start_us {
            -1e-3
        } else {
            (micros - self.start_us) as f64 / 1e6
        }
    }

    /// Counts and lives through what is due to go wrong in `call`, which is about no GPU. A fault of
    /// every call (`*`) is about a GPU's.
    pub(crate) fn suffer_alone(&self, call: &str) -> Result<(), u32> {
        count(call);
        let t = self.seconds();
        let due = |fault: &&Fault| fault.call == call && fault.is_due(t);
        self.faults.iter().filter(due).try_for_each(live_through)
    }

    /// Counts and lives through what is due to go wrong in `call` on `gpu`.
    pub(crate) fn suffer(&self, gpu: usize, call: &str) -> Result<(), u32> {
        count(call);
        if !self.busy.is_zero() {
            let start = Instant::now();
            while start.elapsed() < self.busy {
                std::hint::spin_loop();
            }
        }
        let t = self.seconds();
        let due = |fault: &&Fault| {
            let called = fault.call == "*" || fault.call == call;
            called && fault.gpu as usize == gpu && fault.is_due(t)
        };
        self.faults.iter().filter(due).try_for_each(live_through)?;
        let refused = &self.devices[gpu].gpu().not_supported;
        if refused.iter().any(|name| name == call) {
            return Err(code::NOT_SUPPORTED);
        }
        Ok(())
    }
}

fn count(call: &str) {
    *CALLS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(call.to_owned())
        .or_default() += 1;
}

/// Hangs, then answers, as the fault says.
fn live_through(fault: &Fault) -> Result<(), u32> {
    // On a clock that the test turns, sleeping would stop the clock too.
    if fault.hang_s > 0.0 && CLOCK.load(Ordering::SeqCst) == 0 {
        std::thread::sleep(Duration::from_secs_f64(fault.hang_s));
    }
    match fault.code {
        code::SUCCESS => Ok(()),
        refusal => Err(refusal),
    }
}
