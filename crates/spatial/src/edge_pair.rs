//! The points of two edges that are nearest to each other, and what they depend on.
//!
//! After Ericson, "Real-Time Collision Detection" (2004), 5.1.9. Differences of products are rounded once, so that
//! edges that are nearly parallel are still told apart.

/// Squares of sines of the angle between edges below which the share along the first is taken as fixed in
/// gradients: its own would be noise.
const PARALLEL: f32 = 1e-6;

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| a[axis] - b[axis])
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `a b - c d`.
fn difference(a: f32, b: f32, c: f32, d: f32) -> f32 {
    let cd = c * d;
    a.mul_add(b, -cd) + (-c).mul_add(d, cd)
}

/// Which rule gave the shares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Both edges are points.
    Points,
    /// The first is a point.
    FirstPoint,
    /// The share along the first, with the second one's start or with the second as a point.
    ToStart,
    /// The same, with the second one's end.
    ToEnd,
    /// Both shares.
    Both,
    /// Both, of which the first does not count in gradients.
    Parallel,
}

struct Pair {
    d1: [f32; 3],
    d2: [f32; 3],
    r: [f32; 3],
    a: f32,
    b: f32,
    c: f32,
    e: f32,
    f: f32,
    denominator: f32,
    /// The share that the rule is about, before it is brought between 0 and 1.
    free: f32,
    s: f32,
    t: f32,
    rule: Rule,
}

fn pair([p1, q1, p2, q2]: [[f32; 3]; 4], epsilon: f32) -> Pair {
    let (d1, d2, r) = (sub(q1, p1), sub(q2, p2), sub(p1, p2));
    let (a, e, f) = (dot(d1, d1), dot(d2, d2), dot(d2, r));
    let (b, c) = (dot(d1, d2), dot(d1, r));
    let mut pair = Pair {
        d1,
        d2,
        r,
        a,
        b,
        c,
        e,
        f,
        denominator: difference(a, e, b, b),
        free: 0.0,
        s: 0.0,
        t: 0.0,
        rule: Rule::Points,
    };
    match (a <= epsilon, e <= epsilon) {
        (true, true) => {}
        (true, false) => {
            pair.rule = Rule::FirstPoint;
            pair.free = f / e;
            pair.t = pair.free.clamp(0.0, 1.0);
        }
        (false, true) => {
            pair.rule = Rule::ToStart;
            pair.free = -c / a;
            pair.s = pair.free.clamp(0.0, 1.0);
        }
        (false, false) => {
            let apart = pair.denominator > 0.0;
            if apart {
                pair.free = difference(b, f, c, e) / pair.denominator;
            }
            let s = if apart {
                pair.free.clamp(0.0, 1.0)
            } else {
                0.0
            };
            let t = (b * s + f) / e;
            if t < 0.0 {
                pair.rule = Rule::ToStart;
                pair.free = -c / a;
                pair.s = pair.free.clamp(0.0, 1.0);
            } else if t > 1.0 {
                pair.rule = Rule::ToEnd;
                pair.free = (b - c) / a;
                pair.s = pair.free.clamp(0.0, 1.0);
                pair.t = 1.0;
            } else {
                let stable = apart && pair.denominator > PARALLEL * a * e;
                pair.rule = if stable { Rule::Both } else { Rule::Parallel };
                (pair.s, pair.t) = (s, t);
            }
        }
    }
    pair
}

fn between(pair: &Pair, [p1, _, p2, _]: [[f32; 3]; 4]) -> [f32; 3] {
    let at = |from: [f32; 3], along: [f32; 3], share: f32| {
        [0, 1, 2].map(|axis| from[axis] + share * along[axis])
    };
    sub(at(p2, pair.d2, pair.t), at(p1, pair.d1, pair.s))
}

/// The shares along both edges at which they are nearest to each other, and the distance.
pub fn nearest(corners: [[f32; 3]; 4], epsilon: f32) -> [f32; 3] {
    let pair = pair(corners, epsilon);
    let away = between(&pair, corners);
    [pair.s, pair.t, dot(away, away).sqrt()]
}

