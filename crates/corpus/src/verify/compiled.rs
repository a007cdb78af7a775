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

use super::level::Check;
use crate::record::Record;

/// What compiles and assembles.
#[derive(Debug)]
pub struct Toolchain {
    nvrtc: Nvrtc,
    /// The virtual architecture of the PTX.
    pub architecture: u32,
    ptxas: Option<PathBuf>,
}

/// What one pair became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileReport {
    /// Whether it compiled, and was assembled where ptxas is.
    pub check: Check,
    /// Registers of the forward and the backward kernel, where ptxas is.
    pub registers: Option<(u32, u32)>,
}

impl Toolchain {
    /// NVRTC as this machine has it, or at `library`; ptxas beside it or on the path.
    ///
    /// # Errors
    /// Where there is no NVRTC.
    pub fn find(library: Option<&Path>, architecture: u32) -> Result<Self, DeviceError> {
        let nvrtc = match library {
            Some(path) => Nvrtc::open(path)?,
            None => Nvrtc::find()?,
        };
        let ptxas = find_ptxas();
        Ok(Self {
            nvrtc,
            architecture,
            ptxas,
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

    fn compile(&self, source: &str) -> Result<String, String> {
        let (major, minor) = self.nvrtc.version();
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        let options = CompileOptions {
            target: Target::Ptx(self.architecture),
            flags: nvrtc_options(version)
                .into_iter()
                .map(str::to_owned)
                .collect(),
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

    /// Assembles PTX; gives what ptxas says about each kernel.
    fn assemble(&self, ptxas: &Path, ptx: &str) -> Result<String, String> {
        let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        file.write_all(ptx.as_bytes())
            .map_err(|error| error.to_string())?;
        let output = Command::new(ptxas)
            .arg(format!("-arch=sm_{}", self.architecture))
            .args(["-v", "-o", "/dev/null"])
            .arg(file.path())
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", ptxas.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(said)
        } else {
            Err(said)
        }
    }
}

fn find_ptxas() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join("ptxas"))
        .find(|path| path.is_file())
}

/// Compiles the CUDA texts of `records` together.
pub fn compile_batch(toolchain: &Toolchain, records: &[&Record]) -> Vec<CompileReport> {
    let mut reports = vec![CompileReport::default(); records.len()];
    let mut within = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let text = record.cuda_forward.clone() + &record.cuda_backward;
        let missing = runtime_header::missing(&text);
        if missing.is_empty() {
            within.push((position, text));
        } else {
            let reason = format!("the runtime header lacks {}", missing.join(", "));
            reports[position].check = Check::Skipped(reason);
        }
    }
    compile_part(toolchain, records, &within, &mut reports);
    reports
}

/// A pair's text under a name that no other pair of the batch has.
fn renamed(record: &Record, position: usize, text: &str) -> String {
    let kernel = &record.draft.kernel;
    text.replace(
        &format!("{kernel}_HASH_cuda"),
        &format!("{kernel}_p{position}_cuda"),
    )
}

fn compile_part(
    toolchain: &Toolchain,
    records: &[&Record],
    part: &[(usize, String)],
    reports: &mut [CompileReport],
) {
    if part.is_empty() {
        return;
    }
    let mut body = String::new();
    for (position, text) in part {
        body.push_str(&format!("namespace pair_{position} {{\n"));
        body.push_str(&renamed(records[*position], *position, text));
        body.push_str("}\n");
    }
    let source = runtime_header::prologue(&body) + &body;
    let outcome = toolchain
        .compile(&source)
        .and_then(|ptx| match &toolchain.ptxas {
            Some(ptxas) => toolchain.assemble(ptxas, &ptx).map(Some),
            None => Ok(None),
        });
    match outcome {
        Ok(said) => {
            for (position, _) in part {
                let report = &mut reports[*position];
                report.check = Check::Passed;
                report.registers = said.as_deref().and_then(|said| {
                    let kernel = &records[*position].draft.kernel;
                    let registers = |pass: &str| {
                        registers_of(said, &format!("{kernel}_p{position}_cuda_kernel_{pass}'"))
                    };
                    Some((registers("forward")?, registers("backward")?))
                });
            }
        }
        Err(log) => {
            if let [(position, _)] = part {
                let line = log.lines().find(|line| line.contains("error"));
                let line = line.or_else(|| log.lines().next()).unwrap_or_default();
                reports[*position].check = Check::Failed(line.trim().to_owned());
                return;
            }
            let (left, right) = part.split_at(part.len() / 2);
            compile_part(toolchain, records, left, reports);
            compile_part(toolchain, records, right, reports);
        }
    }
}

/// The number before `registers` in what ptxas says after it names a kernel.
fn registers_of(said: &str, kernel: &str) -> Option<u32> {
    let after = &said[said.find(kernel)?..];
    let line = after.lines().find(|line| line.contains(" registers"))?;
    let before = line.split(" registers").next()?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_read_from_what_ptxas_says() {
        let said = "ptxas info    : Compiling entry function 'scale_p3_cuda_kernel_forward' for 'sm_90'\n\
                    ptxas info    : Function properties for scale_p3_cuda_kernel_forward\n\
                    \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                    ptxas info    : Used 22 registers, used 0 barriers\n";
        assert_eq!(
            registers_of(said, "scale_p3_cuda_kernel_forward'"),
            Some(22)
        );
        assert_eq!(registers_of(said, "other'"), None);
    }
}
