//! Which processes have a card open: found by looking at all of them, the young ones often and the old
//! ones seldom, because a look at everybody's files costs milliseconds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::client::{Client, LIMIT};
use crate::Micros;
use crate::process_identity::fields_after_name;
use crate::pulse;

/// A process is searched for files again after 1, 2, 4, … seconds, and at last after so many.
const FIRST_WAIT: u64 = 1_000_000;
const LONGEST_WAIT: u64 = 64_000_000;
/// A younger look serves the next card too.
const FRESH_MICROS: u64 = 90_000;
/// Most files of one process that are looked at.
const MOST_FILES: usize = 65_536;
/// Field 9 of `/proc/PID/stat`, behind the name, and the bit of it that marks the kernel's own threads.
const FLAGS: usize = 6;
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What one look found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// When.
    pub(crate) at: Micros,
    /// Clients with the process that has them.
    pub(crate) clients: Vec<(u32, Client)>,
    /// Processes that this user may not look at.
    pub(crate) hidden: u32,
}

/// A process as it was looked at.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Files of graphics drivers.
    files: Vec<u32>,
    hidden: bool,
    /// When it is searched for files again, and how long after the last time.
    due: Micros,
    wait: u64,
}

/// The clients of all cards; whoever asks first looks, the others take what was found.
pub(crate) struct Clients {
    proc_root: PathBuf,
    searching: Mutex<BTreeMap<u32, Seen>>,
    found: Mutex<Arc<Look>>,
}

impl Clients {
    pub(crate) fn new(proc_root: &Path) -> Self {
        Self {
            proc_root: proc_root.to_owned(),
            searching: Mutex::default(),
            found: Mutex::default(),
        }
    }

    /// What is known at `now`. Where another thread is looking, or hangs in a look, this is what was found
    /// before.
    pub(crate) fn look(&self, now: Micros) -> Arc<Look> {
        let found = Arc::clone(&self.found.lock().unwrap_or_else(PoisonError::into_inner));
        if found.at != Micros(0) && now.0.abs_diff(found.at.0) < FRESH_MICROS {
            return found;
        }
        let Ok(mut seen) = self.searching.try_lock() else {
            return found;
        };
        let look = pulse::inside("fdinfo", || self.search(&mut seen, now));
        let look = Arc::new(look);
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&look);
        look
    }

    fn search(&self, seen: &mut BTreeMap<u32, Seen>, now: Micros) -> Look {
        let mut look = Look {
            at: now,
            ..Look::default()
        };
        let pids: Vec<u32> = fs::read_dir(&self.proc_root)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        // A number that went away may come back as somebody else.
        let mut before = std::mem::take(seen);
        for pid in pids {
            let mut process = before.remove(&pid).unwrap_or_default();
            // Most processes are neither searched now nor on a card.
            let folder = || self.proc_root.join(pid.to_string());
            if process.due <= now {
                process.wait = (process.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
                search_files(&folder(), &mut process);
                process.due = Micros(now.0.saturating_add(process.wait));
            }
            look.hidden += u32::from(process.hidden);
            let files = std::mem::take(&mut process.files);
            for file in files {
                if let Some(client) = client(&folder(), file) {
                    process.files.push(file);
                    let known = look.clients.iter().any(|(owner, known)| {
                        *owner == pid && known.id == client.id && known.device == client.device
                    });
                    if !known {
                        look.clients.push((pid, client));
                    }
                }
            }
            seen.insert(pid, process);
        }
        look
    }
}

/// Finds the files of graphics drivers that a process has open.
fn search_files(folder: &Path, process: &mut Seen) {
    process.files.clear();
    process.hidden = false;
    let links = folder.join("fd");
    match fs::read_dir(&links) {
        Ok(entries) => {
            for entry in entries.flatten().take(MOST_FILES) {
                let number = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok());
                let (Some(number), Ok(target)) = (number, fs::read_link(entry.path())) else {
                    continue;
                };
                if target.starts_with("/dev/dri") {
                    process.files.push(number);
                }
            }
        }
        // Threads of the kernel's have no files to hide.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            process.hidden = !is_kernel_thread(folder);
            // They do not become visible.
            process.wait = LONGEST_WAIT;
        }
        Err(_) => {}
    }
}

