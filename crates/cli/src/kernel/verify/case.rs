//! The part of `warpsmith verify` that is about a user's own kernel: a case, checked size by size.
//!
//! On a GPU the checks run in a second process: a kernel that faults or never ends costs that
//! process, and the next one goes on behind it.

use std::io::{BufRead, BufReader, Write, stdout};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use warpsmith_case::{
    Case, Check, Fault, Plan, Scope, Settings, Source, StatedTolerance, TunableValue, Verdict,
    Verification, Verifier, check_binary_source, check_code, check_device, compile_cuda, judge,
    size_words,
};
use warpsmith_core::Severity;
use warpsmith_device::{Device, DeviceChoice, Nvrtc, Target};

use super::sanitizer;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Processes that may be lost before the rest is given up.
const MOST_LOST: usize = 4;
/// Seconds that a launch may take in a check before a measurement.
const ONE_CHECK_LIMIT: f64 = 20.0;

/// What the command line says about a verification.
pub(super) struct Request<'a> {
    pub(super) file: &'a Path,
    pub(super) plan: Plan,
    /// Whether the user says how many inputs each size gets.
    pub(super) inputs_given: bool,
    pub(super) limit: f64,
    /// The checks to do, where this is the second process: from here on, at most so many.
    pub(super) worker: Option<(usize, usize)>,
    /// Whether races of shared memory are looked for with compute-sanitizer.
    pub(super) races: bool,
    /// Whether compute-sanitizer watches: no guard zones, lines in the code.
    pub(super) watched: bool,
    /// Only these sizes, before a measurement; all where there are none.
    pub(super) only: Vec<Scope>,
    /// Values of tunables that replace the first ones.
    pub(super) settings: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Body {
    case: String,
    kernel: Option<String>,
    device: String,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<StatedTolerance>,
    #[serde(flatten)]
    verification: Verification,
    /// Sizes that got one input because they are large.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    one_input: Vec<String>,
    /// Checks that were not done, because too many processes were lost before.
    not_checked: usize,
}

/// A line of the second process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Check(Box<Check>),
    /// The check of this number again, with warps held back.
    Order(usize, Box<Check>),
    Error(String),
    End {
        notes: Vec<String>,
    },
}

