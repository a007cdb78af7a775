//! Arrays in memory that Python and this library both see: nothing is copied on the way in or out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpsmith_voice::check_finite;

use super::refused;

/// Bytes of numbers go from the lowest up here.
const ORDER: char = if cfg!(target_endian = "little") {
    '<'
} else {
    '>'
};

/// A contiguous array of 32-bit floats or of pairs of them, which Python owns.
pub(crate) struct Samples<'py> {
    /// Keeps the memory.
    _owner: Bound<'py, PyAny>,
    first: *const f32,
    count: usize,
    shape: Vec<usize>,
}

impl<'py> FromPyObject<'_, 'py> for Samples<'py> {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let about = array.getattr("__array_interface__")?;
        let entry = |name: &str| about.get_item(name);
        let kind: String = entry("typestr")?.extract()?;
        let floats = match kind.strip_prefix(ORDER) {
            Some("f4") => 1,
            Some("c8") => 2,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "the array holds `{kind}`; 32-bit floats of this machine are needed"
                )));
            }
        };
        let (address, _): (usize, bool) = entry("data")?.extract()?;
        let shape: Vec<usize> = entry("shape")?.extract()?;
        let values = shape.iter().product::<usize>();
        let strides = about.cast::<PyDict>()?.get_item("strides")?;
        let aligned = address.is_multiple_of(align_of::<f32>());
        if !aligned || strides.is_some_and(|strides| !strides.is_none()) {
            return Err(PyValueError::new_err(
                "the array is not contiguous: make a contiguous copy first",
            ));
        }
        Ok(Self {
            _owner: array.to_owned(),
            first: std::ptr::with_exposed_provenance(address),
            count: values * floats,
            shape,
        })
    }
}

impl Samples<'_> {
    /// The floats, whatever they are.
    pub(super) fn floats(&self) -> &[f32] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: the array's own description gives a place, aligned as checked above, of `count` floats, and
        // `_owner` keeps it; `python/warpsmith/voice` is the only caller and documents that nobody may write to
        // an array while it is analysed.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }

    /// The floats, all of which are finite.
    pub(super) fn finite(&self) -> PyResult<&[f32]> {
        let values = self.floats();
        check_finite(values).map_err(refused)?;
        Ok(values)
    }

    /// Sizes of the dimensions.
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }
}

/// Numbers of one type.
pub(super) enum Values {
    Floats(Vec<f32>),
    Complex(Vec<[f32; 2]>),
    Doubles(Vec<f64>),
    Truths(Vec<bool>),
}

impl Values {
    fn count(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Complex(values) => values.len(),
            Self::Doubles(values) => values.len(),
            Self::Truths(values) => values.len(),
        }
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Self::Floats(values)
    }
}

impl From<Vec<[f32; 2]>> for Values {
    fn from(values: Vec<[f32; 2]>) -> Self {
        Self::Complex(values)
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Self::Doubles(values)
    }
}

impl From<Vec<bool>> for Values {
    fn from(values: Vec<bool>) -> Self {
        Self::Truths(values)
    }
}

/// A result, which NumPy takes as it lies: `numpy.asarray` makes a writable array of it without a copy.
#[pyclass(frozen)]
pub(crate) struct Array {
    values: Values,
    shape: Vec<usize>,
}

impl Array {
    /// Values in rows.
    pub(super) fn of(values: impl Into<Values>, shape: &[usize]) -> Self {
        Self {
            values: values.into(),
            shape: shape.to_vec(),
        }
    }

    /// Values one after the other.
    pub(super) fn line(values: impl Into<Values>) -> Self {
        let values = values.into();
        let shape = vec![values.count()];
        Self { values, shape }
    }

    /// Values in rows of `width`.
    pub(super) fn rows(values: Values, width: usize) -> Self {
        let shape = vec![values.count() / width, width];
        Self { values, shape }
    }
}

#[pymethods]
impl Array {
    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (first, kind) = match &self.values {
            Values::Floats(values) => (values.as_ptr().expose_provenance(), "f4"),
            Values::Complex(values) => (values.as_ptr().expose_provenance(), "c8"),
            Values::Doubles(values) => (values.as_ptr().expose_provenance(), "f8"),
            Values::Truths(values) => (values.as_ptr().expose_provenance(), "b1"),
        };
        let about = PyDict::new(py);
        let order = if kind == "b1" { '|' } else { ORDER };
        about.set_item("version", 3)?;
        about.set_item("typestr", format!("{order}{kind}"))?;
        about.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        about.set_item("data", (first, false))?;
        Ok(about)
    }
}
