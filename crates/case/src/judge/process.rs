//! Processes of candidates: a warm Python that forks one child for each, and the child's own limits.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::channel::{Channel, Lost};
use crate::reference::{keep_the_end, python_program, resident_bytes};

const SCRIPT: &str = concat!(
    include_str!("frames.py"),
    include_str!("sandbox.py"),
    include_str!("candidate_process.py")
);
/// A warm Python with PyTorch takes seconds to start on a busy machine.
const START: Duration = Duration::from_secs(120);
/// A child connects within milliseconds.
const CONNECT: Duration = Duration::from_secs(20);
/// Processes of a candidate that may start any: compilers in parallel.
const MOST_PROCESSES: usize = 256;
/// Bytes of files that a candidate may write.
const FILE_BYTES: u64 = 256 << 20;

/// What a child is told before it loads a candidate.
#[derive(Clone, Debug)]
pub(super) struct Spawn<'a> {
    pub(super) source: &'a str,
    pub(super) entry: &'a str,
    /// `function` or `model`.
    pub(super) form: &'a str,
    pub(super) device: Option<&'a str>,
    pub(super) memory: u64,
    /// Whether it may start processes while it loads, as compilers of kernels do.
    pub(super) processes: bool,
    /// The reference: it is not shut in.
    pub(super) trusted: bool,
    /// Files whose opening is evidence.
    pub(super) hidden: &'a [PathBuf],
    /// Functions that the task forbids.
    pub(super) forbid: &'a [String],
    /// The folder that modules are imported from, for a reference.
    pub(super) beside: Option<&'a Path>,
}

/// A Python that has imported what candidates need and waits to fork.
pub(super) struct WarmPython {
    child: Child,
    stdin: ChildStdin,
    replies: Receiver<String>,
    listener: UnixListener,
    folder: TempDir,
    printed: Arc<Mutex<Vec<u8>>>,
    count: u64,
}

