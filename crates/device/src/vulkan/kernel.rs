//! Kernels from SPIR-V.

use std::sync::Arc;

use ash::vk;

use super::device::{Shared, VulkanDevice};
use super::pipeline_cache;
use crate::error::DeviceError;

/// A compiled kernel. Clones are the same kernel.
#[derive(Clone)]
pub struct VulkanKernel {
    pub(super) pipeline: Arc<Pipeline>,
}

/// What recorded launches keep.
pub(super) struct Pipeline {
    shared: Arc<Shared>,
    pub(super) handle: vk::Pipeline,
}

impl std::fmt::Debug for VulkanKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanKernel on {}", self.pipeline.shared.facts.name)
    }
}

impl VulkanDevice {
    /// Compiles a SPIR-V module whose entry point is `main` and whose push constant is one 64-bit word.
    ///
    /// # Safety
    /// The module is valid SPIR-V that uses no feature that the device lacks; drivers check neither.
    pub unsafe fn kernel(&self, words: &[u32]) -> Result<VulkanKernel, DeviceError> {
        let shared = &self.shared;
        shared.check()?;
        let device = &shared.device;
        let failed = |result| shared.failed("compile a kernel for Vulkan", result);
        let wanted = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the caller promises a valid module.
        let module = unsafe { device.create_shader_module(&wanted, None) }.map_err(failed)?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        let wanted = [vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(shared.handles.layout)];
        // SAFETY: module and layout are this device's; the module is needed no longer than the call.
        let made = unsafe {
            let made = device.create_compute_pipelines(shared.handles.cache, &wanted, None);
            device.destroy_shader_module(module, None);
            made
        };
        let pipeline = made.map_err(|(_, result)| failed(result))?[0];
        // SAFETY: the cache is this device's.
        if let Ok(data) = unsafe { device.get_pipeline_cache_data(shared.handles.cache) } {
            pipeline_cache::keep(&shared.cache_id, &data);
        }
        Ok(VulkanKernel {
            pipeline: Arc::new(Pipeline {
                shared: Arc::clone(shared),
                handle: pipeline,
            }),
        })
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.shared.check().is_ok() {
            // SAFETY: every launch was waited for, and recorded ones hold the pipeline.
            unsafe { self.shared.device.destroy_pipeline(self.handle, None) };
        }
    }
}
