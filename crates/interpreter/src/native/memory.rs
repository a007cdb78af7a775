//! The memory of the arguments, as it lies.
//!
//! Invariant: a region is read and written in bounds alone, element by element. Threads on several cores
//! never meet in an element, except in integers that they update atomically: a launch in which they could
//! meet otherwise runs on one core.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::lanes::Word;
use warpsmith_ir::half::{bfloat16_to_f32, f32_to_bfloat16, f32_to_half, half_to_f32};

/// An array's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) values: *mut u8,
    /// Null where the array has none.
    pub(super) gradients: *mut u8,
    pub(super) elements: usize,
    /// Bytes of an element.
    pub(super) stride: usize,
}

// SAFETY: workers reach the memory by the rules above: on several cores only where they do not meet.
unsafe impl Sync for Region {}

impl Region {
    /// The bytes that its elements take.
    pub(super) fn bytes(&self) -> usize {
        self.elements * self.stride
    }
}

/// Where a scalar of an array's first element lies in a launch; null where there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base(pub(super) *mut u8);

// SAFETY: as for [`Region`].
unsafe impl Sync for Base {}

/// A scalar as it lies in memory, and the word that a lane holds it in.
pub(super) trait Stored: 'static {
    type Word: Word;
    const BYTES: usize;

    /// # Safety
    /// `from` points at such a scalar, which nothing else writes at the same time.
    unsafe fn get(from: *const u8) -> Self::Word;

    /// # Safety
    /// `to` points at such a scalar, which nothing else reads or writes at the same time.
    unsafe fn put(to: *mut u8, word: Self::Word);

    /// Replaces a scalar that other threads update at the same time; gives the old one.
    ///
    /// # Safety
    /// `at` is aligned and points at such a scalar, which others only update.
    unsafe fn update(at: *mut u8, f: impl Fn(Self::Word) -> Self::Word) -> Self::Word;
}

macro_rules! stored {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $atomic:ty, $word:ty, $from:expr, $to:expr) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl Stored for $name {
            type Word = $word;
            const BYTES: usize = size_of::<$raw>();

            #[inline(always)]
            unsafe fn get(from: *const u8) -> $word {
                let read: fn($raw) -> $word = $from;
                // SAFETY: the caller's.
                read(unsafe { from.cast::<$raw>().read_unaligned() })
            }

            #[inline(always)]
            unsafe fn put(to: *mut u8, word: $word) {
                let written: fn($word) -> $raw = $to;
                // SAFETY: the caller's.
                unsafe { to.cast::<$raw>().write_unaligned(written(word)) }
            }

            #[inline(always)]
            unsafe fn update(at: *mut u8, f: impl Fn($word) -> $word) -> $word {
                let (read, written): (fn($raw) -> $word, fn($word) -> $raw) = ($from, $to);
                // SAFETY: the caller's; whoever else touches it does so atomically.
                let shared = unsafe { <$atomic>::from_ptr(at.cast()) };
                let next = |old: $raw| Some(written(f(read(old))));
                read(shared.fetch_update(Relaxed, Relaxed, next).unwrap_or_default())
            }
        }
    };
}
stored!(
    /// 32-bit numbers, as their bits.
    Narrow, u32, AtomicU32, u32, |raw| raw, |word| word
);
stored!(
    /// 64-bit numbers, as their bits.
    Wide, u64, AtomicU64, u64, |raw| raw, |word| word
);
stored!(HalfFloat, u16, AtomicU16, f32, half_to_f32, f32_to_half);
stored!(
    BrainFloat,
    u16,
    AtomicU16,
    f32,
    bfloat16_to_f32,
    f32_to_bfloat16
);
stored!(
    Signed8,
    u8,
    AtomicU8,
    i32,
    |raw| i32::from(raw.cast_signed()),
    |word| word as u8
);
stored!(
    Signed16,
    u16,
    AtomicU16,
    i32,
    |raw| i32::from(raw.cast_signed()),
    |word| word as u16
);
stored!(Unsigned8, u8, AtomicU8, u32, u32::from, |word| word as u8);
stored!(Unsigned16, u16, AtomicU16, u32, u32::from, |word| word
    as u16);
stored!(
    Truth,
    u8,
    AtomicU8,
    u32,
    |raw| u32::from(raw != 0),
    |word| word as u8
);
