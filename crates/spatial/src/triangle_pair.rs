//! Whether two triangles have a point in common: Möller's test, "A Fast Triangle-Triangle Intersection Test" (1997),
//! without divisions.

use std::ops::{Add, Mul, Neg, Sub};

/// The arithmetic of the test.
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + From<f32>
    + Into<f64>
{
}

impl Real for f32 {}
impl Real for f64 {}

/// Distances from a plane that are less count as none.
const NEAR: f64 = 1e-6;

fn sub<T: Real>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot<T: Real>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<T: Real>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn size<T: Real>(x: T) -> T {
    if x < T::from(0.0) { -x } else { x }
}

/// The corners of a triangle as distances from the plane of another, times the length of its normal.
fn distances<T: Real>(normal: [T; 3], plane: [T; 3], corners: [[T; 3]; 3]) -> [T; 3] {
    let offset = -dot(normal, plane);
    corners.map(|corner| {
        let distance = dot(normal, corner) + offset;
        match size(distance).into() < NEAR {
            true => T::from(0.0),
            false => distance,
        }
    })
}

/// Where a triangle crosses the line in which both planes meet, without the divisions; nothing where both planes
/// are the same.
struct Crossing<T> {
    base: T,
    edges: [T; 2],
    depths: [T; 2],
}

fn crossing<T: Real>(at: [T; 3], d: [T; 3]) -> Option<Crossing<T>> {
    let zero = T::from(0.0);
    // The corner that lies on its own side of the plane.
    let alone = if d[0] * d[1] > zero {
        2
    } else if d[0] * d[2] > zero {
        1
    } else if d[1] * d[2] > zero || d[0] != zero {
        0
    } else if d[1] != zero {
        1
    } else if d[2] != zero {
        2
    } else {
        return None;
    };
    let others = [[1, 2], [0, 2], [0, 1]][alone];
    Some(Crossing {
        base: at[alone],
        edges: others.map(|n| (at[n] - at[alone]) * d[alone]),
        depths: others.map(|n| d[alone] - d[n]),
    })
}

