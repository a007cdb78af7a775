//! Triangles: points, and three of them for each face.

mod gradient;
mod sphere;
mod winding;

use std::sync::OnceLock;

use crate::box_query::BoxQuery;
use crate::box_tree::{Item, Tree};
use winding::Winding;

/// A mesh of triangles.
#[derive(Debug)]
pub struct Mesh {
    points: Vec<[f32; 3]>,
    faces: Vec<[i32; 3]>,
    /// Of each point; empty where the mesh does not move.
    velocities: Vec<[f32; 3]>,
    /// Of each face, where there are groups.
    groups: Option<Vec<i32>>,
    /// Whether its winding numbers can be computed.
    winds: bool,
    /// Made when something is searched for.
    searched: OnceLock<Searched>,
}

/// What searches go through; faces without points are not in it.
#[derive(Debug)]
struct Searched {
    tree: Tree,
    /// The faces' numbers and corners.
    faces: Vec<u32>,
    corners: Vec<[[f32; 3]; 3]>,
    mean_edge: f32,
    winding: Option<Winding>,
}

impl Searched {
    /// A visitor of triangles that keeps the last face that is better than those before it: `better` gives its weights
    /// and the square of its distance.
    fn keeping<'a>(
        &'a self,
        found: &'a mut Option<Nearest>,
        better: impl Fn([[f32; 3]; 3], f32) -> Option<(f32, f32, f32)> + 'a,
    ) -> impl FnMut(u32, f32) -> f32 + 'a {
        move |triangle, best| {
            let triangle = triangle as usize;
            let Some((u, v, square)) = better(self.corners[triangle], best) else {
                return best;
            };
            let face = self.faces[triangle].cast_signed();
            *found = Some(Nearest { face, u, v });
            square
        }
    }
}

/// The point of a mesh that is nearest to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub face: i32,
    /// Weights of the first two corners.
    pub u: f32,
    pub v: f32,
}

/// Where a ray meets a mesh first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub face: i32,
    pub t: f32,
    pub u: f32,
    pub v: f32,
    /// Positive where the ray meets the side that the face's normal points from.
    pub sign: f32,
    pub normal: [f32; 3],
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| a[axis] - b[axis])
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// A triangle as an item of a tree.
fn item(corners: &[[f32; 3]; 3]) -> Item {
    let [a, b, c] = *corners;
    let of = |choose: fn(f32, f32) -> f32| {
        [0, 1, 2].map(|axis| choose(choose(a[axis], b[axis]), c[axis]))
    };
    Item {
        low: of(f32::min),
        high: of(f32::max),
        middle: [0, 1, 2].map(|axis| a[axis] + b[axis] + c[axis]),
    }
}

fn weighted([p, q, r]: [[f32; 3]; 3], u: f32, v: f32) -> [f32; 3] {
    let w = 1.0 - u - v;
    [0, 1, 2].map(|axis| p[axis] * u + q[axis] * v + r[axis] * w)
}

/// The weights of the first two corners at the point of a triangle nearest to `p`: a corner, a point of an
/// edge, or one inside.
fn nearest_of([a, b, c]: [[f32; 3]; 3], p: [f32; 3]) -> (f32, f32) {
    let (ab, ac, ap) = (sub(b, a), sub(c, a), sub(p, a));
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (1.0, 0.0);
    }
    let bp = sub(p, b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (0.0, 1.0);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = d1 / (d1 - d3);
        return (1.0 - v, v);
    }
    let cp = sub(p, c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (0.0, 0.0);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let w = d2 / (d2 - d6);
        return (1.0 - w, 0.0);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return (0.0, 1.0 - w);
    }
    let share = 1.0 / (va + vb + vc);
    let (v, w) = (vb * share, vc * share);
    (1.0 - v - w, v)
}

/// The angle that a triangle covers around a point of it: at a corner its own, on an edge a half turn.
fn angle_at(corners: [[f32; 3]; 3], weights: [f32; 3]) -> f32 {
    let absent = weights.iter().filter(|weight| **weight < 1e-4).count();
    if absent < 2 {
        return [std::f32::consts::TAU, std::f32::consts::PI][absent];
    }
    let at = (0..3).fold(
        0,
        |best, n| if weights[n] > weights[best] { n } else { best },
    );
    let [p, q, r] = [0, 1, 2].map(|n| corners[(at + n) % 3]);
    let (a, b) = (sub(q, p), sub(r, p));
    let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
    cosine.clamp(-1.0, 1.0).acos()
}

