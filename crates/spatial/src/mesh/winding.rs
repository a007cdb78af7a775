//! Winding numbers: how often a surface goes around a point.
//!
//! The number is the sum of the solid angles of all faces over 4π. Boxes far away count as one: by the sum of
//! their faces' area vectors, at the middle of their area.

use super::{cross, dot, sub};
use crate::box_tree::{NO_BOX, Tree};

/// A box is far away at so many times `accuracy` of its radius. Warp also counts how area is spread over a box,
/// and goes down to fewer of them.
const FAR: f32 = 2.0;

/// The faces of a box as one.
#[derive(Clone, Copy, Debug, Default)]
struct Pole {
    /// Half of the sum of the cross products of edges.
    area: [f32; 3],
    middle: [f32; 3],
    /// The square of the distance from the middle to the farthest corner of the box.
    radius: f32,
}

/// A pole for each box of a tree.
#[derive(Debug)]
pub(super) struct Winding(Vec<Pole>);

/// The solid angle of a triangle, seen from a point.
fn solid_angle([a, b, c]: [[f32; 3]; 3], p: [f32; 3]) -> f32 {
    let [a, b, c] = [a, b, c].map(|corner| sub(corner, p));
    let [x, y, z] = [a, b, c].map(|v| dot(v, v).sqrt());
    let volume = dot(a, cross(b, c));
    let rest = x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y;
    2.0 * volume.atan2(rest)
}

impl Winding {
    pub(super) fn new(tree: &Tree, corners: &[[[f32; 3]; 3]]) -> Self {
        let nodes = tree.nodes();
        // Sums of area vectors, of areas, and of middles by area.
        let mut sums = vec![([0.0_f32; 3], 0.0_f32, [0.0_f32; 3]); nodes.len()];
        for (at, node) in nodes.iter().enumerate().rev() {
            let first = node.first as usize;
            let mut parts = Vec::new();
            if node.count == 0 {
                parts.extend([sums[first], sums[first + 1]]);
            }
            for item in &tree.order()[first..][..node.count as usize] {
                let [a, b, c] = corners[*item as usize];
                let vector = cross(sub(b, a), sub(c, a)).map(|x| 0.5 * x);
                let area = dot(vector, vector).sqrt();
                let middle = [0, 1, 2].map(|axis| area * (a[axis] + b[axis] + c[axis]) / 3.0);
                parts.push((vector, area, middle));
            }
            for (vector, area, middle) in parts {
                let sum = &mut sums[at];
                sum.1 += area;
                for axis in 0..3 {
                    sum.0[axis] += vector[axis];
                    sum.2[axis] += middle[axis];
                }
            }
        }
        let poles = nodes.iter().zip(sums).map(|(node, (area, size, middle))| {
            let middle = [0, 1, 2].map(|axis| match size > 0.0 {
                true => middle[axis] / size,
                false => 0.5 * (node.low[axis] + node.high[axis]),
            });
            let away = [0, 1, 2]
                .map(|axis| (middle[axis] - node.low[axis]).max(node.high[axis] - middle[axis]));
            Pole {
                area,
                middle,
                radius: dot(away, away),
            }
        });
        Self(poles.collect())
    }

    /// Seven 4-byte words for each box.
    pub(super) fn flat(&self, out: &mut Vec<u8>) {
        for pole in &self.0 {
            let words = pole.area.into_iter().chain(pole.middle);
            out.extend(words.chain([pole.radius]).flat_map(f32::to_le_bytes));
        }
    }

    /// How often the surface goes around a point.
    pub(super) fn number(
        &self,
        tree: &Tree,
        corners: &[[[f32; 3]; 3]],
        p: [f32; 3],
        accuracy: f32,
    ) -> f32 {
        let far = (FAR * accuracy) * (FAR * accuracy);
        let mut angle = 0.0_f32;
        let mut at = 0;
        while let (Some(node), Some(pole)) = (tree.nodes().get(at), self.0.get(at)) {
            let away = sub(pole.middle, p);
            let square = dot(away, away);
            if square > far * pole.radius {
                angle += dot(pole.area, away) / (square * square.sqrt());
            } else if node.count == 0 {
                at = node.first as usize;
                continue;
            } else {
                for item in &tree.order()[node.first as usize..][..node.count as usize] {
                    angle += solid_angle(corners[*item as usize], p);
                }
            }
            match tree.skip(at as u32) {
                NO_BOX => break,
                next => at = next as usize,
            }
        }
        angle / (4.0 * std::f32::consts::PI)
    }
}
