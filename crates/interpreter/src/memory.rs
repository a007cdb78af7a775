//! Arrays while a kernel runs: each scalar of the element type is a column of its own, so that lanes
//! load and store runs of equal scalars.
//!
//! Invariant: columns are atomic words, loaded and stored without ordering. Threads that share one
//! therefore never make a data race; that results do not depend on their order is the plan's business
//! (see [`super::plan`]).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::lanes::is_wide;
use super::layout::{Layout, Leaf, scalar_bytes};
use warpsmith_ir::half::{bfloat16_to_f32, f32_to_bfloat16, f32_to_half, half_to_f32};
use warpsmith_ir::types::Scalar;

/// All values of one scalar of an array's elements.
#[derive(Debug)]
pub(super) enum Column {
    Narrow(Vec<AtomicU32>),
    Wide(Vec<AtomicU64>),
}

impl Column {
    #[inline]
    pub(super) fn get(&self, element: usize) -> Option<u64> {
        match self {
            Self::Narrow(words) => words.get(element).map(|word| u64::from(word.load(Relaxed))),
            Self::Wide(words) => words.get(element).map(|word| word.load(Relaxed)),
        }
    }

    #[inline]
    pub(super) fn set(&self, element: usize, bits: u64) {
        match self {
            Self::Narrow(words) => {
                if let Some(word) = words.get(element) {
                    word.store(bits as u32, Relaxed);
                }
            }
            Self::Wide(words) => {
                if let Some(word) = words.get(element) {
                    word.store(bits, Relaxed);
                }
            }
        }
    }

    /// Replaces a value by a function of it, whatever other threads do meanwhile; gives the old one.
    #[inline]
    pub(super) fn update(&self, element: usize, f: impl Fn(u64) -> u64) -> u64 {
        match self {
            Self::Narrow(words) => words.get(element).map_or(0, |word| {
                let next = |old: u32| Some(f(u64::from(old)) as u32);
                u64::from(
                    word.fetch_update(Relaxed, Relaxed, next)
                        .unwrap_or_default(),
                )
            }),
            Self::Wide(words) => words.get(element).map_or(0, |word| {
                word.fetch_update(Relaxed, Relaxed, |old| Some(f(old)))
                    .unwrap_or_default()
            }),
        }
    }
}

/// The memory behind an array: its columns.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) columns: Vec<Column>,
}

/// A scalar's bits in a lane, from its bytes.
pub(super) fn lane_bits(scalar: Scalar, bytes: &[u8]) -> u64 {
    let mut word = [0_u8; 8];
    let width = scalar_bytes(scalar).min(bytes.len());
    word[..width].copy_from_slice(&bytes[..width]);
    let raw = u64::from_le_bytes(word);
    match scalar {
        Scalar::F16 => u64::from(half_to_f32(raw as u16).to_bits()),
        Scalar::BF16 => u64::from(bfloat16_to_f32(raw as u16).to_bits()),
        Scalar::I8 => u64::from(i32::from(raw as i8) as u32),
        Scalar::I16 => u64::from(i32::from(raw as i16) as u32),
        Scalar::Bool => u64::from(raw != 0),
        _ => raw,
    }
}

/// Writes a lane's bits as the scalar's bytes.
pub(super) fn write_bytes(scalar: Scalar, bits: u64, bytes: &mut [u8]) {
    let raw = match scalar {
        Scalar::F16 => u64::from(f32_to_half(f32::from_bits(bits as u32))),
        Scalar::BF16 => u64::from(f32_to_bfloat16(f32::from_bits(bits as u32))),
        _ => bits,
    };
    let width = scalar_bytes(scalar).min(bytes.len());
    bytes[..width].copy_from_slice(&raw.to_le_bytes()[..width]);
}

impl Buffer {
    /// Columns from an array's bytes.
    pub(super) fn from_bytes(layout: &Layout, bytes: &[u8]) -> Self {
        let width = layout.bytes.max(1);
        let column = |leaf: &Leaf| {
            let elements = bytes.chunks_exact(width);
            match leaf.scalar {
                // Scalars one after the other: a copy of the whole.
                Scalar::F32 | Scalar::I32 | Scalar::U32 if width == 4 => {
                    let words = bytes.as_chunks::<4>().0.iter();
                    let words = words.map(|word| AtomicU32::new(u32::from_le_bytes(*word)));
                    Column::Narrow(words.collect())
                }
                Scalar::F32 | Scalar::I32 | Scalar::U32 => {
                    let word = |at: &[u8]| at.first_chunk().map_or(0, |w| u32::from_le_bytes(*w));
                    let words = elements.map(|element| AtomicU32::new(word(&element[leaf.byte..])));
                    Column::Narrow(words.collect())
                }
                scalar if is_wide(scalar) => {
                    let word = |at: &[u8]| at.first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
                    let words = elements.map(|element| AtomicU64::new(word(&element[leaf.byte..])));
                    Column::Wide(words.collect())
                }
                scalar => {
                    let bits = |element: &[u8]| lane_bits(scalar, &element[leaf.byte..]);
                    let words = elements.map(|element| AtomicU32::new(bits(element) as u32));
                    Column::Narrow(words.collect())
                }
            }
        };
        Self {
            columns: layout.leaves.iter().map(column).collect(),
        }
    }

    /// Writes the columns back into an array's bytes; padding stays as it was.
    pub(super) fn write_to(&self, layout: &Layout, bytes: &mut [u8]) {
        for (leaf, column) in layout.leaves.iter().zip(&self.columns) {
            let elements = bytes.chunks_exact_mut(layout.bytes.max(1));
            match (column, leaf.scalar) {
                (Column::Narrow(words), Scalar::F32 | Scalar::I32 | Scalar::U32)
                    if layout.bytes == 4 =>
                {
                    for (word, place) in words.iter().zip(bytes.as_chunks_mut::<4>().0) {
                        *place = word.load(Relaxed).to_le_bytes();
                    }
                }
                (Column::Narrow(words), Scalar::F32 | Scalar::I32 | Scalar::U32) => {
                    for (word, element) in words.iter().zip(elements) {
                        let place = &mut element[leaf.byte..leaf.byte + 4];
                        place.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                    }
                }
                (Column::Narrow(words), scalar) => {
                    for (word, element) in words.iter().zip(elements) {
                        let bits = u64::from(word.load(Relaxed));
                        write_bytes(scalar, bits, &mut element[leaf.byte..]);
                    }
                }
                (Column::Wide(words), _) => {
                    for (word, element) in words.iter().zip(elements) {
                        let place = &mut element[leaf.byte..leaf.byte + 8];
                        place.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                    }
                }
            }
        }
    }
}
