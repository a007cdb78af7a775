//! The fake library as tests use it: a copy of their own, on a clock of their own.

#![allow(dead_code)] // Each test program uses its part.

pub(crate) mod answer;
pub(crate) mod terminal;
pub(crate) mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use libloading::Library;
use tempfile::TempDir;
use warpsmith_telemetry::{
    Clock, Event, Inventory, LiveBoard, Machine, Micros, OpenError, Settings, SteppedSampler,
};

/// Any moment would do; a round one reads well in failures.
const START: u64 = 1_700_000_000_000_000;

/// Where the build left the fake library: beside this test program.
pub(crate) fn built_library() -> PathBuf {
    let program = std::env::current_exe().expect("a test program has a path");
    let folder = program.parent().expect("a program is in a folder");
    folder.join("libwarpsmith_fake_nvml.so")
}

/// A fake library with a scenario. Each is a copy of the file, because the loader gives the same
/// library to everyone who asks for the same file, and a scenario is the library's global state.
pub(crate) struct Fake {
    folder: TempDir,
    library: Library,
}

impl Fake {
    /// Loads a copy with the scenario; its clock stands at [`START`].
    pub(crate) fn new(scenario: &str) -> Self {
        Self::starting_at(scenario, START)
    }

    /// Loads a copy with the scenario, which begins now, on the system's clock.
    pub(crate) fn in_real_time(scenario: &str) -> Self {
        Self::starting_at(scenario, 0)
    }

    fn starting_at(scenario: &str, clock: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("libnvidia-ml.so.1");
        std::fs::copy(built_library(), &path).expect("the fake library is built");
        // SAFETY: the library's initialisers are Rust's own and do nothing.
        let library = unsafe { Library::new(&path) }.expect("the fake library loads");
        let fake = Self { folder, library };
        fake.set_clock(clock);
        // SAFETY: the signature is the one that the fake library exports under this name.
        let load = unsafe {
            fake.library
                .get::<unsafe extern "C" fn(*const u8, usize) -> u32>(b"fake_nvml_load")
        }
        .expect("the fake library has its entry");
        // SAFETY: the text is alive during the call and its length is its own.
        let code = unsafe { load(scenario.as_ptr(), scenario.len()) };
        assert_eq!(code, 0, "the scenario is refused: {scenario}");
        fake
    }

    /// Leaves the library loaded, because its threads never come back, and its file on no disk.
    pub(crate) fn abandon(self) {
        // What cannot be removed is the temporary folder's.
        let _ = self.folder.close();
        std::mem::forget(self.library);
    }

    /// The library's file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }

    /// Turns the library's clock; 0 gives it back to the system.
    pub(crate) fn set_clock(&self, micros: u64) {
        // SAFETY: the signature is the one that the fake library exports under this name.
        let set = unsafe {
            self.library
                .get::<extern "C" fn(u64)>(b"fake_nvml_set_clock")
        };
        set.expect("the fake library has its clock")(micros);
    }

    /// How often the function of this name was called.
    pub(crate) fn calls(&self, name: &str) -> u64 {
        // SAFETY: the signature is the one that the fake library exports under this name.
        let count = unsafe {
            self.library
                .get::<unsafe extern "C" fn(*const u8, usize) -> u64>(b"fake_nvml_calls")
        }
        .expect("the fake library counts");
        // SAFETY: the text is alive during the call and its length is its own.
        unsafe { count(name.as_ptr(), name.len()) }
    }

    /// The names of the functions that were called so far.
    pub(crate) fn called(&self) -> Vec<String> {
        // SAFETY: the signature is the one that the fake library exports under this name.
        let called = unsafe {
            self.library
                .get::<unsafe extern "C" fn(*mut u8, usize) -> usize>(b"fake_nvml_called")
        }
        .expect("the fake library keeps a list");
        let mut text = vec![0; 1 << 16];
        // SAFETY: the buffer is alive during the call and its length is its own.
        let length = unsafe { called(text.as_mut_ptr(), text.len()) };
        text.truncate(length);
        let text = String::from_utf8(text).expect("names are text");
        text.lines().map(str::to_owned).collect()
    }

