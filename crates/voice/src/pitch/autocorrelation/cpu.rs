//! Normalised autocorrelations of frames on the CPU: the specification.

use std::ops::Range;

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, vectorize_method};
use warpsmith_signal::{
    RealBlock, Result, SignalError, first_centre, sample_before, smooth_length_at_least,
    transpose_into,
};

use super::stretch::Stretch;
use crate::pitch::range::PitchRange;

/// The window over a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CorrelationWindow {
    /// Raised cosine over the periods requested.
    #[default]
    Hann,
    /// A Gaussian, down to e⁻¹² at its ends, over twice the periods: slower, and its side lobes do not
    /// blur what is near to perfectly periodic.
    Gaussian,
}

/// Where the centres of frames lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// As far from the signal's start as from its end, as in Praat.
    Centred,
    /// At multiples of the hop, so that nobody has to interpolate to a grid of round times.
    Grid,
}

/// Where frames lie and how long they are, in samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    pub(crate) rate: f64,
    /// Whole samples between frames.
    pub(crate) hop: usize,
    /// Seconds between frames: `hop` samples, or nearly so many where a time was given.
    step: f64,
    /// Half of the window: samples on either side of a frame's centre.
    pub(crate) half: usize,
    /// Seconds that a window stands for.
    seconds: f64,
    /// Samples of the longest period.
    pub(crate) period: usize,
    /// Lags that are looked at.
    pub(crate) lags: usize,
    window: CorrelationWindow,
    alignment: Alignment,
}

impl Placement {
    /// Hann windows of `periods` of the lowest frequency.
    pub(crate) fn new(
        sample_rate: u32,
        hop: usize,
        range: PitchRange,
        periods: f64,
    ) -> Result<Self> {
        Self::under(CorrelationWindow::Hann, sample_rate, hop, range, periods)
    }

    /// Windows of `periods` of the lowest frequency, of a Gaussian twice as many.
    pub(crate) fn under(
        window: CorrelationWindow,
        sample_rate: u32,
        hop: usize,
        range: PitchRange,
        periods: f64,
    ) -> Result<Self> {
        let periods = match window {
            CorrelationWindow::Hann => periods,
            CorrelationWindow::Gaussian => 2.0 * periods,
        };
        let rate = f64::from(sample_rate);
        range.check(sample_rate)?;
        let seconds = periods / range.low_hz;
        let half = ((seconds * rate) as usize / 2).saturating_sub(1);
        let period = (rate / range.low_hz) as usize;
        if half < 4 || hop == 0 {
            return Err(SignalError::parameter(
                "hop",
                hop,
                "windows need a few samples and frames must move",
            ));
        }
        Ok(Self {
            rate,
            hop,
            step: hop as f64 / rate,
            half,
            seconds,
            period,
            lags: ((2 * half) as f64 / periods) as usize + 2,
            window,
            alignment: Alignment::Centred,
        })
    }

