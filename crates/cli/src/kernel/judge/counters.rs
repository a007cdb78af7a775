//! Why slow kernels are slow: their launches under Nsight Compute, many to a process, because starting it
//! takes longer than counting a kernel.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpsmith_case::judge::{Candidate, Explanation, Judgement, KernelBench, Language, Outcome};
use warpsmith_case::{Case, Counters, Settings};
use warpsmith_console::exit;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_device::Device;
use warpsmith_measure::leak::process_tree::WatchedCommand;
use warpsmith_measure::profile::ncu;
use warpsmith_measure::profile::tool::Tool;

use super::session::Group;
use crate::kernel::nsight_compute;

/// Kernels of one process: what it counted is lost if it ends early.
const BATCH: usize = 64;
/// A kernel is slow if the fastest of its case takes less than this share of its time.
const SLOW: f64 = 0.9;
/// Sentences of a kernel: more are not read.
const TOLD: usize = 3;
/// A process that says nothing for so long is lost: it compiles and repeats one kernel meanwhile.
const SILENCE: Duration = Duration::from_secs(180);

/// A launch that is to be counted: a line to the process.
#[derive(Serialize, Deserialize)]
struct Wanted {
    case: PathBuf,
    candidate: Candidate,
    seed: u64,
    seconds: f64,
}

/// A launch that was counted, or was not: a line from it.
#[derive(Serialize, Deserialize)]
struct Counted {
    id: String,
    /// What the case makes the kernel move.
    bytes: Result<u64, String>,
}

/// Which kernels are right, timed and slow, and have not been counted.
fn slow<'a>(groups: &[Group<'a>], judgements: &[Judgement]) -> Vec<(PathBuf, &'a Candidate)> {
    let by_id: HashMap<&str, &Judgement> = judgements
        .iter()
        .map(|one| (one.id.as_str(), one))
        .collect();
    let speed = |candidate: &Candidate| match &by_id.get(candidate.id.as_str())?.outcome {
        Outcome::Correct { speed, .. } => speed.map(|speed| speed.speedup),
        _ => None,
    };
    let mut found = Vec::new();
    for group in groups {
        let speeds = group.members.iter().filter_map(|(one, _)| speed(one));
        // The case's own kernel has a speed of one.
        let best = speeds.fold(1.0, f64::max);
        for (candidate, _) in &group.members {
            let counted = by_id.get(candidate.id.as_str());
            let is_open = counted.is_some_and(|one| one.limits.is_none());
            let text = candidate.text().unwrap_or_default();
            if is_open
                && candidate.language(&text) != Language::Python
                && speed(candidate).is_some_and(|speed| speed < SLOW * best)
            {
                found.push((group.case.clone(), *candidate));
            }
        }
    }
    found
}

