//! The second process of the judge, for candidates that are kernels: one that faults or never ends costs
//! it, and the next one starts another. It goes from case to case, because a context on a GPU takes longer
//! to make than most kernels take to judge.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpsmith_case::judge::{
    Candidate, Judgement, KernelBench, KernelClock, Outcome as Verdict, Stage,
};
use warpsmith_case::{Case, Settings};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_device::Device;

/// A process keeps every kernel that it has loaded: after so many a new one takes over.
const MOST_CANDIDATES: usize = 250;

/// Lines to the process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// The first line, and wherever a case ends: what the candidates behind it are to do.
    Begin {
        case: PathBuf,
        seed: u64,
        seconds: f64,
        /// Whether what is right is timed.
        timed: bool,
    },
    /// Compile a candidate, which other processes may do at the same time.
    Load(Box<Candidate>),
    /// Check what was compiled, on a device that others may use too.
    Check,
    /// Time what is right: the device is this process's own until it answers.
    Time,
    /// Look at what timed launches left, on a device that others may use too.
    Conclude,
}

/// Lines from it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Loaded,
    Checked,
    Timed,
    Judged(Box<Judgement>),
    Error(String),
}

/// The process, as the judge sees it.
pub(super) struct KernelWorker<'a> {
    global: &'a Global,
    seed: u64,
    /// Seconds that a launch may take.
    seconds: f64,
    /// Whether kernels that are right are timed.
    timed: bool,
    /// Threads that the arithmetic of a reference may use.
    threads: usize,
    /// Whoever may write has the device alone; readers share it.
    device: &'a RwLock<()>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// What its candidates are to do now.
    case: PathBuf,
    candidates: usize,
}

impl Running {
    /// Sends a line and waits for the one that answers it.
    fn ask(&mut self, request: &Request, limit: Duration) -> Result<Answer, RecvTimeoutError> {
        let gone = RecvTimeoutError::Disconnected;
        self.send(request).map_err(|_| gone)?;
        let line = self.lines.recv_timeout(limit)?;
        serde_json::from_str(&line).map_err(|_| gone)
    }

    fn send(&mut self, request: &Request) -> Result<()> {
        writeln!(self.stdin, "{}", serde_json::to_string(request)?)?;
        Ok(self.stdin.flush()?)
    }
}

impl<'a> KernelWorker<'a> {
    pub(super) fn new(
        global: &'a Global,
        seed: u64,
        (seconds, timed): (f64, bool),
        threads: usize,
        device: &'a RwLock<()>,
    ) -> Self {
        Self {
            global,
            seed,
            seconds,
            timed,
            threads,
            device,
            running: None,
        }
    }

