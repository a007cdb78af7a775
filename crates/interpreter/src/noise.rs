//! Gradient noise on a lattice, its curl, and both of their derivatives, one lane at a time.
//!
//! Each lattice point has a random direction. Inside a cell the noise is the sum over the cell's corners
//! of the distance along the corner's direction, weighted by a product of quintic steps, one for each
//! axis; first and second derivatives follow term by term.
#![allow(
    clippy::needless_range_loop,
    reason = "formulas over axes read as they are written"
)]

/// The most words that go in: state, four coordinates, three settings, three duals.
pub(super) const MOST_INPUTS: usize = 12;

/// A noise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    kind: NoiseKind,
    axes: usize,
}

/// What kind of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// Without an end.
    Plain,
    /// Repeats after a number of cells along each axis.
    Periodic,
    /// The curl of noise, as a sum of octaves.
    Curl,
}

impl Noise {
    /// The function of this name on points of so many coordinates.
    pub(super) fn of(name: &str, axes: usize) -> Option<Self> {
        let kind = match name {
            "noise" => NoiseKind::Plain,
            "pnoise" => NoiseKind::Periodic,
            "curlnoise" => NoiseKind::Curl,
            _ => return None,
        };
        (1..=4).contains(&axes).then_some(Self { kind, axes })
    }

    /// Which one it is.
    pub fn kind(self) -> NoiseKind {
        self.kind
    }

    /// Numbers in the point.
    pub fn axes(self) -> usize {
        self.axes
    }

    /// Words that go in.
    pub fn inputs(self) -> usize {
        1 + self.axes
            + match self.kind {
                NoiseKind::Plain => 0,
                NoiseKind::Periodic => self.axes,
                NoiseKind::Curl => 3,
            }
    }

    /// Numbers that come out.
    pub fn outputs(self) -> usize {
        match self.kind {
            NoiseKind::Curl if self.axes == 2 => 2,
            NoiseKind::Curl => 3,
            _ => 1,
        }
    }

    /// The value for these words.
    pub(super) fn value(self, words: &[u32], out: &mut [f32]) {
        let mut sums = [[0.0; 4]; 3];
        match self.kind {
            NoiseKind::Curl => {
                self.octaves::<1>(words, |field, amplitude, _, term| {
                    for (sum, slope) in sums[field].iter_mut().zip(term.slope) {
                        *sum += amplitude * slope;
                    }
                });
                let [f, g, h] = sums;
                if self.axes == 2 {
                    out[..2].copy_from_slice(&[-f[1] as f32, f[0] as f32]);
                } else {
                    let curl = [h[1] - g[2], f[2] - h[0], g[0] - f[1]];
                    out[..3].copy_from_slice(&curl.map(|x| x as f32));
                }
            }
            _ => out[0] = self.cell(words).field::<0>(words[0]).value as f32,
        }
    }

    /// What the point's dual receives, where the results' duals follow the inputs.
    pub(super) fn adjoint(self, words: &[u32], out: &mut [f32]) {
        let dual = |n: usize| f64::from(f32::from_bits(words[self.inputs() + n]));
        let mut sums = [0.0; 4];
        match self.kind {
            NoiseKind::Curl => self.octaves::<2>(words, |field, amplitude, frequency, term| {
                // Which slopes of this field the results are made of, and with which sign.
                let row = |axis: usize, sign: f64, result: usize| (axis, sign * dual(result));
                let uses = match (self.axes, field) {
                    (2, _) => [row(1, -1.0, 0), row(0, 1.0, 1)],
                    (_, 0) => [row(2, 1.0, 1), row(1, -1.0, 2)],
                    (_, 1) => [row(2, -1.0, 0), row(0, 1.0, 2)],
                    (_, _) => [row(1, 1.0, 0), row(0, -1.0, 1)],
                };
                for (axis, weight) in uses {
                    for n in 0..self.axes {
                        sums[n] += amplitude * frequency * weight * term.bend[axis][n];
                    }
                }
            }),
            _ => {
                let term = self.cell(words).field::<1>(words[0]);
                for n in 0..self.axes {
                    sums[n] = term.slope[n] * dual(0);
                }
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = sum as f32;
        }
    }

    /// The cell of a point, which repeats where the function does.
    fn cell(self, words: &[u32]) -> Cell {
        let mut cell = Cell::around(self.axes, |n| f32::from_bits(words[1 + n]));
        if self.kind == NoiseKind::Periodic {
            for n in 0..self.axes {
                let period = words[1 + self.axes + n].cast_signed();
                let wrap = |x: i32| x.checked_rem(period).unwrap_or(0);
                let low = wrap(cell.corners[n][0]);
                cell.corners[n] = [low, wrap(low.wrapping_add(1))];
            }
        }
        cell
    }

    /// Visits each field of each octave, with its amplitude and frequency. In space and beyond there are
    /// three fields, and each takes its random directions from a state of its own.
    fn octaves<const ORDER: usize>(
        self,
        words: &[u32],
        mut visit: impl FnMut(usize, f64, f64, &Field),
    ) {
        let mut state = words[0];
        let settings = &words[1 + self.axes..];
        let (lacunarity, gain) = (f32::from_bits(settings[1]), f32::from_bits(settings[2]));
        let (mut frequency, mut amplitude) = (1.0_f32, 1.0_f32);
        for _ in 0..settings[0] {
            let cell = Cell::around(self.axes, |n| frequency * f32::from_bits(words[1 + n]));
            let (a, f) = (f64::from(amplitude), f64::from(frequency));
            visit(0, a, f, &cell.field::<ORDER>(state));
            if self.axes > 2 {
                for (field, offset) in [(1, 10_019_689), (2, 13_112_221)] {
                    state = permuted(state.wrapping_add(permuted(offset)));
                    visit(field, a, f, &cell.field::<ORDER>(state));
                }
            }
            amplitude *= gain;
            frequency *= lacunarity;
        }
    }
}

/// A cell of the lattice, and a point in it.
struct Cell {
    axes: usize,
    corners: [[i32; 2]; 4],
    inside: [f64; 4],
}

/// Noise at a point, with its first and second derivatives.
#[derive(Default)]
struct Field {
    value: f64,
    slope: [f64; 4],
    bend: [[f64; 4]; 4],
}

/// What each coordinate is multiplied by to make a lattice point's number.
pub const PRIMES: [u32; 4] = [73_856_093, 19_349_663, 53_471_161, 10_000_019];

impl Cell {
    fn around(axes: usize, coordinate: impl Fn(usize) -> f32) -> Self {
        let mut cell = Self {
            axes,
            corners: [[0; 2]; 4],
            inside: [0.0; 4],
        };
        for n in 0..axes {
            let x = coordinate(n);
            let low = x.floor() as i32;
            cell.corners[n] = [low, low.wrapping_add(1)];
            cell.inside[n] = f64::from(x - x.floor());
        }
        cell
    }

