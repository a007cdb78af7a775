//! Probabilistic YIN on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, One, engine_for_this_machine, vectorize_method};
use warpsmith_signal::{Framing, Result};

use super::plan::{PyinPlan, THRESHOLDS};
use super::transitions::{IMPOSSIBLE, score_of};
use super::viterbi::Lattice;
use crate::memory_room::check_room;
use crate::pitch::range::PitchRange;
use crate::pitch::yin::{Difference, parabolic_shift, trough_lanes};

/// The choices of pYIN; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PyinSettings {
    /// Parameters of the beta distribution of thresholds.
    pub beta: (u32, u32),
    /// How much earlier troughs are preferred.
    pub boltzmann: f64,
    /// Probability that goes to the deepest trough where none is below the threshold.
    pub no_trough: f64,
    /// Pitch bins to a semitone.
    pub bins_per_semitone: usize,
    /// Fastest movement, octaves in a second.
    pub octaves_per_second: f64,
    /// Probability that voicing changes between frames.
    pub switch: f64,
}

impl Default for PyinSettings {
    fn default() -> Self {
        Self {
            beta: (2, 18),
            boltzmann: 2.0,
            no_trough: 0.01,
            bins_per_semitone: 10,
            octaves_per_second: 35.92,
            switch: 0.01,
        }
    }
}

/// A pitch track with voicing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PyinTrack {
    /// Frequency of each frame, Hz: the path's bin, in unvoiced frames too.
    pub frequency: Vec<f32>,
    /// Whether the frame is voiced.
    pub voiced: Vec<bool>,
    /// Probability that it is.
    pub probability: Vec<f32>,
}

impl PyinTrack {
    /// Frequencies of the voiced frames.
    pub fn voiced_hertz(&self) -> impl Iterator<Item = f32> {
        let frames = self.frequency.iter().zip(&self.voiced);
        frames.filter_map(|(hertz, voiced)| voiced.then_some(*hertz))
    }

    /// Makes the frames from `first` on unvoiced.
    pub(super) fn silence(&mut self, first: usize) {
        self.voiced[first..].fill(false);
        self.probability[first..].fill(0.0);
    }
}

/// A planned pYIN tracker.
pub struct Pyin {
    plan: PyinPlan,
    engine: Box<dyn PyinEngine>,
}

impl Pyin {
    /// A tracker.
    pub fn new(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, settings, Blocks::Wide)
    }

    pub(crate) fn with_blocks(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
        blocks: Blocks,
    ) -> Result<Self> {
        let plan = PyinPlan::new(sample_rate, framing, range, settings)?;
        let observation = Observation::new(&plan);
        let engine =
            engine_for_this_machine!(blocks, Engine::new(framing, plan.periods, observation));
        Ok(Self { plan, engine })
    }

    /// Fails where memory has no room for the paths of a signal of `samples` samples.
    pub fn check_room(&self, samples: usize) -> Result<()> {
        let states = self
            .plan
            .framing
            .count(samples)
            .saturating_mul(2 * self.plan.bins);
        check_room("the paths of pYIN", states, size_of::<u16>())
    }

    /// The track of `signal`.
    pub fn track(&mut self, signal: &[f32]) -> PyinTrack {
        let frames = self.plan.framing.count(signal.len());
        let mut lattice = self.lattice(frames);
        let mut track = PyinTrack {
            probability: Vec::with_capacity(frames),
            ..PyinTrack::default()
        };
        self.observe(signal, frames, &mut lattice, &mut track.probability);
        self.plan.append(&lattice.path(), &mut track);
        if self.plan.is_too_short(signal.len()) {
            track.silence(0);
        }
        track
    }

    /// The scores that the path of `signal` is searched among: `bins + 1` to a frame, that of an unvoiced
    /// bin last.
    pub(crate) fn rows(&mut self, signal: &[f32]) -> Vec<i32> {
        let frames = self.plan.framing.count(signal.len());
        let mut lattice = self.lattice(frames).recording();
        self.observe(signal, frames, &mut lattice, &mut Vec::new());
        lattice.into_record()
    }

    /// The best path through such scores.
    pub(crate) fn path_of_rows(&self, rows: &[i32]) -> Vec<usize> {
        let mut lattice = self.lattice(rows.len() / (self.plan.bins + 1));
        for row in rows.chunks_exact(self.plan.bins + 1) {
            lattice.step::<One>(&row[..self.plan.bins], row[self.plan.bins]);
        }
        lattice.path()
    }

    /// A decoder with room for `frames` frames.
    pub(super) fn lattice(&self, frames: usize) -> Lattice {
        Lattice::new(
            self.plan.bins,
            self.plan.reach,
            self.plan.settings.switch,
            frames,
        )
    }

    /// Takes the first `frames` frames of `signal` into the decoder.
    pub(super) fn observe(
        &mut self,
        signal: &[f32],
        frames: usize,
        lattice: &mut Lattice,
        probability: &mut Vec<f32>,
    ) {
        self.engine.observe(signal, frames, lattice, probability);
    }

    /// See [`PyinPlan::is_too_short`].
    pub(super) fn is_too_short(&self, samples: usize) -> bool {
        self.plan.is_too_short(samples)
    }

    /// Appends frequency and voicing of the states of a path.
    pub(super) fn append(&self, path: &[usize], track: &mut PyinTrack) {
        self.plan.append(path, track);
    }
}

