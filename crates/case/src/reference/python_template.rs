//! A Python that has NumPy already, and is copied for each function: importing NumPy takes longer than most
//! references take to answer.
//!
//! The first function of a process is started as any other; from the second on there is a template. A copy is
//! a process of its own, so that no function sees what another one left.
//!
//! Invariants: a template ends with this process, because its input does; every answer is awaited for a bounded time; a copy's number stays taken until it
//! was reaped, which happens after the last signal to it. Where anything fails, Python is started as usual.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::python_worker::{python_command, python_program};

/// A template that has not answered by then never will; importing NumPy can take long on a slow disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Python, and how many threads its arithmetic may use.
type Kind = (OsString, Option<usize>);

/// What is known of starts of a kind.
#[derive(Default)]
enum Starts {
    #[default]
    None,
    One,
    Template(Arc<Mutex<Template>>),
    /// There was one, and it failed.
    Failed,
}

/// The running template.
struct Template {
    stdin: ChildStdin,
    answers: Receiver<String>,
    child: Child,
}

impl Drop for Template {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that was copied from a template.
pub(super) struct PythonCopy {
    id: u32,
    template: Arc<Mutex<Template>>,
    /// How it ended, once it was reaped.
    ended: Option<String>,
}

static STARTS: Mutex<BTreeMap<Kind, Starts>> = Mutex::new(BTreeMap::new());

impl PythonCopy {
    /// A copy, what is said to it and by it, and what it prints; `None` where Python is to be started.
    pub(super) fn take(threads: Option<usize>) -> Option<(Self, UnixStream, UnixStream)> {
        let kind = (python_program(), threads);
        let template = {
            let mut starts = locked(&STARTS);
            let known = starts.entry(kind.clone()).or_default();
            match known {
                Starts::None => {
                    *known = Starts::One;
                    return None;
                }
                Starts::One => match Template::start(&kind) {
                    Some(template) => {
                        let template = Arc::new(Mutex::new(template));
                        *known = Starts::Template(Arc::clone(&template));
                        template
                    }
                    None => {
                        *known = Starts::Failed;
                        return None;
                    }
                },
                Starts::Template(template) => Arc::clone(template),
                Starts::Failed => return None,
            }
        };
        let copied = locked(&template).copy();
        match copied {
            Some((id, talk, printed)) => {
                let copy = Self {
                    id,
                    template,
                    ended: None,
                };
                Some((copy, talk, printed))
            }
            None => {
                locked(&STARTS).insert(kind, Starts::Failed);
                None
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Waits until it has ended, and says how. No signal may be sent to it afterwards: its number may be
    /// another's.
    pub(super) fn wait(&mut self) -> String {
        let ended = self.ended.take().unwrap_or_else(|| {
            let status = locked(&self.template).reap(self.id);
            status.map_or_else(
                || "it is gone".to_owned(),
                |status| ExitStatus::from_raw(status).to_string(),
            )
        });
        self.ended.insert(ended).clone()
    }

    pub(super) fn was_reaped(&self) -> bool {
        self.ended.is_some()
    }
}

impl Template {
    fn start((python, threads): &Kind) -> Option<Self> {
        let mut child = python_command(python, *threads)
            .arg("template")
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        let (send, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut template = Self {
            stdin,
            answers,
            child,
        };
        template.hear()?["ready"].as_bool()?.then_some(template)
    }

    fn say(&mut self, request: &Value) -> std::io::Result<()> {
        writeln!(self.stdin, "{request}")?;
        self.stdin.flush()
    }

    fn hear(&mut self) -> Option<Value> {
        let line = self.answers.recv_timeout(PATIENCE).ok()?;
        serde_json::from_str(&line).ok()
    }

    fn reap(&mut self, id: u32) -> Option<i32> {
        self.say(&json!({ "reap": id })).ok()?;
        i32::try_from(self.hear()?["reaped"].as_i64()?).ok()
    }

    /// The number of a new copy, and its two connections.
    fn copy(&mut self) -> Option<(u32, UnixStream, UnixStream)> {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("copy");
        let listener = UnixListener::bind(&path).ok()?;
        listener.set_nonblocking(true).ok()?;
        self.say(&json!({ "socket": path })).ok()?;
        let id = u32::try_from(self.hear()?["forked"].as_u64()?).ok()?;
        let begun = Instant::now();
        let talk = accept(&listener, begun)?;
        let printed = accept(&listener, begun)?;
        Some((id, talk, printed))
    }
}

fn accept(listener: &UnixListener, begun: Instant) -> Option<UnixStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).ok()?;
                return Some(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return None,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
