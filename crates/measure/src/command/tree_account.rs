//! The CPU time of everything that a command started, daemons included, from a control group
//! (version 2) of its own.
//!
//! A process is born in the group of its parent: we enter a new group, start the command, and go
//! home when it has ended. What we used ourselves meanwhile is taken off. Where no group can be made
//! (only version 1, no rights, a read-only mount) there is no account.
//!
//! Invariants: the group is gone after the run, and whatever still runs in it was moved to our own;
//! an account during which another command of this process ran says nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::scheduling::own_cpu;

/// Commands that were started, and that have ended.
static STARTED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// Once refused, nothing is tried again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Notes that a command runs while this lives.
pub(super) struct Running {
    started: u64,
    alone: bool,
}

impl Running {
    pub(super) fn begin() -> Self {
        let started = STARTED.fetch_add(1, Ordering::SeqCst) + 1;
        Self {
            started,
            alone: ENDED.load(Ordering::SeqCst) + 1 == started,
        }
    }

    /// Whether no other command ran at any time since this began.
    pub(super) fn was_alone(&self) -> bool {
        self.alone && STARTED.load(Ordering::SeqCst) == self.started
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

/// A group that we are in, with what we had used when we entered it.
pub(super) struct TreeAccount {
    home: &'static Path,
    group: PathBuf,
    ours: Duration,
}

impl TreeAccount {
    /// Enters a new group below our own; `None` where that cannot be done.
    pub(super) fn open(running: &Running) -> Option<Self> {
        static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
        if !running.alone || REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        let home = HOME.get_or_init(home).as_deref()?;
        let name = format!("warpsmith-{}-{}", std::process::id(), running.started);
        let group = home.join(name);
        if fs::create_dir(&group).is_err() {
            REFUSED.store(true, Ordering::Relaxed);
            return None;
        }
        if move_to(&group, "0").is_err() {
            REFUSED.store(true, Ordering::Relaxed);
            let _ = fs::remove_dir(&group);
            return None;
        }
        Some(Self {
            home,
            group,
            ours: own_cpu(),
        })
    }

    /// What the tree has used so far; `None` where something else was in the group.
    pub(super) fn used(&self, running: &Running) -> Option<Duration> {
        // In this order: reading our own time brings the accounts of this thread up to date.
        let ours = own_cpu().saturating_sub(self.ours);
        let text = fs::read_to_string(self.group.join("cpu.stat")).ok()?;
        let used = usage(&text)?.saturating_sub(ours);
        running.was_alone().then_some(used)
    }
}

impl Drop for TreeAccount {
    fn drop(&mut self) {
        // What refuses to move (it is ending) leaves the group by itself; where we cannot go home we
        // stay, which changes nothing but the name.
        let _ = move_to(self.home, "0");
        let left = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for pid in left.lines() {
            let _ = move_to(self.home, pid);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

fn move_to(group: &Path, pid: &str) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid)
}

/// The folder of our own group.
fn home() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let home = home_of(&mounts, &groups)?;
    clear_up(&home);
    Some(home)
}

/// Removes the groups of programs that were killed.
fn clear_up(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let own = name
            .to_str()
            .and_then(|name| name.strip_prefix("warpsmith-"));
        let pid = own.and_then(|own| own.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // One that still holds a process cannot be removed, and must not be.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn home_of(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find(|line| {
        let kind = line.split_once(" - ").map(|(_, after)| after);
        kind.is_some_and(|kind| kind.starts_with("cgroup2 "))
    })?;
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    // In a container the mount may show a part of the tree only.
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

fn usage(text: &str) -> Option<Duration> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(Duration::from_micros(line.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_group_is_found_below_its_mount() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      42 30 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let home = home_of(mounts, "1:cpu:/x\n0::/user.slice/a b\n");
        let expected = PathBuf::from("/sys/fs/cgroup/unified/user.slice/a b");
        assert_eq!(home, Some(expected));
        let part = "42 30 0:39 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let home = home_of(part, "0::/user.slice/run\n");
        assert_eq!(home, Some(PathBuf::from("/sys/fs/cgroup/run")));
        assert_eq!(home_of(part, "0::/other\n"), None);
        assert_eq!(home_of(mounts, "1:cpu:/x\n"), None);
        assert_eq!(home_of("", "0::/\n"), None);
    }

    #[test]
    fn the_time_is_in_microseconds() {
        let text = "usage_usec 1500\nuser_usec 1000\n";
        assert_eq!(usage(text), Some(Duration::from_micros(1500)));
        assert_eq!(usage("user_usec 1000\n"), None);
    }
}