/// Where a ray meets a triangle: the distance in lengths of its direction, and the weights of the first two
/// corners. In double precision, so that neighbours leave no gap between them.
fn met([a, b, c]: [[f32; 3]; 3], start: [f32; 3], direction: [f32; 3]) -> Option<(f32, f32, f32)> {
    let wide = |v: [f32; 3]| v.map(f64::from);
    let sub = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|axis| a[axis] - b[axis]);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let (a, b, c) = (wide(a), wide(b), wide(c));
    let (start, direction) = (wide(start), wide(direction));
    let (ab, ac) = (sub(b, a), sub(c, a));
    let p = cross(direction, ac);
    let determinant = dot(ab, p);
    if determinant == 0.0 {
        return None;
    }
    let from = sub(start, a);
    let v = dot(from, p) / determinant;
    let q = cross(from, ab);
    let w = dot(direction, q) / determinant;
    let t = dot(ac, q) / determinant;
    let inside = v >= 0.0 && w >= 0.0 && v + w <= 1.0;
    inside.then_some((t as f32, (1.0 - v - w) as f32, v as f32))
}

/// Whether a triangle has next to no area.
fn is_sliver([a, b, c]: [[f32; 3]; 3]) -> bool {
    let edges = [sub(b, a), sub(c, a), sub(c, b)];
    let normal = cross(edges[0], edges[1]);
    let squares: f32 = edges.iter().map(|edge| dot(*edge, *edge)).sum();
    dot(normal, normal).sqrt() / squares < 1e-6
}

impl Mesh {
    /// A mesh of points and faces.
    pub fn new(points: Vec<[f32; 3]>, faces: Vec<[i32; 3]>) -> Self {
        Self {
            points,
            faces,
            velocities: Vec::new(),
            groups: None,
            winds: false,
            searched: OnceLock::new(),
        }
    }

    /// The mesh with what winding numbers need.
    pub fn with_winding(self) -> Self {
        Self {
            winds: true,
            searched: OnceLock::new(),
            ..self
        }
    }

    /// The mesh with velocities of its points.
    #[must_use]
    pub fn with_velocities(self, velocities: Vec<[f32; 3]>) -> Self {
        Self { velocities, ..self }
    }

    /// The mesh with a group for each face; those of a group are a part of the tree.
    #[must_use]
    pub fn with_groups(self, groups: Vec<i32>) -> Self {
        Self {
            groups: Some(groups),
            searched: OnceLock::new(),
            ..self
        }
    }

    /// What the corners of a face have of `values`, one for each point.
    fn of_corners(&self, values: &[[f32; 3]], face: usize) -> Option<[[f32; 3]; 3]> {
        let corners = self.faces.get(face)?;
        let corner = |n: usize| values.get(usize::try_from(corners[n]).ok()?).copied();
        Some([corner(0)?, corner(1)?, corner(2)?])
    }

    fn corners(&self, face: usize) -> Option<[[f32; 3]; 3]> {
        self.of_corners(&self.points, face)
    }

    fn searched(&self) -> &Searched {
        self.searched.get_or_init(|| {
            let known = (0..self.faces.len()).filter_map(|n| Some((n as u32, self.corners(n)?)));
            let (faces, corners): (Vec<u32>, Vec<[[f32; 3]; 3]>) = known.unzip();
            let lengths = corners.iter().flat_map(|[a, b, c]| {
                [sub(*b, *a), sub(*c, *b), sub(*a, *c)].map(|edge| dot(edge, edge).sqrt())
            });
            let mean_edge = lengths.sum::<f32>() / (3 * corners.len()).max(1) as f32;
            let items: Vec<Item> = corners.iter().map(item).collect();
            let groups = self.groups.as_ref().map(|groups| {
                let group = |face: &u32| groups.get(*face as usize).copied();
                let groups = faces.iter().map(|face| group(face).unwrap_or_default());
                groups.collect::<Vec<i32>>()
            });
            let tree = Tree::new(&items, groups.as_deref());
            Searched {
                mean_edge,
                winding: self.winds.then(|| Winding::new(&tree, &corners)),
                tree,
                faces,
                corners,
            }
        })
    }

