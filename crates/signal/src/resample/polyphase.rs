//! The sums of a polyphase filter, eight neighbouring outputs at a time.
//!
//! Neighbouring outputs look at nearly the same inputs: a group's filters are stored side by side over all
//! rows that one of them looks at, zero where it does not, so that a row and its eight weights are loaded
//! once for all. Lanes are stretches of the signal that lie some periods apart, in several vectors, so that a
//! weight is loaded once for all of them.

use std::marker::PhantomData;

use warpsmith_lanes::{Lanes, Task};

use crate::frame::transpose_into;
use crate::interrupt::checkpoint;

/// Outputs of a group.
const GROUP: usize = 8;

/// The filters of a period of outputs, in groups.
#[derive(Clone, Debug)]
pub(super) struct Polyphase {
    /// Outputs and inputs of a period.
    outputs: usize,
    inputs: usize,
    /// Rows of a group, an even number.
    rows: usize,
    /// The first row of each group.
    at: Vec<usize>,
    /// `[group, row, output]`.
    weights: Vec<[f32; GROUP]>,
}

impl Polyphase {
    /// Groups of the filters `[phase, tap]` of `up` phases, `down` inputs to `up` outputs.
    pub(super) fn new(up: usize, down: usize, filters: &[f32]) -> Self {
        let taps = filters.len() / up;
        // Of few phases several rounds, or the last group would be mostly empty.
        let rounds = (4 * GROUP).div_ceil(up);
        let (outputs, inputs) = (rounds * up, rounds * down);
        let place = |output: usize| output * down / up;
        let starts = (0..outputs).step_by(GROUP);
        let groups = starts.len();
        let last = |first: usize| (first + GROUP).min(outputs) - 1;
        let rows = starts
            .clone()
            .map(|first| place(last(first)) - place(first) + taps)
            .max()
            .unwrap_or(0)
            .next_multiple_of(2);
        let mut weights = vec![[0.0; GROUP]; groups * rows];
        for (weights, first) in weights.chunks_exact_mut(rows).zip(starts.clone()) {
            for output in first..=last(first) {
                let filter = &filters[output * down % up * taps..][..taps];
                let weights = &mut weights[place(output) - place(first)..];
                for (weights, tap) in weights.iter_mut().zip(filter) {
                    weights[output - first] = *tap;
                }
            }
        }
        Self {
            outputs,
            inputs,
            rows,
            at: starts.map(place).collect(),
            weights,
        }
    }

    /// Fills `out` with the outputs of `signal`, whose first tap looks at the input at `start`; silence lies
    /// beyond the signal's ends.
    pub(super) fn run<V: Lanes>(&self, signal: &[f32], start: i64, out: &mut [f32]) {
        // As many sums at once as there are registers for: 32 of sixteen lanes, 16 of eight.
        if const { V::WIDTH == 16 } {
            self.run_with::<V, 3, 8>(signal, start, out);
        } else {
            self.run_with::<V, 2, 4>(signal, start, out);
        }
    }

    fn run_with<V: Lanes, const VECTORS: usize, const TOGETHER: usize>(
        &self,
        signal: &[f32],
        start: i64,
        out: &mut [f32],
    ) {
        V::vectorize(SumsTask::<V, VECTORS, TOGETHER> {
            polyphase: self,
            signal,
            start,
            out,
            lanes: PhantomData,
        });
    }
}

struct SumsTask<'a, V, const VECTORS: usize, const TOGETHER: usize> {
    polyphase: &'a Polyphase,
    signal: &'a [f32],
    start: i64,
    out: &'a mut [f32],
    lanes: PhantomData<V>,
}

impl<V: Lanes, const VECTORS: usize, const TOGETHER: usize> Task
    for SumsTask<'_, V, VECTORS, TOGETHER>
{
    #[inline(always)]
    fn run(self) {
        let filters = self.polyphase;
        // A tile is a group's rows longer than its inputs: of short periods it takes several, or it would
        // be mostly what the last one held.
        let periods = filters.rows.div_ceil(filters.inputs);
        let (outputs, inputs) = (periods * filters.outputs, periods * filters.inputs);
        let height = (inputs + filters.rows).next_multiple_of(8);
        let mut tile = vec![[V::splat(0.0); VECTORS]; height];
        let lanes = VECTORS * V::WIDTH;
        for (number, out) in self.out.chunks_mut(lanes * outputs).enumerate() {
            checkpoint();
            let start = self.start + (number * lanes * inputs) as i64;
            fill(&mut tile, self.signal, start, inputs);
            for period in 0..periods {
                let groups = filters.weights.chunks_exact(filters.rows);
                for (group, (weights, at)) in groups.zip(&filters.at).enumerate() {
                    let rows = &tile[period * filters.inputs + at..][..filters.rows];
                    let sums = group_sums::<V, VECTORS, TOGETHER>(rows, weights);
                    let place = period * filters.outputs + group * GROUP;
                    let count = GROUP.min(filters.outputs - group * GROUP);
                    put_out(&sums, (place, count), outputs, out);
                }
            }
        }
    }
}

