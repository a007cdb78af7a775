//! What a kernel costs on an architecture, without a GPU: registers, stack, shared memory, occupancy.

use serde::Serialize;
use warpsmith_device::{KernelResources, Nvrtc, Target, kernel_resources};

use crate::description::{Case, TunableValue};
use crate::document::CaseError;
use crate::expression::Scope;
use crate::instance::LaunchNumbers;
use crate::occupancy::{Limiter, Occupancy, occupancy};
use crate::program::{Fault, compile_cuda, is_entry_of};

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
        let compiled = compile_cuda(self, choice, nvrtc, Target::Cubin(sm), &[])?;
        let kernels = kernel_resources(&compiled.code).unwrap_or_default();
        let name = self.kernel.as_deref();
        let fits =
            |kernel: &&KernelResources| name.is_none_or(|name| is_entry_of(name, &kernel.name));
        let Some(kernel) = kernels.iter().find(fits) else {
            return Err(Fault::Case(self.no_such_kernel(&kernels)));
        };
        let LaunchNumbers::Grid(shape) = self.instance(size, choice)?.launch else {
            return Err(Fault::Unsupported(
                "there is nothing to launch at this size".into(),
            ));
        };
        // The compiler counts the kilobyte that the system keeps from sm_80 on.
        let own = u32::try_from(kernel.shared_bytes).unwrap_or(u32::MAX);
        let shared = if sm >= 80 {
            own.saturating_sub(1024)
        } else {
            own
        };
        let threads = shape.block.iter().product();
        Ok(StaticCost {
            sm,
            kernel: kernel.name.clone(),
            threads,
            registers: kernel.registers,
            stack_bytes: kernel.stack_bytes,
            shared_bytes: (shared, shape.shared_bytes),
            instructions: kernel.instructions,
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
