//! The arrays of a launch on a GPU, and its parameters as C lays them out.

use warpsmith_device::CudaDevice;
use warpsmith_measure::kernel_file::PtxEntry;

use crate::instance::{BoundValue, Contents, Instance};
use crate::program::fault::Fault;
use crate::program::guarded::GuardedArray;

/// The arrays of one launch; `None` for numbers.
pub(in crate::program) struct Arrays(pub(in crate::program) Vec<Option<GuardedArray>>);

impl Arrays {
    /// Uploads every array; what has no content holds poison.
    pub(in crate::program) fn upload(
        gpu: &CudaDevice,
        instance: &Instance,
        contents: &Contents,
        poison: u8,
        guards: bool,
    ) -> Result<Self, Fault> {
        let pairs = instance.arguments.iter().zip(contents);
        let arrays = pairs.map(|(argument, content)| match &argument.value {
            BoundValue::Number { .. } | BoundValue::Components { .. } => Ok(None),
            BoundValue::Array { shape, .. } => {
                let width = argument.scalar.bytes();
                let content = content.as_deref();
                upload_array(gpu, width, shape, content, poison, guards).map(Some)
            }
        });
        Ok(Self(arrays.collect::<Result<_, Fault>>()?))
    }

    /// The parameters of a kernel as C lays them out.
    pub(in crate::program) fn packed(&self, entry: &PtxEntry, instance: &Instance) -> Vec<u8> {
        let mut packed = Vec::new();
        let arguments = instance.arguments.iter().zip(&self.0);
        for ((argument, array), parameter) in arguments.zip(&entry.parameters) {
            let at = packed.len().next_multiple_of(parameter.alignment.max(1));
            packed.resize(at, 0);
            match (&argument.value, array) {
                (BoundValue::Number { bytes, .. } | BoundValue::Components { bytes, .. }, _) => {
                    packed.extend(bytes);
                }
                (_, Some(array)) => packed.extend(array.address().to_le_bytes()),
                (_, None) => packed.extend(0u64.to_le_bytes()),
            }
        }
        packed
    }
}

/// Uploads an array; what has no content holds poison.
pub(in crate::program) fn upload_array(
    gpu: &CudaDevice,
    width: usize,
    shape: &[usize],
    content: Option<&[u8]>,
    poison: u8,
    guards: bool,
) -> Result<GuardedArray, Fault> {
    let row = shape.last().copied().unwrap_or(1) * width;
    let poisoned;
    let bytes = match content {
        Some(content) => content,
        None => {
            poisoned = vec![poison; shape.iter().product::<usize>() * width];
            &poisoned
        }
    };
    Ok(GuardedArray::upload(gpu, bytes, row, guards)?)
}
