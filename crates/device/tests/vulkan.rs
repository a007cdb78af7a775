//! Memory of the Vulkan device that is here; lavapipe will do. Without a driver every trial is ignored. A
//! program of its own: whether trials can run is found out at run time, and the validation layer is on.

#![allow(clippy::print_stderr, reason = "a trial says why it is ignored")]

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_device::{DeviceError, VulkanBuffer, VulkanDevice, vulkan_messages};

/// A file of the validation layer, as distributions install it.
const LAYER: &str = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json";

fn main() {
    let arguments = Arguments::from_args();
    if std::path::Path::new(LAYER).exists() {
        // SAFETY: no thread was started yet.
        unsafe { std::env::set_var("WARPSMITH_VULKAN_VALIDATION", "1") };
    }
    let opened = VulkanDevice::open(0);
    if let Err(error) = &opened {
        eprintln!("no Vulkan device: {error}");
    }
    let missing = opened.is_err();
    drop(opened);
    let trial = |name: &str, run: fn(&VulkanDevice) -> Result<(), Failed>| {
        Trial::test(name, move || {
            for device in [VulkanDevice::open(0)?, VulkanDevice::open_staged(0)?] {
                run(&device)?;
                assert_eq!(device.ledger().stats().live, 0, "all memory was returned");
            }
            let heard = vulkan_messages().unwrap_or_default();
            assert!(heard.is_empty(), "the validation layer says {}", heard[0]);
            Ok(())
        })
        .with_ignored_flag(missing)
    };
    let trials = vec![
        trial("buffers share slabs and never overlap", shared),
        trial("thousands of small buffers are few allocations", many),
        trial("large buffers are copied in parts", large),
        trial(
            "a buffer that does not fit is an error with figures",
            too_large,
        ),
        trial("pages of the host are a buffer", borrowed),
        trial("all who measure subtract one bias", one_bias),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// Numbers that look random, the same in every run.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

fn filled(buffer: &mut VulkanBuffer, seed: u64) -> Result<(), DeviceError> {
    let mut state = seed;
    let bytes: Vec<u8> = (0..buffer.len()).map(|_| next(&mut state) as u8).collect();
    buffer.write(&bytes)
}

fn is_filled(buffer: &VulkanBuffer, seed: u64) -> Result<bool, DeviceError> {
    let mut bytes = vec![0; buffer.len()];
    buffer.read(&mut bytes)?;
    let mut state = seed;
    Ok(bytes.iter().all(|byte| *byte == next(&mut state) as u8))
}

fn one_bias(device: &VulkanDevice) -> Result<(), Failed> {
    let first = device.timer_bias()?;
    // Measurements of it hardly ever agree to the last digit.
    for _ in 0..20 {
        assert_eq!(device.timer_bias()?.to_bits(), first.to_bits());
    }
    Ok(())
}

fn shared(device: &VulkanDevice) -> Result<(), Failed> {
    let mut state = 5;
    let mut lent: Vec<(u64, VulkanBuffer)> = Vec::new();
    for round in 0..600 {
        if next(&mut state) % 3 < 2 || lent.is_empty() {
            // Most are small, some larger than the first slabs, a few too large for any.
            let most = [100, 5000, 300_000, 18 << 20][(next(&mut state) % 64 / 21) as usize];
            let mut buffer = device.buffer(next(&mut state) as usize % most)?;
            let (from, to) = (buffer.address(), buffer.address() + buffer.len() as u64);
            assert_eq!(from % 16, 0);
            for (_, other) in &lent {
                let end = other.address() + other.len() as u64;
                assert!(to <= other.address() || end <= from, "round {round}");
            }
            filled(&mut buffer, round)?;
            lent.push((round, buffer));
        } else {
            let which = next(&mut state) as usize % lent.len();
            let (seed, buffer) = lent.swap_remove(which);
            assert!(is_filled(&buffer, seed)?, "round {round}");
        }
        let held: u64 = lent.iter().map(|(_, buffer)| buffer.len() as u64).sum();
        assert!(device.ledger().stats().live >= held);
    }
    for (seed, buffer) in &lent {
        assert!(is_filled(buffer, *seed)?);
    }
    Ok(())
}

fn many(device: &VulkanDevice) -> Result<(), Failed> {
    let mut buffers = Vec::new();
    for n in 0..6000_u32 {
        buffers.push(device.upload(&n.to_le_bytes())?);
    }
    // Slabs of 1 and 4 MiB, and perhaps the staging buffer.
    let allocations = device.shared_allocations();
    assert!(allocations <= 3, "{allocations}");
    for (n, buffer) in (0_u32..).zip(&buffers) {
        let mut bytes = [0; 4];
        buffer.read(&mut bytes)?;
        assert_eq!(u32::from_le_bytes(bytes), n);
    }
    drop(buffers);
    // One empty slab stays.
    assert!(device.shared_allocations() < 3);
    Ok(())
}

fn large(device: &VulkanDevice) -> Result<(), Failed> {
    // More than the staging buffer holds, and no multiple of it.
    let mut buffer = device.buffer((64 << 20) + 12_345)?;
    filled(&mut buffer, 3)?;
    assert!(is_filled(&buffer, 3)?);
    Ok(())
}

fn too_large(device: &VulkanDevice) -> Result<(), Failed> {
    let Err(error) = device.buffer(1 << 50) else {
        return Err("a petabyte was lent".into());
    };
    let DeviceError::OutOfMemory { asked, free, total } = &error else {
        // A driver may refuse the buffer before its memory.
        return Ok(());
    };
    assert!(asked.0 > total.0 && free.0 <= total.0, "{error}");
    Ok(())
}

fn borrowed(device: &VulkanDevice) -> Result<(), Failed> {
    // Neither begins nor ends at a page.
    let mut words: Vec<u128> = (0..70_001).collect();
    let (first, bytes) = (words[1..].as_mut_ptr().cast::<u8>(), 1_000_000);
    // SAFETY: the words live longer than the buffers, and nothing runs while they are used here.
    let (whole, odd, shifted) = unsafe {
        let odd = device.borrow(first, bytes - 1).is_none();
        let shifted = device.borrow(first.add(4), bytes).is_none();
        (device.borrow(first, bytes), odd, shifted)
    };
    assert!(odd && shifted, "a kernel would leave the bytes");
    let Some(taken) = whole else {
        // A driver without the extension, or one that does not take this memory.
        assert!(!device.shares_host_memory());
        return Ok(());
    };
    assert!(taken.address() % 16 == 0 && taken.len() == bytes);
    // Nothing of the device was taken.
    assert_eq!(device.ledger().stats().live, 0);
    drop(taken);
    assert_eq!(words[1], 1);
    Ok(())
}
