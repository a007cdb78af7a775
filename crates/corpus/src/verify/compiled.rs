//! The `compiled` level: NVRTC compiles the CUDA text of many pairs at once, and ptxas assembles it.
//!
//! Pairs of a batch become one translation unit, each in a namespace of its own and under a name of its
//! own, so that they cannot collide. A batch that fails is halved until the pair that does not compile
//! stands alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpsmith_compiler::launch_abi::nvrtc_options;
use warpsmith_compiler::runtime_header;
use warpsmith_device::{CompileOptions, DeviceError, Nvrtc, Target};

use super::keep::Keep;
use super::level::Check;
use super::machine_code::{KernelCost, MachineCode, costs_text};
use super::ptx_items::PtxItems;
use crate::record::Record;

/// What compiles and assembles.
#[derive(Debug)]
pub struct Toolchain {
    nvrtc: Nvrtc,
    /// The architectures to assemble for, ascending; the PTX is for the first.
    architectures: Vec<u32>,
    ptxas: Option<PathBuf>,
}

/// The NVRTC from which on compilation can be asked to be fast.
const FAST_COMPILE: (u32, u32) = (12, 9);

/// What one pair became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileReport {
    /// Whether it compiled, and was assembled where ptxas is.
    pub check: Check,
    /// PTX of its kernels, if it is kept.
    pub ptx: String,
    /// What its machine code costs, as JSON, if it is kept and ptxas is there.
    pub sass: String,
}

impl Toolchain {
    /// NVRTC as this machine has it, or at `library`; ptxas on the path. Without architectures, for
    /// sm_80.
    ///
    /// # Errors
    /// Where there is no NVRTC.
    pub fn find(library: Option<&Path>, architectures: &[u32]) -> Result<Self, DeviceError> {
        let nvrtc = match library {
            Some(path) => Nvrtc::open(path)?,
            None => Nvrtc::find()?,
        };
        let mut architectures = architectures.to_vec();
        if architectures.is_empty() {
            architectures.push(80);
        }
        architectures.sort_unstable();
        architectures.dedup();
        Ok(Self {
            nvrtc,
            architectures,
            ptxas: find_ptxas(),
        })
    }

    /// Whether PTX is assembled too.
    pub fn assembles(&self) -> bool {
        self.ptxas.is_some()
    }

    /// Uses this ptxas.
    #[must_use]
    pub fn with_ptxas(mut self, path: PathBuf) -> Self {
        self.ptxas = Some(path);
        self
    }

    /// Compiles to PTX. `quickly` leaves most of the optimiser out, which takes nine tenths of the time
    /// and refuses nothing; the PTX is several times as long, so that it is of no use to ptxas or to a
    /// reader.
    fn compile(&self, source: &str, quickly: bool) -> Result<String, String> {
        let (major, minor) = self.nvrtc.version();
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        let mut flags: Vec<String> = nvrtc_options(version)
            .into_iter()
            .map(str::to_owned)
            .collect();
        if quickly && version >= FAST_COMPILE {
            flags.push("--Ofast-compile=max".to_owned());
        }
        let options = CompileOptions {
            target: Target::Ptx(self.architectures[0]),
            flags,
            headers: Vec::new(),
        };
        let compiled = self
            .nvrtc
            .compile("corpus.cu", source, &options)
            .map_err(|error| error.to_string())?;
        compiled
            .ptx()
            .map(str::to_owned)
            .ok_or_else(|| "the PTX is not text".to_owned())
    }

