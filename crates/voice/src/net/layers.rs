//! The layers on the CPU: pitches in the lanes, frames one after the other.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use warpsmith_lanes::{Lanes, Task};

use super::front::Frame;
use super::over_time::OverTime;
use super::tables::{CHANNELS, MELS, PITCHES};
use super::weights::{
    AROUND, BEFORE, BOTH_SIDES, LISTENING, Layer as Trained, VOICING, WIDTH, Weights,
};

/// A row of pitches: two zeros in front, and behind as many as fill vectors and two more.
pub(super) const MARGIN: usize = 2;
const FILLED: usize = PITCHES.next_multiple_of(warpsmith_lanes::WIDEST);
pub(super) const ROW: usize = MARGIN + FILLED + MARGIN;

/// Outputs that are summed up together: each input that is loaded is used by all of them.
const TOGETHER: usize = 8;

/// What the network says about a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// Logits of the pitches, and last that there is none.
    pub(super) pitches: [f32; PITCHES + 1],
    /// The logit of speech.
    pub(super) speech: f32,
}

impl Answer {
    /// Surely no pitch, surely no speech.
    const NOTHING: Self = {
        let mut pitches = [-100.0; PITCHES + 1];
        pitches[PITCHES] = 0.0;
        Self {
            pitches,
            speech: -100.0,
        }
    };
}

/// What adds the positives of its sums over one frame or three to what `out` holds.
trait Layer {
    fn add<V: Lanes>(&self, frames: &[&[f32]], out: &mut [f32]);

    /// As [`Layer::add`], compiled for the machine.
    fn apply<V: Lanes>(&self, frames: &[&[f32]], out: &mut [f32])
    where
        Self: Sized,
    {
        V::vectorize(AddTask::<Self, V> {
            layer: self,
            frames,
            out,
            lanes: PhantomData,
        });
    }
}

struct AddTask<'a, L, V> {
    layer: &'a L,
    frames: &'a [&'a [f32]],
    out: &'a mut [f32],
    lanes: PhantomData<V>,
}

impl<L: Layer, V: Lanes> Task for AddTask<'_, L, V> {
    #[inline(always)]
    fn run(self) {
        self.layer.add::<V>(self.frames, self.out);
    }
}

/// A convolution over neighbouring pitches of one frame or three.
struct OverPitches {
    inputs: usize,
    /// Pitches that are looked at, an odd number.
    taps: usize,
    /// `[group of outputs, frame, input, tap, output of the group]`.
    weights: Vec<[f32; TOGETHER]>,
    bias: Vec<f32>,
}

impl OverPitches {
    /// From `[output, input, frame, tap]`.
    fn new(layer: &Trained, inputs: usize, frames: usize, taps: usize) -> Self {
        let outputs = layer.bias.len();
        let mut weights = Vec::new();
        for group in (0..outputs).step_by(TOGETHER) {
            for frame in 0..frames {
                for input in 0..inputs {
                    for tap in 0..taps {
                        weights.push(std::array::from_fn(|n| {
                            let of_output = (group + n) * inputs + input;
                            layer.weights[(of_output * frames + frame) * taps + tap]
                        }));
                    }
                }
            }
        }
        Self {
            inputs,
            taps,
            weights,
            bias: layer.bias.clone(),
        }
    }
}

impl Layer for OverPitches {
    #[inline(always)]
    fn add<V: Lanes>(&self, frames: &[&[f32]], out: &mut [f32]) {
        let per_group = frames.len() * self.inputs * self.taps;
        let groups = self.weights.chunks_exact(per_group);
        let first = MARGIN - self.taps / 2;
        for (group, weights) in groups.enumerate() {
            for at in (0..FILLED).step_by(V::WIDTH) {
                let mut sums = [V::splat(0.0); TOGETHER];
                for (sum, bias) in sums.iter_mut().zip(&self.bias[group * TOGETHER..]) {
                    *sum = V::splat(*bias);
                }
                let mut weights = weights.iter();
                for frame in frames {
                    for row in frame.chunks_exact(ROW) {
                        let row = &row[first + at..][..self.taps - 1 + V::WIDTH];
                        for tap in 0..self.taps {
                            let x = V::load(&row[tap..]);
                            let Some(weights) = weights.next() else {
                                break;
                            };
                            for (sum, weight) in sums.iter_mut().zip(weights) {
                                *sum = x.mul_add(V::splat(*weight), *sum);
                            }
                        }
                    }
                }
                for (n, sum) in sums.iter().enumerate() {
                    let out = &mut out[(group * TOGETHER + n) * ROW + MARGIN + at..];
                    let sum = sum.max(V::splat(0.0));
                    V::load(out).add(sum).store(out);
                }
            }
        }
        // Behind the last pitch there is nothing.
        for row in out.chunks_exact_mut(ROW) {
            row[MARGIN + PITCHES..].fill(0.0);
        }
    }
}

