//! What each Vulkan device is and can do; asks drivers and opens no device.

use std::ffi::CStr;

use ash::vk;
use serde::{Deserialize, Serialize};

use super::loader::loader;
use crate::error::DeviceError;

/// What kind of device it is, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VulkanKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the CPU's memory.
    Integrated,
    /// A part of a GPU.
    Virtual,
    /// The CPU, by a driver such as lavapipe.
    Software,
    /// Something else.
    Other,
}

impl VulkanKind {
    /// One word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        }
    }
}

/// How floats of one width can be made to behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VulkanFloats {
    /// Numbers below the normal ones can be kept.
    pub denormals: bool,
    /// Rounding to the nearest can be requested.
    pub nearest: bool,
    /// Signs of zeroes, infinities and NaN can be kept.
    pub special: bool,
}

/// A Vulkan device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VulkanFacts {
    /// Position in the list: the N of `vulkan:N`.
    pub index: usize,
    /// What the driver calls it.
    pub name: String,
    /// What kind of device it is.
    pub kind: VulkanKind,
    /// The driver and its version, as it says.
    pub driver: String,
    /// The version of Vulkan that it offers.
    pub api: String,
    /// Bytes of its largest memory.
    pub memory: u64,
    /// What no kernel can do without and the device lacks; empty if kernels run.
    pub lacks: Vec<String>,
    /// Whether there are 64-bit floats.
    pub float64: bool,
    /// Whether there are atomic operations on 64-bit words.
    pub int64_atomics: bool,
    /// Whether memory has 8-bit words.
    pub bytes: bool,
    /// Whether memory has 16-bit words.
    pub halves: bool,
    /// 32-bit and 64-bit floats.
    pub floats: [VulkanFloats; 2],
    /// Whether the driver leaves loops after 65,535 iterations, as Mesa's software driver does.
    pub cuts_loops: bool,
    /// Threads of a workgroup, at most.
    pub workgroup_threads: u32,
    /// Bytes that a workgroup can share.
    pub workgroup_bytes: u32,
    /// Threads of every subgroup, where those of a compute shader can pass numbers along; else 0.
    pub subgroup_shuffles: u32,
    /// How many multiprocessors it has; 0 where the driver does not say.
    pub multiprocessors: u32,
    /// Nanoseconds of a tick of its timer; 0 without one.
    pub timestamp_period: f32,
}

impl VulkanFacts {
    /// What some kernels need and the device lacks, as the specification names it.
    pub fn missing_features(&self) -> Vec<&'static str> {
        let features = [
            (self.float64, "64-bit floats (shaderFloat64)"),
            (
                self.int64_atomics,
                "atomic operations on 64-bit words (shaderBufferInt64Atomics)",
            ),
            (
                self.bytes,
                "8-bit words in memory (storageBuffer8BitAccess)",
            ),
            (
                self.halves,
                "16-bit words in memory (storageBuffer16BitAccess)",
            ),
        ];
        let missing = features.into_iter().filter(|(has, _)| !has);
        missing.map(|(_, what)| what).collect()
    }
}

/// A device of the list, with its handle.
pub(super) struct Found {
    pub(super) facts: VulkanFacts,
    pub(super) physical: vk::PhysicalDevice,
    /// The queue family that computes.
    pub(super) family: u32,
    /// What names the device's compiled code.
    pub(super) cache_id: [u8; vk::UUID_SIZE],
    pub(super) extensions: Extensions,
}

/// Extensions that are used where they are offered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extensions {
    /// The driver says how much memory is left for this process.
    pub(super) memory_budget: bool,
    /// The device is another interface's, such as Metal's, and lacks parts of Vulkan.
    pub(super) portability_subset: bool,
    /// NVIDIA's, which counts multiprocessors.
    multiprocessors: bool,
    /// The driver says between which sizes of subgroups it chooses.
    subgroup_sizes: bool,
    /// The driver takes pages of the host's memory as memory of the device.
    pub(super) host_memory: bool,
}

