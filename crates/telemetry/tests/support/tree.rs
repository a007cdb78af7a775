//! A machine as the kernel shows it, from a text file (`tests/sysfs/README.md` says how they read).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use warpsmith_telemetry::{Event, Inventory, Micros, Settings};

use super::{START, seeing, stepped};

/// A tree on a disk.
pub(crate) struct Tree {
    folder: TempDir,
}

/// Writes a file below folders that may not be there yet.
pub(crate) fn put(path: &Path, contents: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders");
    fs::write(path, contents).expect("a small file");
}

impl Tree {
    /// The tree of this name.
    pub(crate) fn of(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/sysfs/{name}.tree"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut place = folder.path().to_owned();
        for line in fs::read_to_string(path).expect("a tree").lines() {
            if let Some(section) = line.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
                place = folder.path().join(section);
            } else if let Some((name, target)) = line.split_once(" -> ") {
                let link = place.join(name);
                fs::create_dir_all(link.parent().expect("in a folder")).expect("folders");
                symlink(target, link).expect("a link");
            } else if let Some((name, value)) = line.split_once(" = ") {
                let contents = match value.strip_prefix('@') {
                    Some(table) => binary(table),
                    None => format!("{}\n", value.replace("\\n", "\n")).into_bytes(),
                };
                put(&place.join(name), &contents);
            }
        }
        Self { folder }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the device behind a card.
    pub(crate) fn device(&self, card: &str) -> PathBuf {
        let link = self.root().join("class/drm").join(card).join("device");
        link.canonicalize().expect("a device")
    }

    /// Overwrites a file of a device, in place.
    pub(crate) fn set(&self, card: &str, file: &str, contents: &str) {
        put(&self.device(card).join(file), contents.as_bytes());
    }

    /// Settings that see this tree, these processes and no NVML.
    pub(crate) fn settings(&self, proc_root: &Path) -> Settings {
        let library = "/nonexistent/libnvidia-ml.so.1";
        seeing(library.into(), self.root(), proc_root)
    }

    /// Samples for `span` of virtual time; `turn` is called before each step with the time since the
    /// start.
    pub(crate) fn sample(
        &self,
        settings: &Settings,
        span: Duration,
        mut turn: impl FnMut(&Self, Duration),
    ) -> (Inventory, Vec<Event>) {
        let turn = |now: Micros| turn(self, now.since(Micros(START)));
        stepped(settings, span, turn).expect("the machine opens")
    }
}

/// `1.3 120 4:u16:54 …`: a table of all ones with these fields.
fn binary(text: &str) -> Vec<u8> {
    let mut words = text.split_whitespace();
    let (format, content) = words
        .next()
        .and_then(|v| v.split_once('.'))
        .expect("a version");
    let size: u16 = words
        .next()
        .and_then(|size| size.parse().ok())
        .expect("a size");
    let mut table = vec![0xff; usize::from(size)];
    table[..2].copy_from_slice(&size.to_le_bytes());
    table[2] = format.parse().expect("a revision");
    table[3] = content.parse().expect("a revision");
    for field in words {
        let parts: Vec<&str> = field.split(':').collect();
        let [at, kind, value] = parts.as_slice() else {
            panic!("{field} is no field");
        };
        let at: usize = at.parse().expect("a place");
        let value: u64 = value.parse().expect("a value");
        let width = kind[1..].parse::<usize>().expect("a width") / 8;
        table[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    table
}

/// Overwrites a field of a card's binary table.
pub(crate) fn poke(path: &Path, at: usize, bytes: &[u8]) {
    let mut table = fs::read(path).expect("a table");
    table[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(path, table).expect("a table");
}

/// A process of `proc_root` with a card open: the text of its `fdinfo`.
pub(crate) fn open_card(proc_root: &Path, pid: u32, file: u32, text: &str) {
    let folder = proc_root.join(pid.to_string());
    let link = folder.join("fd").join(file.to_string());
    fs::create_dir_all(link.parent().expect("in a folder")).expect("folders");
    if !link.is_symlink() {
        symlink("/dev/dri/renderD128", &link).expect("a link");
    }
    put(
        &folder.join("fdinfo").join(file.to_string()),
        text.as_bytes(),
    );
}