trait PyinEngine: Send {
    fn observe(
        &mut self,
        signal: &[f32],
        frames: usize,
        lattice: &mut Lattice,
        probability: &mut Vec<f32>,
    );
}

/// From troughs to likelihoods of pitch bins.
struct Observation {
    sample_rate: f64,
    shortest: usize,
    low_hz: f64,
    per_octave: f64,
    bins: usize,
    no_trough: f64,
    /// Probability of the thresholds `1..=i`, for `i` from 0 on.
    cumulated: Vec<f64>,
    boltzmann: f64,
}

/// A local minimum of a frame's normalised difference.
#[derive(Clone, Copy)]
struct Trough {
    period: f32,
    depth: f32,
}

struct Engine<V> {
    difference: Difference<V>,
    observation: Observation,
    troughs: Vec<Vec<Trough>>,
    likelihoods: Vec<i32>,
    probabilities: Vec<f64>,
    scratch: Scratch,
}

/// Memory for [`Observation::trough_probabilities`].
#[derive(Default)]
struct Scratch {
    /// The first threshold above each trough, from 1 on.
    firsts: Vec<usize>,
    /// Troughs below some threshold, the deepest first.
    order: Vec<usize>,
}

impl<V: Lanes> Engine<V> {
    fn new(framing: Framing, periods: (usize, usize), observation: Observation) -> Self {
        Self {
            difference: Difference::new(framing, periods),
            troughs: vec![Vec::new(); V::WIDTH],
            likelihoods: vec![IMPOSSIBLE; observation.bins],
            probabilities: Vec::new(),
            scratch: Scratch::default(),
            observation,
        }
    }

    #[inline(always)]
    fn find_troughs(&mut self, signal: &[f32], first: usize) {
        for troughs in &mut self.troughs {
            troughs.clear();
        }
        let normalised = self.difference.block(signal, first);
        let all = u32::MAX >> (32 - V::WIDTH);
        let mut lanes = [[0.0f32; 16]; 3];
        for k in 0..normalised.len() {
            let mut here = trough_lanes(normalised, k) & all;
            if here == 0 {
                continue;
            }
            let interior = k > 0 && k + 1 < normalised.len();
            normalised[k].store(&mut lanes[1]);
            if interior {
                normalised[k - 1].store(&mut lanes[0]);
                normalised[k + 1].store(&mut lanes[2]);
            }
            while here != 0 {
                let lane = here.trailing_zeros() as usize;
                here &= here - 1;
                let depth = lanes[1][lane];
                let shift = if interior {
                    parabolic_shift(lanes[0][lane], depth, lanes[2][lane])
                } else {
                    0.0
                };
                let period = (self.observation.shortest + k) as f32 + shift;
                self.troughs[lane].push(Trough { period, depth });
            }
        }
    }

