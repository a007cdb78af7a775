//! Everything that the chosen levels need, opened once.

use std::path::PathBuf;
use std::sync::Mutex;

use warpsmith_compiler::{Options, compile};
use warpsmith_device::{CompileCache, CudaDevice, DeviceError, Nvrtc, VulkanDevice};
use warpsmith_execution::{
    Difference, KernelParity, VulkanParity, verify_kernel, verify_on_vulkan,
};

use super::compiled::{Toolchain, compile_batch};
use super::keep::Keep;
use super::level::{Check, Level};
use super::warp::WarpOracle;
use crate::record::Record;

/// Pairs of one translation unit: NVRTC's own start and the header are shared by so many.
pub(crate) const BATCH: usize = 100;

/// Threads in each dimension on the GPU; loops of generated kernels stay within 16 elements.
const GPU_SIZE: usize = 40;

/// The same on Vulkan, where drivers such as Mesa's run on the CPU.
const VULKAN_SIZE: usize = 8;

/// Where the levels find what they need.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// The NVRTC library; searched for where it is not named.
    pub nvrtc: Option<PathBuf>,
    /// ptxas; searched for on the path where it is not named.
    pub ptxas: Option<PathBuf>,
    /// The architectures to assemble for; the PTX is for the lowest.
    pub architectures: Vec<u32>,
    /// A Python with Warp.
    pub python: Option<PathBuf>,
}

/// What a level could not be prepared with.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// NVRTC or the GPU.
    #[error("cannot prepare the level `{level}`")]
    Device {
        /// The level.
        level: Level,
        /// Why not.
        source: DeviceError,
    },
    /// Warp.
    #[error("cannot prepare the level `warp`: {0}")]
    Warp(String),
}

/// The levels of a run, ready to check records.
#[derive(Debug, Default)]
pub struct Verifier {
    executed: bool,
    toolchain: Option<Toolchain>,
    oracle: Option<Mutex<WarpOracle>>,
    warp_every: u64,
    gpu: Option<(CudaDevice, Nvrtc, CompileCache)>,
    vulkan: Option<VulkanDevice>,
}

impl Verifier {
    /// Opens what `levels` need; one pair of `warp_every` is compared with Warp.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(levels: &[Level], tools: &Tools, warp_every: u64) -> Result<Self, PrepareError> {
        let mut verifier = Self {
            warp_every: warp_every.max(1),
            ..Self::default()
        };
        let device = |level| move |source| PrepareError::Device { level, source };
        for level in levels {
            match level {
                Level::Text => {}
                Level::Executed => verifier.executed = true,
                Level::Compiled => {
                    let toolchain = Toolchain::find(tools.nvrtc.as_deref(), &tools.architectures)
                        .map_err(device(*level))?;
                    verifier.toolchain = Some(match &tools.ptxas {
                        Some(path) => toolchain.with_ptxas(path.clone()),
                        None => toolchain,
                    });
                }
                Level::Gpu => {
                    let gpu = CudaDevice::open(0).map_err(device(*level))?;
                    let nvrtc = match &tools.nvrtc {
                        Some(path) => Nvrtc::open(path),
                        None => Nvrtc::find(),
                    };
                    let nvrtc = nvrtc.map_err(device(*level))?;
                    verifier.gpu = Some((gpu, nvrtc, CompileCache::for_user()));
                }
                Level::Vulkan => {
                    verifier.vulkan = Some(VulkanDevice::open(0).map_err(device(*level))?);
                }
                Level::Warp => {
                    let python = tools
                        .python
                        .clone()
                        .unwrap_or_else(|| PathBuf::from("python3"));
                    let oracle = WarpOracle::start(&python).map_err(PrepareError::Warp)?;
                    verifier.oracle = Some(Mutex::new(oracle));
                }
            }
        }
        Ok(verifier)
    }

    /// Whether records are run as they are compiled.
    pub fn executes(&self) -> bool {
        self.executed
    }

    /// How many records are best checked together.
    pub fn together(&self) -> usize {
        if self.toolchain.is_some() { BATCH } else { 1 }
    }

    /// Checks a batch of records at the levels that are not part of compiling them.
    ///
    /// # Errors
    /// Where Warp's process is gone.
    pub fn check(&self, records: &mut [Record], keep: &[Keep]) -> Result<(), PrepareError> {
        if let Some(toolchain) = &self.toolchain {
            let reports = compile_batch(toolchain, records, keep);
            for (record, report) in records.iter_mut().zip(reports) {
                record.verification.compiled = report.check;
                record.extra.ptx = report.ptx;
                record.extra.sass = report.sass;
            }
        }
        if let Some((gpu, nvrtc, cache)) = &self.gpu {
            for record in &mut *records {
                record.verification.gpu = on_gpu(gpu, nvrtc, cache, record);
            }
        }
        if let Some(device) = &self.vulkan {
            for record in &mut *records {
                record.verification.vulkan = on_vulkan(device, record);
            }
        }
        if let Some(oracle) = &self.oracle {
            let mut oracle = oracle
                .lock()
                .map_err(|_| PrepareError::Warp("its process was left in disorder".to_owned()))?;
            for record in records {
                if record.origin.index.is_multiple_of(self.warp_every) {
                    record.verification.warp = oracle.check(record).map_err(PrepareError::Warp)?;
                }
            }
        }
        Ok(())
    }
}

fn on_vulkan(device: &VulkanDevice, record: &Record) -> Check {
    let Ok(module) = compile(&record.draft.source, &Options::default()) else {
        return Check::Failed("the compiler refuses it".to_owned());
    };
    match verify_on_vulkan(device, &module, VULKAN_SIZE, record.origin.index) {
        VulkanParity::Agrees { .. } => Check::Passed,
        VulkanParity::Disagrees {
            direction,
            difference,
            ..
        } => differs("Vulkan", direction, &difference),
        VulkanParity::NotExecutable { reason } | VulkanParity::Refused { reason } => {
            Check::Skipped(reason)
        }
        VulkanParity::Failed { reason } => {
            Check::Failed(reason.lines().next().unwrap_or_default().to_owned())
        }
    }
}

fn differs(device: &str, direction: &str, difference: &Difference) -> Check {
    Check::Failed(format!(
        "{direction}: {}[{}] is {} on {device} and {} in the interpreter",
        difference.place, difference.index, difference.actual, difference.expected
    ))
}

fn on_gpu(gpu: &CudaDevice, nvrtc: &Nvrtc, cache: &CompileCache, record: &Record) -> Check {
    let Ok(module) = compile(&record.draft.source, &Options::default()) else {
        return Check::Failed("the compiler refuses it".to_owned());
    };
    match verify_kernel(gpu, nvrtc, cache, &module, GPU_SIZE, record.origin.index) {
        KernelParity::Agrees { .. } => Check::Passed,
        KernelParity::Disagrees {
            direction,
            difference,
            ..
        } => differs("the GPU", direction, &difference),
        KernelParity::NotExecutable { reason } => Check::Skipped(reason),
        KernelParity::Refused { reason } => Check::Failed(reason),
        KernelParity::Failed { reason } => {
            Check::Failed(reason.lines().next().unwrap_or_default().to_owned())
        }
    }
}
