//! The pitch that goes best from frame to frame: of every frame one of its candidates, or none.
//!
//! What a step costs knows the one before it in the order in which steps are tried, as openSMILE does, and a frame is
//! decided after [`LONGEST`] others at the latest. What is not decided when the sound ends does not count.

use std::collections::VecDeque;

use super::subharmonics::{CANDIDATES, Candidate};

/// Candidates, and no voice.
const STATES: usize = CANDIDATES + 1;
const UNVOICED: usize = CANDIDATES;
/// Frames that wait to be decided.
const LONGEST: usize = 40;
/// From this voicing on a candidate is a voice.
const VOICED: f32 = 0.7;
/// What being below that costs, and how much a frame counts over a step.
const BELOW: f64 = 4.0;
const FRAME: f64 = 2.0;
/// What steps cost: an interval and its change, between voice and none, from nothing to nothing, and from or to a
/// candidate that is not there.
const INTERVAL: f64 = 10.0;
const CHANGE: f64 = 10.0;
const NO_CHANGE: f64 = 1.0;
const IMPOSSIBLE: f64 = 999.0;

type Frame = [Candidate; CANDIDATES];

/// A search that frames are shown to.
pub(super) struct Path {
    costs: [f64; STATES],
    /// Frames that are not decided, and the states of the best path to each state in them.
    waiting: VecDeque<Frame>,
    paths: [VecDeque<u8>; STATES],
    before: Option<Frame>,
    /// The interval that was tried last.
    interval: f64,
}

impl Path {
    pub(super) fn new() -> Self {
        Self {
            costs: [0.0; STATES],
            waiting: VecDeque::new(),
            paths: Default::default(),
            before: None,
            interval: 1.0,
        }
    }

    /// Takes the next frame; appends the pitch of those that are decided, 0 where there is no voice.
    pub(super) fn add(&mut self, frame: Frame, pitches: &mut Vec<f64>) {
        match self.before.replace(frame) {
            None => {
                self.costs = std::array::from_fn(|state| local(&frame, state));
                for (state, path) in self.paths.iter_mut().enumerate() {
                    path.push_back(state as u8);
                }
            }
            Some(before) => self.step(&before, &frame),
        }
        self.waiting.push_back(frame);
        if self.waiting.len() >= LONGEST {
            let best = self.best();
            self.decide(best, pitches);
            return;
        }
        while let Some(first) = self.paths[0].front().copied()
            && self.paths.iter().all(|path| path.front() == Some(&first))
        {
            self.decide(0, pitches);
        }
    }

    /// Ends the frames; appends the pitch of the first that is not decided, as the best path has it.
    pub(super) fn finish(&mut self, pitches: &mut Vec<f64>) {
        let best = self.best();
        self.decide(best, pitches);
    }

    fn best(&self) -> usize {
        (1..STATES).fold(0, |best, state| {
            if self.costs[state] < self.costs[best] {
                state
            } else {
                best
            }
        })
    }

    /// Decides the oldest frame by the path to a state.
    fn decide(&mut self, state: usize, pitches: &mut Vec<f64>) {
        let Some(frame) = self.waiting.pop_front() else {
            return;
        };
        let states = self.paths.each_mut().map(VecDeque::pop_front);
        let candidate = states[state].and_then(|chosen| frame.get(usize::from(chosen)));
        pitches.push(candidate.map_or(0.0, |candidate| candidate.hertz));
    }

    fn step(&mut self, before: &Frame, here: &Frame) {
        let mut costs = [0.0; STATES];
        let mut origins = [0; STATES];
        for to in 0..STATES {
            let mut best = (f64::INFINITY, 0);
            for from in 0..STATES {
                let cost = self.transition(before, from, here, to) + self.costs[from];
                if cost < best.0 {
                    best = (cost, from);
                }
            }
            costs[to] = best.0 + local(here, to);
            origins[to] = best.1;
        }
        self.costs = costs;
        self.paths = std::array::from_fn(|to| {
            let mut path = self.paths[origins[to]].clone();
            path.push_back(to as u8);
            path
        });
    }

    fn transition(&mut self, before: &Frame, from: usize, here: &Frame, to: usize) -> f64 {
        match (from == UNVOICED, to == UNVOICED) {
            (true, true) => NO_CHANGE,
            (false, false) => {
                let (a, b) = (before[from].hertz, here[to].hertz);
                if a == 0.0 || b == 0.0 {
                    return IMPOSSIBLE;
                }
                let interval = f64::from((b / a) as f32).ln();
                let last = std::mem::replace(&mut self.interval, interval);
                INTERVAL * interval.abs() + INTERVAL * (interval - last).abs()
            }
            _ => {
                self.interval = 0.0;
                CHANGE
            }
        }
    }
}

/// What it costs to be in a state.
fn local(frame: &Frame, state: usize) -> f64 {
    let is_voiced = |candidate: &Candidate| candidate.voicing as f32 >= VOICED;
    match frame.get(state) {
        None if frame.iter().any(is_voiced) => FRAME * BELOW,
        None => 0.0,
        Some(candidate) => {
            let voicing = candidate.voicing.clamp(0.01, 1.0);
            let below = if is_voiced(candidate) { 0.0 } else { BELOW };
            FRAME * (below - voicing.ln()) + unlikely(candidate.hertz)
        }
    }
}

/// How unlikely a frequency is.
fn unlikely(hertz: f64) -> f64 {
    match hertz {
        hertz if hertz <= 0.0 => 2.0,
        hertz if hertz < 100.0 => 1.0 - hertz / 100.0,
        hertz if hertz < 350.0 => 0.0,
        hertz if hertz < 600.0 => (hertz - 350.0) / 250.0,
        _ => 1.2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(candidates: &[(f64, f64)]) -> Frame {
        let mut frame = Frame::default();
        for (slot, (hertz, voicing)) in frame.iter_mut().zip(candidates) {
            (slot.hertz, slot.voicing) = (*hertz, *voicing);
        }
        frame
    }

    #[test]
    fn a_jump_of_an_octave_is_left_out_and_a_pause_is_not() {
        let mut path = Path::new();
        let mut pitches = Vec::new();
        for n in 0..120 {
            let here = match n {
                // An octave above is a little more likely for a moment.
                20..23 => frame(&[(400.0, 0.85), (200.0, 0.8)]),
                60..90 => frame(&[(150.0, 0.3)]),
                _ => frame(&[(200.0, 0.85), (400.0, 0.8)]),
            };
            path.add(here, &mut pitches);
            assert!(n + 1 - pitches.len() < LONGEST);
        }
        // The last frame is never decided: every state still has a path.
        let decided = pitches.len();
        assert!((110..120).contains(&decided), "{decided}");
        path.finish(&mut pitches);
        assert_eq!(pitches.len(), decided + 1);
        assert!(pitches[..60].iter().all(|hertz| *hertz == 200.0));
        assert!(pitches[60..90].iter().all(|hertz| *hertz == 0.0));
        assert!(pitches[90..].iter().all(|hertz| *hertz == 200.0));
    }
}
