//! A tree of boxes over triangles.

/// Triangles in a leaf.
const IN_LEAF: usize = 4;

/// A box, and what lies in it: triangles of the order, or two boxes from `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    low: [f32; 3],
    high: [f32; 3],
    first: u32,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
}

/// Boxes, the root first, and the order of the triangles in their leaves.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    order: Vec<u32>,
}

impl Node {
    /// The square of the distance to a point.
    fn distance(&self, p: [f32; 3]) -> f32 {
        (0..3)
            .map(|axis| {
                (self.low[axis] - p[axis])
                    .max(p[axis] - self.high[axis])
                    .max(0.0)
            })
            .map(|d| d * d)
            .sum()
    }

    /// Where a ray enters the box, if it does before `most`.
    fn entry(&self, start: [f32; 3], inverse: [f32; 3], most: f32) -> Option<f32> {
        let (mut near, mut far) = (0.0_f32, most);
        for axis in 0..3 {
            let a = (self.low[axis] - start[axis]) * inverse[axis];
            let b = (self.high[axis] - start[axis]) * inverse[axis];
            // A ray in the plane of a side gives no number; `min` and `max` leave it out.
            near = near.max(a.min(b));
            far = far.min(a.max(b));
        }
        // What lies in the plane of a side must not be lost to rounding.
        (near <= far * 1.000_001 + 1e-30).then_some(near)
    }
}

impl Tree {
    pub(super) fn new(corners: &[[[f32; 3]; 3]]) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            order: (0..corners.len() as u32).collect(),
        };
        if !corners.is_empty() {
            tree.nodes.push(tree.cover(corners, 0, corners.len()));
            tree.split(corners, 0);
        }
        tree
    }

    /// The boxes in 4-byte words: both corners, the first triangle of the order or the first of two boxes, and
    /// how many triangles.
    pub(super) fn flat(&self, out: &mut Vec<u8>) {
        for node in &self.nodes {
            let corners = node.low.into_iter().chain(node.high);
            out.extend(corners.flat_map(f32::to_le_bytes));
            out.extend(node.first.to_le_bytes());
            out.extend(node.count.to_le_bytes());
        }
    }

    /// How many boxes there are.
    pub(super) fn boxes(&self) -> usize {
        self.nodes.len()
    }

    /// The triangles, leaf after leaf.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    fn cover(&self, corners: &[[[f32; 3]; 3]], first: usize, count: usize) -> Node {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for triangle in &self.order[first..first + count] {
            for corner in corners[*triangle as usize] {
                for axis in 0..3 {
                    low[axis] = low[axis].min(corner[axis]);
                    high[axis] = high[axis].max(corner[axis]);
                }
            }
        }
        Node {
            low,
            high,
            first: first as u32,
            count: count as u32,
        }
    }

    fn split(&mut self, corners: &[[[f32; 3]; 3]], root: usize) {
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            let node = self.nodes[at];
            let (first, count) = (node.first as usize, node.count as usize);
            if count <= IN_LEAF {
                continue;
            }
            let width = |axis: usize| node.high[axis] - node.low[axis];
            let axis = (1..3).fold(0, |best, axis| {
                if width(axis) > width(best) {
                    axis
                } else {
                    best
                }
            });
            let middle = |triangle: &u32| {
                let [a, b, c] = corners[*triangle as usize];
                a[axis] + b[axis] + c[axis]
            };
            let half = count / 2;
            self.order[first..first + count]
                .select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)));
            let children = self.nodes.len();
            let left = self.cover(corners, first, half);
            let right = self.cover(corners, first + half, count - half);
            self.nodes.extend([left, right]);
            let node = &mut self.nodes[at];
            node.first = children as u32;
            node.count = 0;
            open.extend([children, children + 1]);
        }
    }

    /// Visits triangles that may lie nearer to a point than what `visit` gives, a square of a distance.
    pub(super) fn nearest(
        &self,
        p: [f32; 3],
        mut best: f32,
        mut visit: impl FnMut(u32, f32) -> f32,
    ) {
        let mut open = vec![0_usize];
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if node.distance(p) > best {
                continue;
            }
            let first = node.first as usize;
            if node.count > 0 {
                for triangle in &self.order[first..first + node.count as usize] {
                    best = visit(*triangle, best);
                }
                continue;
            }
            let [a, b] = [first, first + 1].map(|n| self.nodes[n].distance(p));
            // The nearer one comes off the stack first.
            open.extend(if a <= b {
                [first + 1, first]
            } else {
                [first, first + 1]
            });
        }
    }

    /// Visits triangles that a ray may meet before what `visit` gives.
    pub(super) fn along(
        &self,
        start: [f32; 3],
        direction: [f32; 3],
        mut most: f32,
        mut visit: impl FnMut(u32, f32) -> f32,
    ) {
        let inverse = direction.map(|d| 1.0 / d);
        let mut open = vec![0_usize];
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if node.entry(start, inverse, most).is_none() {
                continue;
            }
            let first = node.first as usize;
            if node.count > 0 {
                for triangle in &self.order[first..first + node.count as usize] {
                    most = visit(*triangle, most);
                }
            } else {
                open.extend([first, first + 1]);
            }
        }
    }
}
