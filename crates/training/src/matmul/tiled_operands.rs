//! The two matrices of a product, read by tiles.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{
    Argument, CudaDevice, DeviceBuffer, DeviceElement, DeviceError, Kernel, LaunchShape, Stream,
    TiledMatrix,
};

use super::Matmul;

// SAFETY: `whole_rows` in `whole_rows.cu` takes these in this order and checks that all four matrices
// lie inside their buffers.
static WHOLE_ROWS: KernelImage = unsafe {
    kernel!("training/whole_rows", whole_rows(in u16, in u16, out u16, out u16, u32, u32, u32))
};

/// A left and a right matrix.
pub(super) struct TiledOperands<T> {
    matrices: [TiledMatrix<T>; 2],
    odd: Option<OddRows<T>>,
}

/// The matrices as they came, with rows that are no whole chunks of 16 bytes and so cannot be read by tiles.
struct OddRows<T> {
    matrices: [DeviceBuffer<T>; 2],
    sizes: [u32; 3],
    kernel: Arc<Kernel>,
    launch: LaunchShape,
}

impl<T: DeviceElement> TiledOperands<T> {
    pub(super) fn new(
        gpu: &CudaDevice,
        shape: Matmul,
        [a, b]: [DeviceBuffer<T>; 2],
        [left, right]: [[u32; 2]; 2],
    ) -> Result<Self, DeviceError> {
        let whole = |width: usize| width.next_multiple_of(16 / size_of::<T>());
        let [depth, columns] = [whole(shape.depth), whole(shape.columns)];
        let (a, b, odd) = if [depth, columns] == [shape.depth, shape.columns] {
            (a, b, None)
        } else {
            let odd = OddRows {
                matrices: [a, b],
                sizes: [shape.rows, shape.columns, shape.depth].map(|size| size as u32),
                kernel: gpu.kernel(&WHOLE_ROWS)?,
                launch: LaunchShape::linear(128 * (shape.rows + shape.depth), 128),
            };
            let room = |height: usize, width: usize| gpu.alloc(height * width);
            (
                room(shape.rows, depth)?,
                room(shape.depth, columns)?,
                Some(odd),
            )
        };
        let matrices = [
            TiledMatrix::new(a, shape.rows, depth, left)?,
            TiledMatrix::new(b, shape.depth, columns, right)?,
        ];
        Ok(Self { matrices, odd })
    }

    /// Both as arguments, with whole rows once `stream` comes there.
    pub(super) fn read(&mut self, stream: &Stream) -> Result<[Argument<'_>; 2], DeviceError> {
        let [left, right] = &mut self.matrices;
        if let Some(odd) = &self.odd {
            let [a, b] = &odd.matrices;
            let [rows, columns, depth] = odd.sizes;
            stream.launch(
                &odd.kernel,
                odd.launch,
                &[
                    a.read(),
                    b.read(),
                    left.write(),
                    right.write(),
                    rows.into(),
                    columns.into(),
                    depth.into(),
                ],
            )?;
        }
        Ok([left.read(), right.read()])
    }
}
