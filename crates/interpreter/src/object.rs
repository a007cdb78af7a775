//! Objects that kernels name by a number, and what kernels ask them.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpsmith_ir::types::{Scalar, Type};
use warpsmith_spatial::box_query::{BOX_QUERY, BOX_QUERY_LEAVES, BOX_STEP, BoxQuery, FOUND, Shape};
use warpsmith_spatial::edge_pair;
use warpsmith_spatial::triangle_pair::intersect;
use warpsmith_spatial::{
    Bits, Bvh, GRID_QUERY_LEAVES, HashGrid, MOST_NUMBERS, Mesh, Texture, Volume, Voxel,
};

/// In a mesh's number: the tree over the boxes of its faces is meant, as if it were a [`Bvh`].
pub(super) const BOXES_OF_MESH: u64 = 1 << 63;

/// An object on the host that a kernel reaches through its number.
#[derive(Debug)]
pub enum Object {
    /// Boxes under a tree.
    Bvh(Bvh),
    /// Points by the cell that they lie in.
    HashGrid(HashGrid),
    /// Triangles.
    Mesh(Mesh),
    /// Numbers on a grid.
    Texture(Texture),
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
            Self::Texture(texture) => texture.flat(&mut bytes),
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
    /// A point of a triangle, or its velocity.
    MeshPosition {
        /// Its velocity.
        velocity: bool,
    },
    /// The gradients of the weights that make such a point.
    MeshPositionGradient {
        /// Of its velocity.
        velocity: bool,
    },
    /// The number of a triangle's corner.
    MeshIndex,
    /// The point of a triangle's corner, or its velocity.
    MeshCorner {
        /// Its velocity.
        velocity: bool,
    },
    /// How many elements an array of a mesh has.
    MeshSize(MeshArray),
    /// An element of such an array; a negative number counts from its end.
    MeshElement(MeshArray),
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
    /// The corner of a mesh that is farthest away.
    MeshFarthest,
    /// The gradient of a point, from those of the weights that make the nearest one of a face.
    MeshPointGradient,
    /// Where a ray meets a mesh.
    MeshRay,
    /// The gradients of a ray, from those of the distance and the weights where it meets a face.
    MeshRayGradient,
    /// Whether a ray meets a mesh.
    MeshRayAny,
    /// How often a ray meets a mesh.
    MeshRayCount,
    /// Whether two triangles have a point in common; no object has a part in it.
    TrianglesMeet {
        /// In double precision.
        double: bool,
    },
    /// Where two edges are nearest to each other; no object has a part in it.
    NearestOfEdges,
    /// The gradients of their ends, from those of what that gives.
    NearestOfEdgesGradient,
    /// The value of a texture at a place; zero where its number is 0.
    TextureSample {
        /// As many coordinates.
        rank: u8,
        /// As many numbers.
        channels: u8,
    },
    /// The value of a voxel.
    VolumeVoxel(Voxel),
    /// The value of the voxel that is nearest to a place.
    VolumeClosest(Voxel),
    /// The value of a volume at a place.
    VolumeSample(Voxel),
    /// What a place receives of the gradient of the value there.
    VolumePlaceGradient(Voxel),
    /// The value of a volume at a place, and how its numbers change along each axis.
    VolumeSlope(Voxel),
    /// What a place receives of the gradients of both.
    VolumeSlopeGradient(Voxel),
    /// The number of a voxel among those that are stored.
    VolumeIndex,
    /// One of the voxels around a place: its number, its share, how that changes, and how these changes do.
    VolumePart(u8),
    /// How many have numbers.
    VolumeCount,
    /// A place or a direction of the world in a volume's own space, or the other way.
    VolumeMap {
        /// Into the volume's own space.
        to_index: bool,
        /// A direction, which is not moved.
        direction: bool,
    },
}

/// An array that a mesh is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshArray {
    /// The points.
    Points,
    /// Their velocities.
    Velocities,
    /// Three numbers of points for each face.
    Indices,
}

/// What a question about a voxel around a place gives.
static VOLUME_PART: [Scalar; 14] = {
    let mut words = [Scalar::F32; 14];
    words[0] = Scalar::I32;
    words
};