    /// Likelihoods of the frame in `lane`; returns the probability that it is voiced.
    fn likelihoods(&mut self, lane: usize) -> f64 {
        let troughs = &self.troughs[lane];
        self.likelihoods.fill(IMPOSSIBLE);
        if troughs.is_empty() {
            return 0.0;
        }
        self.observation
            .trough_probabilities(troughs, &mut self.scratch, &mut self.probabilities);
        let mut voiced = 0.0;
        let mut last = (usize::MAX, 0.0);
        for (trough, probability) in troughs.iter().zip(&self.probabilities) {
            if *probability <= 0.0 {
                continue;
            }
            let frequency = self.observation.sample_rate / f64::from(trough.period);
            let octaves = (frequency / self.observation.low_hz).log2();
            let bin = (self.observation.per_octave * octaves)
                .round_ties_even()
                .max(0.0);
            // A candidate above the highest bin is dropped, and of two candidates in one bin the
            // longer period, which comes later, stays: both as in librosa.
            let bin = bin as usize;
            if let Some(slot) = self.likelihoods.get_mut(bin) {
                if last.0 == bin {
                    voiced -= last.1;
                }
                *slot = score_of(*probability);
                voiced += probability;
                last = (bin, *probability);
            }
        }
        voiced.clamp(0.0, 1.0)
    }
}

impl Observation {
    fn new(plan: &PyinPlan) -> Self {
        Self {
            sample_rate: plan.sample_rate,
            shortest: plan.periods.0,
            low_hz: plan.range.low_hz,
            per_octave: plan.per_octave,
            bins: plan.bins,
            no_trough: plan.settings.no_trough,
            cumulated: plan.thresholds(),
            boltzmann: plan.settings.boltzmann,
        }
    }

    /// The probability that each trough is the one that a random threshold chooses.
    fn trough_probabilities(
        &self,
        troughs: &[Trough],
        Scratch { firsts, order }: &mut Scratch,
        probabilities: &mut Vec<f64>,
    ) {
        probabilities.clear();
        probabilities.resize(troughs.len(), 0.0);
        // With thresholds at i/100, a trough counts from the first one above its depth on. Between
        // two such points the set of troughs below the threshold stays the same, so thresholds are
        // taken in runs.
        let from = |trough: &Trough| {
            let depth = f64::from(trough.depth);
            let mut i = (depth * THRESHOLDS as f64)
                .floor()
                .clamp(0.0, THRESHOLDS as f64) as usize;
            while i <= THRESHOLDS && depth >= i as f64 / THRESHOLDS as f64 {
                i += 1;
            }
            i.max(1)
        };
        firsts.clear();
        firsts.extend(troughs.iter().map(from));
        // By first threshold, of equals the earlier trough first: counted, because there are few thresholds.
        let mut places = [0usize; THRESHOLDS + 2];
        for first in firsts.iter().filter(|first| **first <= THRESHOLDS) {
            places[first + 1] += 1;
        }
        for threshold in 1..places.len() {
            places[threshold] += places[threshold - 1];
        }
        order.clear();
        order.resize(places[THRESHOLDS + 1], 0);
        for (t, first) in firsts.iter().enumerate() {
            if *first <= THRESHOLDS {
                order[places[*first]] = t;
                places[*first] += 1;
            }
        }
        let decay = (-self.boltzmann).exp();
        for rank in 0..order.len() {
            let begin = firsts[order[rank]];
            let end = order
                .get(rank + 1)
                .map_or(THRESHOLDS + 1, |&next| firsts[next]);
            let weight = self.cumulated[end - 1] - self.cumulated[begin - 1];
            if weight == 0.0 {
                continue;
            }
            let count = (rank + 1) as f64;
            let mut share = weight * (1.0 - decay) / (1.0 - (-self.boltzmann * count).exp());
            for (first, probability) in firsts.iter().zip(probabilities.iter_mut()) {
                if *first <= begin {
                    *probability += share;
                    share *= decay;
                }
            }
        }
        let mut deepest = 0;
        for (t, trough) in troughs.iter().enumerate() {
            if trough.depth < troughs[deepest].depth {
                deepest = t;
            }
        }
        let below = firsts[deepest] - 1;
        probabilities[deepest] += self.no_trough * self.cumulated[below];
    }
}

impl<V: Lanes> PyinEngine for Engine<V> {
    fn observe(
        &mut self,
        signal: &[f32],
        frames: usize,
        lattice: &mut Lattice,
        probability: &mut Vec<f32>,
    ) {
        let mut first = 0;
        while first < frames {
            vectorize_method!(V: self => Engine::find_troughs(signal: &'a [f32], first: usize));
            for lane in 0..V::WIDTH.min(frames - first) {
                let voiced = self.likelihoods(lane);
                let unvoiced = (1.0 - voiced) / self.observation.bins as f64;
                lattice.step::<V>(&self.likelihoods, score_of(unvoiced));
                probability.push(voiced as f32);
            }
            first += V::WIDTH;
        }
    }
}