/// The gradients of the ends of both edges, from those of shares and distance.
pub fn gradient(
    corners: [[f32; 3]; 4],
    epsilon: f32,
    [mut gs, mut gt, gd]: [f32; 3],
) -> [[f32; 3]; 4] {
    let pair = pair(corners, epsilon);
    let Pair {
        d1,
        d2,
        r,
        a,
        b,
        c,
        e,
        f,
        denominator,
        free,
        s,
        t,
        rule,
    } = pair;
    let away = between(&pair, corners);
    let distance = dot(away, away).sqrt();
    let g = away.map(|x| {
        if distance > 0.0 {
            gd / distance * x
        } else {
            0.0
        }
    });
    gs -= dot(g, d1);
    gt += dot(g, d2);
    // Of the products of both directions and of what lies between the starts.
    let (mut ga, mut gb, mut gc, mut ge, mut gf) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let inside = (0.0..=1.0).contains(&free);
    if matches!(rule, Rule::Both | Rule::Parallel) {
        gb += gt * s / e;
        gs += gt * b / e;
        gf += gt / e;
        ge -= gt * t / e;
    }
    match rule {
        Rule::FirstPoint if inside => {
            gf += gt / e;
            ge -= gt * t / e;
        }
        Rule::ToStart | Rule::ToEnd if inside => {
            gc -= gs / a;
            ga -= gs * s / a;
            if rule == Rule::ToEnd {
                gb += gs / a;
            }
        }
        Rule::Both if inside => {
            let over = gs / denominator;
            let lost = -over * s;
            ga += lost * e;
            gb += over * f - 2.0 * lost * b;
            gc -= over * e;
            ge += lost * a - over * c;
            gf += over * b;
        }
        _ => {}
    }
    let of_d1 =
        [0, 1, 2].map(|axis| 2.0 * ga * d1[axis] + gb * d2[axis] + gc * r[axis] - s * g[axis]);
    let of_d2 =
        [0, 1, 2].map(|axis| 2.0 * ge * d2[axis] + gb * d1[axis] + gf * r[axis] + t * g[axis]);
    let of_r = [0, 1, 2].map(|axis| gc * d1[axis] + gf * d2[axis]);
    [
        [0, 1, 2].map(|axis| of_r[axis] - of_d1[axis] - g[axis]),
        of_d1,
        [0, 1, 2].map(|axis| g[axis] - of_r[axis] - of_d2[axis]),
        of_d2,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CROSSED: [[f32; 3]; 4] = [
        [0.0, 0.0, 0.0],
        [2.0, 0.2, 0.1],
        [0.7, -1.0, 1.0],
        [1.1, 1.5, 1.3],
    ];

    fn moved(corner: usize, by: [f32; 3]) -> [[f32; 3]; 4] {
        let mut corners = CROSSED;
        corners[corner] = [0, 1, 2].map(|axis| corners[corner][axis] + by[axis]);
        corners
    }

    #[test]
    fn the_nearest_points_of_known_edges() {
        let [x, y] = [[2.0, 0.0, 0.0], [1.0, 2.0, 3.0]];
        let edges = [[0.0; 3], x, [1.0, -2.0, 3.0], y];
        assert_eq!(nearest(edges, 1e-6), [0.5, 0.5, 3.0]);
        assert_eq!(
            nearest([[0.0; 3], x, y, y], 1e-6),
            [0.5, 0.0, 13_f32.sqrt()]
        );
        assert_eq!(nearest([x, x, y, y], 1e-6)[..2], [0.0, 0.0]);
        assert_eq!(
            nearest([y, y, [0.0; 3], x], 1e-6),
            [0.0, 0.5, 13_f32.sqrt()]
        );
    }

    #[test]
    fn gradients_are_differences_in_every_case() {
        let weights = [0.4, -0.7, 1.1];
        // As they are, past an end of the second, past both ends.
        for (corner, shift) in [
            (0, [0.0; 3]),
            (2, [0.0, 1.5, 0.0]),
            (3, [0.0, -1.7, 0.0]),
            (1, [-1.9, 0.0, 0.0]),
        ] {
            let corners = moved(corner, shift);
            let found = gradient(corners, 1e-6, weights);
            let value = |corners| dot(nearest(corners, 1e-6), weights);
            for (n, end) in found.iter().enumerate() {
                for (axis, own) in end.iter().enumerate() {
                    let at = |by: f32| {
                        let mut corners = corners;
                        corners[n][axis] += by;
                        value(corners)
                    };
                    let slope = (at(5e-3) - at(-5e-3)) / 1e-2;
                    assert!(
                        (own - slope).abs() < 5e-3,
                        "{corner} {n} {axis}: {own} {slope}"
                    );
                }
            }
        }
    }
}
