//! What a GPU is, asked of the driver without opening a context.

use std::ffi::CStr;
use std::fs;

use serde::{Deserialize, Serialize};

use super::raw::{Driver, Ordinal, attribute};
use crate::error::DeviceError;

/// Facts about one GPU. Sizes in bytes, clocks in hertz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// The driver's index, after `CUDA_VISIBLE_DEVICES`.
    pub index: usize,
    /// Marketing name.
    pub name: String,
    /// `GPU-…`, stable over reboots; `MIG-…` for a slice.
    pub uuid: String,
    /// `domain:bus:device.function`.
    pub pci: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Largest SM clock.
    pub sm_clock_hz: f64,
    /// Memory clock.
    pub memory_clock_hz: f64,
    /// Memory bus width in bits.
    pub memory_bus_bits: u32,
    /// Datasheet bandwidth: bus width × clock × 2 transfers per clock.
    pub memory_bandwidth: f64,
    /// Device memory.
    pub memory_bytes: u64,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Shared memory of a multiprocessor.
    pub shared_bytes_per_multiprocessor: u64,
    /// Shared memory that one block can ask for.
    pub shared_bytes_per_block: u64,
    /// Registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Threads that a multiprocessor holds.
    pub threads_per_multiprocessor: u32,
    /// Threads that a block can have.
    pub threads_per_block: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Whether memory errors are corrected.
    pub ecc: bool,
    /// Whether it shares the host's memory.
    pub integrated: bool,
    /// Profile of the MIG slice, e.g. `1g.18gb`, where this is one.
    pub mig_profile: Option<String>,
    /// Driver version, e.g. `580.159.04`, where the system says.
    pub driver_version: Option<String>,
    /// Newest CUDA version that the driver speaks, e.g. `13.0`.
    pub cuda_version: String,
}

impl GpuFacts {
    /// The architecture as compilers name it: 90 for `sm_90`.
    pub fn sm(&self) -> u32 {
        self.compute_capability.0 * 10 + self.compute_capability.1
    }

    pub(super) fn read(driver: &Driver, index: usize) -> Result<Self, DeviceError> {
        let ordinal = ordinal(driver, index)?;
        let ask = |which: i32| {
            let mut value = 0;
            // SAFETY: the pointer is to a live i32 and `ordinal` came from the driver.
            let status = unsafe { (driver.device_get_attribute)(&raw mut value, which, ordinal) };
            // Newer drivers may retire an attribute; a fact that is not known reads as zero.
            if status == 0 {
                u32::try_from(value).unwrap_or(0)
            } else {
                0
            }
        };
        let mut memory = 0usize;
        // SAFETY: the pointer is to a live size and `ordinal` came from the driver.
        let status = unsafe { (driver.device_total_mem)(&raw mut memory, ordinal) };
        driver.check(status, "query the size of device memory")?;
        let name = text(driver, "ask for the name of a device", |buffer, length| {
            // SAFETY: `text` passes a buffer of `length` bytes.
            unsafe { (driver.device_get_name)(buffer, length, ordinal) }
        })?;
        let pci = text(
            driver,
            "ask for the PCI address of a device",
            |buffer, length| {
                // SAFETY: `text` passes a buffer of `length` bytes.
                unsafe { (driver.device_get_pci_bus_id)(buffer, length, ordinal) }
            },
        )?;
        let mut uuid = [0u8; 16];
        // SAFETY: the buffer has the 16 bytes of a `CUuuid`.
        let status = unsafe { (driver.device_get_uuid)(&raw mut uuid, ordinal) };
        driver.check(status, "query the identity of a device")?;
        // In a slice the driver appends the profile: "NVIDIA H200 MIG 1g.18gb".
        let mig_profile = name
            .split_once(" MIG ")
            .map(|(_, profile)| profile.to_owned());
        let memory_clock_hz = f64::from(ask(attribute::MEMORY_CLOCK_RATE)) * 1e3;
        let memory_bus_bits = ask(attribute::GLOBAL_MEMORY_BUS_WIDTH);
        Ok(Self {
            index,
            uuid: format_uuid(if mig_profile.is_some() { "MIG" } else { "GPU" }, uuid),
            name,
            pci: pci.to_lowercase(),
            compute_capability: (
                ask(attribute::COMPUTE_CAPABILITY_MAJOR),
                ask(attribute::COMPUTE_CAPABILITY_MINOR),
            ),
            multiprocessors: ask(attribute::MULTIPROCESSOR_COUNT),
            sm_clock_hz: f64::from(ask(attribute::CLOCK_RATE)) * 1e3,
            memory_clock_hz,
            memory_bus_bits,
            memory_bandwidth: memory_clock_hz * 2.0 * f64::from(memory_bus_bits) / 8.0,
            memory_bytes: memory as u64,
            l2_bytes: u64::from(ask(attribute::L2_CACHE_SIZE)),
            shared_bytes_per_multiprocessor: u64::from(ask(
                attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )),
            shared_bytes_per_block: u64::from(ask(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)),
            registers_per_multiprocessor: ask(attribute::MAX_REGISTERS_PER_MULTIPROCESSOR),
            threads_per_multiprocessor: ask(attribute::MAX_THREADS_PER_MULTIPROCESSOR),
            threads_per_block: ask(attribute::MAX_THREADS_PER_BLOCK),
            warp_size: ask(attribute::WARP_SIZE),
            ecc: ask(attribute::ECC_ENABLED) == 1,
            integrated: ask(attribute::INTEGRATED) == 1,
            mig_profile,
            driver_version: fs::read_to_string("/proc/driver/nvidia/version")
                .ok()
                .and_then(|text| driver_version(&text)),
            cuda_version: cuda_version(driver.cuda_version()),
        })
    }
}