    fn start(&self) -> Result<Running> {
        let mut command = self.global.host.command()?;
        for library in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            if std::env::var_os(library).is_none() {
                command.env(library, self.threads.to_string());
            }
        }
        let mut child = command
            .args(["judge", "-", "--kernel-worker", "--device"])
            .arg(self.global.device.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a second process")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            anyhow::bail!("the second process has no streams");
        };
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Running {
            child,
            stdin,
            lines,
            case: PathBuf::new(),
            candidates: 0,
        })
    }

    /// Judges a kernel by a case.
    pub(super) fn judge(&mut self, case: &Path, candidate: &Candidate) -> Result<Judgement> {
        let full = |running: &Running| running.candidates >= MOST_CANDIDATES;
        if self.running.as_ref().is_some_and(full) {
            self.stop();
        }
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        running.candidates += 1;
        if running.case != case {
            running.case = case.to_owned();
            // A process that is gone shows at the next line.
            let _ = running.send(&Request::Begin {
                case: running.case.clone(),
                seed: self.seed,
                seconds: self.seconds,
                timed: self.timed,
            });
        }
        // A compiler takes its time; a dozen checks have two runs each, and then there is timing.
        let limit = Duration::from_secs_f64(120.0 + 40.0 * self.seconds);
        let mut answer = running.ask(&Request::Load(Box::new(candidate.clone())), limit);
        loop {
            let shared = || self.device.read().unwrap_or_else(PoisonError::into_inner);
            answer = match &answer {
                Ok(Answer::Loaded) => {
                    let _beside_others = shared();
                    running.ask(&Request::Check, limit)
                }
                Ok(Answer::Checked) => {
                    let _alone = self.device.write().unwrap_or_else(PoisonError::into_inner);
                    running.ask(&Request::Time, limit)
                }
                Ok(Answer::Timed) => {
                    let _beside_others = shared();
                    running.ask(&Request::Conclude, limit)
                }
                _ => break,
            };
        }
        let lost = |outcome| Judgement::new(&candidate.id, self.seed, outcome);
        let judgement = match answer {
            Ok(Answer::Judged(judgement)) => *judgement,
            Ok(Answer::Error(error)) => anyhow::bail!("{error}"),
            Err(RecvTimeoutError::Timeout) => lost(Verdict::TimedOut {
                detail: format!("judging it took more than {} s", limit.as_secs()),
            }),
            _ => lost(Verdict::Crashed {
                line: None,
                detail: match running.child.wait() {
                    Ok(status) => format!("it took its process with it: {status}"),
                    Err(error) => error.to_string(),
                },
            }),
        };
        self.running = Some(running);
        // What lives in the context after a fault is not known: a new one is cheap.
        if matches!(
            judgement.outcome,
            Verdict::Crashed { .. } | Verdict::TimedOut { .. }
        ) {
            self.stop();
        }
        Ok(judgement)
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.stdin);
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Drop for KernelWorker<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The second process itself: a request to a line, an answer to a line.
pub(super) fn work(global: &Global) -> Result<Outcome> {
    let device = Device::open(global.device)?;
    let mut clock = KernelClock::default();
    let mut requests = stdin().lock().lines();
    let mut next = requests.next();
    while let Some(line) = next {
        let Request::Begin {
            case,
            seed,
            seconds,
            timed,
        } = serde_json::from_str(&line?)?
        else {
            anyhow::bail!("the first line does not begin");
        };
        let settings = Settings {
            limit: Duration::try_from_secs_f64(seconds)?,
            ..Settings::default()
        };
        let case = Case::open(&case).map_err(|error| error.to_string());
        let bench = case.as_ref().map_err(Clone::clone).and_then(|case| {
            let bench = KernelBench::new(case, &device, seed, settings);
            let bench = bench.map_err(|fault| fault.to_string())?;
            Ok(if timed { bench } else { bench.untimed() })
        });
        next = judge_by_one_case(bench, &mut clock, &mut requests)?;
    }
    Ok(Outcome::Fine)
}

/// Answers until another case begins, and returns the line that begins it.
fn judge_by_one_case(
    mut bench: Result<KernelBench<'_>, String>,
    clock: &mut KernelClock,
    requests: &mut impl Iterator<Item = std::io::Result<String>>,
) -> Result<Option<std::io::Result<String>>> {
    let mut loaded = None;
    for line in requests {
        let line = line?;
        let answer = match (&mut bench, serde_json::from_str(&line)?) {
            (_, Request::Begin { .. }) => return Ok(Some(Ok(line))),
            (Err(error), _) => Answer::Error(error.clone()),
            (Ok(bench), Request::Load(candidate)) => match bench.load(&candidate) {
                Ok(Ok(kernel)) => {
                    loaded = Some(Box::new(kernel));
                    Answer::Loaded
                }
                Ok(Err(judgement)) => Answer::Judged(Box::new(judgement)),
                Err(error) => Answer::Error(error),
            },
            (Ok(bench), request) => match loaded.take() {
                None => Answer::Error("nothing was loaded".into()),
                Some(kernel) => {
                    let (stage, next) = match request {
                        Request::Check => (bench.check(*kernel), Answer::Checked),
                        Request::Time => (bench.time(*kernel, clock), Answer::Timed),
                        _ => {
                            let judged = bench.conclude(*kernel);
                            (
                                judged.map(|one| Stage::Judged(Box::new(one))),
                                Answer::Timed,
                            )
                        }
                    };
                    match stage {
                        Ok(Stage::Open(kernel)) => {
                            loaded = Some(kernel);
                            next
                        }
                        Ok(Stage::Judged(judgement)) => Answer::Judged(judgement),
                        Err(error) => Answer::Error(error),
                    }
                }
            },
        };
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, &answer)?;
        writeln!(out)?;
        out.flush()?;
    }
    Ok(None)
}
