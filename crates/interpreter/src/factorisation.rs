//! Factorisations of small matrices and their adjoints, one lane at a time in `f64`.
//!
//! Matrices are rows one after the other. The adjoints follow from the factors and their duals alone.
#![allow(
    clippy::needless_range_loop,
    reason = "formulas over rows and columns read as they are written"
)]

/// A factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factorisation {
    /// Eigenvectors as columns, eigenvalues.
    Eig3,
    /// A rotation and an upper triangle.
    Qr3,
    /// Left factor, singular values, right factor of a 2 × 2 matrix.
    Svd2,
    /// The same of a 3 × 3 matrix.
    Svd3,
}

/// The most numbers that a factorisation gives, and its adjoint takes.
pub(super) const MOST_RESULTS: usize = 21;

impl Factorisation {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "eig3" => Self::Eig3,
            "qr3" => Self::Qr3,
            "svd2" => Self::Svd2,
            "svd3" => Self::Svd3,
            _ => return None,
        })
    }

    /// Numbers in the matrix.
    pub fn inputs(self) -> usize {
        if self == Self::Svd2 { 4 } else { 9 }
    }

    /// Numbers in all factors.
    pub fn outputs(self) -> usize {
        match self {
            Self::Eig3 => 12,
            Self::Qr3 => 18,
            Self::Svd2 => 10,
            Self::Svd3 => 21,
        }
    }

    /// The factors of `m`.
    pub(super) fn factor(self, m: &[f64], out: &mut [f64]) {
        match self {
            Self::Eig3 => {
                let (q, d) = eigen(&Square::read(m));
                q.write(&mut out[..9]);
                out[9..12].copy_from_slice(&d);
            }
            Self::Qr3 => {
                let (q, r) = rotation_and_triangle(&Square::read(m));
                q.write(&mut out[..9]);
                r.write(&mut out[9..18]);
            }
            Self::Svd3 => {
                let (u, s, v) = singular(&Square::read(m));
                u.write(&mut out[..9]);
                out[9..12].copy_from_slice(&s);
                v.write(&mut out[12..21]);
            }
            Self::Svd2 => {
                let (u, s, v) = singular_2(m);
                out[..4].copy_from_slice(&u);
                out[4..6].copy_from_slice(&s);
                out[6..10].copy_from_slice(&v);
            }
        }
    }

    /// What the matrix's dual receives, from the factors and their duals.
    pub(super) fn adjoint(self, factors: &[f64], duals: &[f64], out: &mut [f64]) {
        let square = |numbers: &[f64]| Square::<3>::read(numbers);
        match self {
            Self::Eig3 => {
                let (q, d) = (square(&factors[..9]), &factors[9..12]);
                let mut inner = q.transposed().times(&square(&duals[..9]));
                for i in 0..3 {
                    for j in 0..3 {
                        inner.0[i][j] = if i == j {
                            duals[9 + i]
                        } else {
                            inner.0[i][j] * reciprocal_gap(d[j] - d[i])
                        };
                    }
                }
                q.times(&inner).times(&q.transposed()).write(out);
            }
            Self::Qr3 => {
                let (q, r) = (square(&factors[..9]), square(&factors[9..18]));
                let (dq, dr) = (square(&duals[..9]), square(&duals[9..18]));
                let mut s = r
                    .times(&dr.transposed())
                    .plus(&dq.transposed().times(&q), -1.0);
                // Its lower triangle, mirrored.
                for i in 0..3 {
                    for j in i + 1..3 {
                        s.0[i][j] = s.0[j][i];
                    }
                }
                let sum = dq.plus(&q.times(&s), 1.0);
                sum.times(&triangle_inverse(&r).transposed()).write(out);
            }
            Self::Svd3 => singular_adjoint::<3>(factors, duals, out),
            Self::Svd2 => singular_adjoint::<2>(factors, duals, out),
        }
    }
}

/// A square matrix.
#[derive(Clone, Copy)]
struct Square<const N: usize>([[f64; N]; N]);

impl<const N: usize> Square<N> {
    fn read(numbers: &[f64]) -> Self {
        let mut m = [[0.0; N]; N];
        for (n, number) in numbers.iter().take(N * N).enumerate() {
            m[n / N][n % N] = *number;
        }
        Self(m)
    }
    fn write(&self, out: &mut [f64]) {
        for (to, from) in out.iter_mut().zip(self.0.as_flattened()) {
            *to = *from;
        }
    }
    fn identity() -> Self {
        let mut m = [[0.0; N]; N];
        (0..N).for_each(|n| m[n][n] = 1.0);
        Self(m)
    }
    fn transposed(&self) -> Self {
        let mut m = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..N {
                m[j][i] = self.0[i][j];
            }
        }
        Self(m)
    }
    fn times(&self, other: &Self) -> Self {
        let mut m = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..N {
                m[i][j] = (0..N).map(|k| self.0[i][k] * other.0[k][j]).sum();
            }
        }
        Self(m)
    }
    fn plus(&self, other: &Self, factor: f64) -> Self {
        let mut m = *self;
        for i in 0..N {
            for j in 0..N {
                m.0[i][j] += factor * other.0[i][j];
            }
        }
        m
    }
    fn col(&self, j: usize) -> [f64; N] {
        std::array::from_fn(|i| self.0[i][j])
    }
}