pub(super) fn run(global: &Global, request: &Request<'_>) -> Result<Outcome> {
    let case = Case::open(request.file)?;
    let choice = case
        .choice_with(case.first_choice(), &request.settings)
        .map_err(anyhow::Error::msg)?;
    let mut sizes = case.verification_sizes(&choice)?;
    if !request.only.is_empty() {
        sizes.sizes.retain(|size| request.only.contains(size));
    }
    if sizes.sizes.is_empty() {
        bail!(
            "{}: no size satisfies the constraints",
            request.file.display()
        );
    }
    let settings = Settings {
        limit: Duration::try_from_secs_f64(request.limit)?,
        guards: !request.watched,
        line_info: request.watched,
        delays: false,
    };
    let rounds = Verifier::rounds(&request.plan);
    let is_large = |size: &Scope| !request.inputs_given && case.is_large(size, &choice);
    let jobs: Vec<Job<'_>> = sizes
        .sizes
        .iter()
        .flat_map(|size| {
            let count = if is_large(size) { 1 } else { rounds.len() };
            rounds[..count].iter().map(move |round| (size, *round))
        })
        .collect();
    if let Some((from, count)) = request.worker {
        let device = Device::open(global.device)?;
        let few = request.watched || !request.only.is_empty();
        let mut order = match few || device.vulkan().is_some() {
            true => Vec::new(),
            false => race_checks(&case, &choice, &jobs),
        };
        order.retain(|at| (from..from.saturating_add(count)).contains(at));
        let order: Vec<_> = order.into_iter().map(|at| (at, jobs[at])).collect();
        let jobs: Vec<Job<'_>> = jobs.into_iter().skip(from).take(count).collect();
        return work(&case, &choice, &device, settings, &jobs, &order);
    }
    // The process that runs the kernel opens the GPU; a second context here would cost half a second.
    let (place, name) = global.device.resolve()?;
    check_device(&case.source, place)?;
    let on_gpu = matches!(place, DeviceChoice::Cuda(_) | DeviceChoice::Vulkan(_));
    let needs_gpu = !matches!(case.source, Source::Warp(_) | Source::Callable(_));
    if !on_gpu && needs_gpu {
        return without_gpu(global, &case);
    }
    let words = |size: &Scope| size_words(size, &case.sizes.names);
    let mut body = Body {
        case: request.file.display().to_string(),
        kernel: case.kernel.clone(),
        device: name,
        seed: request.plan.seed,
        tolerance: case.tolerance.clone(),
        verification: Verification {
            compared: case.reference.is_some(),
            too_large: sizes.too_large.iter().map(words).collect(),
            ..Verification::default()
        },
        one_input: match rounds.len() {
            1 => Vec::new(),
            _ => {
                let large = sizes.sizes.iter().filter(|size| is_large(size));
                large.map(words).collect()
            }
        },
        not_checked: 0,
    };
    let mut sanitized = None;
    if on_gpu && !matches!(case.source, Source::Callable(_)) {
        let mut lost = 0;
        while body.verification.checks.len() < jobs.len() {
            let done = body.verification.checks.len();
            let command = worker_command(global, request, place, done, usize::MAX, false)?;
            let ended = second_process(global, command, request.limit, &mut body.verification)?;
            if ended {
                break;
            }
            lost += 1;
            if body.verification.checks.len() == done {
                let (size, round) = jobs[done];
                let check = lost_check(&case, size, round);
                body.verification.checks.push(check);
            }
            if lost >= MOST_LOST {
                break;
            }
        }
        let faulty = body.verification.checks.iter().position(|check| {
            matches!(
                check.verdict,
                Verdict::OutOfBounds { .. }
                    | Verdict::Fault {
                        never_ended: false,
                        ..
                    }
            )
        });
        // What follows is compute-sanitizer's, which knows CUDA alone.
        let on_cuda = matches!(place, DeviceChoice::Cuda(_));
        let mut racing = match request.races && faulty.is_none() && on_cuda {
            true => race_checks(&case, &choice, &jobs),
            false => Vec::new(),
        };
        racing.retain(|at| *at < body.verification.checks.len());
        for at in racing {
            output::progress(global, "races");
            let command = || worker_command(global, request, place, at, 1, true);
            match sanitizer::races(command) {
                None => {
                    output::note(
                        global,
                        "no races looked for: compute-sanitizer is not installed",
                    );
                    break;
                }
                Some(None) => {}
                Some(Some((reason, span))) => {
                    body.verification.checks[at].verdict = Verdict::Race {
                        reason: reason.clone(),
                    };
                    sanitized = Some((reason, span));
                    break;
                }
            }
        }
        if let Some(at) = faulty.filter(|_| on_cuda) {
            sanitized = sanitizer::look(|| worker_command(global, request, place, at, 1, true));
        }
    } else {
        let device = Device::open(place)?;
        let mut verifier = Verifier::prepare(&case, &choice, &device, settings).map_err(explain)?;
        verifier.look_ahead(jobs.iter().copied()).map_err(explain)?;
        for (size, (seed, round, special)) in &jobs {
            output::progress(global, &size_words(size, &case.sizes.names));
            let check = verifier
                .check(size, *seed, *round, *special)
                .map_err(explain)?;
            body.verification.checks.push(check);
        }
        body.verification.notes = verifier.notes.clone();
    }
    output::progress(global, "");
    body.not_checked = jobs.len() - body.verification.checks.len();
    let mut findings = judge(&case.name(), &body.verification);
    if let Some((seen, line)) = sanitized
        && let Some(finding) = findings
            .iter_mut()
            .find(|one| matches!(one.code.as_str(), "C003" | "C006" | "C008"))
    {
        *finding = finding.clone().because("compute-sanitizer", seen);
        finding.span = line;
    }
    let fine = findings
        .iter()
        .all(|finding| finding.severity < Severity::Error)
        && body.not_checked == 0;
    let mut report = output::report("verify", body);
    report.findings = findings;
    output::print(global, &report, describe)?;
    Ok(Outcome::fine_if(fine))
}