/// The most words that go into a question or come out of it.
pub(super) const MOST_WORDS: usize = {
    // A place, a way to sample, and the gradients of four numbers and of their slopes are the most that is given.
    let most = 5 + 4 * MOST_NUMBERS;
    assert!(18 <= most);
    assert!(GRID_QUERY_LEAVES < most);
    assert!(BOX_QUERY_LEAVES < most);
    most
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
            "mesh_get_point" => Self::MeshCorner { velocity: false },
            "mesh_get_velocity" => Self::MeshCorner { velocity: true },
            "mesh_get_group_root" => Self::GroupRoot,
            "mesh_eval_face_normal" => Self::MeshNormal,
            "mesh_query_point_sign_parity" => Self::MeshPointByParity,
            "mesh_query_point_sign_winding_number" => Self::MeshPointByWinding,
            "mesh_query_ray_anyhit" => Self::MeshRayAny,
            "mesh_query_ray_count_intersections" => Self::MeshRayCount,
            "mesh_eval_position" => Self::MeshPosition { velocity: false },
            "mesh_eval_velocity" => Self::MeshPosition { velocity: true },
            "mesh_query_furthest_point_no_sign" => Self::MeshFarthest,
            "closest_point_edge_edge" => Self::NearestOfEdges,
            "intersect_tri_tri" => Self::TrianglesMeet { double: false },
            "mesh_query_point" => Self::MeshPoint { signed: true },
            "mesh_query_point_no_sign" => Self::MeshPoint { signed: false },
            "mesh_query_point_sign_normal" => Self::MeshPointByNormals,
            "mesh_query_ray" => Self::MeshRay,
            "volume_lookup_f" => Self::VolumeVoxel(Voxel::FLOAT),
            "volume_lookup_i" => Self::VolumeVoxel(Voxel::INT),
            "volume_lookup_v" => Self::VolumeVoxel(Voxel::VECTOR),
            "volume_lookup_index" => Self::VolumeIndex,
            "volume_voxel_count" => Self::VolumeCount,
            "volume_sample_f" => Self::VolumeSample(Voxel::FLOAT),
            // Whole numbers are not mixed: there is no choice.
            "volume_sample_i" => Self::VolumeClosest(Voxel::INT),
            "volume_sample_v" => Self::VolumeSample(Voxel::VECTOR),
            "volume_sample_grad_f" => Self::VolumeSlope(Voxel::FLOAT),
            "volume_world_to_index" => Self::map(true, false),
            "volume_world_to_index_dir" => Self::map(true, true),
            "volume_index_to_world" => Self::map(false, false),
            "volume_index_to_world_dir" => Self::map(false, true),
            _ => return None,
        })
    }

    /// The question that a builtin asks whose result is of this type, which the call names.
    pub(super) fn of_type(name: &str, result: Type) -> Option<Self> {
        let question = match name {
            "volume_lookup" => Self::VolumeVoxel,
            "volume_sample" => Self::VolumeSample,
            "volume_sample_grad" => Self::VolumeSlope,
            _ => return Self::of(name),
        };
        Voxel::of_type(result).map(question)
    }

    /// The types of the words that it takes.
    pub fn inputs(self) -> &'static [Scalar] {
        use Scalar::{F32, F64, I32, U64};
        match self {
            Self::GridPoint => &[U64, I32],
            Self::GridQuery => &[U64, F32, F32, F32, F32],
            Self::GridNext => &HashGrid::QUERY,
            Self::BoxQuery { shape, mesh } => shape.inputs(!mesh),
            Self::BoxNext => &BOX_QUERY,
            Self::GroupRoot
            | Self::MeshIndex
            | Self::MeshCorner { .. }
            | Self::MeshElement(_)
            | Self::MeshNormal => &[U64, I32],
            Self::MeshSize(_) => &[U64],
            Self::MeshPosition { .. } => &[U64, I32, F32, F32],
            Self::MeshPositionGradient { .. } => &[U64, I32, F32, F32, F32],
            Self::MeshPoint { .. } | Self::MeshFarthest => &[U64, F32, F32, F32, F32],
            Self::MeshPointGradient => &[U64, F32, F32, F32, I32, F32, F32],
            Self::MeshRayGradient => &[U64, F32, F32, F32, F32, F32, F32, I32, F32, F32, F32],
            Self::TextureSample { rank, .. } => &[U64, F32, F32, F32, F32][..2 + usize::from(rank)],
            Self::NearestOfEdges => &[F32; 13],
            Self::NearestOfEdgesGradient => &[F32; 16],
            Self::TrianglesMeet { double: false } => &[F32; 18],
            Self::TrianglesMeet { double: true } => &[F64; 18],
            Self::MeshPointByNormals => &[U64, F32, F32, F32, F32, F32],
            Self::MeshPointByParity => &[U64, F32, F32, F32, F32, I32, F32],
            Self::MeshPointByWinding => &[U64, F32, F32, F32, F32, F32, F32],
            Self::MeshRay | Self::MeshRayAny => &[U64, F32, F32, F32, F32, F32, F32, F32, I32],
            Self::MeshRayCount => &[U64, F32, F32, F32, F32, F32, F32, I32],
            Self::VolumeVoxel(_) | Self::VolumeIndex => &[U64, I32, I32, I32],
            Self::VolumeCount => &[U64],
            Self::VolumeClosest(_) => &[U64, F32, F32, F32],
            Self::VolumePlaceGradient(voxel) => at_place(voxel, 1),
            Self::VolumeSlopeGradient(voxel) => at_place(voxel, 4),
            Self::VolumeSample(_) | Self::VolumeSlope(_) | Self::VolumePart(_) => {
                &[U64, F32, F32, F32, I32]
            }
            Self::VolumeMap { .. } => &[U64, F32, F32, F32],
        }
    }

    /// The types of the words that it gives.
    pub(super) fn outputs(self) -> &'static [Scalar] {
        use Scalar::{Bool, F32, I32};
        match self {
            Self::GridPoint
            | Self::GroupRoot
            | Self::MeshIndex
            | Self::MeshSize(_)
            | Self::MeshElement(MeshArray::Indices)
            | Self::TrianglesMeet { .. }
            | Self::VolumeIndex
            | Self::VolumeCount
            | Self::MeshRayCount => &[I32],
            Self::GridQuery => &HashGrid::QUERY,
            Self::GridNext => &HashGrid::STEP,
            Self::BoxQuery { .. } => &BOX_QUERY,
            Self::BoxNext => &BOX_STEP,
            Self::MeshPosition { .. }
            | Self::MeshCorner { .. }
            | Self::MeshElement(_)
            | Self::MeshNormal
            | Self::MeshPointGradient
            | Self::NearestOfEdges
            | Self::VolumePlaceGradient(_)
            | Self::VolumeSlopeGradient(_)
            | Self::VolumeMap { .. } => &[F32, F32, F32],
            Self::MeshPositionGradient { .. } => &[F32, F32],
            Self::MeshRayGradient => &[F32; 6],
            Self::TextureSample { channels, .. } => &[F32; 4][..usize::from(channels)],
            Self::NearestOfEdgesGradient => &[F32; 12],
            Self::MeshPoint { .. }
            | Self::MeshFarthest
            | Self::MeshPointByNormals
            | Self::MeshPointByParity
            | Self::MeshPointByWinding => &[Bool, F32, I32, F32, F32],
            Self::MeshRayAny => &[Bool],
            Self::MeshRay => &[Bool, F32, I32, F32, F32, F32, F32, F32, F32],
            Self::VolumeVoxel(voxel) | Self::VolumeClosest(voxel) | Self::VolumeSample(voxel) => {
                voxel.scalars(1)
            }
            Self::VolumeSlope(voxel) => voxel.scalars(4),
            Self::VolumePart(_) => &VOLUME_PART,
        }
    }

    /// The answer; nothing where there is no such object, or it has no such part.
    pub(super) fn answer(self, objects: &Objects, given: &[u64], made: &mut [u64]) -> Option<()> {
        if let Self::TrianglesMeet { double } = self {
            let wide = |bits: &u64| match double {
                true => f64::from_bits(*bits),
                false => f64::from(float(*bits)),
            };
            let mut corners = [0.0; 18];
            for (corner, bits) in corners.iter_mut().zip(given) {
                *corner = wide(bits);
            }
            made[0] = u64::from(match double {
                true => intersect(&corners),
                false => intersect(&corners.map(|x| x as f32)),
            });
            return Some(());
        }
        if matches!(self, Self::NearestOfEdges | Self::NearestOfEdgesGradient) {
            let ends = [0, 3, 6, 9].map(|at| floats(&given[at..]));
            let epsilon = float(given[12]);
            match self {
                Self::NearestOfEdges => put(made, &edge_pair::nearest(ends, epsilon)),
                _ => {
                    let gradients = edge_pair::gradient(ends, epsilon, floats(&given[13..]));
                    put(made, gradients.as_flattened());
                }
            }
            return Some(());
        }
        if let (Self::TextureSample { .. }, [0, ..]) = (self, given) {
            made.fill(0);
            return Some(());
        }
        let number = *given.first()?;
        let object = objects.get(&(number & !BOXES_OF_MESH))?;
        let of_boxes = number & BOXES_OF_MESH != 0;
        match (self, &**object) {
            (Self::TextureSample { rank, .. }, Object::Texture(texture)) => {
                let place = [1, 2, 3].map(|n| given.get(n).map_or(0.0, |word| float(*word)));
                for (channel, word) in made.iter_mut().enumerate() {
                    let value = texture.sample(&place[..usize::from(rank)], channel);
                    *word = u64::from(value.to_bits());
                }
            }
            (Self::GridPoint, Object::HashGrid(grid)) => {
                let index = usize::try_from(given[1] as u32 as i32).ok()?;
                made[0] = u64::from(grid.point(index)?.cast_unsigned());
            }
            (Self::GridQuery, Object::HashGrid(grid)) => grid.query(given, made),
            (Self::GridNext, Object::HashGrid(grid)) => grid.next(given, made),
            (Self::BoxQuery { shape, mesh: false }, Object::Bvh(bvh)) => {
                BoxQuery::begin(made, &bvh.tree, shape, given)?;
            }
            (Self::BoxQuery { shape, mesh }, Object::Mesh(of)) if mesh != of_boxes => {
                BoxQuery::begin(made, of.tree(), shape, given)?;
            }
            (Self::BoxNext, object) => {
                let (more, state) = made.split_at_mut(1);
                state.copy_from_slice(given);
                let mut query = BoxQuery::of(state);
                more[0] = u64::from(match object {
                    Object::Bvh(bvh) => bvh.next_box(&mut query),
                    Object::Mesh(mesh) if of_boxes => mesh.next_box(&mut query),
                    Object::Mesh(mesh) => mesh.next_face(&mut query),
                    _ => return None,
                });
            }
            (Self::GroupRoot, object) => {
                let tree = match object {
                    Object::Bvh(bvh) => &bvh.tree,
                    Object::Mesh(mesh) => mesh.tree(),
                    _ => return None,
                };
                let root = tree.group_root(given[1] as u32 as i32);
                made[0] = u64::from(root.cast_unsigned());
            }
            (Self::MeshPosition { velocity }, Object::Mesh(mesh)) => {
                let [u, v] = [2, 3].map(|n| float(given[n]));
                let face = place(given[1])?;
                let found = match velocity {
                    true => mesh.velocity(face, u, v),
                    false => mesh.position(face, u, v),
                };
                put(made, &found?);
            }
            (Self::MeshPositionGradient { velocity }, Object::Mesh(mesh)) => {
                let face = place(given[1])?;
                put(
                    made,
                    &mesh.weights_gradient(face, velocity, floats(&given[2..]))?,
                );
            }
            (Self::MeshPointGradient, Object::Mesh(mesh)) => {
                let weights = [5, 6].map(|n| float(given[n]));
                let face = place(given[4]);
                let found =
                    face.and_then(|face| mesh.nearest_gradient(floats(&given[1..]), face, weights));
                put(made, &found.unwrap_or_default());
            }
            (Self::MeshRayGradient, Object::Mesh(mesh)) => {
                let (start, direction) = (floats(&given[1..]), floats(&given[4..]));
                let face = place(given[7]);
                let found = face.and_then(|face| {
                    mesh.ray_gradient(start, direction, face, floats(&given[8..]))
                });
                put(made, found.unwrap_or_default().as_flattened());
            }
            (Self::MeshSize(part), Object::Mesh(mesh)) => {
                let size = match part {
                    MeshArray::Indices => mesh.corner_count(),
                    _ => mesh.vectors(part == MeshArray::Velocities).len(),
                };
                made[0] = u64::from(u32::try_from(size).unwrap_or(u32::MAX));
            }
            (Self::MeshElement(part), Object::Mesh(mesh)) => {
                let at = i64::from(given[1] as u32 as i32);
                let from_end =
                    |size: usize| usize::try_from(at + if at < 0 { size as i64 } else { 0 });
                match part {
                    MeshArray::Indices => {
                        let found = mesh.index(from_end(mesh.corner_count()).ok()?)?;
                        made[0] = u64::from(found.cast_unsigned());
                    }
                    _ => {
                        let vectors = mesh.vectors(part == MeshArray::Velocities);
                        put(made, vectors.get(from_end(vectors.len()).ok()?)?);
                    }
                }
            }
            (Self::MeshIndex, Object::Mesh(mesh)) => {
                made[0] = u64::from(mesh.index(place(given[1])?)?.cast_unsigned());
            }
            (Self::MeshCorner { velocity }, Object::Mesh(mesh)) => {
                put(made, &mesh.at_corner(place(given[1])?, velocity)?);
            }
            (Self::MeshFarthest, Object::Mesh(mesh)) => {
                made.fill(0);
                if let Some(found) = mesh.farthest(floats(&given[1..]), float(given[4])) {
                    made[0] = 1;
                    made[2] = u64::from(found.face.cast_unsigned());
                    put(&mut made[3..], &[found.u, found.v]);
                }
            }
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
                let root = mesh.tree().part(*given.last()? as u32 as i32)?;
                made.fill(0);
                let (start, direction) = (floats(&given[1..]), floats(&given[4..]));
                if self == Self::MeshRayCount {
                    made[0] = u64::from(mesh.crossings(root, start, direction).cast_unsigned());
                    return Some(());
                }
                if self == Self::MeshRayAny {
                    let hit = mesh.ray(root, start, direction, float(given[7]));
                    made[0] = hit.is_some().into();
                    return Some(());
                }
                if let Some(hit) = mesh.ray(root, start, direction, float(given[7])) {
                    made[0] = 1;
                    made[2] = u64::from(hit.face.cast_unsigned());
                    put(&mut made[1..], &[hit.sign]);
                    put(&mut made[3..], &[hit.t, hit.u, hit.v]);
                    put(&mut made[6..], &hit.normal);
                }
            }
            (Self::VolumeVoxel(voxel), Object::Volume(volume)) => {
                put_numbers(made, voxel, volume.look_up(voxel, voxel_place(given)));
            }
            (Self::VolumeIndex, Object::Volume(volume)) => {
                made[0] = u64::from(volume.index(voxel_place(given)).cast_unsigned());
            }
            (Self::VolumePart(number), Object::Volume(volume)) => {
                let linear = match given[4] as u32 {
                    0 => false,
                    1 => true,
                    _ => return None,
                };
                let part = volume.part(floats(&given[1..]), linear, number);
                made[0] = u64::from(part.index.cast_unsigned());
                put(&mut made[1..], &[part.share]);
                put(&mut made[2..], &part.slope);
                put(&mut made[5..], part.bend.as_flattened());
            }
            (Self::VolumeCount, Object::Volume(volume)) => {
                made[0] = u64::from(volume.count().cast_unsigned());
            }
            (Self::VolumeClosest(voxel), Object::Volume(volume)) => {
                put_numbers(made, voxel, volume.closest(voxel, floats(&given[1..])));
            }
            (Self::VolumeSample(voxel), Object::Volume(volume)) => {
                let uvw = floats(&given[1..]);
                let value = match given[4] as u32 {
                    0 => volume.closest(voxel, uvw),
                    1 => volume.linear(voxel, uvw),
                    _ => return None,
                };
                put_numbers(made, voxel, value);
            }
            (
                Self::VolumePlaceGradient(voxel) | Self::VolumeSlopeGradient(voxel),
                Object::Volume(volume),
            ) => {
                let (value, slopes) = given[5..].split_at(voxel.length());
                let slopes = matches!(self, Self::VolumeSlopeGradient(_)).then_some(slopes);
                let gradient = match given[4] as u32 {
                    1 => volume.place_gradient(voxel, floats(&given[1..]), value, slopes),
                    _ => [0.0; 3],
                };
                put(made, &gradient);
            }
            (Self::VolumeSlope(voxel), Object::Volume(volume)) => {
                let uvw = floats(&given[1..]);
                let (value, slopes) = match given[4] as u32 {
                    0 => (volume.closest(voxel, uvw), [[0; 3]; MOST_NUMBERS]),
                    1 => (volume.linear(voxel, uvw), volume.slopes(voxel, uvw)),
                    _ => return None,
                };
                let (numbers, rest) = made.split_at_mut(voxel.length());
                put_numbers(numbers, voxel, value);
                for (word, slope) in rest.iter_mut().zip(slopes.as_flattened()) {
                    *word = *slope;
                }
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

/// A voxel by its whole coordinates.
fn voxel_place(given: &[u64]) -> [i32; 3] {
    [1, 2, 3].map(|n| (given[n] as u32).cast_signed())
}

fn put_numbers(words: &mut [u64], voxel: Voxel, values: Bits) {
    for (word, value) in words.iter_mut().zip(values).take(voxel.length()) {
        *word = value;
    }
}

/// A place in a volume, a way to sample, and so many values.
fn at_place(voxel: Voxel, values: usize) -> &'static [Scalar] {
    use Scalar::{F32, F64, I32, U64};
    const MOST: usize = 5 + MOST_NUMBERS * MOST_NUMBERS;
    const fn with(scalar: Scalar) -> [Scalar; MOST] {
        let mut all = [scalar; MOST];
        (all[0], all[4]) = (U64, I32);
        (all[1], all[2], all[3]) = (F32, F32, F32);
        all
    }
    static SINGLE: [Scalar; MOST] = with(F32);
    static DOUBLE: [Scalar; MOST] = with(F64);
    let all = match voxel.scalar() {
        F64 => &DOUBLE,
        _ => &SINGLE,
    };
    &all[..5 + values * voxel.length()]
}
