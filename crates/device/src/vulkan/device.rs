//! An open Vulkan device: its queue, its command buffer, its sign of finished work.
//!
//! Invariants: work is submitted one at a time under a lock and waited for by the device's one fence; after
//! work that did not end, or a lost device, everything else is refused and nothing is freed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use ash::vk;
use warpsmith_core::Bytes;

use super::facts::{Extensions, Found, VulkanFacts, VulkanKind, found};
use super::handles::Handles;
use super::host_memory::HostMemory;
use super::loader::loader;
use super::pipeline_cache;
use super::pool::Pool;
use crate::error::DeviceError;
use crate::ledger::Ledger;

/// How long a wait looks before it sleeps.
const LOOKS_FOR: Duration = Duration::from_micros(200);

/// A Vulkan device that is open. Clones are the same device.
#[derive(Clone)]
pub struct VulkanDevice {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) facts: VulkanFacts,
    pub(super) device: ash::Device,
    physical: vk::PhysicalDevice,
    extensions: Extensions,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    /// How pages of the host become memory of the device, where the driver takes them.
    pub(super) host_memory: Option<HostMemory>,
    pub(super) handles: Handles,
    pub(super) cache_id: [u8; vk::UUID_SIZE],
    pub(super) ledger: Arc<Ledger>,
    pub(super) pool: Mutex<Pool>,
    /// Whether copies go through the staging buffer even where the host sees device memory.
    pub(super) staged: bool,
    queue: Mutex<Queue>,
    given_up: AtomicBool,
    /// What its timer reads for nothing, in seconds, once that was measured.
    pub(super) timer_bias: OnceLock<f64>,
}

struct Queue {
    queue: vk::Queue,
}

impl std::fmt::Debug for VulkanDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("VulkanDevice").field(self.facts()).finish()
    }
}

impl VulkanDevice {
    /// Opens the device of this index in [`super::vulkan_devices`].
    pub fn open(index: usize) -> Result<Self, DeviceError> {
        Self::open_with(index, false)
    }

    /// As [`VulkanDevice::open`], with copies through a staging buffer, as GPUs with memory of their own need
    /// it: what tests on a driver for the CPU want.
    #[doc(hidden)]
    pub fn open_staged(index: usize) -> Result<Self, DeviceError> {
        Self::open_with(index, true)
    }

    fn open_with(index: usize, staged: bool) -> Result<Self, DeviceError> {
        let mut all = found()?;
        let count = all.len();
        if count == 0 {
            return Err(DeviceError::NoVulkanDevice);
        }
        if index >= count {
            return Err(DeviceError::NoSuchVulkanDevice {
                asked: index,
                count,
            });
        }
        let found = all.swap_remove(index);
        if let Some(feature) = found.facts.lacks.first() {
            return Err(DeviceError::VulkanLacks {
                device: found.facts.name.clone(),
                feature: feature.clone(),
            });
        }
        Self::make(found, staged)
    }

