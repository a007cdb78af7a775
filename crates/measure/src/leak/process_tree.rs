//! The memory of a process and everything that it started, read from outside while it runs.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::resident::page_bytes;

/// Process `root` and its descendants that live now; empty where it is gone.
pub fn tree(root: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut alive = false;
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Some(parent) = parent_of_living(pid) else {
            continue;
        };
        alive |= pid == root;
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut open = if alive { vec![root] } else { Vec::new() };
    while let Some(pid) = open.pop() {
        found.push(pid);
        open.extend(children.remove(&pid).unwrap_or_default());
    }
    found
}

/// The parent of a process; `None` for one that is gone, or has ended and was not waited for.
fn parent_of_living(pid: u32) -> Option<u32> {
    let place = Place::of(pid)?;
    place.lives.then_some(place.parent)
}

/// Where a process stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// It has not ended.
    pub(crate) lives: bool,
}

impl Place {
    /// Of a process that is not gone.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may hold anything, so that fields count from the last bracket.
        let (_, after) = text.rsplit_once(')')?;
        let mut fields = after.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self {
            parent,
            session,
            lives: !matches!(state, "Z" | "X"),
        })
    }
}

/// Resident bytes of the tree: pages that its processes share count once for each.
pub fn resident(pids: &[u32]) -> Option<u64> {
    let of = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * page_bytes())
    };
    let read: Vec<u64> = pids.iter().filter_map(of).collect();
    (!read.is_empty()).then(|| read.iter().sum())
}

/// Proportional bytes of the tree: shared pages count once in all. Reading takes the kernel a
/// millisecond for a large process.
pub fn proportional(pids: &[u32]) -> Option<u64> {
    let of = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(1024 * kibibytes)
    };
    let read: Vec<u64> = pids.iter().filter_map(of).collect();
    (!read.is_empty()).then(|| read.iter().sum())
}

/// A command that is watched; it ends with this value, and everything in its group with it.
pub struct WatchedCommand {
    child: Child,
}

impl WatchedCommand {
    /// Starts it; its output is piped where its lines are steps, else discarded.
    pub fn start(words: &[String], piped: bool) -> io::Result<(Self, Option<ChildStdout>)> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(if piped { Stdio::piped() } else { Stdio::null() })
            .process_group(0)
            .spawn()?;
        let output = child.stdout.take();
        Ok((Self { child }, output))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended by itself; `None` while it runs.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }
}

impl Drop for WatchedCommand {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: the group was made for this child; its id stays taken while a member lives,
            // and a signal to an empty group does nothing.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

/// What counts as a step.
pub enum Steps<'a> {
    /// This much time.
    Time(Duration),
    /// A line of this output.
    Lines(Box<dyn Read + Send>),
    /// Whenever the number in this file has changed, looked at this often.
    Counter(&'a std::path::Path, Duration),
}

/// Memory after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// How many steps had ended: a fast command goes on while its memory is read, so that steps
    /// are left out.
    pub step: u64,
    /// What was in use.
    pub bytes: f64,
}

/// Memory by steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// Resident bytes.
    pub resident: Vec<Reading>,
    /// Proportional bytes; empty where the system does not let us read them.
    pub proportional: Vec<Reading>,
    /// Bytes on GPUs; empty where nobody reads them.
    pub device: Vec<Reading>,
}

/// Readings at even distances, and how many steps lie between two of them: each place has the last
/// reading up to it.
pub fn evenly(readings: &[Reading]) -> (usize, Vec<f64>) {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return (1, Vec::new());
    };
    let gaps = (readings.len() as u64 - 1).max(1);
    let every = (last.step - first.step).div_ceil(gaps).max(1);
    let places = (last.step - first.step) / every + 1;
    let bytes = (0..places)
        .map(|place| first.step + place * every)
        .map(|step| readings[readings.partition_point(|one| one.step <= step) - 1].bytes)
        .collect();
    (every as usize, bytes)
}