impl Extensions {
    fn of(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Self {
        // SAFETY: `physical` was listed by this instance.
        let offered = unsafe { instance.enumerate_device_extension_properties(physical) };
        let offered = offered.unwrap_or_default();
        let has = |name: &CStr| {
            let mut names = offered.iter().map(|one| one.extension_name_as_c_str());
            names.any(|offered| offered == Ok(name))
        };
        Self {
            memory_budget: has(ash::ext::memory_budget::NAME),
            portability_subset: has(ash::khr::portability_subset::NAME),
            multiprocessors: has(ash::nv::shader_sm_builtins::NAME),
            subgroup_sizes: has(ash::ext::subgroup_size_control::NAME),
            host_memory: has(ash::ext::external_memory_host::NAME),
        }
    }
}

/// Every Vulkan device: discrete GPUs, then integrated ones, then software.
pub fn vulkan_devices() -> Result<Vec<VulkanFacts>, DeviceError> {
    Ok(found()?.into_iter().map(|found| found.facts).collect())
}

pub(super) fn found() -> Result<Vec<Found>, DeviceError> {
    let loader = loader()?;
    // SAFETY: the instance lives for ever.
    let all = unsafe { loader.instance.enumerate_physical_devices() };
    let all = all.map_err(|result| DeviceError::vulkan("list the Vulkan devices", result))?;
    let mut list: Vec<Found> = (all.into_iter())
        .filter_map(|physical| look(&loader.instance, physical))
        .collect();
    // Stable: among equals the driver's order stays.
    list.sort_by_key(|found| found.facts.kind);
    for (index, found) in list.iter_mut().enumerate() {
        found.facts.index = index;
    }
    Ok(list)
}

/// A device that computes.
fn look(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Option<Found> {
    // SAFETY: `physical` was listed by this instance, here and below.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let family = families
        .iter()
        .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))?;
    // SAFETY: as above.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    // SAFETY: as above.
    let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
    let largest = heaps
        .iter()
        .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        .map(|heap| heap.size)
        .max();
    let api = properties.api_version;
    let api_words = format!(
        "{}.{}.{}",
        vk::api_version_major(api),
        vk::api_version_minor(api),
        vk::api_version_patch(api)
    );
    let mut facts = VulkanFacts {
        index: 0,
        name: text(&properties.device_name),
        kind: match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => VulkanKind::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => VulkanKind::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => VulkanKind::Virtual,
            vk::PhysicalDeviceType::CPU => VulkanKind::Software,
            _ => VulkanKind::Other,
        },
        driver: String::new(),
        api: api_words,
        memory: largest.unwrap_or(0),
        lacks: Vec::new(),
        float64: false,
        int64_atomics: false,
        bytes: false,
        halves: false,
        floats: [VulkanFloats::default(); 2],
        cuts_loops: false,
        workgroup_threads: (properties.limits.max_compute_work_group_invocations)
            .min(properties.limits.max_compute_work_group_size[0]),
        workgroup_bytes: properties.limits.max_compute_shared_memory_size,
        subgroup_shuffles: 0,
        multiprocessors: 0,
        timestamp_period: 0.0,
    };
    let has_timer = families[family].timestamp_valid_bits > 0;
    if has_timer {
        facts.timestamp_period = properties.limits.timestamp_period;
    }
    let extensions = Extensions::of(instance, physical);
    if api < vk::API_VERSION_1_2 {
        facts.lacks.push("Vulkan 1.2".to_owned());
    } else {
        ask(instance, physical, &mut facts);
        if !extensions.subgroup_sizes || !has_one_subgroup_size(instance, physical) {
            facts.subgroup_shuffles = 0;
        }
        if extensions.multiprocessors {
            facts.multiprocessors = multiprocessors(instance, physical);
        }
    }
    Some(Found {
        facts,
        physical,
        family: family as u32,
        cache_id: properties.pipeline_cache_uuid,
        extensions,
    })
}

