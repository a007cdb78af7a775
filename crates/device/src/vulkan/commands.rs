//! Launches that are recorded once and run often.
//!
//! Invariant: each step sees what the one before wrote; the host sees everything once a run has returned.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::device::{Shared, VulkanDevice};
use super::kernel::{Pipeline, VulkanKernel};
use crate::error::DeviceError;

/// Workgroups along one dimension that every device takes.
const MOST_GROUPS: u32 = 65_535;
/// Runs of nothing from which the timer's bias is taken.
const EMPTY_RUNS: usize = 31;
/// A run of nothing that takes longer does not end.
const EMPTY_LIMIT: Duration = Duration::from_secs(20);

/// A launch of a kernel over workgroups.
#[derive(Clone, Copy, Debug)]
pub struct VulkanStep<'a> {
    /// The kernel.
    pub kernel: &'a VulkanKernel,
    /// Where its launch block lies.
    pub block: u64,
    /// How many workgroups.
    pub groups: u32,
}

/// Steps that are recorded.
pub struct VulkanCommands {
    shared: Arc<Shared>,
    commands: vk::CommandBuffer,
    timer: Option<vk::QueryPool>,
    _pipelines: Vec<Arc<Pipeline>>,
}

// SAFETY: the command buffer is recorded before the value exists and only submitted afterwards, under the
// lock of the queue.
unsafe impl Send for VulkanCommands {}

impl std::fmt::Debug for VulkanCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VulkanCommands on {}", self.shared.facts.name)
    }
}

impl VulkanDevice {
    /// Records steps, one after the other; `timed` measures each run of them with the device's timer.
    ///
    /// # Safety
    /// The buffers, and whatever the kernels read and write through the addresses, stay valid while the
    /// commands are used.
    pub unsafe fn record(
        &self,
        steps: &[VulkanStep<'_>],
        timed: bool,
    ) -> Result<VulkanCommands, DeviceError> {
        let shared = &self.shared;
        shared.check()?;
        // The first to be made: the pool frees it where a timer cannot be made.
        let commands = shared.command_buffer()?;
        let timer = (timed && shared.facts.timestamp_period > 0.0)
            .then(|| {
                let wanted = vk::QueryPoolCreateInfo::default()
                    .query_type(vk::QueryType::TIMESTAMP)
                    .query_count(2);
                // SAFETY: the device is open; `VulkanCommands` returns the pool.
                unsafe { shared.device.create_query_pool(&wanted, None) }
                    .map_err(|result| shared.failed("make a timer", result))
            })
            .transpose()?;
        let recorded = VulkanCommands {
            shared: Arc::clone(shared),
            commands,
            timer,
            _pipelines: (steps.iter())
                .map(|step| Arc::clone(&step.kernel.pipeline))
                .collect(),
        };
        shared.record(recorded.commands, |device, commands| {
            if let Some(timer) = timer {
                let stage = vk::PipelineStageFlags::TOP_OF_PIPE;
                // SAFETY: the timer is this device's and has two places.
                unsafe {
                    device.cmd_reset_query_pool(commands, timer, 0, 2);
                    device.cmd_write_timestamp(commands, stage, timer, 0);
                }
            }
            for (n, step) in steps.iter().enumerate() {
                if n > 0 {
                    shared.order(commands);
                }
                record_step(shared, commands, step);
            }
            if let Some(timer) = timer {
                let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
                // SAFETY: as above.
                unsafe { device.cmd_write_timestamp(commands, stage, timer, 1) };
            }
        })?;
        Ok(recorded)
    }

    /// Seconds that the device's timer reads for nothing: the median of some runs. Zero without a timer. It is measured
    /// once: two kernels that are compared are not to differ by what two measurements of it do.
    pub fn timer_bias(&self) -> Result<f64, DeviceError> {
        if let Some(known) = self.shared.timer_bias.get() {
            return Ok(*known);
        }
        let measured = self.measure_timer_bias()?;
        Ok(*self.shared.timer_bias.get_or_init(|| measured))
    }

    /// Runs nothing for a while, so that queue and timer are as they will be.
    pub fn warm_up(&self) -> Result<(), DeviceError> {
        self.measure_timer_bias().map(|_| ())
    }

    fn measure_timer_bias(&self) -> Result<f64, DeviceError> {
        // SAFETY: there are no steps, so nothing is read or written.
        let nothing = unsafe { self.record(&[], true) }?;
        let mut seconds = Vec::with_capacity(EMPTY_RUNS);
        for _ in 0..EMPTY_RUNS {
            nothing.run(EMPTY_LIMIT)?;
            seconds.extend(nothing.seconds()?);
        }
        seconds.sort_by(f64::total_cmp);
        Ok(seconds.get(seconds.len() / 2).copied().unwrap_or(0.0))
    }
}

fn record_step(shared: &Shared, commands: vk::CommandBuffer, step: &VulkanStep<'_>) {
    let device = &shared.device;
    let (x, y) = grid(step.groups);
    let stages = vk::ShaderStageFlags::COMPUTE;
    let word = step.block.to_le_bytes();
    let point = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: pipeline and layout are this device's; the push constant is one word, as the layout says; the
    // grid is within what every device takes.
    unsafe {
        device.cmd_bind_pipeline(commands, point, step.kernel.pipeline.handle);
        device.cmd_push_constants(commands, shared.handles.layout, stages, 0, &word);
        device.cmd_dispatch(commands, x, y, 1);
    }
}

/// Workgroups along two dimensions, at least as many as are needed.
fn grid(groups: u32) -> (u32, u32) {
    let rows = groups.div_ceil(MOST_GROUPS).max(1);
    (groups.div_ceil(rows).max(1), rows)
}

impl VulkanCommands {
    /// Runs the steps and waits for their end.
    pub fn run(&self, limit: Duration) -> Result<(), DeviceError> {
        (self.shared).run(self.commands, "run a kernel on Vulkan", limit)
    }

    /// What the device's timer says that the last run took; `None` without a timer.
    pub fn seconds(&self) -> Result<Option<f64>, DeviceError> {
        let Some(timer) = self.timer else {
            return Ok(None);
        };
        let shared = &self.shared;
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

impl Drop for VulkanCommands {
    fn drop(&mut self) {
        let shared = &self.shared;
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
