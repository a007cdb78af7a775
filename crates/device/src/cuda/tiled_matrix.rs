//! Matrices that kernels read by tiles, through the copy units of GPUs from Hopper on.
//!
//! Invariant: a map describes a matrix that lies inside the buffer beside it; the copy units read nothing
//! beyond the matrix and give zeros there.

use std::ffi::c_void;

use super::argument::{Argument, DeviceElement};
use super::buffer::DeviceBuffer;
use super::stream::Stream;
use crate::error::DeviceError;

/// `CUtensorMap`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct TensorMap([u64; Self::WORDS]);

impl TensorMap {
    pub(super) const WORDS: usize = 16;

    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// A buffer as a matrix, row by row, that kernels read by tiles. In shared memory a tile's rows are 128 bytes
/// or less, and of every 1024 bytes the chunks of 16 in a row are exchanged by the number of the row.
pub struct TiledMatrix<T> {
    map: TensorMap,
    tile: [u32; 2],
    buffer: DeviceBuffer<T>,
}

impl<T: DeviceElement> TiledMatrix<T> {
    /// The first `rows · columns` elements of `buffer`, to be read by tiles of `[rows, columns]`. A row must
    /// be a multiple of 16 bytes.
    pub fn new(
        buffer: DeviceBuffer<T>,
        rows: usize,
        columns: usize,
        tile: [u32; 2],
    ) -> Result<Self, DeviceError> {
        // The copy units tell kinds of numbers apart only where they convert them, which we never ask for.
        let kind = match size_of::<T>() {
            1 => 0,
            2 => 1,
            4 => 2,
            _ => 4,
        };
        let wrong = |problem: String| DeviceError::BadSize {
            attempted: "read a matrix by tiles",
            problem,
        };
        if rows
            .checked_mul(columns)
            .is_none_or(|all| all > buffer.len())
        {
            let length = buffer.len();
            return Err(wrong(format!(
                "{rows} × {columns} elements in a buffer of {length}"
            )));
        }
        const NONE: i32 = 0;
        const CHUNKS_OF_16_IN_128_BYTES: i32 = 3;
        const L2_LINES_OF_128_BYTES: i32 = 2;
        let context = &buffer.allocation().context;
        context.bind()?;
        let mut map = TensorMap([0; TensorMap::WORDS]);
        let sizes = [columns as u64, rows as u64];
        let pitch = [(columns * size_of::<T>()) as u64];
        let (tile_sizes, steps) = ([tile[1], tile[0]], [1, 1]);
        // SAFETY: the map is 128 bytes at a multiple of 64; the lists have two numbers each, and one for the
        // pitch; the driver checks alignment and sizes.
        let status = unsafe {
            (context.driver.tensor_map_encode_tiled)(
                (&raw mut map).cast::<c_void>(),
                kind,
                2,
                buffer.pointer(),
                sizes.as_ptr(),
                pitch.as_ptr(),
                tile_sizes.as_ptr(),
                steps.as_ptr(),
                NONE,
                CHUNKS_OF_16_IN_128_BYTES,
                L2_LINES_OF_128_BYTES,
                NONE,
            )
        };
        context.check(status, "describe a matrix for reading by tiles")?;
        Ok(Self { map, tile, buffer })
    }

    /// As an argument for [`warpsmith_core::Parameter::Tiled`].
    pub fn read(&self) -> Argument<'_> {
        Argument::tiled(&self.map, self.buffer.allocation(), T::ELEMENT, self.tile)
    }

    /// The buffer as a kernel's output.
    pub fn write(&mut self) -> Argument<'_> {
        self.buffer.write()
    }

    /// See [`DeviceBuffer::fill_bytes`].
    pub fn fill_bytes(&mut self, stream: &Stream, byte: u8) -> Result<(), DeviceError> {
        self.buffer.fill_bytes(stream, byte)
    }
}