/// Every GPU of this machine, in the driver's order; opens no context.
///
/// An empty list means that the driver works and sees no GPU.
pub fn cuda_devices() -> Result<Vec<GpuFacts>, DeviceError> {
    let driver = Driver::get()?;
    (0..count(driver)?)
        .map(|index| GpuFacts::read(driver, index))
        .collect()
}

pub(super) fn count(driver: &Driver) -> Result<usize, DeviceError> {
    let mut count = 0;
    // SAFETY: the pointer is to a live i32.
    let status = unsafe { (driver.device_get_count)(&raw mut count) };
    driver.check(status, "count the devices")?;
    Ok(usize::try_from(count).unwrap_or(0))
}

pub(super) fn ordinal(driver: &Driver, index: usize) -> Result<Ordinal, DeviceError> {
    let count = count(driver)?;
    if count == 0 {
        return Err(DeviceError::NoGpu);
    }
    let asked =
        i32::try_from(index)
            .ok()
            .filter(|_| index < count)
            .ok_or(DeviceError::NoSuchDevice {
                asked: index,
                count,
            })?;
    let mut ordinal = 0;
    // SAFETY: the pointer is to a live i32.
    let status = unsafe { (driver.device_get)(&raw mut ordinal, asked) };
    driver.check(status, "get a device")?;
    Ok(ordinal)
}

fn text(
    driver: &Driver,
    attempted: &str,
    fill: impl FnOnce(*mut std::ffi::c_char, i32) -> i32,
) -> Result<String, DeviceError> {
    let mut buffer = [0u8; 256];
    // One byte is kept back, so that the text ends in a zero whatever the driver writes.
    driver.check(fill(buffer.as_mut_ptr().cast(), 255), attempted)?;
    let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

fn format_uuid(prefix: &str, bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{prefix}-{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

fn cuda_version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// The first dotted number in the kernel module's own words.
fn driver_version(text: &str) -> Option<String> {
    text.lines()
        .next()?
        .split_whitespace()
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_driver_become_the_texts_people_know() {
        assert_eq!(cuda_version(13000), "13.0");
        assert_eq!(cuda_version(12040), "12.4");
        let uuid = std::array::from_fn(|index| index as u8);
        assert_eq!(
            format_uuid("GPU", uuid),
            "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
        );
    }

    #[test]
    fn the_driver_version_is_found_in_both_kernel_modules_words() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release";
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  525.60.13  Wed";
        assert_eq!(driver_version(open).as_deref(), Some("580.159.04"));
        assert_eq!(driver_version(closed).as_deref(), Some("525.60.13"));
        assert_eq!(driver_version(""), None);
    }
}