/// Jacobi's method on a symmetric matrix with the approximate rotations of McAdams et al. (2011); the
/// values stay in the order in which the sweeps leave them, which is Warp's.
fn eigen(m: &Square<3>) -> (Square<3>, [f64; 3]) {
    let (mut a, mut q) = (m.0, Square::<3>::identity().0);
    // The lower triangle is the matrix; the values come from all of it.
    (a[0][1], a[0][2], a[1][2]) = (a[1][0], a[2][0], a[2][1]);
    for _ in 0..12 {
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let off = a[i][j];
            if off == 0.0 {
                continue;
            }
            // Half the angle, where it is small; else an eighth of a turn for the whole.
            let (mut ch, mut sh) = (2.0 * (a[i][i] - a[j][j]), off);
            if (3.0 + 2.0 * std::f64::consts::SQRT_2) * sh * sh >= ch * ch {
                (sh, ch) = std::f64::consts::FRAC_PI_8.sin_cos();
            }
            let square = ch * ch + sh * sh;
            let (c, s) = ((ch * ch - sh * sh) / square, 2.0 * ch * sh / square);
            for row in &mut a {
                let (x, y) = (row[i], row[j]);
                (row[i], row[j]) = (c * x + s * y, c * y - s * x);
            }
            for k in 0..3 {
                let (x, y) = (a[i][k], a[j][k]);
                (a[i][k], a[j][k]) = (c * x + s * y, c * y - s * x);
                let (x, y) = (q[k][i], q[k][j]);
                (q[k][i], q[k][j]) = (c * x + s * y, c * y - s * x);
            }
        }
    }
    let q = Square(q);
    let values = q.transposed().times(m).times(&q).0;
    (q, [values[0][0], values[1][1], values[2][2]])
}

fn dot(x: [f64; 3], y: [f64; 3]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn unit(x: [f64; 3]) -> [f64; 3] {
    let length = dot(x, x).sqrt();
    if length > 0.0 {
        x.map(|x| x / length)
    } else {
        [0.0; 3]
    }
}

/// Gram and Schmidt's method; the last diagonal element of the triangle takes the sign.
fn rotation_and_triangle(m: &Square<3>) -> (Square<3>, Square<3>) {
    let (a, b) = (m.col(0), m.col(1));
    let x = unit(a);
    let along = dot(x, b);
    let y = unit(std::array::from_fn(|n| b[n] - x[n] * along));
    let z = [
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    ];
    let q = Square([x, y, z]).transposed();
    let mut r = q.transposed().times(m);
    (r.0[1][0], r.0[2][0], r.0[2][1]) = (0.0, 0.0, 0.0);
    (q, r)
}

fn triangle_inverse(r: &Square<3>) -> Square<3> {
    let r = &r.0;
    let [x, y, z] = [r[0][0], r[1][1], r[2][2]].map(|d| 1.0 / d);
    Square([
        [
            x,
            -r[0][1] * x * y,
            (r[0][1] * r[1][2] - r[0][2] * r[1][1]) * x * y * z,
        ],
        [0.0, y, -r[1][2] * y * z],
        [0.0, 0.0, z],
    ])
}

/// Both factors are rotations; the values descend in magnitude, and the last takes the sign.
fn singular(m: &Square<3>) -> (Square<3>, [f64; 3], Square<3>) {
    let (mut v, mut d) = eigen(&m.transposed().times(m));
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if d[i] < d[j] {
            d.swap(i, j);
            // A swap with one sign changed keeps the rotation a rotation.
            for row in &mut v.0 {
                (row[i], row[j]) = (row[j], -row[i]);
            }
        }
    }
    let (u, r) = rotation_and_triangle(&m.times(&v));
    (u, [r.0[0][0], r.0[1][1], r.0[2][2]], v)
}

/// Values descend and are not negative; the right factor is a rotation by -135 to 45 degrees. The matrix
/// is the sum of a scaled rotation and a scaled reflection, and the factors turn by half the sum and half
/// the difference of their angles.
fn singular_2(m: &[f64]) -> ([f64; 4], [f64; 2], [f64; 4]) {
    let [a, b, c, d] = [m[0], m[1], m[2], m[3]];
    let (turn, mirror) = ((c - b).atan2(a + d), (c + b).atan2(a - d));
    let (q, r) = (0.5 * (a + d).hypot(c - b), 0.5 * (a - d).hypot(c + b));
    let (left, right) = (0.5 * (turn + mirror), 0.5 * (mirror - turn));
    let sign = if q < r { -1.0 } else { 1.0 };
    let (cos, sin) = (sign * right.cos(), sign * right.sin());
    let turned = if sin > cos { -1.0 } else { 1.0 };
    let u = [
        sign * left.cos(),
        -left.sin(),
        sign * left.sin(),
        left.cos(),
    ];
    (
        u.map(|x| turned * x),
        [q + r, (q - r).abs()],
        [cos, -sin, sin, cos].map(|x| turned * x),
    )
}

