//! A search through a tree of boxes, one item after the other: for what a box, a ray, a capsule or a ball touches.
//!
//! There is no stack: each box knows the one to go on with behind it, so that a search is a few words.

use warpsmith_ir::types::Scalar;

use crate::box_tree::{NO_BOX, Tree};

/// Words of a search: the object's number; two points, or a point and the inverse of a direction; the radius; how
/// far a ray goes; the kind; the box at hand and the one behind the last; the range of items that is left of a
/// leaf; and the item found last.
pub const BOX_QUERY_LEAVES: usize = 15;

const A: usize = 1;
const B: usize = 4;
const RADIUS: usize = 7;
/// How far a ray goes.
pub const MOST: usize = 8;
const KIND: usize = 9;
const AT: usize = 10;
const END: usize = 11;
const NEXT: usize = 12;
const STOP: usize = 13;
/// The item found last.
pub const FOUND: usize = 14;

/// The types of a search's words.
pub const BOX_QUERY: [Scalar; BOX_QUERY_LEAVES] = {
    let mut words = [Scalar::I32; BOX_QUERY_LEAVES];
    words[0] = Scalar::U64;
    let mut at = A;
    while at <= MOST {
        words[at] = Scalar::F32;
        at += 1;
    }
    words
};

/// Whether there is a further item, and the state behind it.
pub const BOX_STEP: [Scalar; BOX_QUERY_LEAVES + 1] = {
    let mut words = [Scalar::Bool; BOX_QUERY_LEAVES + 1];
    let mut at = 0;
    while at < BOX_QUERY_LEAVES {
        words[at + 1] = BOX_QUERY[at];
        at += 1;
    }
    words
};

/// What is searched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A box.
    Box,
    /// A ray.
    Ray,
    /// A ray with a radius.
    Capsule,
    /// A ball.
    Ball,
}

impl Shape {
    /// The types of the words that a search begins with: the object's number, the shape, and the box to begin
    /// with where the object has parts.
    pub fn inputs(self, parts: bool) -> &'static [Scalar] {
        use Scalar::{F32, I32, U64};
        match (self, parts) {
            (Self::Box | Self::Ray, true) => &[U64, F32, F32, F32, F32, F32, F32, I32],
            (Self::Box | Self::Ray, false) => &[U64, F32, F32, F32, F32, F32, F32],
            (Self::Capsule, _) => &[U64, F32, F32, F32, F32, F32, F32, F32, I32],
            (Self::Ball, true) => &[U64, F32, F32, F32, F32, I32],
            (Self::Ball, false) => &[U64, F32, F32, F32, F32],
        }
    }
}

/// The state of a search.
pub struct BoxQuery<'w>(&'w mut [u64]);

impl<'w> BoxQuery<'w> {
    /// A search that goes on.
    pub fn of(words: &'w mut [u64]) -> Self {
        Self(words)
    }

    /// Begins a search at a box of the tree, -1 for the root; nothing where there is no such box.
    pub fn begin(words: &'w mut [u64], tree: &Tree, shape: Shape, given: &[u64]) -> Option<()> {
        let parts = given.len() == shape.inputs(true).len();
        let root = match parts {
            true => (*given.last()? as u32).cast_signed(),
            false => -1,
        };
        let query = Self(words);
        query.0.fill(0);
        query.0[0] = given[0];
        let inverse = |bits: u64| u64::from((1.0 / f32::from_bits(bits as u32)).to_bits());
        for axis in 0..3 {
            let a = given[1 + axis];
            query.0[A + axis] = a;
            query.0[B + axis] = match shape {
                Shape::Box => given[4 + axis],
                Shape::Ray | Shape::Capsule => inverse(given[4 + axis]),
                Shape::Ball => a,
            };
        }
        let radius = match shape {
            Shape::Capsule => f32::from_bits(given[7] as u32).max(0.0),
            Shape::Ball => f32::from_bits(given[4] as u32).max(0.0),
            Shape::Box | Shape::Ray => 0.0,
        };
        query.0[RADIUS] = u64::from(radius.to_bits());
        query.0[MOST] = u64::from(f32::INFINITY.to_bits());
        query.0[KIND] = shape as u64;
        let (at, end) = match u32::try_from(root) {
            Err(_) if tree.nodes().is_empty() => (NO_BOX, NO_BOX),
            Err(_) => (0, NO_BOX),
            Ok(at) if (at as usize) < tree.nodes().len() => (at, tree.skip(at)),
            Ok(_) => return None,
        };
        query.0[AT] = u64::from(at);
        query.0[END] = u64::from(end);
        query.0[FOUND] = u64::from((-1_i32).cast_unsigned());
        Some(())
    }