    /// Assembles PTX for every architecture; gives the machine code for the first, where ptxas is.
    fn assemble(&self, ptx: &str) -> Result<Option<MachineCode>, String> {
        let Some(ptxas) = &self.ptxas else {
            return Ok(None);
        };
        let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        file.write_all(ptx.as_bytes())
            .map_err(|error| error.to_string())?;
        let code = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let mut first = None;
        for architecture in &self.architectures {
            let output = Command::new(ptxas)
                .arg(format!("-arch=sm_{architecture}"))
                .args(["-v", "-o"])
                .args([code.path(), file.path()])
                .output()
                .map_err(|error| format!("cannot run `{}`: {error}", ptxas.display()))?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if !output.status.success() {
                return Err(said);
            }
            if first.is_none() {
                let cubin = std::fs::read(code.path()).map_err(|error| error.to_string())?;
                let read = MachineCode::of(&cubin, said);
                first = Some(read.ok_or("ptxas wrote what is no machine code")?);
            }
        }
        Ok(first)
    }
}

fn find_ptxas() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join("ptxas"))
        .find(|path| path.is_file())
}

/// Compiles the CUDA texts of `records` together.
pub fn compile_batch(
    toolchain: &Toolchain,
    records: &[Record],
    keep: &[Keep],
) -> Vec<CompileReport> {
    let mut reports = vec![CompileReport::default(); records.len()];
    let mut within = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let missing = runtime_header::missing(&record.cuda);
        if missing.is_empty() {
            within.push(position);
        } else {
            let reason = format!("the runtime header lacks {}", missing.join(", "));
            reports[position].check = Check::Skipped(reason);
        }
    }
    compile_part(toolchain, records, &within, keep, &mut reports);
    reports
}

/// A pair's kernel under a name that no other pair of the batch has.
fn unit_name(record: &Record, position: usize) -> String {
    format!("{}_p{position}_cuda", record.draft.kernel)
}

fn compile_part(
    toolchain: &Toolchain,
    records: &[Record],
    part: &[usize],
    keep: &[Keep],
    reports: &mut [CompileReport],
) {
    if part.is_empty() {
        return;
    }
    let mut body = String::new();
    for position in part {
        let record = &records[*position];
        let written = format!("{}_HASH_cuda", record.draft.kernel);
        body.push_str(&format!("namespace pair_{position} {{\n"));
        body.push_str(&record.cuda.replace(&written, &unit_name(record, *position)));
        body.push_str("}\n");
    }
    let source = runtime_header::prologue(&body) + &body;
    let quickly = !toolchain.assembles() && !keep.contains(&Keep::Ptx);
    let outcome = toolchain
        .compile(&source, quickly)
        .and_then(|ptx| toolchain.assemble(&ptx).map(|code| (ptx, code)));
    match outcome {
        Ok((ptx, code)) => {
            let items = keep.contains(&Keep::Ptx).then(|| PtxItems::of(&ptx));
            for position in part {
                let record = &records[*position];
                let unit = unit_name(record, *position);
                let passes = ["forward", "backward"];
                let kernels = passes.map(|pass| format!("{unit}_kernel_{pass}"));
                let report = &mut reports[*position];
                report.check = Check::Passed;
                if let Some(items) = &items {
                    // Under the name that the CUDA text has.
                    let written = format!("{}_HASH_cuda", record.draft.kernel);
                    report.ptx = items.module(&kernels).replace(&unit, &written);
                }
                if let (true, Some(code)) = (keep.contains(&Keep::Sass), &code) {
                    let costs: Vec<(&str, KernelCost)> = passes
                        .into_iter()
                        .zip(&kernels)
                        .filter_map(|(pass, kernel)| Some((pass, code.cost(kernel)?)))
                        .collect();
                    report.sass = costs_text(toolchain.architectures[0], &costs);
                }
            }
        }
        Err(log) => {
            if let [position] = part {
                let line = log.lines().find(|line| line.contains("error"));
                let line = line.or_else(|| log.lines().next()).unwrap_or_default();
                reports[*position].check = Check::Failed(line.trim().to_owned());
                return;
            }
            let (left, right) = part.split_at(part.len() / 2);
            compile_part(toolchain, records, left, keep, reports);
            compile_part(toolchain, records, right, keep, reports);
        }
    }
}
