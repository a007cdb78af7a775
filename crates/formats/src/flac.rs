//! FLAC (RFC 9639): 16-bit stereo without loss, in fewer bytes than a WAV file.
//!
//! Fixed predictors and partitioned Rice codes, left and right or middle and side. Written a block
//! at a time, to a file whose length is known before its first sample. The checksum of all samples
//! stands before them in the file and is left out, as the format allows.

/// Frames of a block; the last one may have fewer.
pub const BLOCK: usize = 4_096;

/// Highest order of a fixed predictor.
const MOST_ORDER: usize = 4;
/// Partitions are at most two to this many.
const PARTITION_ORDER: u32 = 4;

/// Bits, most significant first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 36);
        self.held = self.held << bits | value & ((1 << bits) - 1);
        self.count += bits;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }

    /// `count` zeros and a one.
    fn put_unary(&mut self, mut count: u32) {
        while count >= 32 {
            self.put(0, 32);
            count -= 32;
        }
        self.put(1, count + 1);
    }

    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}

fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc, _| {
            (crc << 1) ^ if crc & 0x80 != 0 { 0x07 } else { 0 }
        })
    })
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            (crc << 1) ^ if crc & 0x8000 != 0 { 0x8005 } else { 0 }
        })
    })
}

/// Writes one file.
#[derive(Debug)]
pub struct FlacEncoder {
    sample_rate: u32,
    frames: u64,
    next_block: u32,
}

impl FlacEncoder {
    /// For `frames` stereo frames in all.
    pub fn new(sample_rate: u32, frames: u64) -> Self {
        Self {
            sample_rate,
            frames,
            next_block: 0,
        }
    }

    /// Everything before the first block.
    pub fn head(&self) -> Vec<u8> {
        let mut bits = Bits::default();
        for byte in b"fLaC" {
            bits.put(u64::from(*byte), 8);
        }
        // The one block of metadata, which is the last: STREAMINFO, 34 bytes.
        bits.put(0x80, 8);
        bits.put(34, 24);
        bits.put(BLOCK as u64, 16);
        bits.put(BLOCK as u64, 16);
        // Sizes of the smallest and the largest frame are not known yet.
        bits.put(0, 24);
        bits.put(0, 24);
        bits.put(u64::from(self.sample_rate), 20);
        bits.put(1, 3);
        bits.put(15, 5);
        bits.put(self.frames, 36);
        for _ in 0..4 {
            bits.put(0, 32);
        }
        bits.bytes
    }

    /// The bytes of the next block: left and right alternating, [`BLOCK`] frames, or fewer in the
    /// last block. An empty block has none.
    pub fn block(&mut self, samples: &[i16]) -> Vec<u8> {
        let frames = samples.as_chunks::<2>().0;
        let frames = &frames[..frames.len().min(BLOCK)];
        if frames.is_empty() {
            return Vec::new();
        }
        let left: Vec<i32> = frames.iter().map(|frame| frame[0].into()).collect();
        let right: Vec<i32> = frames.iter().map(|frame| frame[1].into()).collect();
        let side: Vec<i32> = left.iter().zip(&right).map(|(l, r)| l - r).collect();
        let middle: Vec<i32> = left.iter().zip(&right).map(|(l, r)| (l + r) >> 1).collect();
        let [left, right, side, middle] = [left, right, side, middle].map(Predicted::best);
        let apart = left.cost + right.cost;
        let joint = side.cost + middle.cost;
        let mut bits = self.frame_head(frames.len(), joint < apart);
        if joint < apart {
            middle.put(16, &mut bits);
            side.put(17, &mut bits);
        } else {
            left.put(16, &mut bits);
            right.put(16, &mut bits);
        }
        bits.align();
        let check = crc16(&bits.bytes);
        bits.bytes.extend_from_slice(&check.to_be_bytes());
        self.next_block += 1;
        bits.bytes
    }

    fn frame_head(&self, count: usize, joint: bool) -> Bits {
        let mut bits = Bits::default();
        bits.put(0xfff8, 16);
        // A full block has a code; the length of another stands at the end of the head.
        bits.put(if count == BLOCK { 12 } else { 7 }, 4);
        bits.put(0, 4);
        bits.put(if joint { 10 } else { 1 }, 4);
        // 16 bits to a sample.
        bits.put(0b1000, 4);
        put_number(self.next_block, &mut bits);
        if count != BLOCK {
            bits.put(count as u64 - 1, 16);
        }
        let check = crc8(&bits.bytes);
        bits.put(u64::from(check), 8);
        bits
    }
}

