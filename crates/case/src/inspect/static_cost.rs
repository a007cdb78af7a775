//! What a kernel costs on an architecture, without a GPU: registers, stack, shared memory, occupancy.

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Serialize;
use warpsmith_device::{
    KernelResources, Nvrtc, Target, kernel_resources, python_sites, toolkit_roots,
};

use super::access::{Access, accesses};
use super::code_lines::{CodeLine, mix_of_ptx, mix_of_sass};
use crate::description::{Case, TunableValue};
use crate::document::CaseError;
use crate::expression::Scope;
use crate::instance::LaunchNumbers;
use crate::occupancy::{Limiter, Occupancy, occupancy};
use crate::program::{Fault, check_code, compile_cuda};
use warpsmith_measure::kernel_file::is_entry_of;

/// A kernel on one architecture.
#[derive(Clone, Debug, Serialize)]
pub struct StaticCost {
    /// 90 for `sm_90`.
    pub sm: u32,
    /// The kernel's symbol.
    pub kernel: String,
    /// Threads of a block at the size.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of stack per thread: local arrays and spilled registers.
    pub stack_bytes: u32,
    /// Bytes of shared memory per block: static, and what the launch gives.
    pub shared_bytes: (u32, u32),
    /// Machine instructions.
    pub instructions: u64,
    /// Instructions by line.
    pub lines: Vec<CodeLine>,
    /// Whether the lines are those of machine code; else of PTX.
    pub machine_code: bool,
    /// Loads and stores whose addresses follow from the thread's index.
    pub accesses: Vec<Access>,
    /// How full a multiprocessor can be; absent for an architecture that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
}

impl StaticCost {
    /// What follows, most important first.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let Some(occupancy) = &self.occupancy else {
            return said;
        };
        if occupancy.blocks == 0 {
            said.push(format!(
                "no block fits: {} threads of {} registers and {} B of shared memory are more than a multiprocessor has",
                self.threads,
                self.registers,
                self.shared_bytes.0 + self.shared_bytes.1
            ));
            return said;
        }
        if self.stack_bytes > 0 {
            said.push(format!(
                "{} B of stack per thread: local arrays or spilled registers, which are memory traffic",
                self.stack_bytes
            ));
        }
        let mut wasteful: Vec<&Access> = self.accesses.iter().collect();
        wasteful.sort_by_key(|access| std::cmp::Reverse(access.transactions / access.least.max(1)));
        said.extend(wasteful.iter().filter_map(|access| access.words()).take(3));
        let percent = 100.0 * occupancy.share();
        if percent < 99.0 {
            let limit: Vec<&str> = occupancy
                .limiters
                .iter()
                .map(|limiter| match limiter {
                    Limiter::Warps => "the size of the block",
                    Limiter::Blocks => "the number of blocks",
                    Limiter::Registers => "registers",
                    Limiter::SharedMemory => "shared memory",
                })
                .collect();
            let mut sentence = format!(
                "{} of {} warps ({percent:.0} %): {} allows {} blocks",
                occupancy.warps,
                occupancy.most_warps,
                limit.join(" and "),
                occupancy.blocks
            );
            if let Some(fewer) = occupancy.registers_for_one_more {
                sentence.push_str(&format!(
                    "; {fewer} registers instead of {} allow {}: `__launch_bounds__({}, {})`",
                    self.registers,
                    occupancy.blocks + 1,
                    self.threads,
                    occupancy.blocks + 1
                ));
            }
            said.push(sentence);
        }
        said
    }
}

impl Case {
    /// Compiles for an architecture and reads what the kernel costs at this size.
    pub fn static_cost(
        &self,
        nvrtc: &Nvrtc,
        sm: u32,
        size: &Scope,
        choice: &[(String, TunableValue)],
    ) -> Result<StaticCost, Fault> {
        let line_info = ["-lineinfo".to_owned()];
        let of = |target| compile_cuda(self, choice, nvrtc, target, &line_info);
        let compiled = of(Target::Cubin(sm))?.compiled;
        let ptx = of(Target::Ptx(sm))?.compiled;
        let ptx = String::from_utf8_lossy(&ptx.code).into_owned();
        let kernels = kernel_resources(&compiled.code).unwrap_or_default();
        let name = self.kernel.as_deref();
        let fits =
            |kernel: &&KernelResources| name.is_none_or(|name| is_entry_of(name, &kernel.name));
        let Some(kernel) = kernels.iter().find(fits) else {
            return Err(Fault::Case(self.no_such_kernel(&kernels)));
        };
        check_code(self, &compiled.code)?;
        let instance = self.instance(size, choice)?;
        let LaunchNumbers::Grid(shape) = instance.launch else {
            return Err(Fault::Unsupported(
                "there is nothing to launch at this size".into(),
            ));
        };
        // From sm_90 on the compiler counts the kilobyte that the system keeps.
        let own = u32::try_from(kernel.shared_bytes).unwrap_or(u32::MAX);
        let shared = if sm >= 90 {
            own.saturating_sub(1024)
        } else {
            own
        };
        let threads = shape.block.iter().product();
        let sass = disassemble(&compiled.code)
            .map(|text| mix_of_sass(&text, &kernel.name))
            .filter(|lines| !lines.is_empty());
        let machine_code = sass.is_some();
        Ok(StaticCost {
            sm,
            kernel: kernel.name.clone(),
            threads,
            registers: kernel.registers,
            stack_bytes: kernel.stack_bytes,
            shared_bytes: (shared, shape.shared_bytes),
            instructions: kernel.instructions,
            lines: sass.unwrap_or_else(|| mix_of_ptx(&ptx, &kernel.name)),
            machine_code,
            accesses: accesses(&ptx, &kernel.name, &instance),
            occupancy: occupancy(
                sm,
                threads,
                kernel.registers,
                shared.saturating_add(shape.shared_bytes),
            ),
        })
    }

    fn no_such_kernel(&self, there: &[KernelResources]) -> CaseError {
        let place = crate::document::Place {
            line: 1,
            key: "kernel".into(),
        };
        let names: Vec<String> = there
            .iter()
            .map(|kernel| format!("`{}`", kernel.name))
            .collect();
        self.error(
            &place,
            format!(
                "`{}` has {}",
                self.source.path().display(),
                names.join(", ")
            ),
        )
    }
}

/// What nvdisasm prints about machine code, with the lines of the source; `None` where there is no
/// nvdisasm.
fn disassemble(code: &[u8]) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().ok()?;
    file.write_all(code).ok()?;
    let output = Command::new(find_nvdisasm()?)
        .args(["-g", "-c"])
        .arg(file.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()
}

/// On the path, in a toolkit, or in a wheel.
fn find_nvdisasm() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    folders.extend(toolkit_roots().into_iter().map(|root| root.join("bin")));
    for site in python_sites() {
        let wheels = ["cu13/bin", "cuda_nvdisasm/bin"];
        folders.extend(wheels.map(|folder| site.join("nvidia").join(folder)));
    }
    folders
        .into_iter()
        .map(|folder| folder.join("nvdisasm"))
        .find(|file| file.is_file())
}
