//! What the answers of a mesh depend on: gradients of places, velocities, nearest points and rays.
//!
//! The face is what the forward pass found; it does not change with the question.

use super::{Mesh, cross, dot, sub};

/// How the weights of a triangle's second and third corner change with a point of its plane.
fn slopes([a, b, c]: [[f32; 3]; 3]) -> [[f32; 3]; 2] {
    let (ab, ac) = (sub(b, a), sub(c, a));
    let (bb, bc, cc) = (dot(ab, ab), dot(ab, ac), dot(ac, ac));
    let area = bb * cc - bc * bc;
    let slope = |own: [f32; 3], square: f32, other: [f32; 3]| {
        [0, 1, 2].map(|axis| match area > 0.0 {
            true => (square * own[axis] - bc * other[axis]) / area,
            false => 0.0,
        })
    };
    [slope(ab, cc, ac), slope(ac, bb, ab)]
}

impl Mesh {
    /// The gradients of a face's weights, from that of the point, or of the velocity, that they make.
    fn of_weights(values: [[f32; 3]; 3], gradient: [f32; 3]) -> [f32; 2] {
        let [a, b, c] = values;
        [dot(sub(a, c), gradient), dot(sub(b, c), gradient)]
    }

    /// The gradients of the weights that `position` or `velocity` was given.
    pub fn weights_gradient(
        &self,
        face: usize,
        velocity: bool,
        gradient: [f32; 3],
    ) -> Option<[f32; 2]> {
        match self.vectors(velocity) {
            [] if velocity => Some([0.0; 2]),
            values => Some(Self::of_weights(self.of_corners(values, face)?, gradient)),
        }
    }

    /// The gradient of the point whose nearest one on a face has these weights, from the gradients of them.
    pub fn nearest_gradient(&self, p: [f32; 3], face: usize, [u, v]: [f32; 2]) -> Option<[f32; 3]> {
        let corners = self.corners(face)?;
        let [a, b, c] = corners;
        let (at_a, at_b) = super::nearest_of(corners, p);
        // On the edge between both, the first is made of the second: nothing is lost to rounding.
        let only_ab = at_a == 1.0 - at_b;
        // Along an edge the weights of its ends change, against each other.
        let edge = |from: [f32; 3], to: [f32; 3], gain: f32| {
            let along = sub(to, from);
            let square = dot(along, along);
            along.map(|x| if square > 0.0 { gain * x / square } else { 0.0 })
        };
        Some(match [at_a > 0.0, at_b > 0.0, !only_ab] {
            [true, true, false] => edge(a, b, v - u),
            [true, false, true] => edge(a, c, -u),
            [false, true, true] => edge(b, c, -v),
            [true, true, true] => {
                let [second, third] = slopes(corners);
                [0, 1, 2].map(|axis| v * second[axis] - u * (second[axis] + third[axis]))
            }
            _ => [0.0; 3],
        })
    }

    /// The gradients of a ray's start and direction, from those of the distance and the weights where it meets
    /// a face.
    pub fn ray_gradient(
        &self,
        start: [f32; 3],
        direction: [f32; 3],
        face: usize,
        [t, u, v]: [f32; 3],
    ) -> Option<[[f32; 3]; 2]> {
        let corners = self.corners(face)?;
        let [a, b, c] = corners;
        let normal = cross(sub(b, a), sub(c, a));
        let across = dot(normal, direction);
        if across == 0.0 {
            return Some([[0.0; 3]; 2]);
        }
        let distance = dot(normal, sub(a, start)) / across;
        let [second, third] = slopes(corners);
        let weights = [0, 1, 2].map(|axis| v * second[axis] - u * (second[axis] + third[axis]));
        // The point moves with the start, and along the ray so that it stays in the plane.
        let along = (t + dot(weights, direction)) / across;
        let of_start = [0, 1, 2].map(|axis| weights[axis] - along * normal[axis]);
        Some([of_start, of_start.map(|x| distance * x)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle, and a second one that is never the nearer.
    fn triangle() -> Mesh {
        let points = vec![[0.1, 0.0, 0.2], [2.0, 0.3, 0.0], [0.4, 1.7, 0.5]];
        Mesh::new(points, vec![[0, 1, 2]])
    }

    /// How much `f` changes along each axis, by central differences.
    fn slope(p: [f32; 3], f: impl Fn([f32; 3]) -> f32) -> [f32; 3] {
        [0, 1, 2].map(|axis| {
            let moved = |by: f32| {
                let mut q = p;
                q[axis] += by;
                f(q)
            };
            (moved(0.01) - moved(-0.01)) / 0.02
        })
    }

    fn near(found: [f32; 3], expected: [f32; 3]) {
        for (ours, theirs) in found.iter().zip(expected) {
            assert!((ours - theirs).abs() < 3e-3, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn nearest_points_move_with_the_point() {
        let mesh = triangle();
        // Over the face, beside each edge, beside a corner.
        for p in [
            [0.8, 0.6, 1.0],
            [1.0, -1.0, 0.4],
            [-1.0, 0.8, 0.4],
            [2.0, 1.8, 0.1],
            [-1.0, -1.0, 0.0],
        ] {
            let value = |p| {
                let found = mesh.nearest(p, 9.0).unwrap();
                0.7 * found.u - 1.3 * found.v
            };
            near(
                mesh.nearest_gradient(p, 0, [0.7, -1.3]).unwrap(),
                slope(p, value),
            );
        }
        assert_eq!(mesh.nearest_gradient([0.0; 3], 1, [1.0, 1.0]), None);
    }

    #[test]
    fn hits_move_with_the_ray() {
        let mesh = triangle();
        let (start, direction) = ([0.7, 0.5, 3.0], [0.1, -0.05, -1.1]);
        let value = |start, direction| {
            let hit = mesh.ray(0, start, direction, 9.0).unwrap();
            0.5 * hit.t + 0.7 * hit.u - 1.3 * hit.v
        };
        let [of_start, of_direction] = mesh
            .ray_gradient(start, direction, 0, [0.5, 0.7, -1.3])
            .unwrap();
        near(of_start, slope(start, |start| value(start, direction)));
        near(
            of_direction,
            slope(direction, |direction| value(start, direction)),
        );
    }
}
