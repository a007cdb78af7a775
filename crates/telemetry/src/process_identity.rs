//! Who a process is, from `/proc`: name, owner, container, age. Looked up once per process.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::event::ProcessIdentity;

/// Kernel ticks per second in `/proc/PID/stat`: fixed at 100 in the user-space interface.
pub(crate) const TICKS_PER_SECOND: u64 = 100;

/// Positions behind the name in `/proc/PID/stat`: fields 4 and 22 of `man proc_pid_stat`.
const PARENT: usize = 1;
const START_TICKS: usize = 19;
/// A chain of parents that is longer than this is shown from below.
const MOST_ANCESTORS: usize = 32;

/// Where processes are looked up.
#[derive(Clone, Debug)]
pub(crate) struct ProcessLookup {
    proc_root: PathBuf,
    passwd: PathBuf,
    command_lines: bool,
}

impl ProcessLookup {
    /// Looks under `proc_root`; command lines are read only where they were requested.
    pub(crate) fn new(proc_root: &Path, command_lines: bool) -> Self {
        Self {
            proc_root: proc_root.to_owned(),
            passwd: PathBuf::from("/etc/passwd"),
            command_lines,
        }
    }

    /// What can be learned about `pid`; everything but the pid is absent where it is not visible.
    pub(crate) fn identify(&self, pid: u32) -> ProcessIdentity {
        let folder = self.proc_root.join(pid.to_string());
        let read = |file: &str| fs::read(folder.join(file)).ok();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let cgroup = read("cgroup").map(text);
        let stat = read("stat").map(text);
        let field = |nth: usize| -> Option<u64> {
            fields_after_name(stat.as_deref()?)?.get(nth)?.parse().ok()
        };
        let start_ticks = field(START_TICKS);
        ProcessIdentity {
            pid,
            name: read("comm")
                .map(text)
                .map(|name| name.trim_end().to_owned())
                .filter(|name| !name.is_empty()),
            user: fs::metadata(&folder)
                .ok()
                .map(|folder| self.user(folder.uid())),
            container: cgroup.as_deref().and_then(container),
            pod: cgroup.as_deref().and_then(pod),
            command_line: read("cmdline")
                .filter(|_| self.command_lines)
                .map(|bytes| text(bytes).replace('\0', " ").trim_end().to_owned())
                .filter(|line| !line.is_empty()),
            started_unix: start_ticks.and_then(|ticks| {
                let boot = fs::read_to_string(self.proc_root.join("stat")).ok()?;
                Some(boot_seconds(&boot)? + ticks / TICKS_PER_SECOND)
            }),
            start_ticks,
            parent: field(PARENT).and_then(|parent| u32::try_from(parent).ok()),
        }
    }

    /// The processes above `identity`, the nearest first, without the first of all.
    pub(crate) fn ancestors(&self, identity: &ProcessIdentity) -> Vec<ProcessIdentity> {
        let mut ancestors: Vec<ProcessIdentity> = Vec::new();
        let mut next = identity.parent;
        while let Some(pid) = next.filter(|pid| *pid > 1 && ancestors.len() < MOST_ANCESTORS) {
            let ancestor = self.identify(pid);
            // Not visible, or gone meanwhile.
            if ancestor.start_ticks.is_none() {
                break;
            }
            next = ancestor.parent;
            ancestors.push(ancestor);
        }
        ancestors
    }

    fn user(&self, uid: u32) -> String {
        let passwd = fs::read_to_string(&self.passwd).unwrap_or_default();
        passwd
            .lines()
            .find_map(|line| {
                let mut parts = line.split(':');
                let name = parts.next()?;
                (parts.nth(1)? == uid.to_string()).then(|| name.to_owned())
            })
            .unwrap_or_else(|| uid.to_string())
    }
}

/// The fields of `/proc/PID/stat` behind the name, which is in parentheses and may hold spaces and
/// parentheses itself: they count from the last one.
pub(crate) fn fields_after_name(stat: &str) -> Option<Vec<&str>> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    Some(after_name.split_whitespace().collect())
}

/// Seconds since 1970 when the system started, from `/proc/stat`.
pub(crate) fn boot_seconds(system_stat: &str) -> Option<u64> {
    let mut lines = system_stat.lines();
    let boot = lines.find_map(|line| line.strip_prefix("btime "))?;
    boot.trim().parse().ok()
}

