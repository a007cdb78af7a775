//! `warpsmith inspect`: what a user's own kernel costs on each architecture, and what limits it on a GPU.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_case::{
    Case, CodeLine, Counters, Scope, Source, StaticCost, TunableValue, known_architectures,
    read_cuda_source,
};
use warpsmith_device::{DeviceChoice, Nvrtc, cuda_devices};
use warpsmith_measure::profile::helper_kernels::is_helper;
use warpsmith_measure::profile::ncu;
use warpsmith_measure::profile::tool::Tool;

use crate::kernel::nsight_compute;
use crate::kernel::verify::case::{explain, one_check_command};
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Sentences that are told: more are not read.
const TOLD: usize = 5;
/// Lines of the source that are shown.
const LINES: usize = 12;

/// Show what your kernel costs on each architecture.
///
/// Registers, stack, shared memory, occupancy and its limiter; instructions by line; loads and stores that
/// touch more memory than they need. Needs NVRTC and no GPU. With a GPU and Nsight Compute (`ncu`) counters follow: which roof is near, what
/// warps wait for, hit rates, bank conflicts, the tail of the grid. At most five sentences, the largest gain
/// first, each with its evidence.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith inspect softmax.toml\n  warpsmith inspect softmax.toml --arch sm_90 --arch sm_120"
)]
pub(crate) struct Inspect {
    /// The case of a `.cu` file.
    case: PathBuf,
    /// Architectures, `sm_90`; default: those of the GPUs here, and four common ones.
    #[arg(long = "arch", value_name = "ARCH", value_parser = parse_architecture)]
    architectures: Vec<u32>,
    /// Set a tunable of the case, `name=value`; default: the first values.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting)]
    settings: Vec<(String, String)>,
    /// Do not run the kernel under Nsight Compute.
    #[arg(long)]
    no_counters: bool,
}

fn parse_architecture(text: &str) -> Result<u32, String> {
    let sm = text.strip_prefix("sm_").unwrap_or(text).parse().ok();
    sm.filter(|sm| known_architectures().any(|known| known == *sm))
        .ok_or_else(|| {
            let known: Vec<String> = known_architectures().map(|sm| format!("sm_{sm}")).collect();
            format!("`{text}` is not known; there are {}", known.join(", "))
        })
}

#[derive(Serialize)]
struct Body {
    case: String,
    costs: Vec<StaticCost>,
    /// Architectures that the compiler here does not have, or that the kernel does not compile for.
    refused: Vec<(u32, String)>,
    /// The counters of one launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counters>,
    /// What follows: where it was seen, and the sentence.
    sentences: Vec<(String, String)>,
    #[serde(skip)]
    source: Vec<String>,
}

impl Inspect {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_case(&self.case)?;
        let case = Case::open(&self.case)?;
        let Source::Cuda(file) = &case.source else {
            bail!(
                "{}: only a `.cu` file is compiled for several architectures",
                self.case.display()
            );
        };
        let choice = case
            .choice_with(case.first_choice(), &self.settings)
            .map_err(anyhow::Error::msg)?;
        let sizes = case.listed_sizes(&choice)?;
        let Some(size) = sizes.last() else {
            bail!("{}: no size satisfies the constraints", self.case.display());
        };
        let nvrtc = Nvrtc::find()?;
        let mut architectures = self.architectures.clone();
        let here = cuda_devices().unwrap_or_default();
        if architectures.is_empty() {
            architectures.extend(here.iter().map(|gpu| gpu.sm()));
            architectures.extend([80, 89, 90, 120]);
            architectures.sort_unstable();
            architectures.dedup();
        }
        let text = read_cuda_source(file).unwrap_or_default();
        let mut body = Body {
            case: self.case.display().to_string(),
            costs: Vec::new(),
            refused: Vec::new(),
            counters: None,
            sentences: Vec::new(),
            source: text.lines().map(str::to_owned).collect(),
        };
        let mut failed = None;
        for sm in architectures {
            match case.static_cost(&nvrtc, sm, size, &choice) {
                Ok(cost) => body.costs.push(cost),
                Err(fault) => {
                    body.refused.push((sm, fault.to_string()));
                    failed = Some(fault);
                }
            }
        }
        if let (true, Some(fault)) = (body.costs.is_empty(), failed) {
            return Err(explain(fault));
        }
        if !here.is_empty() && !self.no_counters && global.device != DeviceChoice::Cpu {
            let symbol = body.costs[0].kernel.clone();
            body.counters = count(global, &case, &choice, size, &symbol)?;
        }
        let bytes = case.bytes(size, &choice);
        body.sentences = sentences(&body.costs, body.counters.as_ref(), bytes);
        output::print(global, &output::report("inspect", body), describe)?;
        Ok(Outcome::Fine)
    }
}