impl WarmPython {
    /// Starts Python and imports `modules`.
    pub(super) fn start(modules: &[&str], visible: Option<&str>) -> Result<Self, String> {
        let python = python_program();
        let name = python.to_string_lossy().into_owned();
        let failed = |seen: String| {
            format!("cannot start Python (`{name}`): {seen}; `WARPSMITH_PYTHON` names another")
        };
        let folder = tempfile::Builder::new()
            .prefix("judge")
            .tempdir()
            .map_err(|error| failed(error.to_string()))?;
        let address = folder.path().join("judge");
        let listener = UnixListener::bind(&address).map_err(|error| failed(error.to_string()))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| failed(error.to_string()))?;
        let settings = json!({ "socket": address, "modules": modules });
        let mut command = Command::new(&python);
        if let Some(visible) = visible {
            command.env("CUDA_VISIBLE_DEVICES", visible);
        }
        let mut child = command
            .args(["-c", SCRIPT, &settings.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("its streams are missing".into()));
        };
        let (send, replies) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let printed = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&printed);
        thread::spawn(move || keep_the_end(stderr, &kept));
        let mut warm = Self {
            child,
            stdin,
            replies,
            listener,
            folder,
            printed,
            count: 0,
        };
        let ready = warm.reply(START);
        match ready.is_some_and(|value| value["ready"] == true) {
            true => Ok(warm),
            false => {
                thread::sleep(Duration::from_millis(50));
                let printed = warm.printed.lock().unwrap_or_else(PoisonError::into_inner);
                let text = String::from_utf8_lossy(&printed).into_owned();
                let last = text
                    .lines()
                    .last()
                    .unwrap_or("it did not answer")
                    .to_owned();
                Err(failed(last))
            }
        }
    }

    fn reply(&mut self, limit: Duration) -> Option<Value> {
        let line = self.replies.recv_timeout(limit).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Forks a child; it loads nothing yet.
    pub(super) fn fork(&mut self, spawn: &Spawn<'_>) -> Result<CandidateProcess, String> {
        self.count += 1;
        let folder = tempfile::Builder::new()
            .prefix("candidate")
            .tempdir_in(self.folder.path())
            .map_err(|error| format!("cannot make a folder for a candidate: {error}"))?;
        let path = folder.path().join("candidate.py");
        std::fs::write(&path, spawn.source)
            .map_err(|error| format!("cannot write a candidate's file: {error}"))?;
        let token = format!("{}-{:?}", self.count, Instant::now());
        let hidden: Vec<PathBuf> = spawn
            .hidden
            .iter()
            .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()))
            .collect();
        let request = json!({ "fork": {
            "token": token, "folder": folder.path(), "path": path.canonicalize().unwrap_or(path),
            "entry": spawn.entry, "form": spawn.form, "device": spawn.device,
            "memory": spawn.memory, "file_bytes": FILE_BYTES, "processes": spawn.processes,
            "trusted": spawn.trusted, "hidden": hidden, "forbid": spawn.forbid,
            "readable": [], "beside": spawn.beside,
        }});
        let gone = || "the warm Python is gone".to_owned();
        writeln!(self.stdin, "{request}")
            .and_then(|()| self.stdin.flush())
            .map_err(|_| gone())?;
        let pid = self
            .reply(CONNECT)
            .and_then(|value| value["pid"].as_i64())
            .and_then(|pid| i32::try_from(pid).ok())
            .ok_or_else(gone)?;
        let mut process = CandidateProcess {
            pid,
            channel: None,
            printed: Arc::new(Mutex::new(Vec::new())),
            memory: spawn.memory,
            processes: spawn.processes,
            _folder: folder,
        };
        match self.connect(&token, &mut process) {
            Ok(()) => Ok(process),
            Err(error) => {
                self.end(process);
                Err(error)
            }
        }
    }

    /// Takes the child's two connections.
    fn connect(&self, token: &str, process: &mut CandidateProcess) -> Result<(), String> {
        let begun = Instant::now();
        let mut missing = 2;
        while missing > 0 {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let hello = hello(&stream).ok_or("a candidate's process does not say hello")?;
                    if hello["token"] != token {
                        // Of an earlier child that was ended before it connected.
                        continue;
                    }
                    missing -= 1;
                    if hello["kind"] == "answers" {
                        let channel = Channel::new(stream).map_err(|error| error.to_string())?;
                        process.channel = Some(channel);
                    } else {
                        let _ = stream.set_nonblocking(false);
                        let _ = stream.set_read_timeout(None);
                        let kept = Arc::clone(&process.printed);
                        thread::spawn(move || keep_the_end(stream, &kept));
                    }
                }
                Err(_) if begun.elapsed() > CONNECT => {
                    return Err("a candidate's process does not connect".into());
                }
                Err(_) => thread::sleep(Duration::from_micros(200)),
            }
        }
        Ok(())
    }

    /// Ends a child, whatever it does; returns how it ended by itself, if it had.
    pub(super) fn end(&mut self, process: CandidateProcess) -> String {
        // A moment for one that is about to end by itself, so that its own status is seen.
        for _ in 0..25 {
            if !process.is_busy() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        for target in [-process.pid, process.pid] {
            // SAFETY: a plain system call. The child has not been waited for: its number, which is also
            // that of its group, is not another's.
            unsafe { libc::kill(target, libc::SIGKILL) };
        }
        if process.processes {
            // New ones may come while old ones are killed; each round leaves fewer that can fork.
            for _ in 0..100 {
                let members = session_members(process.pid);
                if members.is_empty() {
                    break;
                }
                for member in members {
                    // SAFETY: a plain system call; the process was seen in the child's own session, whose
                    // number is not another's before the child has been waited for.
                    unsafe { libc::kill(member, libc::SIGKILL) };
                }
            }
        }
        let _ = writeln!(self.stdin, "{}", json!({ "reap": process.pid }))
            .and_then(|()| self.stdin.flush());
        let status = self
            .reply(CONNECT)
            .and_then(|value| value["status"].as_i64());
        words(status)
    }
}

impl Drop for WarmPython {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).unwrap_or(0);
        if group > 1 {
            // SAFETY: as in `end`: the group is that of a child that has not been waited for.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hello(stream: &UnixStream) -> Option<Value> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(CONNECT)).ok()?;
    // A byte at a time: what follows the line belongs to the channel.
    let (mut line, mut byte) = (Vec::new(), [0u8; 1]);
    let mut reader: &UnixStream = stream;
    while line.len() < 512 {
        reader.read_exact(&mut byte).ok()?;
        if byte[0] == b'\n' {
            return serde_json::from_slice(&line).ok();
        }
        line.push(byte[0]);
    }
    None
}