/// 1 / x, and 0 where two values coincide and their vectors are not determined.
fn reciprocal_gap(x: f64) -> f64 {
    if x.abs() < 1e-12 { 0.0 } else { 1.0 / x }
}

fn singular_adjoint<const N: usize>(factors: &[f64], duals: &[f64], out: &mut [f64]) {
    let (first, last) = (N * N, N * N + N);
    let (u, v) = (
        Square::<N>::read(factors),
        Square::<N>::read(&factors[last..]),
    );
    let s = &factors[first..last];
    let p = u.transposed().times(&Square::read(duals));
    let q = v.transposed().times(&Square::read(&duals[last..]));
    let mut core = Square([[0.0; N]; N]);
    for i in 0..N {
        for j in 0..N {
            let f = reciprocal_gap(s[j] * s[j] - s[i] * s[i]);
            core.0[i][j] = if i == j {
                duals[first + i]
            } else {
                f * ((p.0[i][j] - p.0[j][i]) * s[j] + s[i] * (q.0[i][j] - q.0[j][i]))
            };
        }
    }
    u.times(&core).times(&v.transposed()).write(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: [f64; 9] = [2.0, -0.5, 0.3, 0.1, 1.5, -0.7, -0.4, 0.6, -1.1];

    fn near(a: &[f64], b: &[f64]) {
        let close = a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{a:?} is not {b:?}");
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        let mut out = [0.0; MOST_RESULTS];
        let mut back = [0.0; 9];
        Factorisation::Svd3.factor(&M, &mut out);
        let (u, v) = (Square::<3>::read(&out), Square::<3>::read(&out[12..]));
        let mut s = Square::<3>([[0.0; 3]; 3]);
        (0..3).for_each(|n| s.0[n][n] = out[9 + n]);
        u.times(&s).times(&v.transposed()).write(&mut back);
        near(&back, &M);
        assert!(out[9] >= out[10] && out[10] >= out[11].abs());
        Factorisation::Qr3.factor(&M, &mut out);
        let (q, r) = (Square::<3>::read(&out), Square::<3>::read(&out[9..]));
        q.times(&r).write(&mut back);
        near(&back, &M);
        Factorisation::Svd2.factor(&[0.3, 2.0, -1.0, 0.4], &mut out);
        let (u, v) = (Square::<2>::read(&out), Square::<2>::read(&out[6..]));
        let s = Square::<2>([[out[4], 0.0], [0.0, out[5]]]);
        let mut back = [0.0; 4];
        u.times(&s).times(&v.transposed()).write(&mut back);
        near(&back, &[0.3, 2.0, -1.0, 0.4]);
    }

    /// A weighted sum of all factors, differentiated by differences.
    fn check_adjoint(kind: Factorisation, m: &[f64]) {
        let weight = |n: usize| 0.3 + 0.17 * n as f64 - 0.02 * (n * n) as f64;
        let loss = |m: &[f64]| -> f64 {
            let mut out = [0.0; MOST_RESULTS];
            kind.factor(m, &mut out);
            (0..kind.outputs()).map(|n| weight(n) * out[n]).sum()
        };
        let mut factors = [0.0; MOST_RESULTS];
        kind.factor(m, &mut factors);
        let duals: Vec<f64> = (0..kind.outputs()).map(weight).collect();
        let mut gradient = [0.0; 9];
        kind.adjoint(&factors, &duals, &mut gradient);
        for n in 0..kind.inputs() {
            let step = 1e-6;
            let (mut high, mut low) = (m.to_vec(), m.to_vec());
            high[n] += step;
            low[n] -= step;
            let slope = (loss(&high) - loss(&low)) / (2.0 * step);
            let expected = gradient[n];
            // Only symmetric matrices have eigenvectors here, so only the diagonal may move alone.
            let moves = kind != Factorisation::Eig3 || n % 4 == 0;
            assert!(
                !moves || (slope - expected).abs() < 1e-5,
                "{kind:?} {n}: {slope} is not {expected}"
            );
        }
    }

    #[test]
    fn adjoints_are_slopes() {
        check_adjoint(Factorisation::Qr3, &M);
        check_adjoint(Factorisation::Svd3, &M);
        check_adjoint(Factorisation::Svd2, &[0.3, 2.0, -1.0, 0.4]);
        check_adjoint(
            Factorisation::Eig3,
            &[2.0, 0.3, -0.4, 0.3, 1.0, 0.2, -0.4, 0.2, -1.0],
        );
    }
}