/// Counts the slow kernels and writes what follows into their judgements, batch by batch. Gives what is to
/// be said where that is not possible.
pub(super) fn explain_slow(
    global: &Global,
    groups: &[Group<'_>],
    (seed, seconds): (u64, f64),
    judgements: &mut [Judgement],
    keep: &mut dyn FnMut(&[Judgement]) -> Result<()>,
) -> Result<Option<String>> {
    let slow = slow(groups, judgements);
    if slow.is_empty() {
        return Ok(None);
    }
    let Some(ncu) = Tool::Ncu.find() else {
        return Ok(Some(nsight_compute::NOT_INSTALLED.to_owned()));
    };
    let mut done = 0;
    for batch in slow.chunks(BATCH) {
        output::progress(
            global,
            &format!("counters of slow kernels, {done} of {}", slow.len()),
        );
        let wanted = batch.iter().map(|(case, candidate)| Wanted {
            case: case.clone(),
            candidate: (*candidate).clone(),
            seed,
            seconds,
        });
        let wanted: Vec<Wanted> = wanted.collect();
        let explained = match count(global, &ncu, &wanted)? {
            Ok(explained) => explained,
            Err(why) => return Ok(Some(why)),
        };
        for judgement in judgements.iter_mut() {
            if let Some(explanation) = explained.get(&judgement.id) {
                judgement.limits = Some(explanation.clone());
            }
        }
        keep(judgements)?;
        done += batch.len();
    }
    Ok(None)
}

/// Explanations by candidate, or why there are none.
fn count(
    global: &Global,
    ncu: &Path,
    wanted: &[Wanted],
) -> Result<Result<HashMap<String, Explanation>, String>> {
    let folder = tempfile::tempdir()?;
    let (list, log) = (folder.path().join("wanted"), folder.path().join("counters"));
    let mut file = std::fs::File::create(&list)?;
    for one in wanted {
        writeln!(file, "{}", serde_json::to_string(one)?)?;
    }
    drop(file);
    let mut command = nsight_compute::command(ncu);
    let own = global.host.command()?;
    command
        .args(["--profile-from-start=off", "--log-file"])
        .arg(&log)
        .arg(own.get_program())
        .args(own.get_args())
        .arg("judge")
        .arg(&list)
        .args(["--counting-worker", "--device", &global.device.to_string()]);
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (mut process, stdout) =
        WatchedCommand::start(&words, true).context("cannot start `ncu`")?;
    let (send, lines) = channel();
    if let Some(stdout) = stdout {
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| drop(send.send(line)));
        });
    }
    let mut launched = Vec::new();
    loop {
        match lines.recv_timeout(SILENCE) {
            // `ncu` itself may print beside the process.
            Ok(line) => launched.extend(serde_json::from_str::<Counted>(&line).ok()),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                return Ok(Err(format!(
                    "no counters: `ncu` said nothing for {} s",
                    SILENCE.as_secs()
                )));
            }
        }
    }
    while process.ended()?.is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    if let Some(why) = nsight_compute::refusal(&text) {
        return Ok(Err(why.to_owned()));
    }
    let counters = Counters::of_launches(&ncu::read(&text).unwrap_or_default());
    let launches: Vec<(String, u64)> = launched
        .into_iter()
        .filter_map(|one| Some((one.id, one.bytes.ok()?)))
        .collect();
    if launches.is_empty() || counters.len() != launches.len() {
        let last = text.lines().rfind(|line| line.starts_with("=="));
        return Ok(Err(format!(
            "no counters: `ncu` counted {} launches of {} ({})",
            counters.len(),
            launches.len(),
            last.unwrap_or("it printed nothing")
        )));
    }
    let explained = launches.into_iter().zip(counters);
    Ok(Ok(explained
        .map(|((id, bytes), counters)| {
            let sentences = counters.sentences(bytes).into_iter().take(TOLD);
            let explanation = Explanation {
                sentences: sentences.map(|(_, sentence)| sentence).collect(),
                counters,
            };
            (id, explanation)
        })
        .collect()))
}

/// The process under `ncu`: launches each kernel of a list once where the profiler looks.
pub(super) fn work(global: &Global, list: &Path) -> Result<exit::Outcome> {
    let device = Device::open(global.device)?;
    let text = std::fs::read_to_string(list)
        .with_context(|| format!("cannot read `{}`", list.display()))?;
    for line in text.lines() {
        let wanted: Wanted = serde_json::from_str(line)?;
        let answer = Counted {
            id: wanted.candidate.id.clone(),
            bytes: launch(&device, &wanted),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(exit::Outcome::Fine)
}

fn launch(device: &Device, wanted: &Wanted) -> Result<u64, String> {
    let case = Case::open(&wanted.case).map_err(|error| error.to_string())?;
    let limit = Duration::try_from_secs_f64(wanted.seconds).map_err(|error| error.to_string())?;
    let settings = Settings {
        limit,
        ..Settings::default()
    };
    let bench = KernelBench::new(&case, device, wanted.seed, settings);
    let mut bench = bench.map_err(|fault| fault.to_string())?;
    bench.launch_counted(&wanted.candidate)
}