/// Features and float properties of a device that has Vulkan 1.2.
fn ask(instance: &ash::Instance, physical: vk::PhysicalDevice, facts: &mut VulkanFacts) {
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut v11)
        .push_next(&mut v12);
    // SAFETY: the chain holds structures of Vulkan 1.2, which the device offers.
    unsafe { instance.get_physical_device_features2(physical, &mut features) };
    let base = features.features;
    let mut properties11 = vk::PhysicalDeviceVulkan11Properties::default();
    let mut properties12 = vk::PhysicalDeviceVulkan12Properties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut properties11)
        .push_next(&mut properties12);
    // SAFETY: as above.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let needed = [
        (base.shader_int64, "64-bit integers (shaderInt64)"),
        (
            v12.buffer_device_address,
            "buffers by address (bufferDeviceAddress)",
        ),
    ];
    let missing = needed.iter().filter(|(has, _)| *has == vk::FALSE);
    facts.lacks = missing.map(|(_, what)| (*what).to_owned()).collect();
    facts.float64 = base.shader_float64 == vk::TRUE;
    facts.int64_atomics = v12.shader_buffer_int64_atomics == vk::TRUE;
    facts.bytes = v12.storage_buffer8_bit_access == vk::TRUE;
    facts.halves = v11.storage_buffer16_bit_access == vk::TRUE;
    facts.driver = format!(
        "{} {}",
        text(&properties12.driver_name),
        text(&properties12.driver_info)
    );
    let shuffles = vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE;
    if (properties11.subgroup_supported_operations).contains(shuffles)
        && (properties11.subgroup_supported_stages).contains(vk::ShaderStageFlags::COMPUTE)
    {
        facts.subgroup_shuffles = properties11.subgroup_size;
    }
    facts.cuts_loops = properties12.driver_id == vk::DriverId::MESA_LLVMPIPE;
    let p = &properties12;
    facts.floats = [
        VulkanFloats {
            denormals: p.shader_denorm_preserve_float32 == vk::TRUE,
            nearest: p.shader_rounding_mode_rte_float32 == vk::TRUE,
            special: p.shader_signed_zero_inf_nan_preserve_float32 == vk::TRUE,
        },
        VulkanFloats {
            denormals: p.shader_denorm_preserve_float64 == vk::TRUE,
            nearest: p.shader_rounding_mode_rte_float64 == vk::TRUE,
            special: p.shader_signed_zero_inf_nan_preserve_float64 == vk::TRUE,
        },
    ];
    // Where the widths depend on each other, setting them alike is all that is allowed, and both are set.
    let alone = vk::ShaderFloatControlsIndependence::ALL;
    if p.denorm_behavior_independence != alone
        && facts.floats[0].denormals != facts.floats[1].denormals
    {
        facts.floats.iter_mut().for_each(|f| f.denormals = false);
    }
    if p.rounding_mode_independence != alone && facts.floats[0].nearest != facts.floats[1].nearest {
        facts.floats.iter_mut().for_each(|f| f.nearest = false);
    }
}

/// Whether all subgroups have the size that the device states: some drivers choose another per kernel. The
/// device has the extension that says so.
fn has_one_subgroup_size(instance: &ash::Instance, physical: vk::PhysicalDevice) -> bool {
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut sizes);
    // SAFETY: the device offers the extension whose structure is in the chain.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    sizes.min_subgroup_size == sizes.max_subgroup_size
}

/// How many multiprocessors a device has whose driver has NVIDIA's extension that says so.
fn multiprocessors(instance: &ash::Instance, physical: vk::PhysicalDevice) -> u32 {
    let mut counts = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut counts);
    // SAFETY: the device offers the extension whose structure is in the chain.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    counts.shader_sm_count
}

fn text(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|c| *c as u8).collect();
    let until = CStr::from_bytes_until_nul(&bytes);
    until.map_or_else(
        |_| String::new(),
        |text| text.to_string_lossy().into_owned(),
    )
}