/// The sums of a group over its rows, some outputs at a time, each in two partial sums, which are more exact than
/// one, one after the other.
#[inline(always)]
fn group_sums<V: Lanes, const VECTORS: usize, const TOGETHER: usize>(
    rows: &[[V; VECTORS]],
    weights: &[[f32; GROUP]],
) -> [[V; VECTORS]; GROUP] {
    let mut out = [[V::splat(0.0); VECTORS]; GROUP];
    let rows = rows.as_chunks::<2>().0;
    let weights = weights.as_chunks::<2>().0;
    for (group, out) in out.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        for half in 0..2 {
            let mut sums = [[V::splat(0.0); VECTORS]; TOGETHER];
            for (rows, weights) in rows.iter().zip(weights) {
                for (k, sums) in sums.iter_mut().enumerate() {
                    let weight = V::splat(weights[half][group * TOGETHER + k]);
                    for (sum, row) in sums.iter_mut().zip(&rows[half]) {
                        *sum = row.mul_add(weight, *sum);
                    }
                }
            }
            for (out, sums) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                *out = out.add(*sums);
            }
        }
    }
    out
}

/// Writes `count` outputs of every lane to `place`; `outputs` of a lane follow each other in `out`, as far as it
/// goes.
#[inline(always)]
fn put_out<V: Lanes, const VECTORS: usize>(
    sums: &[[V; VECTORS]; GROUP],
    (place, count): (usize, usize),
    outputs: usize,
    out: &mut [f32],
) {
    let lanes = VECTORS * V::WIDTH;
    let sums = V::floats(sums.as_flattened());
    if count == GROUP && out.len() == lanes * outputs {
        transpose_into::<V::Points>(sums, lanes, (lanes, GROUP), &mut out[place..], outputs);
        return;
    }
    for (lane, out) in out.chunks_mut(outputs).enumerate() {
        let slots = out.iter_mut().skip(place).take(count);
        for (slot, sum) in slots.zip(sums.iter().skip(lane).step_by(lanes)) {
            *slot = *sum;
        }
    }
}

/// Lane `l` of row `n` is the sample at `start + n + l·apart`, silence beyond the signal's ends. The number of
/// rows is a multiple of eight.
#[inline(always)]
fn fill<V: Lanes, const VECTORS: usize>(
    tile: &mut [[V; VECTORS]],
    signal: &[f32],
    start: i64,
    apart: usize,
) {
    let (rows, lanes) = (tile.len(), VECTORS * V::WIDTH);
    let reach = start + (rows + (lanes - 1) * apart) as i64;
    let tile = V::floats_mut(tile.as_flattened_mut());
    if start >= 0 && reach <= signal.len() as i64 {
        let inside = &signal[start as usize..reach as usize];
        transpose_into::<V::Points>(inside, apart, (rows, lanes), tile, lanes);
        return;
    }
    for (n, row) in tile.chunks_exact_mut(lanes).enumerate() {
        for (l, lane) in row.iter_mut().enumerate() {
            let sample = usize::try_from(start + (n + l * apart) as i64);
            *lane = sample
                .ok()
                .and_then(|at| signal.get(at))
                .copied()
                .unwrap_or(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpsmith_lanes::{Blocks, Eight, InstructionSet, LanesTask};

    /// Output `m` by the definition, whole numbers so that nothing is rounded.
    fn defined(up: usize, down: usize, filters: &[f32], signal: &[f32], m: usize) -> f32 {
        let taps = filters.len() / up;
        let filter = &filters[m * down % up * taps..][..taps];
        let from = signal.iter().skip(m * down / up);
        from.zip(filter).map(|(x, tap)| x * tap).sum()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(
            (up, down) in (1usize..60, 1usize..60),
            taps in 1usize..40,
            length in 0usize..3000,
            before in 0usize..30,
        ) {
            let filters: Vec<f32> = (0..up * taps).map(|n| (n * 7 % 13) as f32 - 6.0).collect();
            let signal: Vec<f32> = (0..length).map(|n| (n * 5 % 17) as f32 - 8.0).collect();
            let polyphase = Polyphase::new(up, down, &filters);
            let mut out = vec![f32::NAN; (length * up).div_ceil(down)];
            polyphase.run::<Eight>(&signal, -(before as i64), &mut out);
            let padded = [vec![0.0; before], signal.clone()].concat();
            for (m, x) in out.iter().enumerate() {
                prop_assert_eq!(*x, defined(up, down, &filters, &padded, m), "output {}", m);
            }
        }
    }

    struct Running<'a> {
        polyphase: &'a Polyphase,
        signal: &'a [f32],
    }

    impl LanesTask for Running<'_> {
        type Output = [f32; 3182];

        fn run<V: Lanes>(self) -> Self::Output {
            let mut out = [f32::NAN; 3182];
            self.polyphase.run::<V>(self.signal, -16, &mut out);
            out
        }
    }

    /// Portable lanes round a product and a sum twice, the others once.
    #[test]
    fn lanes_do_not_change_a_bit() {
        let filters: Vec<f32> = (0..7 * 33).map(|n| (n as f32 * 0.7).sin()).collect();
        let signal: Vec<f32> = (0..5000).map(|n| (n as f32 * 0.3).cos()).collect();
        let polyphase = Polyphase::new(7, 11, &filters);
        let of = |set: InstructionSet| {
            let (polyphase, signal) = (&polyphase, &signal[..]);
            set.with_lanes(Blocks::Wide, Running { polyphase, signal })
        };
        let padded = [vec![0.0; 16], signal.clone()].concat();
        for set in InstructionSet::present() {
            let out = of(set);
            if set != InstructionSet::Portable {
                assert_eq!(out, of(InstructionSet::widest()), "{set}");
            }
            for (m, x) in out.iter().enumerate() {
                // 33 products of numbers up to 1, each rounded to f32.
                let expected = defined(7, 11, &filters, &padded, m);
                assert!(
                    (x - expected).abs() < 33.0 * f32::EPSILON,
                    "{set}: output {m}"
                );
            }
        }
    }
}