/// The checks that are repeated to look for races: the first input of each size where they may show.
fn race_checks(case: &Case, choice: &[(String, TunableValue)], jobs: &[Job<'_>]) -> Vec<usize> {
    let sizes: Vec<Scope> = jobs.iter().map(|(size, _)| (*size).clone()).collect();
    let racing = case.race_sizes(&sizes, choice);
    let first = |size: &Scope| jobs.iter().position(|(one, _)| *one == size);
    racing.iter().filter_map(first).collect()
}

/// The command that checks a case at one size with one input; `None` where the size is too large for a
/// reference.
pub(crate) fn one_check_command(
    global: &Global,
    case: &Case,
    choice: &[(String, TunableValue)],
    size: &Scope,
    place: DeviceChoice,
    seed: u64,
) -> Result<Option<Command>> {
    let sizes = case.verification_sizes(choice)?.sizes;
    let Some(at) = sizes.iter().position(|one| one == size) else {
        return Ok(None);
    };
    let request = one_input_each(case, choice, seed, Vec::new());
    worker_command(global, &request, place, at, 1, false).map(Some)
}

fn one_input_each<'c>(
    case: &'c Case,
    choice: &[(String, TunableValue)],
    seed: u64,
    only: Vec<Scope>,
) -> Request<'c> {
    Request {
        file: &case.file,
        plan: Plan {
            inputs: 1,
            seed,
            special: false,
        },
        inputs_given: true,
        limit: ONE_CHECK_LIMIT,
        worker: None,
        races: false,
        watched: false,
        only,
        settings: settings_of(choice),
    }
}

/// The checks of these sizes with a choice of tunables, one input each, in a process of their own: a kernel
/// that faults or never ends costs that process, and the next one goes on behind it. Sizes that are too
/// large for a reference are not among them.
pub(crate) fn check_apart(
    global: &Global,
    case: &Case,
    choice: &[(String, TunableValue)],
    only: Vec<Scope>,
    place: DeviceChoice,
    seed: u64,
) -> Result<Vec<Check>> {
    let mut sizes = case.verification_sizes(choice)?.sizes;
    sizes.retain(|size| only.contains(size));
    let request = one_input_each(case, choice, seed, only);
    let mut verification = Verification::default();
    let mut lost = 0;
    while verification.checks.len() < sizes.len() && lost < MOST_LOST {
        let done = verification.checks.len();
        let command = worker_command(global, &request, place, done, usize::MAX, false)?;
        if second_process(global, command, ONE_CHECK_LIMIT, &mut verification)? {
            break;
        }
        lost += 1;
        if verification.checks.len() == done {
            verification
                .checks
                .push(lost_check(case, &sizes[done], (seed, 0, false)));
        }
    }
    Ok(verification.checks)
}

/// A choice as `--set` takes it.
fn settings_of(choice: &[(String, TunableValue)]) -> Vec<(String, String)> {
    let pairs = choice.iter();
    pairs
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
}

/// The check of a process that ended before it could say something.
fn lost_check(case: &Case, size: &Scope, (seed, round, special): (u64, usize, bool)) -> Check {
    Check {
        size: size_words(size, &case.sizes.names),
        dimensions: size.clone(),
        seed,
        round,
        special,
        verdict: Verdict::Fault {
            reason: "the process that ran it ended without a word".into(),
            never_ended: false,
        },
    }
}

/// A kernel that needs a GPU, on a machine without: what can be said is whether it compiles.
pub(crate) fn without_gpu(global: &Global, case: &Case) -> Result<Outcome> {
    if std::env::var_os("WARPSMITH_REQUIRE_GPU").is_some_and(|value| value == "1") {
        bail!(
            "`{}` needs a GPU, and WARPSMITH_REQUIRE_GPU=1 promised one",
            case.file.display()
        );
    }
    if let (Source::Cuda(path), Ok(nvrtc)) = (&case.source, Nvrtc::find()) {
        // The oldest architecture that every NVRTC has and none warns about.
        let target = Target::Ptx(75);
        match compile_cuda(case, &case.first_choice(), &nvrtc, target, &[]) {
            Ok(compiled) => {
                check_code(case, &compiled.compiled.code).map_err(explain)?;
                let host = if compiled.without_host_code {
                    ", without its host code"
                } else {
                    ""
                };
                output::note(global, &format!("`{}` compiles{host}", path.display()));
            }
            Err(fault) => return Err(explain(fault)),
        }
    }
    check_binary_source(case).map_err(explain)?;
    output::note(
        global,
        "the kernel needs a GPU to run; there is none here, or `--device cpu` was given",
    );
    Ok(Outcome::CannotHere)
}

