//! A Python function in a process of its own, with limits on time, memory and what it prints.
//!
//! Invariants: the process and its children end with the worker; no answer takes longer than the
//! limit; what it prints beyond [`MOST_PRINTED`] bytes is read and dropped, so that it never blocks.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use super::python_template::PythonCopy;
use crate::description::Callable;

const SCRIPT: &str = include_str!("worker.py");
/// Bytes of what the function prints that are kept for messages.
const MOST_PRINTED: usize = 16 << 10;
/// An answer is a line of facts; the numbers lie in files.
const LONGEST_ANSWER: u64 = 1 << 20;
/// Names the Python that runs references.
const VARIABLE: &str = "WARPSMITH_PYTHON";

/// Why a Python function gave no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WorkerError {
    /// Python does not start.
    #[error("cannot start Python (`{python}`): {seen}; `WARPSMITH_PYTHON` names another")]
    NoPython {
        /// The program.
        python: String,
        /// What was seen.
        seen: String,
    },
    /// The function or its result does not fit the case.
    #[error("`{function}`: {problem}")]
    Wrong {
        /// The function.
        function: String,
        /// What is wrong.
        problem: String,
    },
    /// The function raised an exception.
    #[error("{place}: `{function}` raised {problem}{}", what_was_printed(.printed))]
    Raised {
        /// File and line.
        place: String,
        /// The function.
        function: String,
        /// The exception.
        problem: String,
        /// The end of what it printed.
        printed: String,
    },
    /// It took too long.
    #[error(
        "`{function}` did not answer within {seconds} s; `seconds` under `[reference]` allows more"
    )]
    TooLong {
        /// The function.
        function: String,
        /// The limit.
        seconds: f64,
    },
    /// It took too much memory.
    #[error(
        "`{function}` took more than {} MiB of memory; `memory` under `[reference]` allows more",
        .bytes >> 20
    )]
    TooLarge {
        /// The function.
        function: String,
        /// The limit.
        bytes: u64,
    },
    /// The process ended.
    #[error("the process of `{function}` ended: {seen}{}", what_was_printed(.printed))]
    Ended {
        /// The function.
        function: String,
        /// How it ended.
        seen: String,
        /// The end of what it printed.
        printed: String,
    },
}

fn what_was_printed(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => {
            let lines: Vec<&str> = text.lines().rev().take(8).collect();
            let lines: Vec<&str> = lines.into_iter().rev().collect();
            format!("; it printed:\n{}", lines.join("\n"))
        }
    }
}

/// How a worker is started.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) callable: Callable,
    /// How long an answer may take.
    pub(crate) seconds: f64,
    /// Bytes that it may take.
    pub(crate) memory: u64,
    /// Where tensors go.
    pub(crate) device: Option<String>,
    /// Threads that its arithmetic may use, where several processes share the cores.
    pub(crate) threads: Option<usize>,
}

/// A running Python function.
pub(crate) struct PythonWorker {
    process: Process,
    stdin: Box<dyn Write + Send>,
    answers: Receiver<std::io::Result<String>>,
    printed: Arc<Mutex<Vec<u8>>>,
    callable: Callable,
    seconds: f64,
    memory: u64,
}

/// A process that runs a function: started for it, or copied from one that has NumPy already.
enum Process {
    Started(Child),
    Copied(PythonCopy),
}

impl Process {
    fn id(&self) -> u32 {
        match self {
            Self::Started(child) => child.id(),
            Self::Copied(copy) => copy.id(),
        }
    }

    /// How it ended.
    fn wait(&mut self) -> String {
        match self {
            Self::Started(child) => match child.wait() {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            },
            Self::Copied(copy) => copy.wait(),
        }
    }

    /// Whether its number may be another's by now.
    fn was_reaped(&self) -> bool {
        match self {
            // Its group may outlive it, and ends with the worker.
            Self::Started(_) => false,
            Self::Copied(copy) => copy.was_reaped(),
        }
    }
}

/// The Python that runs references: the variable, the active environment, else `python3`.
pub(crate) fn python_program() -> OsString {
    if let Some(named) = env::var_os(VARIABLE) {
        return named;
    }
    let active = env::var_os("VIRTUAL_ENV").or_else(|| env::var_os("CONDA_PREFIX"));
    let inside = active.map(|prefix| PathBuf::from(prefix).join("bin/python3"));
    match inside.filter(|path| path.exists()) {
        Some(path) => path.into(),
        None => "python3".into(),
    }
}

/// `file.py:function`.
pub(super) fn label(callable: &Callable) -> String {
    format!("{}:{}", callable.file.display(), callable.function)
}