    /// The mesh in 4-byte words, as `mesh.h` of the GPU's runtime reads them: four counts, the mean length of
    /// edges, whether there are winding numbers, how many groups and velocities; boxes; triangles as nine
    /// coordinates and a face's number, leaf after leaf; corners of all faces; points; where to go on behind
    /// each box; what winding numbers need of each box; groups with their roots; velocities.
    pub fn flat(&self, out: &mut Vec<u8>) {
        let searched = self.searched();
        let order = searched.tree.order();
        let counts = [
            searched.tree.nodes().len(),
            order.len(),
            self.faces.len(),
            self.points.len(),
        ];
        out.extend(counts.iter().flat_map(|n| (*n as u32).to_le_bytes()));
        out.extend(searched.mean_edge.to_le_bytes());
        out.extend(u32::from(searched.winding.is_some()).to_le_bytes());
        let groups = searched.tree.groups();
        let counts = [groups.len(), self.velocities.len()];
        out.extend(counts.iter().flat_map(|n| (*n as u32).to_le_bytes()));
        searched.tree.flat(out);
        for triangle in order {
            let corners = searched.corners[*triangle as usize];
            out.extend(corners.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
            out.extend(searched.faces[*triangle as usize].to_le_bytes());
        }
        let corners = self.faces.as_flattened().iter();
        out.extend(corners.flat_map(|n| n.to_le_bytes()));
        let points = self.points.as_flattened().iter();
        out.extend(points.flat_map(|x| x.to_le_bytes()));
        searched.tree.flat_skips(out);
        if let Some(winding) = &searched.winding {
            winding.flat(out);
        }
        for (group, root) in groups {
            out.extend(group.to_le_bytes());
            out.extend(root.to_le_bytes());
        }
        let velocities = self.velocities.as_flattened().iter();
        out.extend(velocities.flat_map(|x| x.to_le_bytes()));
    }

    /// A corner of the faces, by its place among all of them.
    pub fn index(&self, at: usize) -> Option<i32> {
        self.faces.as_flattened().get(at).copied()
    }

    /// How many numbers of corners there are.
    pub fn corner_count(&self) -> usize {
        self.faces.as_flattened().len()
    }

    /// The points, or the velocities of them.
    pub fn vectors(&self, velocities: bool) -> &[[f32; 3]] {
        match velocities {
            true => &self.velocities,
            false => &self.points,
        }
    }

    /// The point of such a corner, or its velocity.
    pub fn at_corner(&self, at: usize, velocity: bool) -> Option<[f32; 3]> {
        let index = usize::try_from(self.index(at)?).ok()?;
        match self.vectors(velocity) {
            [] if velocity => Some([0.0; 3]),
            values => values.get(index).copied(),
        }
    }

    /// A face's normal, of length 1; nothing but zeros where the face has no area.
    pub fn normal(&self, face: usize) -> Option<[f32; 3]> {
        let [a, b, c] = self.corners(face)?;
        let normal = cross(sub(b, a), sub(c, a));
        let length = dot(normal, normal).sqrt();
        Some(normal.map(|x| if length > 0.0 { x / length } else { 0.0 }))
    }

    /// What is searched.
    pub fn tree(&self) -> &Tree {
        &self.searched().tree
    }

    /// The next face of a search whose box is touched.
    pub fn next_box(&self, query: &mut BoxQuery<'_>) -> bool {
        let Searched {
            tree,
            faces,
            corners,
            ..
        } = self.searched();
        query.next(tree, |query, triangle| {
            let Item { low, high, .. } = item(&corners[triangle as usize]);
            let touched = query.touches(low, high);
            touched.then(|| faces[triangle as usize].cast_signed())
        })
    }

    /// The next face of a search by a box or a ball.
    pub fn next_face(&self, query: &mut BoxQuery<'_>) -> bool {
        let Searched {
            tree,
            faces,
            corners,
            ..
        } = self.searched();
        query.next(tree, |query, triangle| {
            let corners = &corners[triangle as usize];
            let Item { low, high, .. } = item(corners);
            let found = query.touches(low, high)
                && query
                    .ball()
                    .is_none_or(|(centre, square)| sphere::touches(*corners, centre, square));
            found.then(|| faces[triangle as usize].cast_signed())
        })
    }

    /// Whether a point lies inside, by its winding number where the mesh has them, else by rays.
    pub fn is_wound(&self, p: [f32; 3], accuracy: f32, threshold: f32) -> bool {
        let Searched {
            tree,
            corners,
            winding,
            ..
        } = self.searched();
        match winding {
            Some(winding) => winding.number(tree, corners, p, accuracy) > threshold,
            None => self.is_inside(p),
        }
    }

    /// How many faces of a part of the tree a ray meets.
    pub fn crossings(&self, root: u32, start: [f32; 3], direction: [f32; 3]) -> i32 {
        let Searched { tree, corners, .. } = self.searched();
        let mut crossings = 0;
        tree.along(root, start, direction, f32::INFINITY, |triangle, most| {
            let hit = met(corners[triangle as usize], start, direction);
            crossings += i32::from(hit.is_some_and(|(t, ..)| t >= 0.0));
            most
        });
        crossings
    }

    /// The point of a face with the weights `u` and `v` of its first two corners.
    pub fn position(&self, face: usize, u: f32, v: f32) -> Option<[f32; 3]> {
        Some(weighted(self.corners(face)?, u, v))
    }

    /// The velocity of such a point; zero where the mesh does not move.
    pub fn velocity(&self, face: usize, u: f32, v: f32) -> Option<[f32; 3]> {
        match self.velocities.is_empty() {
            true => self.faces.get(face).map(|_| [0.0; 3]),
            false => Some(weighted(self.of_corners(&self.velocities, face)?, u, v)),
        }
    }

    /// The farthest corner of a face that is more than `least` away.
    pub fn farthest(&self, p: [f32; 3], least: f32) -> Option<Nearest> {
        let (searched, mut found) = (self.searched(), None);
        let visit = searched.keeping(&mut found, |corners, best| {
            if is_sliver(corners) {
                return None;
            }
            let [a, b, c] = corners.map(|corner| {
                let away = sub(corner, p);
                dot(away, away)
            });
            let (u, v, square) = if a > b && a > c {
                (1.0, 0.0, a)
            } else if b > c {
                (0.0, 1.0, b)
            } else {
                (0.0, 0.0, c)
            };
            if square <= best {
                return None;
            }
            Some((u, v, square))
        });
        searched.tree.furthest(p, least * least, visit);
        found
    }

    /// The nearest point that is less than `most` away.
    pub fn nearest(&self, p: [f32; 3], most: f32) -> Option<Nearest> {
        let (searched, mut found) = (self.searched(), None);
        let visit = searched.keeping(&mut found, |corners, best| {
            let (u, v) = nearest_of(corners, p);
            let away = sub(weighted(corners, u, v), p);
            let square = dot(away, away);
            if square >= best {
                return None;
            }
            Some((u, v, square))
        });
        searched.tree.nearest(p, most * most, visit);
        found
    }

    /// Where a ray meets a part of the tree first, up to `most` lengths of its direction.
    pub fn ray(&self, root: u32, start: [f32; 3], direction: [f32; 3], most: f32) -> Option<Hit> {
        let Searched {
            tree,
            faces,
            corners,
            ..
        } = self.searched();
        let mut found = None;
        tree.along(root, start, direction, most, |triangle, best| {
            let triangle = triangle as usize;
            match met(corners[triangle], start, direction) {
                Some((t, u, v)) if t >= 0.0 && t < best => {
                    let [a, b, c] = corners[triangle];
                    let normal = cross(sub(b, a), sub(c, a));
                    let length = dot(normal, normal).sqrt();
                    let sign = if dot(normal, direction) > 0.0 {
                        -1.0
                    } else {
                        1.0
                    };
                    found = Some(Hit {
                        face: faces[triangle].cast_signed(),
                        t,
                        u,
                        v,
                        sign,
                        normal: normal.map(|x| if length > 0.0 { x / length } else { 0.0 }),
                    });
                    t
                }
                _ => best,
            }
        });
        found
    }

    /// Which side of the surface a point lies on, by the normals of the faces around the nearest point: those
    /// as near as it, but for a share `epsilon` of the mean length of edges. Each counts by its angle there.
    pub fn side(&self, p: [f32; 3], nearest: Nearest, epsilon: f32) -> f32 {
        let Searched { tree, corners, .. } = self.searched();
        let tolerance = epsilon * self.searched().mean_edge;
        let face = usize::try_from(nearest.face).unwrap_or_default();
        let Some(point) = self.position(face, nearest.u, nearest.v) else {
            return 1.0;
        };
        let away = sub(p, point);
        let within = dot(away, away).sqrt() + tolerance;
        let mut normal = [0.0; 3];
        tree.nearest(p, within * within, |triangle, best| {
            let corners = corners[triangle as usize];
            let (u, v) = nearest_of(corners, p);
            let from = sub(p, weighted(corners, u, v));
            if dot(from, from) <= best {
                let [a, b, c] = corners;
                let own = cross(sub(b, a), sub(c, a));
                let share = angle_at(corners, [u, v, 1.0 - u - v]) / dot(own, own).sqrt();
                if share.is_finite() {
                    normal = [0, 1, 2].map(|axis| normal[axis] + share * own[axis]);
                }
            }
            best
        });
        if dot(normal, away) < 0.0 { -1.0 } else { 1.0 }
    }

    /// Whether a point lies inside: most of three rays leave through an odd number of faces.
    pub fn is_inside(&self, p: [f32; 3]) -> bool {
        let directions = [
            [0.577_215_7, 0.618_034, 0.533_751_2],
            [-0.801_783_7, 0.267_261_2, -0.534_522_5],
            [0.123_091_5, -0.861_640_4, 0.492_365_9],
        ];
        let odd = (directions.iter()).filter(|along| self.crossings(0, p, **along) % 2 == 1);
        odd.count() >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_weighted_by_its_corners() {
        let mesh = Mesh::new(
            vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
            vec![[0, 1, 2], [0, 1, 9]],
        );
        assert_eq!(mesh.position(0, 0.25, 0.25), Some([0.25, 1.0, 0.0]));
        assert_eq!(mesh.position(1, 0.25, 0.25), None);
        assert_eq!(mesh.position(2, 0.25, 0.25), None);
        // A face without points is not found, and harms nothing.
        assert_eq!(mesh.nearest([0.1, 0.1, 1.0], 9.0).unwrap().face, 0);
    }

    /// A bumpy sphere, as rings of triangles.
    fn ball() -> Mesh {
        let (rings, sides) = (12, 16);
        let mut points = Vec::new();
        for i in 0..=rings {
            for j in 0..sides {
                let theta = std::f32::consts::PI * i as f32 / rings as f32;
                let phi = std::f32::consts::TAU * j as f32 / sides as f32;
                let r = 1.0 + 0.1 * (3.0 * phi).sin() * theta.sin();
                points.push([
                    r * theta.sin() * phi.cos(),
                    r * theta.sin() * phi.sin(),
                    r * theta.cos(),
                ]);
            }
        }
        let mut faces = Vec::new();
        for i in 0..rings {
            for j in 0..sides {
                let [a, b] = [j, (j + 1) % sides].map(|j| i * sides + j);
                let (c, d) = (a + sides, b + sides);
                faces.extend([[a, c, b], [b, c, d]]);
            }
        }
        Mesh::new(points, faces)
    }

    fn samples() -> impl Iterator<Item = [f32; 3]> {
        let mut state = 1_u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 * 1.5 - 1.5
        };
        (0..200).map(move |_| [next(), next(), next()])
    }

    #[test]
    fn the_tree_finds_what_a_look_at_every_face_finds() {
        let mesh = ball();
        for p in samples() {
            let found = mesh.nearest(p, 100.0).unwrap();
            let distance = |face: usize, u: f32, v: f32| {
                let away = sub(mesh.position(face, u, v).unwrap(), p);
                dot(away, away)
            };
            let best = (0..mesh.faces.len())
                .map(|face| {
                    let (u, v) = nearest_of(mesh.corners(face).unwrap(), p);
                    distance(face, u, v)
                })
                .fold(f32::INFINITY, f32::min);
            let own = distance(found.face as usize, found.u, found.v);
            assert!((own - best).abs() <= 1e-6, "{own} {best}");
            assert_eq!(mesh.nearest(p, own.sqrt() * 0.5), None);
        }
    }

    #[test]
    fn inside_and_rays_agree_with_the_radius() {
        let mesh = ball();
        for p in samples() {
            let r = dot(p, p).sqrt();
            if (0.85..1.15).contains(&r) {
                continue;
            }
            assert_eq!(mesh.is_inside(p), r < 1.0, "{p:?}");
            let nearest = mesh.nearest(p, 9.0).unwrap();
            let side = if r < 1.0 { -1.0 } else { 1.0 };
            assert_eq!(mesh.side(p, nearest, 1e-3), side, "{p:?}");
            let hit = mesh.ray(0, p, p.map(|x| -x), 10.0).unwrap();
            let far = (1.0 + hit.t.abs()) * r;
            let at = [0, 1, 2].map(|axis| p[axis] * (1.0 - hit.t));
            let q = mesh.position(hit.face as usize, hit.u, hit.v).unwrap();
            assert!(dot(sub(at, q), sub(at, q)) < 1e-8 * far * far);
            assert_eq!(hit.sign, if r < 1.0 { -1.0 } else { 1.0 });
            assert_eq!(mesh.ray(0, p, p.map(|x| -x), hit.t * 0.5), None);
        }
    }
}