    fn float(&self, at: usize) -> f32 {
        f32::from_bits(self.0[at] as u32)
    }

    fn point(&self, at: usize) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.float(at + axis))
    }

    /// Of a search by a ball: its middle and the square of its radius.
    pub fn ball(&self) -> Option<([f32; 3], f32)> {
        let radius = self.float(RADIUS);
        (self.0[KIND] == Shape::Ball as u64).then(|| (self.point(A), radius * radius))
    }

    /// Whether the shape touches a box.
    pub fn touches(&self, low: [f32; 3], high: [f32; 3]) -> bool {
        let (a, b) = (self.point(A), self.point(B));
        if let Some((centre, square)) = self.ball() {
            let away = [0, 1, 2].map(|axis| {
                let (below, above) = (low[axis] - centre[axis], centre[axis] - high[axis]);
                below.max(above).max(0.0)
            });
            return away[0] * away[0] + away[1] * away[1] + away[2] * away[2] <= square;
        }
        let kind = self.0[KIND];
        if kind == Shape::Box as u64 {
            return !(0..3).any(|axis| a[axis] > high[axis] || b[axis] < low[axis]);
        }
        let capsule = kind == Shape::Capsule as u64;
        let radius = self.float(RADIUS);
        let (mut near, mut far) = (f32::NEG_INFINITY, f32::INFINITY);
        for axis in 0..3 {
            let (low, high) = (low[axis] - radius, high[axis] + radius);
            // Along a side of the box a capsule counts where it begins between both.
            if capsule && b[axis].is_infinite() {
                if a[axis] < low || a[axis] > high {
                    return false;
                }
                continue;
            }
            let (one, other) = ((low - a[axis]) * b[axis], (high - a[axis]) * b[axis]);
            near = near.max(one.min(other));
            far = far.min(one.max(other));
        }
        let most = self.float(MOST);
        let within = match capsule {
            true => near <= most,
            false => near < most,
        };
        far >= 0.0 && far >= near && within
    }

    /// Goes on to the next item that `hit` gives a number for; false where there is none.
    pub fn next(&mut self, tree: &Tree, hit: impl Fn(&Self, u32) -> Option<i32>) -> bool {
        loop {
            let (next, stop) = (self.0[NEXT], self.0[STOP]);
            if next < stop {
                self.0[NEXT] = next + 1;
                let item = tree.order().get(next as usize).copied();
                if let Some(found) = item.and_then(|item| hit(self, item)) {
                    self.0[FOUND] = u64::from(found.cast_unsigned());
                    return true;
                }
                continue;
            }
            let at = self.0[AT];
            if at == self.0[END] {
                return false;
            }
            let Some(node) = tree.nodes().get(at as usize) else {
                return false;
            };
            let touched = self.touches(node.low, node.high);
            if touched && node.count > 0 {
                self.0[NEXT] = u64::from(node.first);
                self.0[STOP] = u64::from(node.first + node.count);
            }
            self.0[AT] = u64::from(match touched && node.count == 0 {
                true => node.first,
                false => tree.skip(at as u32),
            });
        }
    }
}