fn is_kernel_thread(folder: &Path) -> bool {
    let stat = fs::read(folder.join("stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let flags = fields_after_name(&stat).and_then(|fields| fields.get(FLAGS)?.parse().ok());
    flags.is_some_and(|flags: u64| flags & KERNEL_THREAD != 0)
}

fn client(folder: &Path, file: u32) -> Option<Client> {
    let file = fs::File::open(folder.join("fdinfo").join(file.to_string())).ok()?;
    let mut buffer = vec![0; LIMIT];
    let mut length = 0;
    // The kernel writes such a file in pieces.
    while length < LIMIT {
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => break,
            more => length += more,
        }
    }
    Client::of_text(&String::from_utf8_lossy(&buffer[..length]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn open_card(root: &Path, pid: u32, file: u32, client: u64) {
        let folder = root.join(pid.to_string());
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::create_dir_all(folder.join("fdinfo")).unwrap();
        symlink(
            "/dev/dri/renderD128",
            folder.join("fd").join(file.to_string()),
        )
        .unwrap();
        let text = format!("drm-driver: amdgpu\ndrm-pdev: 0000:03:00.0\ndrm-client-id: {client}\n");
        fs::write(folder.join("fdinfo").join(file.to_string()), text).unwrap();
    }

    fn seconds(seconds: u64) -> Micros {
        Micros(1_000_000_000_000 + seconds * 1_000_000)
    }

    #[test]
    fn files_that_were_passed_on_are_one_client_of_each_process() {
        let root = tempfile::tempdir().unwrap();
        open_card(root.path(), 100, 4, 1);
        open_card(root.path(), 100, 5, 1);
        open_card(root.path(), 101, 9, 1);
        fs::create_dir_all(root.path().join("self")).unwrap();
        let look = Clients::new(root.path()).look(seconds(0));
        let mut who: Vec<(u32, u64)> = look.clients.iter().map(|(p, c)| (*p, c.id)).collect();
        who.sort_unstable();
        assert_eq!(who, [(100, 1), (101, 1)]);
        assert_eq!(look.hidden, 0);
    }

    #[test]
    fn a_card_that_is_opened_later_is_found_and_one_that_is_closed_is_left() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("100/fd")).unwrap();
        let clients = Clients::new(root.path());
        assert!(clients.look(seconds(0)).clients.is_empty());
        open_card(root.path(), 100, 4, 1);
        assert_eq!(clients.look(seconds(2)).clients.len(), 1, "a young process");
        fs::remove_file(root.path().join("100/fdinfo/4")).unwrap();
        assert!(clients.look(seconds(4)).clients.is_empty());
        // An old one is searched seldom, yet it is.
        for second in 0..50 {
            clients.look(seconds(6 + 2 * second));
        }
        fs::remove_file(root.path().join("100/fd/4")).unwrap();
        open_card(root.path(), 100, 7, 2);
        let found = (0..64).any(|nth| !clients.look(seconds(200 + 2 * nth)).clients.is_empty());
        assert!(found);
    }

    #[test]
    fn a_young_look_serves_the_next_card_too() {
        let root = tempfile::tempdir().unwrap();
        let clients = Clients::new(root.path());
        clients.look(seconds(10));
        open_card(root.path(), 100, 4, 1);
        assert!(
            clients
                .look(Micros(seconds(10).0 + 1000))
                .clients
                .is_empty()
        );
        assert_eq!(clients.look(seconds(11)).clients.len(), 1);
    }
    #[test]
    fn frequent_looks_search_old_processes_no_more_often() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("100/fd")).unwrap();
        let clients = Clients::new(root.path());
        for second in 0..=128 {
            clients.look(seconds(second));
        }
        // Searched after 1, 3, 7, … 127 seconds, and 64 seconds after that.
        open_card(root.path(), 100, 4, 1);
        let found = (129..=191).find(|nth| !clients.look(seconds(*nth)).clients.is_empty());
        assert_eq!(found, Some(191));
    }
}
