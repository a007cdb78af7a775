//! DLPack: what another library's array says about itself, and arrays of ours for other libraries.

use std::any::Any;
use std::ffi::c_void;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// `DLTensor` of DLPack 0.x and 1.0, which lay it out alike.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    dimensions: i32,
    type_code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// Address, shape, NumPy's name of the type, and the device as DLPack counts it (1 the CPU, 2 CUDA)
/// with its index, of a contiguous tensor.
type Described = (u64, Vec<usize>, String, (i32, i32));

/// Reads a `dltensor` capsule without taking it: the producer keeps the memory.
#[pyfunction]
pub(crate) fn dlpack_facts(capsule: &Bound<'_, PyCapsule>) -> PyResult<Described> {
    let named = capsule.name()?;
    // SAFETY: the name is a string that lives as long as the capsule.
    let named = named.map(|name| unsafe { name.as_cstr() }.to_owned());
    if named.as_deref() != Some(c"dltensor") {
        return Err(PyValueError::new_err(
            "the capsule is not an unused `dltensor`",
        ));
    }
    let pointer = capsule.pointer_checked(Some(c"dltensor"))?;
    // SAFETY: a capsule of this name holds a `DLManagedTensor`, which begins with its `DLTensor`,
    // and lives until its consumer or the capsule's destructor ends it; we hold the capsule.
    let tensor = unsafe { pointer.cast::<Tensor>().as_ref() };
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    let slice = |first: *const i64| {
        if first.is_null() || dimensions == 0 {
            return &[][..];
        }
        // SAFETY: where they are given, shape and strides have one number to a dimension.
        unsafe { std::slice::from_raw_parts(first, dimensions) }
    };
    let shape: Result<Vec<usize>, _> = slice(tensor.shape)
        .iter()
        .map(|size| usize::try_from(*size))
        .collect();
    let shape = shape.map_err(|_| PyValueError::new_err("a dimension is negative"))?;
    let strides = slice(tensor.strides);
    let mut step = 1;
    for (size, stride) in shape.iter().zip(strides).rev() {
        if *size > 1 && i64::try_from(step).ok() != Some(*stride) {
            return Err(PyValueError::new_err(
                "the array is not contiguous: make a contiguous copy first",
            ));
        }
        step *= *size;
    }
    let name = match (tensor.type_code, tensor.lanes) {
        (0, 1) => format!("int{}", tensor.bits),
        (1, 1) => format!("uint{}", tensor.bits),
        (2, 1) => format!("float{}", tensor.bits),
        (4, 1) => "bfloat16".to_owned(),
        (6, 1) => "bool".to_owned(),
        (code, lanes) => {
            return Err(PyValueError::new_err(format!(
                "the array's type has DLPack code {code} with {lanes} lanes: not a number we know"
            )));
        }
    };
    let address = tensor.data.expose_provenance() as u64 + tensor.byte_offset;
    let device = (tensor.device_type, tensor.device_id);
    Ok((address, shape, name, device))
}

/// DLPack's number for CUDA memory.
pub(crate) const CUDA: i32 = 2;

/// `DLManagedTensor`, with what its pointers show behind it.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
    /// Keeps the memory.
    _owner: Box<dyn Any + Send>,
}

/// Values in the memory of a GPU.
pub(crate) struct OnGpu<'a> {
    pub(crate) address: u64,
    pub(crate) gpu: usize,
    /// DLPack's code of the type and its bits.
    pub(crate) kind: (u8, u8),
    pub(crate) shape: &'a [usize],
    /// Values between neighbours of each dimension.
    pub(crate) strides: &'a [usize],
}

/// A `dltensor` capsule of values that `owner` keeps until the consumer has done with them.
pub(crate) fn dlpack_capsule(
    py: Python<'_>,
    values: &OnGpu<'_>,
    owner: Box<dyn Any + Send>,
) -> PyResult<Py<PyAny>> {
    let sizes = |sizes: &[usize]| sizes.iter().map(|size| *size as i64).collect::<Vec<_>>();
    let (shape, strides) = (sizes(values.shape), sizes(values.strides));
    let managed = Box::new(Managed {
        tensor: Tensor {
            data: std::ptr::with_exposed_provenance_mut(values.address as usize),
            device_type: CUDA,
            device_id: i32::try_from(values.gpu)?,
            dimensions: i32::try_from(shape.len())?,
            type_code: values.kind.0,
            bits: values.kind.1,
            lanes: 1,
            // Vectors keep their place when they are moved.
            shape: shape.as_ptr(),
            strides: strides.as_ptr(),
            byte_offset: 0,
        },
        context: std::ptr::null_mut(),
        deleter: Some(delete),
        _shape: shape,
        _strides: strides,
        _owner: owner,
    });
    let managed = Box::into_raw(managed);
    // SAFETY: the pointer is not null and lives until `delete`; the name is static.
    let capsule =
        unsafe { ffi::PyCapsule_New(managed.cast(), c"dltensor".as_ptr(), Some(end_of_capsule)) };
    // SAFETY: a new reference, or null with Python's error set.
    let capsule = unsafe { Bound::from_owned_ptr_or_err(py, capsule) };
    if capsule.is_err() {
        // SAFETY: nobody else has the pointer.
        unsafe { delete(managed) };
    }
    Ok(capsule?.unbind())
}

/// Ends an array; whoever took it calls this once, in any thread.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: this is the pointer of `dlpack_capsule`, given back once.
    drop(unsafe { Box::from_raw(managed) });
}

/// Ends an array that nobody took: whoever takes one renames its capsule.
unsafe extern "C" fn end_of_capsule(capsule: *mut ffi::PyObject) {
    let name = c"dltensor".as_ptr();
    // SAFETY: Python gives the capsule that is being ended; its pointer is ours while it has this name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, name) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, name).cast());
        }
    }
}
