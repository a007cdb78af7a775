//! A tree of boxes over items: triangles of a mesh, or boxes that a program gives.

/// Items in a leaf.
const IN_LEAF: usize = 4;

/// Behind the last box.
pub(crate) const NO_BOX: u32 = u32::MAX;

/// What a tree is made of.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub low: [f32; 3],
    pub high: [f32; 3],
    /// Any multiple of its middle, the same for all: items are told apart by it.
    pub middle: [f32; 3],
}

/// A box, and what lies in it: items of the order, or two boxes from `first` on.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub low: [f32; 3],
    pub high: [f32; 3],
    pub first: u32,
    /// Items of a leaf; 0 for an inner node.
    pub count: u32,
}

/// Boxes, the root first, and the order of the items in their leaves.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    order: Vec<u32>,
    /// For each box the one to go on with when nothing in it is wanted, or nothing is left in it.
    skip: Vec<u32>,
    /// The groups, by number, and the box that has a group's items and no others.
    groups: Vec<(i32, u32)>,
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

    /// The square of the distance to the corner that is farthest from a point.
    fn farthest(&self, p: [f32; 3]) -> f32 {
        (0..3)
            .map(|axis| {
                let (below, above) = (p[axis] - self.low[axis], p[axis] - self.high[axis]);
                below.abs().max(above.abs())
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
    /// A tree over items. Those of a group, where there are groups, lie in a box without others.
    pub fn new(items: &[Item], groups: Option<&[i32]>) -> Self {
        let mut tree = Self {
            order: (0..items.len() as u32).collect(),
            ..Self::default()
        };
        let group = |item: u32| groups.map_or(0, |groups| groups[item as usize]);
        tree.order.sort_by_key(|item| group(*item));
        if !items.is_empty() {
            tree.nodes.push(tree.cover(items, 0, items.len()));
            tree.skip.push(NO_BOX);
            tree.split(items, &group);
            tree.groups.sort_unstable();
        }
        tree
    }

    /// The boxes in 4-byte words: both corners, the first item of the order or the first of two boxes, and how
    /// many items.
    pub fn flat(&self, out: &mut Vec<u8>) {
        for node in &self.nodes {
            let corners = node.low.into_iter().chain(node.high);
            out.extend(corners.flat_map(f32::to_le_bytes));
            out.extend(node.first.to_le_bytes());
            out.extend(node.count.to_le_bytes());
        }
    }

    /// Where to go on behind each box, in 4-byte words.
    pub fn flat_skips(&self, out: &mut Vec<u8>) {
        out.extend(self.skip.iter().flat_map(|n| n.to_le_bytes()));
    }

    /// The boxes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The items, leaf after leaf.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Groups by number, each with its box.
    pub fn groups(&self) -> &[(i32, u32)] {
        &self.groups
    }

    /// The box that has a group's items and no others; -1 where there is no such group.
    pub fn group_root(&self, group: i32) -> i32 {
        let at = self
            .groups
            .binary_search_by_key(&group, |(group, _)| *group);
        at.map_or(-1, |at| self.groups[at].1.cast_signed())
    }

    /// The box that a search begins at: -1 stands for the whole tree.
    pub fn part(&self, root: i32) -> Option<u32> {
        match u32::try_from(root) {
            Err(_) => Some(0),
            Ok(at) => ((at as usize) < self.nodes.len()).then_some(at),
        }
    }

    /// The box to go on with behind one.
    pub fn skip(&self, at: u32) -> u32 {
        self.skip.get(at as usize).copied().unwrap_or(NO_BOX)
    }

    fn cover(&self, items: &[Item], first: usize, count: usize) -> Node {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for item in &self.order[first..first + count] {
            let item = &items[*item as usize];
            for axis in 0..3 {
                low[axis] = low[axis].min(item.low[axis]);
                high[axis] = high[axis].max(item.high[axis]);
            }
        }
        Node {
            low,
            high,
            first: first as u32,
            count: count as u32,
        }
    }

    fn split(&mut self, items: &[Item], group: &impl Fn(u32) -> i32) {
        // A box, and whether it has one group that no box above it has alone.
        let mut open = vec![(0, true)];
        while let Some((at, first_of_group)) = open.pop() {
            let node = self.nodes[at];
            let (first, count) = (node.first as usize, node.count as usize);
            let range = first..first + count;
            let between = self.between_groups(range.clone(), group);
            if between.is_none() && first_of_group {
                self.groups.push((group(self.order[first]), at as u32));
            }
            let half = match between {
                Some(half) => half,
                None if count <= IN_LEAF => continue,
                None => {
                    let width = |axis: usize| node.high[axis] - node.low[axis];
                    let wider = |best, axis| {
                        if width(axis) > width(best) {
                            axis
                        } else {
                            best
                        }
                    };
                    let axis = (1..3).fold(0, wider);
                    let middle = |item: &u32| items[*item as usize].middle[axis];
                    self.order[range]
                        .select_nth_unstable_by(count / 2, |a, b| middle(a).total_cmp(&middle(b)));
                    count / 2
                }
            };
            let children = self.nodes.len();
            let left = self.cover(items, first, half);
            let right = self.cover(items, first + half, count - half);
            self.nodes.extend([left, right]);
            self.skip.extend([children as u32 + 1, self.skip[at]]);
            let node = &mut self.nodes[at];
            node.first = children as u32;
            node.count = 0;
            let mixed = between.is_some();
            open.extend([(children, mixed), (children + 1, mixed)]);
        }
    }

    /// How many items of a part of the order, which is sorted by groups, lie before the border of two groups
    /// that is nearest to its middle.
    fn between_groups(
        &self,
        range: std::ops::Range<usize>,
        group: &impl Fn(u32) -> i32,
    ) -> Option<usize> {
        let part = &self.order[range];
        let (lowest, highest) = (group(*part.first()?), group(*part.last()?));
        if lowest == highest {
            return None;
        }
        let centre = group(part[part.len() / 2]);
        let before = part.partition_point(|item| group(*item) < centre);
        let behind = part.partition_point(|item| group(*item) <= centre);
        let half = part.len() / 2;
        let nearer = behind == part.len() || before > 0 && half - before <= behind - half;
        Some(if nearer { before } else { behind })
    }

    /// Visits items that may lie nearer to a point than what `visit` gives, a square of a distance.
    pub fn nearest(&self, p: [f32; 3], best: f32, visit: impl FnMut(u32, f32) -> f32) {
        self.least(best, |node| node.distance(p), visit);
    }

    /// Visits items that may have a point farther from another than what `visit` gives, a square of a distance.
    pub fn furthest(&self, p: [f32; 3], best: f32, mut visit: impl FnMut(u32, f32) -> f32) {
        // The same search with the sign turned: negation is exact.
        let visit = |item, best: f32| -visit(item, -best);
        self.least(-best, |node| -node.farthest(p), visit);
    }

    /// Visits items of nodes whose bound is no more than what `visit` gives.
    fn least(
        &self,
        mut best: f32,
        bound: impl Fn(&Node) -> f32,
        mut visit: impl FnMut(u32, f32) -> f32,
    ) {
        let mut open = vec![0_usize];
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if bound(node) > best {
                continue;
            }
            let first = node.first as usize;
            if node.count > 0 {
                for item in &self.order[first..first + node.count as usize] {
                    best = visit(*item, best);
                }
                continue;
            }
            let [a, b] = [first, first + 1].map(|n| bound(&self.nodes[n]));
            // The one of the lower bound comes off the stack first.
            open.extend(if a <= b {
                [first + 1, first]
            } else {
                [first, first + 1]
            });
        }
    }

    /// Visits items of a part of the tree that a ray may meet before what `visit` gives.
    pub fn along(
        &self,
        root: u32,
        start: [f32; 3],
        direction: [f32; 3],
        mut most: f32,
        mut visit: impl FnMut(u32, f32) -> f32,
    ) {
        let inverse = direction.map(|d| 1.0 / d);
        let mut open = vec![root as usize];
        while let Some(at) = open.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if node.entry(start, inverse, most).is_none() {
                continue;
            }
            let first = node.first as usize;
            if node.count > 0 {
                for item in &self.order[first..first + node.count as usize] {
                    most = visit(*item, most);
                }
            } else {
                open.extend([first, first + 1]);
            }
        }
    }
}