    /// The same windows at other places.
    pub(crate) fn aligned(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// The same windows, `seconds` apart.
    pub(crate) fn every(self, seconds: f64) -> Result<Self> {
        let hop = seconds * self.rate;
        if !(1.0..1e12).contains(&hop) {
            return Err(SignalError::parameter(
                "time step",
                format!("{seconds} s"),
                "at least one sample",
            ));
        }
        Ok(Self {
            hop: hop.round() as usize,
            step: seconds,
            ..self
        })
    }

    /// Seconds between frames.
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    /// Hops from the signal's start to the first centre of a grid whose window lies inside.
    fn first_hop(&self) -> usize {
        self.half.div_ceil(self.hop)
    }

    /// Lags of a frame's correlation that are computed.
    pub(crate) fn reach(&self) -> usize {
        match self.window {
            CorrelationWindow::Hann => self.half + 1,
            // Further out next to nothing of the window overlaps.
            CorrelationWindow::Gaussian => self.half / 2 + 1,
        }
    }

    /// The window's values.
    pub(crate) fn window(&self) -> Vec<f64> {
        let length = 2 * self.half;
        let span = (length + 1) as f64;
        (1..=length)
            .map(|n| match self.window {
                CorrelationWindow::Hann => {
                    0.5 - 0.5 * (std::f64::consts::TAU * n as f64 / span).cos()
                }
                CorrelationWindow::Gaussian => {
                    let x = n as f64 / span - 0.5;
                    let edge = (-12.0f64).exp();
                    ((-48.0 * x * x).exp() - edge) / (1.0 - edge)
                }
            })
            .collect()
    }

    /// One over the window's own normalised autocorrelation, at the lags that are computed.
    pub(crate) fn unwindow(&self) -> Vec<f64> {
        let window = self.window();
        let at = |lag: usize| -> f64 {
            let pairs = window.iter().zip(&window[lag..]);
            pairs.map(|(a, b)| a * b).sum()
        };
        let whole = at(0);
        (0..self.reach()).map(|lag| whole / at(lag)).collect()
    }

    /// Number of frames of a signal of `samples` samples.
    pub(crate) fn frames(&self, samples: usize) -> usize {
        if self.alignment == Alignment::Grid {
            let last = samples.saturating_sub(self.half) / self.hop;
            return (last + 1).saturating_sub(self.first_hop());
        }
        // In seconds and in this order: whether a last frame fits is a matter of rounding, and all
        // frames move by half a hop with it.
        let room = samples as f64 * (1.0 / self.rate) - self.seconds;
        if room < 0.0 || samples < 2 * self.half + 2 {
            0
        } else {
            (room / self.step).floor() as usize + 1
        }
    }

    /// Time of a frame's centre, seconds.
    pub(crate) fn time(&self, frame: usize, samples: usize) -> f64 {
        if self.alignment == Alignment::Grid {
            return (self.first_hop() + frame) as f64 * self.step;
        }
        first_centre(samples, self.rate, self.frames(samples), self.step) + frame as f64 * self.step
    }

    /// Seconds of the first `frames` frames of a signal.
    pub(crate) fn times(&self, frames: usize, samples: usize) -> Vec<f64> {
        (0..frames).map(|frame| self.time(frame, samples)).collect()
    }

    /// The number of hops, rounded, from the start of a signal of so many samples to its first frame.
    pub(crate) fn hops_to_first(&self, samples: usize) -> usize {
        (self.time(0, samples) * self.rate / self.hop as f64).round() as usize
    }

    /// First sample of a frame.
    pub(crate) fn start(&self, frame: usize, samples: usize) -> usize {
        if self.alignment == Alignment::Grid {
            return (self.first_hop() + frame) * self.hop - self.half;
        }
        // The sample after the centre.
        let right = sample_before(self.time(frame, samples), self.rate) + 1;
        (right - self.half as i64).clamp(0, (samples - 2 * self.half) as i64) as usize
    }
}

/// What a frame looks like to the tracker.
pub(crate) struct Frame<'a> {
    /// From lag 0 on; 1 at lag 0, or all 0 for silence.
    pub(crate) correlation: &'a [f32],
    /// Largest magnitude in the middle of the frame, its mean removed.
    pub(crate) peak: f32,
}

/// Tables and scratch memory.
pub(crate) struct Autocorrelation {
    placement: Placement,
    engine: Box<dyn CorrelationEngine>,
    /// `[lane, lag]` of a block.
    columns: Vec<f32>,
    peaks: Vec<f32>,
}

