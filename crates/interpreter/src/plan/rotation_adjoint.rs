//! What the gradient of a rotated vector is to the quaternion and to the vector, in the order in which Warp's
//! CPU adds: each component is three sums, each times a component of the gradient.

use super::vector::Math;
use crate::lanes::Cell;

/// Which way a quaternion turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    There,
    Back,
}

/// A term of a sum: a factor, and the components of vector and quaternion that it scales the product of.
type Term = (f64, usize, usize);
/// Whether the sum is added, the gradient's component, the terms.
type Sum = (bool, usize, &'static [Term]);

/// By component of the quaternion.
const THERE: [[Sum; 3]; 4] = [
    [
        (true, 2, &[(2.0, 1, 3), (2.0, 0, 2)]),
        (true, 0, &[(2.0, 2, 2), (2.0, 1, 1), (4.0, 0, 0)]),
        (true, 1, &[(2.0, 0, 1), (-2.0, 2, 3)]),
    ],
    [
        (true, 1, &[(2.0, 2, 2), (2.0, 0, 0), (4.0, 1, 1)]),
        (true, 0, &[(2.0, 1, 0), (2.0, 2, 3)]),
        (false, 2, &[(2.0, 0, 3), (-2.0, 1, 2)]),
    ],
    [
        (true, 1, &[(2.0, 0, 3), (2.0, 2, 1)]),
        (true, 2, &[(2.0, 0, 0), (2.0, 1, 1), (4.0, 2, 2)]),
        (false, 0, &[(2.0, 1, 3), (-2.0, 2, 0)]),
    ],
    [
        (true, 0, &[(2.0, 2, 1), (4.0, 0, 3), (-2.0, 1, 2)]),
        (true, 1, &[(2.0, 0, 2), (4.0, 1, 3), (-2.0, 2, 0)]),
        (true, 2, &[(-2.0, 0, 1), (2.0, 1, 0), (4.0, 2, 3)]),
    ],
];
const BACK: [[Sum; 3]; 4] = [
    [
        (true, 1, &[(2.0, 2, 3), (2.0, 0, 1)]),
        (true, 0, &[(2.0, 2, 2), (2.0, 1, 1), (4.0, 0, 0)]),
        (false, 2, &[(2.0, 1, 3), (-2.0, 0, 2)]),
    ],
    [
        (true, 2, &[(2.0, 0, 3), (2.0, 1, 2)]),
        (true, 1, &[(2.0, 2, 2), (2.0, 0, 0), (4.0, 1, 1)]),
        (false, 0, &[(2.0, 2, 3), (-2.0, 1, 0)]),
    ],
    [
        (true, 0, &[(2.0, 1, 3), (2.0, 2, 0)]),
        (true, 2, &[(2.0, 0, 0), (2.0, 1, 1), (4.0, 2, 2)]),
        (false, 1, &[(2.0, 0, 3), (-2.0, 2, 1)]),
    ],
    [
        (true, 0, &[(2.0, 1, 2), (4.0, 0, 3), (-2.0, 2, 1)]),
        (true, 1, &[(2.0, 2, 0), (4.0, 1, 3), (-2.0, 0, 2)]),
        (true, 2, &[(2.0, 0, 1), (-2.0, 1, 0), (4.0, 2, 3)]),
    ],
];

/// By component of the vector: sums of products of the quaternion's components, in the order of the gradient's
/// components that they belong to.
enum Part {
    /// The sum of two doubled products; `false` subtracts the second.
    Pair([usize; 2], bool, [usize; 2]),
    /// Twice the square of the real part, plus twice that of this one, less one.
    Squares(usize),
}
/// Whether the part is added, the gradient's component, the part.
type Share = (bool, usize, Part);

const POINT_THERE: [[Share; 3]; 3] = [
    [
        (true, 1, Part::Pair([3, 2], true, [0, 1])),
        (true, 0, Part::Squares(0)),
        (false, 2, Part::Pair([3, 1], false, [0, 2])),
    ],
    [
        (true, 2, Part::Pair([3, 0], true, [1, 2])),
        (false, 0, Part::Pair([3, 2], false, [0, 1])),
        (true, 1, Part::Squares(1)),
    ],
    [
        (false, 1, Part::Pair([3, 0], false, [1, 2])),
        (true, 2, Part::Squares(2)),
        (true, 0, Part::Pair([3, 1], true, [0, 2])),
    ],
];
const POINT_BACK: [[Share; 3]; 3] = [
    [
        (true, 2, Part::Pair([3, 1], true, [0, 2])),
        (true, 0, Part::Squares(0)),
        (false, 1, Part::Pair([3, 2], false, [0, 1])),
    ],
    [
        (true, 1, Part::Squares(1)),
        (true, 0, Part::Pair([3, 2], true, [0, 1])),
        (false, 2, Part::Pair([3, 0], false, [1, 2])),
    ],
    [
        (false, 0, Part::Pair([3, 1], false, [0, 2])),
        (true, 2, Part::Squares(2)),
        (true, 1, Part::Pair([3, 0], true, [1, 2])),
    ],
];

/// Adds a value to a sum, or subtracts it; a first one may be turned round.
fn gather(m: &mut Math<'_, '_>, sum: Option<Cell>, plus: bool, value: Cell) -> Cell {
    match (sum, plus) {
        (Some(sum), true) => m.add(sum, value),
        (Some(sum), false) => m.sub(sum, value),
        (None, true) => value,
        (None, false) => m.neg(value),
    }
}

/// What the quaternion receives, and what the vector does.
pub(super) fn shares(
    m: &mut Math<'_, '_>,
    turn: Turn,
    (q, p): (&[Cell], &[Cell]),
    g: &[Cell],
) -> (Vec<Cell>, Vec<Cell>) {
    let (by_quaternion, by_point) = match turn {
        Turn::There => (&THERE, &POINT_THERE),
        Turn::Back => (&BACK, &POINT_BACK),
    };
    let mut turned = Vec::with_capacity(4);
    for sums in by_quaternion {
        let mut total = None;
        for (plus, component, terms) in sums {
            let mut sum = None;
            for (factor, i, j) in *terms {
                let product = m.mul(p[*i], q[*j]);
                let size = m.number(factor.abs());
                let product = m.mul(product, size);
                sum = Some(gather(m, sum, *factor > 0.0, product));
            }
            if let Some(sum) = sum {
                let product = m.mul(g[*component], sum);
                total = Some(gather(m, total, *plus, product));
            }
        }
        turned.extend(total);
    }
    let (one, two) = (m.number(1.0), m.number(2.0));
    let doubled = |m: &mut Math<'_, '_>, [i, j]: [usize; 2]| {
        let product = m.mul(q[i], q[j]);
        m.mul(product, two)
    };
    let mut moved = Vec::with_capacity(3);
    for parts in by_point {
        let mut total = None;
        for (plus, component, part) in parts {
            let sum = match part {
                Part::Pair(first, adds, second) => {
                    let (x, y) = (doubled(m, *first), doubled(m, *second));
                    gather(m, Some(x), *adds, y)
                }
                Part::Squares(n) => {
                    let (x, y) = (doubled(m, [3, 3]), doubled(m, [*n, *n]));
                    let sum = m.add(x, y);
                    m.sub(sum, one)
                }
            };
            let product = m.mul(g[*component], sum);
            total = Some(gather(m, total, *plus, product));
        }
        moved.extend(total);
    }
    (turned, moved)
}
