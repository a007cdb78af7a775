//! `warpsmith inspect`: what a user's own kernel costs on each architecture.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_case::{Case, Source, StaticCost, known_architectures};
use warpsmith_device::{Nvrtc, cuda_devices};

use crate::exit::Outcome;
use crate::global::Global;
use crate::inputs;
use crate::kernel::verify::case::explain;
use crate::output;
use crate::table::Table;

/// Show registers, shared memory and occupancy per architecture.
///
/// The stack, the instructions and what limits the occupancy are shown too. Needs NVRTC and no GPU.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith inspect softmax.toml\n  warpsmith inspect softmax.toml --arch sm_90 --arch sm_120"
)]
pub(crate) struct Inspect {
    /// The case of a `.cu` file.
    case: PathBuf,
    /// Architectures, `sm_90`; those of the GPUs here and four common ones where none is given.
    #[arg(long = "arch", value_name = "ARCH", value_parser = parse_architecture)]
    architectures: Vec<u32>,
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
    /// What follows, by architecture.
    sentences: Vec<(u32, String)>,
}

impl Inspect {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_case(&self.case)?;
        let case = Case::open(&self.case)?;
        if !matches!(case.source, Source::Cuda(_)) {
            bail!(
                "{}: only a `.cu` file is compiled for several architectures",
                self.case.display()
            );
        }
        let choice = case.first_choice();
        let sizes = case.listed_sizes(&choice)?;
        let Some(size) = sizes.last() else {
            bail!("{}: no size satisfies the constraints", self.case.display());
        };
        let nvrtc = Nvrtc::find()?;
        let mut architectures = self.architectures.clone();
        if architectures.is_empty() {
            let here = cuda_devices().unwrap_or_default();
            architectures.extend(here.iter().map(|gpu| gpu.sm()));
            architectures.extend([80, 89, 90, 120]);
            architectures.sort_unstable();
            architectures.dedup();
        }
        let mut body = Body {
            case: self.case.display().to_string(),
            costs: Vec::new(),
            refused: Vec::new(),
            sentences: Vec::new(),
        };
        let mut failed = None;
        for sm in architectures {
            match case.static_cost(&nvrtc, sm, size, &choice) {
                Ok(cost) => {
                    body.sentences
                        .extend(cost.sentences().into_iter().map(|sentence| (sm, sentence)));
                    body.costs.push(cost);
                }
                Err(fault) => {
                    body.refused.push((sm, fault.to_string()));
                    failed = Some(fault);
                }
            }
        }
        if let (true, Some(fault)) = (body.costs.is_empty(), failed) {
            return Err(explain(fault));
        }
        output::print(global, &output::report("inspect", body), describe)?;
        Ok(Outcome::Fine)
    }
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
    for (sm, sentence) in &body.sentences {
        text.push_str(&format!("\nsm_{sm}: {sentence}"));
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
