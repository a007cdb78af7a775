//! The bytes of the format: magic numbers, sizes and limits, in one place.

/// First bytes of a recording.
pub(super) const MAGIC: &[u8; 8] = b"WSGPUREC";
/// Last bytes of a complete recording.
pub(super) const END_MAGIC: &[u8; 8] = b"WSRECEND";
/// First bytes of a block.
pub(super) const BLOCK_MAGIC: &[u8; 4] = b"BLK1";
/// First bytes of the index.
pub(super) const INDEX_MAGIC: &[u8; 4] = b"IDX1";
/// Version of the format that is written, and the newest that is read.
pub(super) const VERSION: u16 = 1;

/// Magic, version, reserved, header length.
pub(super) const PREFIX_BYTES: u64 = 16;
/// Magic, packed length, plain length, first and last time, checksum.
pub(super) const BLOCK_HEAD_BYTES: u64 = 32;
/// Offset of the index, end magic.
pub(super) const FOOTER_BYTES: u64 = 16;
/// Offset, first time, last time.
pub(super) const INDEX_ENTRY_BYTES: u64 = 24;

/// A header beyond this is no header.
pub(super) const HEADER_LIMIT: u32 = 1 << 20;
/// A block beyond this is no block: ten seconds of 64 GPUs are under a tenth of it.
pub(super) const BLOCK_LIMIT: u32 = 16 << 20;

/// Where a block is and which time it covers, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) first: u64,
    pub(super) last: u64,
}

/// The checksum of some bytes.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Four bytes at `at` as a number; the caller has checked the length.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// Eight bytes at `at` as a number; the caller has checked the length.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}
