//! Triangles: points, and three of them for each face.

/// A mesh of triangles.
#[derive(Debug)]
pub struct Mesh {
    points: Vec<[f32; 3]>,
    faces: Vec<[i32; 3]>,
}

impl Mesh {
    /// A mesh of points and faces.
    pub fn new(points: Vec<[f32; 3]>, faces: Vec<[i32; 3]>) -> Self {
        Self { points, faces }
    }

    fn corners(&self, face: usize) -> Option<[[f32; 3]; 3]> {
        let corners = self.faces.get(face)?;
        let corner = |n: usize| self.points.get(usize::try_from(corners[n]).ok()?).copied();
        Some([corner(0)?, corner(1)?, corner(2)?])
    }

    /// The point of a face with the weights `u` and `v` of its first two corners.
    pub(super) fn position(&self, face: usize, u: f32, v: f32) -> Option<[f32; 3]> {
        let [p, q, r] = self.corners(face)?;
        let w = 1.0 - u - v;
        Some([0, 1, 2].map(|axis| p[axis] * u + q[axis] * v + r[axis] * w))
    }
}

#[cfg(test)]
mod tests {
    use super::Mesh;

    #[test]
    fn a_position_is_weighted_by_its_corners() {
        let mesh = Mesh::new(
            vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
            vec![[0, 1, 2], [0, 1, 9]],
        );
        assert_eq!(mesh.position(0, 0.25, 0.25), Some([0.25, 1.0, 0.0]));
        assert_eq!(mesh.position(1, 0.25, 0.25), None);
        assert_eq!(mesh.position(2, 0.25, 0.25), None);
    }
}