    /// As [`VulkanDevice::open`]; while somebody uses the device, the same one again.
    pub fn open_once(index: usize) -> Result<Self, DeviceError> {
        static OPEN: Mutex<Vec<(usize, Weak<Shared>)>> = Mutex::new(Vec::new());
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, shared)| (shared.upgrade()).is_some_and(|shared| shared.check().is_ok()));
        let open = all.iter().find(|(at, _)| *at == index);
        if let Some(shared) = open.and_then(|(_, shared)| shared.upgrade()) {
            return Ok(Self { shared });
        }
        let device = Self::open(index)?;
        all.push((index, Arc::downgrade(&device.shared)));
        Ok(device)
    }

    fn make(found: Found, staged: bool) -> Result<Self, DeviceError> {
        let instance = &loader()?.instance;
        let facts = found.facts;
        let mut v11 =
            vk::PhysicalDeviceVulkan11Features::default().storage_buffer16_bit_access(facts.halves);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(true)
            .storage_buffer8_bit_access(facts.bytes)
            .shader_buffer_int64_atomics(facts.int64_atomics);
        let features = vk::PhysicalDeviceFeatures::default()
            .shader_int64(true)
            .shader_float64(facts.float64);
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(found.family)
            .queue_priorities(&priorities)];
        let mut names = Vec::new();
        if found.extensions.portability_subset {
            // Who offers it wants it enabled.
            names.push(ash::khr::portability_subset::NAME.as_ptr());
        }
        if found.extensions.host_memory {
            names.push(ash::ext::external_memory_host::NAME.as_ptr());
        }
        let wanted = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_features(&features)
            .enabled_extension_names(&names)
            .push_next(&mut v11)
            .push_next(&mut v12);
        let opening = |result| DeviceError::vulkan("open the Vulkan device", result);
        let known = pipeline_cache::read(&found.cache_id);
        // SAFETY: the device was listed by this instance, offers each feature and extension that is enabled,
        // and has the queue family; the structures outlive the calls. What is made here lives in `Shared`,
        // whose drop returns it.
        unsafe {
            let memory = instance.get_physical_device_memory_properties(found.physical);
            let device = instance
                .create_device(found.physical, &wanted, None)
                .map_err(opening)?;
            let handles = Handles::new(&device, found.family, &known).map_err(|result| {
                device.destroy_device(None);
                opening(result)
            })?;
            let queue = device.get_device_queue(found.family, 0);
            let host_memory = (found.extensions.host_memory)
                .then(|| HostMemory::of(instance, found.physical, &device));
            Ok(Self {
                shared: Arc::new(Shared {
                    facts,
                    device,
                    physical: found.physical,
                    extensions: found.extensions,
                    memory,
                    host_memory,
                    handles,
                    cache_id: found.cache_id,
                    ledger: Arc::new(Ledger::for_this_build()),
                    pool: Mutex::default(),
                    staged,
                    queue: Mutex::new(Queue { queue }),
                    given_up: AtomicBool::new(false),
                    timer_bias: OnceLock::new(),
                }),
            })
        }
    }

    /// What the device is and can do.
    pub fn facts(&self) -> &VulkanFacts {
        &self.shared.facts
    }

    /// Who holds how much of its memory.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.shared.ledger
    }

    /// How many of the driver's allocations buffers share: slabs, and the staging buffer.
    pub fn shared_allocations(&self) -> usize {
        let pool = self.shared.pool.lock();
        pool.unwrap_or_else(PoisonError::into_inner).allocations()
    }
}

