//! Kernels from SPIR-V and their launches.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::device::{Shared, VulkanDevice};
use super::pipeline_cache;
use crate::error::DeviceError;

/// Workgroups along one dimension that every device takes.
const MOST_GROUPS: u32 = 65_535;

/// A compiled kernel.
pub struct VulkanKernel {
    shared: Arc<Shared>,
    pipeline: vk::Pipeline,
}

impl std::fmt::Debug for VulkanKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanKernel on {}", self.shared.facts.name)
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
            .layout(shared.layout)];
        // SAFETY: module and layout are this device's; the module is needed no longer than the call.
        let made = unsafe {
            let made = device.create_compute_pipelines(shared.cache, &wanted, None);
            device.destroy_shader_module(module, None);
            made
        };
        let pipeline = made.map_err(|(_, result)| failed(result))?[0];
        // SAFETY: the cache is this device's.
        if let Ok(data) = unsafe { device.get_pipeline_cache_data(shared.cache) } {
            pipeline_cache::keep(&shared.cache_id, &data);
        }
        Ok(VulkanKernel {
            shared: Arc::clone(shared),
            pipeline,
        })
    }
}

impl Drop for VulkanKernel {
    fn drop(&mut self) {
        if self.shared.check().is_ok() {
            // SAFETY: every launch was waited for.
            unsafe { self.shared.device.destroy_pipeline(self.pipeline, None) };
        }
    }
}

/// A launch that is recorded once and run often.
#[derive(Debug)]
pub struct VulkanLaunch<'k> {
    kernel: &'k VulkanKernel,
    commands: vk::CommandBuffer,
    timer: Option<vk::QueryPool>,
}

impl VulkanKernel {
    /// Records a launch of `groups` workgroups with this push constant; `timed` measures each run.
    ///
    /// # Safety
    /// What the kernel reads and writes through the address stays valid while the launch is used.
    pub unsafe fn launch(
        &self,
        block: u64,
        groups: u32,
        timed: bool,
    ) -> Result<VulkanLaunch<'_>, DeviceError> {
        let shared = &self.shared;
        shared.check()?;
        let timer = (timed && shared.facts.timestamp_period > 0.0)
            .then(|| {
                let wanted = vk::QueryPoolCreateInfo::default()
                    .query_type(vk::QueryType::TIMESTAMP)
                    .query_count(2);
                // SAFETY: the device is open; `VulkanLaunch` returns the pool.
                unsafe { shared.device.create_query_pool(&wanted, None) }
                    .map_err(|result| shared.failed("make a timer", result))
            })
            .transpose()?;
        let launch = VulkanLaunch {
            kernel: self,
            commands: shared.command_buffer()?,
            timer,
        };
        let (x, y) = grid(groups);
        shared.record(launch.commands, |device, commands| {
            // SAFETY: pipeline, layout and timer are this device's; the push constant is one word, as the
            // layout says; the grid is within what every device takes.
            unsafe {
                device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, self.pipeline);
                let stages = vk::ShaderStageFlags::COMPUTE;
                let word = block.to_le_bytes();
                device.cmd_push_constants(commands, shared.layout, stages, 0, &word);
                if let Some(timer) = timer {
                    device.cmd_reset_query_pool(commands, timer, 0, 2);
                    let stage = vk::PipelineStageFlags::TOP_OF_PIPE;
                    device.cmd_write_timestamp(commands, stage, timer, 0);
                }
                device.cmd_dispatch(commands, x, y, 1);
                if let Some(timer) = timer {
                    let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
                    device.cmd_write_timestamp(commands, stage, timer, 1);
                }
            }
        })?;
        Ok(launch)
    }
}

/// Workgroups along two dimensions, at least as many as are needed.
fn grid(groups: u32) -> (u32, u32) {
    let rows = groups.div_ceil(MOST_GROUPS).max(1);
    (groups.div_ceil(rows).max(1), rows)
}

impl VulkanLaunch<'_> {
    /// Runs the kernel and waits for its end.
    pub fn run(&self, limit: Duration) -> Result<(), DeviceError> {
        self.kernel
            .shared
            .run(self.commands, "run a kernel on Vulkan", limit)
    }

    /// What the device's timer says that the last run took; `None` without a timer.
    pub fn seconds(&self) -> Result<Option<f64>, DeviceError> {
        let Some(timer) = self.timer else {
            return Ok(None);
        };
        let shared = &self.kernel.shared;
        let mut ticks = [0_u64; 2];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: both timestamps were written by a run that has ended.
        unsafe {
            shared
                .device
                .get_query_pool_results(timer, 0, &mut ticks, flags)
        }
        .map_err(|result| shared.failed("read the timer", result))?;
        let nanoseconds =
            ticks[1].wrapping_sub(ticks[0]) as f64 * f64::from(shared.facts.timestamp_period);
        Ok(Some(nanoseconds * 1e-9))
    }
}

impl Drop for VulkanLaunch<'_> {
    fn drop(&mut self) {
        let shared = &self.kernel.shared;
        shared.return_command_buffer(self.commands);
        if let Some(timer) = self.timer
            && shared.check().is_ok()
        {
            // SAFETY: every run was waited for.
            unsafe { shared.device.destroy_query_pool(timer, None) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_holds_all_groups_within_every_devices_limit() {
        for groups in [0, 1, 2, 65_535, 65_536, 100_000, 8_388_608] {
            let (x, y) = grid(groups);
            assert!(x <= MOST_GROUPS && y <= MOST_GROUPS && x >= 1 && y >= 1);
            assert!(u64::from(x) * u64::from(y) >= u64::from(groups));
        }
    }
}
