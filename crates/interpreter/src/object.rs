//! Objects that kernels name by a number, and what kernels ask them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::box_query::{BOX_QUERY, BOX_QUERY_LEAVES, BOX_STEP, BoxQuery, FOUND, Shape};
use super::bvh::Bvh;
use super::hash_grid::{GRID_QUERY_LEAVES, HashGrid};
use super::mesh::Mesh;
use super::volume::Volume;
use warpsmith_ir::types::Scalar;

/// An object on the host that a kernel reaches through its number.
#[derive(Debug)]
pub enum Object {
    /// Boxes under a tree.
    Bvh(Bvh),
    /// Points by the cell that they lie in.
    HashGrid(HashGrid),
    /// Triangles.
    Mesh(Mesh),
    /// Numbers in space.
    Volume(Volume),
}

impl Object {
    /// The object as bytes without addresses, for kernels on a GPU.
    pub fn flat(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Bvh(bvh) => bvh.flat(&mut bytes),
            Self::HashGrid(grid) => grid.flat(&mut bytes),
            Self::Mesh(mesh) => mesh.flat(&mut bytes),
            Self::Volume(volume) => volume.flat(&mut bytes),
        }
        bytes
    }
}

/// The objects of a launch, by number.
pub type Objects = BTreeMap<u64, Arc<Object>>;

/// A question to an object. The first word that it takes is the object's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which point is at this place of the order by cells.
    GridPoint,
    /// The state of a search around a point.
    GridQuery,
    /// Whether a search has a further point; the state moves on and holds it.
    GridNext,
    /// The state of a search in a tree of boxes, that of a mesh or another.
    BoxQuery {
        /// What is searched with.
        shape: Shape,
        /// Through the faces of a mesh.
        mesh: bool,
    },
    /// Whether such a search has a further item; the state moves on and holds it.
    BoxNext,
    /// The part of a tree that has a group's boxes.
    GroupRoot,
    /// A point of a triangle.
    MeshPosition,
    /// The number of a triangle's corner.
    MeshIndex,
    /// The point of a triangle's corner.
    MeshCorner,
    /// The normal of a triangle.
    MeshNormal,
    /// The nearest point of a mesh; with its side by rays, or without.
    MeshPoint {
        /// By rays.
        signed: bool,
    },
    /// The same, with its side by normals.
    MeshPointByNormals,
    /// The same, with its side by the parity of crossings.
    MeshPointByParity,
    /// The same, with its side by the winding number.
    MeshPointByWinding,
    /// Where a ray meets a mesh.
    MeshRay,
    /// Whether a ray meets a mesh.
    MeshRayAny,
    /// How often a ray meets a mesh.
    MeshRayCount,
    /// The value of a volume at a place.
    VolumeSample,
    /// The same, and how it changes along each axis.
    VolumeSlope,
    /// A place or a direction of the world in a volume's own space, or the other way.
    VolumeMap {
        /// Into the volume's own space.
        to_index: bool,
        /// A direction, which is not moved.
        direction: bool,
    },
}

/// The most words that go into a question or come out of it.
pub(super) const MOST_WORDS: usize = {
    let leaves = [GRID_QUERY_LEAVES, BOX_QUERY_LEAVES];
    1 + if leaves[0] > leaves[1] {
        leaves[0]
    } else {
        leaves[1]
    }
};

impl Question {
    fn boxes(shape: Shape, mesh: bool) -> Self {
        Self::BoxQuery { shape, mesh }
    }

    fn map(to_index: bool, direction: bool) -> Self {
        Self::VolumeMap {
            to_index,
            direction,
        }
    }

    /// Whether the state that it takes moves on: what it gives behind the first word goes back there.
    pub(super) fn moves_on(self) -> bool {
        matches!(self, Self::GridNext | Self::BoxNext)
    }

    /// Where the state of a search that it moves on holds what was found last.
    pub(super) fn found(self) -> usize {
        match self {
            Self::BoxNext => FOUND,
            _ => GRID_QUERY_LEAVES - 1,
        }
    }