impl PythonWorker {
    /// Starts Python and loads the function.
    pub(crate) fn start(start: &Start) -> Result<Self, WorkerError> {
        let (callable, threads) = (&start.callable, start.threads);
        if !callable.file.is_file() {
            return Err(WorkerError::Wrong {
                function: label(callable),
                problem: "there is no such file".into(),
            });
        }
        let python = python_program();
        let no_python = |seen: String| WorkerError::NoPython {
            python: python.to_string_lossy().into_owned(),
            seen,
        };
        let (process, stdin, stdout, stderr) = match PythonCopy::take(threads) {
            Some((copy, talk, printed)) => {
                let stdin = talk
                    .try_clone()
                    .map_err(|error| no_python(error.to_string()))?;
                (
                    Process::Copied(copy),
                    Box::new(stdin) as Box<dyn Write + Send>,
                    Box::new(talk) as Box<dyn Read + Send>,
                    Box::new(printed) as Box<dyn Read + Send>,
                )
            }
            None => {
                let mut child = python_command(&python, threads)
                    .stderr(Stdio::piped())
                    .spawn()
                    .map_err(|error| no_python(error.to_string()))?;
                let (Some(stdin), Some(stdout), Some(stderr)) =
                    (child.stdin.take(), child.stdout.take(), child.stderr.take())
                else {
                    return Err(no_python("its streams are missing".into()));
                };
                (
                    Process::Started(child),
                    Box::new(stdin) as Box<dyn Write + Send>,
                    Box::new(stdout) as Box<dyn Read + Send>,
                    Box::new(stderr) as Box<dyn Read + Send>,
                )
            }
        };
        let (send, answers) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let mut line = String::new();
                let read = reader.by_ref().take(LONGEST_ANSWER).read_line(&mut line);
                let over = !matches!(read, Ok(1..));
                if send.send(read.map(|_| line)).is_err() || over {
                    return;
                }
            }
        });
        let printed = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&printed);
        thread::spawn(move || keep_the_end(stderr, &kept));
        let mut worker = Self {
            process,
            stdin,
            answers,
            printed,
            callable: callable.clone(),
            seconds: start.seconds,
            memory: start.memory,
        };
        // The worker's current folder is the user's; the file is named absolutely for its messages.
        let file = std::path::absolute(&callable.file).unwrap_or_else(|_| callable.file.clone());
        let request = serde_json::json!({
            "file": file, "function": callable.function, "device": start.device,
        });
        worker.ask(&request)?;
        Ok(worker)
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value, WorkerError> {
        if writeln!(self.stdin, "{request}")
            .and_then(|()| self.stdin.flush())
            .is_err()
        {
            return Err(self.ended());
        }
        let limit = Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::from_secs(60));
        let begun = Instant::now();
        loop {
            match self.answers.recv_timeout(Duration::from_millis(20)) {
                Ok(Ok(line)) if !line.is_empty() => return self.read(&line),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if begun.elapsed() > limit {
                self.kill();
                return Err(WorkerError::TooLong {
                    function: label(&self.callable),
                    seconds: self.seconds,
                });
            }
            if resident_bytes(self.process.id()).is_some_and(|bytes| bytes > self.memory) {
                self.kill();
                return Err(WorkerError::TooLarge {
                    function: label(&self.callable),
                    bytes: self.memory,
                });
            }
        }
    }

    fn read(&mut self, line: &str) -> Result<Value, WorkerError> {
        let function = self.callable.function.clone();
        let Ok(answer) = serde_json::from_str::<Value>(line) else {
            return Err(WorkerError::Wrong {
                function: label(&self.callable),
                problem: "it writes into the channel of answers".into(),
            });
        };
        let Some(problem) = answer["error"].as_str() else {
            return Ok(answer);
        };
        let problem = problem.to_owned();
        Err(match answer["kind"].as_str() {
            Some("raised") => WorkerError::Raised {
                place: match answer["line"].as_u64() {
                    Some(line) => format!("{}:{line}", self.callable.file.display()),
                    None => self.callable.file.display().to_string(),
                },
                function,
                problem,
                printed: self.printed(),
            },
            Some("numpy") => WorkerError::NoPython {
                python: python_program().to_string_lossy().into_owned(),
                seen: problem,
            },
            _ => WorkerError::Wrong {
                function: label(&self.callable),
                problem,
            },
        })
    }

    fn printed(&self) -> String {
        // What was written before the answer is on its way; a moment lets it arrive.
        thread::sleep(Duration::from_millis(20));
        let kept = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    fn ended(&mut self) -> WorkerError {
        self.kill();
        let seen = self.process.wait();
        WorkerError::Ended {
            function: label(&self.callable),
            seen,
            printed: self.printed(),
        }
    }

    fn kill(&mut self) {
        let group = i32::try_from(self.process.id()).unwrap_or(0);
        if group > 1 && !self.process.was_reaped() {
            // SAFETY: a plain system call; the group is that of the process, which has not been waited
            // for, by us or by the one that it is a copy of, so that its number is not another's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        if let Process::Started(child) = &mut self.process {
            let _ = child.kill();
        }
    }
}

impl Drop for PythonWorker {
    fn drop(&mut self) {
        self.kill();
        self.process.wait();
    }
}

/// Python with the script, in a group of its own, so that its children end with it.
pub(super) fn python_command(python: &OsString, threads: Option<usize>) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-u", "-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    if let Some(threads) = threads {
        for library in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            if env::var_os(library).is_none() {
                command.env(library, threads.to_string());
            }
        }
    }
    command
}

/// Keeps the last bytes of a stream and drops the rest.
pub(crate) fn keep_the_end(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut part = [0u8; 4096];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&part[..count]);
        let excess = kept.len().saturating_sub(MOST_PRINTED);
        kept.drain(..excess);
    }
}

/// Memory that a process holds, where the system says.
pub(crate) fn resident_bytes(process: u32) -> Option<u64> {
    let text =
        std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: a plain query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}