/// A number as UTF-8 would write it, up to 31 bits.
fn put_number(value: u32, bits: &mut Bits) {
    if value < 0x80 {
        bits.put(u64::from(value), 8);
        return;
    }
    // Bytes that follow carry six bits each, the first what is left.
    let mut follow = 1;
    while value >> (5 * follow + 6) != 0 && follow < 5 {
        follow += 1;
    }
    let ones = 0xffu32 << (7 - follow) & 0xff;
    bits.put(u64::from(ones | value >> (6 * follow)), 8);
    for index in (0..follow).rev() {
        bits.put(u64::from(0x80 | value >> (6 * index) & 0x3f), 8);
    }
}

/// A channel with the predictor that leaves least.
struct Predicted {
    samples: Vec<i32>,
    order: usize,
    residual: Vec<i32>,
    cost: u64,
}

impl Predicted {
    fn best(samples: Vec<i32>) -> Self {
        let mut residual = samples.clone();
        let cost = |residual: &[i32]| -> u64 {
            residual.iter().map(|r| u64::from(r.unsigned_abs())).sum()
        };
        let mut best = (cost(&residual), 0, residual.clone());
        for order in 1..=MOST_ORDER.min(samples.len().saturating_sub(1)) {
            // Each order is the difference of the one before.
            residual = residual.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let now = cost(&residual);
            if now < best.0 {
                best = (now, order, residual.clone());
            }
        }
        let (cost, order, residual) = best;
        Self {
            samples,
            order,
            residual,
            cost,
        }
    }

    fn put(&self, sample_bits: u32, bits: &mut Bits) {
        let first = self.samples[0];
        if self.samples.iter().all(|sample| *sample == first) {
            bits.put(0, 8);
            bits.put(u64::from(first.cast_unsigned()), sample_bits);
            return;
        }
        bits.put(((0b1000 | self.order) << 1) as u64, 8);
        for sample in &self.samples[..self.order] {
            bits.put(u64::from(sample.cast_unsigned()), sample_bits);
        }
        let count = self.samples.len();
        let mut partition_order = PARTITION_ORDER;
        while !count.is_multiple_of(1 << partition_order) || count >> partition_order <= MOST_ORDER
        {
            if partition_order == 0 {
                break;
            }
            partition_order -= 1;
        }
        bits.put(0, 2);
        bits.put(u64::from(partition_order), 4);
        let size = count >> partition_order;
        let mut rest = &self.residual[..];
        for partition in 0..1usize << partition_order {
            let length = if partition == 0 {
                size - self.order
            } else {
                size
            };
            let (now, later) = rest.split_at(length);
            put_rice(now, bits);
            rest = later;
        }
    }
}

/// A partition: its parameter, then quotient and remainder of each folded residual.
fn put_rice(residual: &[i32], bits: &mut Bits) {
    let folded = || residual.iter().map(|r| (r << 1 ^ r >> 31).cast_unsigned());
    let sum: u64 = folded().map(u64::from).sum();
    let mean = sum / residual.len().max(1) as u64;
    let parameter = (64 - mean.leading_zeros()).saturating_sub(1).min(14);
    bits.put(u64::from(parameter), 4);
    for value in folded() {
        bits.put_unary(value >> parameter);
        bits.put(u64::from(value), parameter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // The check values of CRC-8 and of CRC-16/BUYPASS.
        assert_eq!(crc8(b"123456789"), 0xf4);
        assert_eq!(crc16(b"123456789"), 0xfee8);
    }

    #[test]
    fn numbers_are_written_as_utf8_writes_them() {
        for (value, bytes) in [
            (0x24, &[0x24][..]),
            (0x7f, &[0x7f]),
            (0x80, &[0xc2, 0x80]),
            (0x7ff, &[0xdf, 0xbf]),
            (0x800, &[0xe0, 0xa0, 0x80]),
            (0xffff, &[0xef, 0xbf, 0xbf]),
            (0x1_0348, &[0xf0, 0x90, 0x8d, 0x88]),
        ] {
            let mut bits = Bits::default();
            put_number(value, &mut bits);
            assert_eq!(bits.bytes, bytes, "{value:x}");
        }
    }

    #[test]
    fn silence_is_a_few_bytes_and_noise_is_not_larger_than_it_was() {
        let mut encoder = FlacEncoder::new(48_000, 8_192);
        assert_eq!(encoder.head().len(), 42);
        assert!(encoder.block(&[0; 2 * BLOCK]).len() < 20);
        let noise: Vec<i16> = (0..2 * BLOCK as u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as i16)
            .collect();
        assert!(encoder.block(&noise).len() < 2 * noise.len() + 4 * noise.len() / 10);
        assert!(encoder.block(&[]).is_empty());
    }
}