impl Shared {
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(DeviceError::GivenUp {
                gpu: self.facts.name.clone(),
            });
        }
        Ok(())
    }

    /// The error of an allocation that a heap has no room for.
    pub(super) fn out_of_memory(&self, asked: u64, heap: usize) -> DeviceError {
        let total = self.memory.memory_heaps[heap].size;
        let free = match self.extensions.memory_budget {
            true => self.left_of_budget(heap),
            // Others may hold more; what we hold is known.
            false => total.saturating_sub(self.ledger.stats().live),
        };
        DeviceError::OutOfMemory {
            asked: Bytes(asked),
            free: Bytes(free),
            total: Bytes(total),
        }
    }

    /// What the driver says that this process can still take of a heap.
    fn left_of_budget(&self, heap: usize) -> u64 {
        let Ok(loader) = loader() else {
            return 0;
        };
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the device was listed by this instance and offers the extension whose structure is in the
        // chain.
        unsafe {
            (loader.instance).get_physical_device_memory_properties2(self.physical, &mut memory);
        }
        budget.heap_budget[heap].saturating_sub(budget.heap_usage[heap])
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of a call; a lost device is not used again.
    pub(super) fn failed(&self, attempted: &'static str, result: vk::Result) -> DeviceError {
        if result == vk::Result::ERROR_DEVICE_LOST {
            self.given_up.store(true, Ordering::Relaxed);
            return DeviceError::VulkanLost {
                device: self.facts.name.clone(),
                attempted,
            };
        }
        DeviceError::vulkan(attempted, result)
    }

    /// A command buffer that can be recorded and submitted often.
    pub(super) fn command_buffer(&self) -> Result<vk::CommandBuffer, DeviceError> {
        let _queue = self.queue();
        let wanted = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.handles.commands)
            .command_buffer_count(1);
        // SAFETY: the pool is this device's and is used under the queue's lock alone.
        let made = unsafe { self.device.allocate_command_buffers(&wanted) };
        made.map(|list| list[0])
            .map_err(|result| self.failed("make a command buffer", result))
    }

    pub(super) fn return_command_buffer(&self, commands: vk::CommandBuffer) {
        let _queue = self.queue();
        // After work that did not end nothing is freed.
        if self.check().is_ok() {
            // SAFETY: the buffer came from this pool, and whoever returns it has waited for its work.
            unsafe {
                self.device
                    .free_command_buffers(self.handles.commands, &[commands])
            };
        }
    }

    /// Records commands. What they write is seen by all that is submitted later and, after a wait, by the
    /// host; what the host wrote before is seen by every submission.
    pub(super) fn record(
        &self,
        commands: vk::CommandBuffer,
        body: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), DeviceError> {
        let _queue = self.queue();
        let device = &self.device;
        // SAFETY: the buffer is this device's, no submission of it is under way (callers wait for each), and
        // the pool is used under the queue's lock.
        unsafe {
            device
                .begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())
                .map_err(|result| self.failed("record commands", result))?;
            body(device, commands);
            self.order(commands);
            device
                .end_command_buffer(commands)
                .map_err(|result| self.failed("record commands", result))
        }
    }

    /// Records that whatever follows, in this submission, in a later one or on the host, sees what was
    /// written before.
    pub(super) fn order(&self, commands: vk::CommandBuffer) {
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(
                vk::AccessFlags::MEMORY_READ
                    | vk::AccessFlags::MEMORY_WRITE
                    | vk::AccessFlags::HOST_READ,
            )];
        let device = vk::PipelineStageFlags::ALL_COMMANDS;
        let all = device | vk::PipelineStageFlags::HOST;
        let none = vk::DependencyFlags::empty();
        // SAFETY: the buffer is this device's and is being recorded under the queue's lock.
        unsafe {
            (self.device).cmd_pipeline_barrier(commands, device, all, none, &barrier, &[], &[]);
        }
    }

    /// Looks for the end of short work without sleeping: waking a thread takes longer than many kernels.
    fn ends_soon(&self, limit: Duration) -> bool {
        // Mesa's software driver raises a fence that nobody waits for late.
        if self.facts.kind == VulkanKind::Software {
            return false;
        }
        let begun = Instant::now();
        while begun.elapsed() < LOOKS_FOR.min(limit) {
            // SAFETY: the fence is this device's.
            match unsafe { self.device.get_fence_status(self.handles.finished) } {
                Ok(true) => return true,
                Ok(false) => std::hint::spin_loop(),
                // The wait that follows says what is wrong.
                Err(_) => return false,
            }
        }
        false
    }

    /// Submits recorded commands and waits for their end.
    pub(super) fn run(
        &self,
        commands: vk::CommandBuffer,
        attempted: &'static str,
        limit: Duration,
    ) -> Result<(), DeviceError> {
        self.check()?;
        let queue = self.queue();
        let (lists, fences) = ([commands], [self.handles.finished]);
        let work = vk::SubmitInfo::default().command_buffers(&lists);
        let nanoseconds = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the commands were recorded on this device; queue and fence are used under the queue's
        // lock, and no submission is under way with the fence, since each is waited for; the structures
        // outlive the calls.
        let waited = unsafe {
            self.device
                .reset_fences(&fences)
                .and_then(|()| {
                    (self.device).queue_submit(queue.queue, &[work], self.handles.finished)
                })
                .map_err(|result| self.failed(attempted, result))?;
            if self.ends_soon(limit) {
                return Ok(());
            }
            self.device.wait_for_fences(&fences, true, nanoseconds)
        };
        match waited {
            Ok(()) => Ok(()),
            Err(vk::Result::TIMEOUT) => {
                self.given_up.store(true, Ordering::Relaxed);
                Err(DeviceError::NeverEnded {
                    attempted,
                    seconds: limit.as_secs_f64(),
                })
            }
            Err(result) => Err(self.failed(attempted, result)),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What is still in use by work that did not end cannot be returned.
        if self.check().is_err() {
            return;
        }
        let mut pool = std::mem::take(self.pool.get_mut().unwrap_or_else(PoisonError::into_inner));
        pool.free(self);
        // SAFETY: every submission was waited for, buffers and kernels hold the device and are gone, and
        // each handle was made by it.
        unsafe {
            self.handles.destroy(&self.device);
            self.device.destroy_device(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vulkan::{VulkanFloats, VulkanStep};

    /// A device without a driver: a call of any of its functions panics.
    fn without_driver() -> VulkanDevice {
        let facts = VulkanFacts {
            index: 0,
            name: "none".to_owned(),
            kind: VulkanKind::Other,
            driver: String::new(),
            api: String::new(),
            memory: 0,
            lacks: Vec::new(),
            float64: true,
            int64_atomics: true,
            bytes: true,
            halves: true,
            floats: [VulkanFloats::default(); 2],
            cuts_loops: false,
            workgroup_threads: 0,
            workgroup_bytes: 0,
            subgroup_shuffles: 0,
            multiprocessors: 0,
            timestamp_period: 1.0,
        };
        let nothing = vk::Device::null();
        VulkanDevice {
            shared: Arc::new(Shared {
                facts,
                // SAFETY: a function that is not found is replaced by one that panics.
                device: unsafe { ash::Device::load_with(|_| std::ptr::null(), nothing) },
                physical: vk::PhysicalDevice::null(),
                extensions: Extensions::default(),
                memory: vk::PhysicalDeviceMemoryProperties::default(),
                host_memory: None,
                handles: Handles {
                    commands: vk::CommandPool::null(),
                    finished: vk::Fence::null(),
                    layout: vk::PipelineLayout::null(),
                    cache: vk::PipelineCache::null(),
                },
                cache_id: [0; vk::UUID_SIZE],
                ledger: Arc::new(Ledger::for_this_build()),
                pool: Mutex::new(Pool::default()),
                staged: false,
                queue: Mutex::new(Queue {
                    queue: vk::Queue::null(),
                }),
                given_up: AtomicBool::new(false),
                timer_bias: OnceLock::new(),
            }),
        }
    }

    #[test]
    fn a_lost_device_is_not_used_again() {
        let device = without_driver();
        let shared = &device.shared;
        let other = shared.failed("allocate", vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        assert!(matches!(other, DeviceError::Driver { .. }), "{other}");
        assert!(shared.check().is_ok());
        let lost = shared.failed("run a kernel on Vulkan", vk::Result::ERROR_DEVICE_LOST);
        assert!(matches!(lost, DeviceError::VulkanLost { .. }), "{lost}");
        let commands = vk::CommandBuffer::null();
        // SAFETY: nothing is compiled, read or written: a device that was given up is asked nothing.
        let (kernel, recorded) = unsafe {
            (
                device.kernel(&[]).map(|_| ()),
                device.record(&[] as &[VulkanStep<'_>], true).map(|_| ()),
            )
        };
        let refused = [
            device.buffer(16).map(|_| ()),
            device.upload(&[1]).map(|_| ()),
            shared.run(commands, "run", Duration::from_secs(1)),
            kernel,
            recorded,
            device.warm_up(),
        ];
        for refused in refused {
            let error = refused.expect_err("the device is lost");
            assert!(matches!(error, DeviceError::GivenUp { .. }), "{error}");
        }
        // Neither these nor the drop of the device call the driver.
        shared.return_command_buffer(commands);
    }
}
