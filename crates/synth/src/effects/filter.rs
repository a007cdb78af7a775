//! The pads' low-pass: a state-variable filter of second order, stable under any change of cutoff.
//!
//! Sample by sample, each step waits for the one before. Sixteen samples at a time are one product
//! with a matrix, of which only the two states wait; the sums are those of the formulas, in another
//! order. Single precision suffices: a rounding of a state fades with the state, within the hundred
//! samples that the lowest cutoff remembers.

use crate::sound::{Lane, QUANTUM};

/// Samples filtered at a time.
const BLOCK: usize = 16;

/// Half of them.
const HALF: usize = BLOCK / 2;

/// Damping of a Butterworth response.
const DAMPING: f64 = std::f64::consts::SQRT_2;

/// Coefficients of one cutoff: with states `s` and `t`, `v = x − t`, the output is
/// `t + a2·s + a3·v`, and both states move by twice what their integrators saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coefficients {
    pub(crate) a1: f64,
    pub(crate) a2: f64,
    pub(crate) a3: f64,
}

impl Coefficients {
    pub(crate) fn new(log2_hz: f64, sample_rate: u32) -> Self {
        let rate = f64::from(sample_rate);
        let hz = log2_hz.exp2().min(0.45 * rate);
        let g = (std::f64::consts::PI * hz / rate).tan();
        let a1 = 1.0 / (1.0 + g * (g + DAMPING));
        Self {
            a1,
            a2: g * a1,
            a3: g * g * a1,
        }
    }
}

/// The filter over a block: outputs and states after it, from inputs and states before it.
#[derive(Clone, Debug)]
struct BlockForm {
    /// What each state adds to each output.
    from_states: [[f32; BLOCK]; 2],
    /// The answer to an impulse, behind as many zeros as it is long: what input `m` adds to the
    /// outputs is the window that begins `m` before the answer.
    impulse: [f32; 2 * BLOCK],
    /// What each input adds to each state: of the first half of a block to both states, and of the
    /// second.
    to_states: [[f32; BLOCK]; 2],
    /// What the states become by themselves, row by row.
    across: [[f32; 2]; 2],
}

impl BlockForm {
    fn new(log2_hz: f64, sample_rate: u32) -> Self {
        let Coefficients { a1, a2, a3 } = Coefficients::new(log2_hz, sample_rate);
        let step = [[2.0 * a1 - 1.0, -2.0 * a2], [2.0 * a2, 1.0 - 2.0 * a3]];
        let (input, output) = ([2.0 * a2, 2.0 * a3], [a2, 1.0 - a3]);
        let stepped = |[s, t]: [f64; 2]| step.map(|[a, b]| a * s + b * t);
        let mut form = Self {
            from_states: [[0.0; BLOCK]; 2],
            impulse: [0.0; 2 * BLOCK],
            to_states: [[0.0; BLOCK]; 2],
            across: [[0.0; 2]; 2],
        };
        form.impulse[BLOCK] = a3 as f32;
        // States that each began as one, and the states that an impulse leaves.
        let (mut units, mut driven) = ([[1.0, 0.0], [0.0, 1.0]], input);
        for j in 0..BLOCK {
            let heard = |[s, t]: [f64; 2]| (output[0] * s + output[1] * t) as f32;
            for (state, unit) in units.iter_mut().enumerate() {
                form.from_states[state][j] = heard(*unit);
                *unit = stepped(*unit);
            }
            if j + 1 < BLOCK {
                form.impulse[BLOCK + j + 1] = heard(driven);
            }
            let m = BLOCK - 1 - j;
            for (state, driven) in driven.iter().enumerate() {
                form.to_states[m / HALF][HALF * state + m % HALF] = *driven as f32;
            }
            driven = stepped(driven);
        }
        let across = [[units[0][0], units[1][0]], [units[0][1], units[1][1]]];
        form.across = across.map(|row| row.map(|value| value as f32));
        form
    }
}

/// Two channels of the filter.
#[derive(Clone, Debug)]
pub(crate) struct LowPass {
    sample_rate: u32,
    log2_hz: f64,
    form: BlockForm,
    /// Both states of both channels.
    states: [[f32; 2]; 2],
}