/// Reads what processes hold on GPUs, in bytes.
pub type DeviceReader<'a> = &'a mut dyn FnMut(&[u32]) -> Option<u64>;

/// How long an end may go unseen while nothing happens.
const GLANCE: Duration = Duration::from_millis(50);
/// Readings that are kept at most; a run with more steps ends here.
const MOST: usize = 1_000_000;

/// Reads the tree of `root` after its steps until it ends, `most` readings were taken, `limit` is
/// over or `stop` says so.
pub fn watch(
    root: u32,
    steps: Steps<'_>,
    most: usize,
    limit: Duration,
    stop: &dyn Fn() -> bool,
    mut device: Option<DeviceReader<'_>>,
) -> Readings {
    let begun = Instant::now();
    let most = most.min(MOST);
    let mut readings = Readings::default();
    let over = || begun.elapsed() >= limit || stop();
    let mut read = |step: u64| -> bool {
        let pids = tree(root);
        let Some(bytes) = resident(&pids) else {
            return false;
        };
        let reading = |bytes: u64| Reading {
            step,
            bytes: bytes as f64,
        };
        readings.resident.push(reading(bytes));
        let proportional = proportional(&pids).map(reading);
        readings.proportional.extend(proportional);
        let held = device.as_mut().and_then(|read| read(&pids)).map(reading);
        readings.device.extend(held);
        readings.resident.len() < most && !over()
    };
    match steps {
        Steps::Time(every) => {
            let mut next = begun;
            let mut step = 1;
            while read(step) {
                step += 1;
                next += every;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
        Steps::Lines(output) => {
            // A thread of its own, because a command may print nothing for ever, and because the
            // pipe must be empty: what waits in it would be taken for steps to come. It ends when
            // the pipe is closed, at the latest with the command.
            let lines = Arc::new(AtomicU64::new(0));
            let (tell, told) = mpsc::sync_channel(1);
            let counted = Arc::clone(&lines);
            std::thread::spawn(move || count_lines(output, &counted, &tell));
            let mut seen = 0;
            loop {
                let word = told.recv_timeout(GLANCE);
                let now = lines.load(Ordering::Acquire);
                if now > seen && !read(now) {
                    break;
                }
                let closed = word == Err(mpsc::RecvTimeoutError::Disconnected);
                if over() || (closed && now == seen) {
                    break;
                }
                seen = now;
            }
        }
        Steps::Counter(path, glance) => {
            let mut last = None;
            let mut step = 0;
            loop {
                let now = fs::read_to_string(path).ok();
                if now.is_some() && now != last {
                    step += steps_between(last.as_deref(), now.as_deref());
                    if !read(step) {
                        break;
                    }
                }
                if tree(root).is_empty() || over() {
                    break;
                }
                last = now.or(last);
                std::thread::sleep(glance);
            }
        }
    }
    readings
}

/// How far a counter went; one where it is no number that grows.
fn steps_between(last: Option<&str>, now: Option<&str>) -> u64 {
    let number = |text: Option<&str>| text?.trim().parse::<u64>().ok();
    match (number(last), number(now)) {
        (Some(last), Some(now)) if now > last => now - last,
        _ => 1,
    }
}

/// Counts lines as they end, and tells of new ones where somebody waits for them. A line may be
/// without end: nothing of it is kept.
fn count_lines(mut output: impl Read, lines: &AtomicU64, tell: &mpsc::SyncSender<()>) {
    let mut chunk = [0; 16 * 1024];
    loop {
        match output.read(&mut chunk) {
            Ok(count @ 1..) => {
                let ends = chunk[..count].iter().filter(|byte| **byte == b'\n');
                lines.fetch_add(ends.count() as u64, Ordering::Release);
                if let Err(mpsc::TrySendError::Disconnected(())) = tell.try_send(()) {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_children_and_ends_with_them() {
        let words = ["sh", "-c", "sleep 1000 & echo; wait"].map(str::to_owned);
        let (command, output) = WatchedCommand::start(&words, true).unwrap();
        output.unwrap().read_exact(&mut [0]).unwrap();
        let pids = tree(command.id());
        assert_eq!(pids.len(), 2, "{pids:?}");
        assert!(resident(&pids).unwrap() > 0);
        let root = command.id();
        drop(command);
        assert!(tree(root).is_empty());
    }

    #[test]
    fn a_command_that_says_nothing_is_given_up() {
        let words = ["sleep", "1000"].map(str::to_owned);
        let (command, output) = WatchedCommand::start(&words, true).unwrap();
        let lines = Steps::Lines(Box::new(output.unwrap()));
        let limit = Duration::from_millis(100);
        assert_eq!(
            watch(command.id(), lines, 5, limit, &|| false, None),
            Readings::default()
        );
    }

    #[test]
    fn a_line_without_end_is_no_step_and_takes_no_memory() {
        let (lines, (tell, _told)) = (AtomicU64::new(0), mpsc::sync_channel(1));
        let endless = std::io::repeat(b'x').take(64 << 20);
        count_lines(endless.chain(&b"\nlast\n"[..]), &lines, &tell);
        assert_eq!(lines.into_inner(), 2);
    }

    #[test]
    fn a_reader_of_devices_is_asked_about_the_tree() {
        let words = ["sh", "-c", "echo; sleep 2; echo; sleep 1000"].map(str::to_owned);
        let (command, output) = WatchedCommand::start(&words, true).unwrap();
        let lines = Steps::Lines(Box::new(output.unwrap()));
        let root = command.id();
        let mut reader = |pids: &[u32]| pids.contains(&root).then_some(5 << 20);
        let limit = Duration::from_secs(60);
        let readings = watch(root, lines, 2, limit, &|| false, Some(&mut reader));
        assert_eq!(evenly(&readings.device), (1, vec![f64::from(5 << 20); 2]));
    }

    #[test]
    fn every_line_of_output_is_a_step_however_fast_they_come() {
        // A line is a page that stays: far more of them than can be read one by one. It lives on for
        // a while, so that the last reading is not of a process that ends.
        let script = "import time\nkept = []\nfor i in range(20000):\n    kept.append(bytearray(b'x') * 4096)\n    print(flush=True)\ntime.sleep(3)";
        let words = ["python3", "-c", script].map(str::to_owned);
        let (command, output) = WatchedCommand::start(&words, true).unwrap();
        let lines = Steps::Lines(Box::new(output.unwrap()));
        let limit = Duration::from_secs(60);
        let read = watch(command.id(), lines, usize::MAX, limit, &|| false, None).resident;
        let (first, last) = (read[0], read[read.len() - 1]);
        assert!((read.len() as u64) < last.step, "{last:?}");
        let per_step = (last.bytes - first.bytes) / (last.step - first.step) as f64;
        assert!((3500.0..5500.0).contains(&per_step), "{per_step}");
    }

    #[test]
    fn a_counter_that_jumps_counts_every_step() {
        assert_eq!(steps_between(None, Some("7")), 1);
        assert_eq!(steps_between(Some("7\n"), Some("19\n")), 12);
        assert_eq!(steps_between(Some("7"), Some("epoch 8")), 1);
        assert_eq!(steps_between(Some("7"), Some("0")), 1);
    }

    #[test]
    fn readings_at_uneven_steps_are_brought_to_even_ones() {
        let reading = |step, bytes| Reading { step, bytes };
        assert_eq!(evenly(&[]), (1, Vec::new()));
        assert_eq!(evenly(&[reading(9, 3.0)]), (1, vec![3.0]));
        let uneven =
            [(1, 10.0), (3, 30.0), (4, 40.0), (9, 90.0)].map(|(step, bytes)| reading(step, bytes));
        assert_eq!(evenly(&uneven), (3, vec![10.0, 40.0, 40.0]));
    }
}
