//! Objects on the host that kernels reach through a number: hash grids, trees of boxes, meshes and volumes.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpsmith_interpreter::{
    Address, Bvh, HashGrid, Mesh, Object, Sampling, Texel, Texture, Volume,
};

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

fn numbers(bytes: &[u8]) -> PyResult<Vec<i32>> {
    let words = words::<1>(bytes)?.into_iter();
    Ok(words.map(|[n]| i32::from_le_bytes(n)).collect())
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
    let groups = groups.map(numbers).transpose()?;
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
/// where `winding` is set, with velocities of the points and groups of the faces where they are given.
#[pyfunction]
#[pyo3(signature = (positions, indices, winding = false, velocities = None, groups = None))]
pub(crate) fn mesh(
    positions: &[u8],
    indices: &[u8],
    winding: bool,
    velocities: Option<&[u8]>,
    groups: Option<&[u8]>,
) -> PyResult<HostObject> {
    let faces = words::<3>(indices)?.into_iter();
    let faces: Vec<[i32; 3]> = faces.map(|face| face.map(i32::from_le_bytes)).collect();
    let (positions, faces_given) = (points(positions)?, faces.len());
    let points_given = positions.len();
    let mut mesh = Mesh::new(positions, faces);
    if let Some(velocities) = velocities {
        let velocities = points(velocities)?;
        if velocities.len() != points_given {
            return Err(PyValueError::new_err(
                "a mesh has a velocity for each point",
            ));
        }
        mesh = mesh.with_velocities(velocities);
    }
    if let Some(groups) = groups {
        let groups = numbers(groups)?;
        if groups.len() != faces_given {
            return Err(PyValueError::new_err("a mesh has a group for each face"));
        }
        mesh = mesh.with_groups(groups);
    }
    if winding {
        mesh = mesh.with_winding();
    }
    Ok(HostObject(Arc::new(Object::Mesh(mesh))))
}

/// A texture: its sizes, channels, kind of texels, and how it is sampled beside and between them.
#[pyfunction]
pub(crate) fn texture(
    size: [i32; 3],
    channels: usize,
    texel: u32,
    linear: bool,
    normalized: bool,
    address: [u32; 3],
    texels: &[u8],
) -> PyResult<HostObject> {
    let wrong = || PyValueError::new_err("the texels do not fit the texture");
    let texel = Texel::of(texel).ok_or_else(wrong)?;
    let [Some(u), Some(v), Some(w)] = address.map(Address::of) else {
        return Err(wrong());
    };
    let sampling = Sampling {
        linear,
        normalized,
        address: [u, v, w],
    };
    let made = Texture::new(size, channels, texel, sampling, texels.to_vec());
    let made = made.ok_or_else(wrong)?;
    Ok(HostObject(Arc::new(Object::Texture(made))))
}

/// A NanoVDB grid of float32, as it is in memory.
#[pyfunction]
pub(crate) fn volume(grid: &[u8]) -> PyResult<HostObject> {
    let volume = Volume::new(grid.to_vec()).map_err(PyValueError::new_err)?;
    Ok(HostObject(Arc::new(Object::Volume(volume))))
}