/// Whether triangles of one plane touch, along the two axes on which it has the largest shadow.
fn coplanar<T: Real>(normal: [T; 3], v: [[T; 3]; 3], u: [[T; 3]; 3]) -> bool {
    let [x, y, z] = normal.map(size);
    let (i, j) = if x > y {
        if x > z { (1, 2) } else { (0, 1) }
    } else if z > y {
        (0, 1)
    } else {
        (0, 2)
    };
    let flat = |corner: [T; 3]| [corner[i], corner[j]];
    let (v, u) = (v.map(flat), u.map(flat));
    let sides = |t: [[T; 2]; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let touches = |side: [[T; 2]; 2]| sides(u).into_iter().any(|other| cut(side, other));
    sides(v).into_iter().any(touches) || inside(v[0], u) || inside(u[0], v)
}

fn cut<T: Real>([v0, v1]: [[T; 2]; 2], [u0, u1]: [[T; 2]; 2]) -> bool {
    let zero = T::from(0.0);
    let a = [v1[0] - v0[0], v1[1] - v0[1]];
    let b = [u0[0] - u1[0], u0[1] - u1[1]];
    let c = [v0[0] - u0[0], v0[1] - u0[1]];
    let f = a[1] * b[0] - a[0] * b[1];
    let d = b[1] * c[0] - b[0] * c[1];
    if !(f > zero && d >= zero && d <= f || f < zero && d <= zero && d >= f) {
        return false;
    }
    let e = a[0] * c[1] - a[1] * c[0];
    match f > zero {
        true => e >= zero && e <= f,
        false => e <= zero && e >= f,
    }
}

fn inside<T: Real>(p: [T; 2], t: [[T; 2]; 3]) -> bool {
    let side = |from: [T; 2], to: [T; 2]| {
        let a = to[1] - from[1];
        let b = -(to[0] - from[0]);
        let c = -a * from[0] - b * from[1];
        a * p[0] + b * p[1] + c
    };
    let (d0, d1, d2) = (side(t[0], t[1]), side(t[1], t[2]), side(t[2], t[0]));
    d0 * d1 > T::from(0.0) && d0 * d2 > T::from(0.0)
}

/// Whether two triangles, by the coordinates of their corners, have a point in common.
pub fn intersect<T: Real>(corners: &[T; 18]) -> bool {
    let (points, _) = corners.as_chunks::<3>();
    let v = [points[0], points[1], points[2]];
    let u = [points[3], points[4], points[5]];
    let zero = T::from(0.0);
    let one_side = |d: [T; 3]| d[0] * d[1] > zero && d[0] * d[2] > zero;
    let normal = |t: [[T; 3]; 3]| cross(sub(t[1], t[0]), sub(t[2], t[0]));
    let (n1, n2) = (normal(v), normal(u));
    let du = distances(n1, v[0], u);
    if one_side(du) {
        return false;
    }
    let dv = distances(n2, u[0], v);
    if one_side(dv) {
        return false;
    }
    // The axis along which the line in which the planes meet is longest.
    let line = cross(n1, n2).map(size);
    let longer = |best: usize, axis: usize| match line[axis] > line[best] {
        true => axis,
        false => best,
    };
    let axis = (1..3).fold(0, longer);
    let along = |t: [[T; 3]; 3]| t.map(|corner| corner[axis]);
    let (Some(one), Some(other)) = (crossing(along(v), dv), crossing(along(u), du)) else {
        return coplanar(n1, v, u);
    };
    let (xx, yy) = (
        one.depths[0] * one.depths[1],
        other.depths[0] * other.depths[1],
    );
    let xxyy = xx * yy;
    let (a, d) = (one.base * xxyy, other.base * xxyy);
    let ends = [
        a + one.edges[0] * one.depths[1] * yy,
        a + one.edges[1] * one.depths[0] * yy,
    ];
    let others = [
        d + other.edges[0] * xx * other.depths[1],
        d + other.edges[1] * xx * other.depths[0],
    ];
    let sorted = |[a, b]: [T; 2]| if a > b { [b, a] } else { [a, b] };
    let (ends, others) = (sorted(ends), sorted(others));
    !(ends[1] < others[0] || others[1] < ends[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: [f64; 9] = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0];

    fn meets(other: [f64; 9]) -> bool {
        let mut corners = [0.0; 18];
        corners[..9].copy_from_slice(&FLAT);
        corners[9..].copy_from_slice(&other);
        let single = intersect(&corners.map(|x| x as f32));
        let turned = {
            let mut turned = corners;
            turned[..9].copy_from_slice(&other);
            turned[9..].copy_from_slice(&FLAT);
            intersect(&turned)
        };
        assert_eq!(single, intersect(&corners));
        assert_eq!(single, turned);
        single
    }

    #[test]
    fn triangles_that_touch_are_told_from_those_that_do_not() {
        // Through it, beside it, above it, in its plane across an edge, in its plane inside, in its plane beside.
        assert!(meets([0.5, 0.5, -1.0, 0.5, 0.5, 1.0, 3.0, 3.0, 0.0]));
        assert!(!meets([3.5, 0.5, -1.0, 3.5, 0.5, 1.0, 5.0, 3.0, 0.0]));
        assert!(!meets([0.5, 0.5, 0.1, 1.5, 0.5, 0.1, 0.5, 0.9, 0.2]));
        assert!(meets([0.5, 0.5, 0.0, 3.5, 0.5, 0.0, 0.5, 3.9, 0.0]));
        assert!(meets([0.2, 0.2, 0.0, 0.5, 0.2, 0.0, 0.2, 0.5, 0.0]));
        assert!(!meets([5.2, 0.2, 0.0, 5.5, 0.2, 0.0, 5.2, 0.5, 0.0]));
    }
}
