//! Whether a triangle touches a ball.

use super::{dot, nearest_of, sub, weighted};

/// Whether some point of a triangle is within a distance, given as its square, of a point.
pub(super) fn touches(corners: [[f32; 3]; 3], centre: [f32; 3], square: f32) -> bool {
    let [a, b, c] = corners;
    // Products of two floats are exact in double precision, whether they are rounded once or twice.
    let [x, y] = [sub(b, a), sub(c, a)].map(|edge| edge.map(f64::from));
    let is_flat = (0..3).all(|n| {
        let (i, j) = ((n + 1) % 3, (n + 2) % 3);
        x[i] * y[j] == x[j] * y[i]
    });
    let nearest = if is_flat {
        nearest_of_longest_edge(corners, centre)
    } else {
        let (u, v) = nearest_of(corners, centre);
        weighted(corners, u, v)
    };
    let away = sub(nearest, centre);
    dot(away, away) <= square
}

/// The nearest point of a triangle without area: one of its longest edge.
fn nearest_of_longest_edge([a, b, c]: [[f32; 3]; 3], p: [f32; 3]) -> [f32; 3] {
    let square = |[from, to]: [[f32; 3]; 2]| dot(sub(to, from), sub(to, from));
    let longer = |one, other| {
        if square(one) >= square(other) {
            one
        } else {
            other
        }
    };
    let edge @ [from, to] = longer(longer([a, b], [a, c]), [b, c]);
    let along = sub(to, from);
    let length = square(edge);
    let t = match length > 0.0 {
        true => (dot(sub(p, from), along) / length).clamp(0.0, 1.0),
        false => 0.0,
    };
    [0, 1, 2].map(|axis| from[axis] + t * along[axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_touches_faces_edges_and_what_has_no_area() {
        let face = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(touches(face, [0.2, 0.2, 0.5], 0.25));
        assert!(!touches(face, [0.2, 0.2, 0.5], 0.24));
        // The box of the face has this corner, the face has not.
        assert!(!touches(face, [1.0, 1.0, 0.0], 0.49));
        let line = [[0.0; 3], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        assert!(touches(line, [2.0, 1.0, 0.0], 1.0));
        assert!(touches([[1.0; 3]; 3], [1.0, 1.0, 2.0], 1.0));
    }
}
