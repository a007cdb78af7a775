//! Objects on the host that kernels reach through a number: hash grids, trees of boxes, meshes and volumes.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpsmith_interpreter::{Bvh, HashGrid, Mesh, Object, Volume};

/// Such an object; it never changes, so that launches can share it.
#[pyclass(frozen)]
pub(crate) struct HostObject(pub(crate) Arc<Object>);

#[pymethods]
impl HostObject {
    /// The object as bytes, for kernels on a GPU.
    fn flat<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.0.flat());
        PyBytes::new(py, &bytes)
    }
}

/// Most cells of a grid: a gigabyte of their starts.
const MOST_CELLS: i32 = 1 << 28;

fn words<const N: usize>(bytes: &[u8]) -> PyResult<Vec<[[u8; 4]; N]>> {
    let (words, rest) = bytes.as_chunks::<4>();
    let (groups, left) = words.as_chunks::<N>();
    match rest.is_empty() && left.is_empty() {
        true => Ok(groups.to_vec()),
        false => Err(PyValueError::new_err(
            "the bytes end in the middle of an element",
        )),
    }
}

fn points(bytes: &[u8]) -> PyResult<Vec<[f32; 3]>> {
    let groups = words::<3>(bytes)?.into_iter();
    Ok(groups.map(|group| group.map(f32::from_le_bytes)).collect())
}

/// Points, as bytes of float32, by the cells of a grid.
#[pyfunction]
pub(crate) fn hash_grid(size: [i32; 3], width: f32, positions: &[u8]) -> PyResult<HostObject> {
    let cells = size
        .iter()
        .try_fold(1_i32, |cells, n| cells.checked_mul(*n));
    let fits = size.iter().all(|n| *n >= 1) && cells.is_some_and(|cells| cells <= MOST_CELLS);
    if !fits || width <= 0.0 || width.is_nan() {
        return Err(PyValueError::new_err(
            "a hash grid has 1 to 2^28 cells of a positive width",
        ));
    }
    let grid = HashGrid::new(size, width, &points(positions)?);
    Ok(HostObject(Arc::new(Object::HashGrid(grid))))
}

/// Boxes by their corners, as bytes of float32, under a tree; groups as bytes of int32.
#[pyfunction]
#[pyo3(signature = (lows, highs, groups = None))]
pub(crate) fn bvh(lows: &[u8], highs: &[u8], groups: Option<&[u8]>) -> PyResult<HostObject> {
    let (lows, highs) = (points(lows)?, points(highs)?);
    let groups: Option<Vec<i32>> = groups
        .map(|bytes| {
            Ok::<_, PyErr>(
                words::<1>(bytes)?
                    .into_iter()
                    .map(|[n]| i32::from_le_bytes(n))
                    .collect(),
            )
        })
        .transpose()?;
    let given = groups.as_ref().map_or(lows.len(), Vec::len);
    if highs.len() != lows.len() || given != lows.len() {
        return Err(PyValueError::new_err(
            "a tree has as many lower corners as upper ones and groups",
        ));
    }
    let bvh = Bvh::new(lows, highs, groups.as_deref());
    Ok(HostObject(Arc::new(Object::Bvh(bvh))))
}

/// Triangles: points as bytes of float32, and their numbers as bytes of int32; with what winding numbers need
/// where `winding` is set.
#[pyfunction]
#[pyo3(signature = (positions, indices, winding = false))]
pub(crate) fn mesh(positions: &[u8], indices: &[u8], winding: bool) -> PyResult<HostObject> {
    let faces = words::<3>(indices)?.into_iter();
    let faces = faces.map(|face| face.map(i32::from_le_bytes)).collect();
    let mut mesh = Mesh::new(points(positions)?, faces);
    if winding {
        mesh = mesh.with_winding();
    }
    Ok(HostObject(Arc::new(Object::Mesh(mesh))))
}

/// A NanoVDB grid of float32, as it is in memory.
#[pyfunction]
pub(crate) fn volume(grid: &[u8]) -> PyResult<HostObject> {
    let volume = Volume::new(grid.to_vec()).map_err(PyValueError::new_err)?;
    Ok(HostObject(Arc::new(Object::Volume(volume))))
}