/// One launch under Nsight Compute; `None` where that is not possible, which is said.
fn count(
    global: &Global,
    case: &Case,
    choice: &[(String, TunableValue)],
    size: &Scope,
    symbol: &str,
) -> Result<Option<Counters>> {
    let Some(ncu) = Tool::Ncu.find() else {
        output::note(global, nsight_compute::NOT_INSTALLED);
        return Ok(None);
    };
    let (place, _) = global.device.resolve()?;
    let Some(check) = one_check_command(global, case, choice, size, place, 1)? else {
        output::note(
            global,
            "no counters: the last size is too large for one check",
        );
        return Ok(None);
    };
    output::progress(global, "counters");
    let output = nsight_compute::command(&ncu)
        .arg("--launch-count=1")
        .args(["--kernel-name-base=mangled", "--kernel-name", symbol])
        .arg(check.get_program())
        .args(check.get_args())
        .stdin(Stdio::null())
        .output()
        .context("cannot start `ncu`")?;
    output::progress(global, "");
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(why) = nsight_compute::refusal(&text) {
        output::note(global, why);
        return Ok(None);
    }
    let counters = ncu::read(&text)
        .ok()
        .and_then(|metrics| Counters::of(&metrics, |name| !is_helper(name)));
    if counters.is_none() {
        let last = text.lines().rfind(|line| line.starts_with("=="));
        let last = last.unwrap_or("it printed nothing").to_owned();
        output::note(
            global,
            &format!("no counters: `ncu` counted no launch ({last})"),
        );
    }
    Ok(counters)
}

/// The most worthwhile ones: those of counters first, which were seen, then those of the code.
fn sentences(
    costs: &[StaticCost],
    counters: Option<&Counters>,
    bytes: u64,
) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    if let Some(counters) = counters {
        let counted = counters.sentences(bytes).into_iter();
        said.extend(counted.map(|(_, sentence)| ("counters".to_owned(), sentence)));
    }
    for cost in costs {
        for sentence in cost.sentences() {
            let place = format!("sm_{}", cost.sm);
            match said.iter_mut().find(|(_, known)| *known == sentence) {
                Some((places, _)) => *places = format!("{places}, {place}"),
                None => said.push((place, sentence)),
            }
        }
    }
    said.truncate(TOLD);
    said
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&[
        "arch",
        ">threads",
        ">registers",
        ">stack",
        ">shared",
        ">instructions",
        ">blocks",
        ">occupancy",
    ]);
    for cost in &body.costs {
        table.row([
            format!("sm_{}", cost.sm),
            cost.threads.to_string(),
            cost.registers.to_string(),
            format!("{} B", cost.stack_bytes),
            format!("{} + {} B", cost.shared_bytes.0, cost.shared_bytes.1),
            cost.instructions.to_string(),
            cost.occupancy
                .as_ref()
                .map_or("-".into(), |one| one.blocks.to_string()),
            cost.occupancy
                .as_ref()
                .map_or("-".into(), |one| format!("{:.0} %", 100.0 * one.share())),
        ]);
    }
    let mut text = table.to_string();
    if let Some(cost) = body.costs.last() {
        text.push_str(&by_line(cost, &body.source));
    }
    for (place, sentence) in &body.sentences {
        text.push_str(&format!("\n{place}: {sentence}"));
    }
    for (sm, reason) in &body.refused {
        text.push_str(&format!(
            "\nsm_{sm}: {}",
            reason.lines().next().unwrap_or_default()
        ));
    }
    text.push('\n');
    text
}

/// The lines with most instructions.
fn by_line(cost: &StaticCost, source: &[String]) -> String {
    let mut lines: Vec<&CodeLine> = cost.lines.iter().filter(|line| line.line > 0).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.mix.all));
    lines.truncate(LINES);
    lines.sort_by_key(|line| line.line);
    let mut table = Table::new(&[
        ">line", ">all", ">global", ">shared", ">local", ">float", ">special", ">integer", "source",
    ]);
    for CodeLine { line, mix } in lines {
        let words = source
            .get(*line as usize - 1)
            .map_or("", |text| text.trim());
        table.row([
            line.to_string(),
            mix.all.to_string(),
            (mix.global + mix.atomic).to_string(),
            mix.shared.to_string(),
            mix.local.to_string(),
            (mix.float + mix.tensor).to_string(),
            mix.special.to_string(),
            mix.integer.to_string(),
            words.chars().take(60).collect(),
        ]);
    }
    let what = match cost.machine_code {
        true => "machine code",
        false => "PTX; `pip install nvidia-cuda-nvdisasm` shows machine code",
    };
    format!("\ninstructions by line, sm_{} ({what})\n{table}", cost.sm)
}
