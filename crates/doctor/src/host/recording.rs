//! A machine that is looked at and written down at the same time, so that somebody else can replay
//! exactly what the rules saw.
//!
//! Only what was read is recorded, under the name by which it was read. Links are written down
//! and never made: a file written through one would land on the machine itself. Of a library that is read at offsets, only those bytes are
//! written, at the same offsets in a sparse file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use warpsmith_formats::write_output;

use super::{CommandOutput, Host, Session, Stat};
use warpsmith_compatibility::ByteSource;

/// Wraps a host and records into a directory that [`super::DirectoryHost`] opens.
pub struct RecordingHost<'a> {
    inner: &'a dyn Host,
    directory: PathBuf,
    commands: Mutex<BTreeMap<String, CommandOutput>>,
    stats: Mutex<BTreeMap<String, Stat>>,
    links: Mutex<BTreeMap<String, String>>,
}

impl<'a> RecordingHost<'a> {
    /// Records what is read from `inner` below `directory`.
    pub fn new(inner: &'a dyn Host, directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory.join("root"))?;
        Ok(Self {
            inner,
            directory: directory.to_owned(),
            commands: Mutex::default(),
            stats: Mutex::default(),
            links: Mutex::default(),
        })
    }

    /// Writes the parts that are not files.
    pub fn finish(self) -> io::Result<()> {
        let write = |name: &str, json: String| -> io::Result<()> {
            Ok(write_output(&self.directory.join(name), json.as_bytes())?)
        };
        let text = |value: serde_json::Result<String>| value.map_err(io::Error::other);
        write(
            "env.json",
            text(serde_json::to_string_pretty(self.inner.session()))?,
        )?;
        let commands = self.commands.lock().map_err(|_| io::ErrorKind::Other)?;
        write("cmd.json", text(serde_json::to_string_pretty(&*commands))?)?;
        let stats = self.stats.lock().map_err(|_| io::ErrorKind::Other)?;
        write("stat.json", text(serde_json::to_string_pretty(&*stats))?)?;
        let links = self.links.lock().map_err(|_| io::ErrorKind::Other)?;
        write("links.json", text(serde_json::to_string_pretty(&*links))?)
    }

    /// Where a file is kept, its folder made; `None` for a path that would leave the capture.
    fn place(&self, path: &str) -> Option<PathBuf> {
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        let place = self
            .directory
            .join("root")
            .join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent()?).ok()?;
        Some(place)
    }
}

struct RecordedBytes<'a> {
    inner: Box<dyn ByteSource + 'a>,
    copy: Option<fs::File>,
}

impl ByteSource for RecordedBytes<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read_at(offset, buffer)?;
        if let Some(copy) = &self.copy {
            copy.write_all_at(&buffer[..n], offset)?;
        }
        Ok(n)
    }
}

impl Host for RecordingHost<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.inner.read(path)?;
        // A capture that cannot be written shows when it is replayed; the check itself goes on.
        if let Some(place) = self.place(path) {
            let _ = fs::write(place, &bytes);
        }
        Some(bytes)
    }

    fn list(&self, path: &str) -> Option<Vec<String>> {
        let names = self.inner.list(path)?;
        if let Some(place) = self.place(path) {
            let _ = fs::create_dir_all(place);
        }
        if let Ok(mut stats) = self.stats.lock() {
            for name in &names {
                let child = format!("{}/{name}", path.trim_end_matches('/'));
                if let Some(stat) = self.inner.stat(&child) {
                    stats.insert(child, stat);
                }
            }
        }
        Some(names)
    }

    fn stat(&self, path: &str) -> Option<Stat> {
        let stat = self.inner.stat(path)?;
        if let Ok(mut stats) = self.stats.lock() {
            stats.insert(path.to_owned(), stat.clone());
        }
        Some(stat)
    }

    fn link(&self, path: &str) -> Option<String> {
        let target = self.inner.link(path)?;
        if let Ok(mut links) = self.links.lock() {
            links.insert(path.to_owned(), target.clone());
        }
        Some(target)
    }

    fn open(&self, path: &str) -> Option<Box<dyn ByteSource + '_>> {
        let inner = self.inner.open(path)?;
        let copy = self
            .place(path)
            .and_then(|place| fs::File::create(place).ok());
        Some(Box::new(RecordedBytes { inner, copy }))
    }

    fn run(&self, argv: &[&str], limit: Duration) -> Option<CommandOutput> {
        let output = self.inner.run(argv, limit)?;
        if let Ok(mut commands) = self.commands.lock() {
            commands.insert(argv.join(" "), output.clone());
        }
        Some(output)
    }

    fn session(&self) -> &Session {
        self.inner.session()
    }
}