    /// The noise, with derivatives up to the order that is requested; those beyond are 0.
    fn field<const ORDER: usize>(&self, state: u32) -> Field {
        match self.axes {
            1 => self.field_of::<ORDER, 1>(state),
            2 => self.field_of::<ORDER, 2>(state),
            3 => self.field_of::<ORDER, 3>(state),
            _ => self.field_of::<ORDER, 4>(state),
        }
    }

    // The number of axes is known here, so that the loops over them unroll.
    fn field_of<const ORDER: usize, const AXES: usize>(&self, state: u32) -> Field {
        let n = AXES;
        let mut weights = [[[0.0; 3]; 2]; 4];
        for axis in 0..n {
            let t = self.inside[axis];
            let step = t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
            let first = 30.0 * t * t * (t * (t - 2.0) + 1.0);
            let second = 60.0 * t * (t * (t * 2.0 - 3.0) + 1.0);
            weights[axis] = [[1.0 - step, -first, -second], [step, first, second]];
        }
        let mut field = Field::default();
        for corner in 0..1_usize << n {
            let side = |axis: usize| corner >> axis & 1;
            let direction = self.direction::<AXES>(state, side);
            let along: f64 = (0..n)
                .map(|axis| (self.inside[axis] - side(axis) as f64) * direction[axis])
                .sum();
            // The product of the weights, each differentiated this often.
            let weight = |orders: [usize; 4]| -> f64 {
                let mut product = 1.0;
                for axis in 0..n {
                    product *= weights[axis][side(axis)][orders[axis]];
                }
                product
            };
            let plain = weight([0; 4]);
            field.value += plain * along;
            if ORDER == 0 {
                continue;
            }
            let mut along_one = [0.0; 4];
            for (i, one) in along_one[..n].iter_mut().enumerate() {
                let mut orders = [0; 4];
                orders[i] = 1;
                *one = weight(orders);
            }
            for i in 0..n {
                field.slope[i] += along_one[i] * along + plain * direction[i];
                if ORDER == 1 {
                    continue;
                }
                for j in 0..n {
                    let mut orders = [0; 4];
                    orders[i] += 1;
                    orders[j] += 1;
                    field.bend[i][j] += weight(orders) * along
                        + along_one[i] * direction[j]
                        + along_one[j] * direction[i];
                }
            }
        }
        field
    }