impl Autocorrelation {
    pub(crate) fn new(placement: Placement) -> Self {
        Self {
            placement,
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(placement)),
            columns: Vec::new(),
            peaks: Vec::new(),
        }
    }

    /// Lags of a frame's correlation.
    pub(crate) fn reach(&self) -> usize {
        self.placement.reach()
    }

    /// Shows these frames, which lie in the stretch, to `see`, in order.
    pub(crate) fn each_of(
        &mut self,
        stretch: Stretch<'_>,
        frames: Range<usize>,
        mut see: impl FnMut(usize, Frame<'_>),
    ) {
        let width = self.engine.width();
        let reach = self.reach();
        self.columns.resize(width * reach, 0.0);
        self.peaks.resize(width, 0.0);
        for first in frames.clone().step_by(width) {
            let columns = Wanted::Columns(&mut self.columns);
            self.engine
                .block(stretch, first, frames.end, columns, &mut self.peaks);
            for lane in 0..width.min(frames.end - first) {
                see(
                    first + lane,
                    Frame {
                        correlation: &self.columns[lane * reach..][..reach],
                        peak: self.peaks[lane],
                    },
                );
            }
        }
    }

    /// Of each of these frames, which lie in the stretch, the highest value among the lags from `lags.0` to
    /// before `lags.1`, not below 0, and 0 for a frame whose middle is constant; appended to `out`.
    pub(crate) fn tops(
        &mut self,
        stretch: Stretch<'_>,
        frames: Range<usize>,
        lags: (usize, usize),
        out: &mut Vec<f32>,
    ) {
        let width = self.engine.width();
        self.peaks.resize(width, 0.0);
        let mut tops = [0.0; 16];
        for first in frames.clone().step_by(width) {
            let wanted = Wanted::Tops(lags, &mut tops[..width]);
            self.engine
                .block(stretch, first, frames.end, wanted, &mut self.peaks);
            let found = tops.iter().zip(&self.peaks).take(frames.end - first);
            out.extend(found.map(|(top, peak)| if *peak > 0.0 { *top } else { 0.0 }));
        }
    }
}

