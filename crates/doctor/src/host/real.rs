//! This machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{CommandOutput, Host, READ_LIMIT, Session, Stat, keeps};
use warpsmith_compatibility::ByteSource;

/// The machine that this program runs on.
pub struct RealHost {
    session: Session,
}

impl RealHost {
    /// Looks at the process's own environment and identity.
    #[allow(clippy::new_without_default)] // Reads the process's state: not a neutral value.
    pub fn new() -> Self {
        let env: BTreeMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| keeps(name))
            .collect();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let numbers = |field: &str| -> Vec<u32> {
            status
                .lines()
                .find_map(|line| line.strip_prefix(field))
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|n| n.parse().ok())
                .collect()
        };
        let mut groups = numbers("Groups:");
        groups.extend(numbers("Gid:").get(1));
        Self {
            session: Session {
                env,
                euid: numbers("Uid:").get(1).copied().unwrap_or(u32::MAX),
                groups,
                arch: std::env::consts::ARCH.to_owned(),
                kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                    .unwrap_or_default()
                    .trim()
                    .to_owned(),
            },
        }
    }
}

impl Host for RealHost {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = fs::File::open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(READ_LIMIT).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn list(&self, path: &str) -> Option<Vec<String>> {
        let mut names: Vec<_> = fs::read_dir(path)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Some(names)
    }

    fn stat(&self, path: &str) -> Option<Stat> {
        let meta = fs::metadata(path).ok()?;
        let kind = meta.file_type();
        let letter = match () {
            () if kind.is_dir() => 'd',
            () if kind.is_char_device() => 'c',
            () if kind.is_block_device() => 'b',
            () => '-',
        };
        let bits = (0..9).rev().map(|bit| match meta.mode() >> bit & 1 {
            1 => ['x', 'w', 'r'][bit % 3],
            _ => '-',
        });
        Some(Stat {
            mode: std::iter::once(letter).chain(bits).collect(),
            uid: meta.uid(),
            gid: meta.gid(),
            size: meta.len(),
        })
    }

    fn link(&self, path: &str) -> Option<String> {
        fs::read_link(path).ok()?.to_str().map(str::to_owned)
    }

    fn open(&self, path: &str) -> Option<Box<dyn ByteSource + '_>> {
        let file = fs::File::open(path).ok()?;
        file.metadata()
            .ok()?
            .is_file()
            .then(|| Box::new(file) as Box<dyn ByteSource>)
    }

    fn run(&self, argv: &[&str], limit: Duration) -> Option<CommandOutput> {
        let mut child = Command::new(argv.first()?)
            .args(&argv[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        // The pipes are drained on their own threads: a child that fills one would never end.
        let reader = |pipe: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                if let Some(pipe) = pipe {
                    let _ = pipe.take(READ_LIMIT).read_to_end(&mut bytes);
                }
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let stdout = reader(child.stdout.take().map(|p| Box::new(p) as _));
        let stderr = reader(child.stderr.take().map(|p| Box::new(p) as _));
        let deadline = Instant::now() + limit;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => {
                    // A driver call can hang in the kernel; then the child cannot be reaped either,
                    // so nothing waits for it or its pipes.
                    let _ = child.kill();
                    return None;
                }
            }
        };
        Some(CommandOutput {
            rc: status.code().unwrap_or(-1),
            stdout: stdout.join().ok()?,
            stderr: stderr.join().ok()?,
        })
    }

    fn session(&self) -> &Session {
        &self.session
    }
}