    /// The random direction of a corner.
    fn direction<const AXES: usize>(&self, state: u32, side: impl Fn(usize) -> usize) -> [f64; 4] {
        let last = AXES - 1;
        let mut number = 0;
        for axis in 0..AXES {
            let term = self.corners[axis][side(axis)]
                .cast_unsigned()
                .wrapping_mul(PRIMES[axis]);
            // The state is added to the last term, before it is mixed in.
            number ^= term.wrapping_add(if axis == last { state } else { 0 });
        }
        let mut direction = [0.0; 4];
        for part in &mut direction[..AXES] {
            *part = unit(&mut number) - 0.5;
        }
        if AXES == 1 {
            return [2.0 * direction[0], 0.0, 0.0, 0.0];
        }
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        direction.map(|part| if length > 0.0 { part / length } else { 0.0 })
    }
}

/// The generator's step: O'Neill's RXS-M-XS output function over one congruential step.
pub fn permuted(state: u32) -> u32 {
    let word = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let mixed = ((word >> ((word >> 28) + 4)) ^ word).wrapping_mul(277_803_737);
    (mixed >> 22) ^ mixed
}

/// The next number in [0, 1).
fn unit(state: &mut u32) -> f64 {
    *state = permuted(*state);
    f64::from(*state >> 8) / 16_777_216.0
}

/// A Poisson variate of this rate: by products of uniform numbers where it is small, else by Hörmann's
/// transformed rejection (1993).
pub(super) fn poisson(state: &mut u32, rate: f32) -> u32 {
    let mut next = || unit(state) as f32;
    if rate == 0.0 {
        return 0;
    }
    if rate < 10.0 || rate.is_nan() {
        let (floor, mut product, mut count) = ((-rate).exp(), next(), 0);
        while product > floor {
            count += 1;
            product *= next();
        }
        return count;
    }
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let sure = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = next() - 0.5;
        let v = next();
        let margin = 0.5 - u.abs();
        let k = ((2.0 * a / margin + b) * u + rate + 0.43).floor();
        if margin >= 0.07 && v <= sure {
            return k as u32;
        }
        if k < 0.0 || (margin < 0.013 && v > margin) {
            continue;
        }
        // In f64, so that a CPU and a GPU decide alike where the two sides differ by rounding.
        let [wide_v, scale, weight, mean, count] =
            [v, inverse_alpha, a / (margin * margin) + b, rate, k].map(f64::from);
        let drawn = wide_v.ln() + scale.ln() - weight.ln();
        if drawn <= -mean + count * mean.ln() - libm::lgamma(count + 1.0) {
            return k as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axes: usize, point: [f32; 4], rest: &[u32]) -> Vec<u32> {
        let point = point[..axes].iter().map(|x| x.to_bits());
        let rest = rest.iter().copied();
        std::iter::once(1234).chain(point).chain(rest).collect()
    }

    /// The derivative along each axis by differences, against the adjoint.
    fn check(name: &str, axes: usize, rest: &[u32], duals: &[f32]) {
        let noise = Noise::of(name, axes).unwrap();
        let point = [0.3, -1.7, 2.2, 0.85];
        let mut all = words(axes, point, rest);
        all.extend(duals.iter().map(|x| x.to_bits()));
        let mut found = [0.0; 4];
        noise.adjoint(&all, &mut found);
        for axis in 0..axes {
            let mut sides = [0.0_f64; 2];
            for (side, step) in sides.iter_mut().zip([-1e-2_f32, 1e-2]) {
                let mut moved = point;
                moved[axis] += step;
                let mut out = [0.0; 3];
                noise.value(&words(axes, moved, rest), &mut out);
                *side = out.iter().zip(duals).map(|(x, y)| f64::from(x * y)).sum();
            }
            let slope = (sides[1] - sides[0]) / 2e-2;
            // Differences over 0.02 of a curve whose third derivative is below 100.
            assert!(
                (slope - f64::from(found[axis])).abs() < 2e-2,
                "{name} {axes} along {axis}: {slope} {}",
                found[axis]
            );
        }
    }

    #[test]
    fn adjoints_are_derivatives() {
        for axes in 1..=4 {
            check("noise", axes, &[], &[0.7]);
            check("pnoise", axes, &[3, 4, 5, 6][..axes], &[0.7]);
        }
        let settings = [2, 1.5_f32.to_bits(), 0.5_f32.to_bits()];
        check("curlnoise", 2, &settings, &[0.7, -0.4]);
        check("curlnoise", 3, &settings, &[0.7, -0.4, 0.3]);
        check("curlnoise", 4, &settings, &[0.7, -0.4, 0.3]);
    }

    #[test]
    fn noise_is_zero_on_the_lattice() {
        for axes in 1..=4 {
            let mut out = [1.0];
            let noise = Noise::of("noise", axes).unwrap();
            noise.value(&words(axes, [2.0, -3.0, 0.0, 5.0], &[]), &mut out);
            assert_eq!(out, [0.0]);
        }
    }

    #[test]
    fn poisson_variates_have_their_mean() {
        for rate in [0.0_f32, 0.5, 4.0, 30.0] {
            let mut state = 7;
            let sum: u64 = (0..20_000)
                .map(|_| u64::from(poisson(&mut state, rate)))
                .sum();
            let mean = sum as f64 / 20_000.0;
            // Five standard errors of the mean.
            let allowed = 5.0 * (f64::from(rate) / 20_000.0).sqrt();
            assert!((mean - f64::from(rate)).abs() <= allowed, "{rate}: {mean}");
        }
    }
}