/// Sums over channels of one frame or three, outputs in the lanes.
struct OverChannels {
    /// `[frame, input, output]`.
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl OverChannels {
    /// From `[output, input, frame]`.
    fn new(layer: &Trained, inputs: usize, frames: usize) -> Self {
        let outputs = layer.bias.len();
        let mut weights = Vec::with_capacity(layer.weights.len());
        for frame in 0..frames {
            for input in 0..inputs {
                for output in 0..outputs {
                    weights.push(layer.weights[(output * inputs + input) * frames + frame]);
                }
            }
        }
        Self {
            weights,
            bias: layer.bias.clone(),
        }
    }
}

impl Layer for OverChannels {
    #[inline(always)]
    fn add<V: Lanes>(&self, frames: &[&[f32]], out: &mut [f32]) {
        let outputs = self.bias.len();
        for at in (0..outputs).step_by(V::WIDTH) {
            let mut sum = V::load(&self.bias[at..]);
            let inputs = frames.iter().flat_map(|frame| frame.iter());
            for (x, weights) in inputs.zip(self.weights.chunks_exact(outputs)) {
                sum = V::splat(*x).mul_add(V::load(&weights[at..]), sum);
            }
            let out = &mut out[at..];
            V::load(out).add(sum.max(V::splat(0.0))).store(out);
        }
    }
}

/// The planned layers.
struct Planned {
    enter: OverPitches,
    around: Vec<OverPitches>,
    gather: OverChannels,
    voicing: Vec<OverChannels>,
    listen: OverChannels,
    in_turn: Vec<OverChannels>,
    trained: Arc<Weights>,
}

/// The network with what it remembers of a sound.
pub(super) struct Layers {
    planned: Planned,
    around: Vec<OverTime>,
    voicing: Vec<OverTime>,
    in_turn: Vec<OverTime>,
    /// Bands of frames whose pitches are not yet known, logits of pitches without voicing, and those with it:
    /// the three answers to a frame come at different times. Last, which frames are silent.
    bands: VecDeque<[f32; MELS]>,
    pitches: VecDeque<[f32; PITCHES]>,
    voiced: VecDeque<[f32; PITCHES + 1]>,
    silent: VecDeque<bool>,
    seen: Vec<f32>,
}

impl Layers {
    pub(super) fn new() -> Self {
        let trained = Weights::trained();
        let planned = Planned {
            enter: OverPitches::new(&trained.enter, CHANNELS, 1, 5),
            around: (trained.around.iter())
                .map(|layer| OverPitches::new(layer, WIDTH, 3, 3))
                .collect(),
            gather: OverChannels::new(&trained.gather, 2 * WIDTH, 1),
            voicing: (trained.voicing.iter())
                .map(|layer| OverChannels::new(layer, WIDTH, 3))
                .collect(),
            listen: OverChannels::new(&trained.listen, 2 * WIDTH + MELS, 1),
            in_turn: (trained.in_turn.iter())
                .map(|layer| OverChannels::new(layer, LISTENING, 3))
                .collect(),
            trained,
        };
        let both = |reach: &usize, length| OverTime::both_sides(*reach, length);
        let before = BEFORE
            .iter()
            .map(|reach| OverTime::before(*reach, LISTENING));
        Self {
            planned,
            around: AROUND
                .iter()
                .map(|reach| both(reach, WIDTH * ROW))
                .collect(),
            voicing: VOICING.iter().map(|reach| both(reach, WIDTH)).collect(),
            in_turn: BOTH_SIDES
                .iter()
                .map(|reach| both(reach, LISTENING))
                .chain(before)
                .collect(),
            bands: Default::default(),
            pitches: Default::default(),
            voiced: Default::default(),
            silent: Default::default(),
            seen: vec![0.0; WIDTH * ROW],
        }
    }

    /// Takes the next frame; appends the answers that are complete.
    pub(super) fn take<V: Lanes>(&mut self, frame: &Frame, out: &mut Vec<Answer>) {
        self.bands.push_back(frame.bands);
        self.silent.push_back(frame.silent);
        let mut seen = std::mem::take(&mut self.seen);
        seen.fill(0.0);
        self.planned.enter.apply::<V>(&[&frame.rows], &mut seen);
        self.look_around::<V>(0, &seen, out);
        self.seen = seen;
    }