impl LowPass {
    pub(crate) fn new(log2_hz: f64, sample_rate: u32) -> Self {
        Self {
            sample_rate,
            log2_hz,
            form: BlockForm::new(log2_hz, sample_rate),
            states: [[0.0; 2]; 2],
        }
    }

    /// Filters a quantum in place. Where the cutoff is another than before, the quantum begins as
    /// the old one would have it and ends as the new one does: the states mean other levels under
    /// other coefficients, and the difference would be a step.
    #[inline(always)]
    pub(crate) fn run(&mut self, log2_hz: f64, lanes: &mut [Lane; 2]) {
        if log2_hz == self.log2_hz {
            self.states = filter(&self.form, self.states, lanes);
            return;
        }
        let mut before = *lanes;
        filter(&self.form, self.states, &mut before);
        self.form = BlockForm::new(log2_hz, self.sample_rate);
        self.log2_hz = log2_hz;
        self.states = filter(&self.form, self.states, lanes);
        for channel in 0..2 {
            for j in 0..QUANTUM {
                let (old, share) = (before[channel][j], j as f32 / QUANTUM as f32);
                lanes[channel][j] = old + (lanes[channel][j] - old) * share;
            }
        }
    }
}

/// Filters a quantum in place; gives the states after it.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // a moment indexes several arrays at once
fn filter(form: &BlockForm, mut states: [[f32; 2]; 2], lanes: &mut [Lane; 2]) -> [[f32; 2]; 2] {
    for at in (0..QUANTUM).step_by(BLOCK) {
        // Sums of even and of odd inputs apart, and both channels beside each other: four sums that
        // do not wait for one another.
        let mut sums = [[[0.0; BLOCK]; 2]; 2];
        for channel in 0..2 {
            let [s, t] = states[channel];
            for j in 0..BLOCK {
                sums[channel][0][j] = form.from_states[0][j] * s;
                sums[channel][1][j] = form.from_states[1][j] * t;
            }
        }
        for m in 0..BLOCK {
            let mut window = [0.0; BLOCK];
            window.copy_from_slice(&form.impulse[BLOCK - m..2 * BLOCK - m]);
            for channel in 0..2 {
                let input = lanes[channel][at + m];
                for j in 0..BLOCK {
                    sums[channel][m % 2][j] += window[j] * input;
                }
            }
        }
        let driven = driven(form, at, lanes);
        for channel in 0..2 {
            let [s, t] = states[channel];
            for state in 0..2 {
                let [from_s, from_t] = form.across[state];
                states[channel][state] = driven[channel][state] + (from_s * s + from_t * t);
            }
            let mut outputs = [0.0; BLOCK];
            for j in 0..BLOCK {
                outputs[j] = sums[channel][0][j] + sums[channel][1][j];
            }
            lanes[channel][at..at + BLOCK].copy_from_slice(&outputs);
        }
    }
    // What has decayed to nothing must not become denormal, which is slow.
    let settle = |value: f32| if value.abs() < 1e-20 { 0.0 } else { value };
    states.map(|channel| channel.map(settle))
}

/// What a block's inputs add to both states of both channels: sums of products, halves added to
/// halves, those of both states in one vector.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // iterators are functions, which may be left uninlined
fn driven(form: &BlockForm, at: usize, lanes: &[Lane; 2]) -> [[f32; 2]; 2] {
    let mut quarters = [[0.0; BLOCK / 2]; 2];
    for channel in 0..2 {
        let mut inputs = [[0.0; BLOCK]; 2];
        for half in 0..2 {
            for j in 0..BLOCK {
                inputs[half][j] = lanes[channel][at + HALF * half + j % HALF];
            }
        }
        let mut halves = [0.0; BLOCK];
        for j in 0..BLOCK {
            halves[j] = form.to_states[0][j] * inputs[0][j] + form.to_states[1][j] * inputs[1][j];
        }
        for state in 0..2 {
            for j in 0..4 {
                quarters[channel][4 * state + j] =
                    halves[HALF * state + j] + halves[HALF * state + 4 + j];
            }
        }
    }
    let mut sums = [[0.0; 2]; 2];
    for channel in 0..2 {
        for state in 0..2 {
            let four = &quarters[channel][4 * state..4 * state + 4];
            sums[channel][state] = (four[0] + four[2]) + (four[1] + four[3]);
        }
    }
    sums
}