/// A wait status in words.
fn words(status: Option<i64>) -> String {
    let Some(status) = status else {
        return "no status".into();
    };
    match (status & 0x7f, (status >> 8) & 0xff) {
        (0, code) => format!("exit status {code}"),
        (11, _) => "segmentation fault (signal 11)".into(),
        (6, _) => "abort (signal 6)".into(),
        (8, _) => "arithmetic fault (signal 8)".into(),
        (signal, _) => format!("signal {signal}"),
    }
}

/// A candidate's own process.
pub(super) struct CandidateProcess {
    pid: i32,
    channel: Option<Channel>,
    printed: Arc<Mutex<Vec<u8>>>,
    memory: u64,
    /// Whether it may have processes of its own, which then end with it.
    processes: bool,
    /// Its private files go with it.
    _folder: TempDir,
}

impl CandidateProcess {
    /// Sends a header with bytes.
    pub(super) fn send(
        &mut self,
        header: &Value,
        parts: &[&[u8]],
        limit: Duration,
    ) -> Result<(), Lost> {
        let (pid, memory, processes) = (self.pid, self.memory, self.processes);
        let Some(channel) = &mut self.channel else {
            return Err(Lost::Ended);
        };
        channel.send(header, parts, limit, &mut || {
            looked_at(pid, memory, processes)
        })
    }

    /// Waits for a header with bytes.
    pub(super) fn receive(
        &mut self,
        most: usize,
        limit: Duration,
    ) -> Result<(Value, Vec<u8>), Lost> {
        let (pid, memory, processes) = (self.pid, self.memory, self.processes);
        let Some(channel) = &mut self.channel else {
            return Err(Lost::Ended);
        };
        channel.receive(most, limit, &mut || looked_at(pid, memory, processes))
    }

    /// How long it and the judge's own thread have been ready to run without a core, in all.
    pub(super) fn waited(&self) -> Duration {
        let of = |path: &str| {
            let text = std::fs::read_to_string(path).ok()?;
            text.split_whitespace().nth(1)?.parse().ok()
        };
        let own = of("/proc/thread-self/schedstat").unwrap_or(0);
        let its = of(&format!("/proc/{}/schedstat", self.pid)).unwrap_or(0);
        Duration::from_nanos(own) + Duration::from_nanos(its)
    }

    /// The end of what it printed.
    pub(super) fn printed(&self) -> String {
        let kept = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Whether it runs, or is on its way out; one that waits for a call does not.
    fn is_busy(&self) -> bool {
        let path = Path::new("/proc").join(self.pid.to_string()).join("stat");
        let state = std::fs::read_to_string(path).ok();
        let state = state.and_then(|text| text.rsplit(')').next()?.trim().chars().next());
        !matches!(state, Some('S' | 'Z'))
    }
}

/// Whether a process keeps to its memory: what the limit on mapped memory does not see on a GPU.
fn looked_at(pid: i32, memory: u64, processes: bool) -> Result<(), Lost> {
    if processes && session_members(pid).len() > MOST_PROCESSES {
        return Err(Lost::TooMany(MOST_PROCESSES));
    }
    let resident = u32::try_from(pid).ok().and_then(resident_bytes);
    match resident.is_some_and(|bytes| bytes > memory.saturating_add(1 << 30)) {
        true => Err(Lost::TooLarge(memory)),
        false => Ok(()),
    }
}

/// Living processes of the session that a child leads, itself left out.
fn session_members(leader: i32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| *pid != leader)
        .filter(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // State, parent, group, session, behind a name that may hold anything.
            let fields: Vec<&str> = match stat.rsplit_once(')') {
                Some((_, rest)) => rest.split_whitespace().collect(),
                None => return false,
            };
            fields.first() != Some(&"Z") && fields.get(3) == Some(&leader.to_string().as_str())
        })
        .collect()
}