    /// Ends the sound; appends the answers that are left.
    pub(super) fn finish<V: Lanes>(mut self, out: &mut Vec<Answer>) {
        for n in 0..self.around.len() {
            let silence = self.around[n].silence();
            for _ in 0..self.around[n].late() {
                self.look_around::<V>(n, &silence, out);
            }
        }
        for n in 0..self.voicing.len() {
            let silence = self.voicing[n].silence();
            for _ in 0..self.voicing[n].late() {
                self.hear_voicing::<V>(n, &silence);
            }
        }
        for n in 0..self.in_turn.len() {
            let silence = self.in_turn[n].silence();
            for _ in 0..self.in_turn[n].late() {
                self.hear_speech::<V>(n, &silence, out);
            }
        }
    }

    /// Gives a frame to layer `n` over pitches, and what it says to the next.
    fn look_around<V: Lanes>(&mut self, n: usize, seen: &[f32], out: &mut Vec<Answer>) {
        let Some(memory) = self.around.get_mut(n) else {
            self.summarise::<V>(seen, out);
            return;
        };
        let Some((frames, middle)) = memory.take(seen) else {
            return;
        };
        let mut next = frames[middle].to_vec();
        self.planned.around[n].apply::<V>(&frames, &mut next);
        self.look_around::<V>(n + 1, &next, out);
    }

    /// From all pitches to one answer: their logits, and what the frame is as a whole.
    fn summarise<V: Lanes>(&mut self, seen: &[f32], out: &mut Vec<Answer>) {
        let pitch = &self.planned.trained.pitch;
        let mut logits = [pitch.bias[0]; PITCHES];
        let mut whole = [0.0f32; 2 * WIDTH + MELS];
        for (channel, row) in seen.chunks_exact(ROW).enumerate() {
            let row = &row[MARGIN..][..PITCHES];
            let (mut sum, mut most) = (0.0f32, f32::MIN);
            for (logit, x) in logits.iter_mut().zip(row) {
                *logit += x * pitch.weights[channel];
                sum += x;
                most = most.max(*x);
            }
            whole[channel] = sum / PITCHES as f32;
            whole[WIDTH + channel] = most;
        }
        self.pitches.push_back(logits);
        let mut voicing = [0.0; WIDTH];
        self.planned
            .gather
            .apply::<V>(&[&whole[..2 * WIDTH]], &mut voicing);
        self.hear_voicing::<V>(0, &voicing);
        let bands = self.bands.pop_front().unwrap_or([0.0; MELS]);
        whole[2 * WIDTH..].copy_from_slice(&bands);
        let mut speech = [0.0; LISTENING];
        self.planned.listen.apply::<V>(&[&whole], &mut speech);
        self.hear_speech::<V>(0, &speech, out);
    }

    fn hear_voicing<V: Lanes>(&mut self, n: usize, heard: &[f32]) {
        let Some(memory) = self.voicing.get_mut(n) else {
            let silence = &self.planned.trained.silence;
            let mut logits = [dot(heard, &silence.weights) + silence.bias[0]; PITCHES + 1];
            if let Some(pitches) = self.pitches.pop_front() {
                logits[..PITCHES].copy_from_slice(&pitches);
            }
            self.voiced.push_back(logits);
            return;
        };
        let Some((frames, middle)) = memory.take(heard) else {
            return;
        };
        let mut next = frames[middle].to_vec();
        self.planned.voicing[n].apply::<V>(&frames, &mut next);
        self.hear_voicing::<V>(n + 1, &next);
    }

    fn hear_speech<V: Lanes>(&mut self, n: usize, heard: &[f32], out: &mut Vec<Answer>) {
        let Some(memory) = self.in_turn.get_mut(n) else {
            let speech = &self.planned.trained.speech;
            let logit = dot(heard, &speech.weights) + speech.bias[0];
            if let Some(pitches) = self.voiced.pop_front() {
                let answer = Answer {
                    pitches,
                    speech: logit,
                };
                let silent = self.silent.pop_front().unwrap_or(false);
                out.push(if silent { Answer::NOTHING } else { answer });
            }
            return;
        };
        let Some((frames, middle)) = memory.take(heard) else {
            return;
        };
        let mut next = frames[middle].to_vec();
        self.planned.in_turn[n].apply::<V>(&frames, &mut next);
        self.hear_speech::<V>(n + 1, &next, out);
    }
}

fn dot(x: &[f32], weights: &[f32]) -> f32 {
    x.iter().zip(weights).map(|(x, weight)| x * weight).sum()
}