    /// Settings that load this library and see the given processes and host.
    pub(crate) fn settings(&self, proc_root: &Path) -> Settings {
        // Cards of the machine that runs the test are none of its business.
        seeing(self.path(), Path::new("/nonexistent"), proc_root)
    }

    /// Samples for `span` of virtual time through the loaded library.
    pub(crate) fn sample(
        &self,
        settings: &Settings,
        span: Duration,
    ) -> Result<(Inventory, Vec<Event>), OpenError> {
        self.set_clock(START);
        stepped(settings, span, |now| self.set_clock(now.0))
    }

    /// A board of what [`Fake::sample`] gives, with every event moved to the present, and a sender for more.
    pub(crate) fn sample_now(
        &self,
        settings: &Settings,
        span: Duration,
    ) -> (Arc<LiveBoard>, Sender<Event>) {
        let (inventory, events) = self.sample(settings, span).expect("it opens");
        let (sender, receiver) = channel();
        for mut event in events {
            event.at = Clock::System.now();
            sender.send(event).expect("the receiver lives");
        }
        (Arc::new(LiveBoard::new(inventory, receiver)), sender)
    }
}

/// Settings that see this library, these cards and these processes.
fn seeing(library: PathBuf, sys_root: &Path, proc_root: &Path) -> Settings {
    Settings {
        library: Some(library),
        sys_root: sys_root.to_owned(),
        proc_root: proc_root.to_owned(),
        process_use: true,
        ..Settings::default()
    }
}

/// Samples for `span` of virtual time, which begins at [`START`]; `turn` is told the time before each step, and at
/// the end.
fn stepped(
    settings: &Settings,
    span: Duration,
    mut turn: impl FnMut(Micros),
) -> Result<(Inventory, Vec<Event>), OpenError> {
    let hands = Arc::new(AtomicU64::new(START));
    let machine = Machine::open(settings)?;
    let inventory = machine.inventory().clone();
    let mut sampler = SteppedSampler::new(machine, settings, Clock::Virtual(Arc::clone(&hands)));
    let end = Micros(START).plus(span);
    let mut events = Vec::new();
    let mut say = |event| events.push(event);
    let mut now = Micros(START);
    turn(now);
    while now < end {
        let next = sampler.step(&mut say);
        now = next.max(Micros(now.0 + 1)).min(end);
        hands.store(now.0, Ordering::SeqCst);
        turn(now);
    }
    sampler.finish(&mut say);
    Ok((inventory, events))
}

/// What a fake library with a scenario, one program on it, shows in so many seconds.
pub(crate) fn sampled(scenario: &str, seconds: u64) -> (Inventory, Vec<Event>) {
    let fake = Fake::new(scenario);
    let proc_root = proc_folder(&[(4711, "train.py")]);
    let settings = fake.settings(proc_root.path());
    fake.sample(&settings, Duration::from_secs(seconds))
        .expect("the machine opens")
}

/// A `/proc` with a quiet host and the processes `(pid, name)`.
pub(crate) fn proc_folder(processes: &[(u32, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    let write = |file: PathBuf, text: &str| std::fs::write(file, text).expect("a small file");
    write(
        root.join("stat"),
        "cpu  1000 0 500 98000 100 0 0 0\nbtime 1699990000\n",
    );
    write(root.join("loadavg"), "0.10 0.10 0.10 1/100 1\n");
    write(
        root.join("meminfo"),
        "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    );
    write(root.join("cpuinfo"), "model name\t: Test CPU\n");
    std::fs::create_dir(root.join("self")).expect("a folder");
    std::fs::create_dir(root.join("2")).expect("a folder");
    write(root.join("2/comm"), "kthreadd\n");
    for (pid, name) in processes {
        let home = root.join(pid.to_string());
        std::fs::create_dir(&home).expect("a folder");
        write(home.join("comm"), &format!("{name}\n"));
        write(home.join("cmdline"), &format!("{name}\0--secret=1\0"));
        write(
            home.join("cgroup"),
            "0::/system.slice/docker-8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e.scope\n",
        );
        write(
            home.join("stat"),
            &format!("{pid} ({name}) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 360000 0 0"),
        );
    }
    folder
}
