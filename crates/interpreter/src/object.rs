//! Objects that kernels name by a number, and what kernels ask them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::hash_grid::{GRID_QUERY_LEAVES, HashGrid};
use super::mesh::Mesh;
use warpsmith_ir::types::Scalar;

/// An object on the host that a kernel reaches through its number.
#[derive(Debug)]
pub enum Object {
    /// Points by the cell that they lie in.
    HashGrid(HashGrid),
    /// Triangles.
    Mesh(Mesh),
}

/// The objects of a launch, by number.
pub type Objects = BTreeMap<u64, Arc<Object>>;

/// A question to an object. The first word that it takes is the object's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Which point is at this place of the order by cells.
    GridPoint,
    /// The state of a search around a point.
    GridQuery,
    /// Whether a search has a further point; the state moves on and holds it.
    GridNext,
    /// A point of a triangle.
    MeshPosition,
}

/// The most words that go into a question or come out of it.
pub(super) const MOST_WORDS: usize = GRID_QUERY_LEAVES + 1;

impl Question {
    /// The question that a builtin asks.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "hash_grid_point_id" => Self::GridPoint,
            "hash_grid_query" => Self::GridQuery,
            "mesh_eval_position" => Self::MeshPosition,
            _ => return None,
        })
    }

    /// The types of the words that it takes.
    pub(super) fn inputs(self) -> &'static [Scalar] {
        use Scalar::{F32, I32, U64};
        match self {
            Self::GridPoint => &[U64, I32],
            Self::GridQuery => &[U64, F32, F32, F32, F32],
            Self::GridNext => &HashGrid::QUERY,
            Self::MeshPosition => &[U64, I32, F32, F32],
        }
    }

    /// The types of the words that it gives.
    pub(super) fn outputs(self) -> &'static [Scalar] {
        use Scalar::{F32, I32};
        match self {
            Self::GridPoint => &[I32],
            Self::GridQuery => &HashGrid::QUERY,
            Self::GridNext => &HashGrid::STEP,
            Self::MeshPosition => &[F32, F32, F32],
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
            (Self::MeshPosition, Object::Mesh(mesh)) => {
                let face = usize::try_from(given[1] as u32 as i32).ok()?;
                let [u, v] = [2, 3].map(|n| f32::from_bits(given[n] as u32));
                let point = mesh.position(face, u, v)?;
                for (word, part) in made.iter_mut().zip(point) {
                    *word = u64::from(part.to_bits());
                }
            }
            _ => return None,
        }
        Some(())
    }
}