/// A fault as the program's own error, with the device's hint kept.
pub(crate) fn explain(fault: Fault) -> anyhow::Error {
    match fault {
        Fault::Device(error) => error.into(),
        other => other.into(),
    }
}

type Job<'a> = (&'a Scope, (u64, usize, bool));

/// The second process: one line for each check.
fn work(
    case: &Case,
    choice: &[(String, TunableValue)],
    device: &Device,
    settings: Settings,
    jobs: &[Job<'_>],
    order: &[(usize, Job<'_>)],
) -> Result<Outcome> {
    let say = |line: &Line| -> Result<()> {
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, line)?;
        writeln!(out)?;
        Ok(out.flush()?)
    };
    let prepared = Verifier::prepare(case, choice, device, settings).and_then(|mut verifier| {
        verifier.look_ahead(jobs.iter().copied())?;
        Ok(verifier)
    });
    let mut verifier = match prepared {
        Ok(verifier) => verifier,
        Err(fault) => {
            say(&Line::Error(fault.to_string()))?;
            return Ok(Outcome::NotFine);
        }
    };
    let mut all_right = true;
    for (size, (seed, round, special)) in jobs {
        match verifier.check(size, *seed, *round, *special) {
            Ok(check) => {
                all_right &= check.verdict.is_right();
                let over = matches!(check.verdict, Verdict::Fault { .. });
                say(&Line::Check(Box::new(check)))?;
                if over {
                    // The context may be of no more use: the next process goes on.
                    return Ok(Outcome::NotFine);
                }
            }
            Err(fault) => {
                say(&Line::Error(fault.to_string()))?;
                return Ok(Outcome::NotFine);
            }
        }
    }
    for (at, (size, (seed, ..))) in order.iter().filter(|_| all_right) {
        if let Ok(Some(check)) = verifier.check_order(device, settings, size, *seed) {
            say(&Line::Order(*at, Box::new(check)))?;
            break;
        }
    }
    say(&Line::End {
        notes: verifier.notes.clone(),
    })?;
    Ok(Outcome::Fine)
}

fn worker_command(
    global: &Global,
    request: &Request<'_>,
    place: DeviceChoice,
    from: usize,
    count: usize,
    watched: bool,
) -> Result<Command> {
    let mut command = global
        .host
        .command()
        .context("cannot start the program again")?;
    let plan = &request.plan;
    command.arg("verify").arg(request.file);
    if request.inputs_given {
        command.args(["--inputs", &plan.inputs.to_string()]);
    }
    command.args(["--seed", &plan.seed.to_string()]);
    command.args(["--limit", &request.limit.to_string()]);
    command.args(["--device", &place.to_string()]);
    command.args(["--worker", &format!("{from},{count}")]);
    if plan.special {
        command.arg("--special");
    }
    if watched {
        command.arg("--watched");
    }
    for size in &request.only {
        let pairs: Vec<String> = size.iter().map(|(name, n)| format!("{name}={n}")).collect();
        command.arg(format!("--only={}", pairs.join(",")));
    }
    for (name, value) in &request.settings {
        // One word: the name of a compiler's option begins with a hyphen itself.
        command.arg(format!("--set={name}={value}"));
    }
    Ok(command)
}

/// Takes the checks of another process; whether it came to the end.
fn second_process(
    global: &Global,
    mut command: Command,
    limit: f64,
    verification: &mut Verification,
) -> Result<bool> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process that runs the kernel")?;
    let Some(out) = child.stdout.take() else {
        bail!("the process that runs the kernel has no output");
    };
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    // Its own watchdog ends a kernel; this one is for a process that does not even do that.
    let patience = Duration::from_secs_f64(4.0 * limit + 300.0);
    let mut ended = false;
    while let Ok(line) = lines.recv_timeout(patience) {
        match serde_json::from_str(&line) {
            Ok(Line::Check(check)) => {
                output::progress(global, &check.size);
                verification.checks.push(*check);
            }
            Ok(Line::Order(at, check)) => {
                if let Some(before) = verification.checks.get_mut(at) {
                    *before = *check;
                }
            }
            Ok(Line::Error(error)) => {
                let _ = child.kill();
                let _ = child.wait();
                bail!("{error}");
            }
            Ok(Line::End { notes }) => {
                verification.notes = notes;
                ended = true;
            }
            // What the kernel itself prints.
            Err(_) => output::note(global, &line),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Ok(ended)
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&[
        "size",
        ">inputs",
        "verdict",
        ">error / allowed",
        ">error / plain",
    ]);
    let checks = &body.verification.checks;
    let mut at = 0;
    while at < checks.len() {
        let size = &checks[at].size;
        let end = checks[at..]
            .iter()
            .position(|check| check.size != *size)
            .map_or(checks.len(), |n| at + n);
        let group = &checks[at..end];
        let (mut share, mut plain) = (0.0f64, None::<f64>);
        for check in group {
            let (Verdict::Right { outputs, .. } | Verdict::Wrong { outputs, .. }) = &check.verdict
            else {
                continue;
            };
            for output in outputs {
                share = share.max(output.share_of_allowed);
                plain = match (plain, output.error_over_plain) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    (a, b) => a.or(b),
                };
            }
        }
        let bad = group.iter().find(|check| !check.verdict.is_right());
        table.row([
            if size.is_empty() {
                "-".into()
            } else {
                size.clone()
            },
            group.len().to_string(),
            match bad {
                Some(check) => verdict_word(&check.verdict),
                None if body.verification.compared => "right",
                None => "not compared",
            }
            .to_owned(),
            match share > 1e3 {
                true => "> 1000".into(),
                false if body.verification.compared => format!("{share:.2}"),
                false => "-".into(),
            },
            plain.map_or("-".into(), |plain| format!("{plain:.2}")),
        ]);
        at = end;
    }
    let wrong = checks
        .iter()
        .filter(|check| !check.verdict.is_right())
        .count();
    let verdict = match body.verification.compared {
        true => format!("{} checks right, {wrong} not", checks.len() - wrong),
        false => format!(
            "{} checks ran, {wrong} failed, nothing to compare with",
            checks.len()
        ),
    };
    let mut text = format!(
        "{table}\nverify {}: {verdict}, on {}, seed {}\n",
        body.case, body.device, body.seed
    );
    match &body.tolerance {
        Some(stated) => text.push_str(&format!("tolerance: stated, because {}\n", stated.because)),
        None if body.verification.compared => {
            text.push_str(
                "tolerance: from rounding, the number of terms, and how far inputs move results\n",
            );
        }
        None => {}
    }
    for note in &body.verification.notes {
        text.push_str(&format!("reference: {note}\n"));
    }
    if !body.verification.too_large.is_empty() {
        text.push_str(&format!(
            "too large for a reference: {}\n",
            body.verification.too_large.join("; ")
        ));
    }
    if !body.one_input.is_empty() {
        text.push_str(&format!(
            "one input each, because they are large (`--inputs N` gives every size N): {}\n",
            body.one_input.join("; ")
        ));
    }
    if body.not_checked > 0 {
        text.push_str(&format!(
            "not checked after {MOST_LOST} lost processes: {}\n",
            body.not_checked
        ));
    }
    text
}

fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Right { .. } => "right",
        Verdict::Wrong { .. } => "WRONG",
        Verdict::StaleOutput { .. } => "STALE OUTPUT",
        Verdict::OutOfBounds { .. } => "OUT OF BOUNDS",
        Verdict::InputChanged { .. } => "INPUT CHANGED",
        Verdict::Race { .. } => "RACE",
        Verdict::Fault {
            never_ended: true, ..
        } => "NEVER ENDED",
        Verdict::Fault { .. } => "FAULT",
    }
}