/// When `pid` started, in ticks since the system did; `None` where there is no such process.
pub(crate) fn start_ticks(proc_root: &Path, pid: u32) -> Option<u64> {
    let stat = fs::read(proc_root.join(pid.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    fields_after_name(&stat)?.get(START_TICKS)?.parse().ok()
}

/// The container in a control group listing: the first path part that holds a long hexadecimal
/// id (Docker, containerd, CRI-O, Podman), shortened to the twelve characters that their tools show.
fn container(cgroup: &str) -> Option<String> {
    cgroup.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        path.split(['/', '-', ':', '.'])
            .find(|part| part.len() >= 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .map(|id| id[..12].to_owned())
    })
}

/// The pod's uid in a control group listing: `…-pod8d7a_….slice` as systemd writes it, `/pod8d7a-…/`
/// otherwise. Pods from files of the node have a uid without dashes.
fn pod(cgroup: &str) -> Option<String> {
    let mut parts = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    parts.find_map(|path| {
        path.split('/').find_map(|part| {
            let part = part.strip_suffix(".slice").unwrap_or(part);
            let (before, uid) = part.rsplit_once("pod")?;
            let uid = uid.replace('_', "-");
            let hexadecimal = uid.bytes().filter(u8::is_ascii_hexdigit).count();
            let dashes = uid.bytes().filter(|byte| *byte == b'-').count();
            let is_uid = hexadecimal == 32 && matches!((uid.len(), dashes), (36, 4) | (32, 0));
            (is_uid && (before.is_empty() || before.ends_with('-'))).then_some(uid)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `/proc/PID/cgroup` reads under the engines and drivers of Kubernetes' nodes.
    #[test]
    fn pods_are_found_under_every_driver_of_control_groups() {
        let id = "8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e";
        let uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let under = uid.replace('-', "_");
        for listing in [
            format!(
                "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice/cri-containerd-{id}.scope\n"
            ),
            format!("0::/kubepods.slice/kubepods-pod{under}.slice/crio-{id}.scope\n"),
            format!("12:devices:/kubepods/besteffort/pod{uid}/{id}\n1:name=systemd:/x\n"),
            format!(
                "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{under}.slice/cri-containerd-{id}.scope/app\n"
            ),
        ] {
            assert_eq!(pod(&listing).as_deref(), Some(uid), "{listing}");
            assert_eq!(
                container(&listing).as_deref(),
                Some("8d7ac2a3b1c9"),
                "{listing}"
            );
        }
        let of_a_file = "0::/kubepods/burstable/pod7d1e0a6b2c3f4d5e8f90a1b2c3d4e5f6/x";
        assert_eq!(
            pod(of_a_file).as_deref(),
            Some("7d1e0a6b2c3f4d5e8f90a1b2c3d4e5f6")
        );
        for other in [
            "",
            "0::/",
            "0::/system.slice/podman.service",
            "0::/machine.slice/libpod-8d7a.scope",
            "0::/kubepods/podcast",
        ] {
            assert_eq!(pod(other), None, "{other}");
        }
    }

    #[test]
    fn containers_are_found_in_the_paths_of_the_common_engines() {
        let id = "8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e8d7ac2a3b1c94f0e";
        for path in [
            format!("0::/system.slice/docker-{id}.scope"),
            format!("12:devices:/docker/{id}"),
            format!("0::/kubepods.slice/pod1/cri-containerd-{id}.scope"),
            format!("0::/machine.slice/libpod-{id}.scope/container"),
        ] {
            assert_eq!(container(&path).as_deref(), Some("8d7ac2a3b1c9"), "{path}");
        }
        assert_eq!(
            container("0::/user.slice/user-1000.slice/session-2.scope"),
            None
        );
        assert_eq!(container(""), None);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_start_time() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("7")).unwrap();
        fs::write(root.path().join("stat"), "cpu 1 2\nbtime 1000\n").unwrap();
        let stat = root.path().join("7/stat");
        let lookup = ProcessLookup::new(root.path(), false);
        fs::write(
            &stat,
            "7 (a) (b c)) S 3 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 12300 0 0",
        )
        .unwrap();
        let found = lookup.identify(7);
        assert_eq!(
            (found.started_unix, found.start_ticks, found.parent),
            (Some(1123), Some(12300), Some(3))
        );
        fs::write(&stat, "7 (a").unwrap();
        assert_eq!(lookup.identify(7).started_unix, None);
    }

    #[test]
    fn this_process_is_visible_and_its_command_line_only_on_request() {
        let pid = std::process::id();
        let quiet = ProcessLookup::new(Path::new("/proc"), false).identify(pid);
        assert!(quiet.name.is_some() && quiet.user.is_some() && quiet.started_unix.is_some());
        assert_eq!(quiet.command_line, None);
        let open = ProcessLookup::new(Path::new("/proc"), true).identify(pid);
        assert!(open.command_line.is_some());
        assert_eq!(
            ProcessLookup::new(Path::new("/nonexistent"), true).identify(pid),
            ProcessIdentity {
                pid,
                ..Default::default()
            }
        );
    }
}