    /// The question that a builtin asks.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "hash_grid_point_id" => Self::GridPoint,
            "hash_grid_query" => Self::GridQuery,
            "bvh_query_aabb" => Self::boxes(Shape::Box, false),
            "bvh_query_ray" => Self::boxes(Shape::Ray, false),
            "bvh_query_capsule" => Self::boxes(Shape::Capsule, false),
            "bvh_query_sphere" => Self::boxes(Shape::Ball, false),
            "bvh_get_group_root" => Self::GroupRoot,
            "mesh_query_aabb" => Self::boxes(Shape::Box, true),
            "mesh_query_sphere" => Self::boxes(Shape::Ball, true),
            "mesh_get_index" => Self::MeshIndex,
            "mesh_get_point" => Self::MeshCorner,
            "mesh_eval_face_normal" => Self::MeshNormal,
            "mesh_query_point_sign_parity" => Self::MeshPointByParity,
            "mesh_query_point_sign_winding_number" => Self::MeshPointByWinding,
            "mesh_query_ray_anyhit" => Self::MeshRayAny,
            "mesh_query_ray_count_intersections" => Self::MeshRayCount,
            "mesh_eval_position" => Self::MeshPosition,
            "mesh_query_point" => Self::MeshPoint { signed: true },
            "mesh_query_point_no_sign" => Self::MeshPoint { signed: false },
            "mesh_query_point_sign_normal" => Self::MeshPointByNormals,
            "mesh_query_ray" => Self::MeshRay,
            "volume_sample_f" => Self::VolumeSample,
            "volume_sample_grad_f" => Self::VolumeSlope,
            "volume_world_to_index" => Self::map(true, false),
            "volume_world_to_index_dir" => Self::map(true, true),
            "volume_index_to_world" => Self::map(false, false),
            "volume_index_to_world_dir" => Self::map(false, true),
            _ => return None,
        })
    }

    /// The types of the words that it takes.
    pub fn inputs(self) -> &'static [Scalar] {
        use Scalar::{F32, I32, U64};
        match self {
            Self::GridPoint => &[U64, I32],
            Self::GridQuery => &[U64, F32, F32, F32, F32],
            Self::GridNext => &HashGrid::QUERY,
            Self::BoxQuery { shape, mesh } => shape.inputs(!mesh),
            Self::BoxNext => &BOX_QUERY,
            Self::GroupRoot | Self::MeshIndex | Self::MeshCorner | Self::MeshNormal => &[U64, I32],
            Self::MeshPosition => &[U64, I32, F32, F32],
            Self::MeshPoint { .. } => &[U64, F32, F32, F32, F32],
            Self::MeshPointByNormals => &[U64, F32, F32, F32, F32, F32],
            Self::MeshPointByParity => &[U64, F32, F32, F32, F32, I32, F32],
            Self::MeshPointByWinding => &[U64, F32, F32, F32, F32, F32, F32],
            Self::MeshRay | Self::MeshRayAny => &[U64, F32, F32, F32, F32, F32, F32, F32, I32],
            Self::MeshRayCount => &[U64, F32, F32, F32, F32, F32, F32, I32],
            Self::VolumeSample => &[U64, F32, F32, F32, I32],
            Self::VolumeSlope => &[U64, F32, F32, F32, I32],
            Self::VolumeMap { .. } => &[U64, F32, F32, F32],
        }
    }

    /// The types of the words that it gives.
    pub(super) fn outputs(self) -> &'static [Scalar] {
        use Scalar::{Bool, F32, I32};
        match self {
            Self::GridPoint | Self::GroupRoot | Self::MeshIndex | Self::MeshRayCount => &[I32],
            Self::GridQuery => &HashGrid::QUERY,
            Self::GridNext => &HashGrid::STEP,
            Self::BoxQuery { .. } => &BOX_QUERY,
            Self::BoxNext => &BOX_STEP,
            Self::MeshPosition | Self::MeshCorner | Self::MeshNormal | Self::VolumeMap { .. } => {
                &[F32, F32, F32]
            }
            Self::MeshPoint { .. }
            | Self::MeshPointByNormals
            | Self::MeshPointByParity
            | Self::MeshPointByWinding => &[Bool, F32, I32, F32, F32],
            Self::MeshRayAny => &[Bool],
            Self::MeshRay => &[Bool, F32, I32, F32, F32, F32, F32, F32, F32],
            Self::VolumeSample => &[F32],
            Self::VolumeSlope => &[F32, F32, F32, F32],
        }
    }

    /// The answer; nothing where there is no such object, or it has no such part.
    pub(super) fn answer(self, objects: &Objects, given: &[u64], made: &mut [u64]) -> Option<()> {
        let object = objects.get(given.first()?)?;
        match (self, &**object) {
            (Self::GridPoint, Object::HashGrid(grid)) => {
                let index = usize::try_from(given[1] as u32 as i32).ok()?;
                made[0] = u64::from(grid.point(index)?.cast_unsigned());
            }
            (Self::GridQuery, Object::HashGrid(grid)) => grid.query(given, made),
            (Self::GridNext, Object::HashGrid(grid)) => grid.next(given, made),
            (Self::BoxQuery { shape, mesh: false }, Object::Bvh(bvh)) => {
                BoxQuery::begin(made, &bvh.tree, shape, given)?;
            }
            (Self::BoxQuery { shape, mesh: true }, Object::Mesh(mesh)) => {
                BoxQuery::begin(made, mesh.tree(), shape, given)?;
            }
            (Self::BoxNext, object) => {
                let (more, state) = made.split_at_mut(1);
                state.copy_from_slice(given);
                let mut query = BoxQuery::of(state);
                more[0] = u64::from(match object {
                    Object::Bvh(bvh) => bvh.next_box(&mut query),
                    Object::Mesh(mesh) => mesh.next_face(&mut query),
                    _ => return None,
                });
            }
            (Self::GroupRoot, Object::Bvh(bvh)) => {
                let root = bvh.group_root(given[1] as u32 as i32);
                made[0] = u64::from(root.cast_unsigned());
            }
            (Self::MeshPosition, Object::Mesh(mesh)) => {
                let [u, v] = [2, 3].map(|n| float(given[n]));
                put(made, &mesh.position(place(given[1])?, u, v)?);
            }
            (Self::MeshIndex, Object::Mesh(mesh)) => {
                made[0] = u64::from(mesh.index(place(given[1])?)?.cast_unsigned());
            }
            (Self::MeshCorner, Object::Mesh(mesh)) => put(made, &mesh.point(place(given[1])?)?),
            (Self::MeshNormal, Object::Mesh(mesh)) => put(made, &mesh.normal(place(given[1])?)?),
            (
                Self::MeshPoint { .. }
                | Self::MeshPointByNormals
                | Self::MeshPointByParity
                | Self::MeshPointByWinding,
                Object::Mesh(mesh),
            ) => {
                let p = floats(&given[1..]);
                made.fill(0);
                if let Some(found) = mesh.nearest(p, float(given[4])) {
                    let sign: f32 = match self {
                        Self::MeshPointByNormals => mesh.side(p, found, float(given[5])),
                        Self::MeshPointByWinding => {
                            outside(!mesh.is_wound(p, float(given[5]), float(given[6])))
                        }
                        Self::MeshPoint { signed: false } => 0.0,
                        _ => outside(!mesh.is_inside(p)),
                    };
                    made[0] = 1;
                    made[2] = u64::from(found.face.cast_unsigned());
                    put(&mut made[1..], &[sign]);
                    put(&mut made[3..], &[found.u, found.v]);
                }
            }
            (Self::MeshRay | Self::MeshRayAny | Self::MeshRayCount, Object::Mesh(mesh)) => {
                // A part of a mesh of several is named by its root.
                if *given.last()? as u32 as i32 != -1 {
                    return None;
                }
                made.fill(0);
                let (start, direction) = (floats(&given[1..]), floats(&given[4..]));
                if self == Self::MeshRayCount {
                    made[0] = u64::from(mesh.crossings(start, direction).cast_unsigned());
                    return Some(());
                }
                if self == Self::MeshRayAny {
                    made[0] = mesh.ray(start, direction, float(given[7])).is_some().into();
                    return Some(());
                }
                if let Some(hit) = mesh.ray(start, direction, float(given[7])) {
                    made[0] = 1;
                    made[2] = u64::from(hit.face.cast_unsigned());
                    put(&mut made[1..], &[hit.sign]);
                    put(&mut made[3..], &[hit.t, hit.u, hit.v]);
                    put(&mut made[6..], &hit.normal);
                }
            }
            (Self::VolumeSample, Object::Volume(volume)) => {
                let value = match given[4] as u32 {
                    0 => volume.closest(floats(&given[1..])),
                    1 => volume.linear(floats(&given[1..])).0,
                    _ => return None,
                };
                put(made, &[value]);
            }
            (Self::VolumeSlope, Object::Volume(volume)) => {
                let uvw = floats(&given[1..]);
                let (value, slope) = match given[4] as u32 {
                    0 => (volume.closest(uvw), [0.0; 3]),
                    1 => volume.linear(uvw),
                    _ => return None,
                };
                put(made, &[value]);
                put(&mut made[1..], &slope);
            }
            (
                Self::VolumeMap {
                    to_index,
                    direction,
                },
                Object::Volume(volume),
            ) => {
                let v = floats(&given[1..]);
                let mapped = match (to_index, direction) {
                    (true, false) => volume.to_index(v),
                    (true, true) => volume.direction_to_index(v),
                    (false, false) => volume.to_world(v),
                    (false, true) => volume.direction_to_world(v),
                };
                put(made, &mapped);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A number that must not be negative.
fn place(bits: u64) -> Option<usize> {
    usize::try_from(bits as u32 as i32).ok()
}

fn outside(is_outside: bool) -> f32 {
    if is_outside { 1.0 } else { -1.0 }
}

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The first three words as a vector.
fn floats(words: &[u64]) -> [f32; 3] {
    [0, 1, 2].map(|n| float(words[n]))
}

fn put(words: &mut [u64], values: &[f32]) {
    for (word, value) in words.iter_mut().zip(values) {
        *word = u64::from(value.to_bits());
    }
}
