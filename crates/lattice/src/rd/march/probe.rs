//! What a device's own multiply-add of `float32` does.

use std::time::Duration;

use bytemuck::cast_slice;
use warpsmith_device::{DeviceError, VulkanDevice, VulkanFloats, VulkanStep};

use super::super::rule::Rule;
use super::assembler::{Assembler, FUSED, Id, Op};
use super::kernel::address;
use super::{MultiplyAdd, WIDTH};

/// Rules with a smaller coefficient are not for guarded multiply-adds.
const LEAST_COEFFICIENT: f32 = 1e-9;
/// A probe that takes longer does not end.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// How the device makes multiply-adds that round once, tried on sums that tell.
pub(in super::super) fn multiply_add(
    device: &VulkanDevice,
    rule: Rule,
) -> Result<MultiplyAdd, DeviceError> {
    if fuses(device, true)? {
        return Ok(MultiplyAdd::Own);
    }
    let coefficients = [rule.diffusion, rule.damped, rule.threshold];
    let is_plain = coefficients.iter().all(|c| *c >= LEAST_COEFFICIENT);
    if is_plain && fuses(device, false)? {
        return Ok(MultiplyAdd::Guarded);
    }
    Ok(MultiplyAdd::Wide)
}

fn fuses(device: &VulkanDevice, with_small_numbers: bool) -> Result<bool, DeviceError> {
    let mut state = 1_u64;
    let mut random = || {
        state =
            (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1_442_695_040_888_963_407);
        // Of any sign, exponents around 1 and below the normal numbers.
        let bits = (state >> 32) as u32;
        let exponent = if with_small_numbers && bits & 7 == 0 {
            bits >> 29
        } else {
            115 + (bits >> 28)
        };
        f32::from_bits(bits & 0x807f_ffff | exponent << 23)
    };
    const TRIES: usize = 4096;
    let triples: Vec<[f32; 3]> = (0..TRIES)
        .map(|n| {
            let (x, y, z) = (random(), random(), random());
            // Every other sum cancels but for what the product lost.
            [x, y, if n % 2 == 0 { -(x * y) } else { z }]
        })
        .collect();
    let given = device.upload(cast_slice(&triples))?;
    let results = device.upload(&vec![0xff; 4 * TRIES])?;
    let addresses = [given.address(), results.address()];
    let block = device.upload(cast_slice(&addresses))?;
    // SAFETY: the module is valid (its test asks `spirv-val`) and needs nothing beyond what every device has.
    let kernel = unsafe { device.kernel(&probe(device.facts().floats)) }?;
    let step = VulkanStep {
        kernel: &kernel,
        block: block.address(),
        groups: (TRIES as u32).div_ceil(WIDTH),
    };
    // SAFETY: the block holds the addresses of buffers that live until the run has ended; the kernel touches
    // as many triples and results as there are.
    unsafe { device.record(&[step], false) }?.run(PROBE_LIMIT)?;
    let mut bytes = vec![0_u8; 4 * TRIES];
    results.read(&mut bytes)?;
    let same = |(bytes, [x, y, z]): (&[u8; 4], &[f32; 3])| {
        f32::from_le_bytes(*bytes).to_bits() == x.mul_add(*y, *z).to_bits()
    };
    Ok(bytes.as_chunks::<4>().0.iter().zip(&triples).all(same))
}

/// A kernel whose threads each make one multiply-add.
pub(super) fn probe(floats: [VulkanFloats; 2]) -> Vec<u32> {
    let mut a = Assembler::new();
    let block = a.block();
    let (thread, group) = (a.thread(), a.group());
    let width = a.u32(WIDTH);
    let start = a.value(Op::IMul, a.word, &[group, width]);
    let at = a.value(Op::IAdd, a.word, &[start, thread]);
    let at = a.value(Op::UConvert, a.wide, &[at]);
    let [given, results] = [0, 8].map(|n| {
        let at = address(&mut a, block, n);
        a.load_at(a.wide, at)
    });
    let place = |a: &mut Assembler, base: Id, bytes: u64| {
        let bytes = a.u64(bytes);
        let offset = a.value(Op::IMul, a.wide, &[at, bytes]);
        a.value(Op::IAdd, a.wide, &[base, offset])
    };
    let triple = place(&mut a, given, 12);
    let numbers = [0, 4, 8].map(|n| {
        let at = address(&mut a, triple, n);
        a.load_at(a.float, at)
    });
    let sum = a.extended(FUSED, &numbers);
    let to = place(&mut a, results, 4);
    a.store_at(a.float, to, sum);
    a.finish(WIDTH, floats)
}