/// What is asked of a block of frames.
enum Wanted<'a> {
    /// Every lag, `[lane, lag]`.
    Columns(&'a mut [f32]),
    /// The highest among the lags from one to before another, not below 0.
    Tops((usize, usize), &'a mut [f32]),
}

trait CorrelationEngine: Send {
    fn width(&self) -> usize;
    fn block(
        &mut self,
        stretch: Stretch<'_>,
        first: usize,
        frames: usize,
        wanted: Wanted<'_>,
        peaks: &mut [f32],
    );
}

struct Engine<V> {
    placement: Placement,
    window: Vec<f32>,
    /// One over the window's own normalised autocorrelation, with the transform's scale.
    unwindow: Vec<f32>,
    transform: RealBlock<V>,
    bins: Vec<[V; 2]>,
    correlation: Vec<V>,
    means: Vec<f32>,
}

impl<V: Lanes> Engine<V> {
    fn new(placement: Placement) -> Self {
        let zero = V::splat(0.0);
        let length = 2 * placement.half;
        let reach = placement.reach();
        let transform_length = smooth_length_at_least(length + reach);
        Self {
            placement,
            unwindow: placement.unwindow().iter().map(|x| *x as f32).collect(),
            window: placement.window().iter().map(|w| *w as f32).collect(),
            transform: RealBlock::new(transform_length),
            bins: vec![[zero; 2]; transform_length / 2 + 1],
            correlation: vec![zero; reach.next_multiple_of(2)],
            means: vec![0.0; V::WIDTH],
        }
    }

    #[inline(always)]
    fn correlate(
        &mut self,
        stretch: Stretch<'_>,
        first: usize,
        frames: usize,
        wanted: Wanted<'_>,
        peaks: &mut [f32],
    ) {
        let zero = V::splat(0.0);
        let Placement { half, period, .. } = self.placement;
        let mut starts = [0usize; 16];
        let places = starts.iter_mut().zip(peaks.iter_mut()).zip(&mut self.means);
        for (lane, ((start, peak), mean)) in places.enumerate() {
            let frame = (first + lane).min(frames - 1);
            *start = self.placement.start(frame, stretch.length());
            let centre = *start + half;
            let near = stretch.around(centre, period, period);
            *mean = (sum(near) / near.len() as f64) as f32;
            let middle = stretch.around(centre, period / 2, period / 2 + 1);
            *peak = largest_distance(middle, *mean);
        }
        let mean = V::load(&{
            let mut lanes = [0.0f32; 16];
            lanes[..V::WIDTH].copy_from_slice(&self.means);
            lanes
        });
        let (inside, beyond) = self.transform.samples_mut().split_at_mut(2 * half);
        bring_side_by_side(stretch, &starts[..V::WIDTH], self.placement.hop, inside);
        for (slot, weight) in inside.iter_mut().zip(&self.window) {
            *slot = slot.sub(mean).mul(V::splat(*weight));
        }
        for slot in beyond {
            *slot = zero;
        }
        self.transform.forward(&mut self.bins);
        for bin in &mut self.bins {
            let [re, im] = *bin;
            *bin = [im.mul_add(im, re.mul(re)), zero];
        }
        self.transform.inverse(&self.bins, &mut self.correlation);
        let at_zero = self.correlation[0].max(V::splat(f32::MIN_POSITIVE));
        let lags = self.correlation.iter().zip(&self.unwindow);
        let values = lags.map(|(value, unwindow)| value.mul(V::splat(*unwindow)).div(at_zero));
        let mut lanes = [0.0f32; 16];
        match wanted {
            Wanted::Columns(columns) => {
                let reach = self.unwindow.len();
                for (lag, value) in values.enumerate() {
                    value.store(&mut lanes);
                    for (lane, value) in lanes[..V::WIDTH].iter().enumerate() {
                        columns[lane * reach + lag] = *value;
                    }
                }
            }
            Wanted::Tops((first, last), tops) => {
                let mut top = zero;
                for value in values.take(last).skip(first) {
                    top = value.max(top);
                }
                top.store(&mut lanes);
                tops.copy_from_slice(&lanes[..V::WIDTH]);
            }
        }
    }
}

/// The sum in eight partial sums, which do not wait for each other.
#[inline(always)]
fn sum(samples: &[f32]) -> f64 {
    let mut partial = [0.0f64; 8];
    let (eights, rest) = samples.as_chunks::<8>();
    for eight in eights {
        for (sum, x) in partial.iter_mut().zip(eight) {
            *sum += f64::from(*x);
        }
    }
    for (sum, x) in partial.iter_mut().zip(rest) {
        *sum += f64::from(*x);
    }
    partial.iter().sum()
}

/// How far a sample is from `mean` at most.
#[inline(always)]
fn largest_distance(samples: &[f32], mean: f32) -> f32 {
    let mut partial = [0.0f32; 16];
    let (sixteens, rest) = samples.as_chunks::<16>();
    for sixteen in sixteens {
        for (largest, x) in partial.iter_mut().zip(sixteen) {
            let distance = (x - mean).abs();
            // In this order what is not a number does not count.
            *largest = if distance > *largest {
                distance
            } else {
                *largest
            };
        }
    }
    let rest = rest.iter().map(|x| (x - mean).abs());
    rest.chain(partial).fold(0.0, f32::max)
}

/// The samples from each of `starts` on, a frame to a lane.
#[inline(always)]
fn bring_side_by_side<V: Lanes>(stretch: Stretch<'_>, starts: &[usize], hop: usize, out: &mut [V]) {
    let rows = out.len();
    let is_even = starts.windows(2).all(|pair| pair[0] + hop == pair[1]);
    let mut done = 0;
    if is_even && const { V::WIDTH >= 8 } {
        done = rows / 8 * 8;
        let from = stretch.part(starts[0], starts[V::WIDTH - 1] + rows);
        let eights = V::floats_mut(&mut out[..done]);
        transpose_into::<V::Points>(from, hop, (done, V::WIDTH), eights, V::WIDTH);
    }
    let mut lanes = [0.0f32; 16];
    let frames = |lane: usize| stretch.part(starts[lane], starts[lane] + rows);
    let frames: [&[f32]; 16] = std::array::from_fn(|lane| frames(lane.min(V::WIDTH - 1)));
    for (n, slot) in out.iter_mut().enumerate().skip(done) {
        for (value, frame) in lanes[..V::WIDTH].iter_mut().zip(frames) {
            *value = frame[n];
        }
        *slot = V::load(&lanes);
    }
}

impl<V: Lanes> CorrelationEngine for Engine<V> {
    fn width(&self) -> usize {
        V::WIDTH
    }

    fn block(
        &mut self,
        stretch: Stretch<'_>,
        first: usize,
        frames: usize,
        wanted: Wanted<'_>,
        peaks: &mut [f32],
    ) {
        vectorize_method!(V: self => Engine::correlate(
            stretch: Stretch<'a>,
            first: usize,
            frames: usize,
            wanted: Wanted<'a>,
            peaks: &'a mut [f32],
        ));
    }
}
