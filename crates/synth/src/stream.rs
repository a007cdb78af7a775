//! One listener's music: compose, render, mix, on and on.
//!
//! Invariants: rendering allocates nothing, locks nothing and never fails; what comes out depends
//! on the seed, the parameters and where they changed, not on the block sizes that were requested;
//! a snapshot goes on exactly as the stream would have; voices that an engine renders can be taken
//! back at any quantum.

use crate::compose::composer::{Composer, MOST_NOTES_A_BAR};
use crate::effects::chain::{Chain, Mix};
use crate::engine::dry_voices::DryRequest;
use crate::engine::note_table::note_end;
use crate::error::ParamError;
use crate::note::{Formulas, Note, Voice};
use crate::params::Params;
use crate::sound::dither::Dither;
use crate::sound::limiter::{DELAY_QUANTA, LimitPeaks, Limiter};
use crate::sound::master::{Limit, pcm16};
use crate::sound::oscillator::Saw;
use crate::sound::technique::Techniques;
use crate::sound::{Aligned, Lane, QUANTUM};
use crate::voices::{Style, Voices};
use warpsmith_lanes::{InstructionSet, Task};

/// What a stream is made with and keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamSettings {
    /// Frames a second, 8000 to 192000.
    pub sample_rate: u32,
    /// The formulas of the voices; the original ones have no effects.
    pub formulas: Formulas,
    /// How the saw treats its jump.
    pub saw: Saw,
    /// Instructions to use.
    pub simd: InstructionSet,
    /// Switches for measuring; the defaults are the best.
    pub techniques: Techniques,
    /// Seconds of a piece that arrives, stays and ends; without it the music has no end.
    pub form_seconds: Option<f64>,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            sample_rate: 48_000,
            formulas: Formulas::ClickFree,
            saw: Saw::Spline,
            simd: InstructionSet::widest(),
            techniques: Techniques::default(),
            form_seconds: None,
        }
    }
}

impl StreamSettings {
    pub(crate) fn style(&self) -> Result<Style, ParamError> {
        if !(8_000..=192_000).contains(&self.sample_rate) {
            return Err(ParamError::SampleRate {
                given: self.sample_rate,
            });
        }
        Ok(Style {
            sample_rate: self.sample_rate,
            formulas: self.formulas,
            saw: self.saw,
            simd: self.simd,
            techniques: self.techniques,
        })
    }
}

/// Notes that can wait: the rest of a bar and the bar after it.
const WAITING: usize = 2 * MOST_NOTES_A_BAR;
/// Layers of pitched voices that can sound: releases of three bars at the fastest tempo, or two bars
/// of chords, pulse and melody whose notes have ten modes each. Memory that no note has touched is
/// address space alone.
const TONES: usize = 384;
/// Kicks and swells that can sound, each.
const OTHERS: usize = 18;

/// An endless stream of stereo frames.
#[derive(Debug)]
pub struct Stream {
    seed: u64,
    settings: StreamSettings,
    params: Params,
    composer: Composer,
    voices: Voices,
    /// Notes that sound or are to come, with their ends, where an engine renders their voices.
    away: Option<Vec<(Note, u64)>>,
    chain: Chain,
    limiter: Limiter,
    /// The trim's factor at the end of the last quantum.
    trim: f32,
    /// Instructions that this machine has.
    simd: InstructionSet,
    /// The quantum that is being handed out.
    quantum: [Lane; 2],
    /// Frames of it that are still to be handed out.
    left: usize,
    /// Position of the next frame that is handed out.
    position: u64,
}

/// A stream at a moment, to go on from there later.
#[derive(Clone, Debug)]
pub struct Snapshot(Stream);

impl Snapshot {
    /// Position of the frame that a resumed stream gives first.
    pub fn position(&self) -> u64 {
        self.0.position
    }
}

/// A kind of sample that streams give: `f32` in [−1, 1], or `i16`.
pub trait Sample: Copy + private::Sealed {
    /// The sample of a value in [−1, 1], with noise in steps of 16 bits where it is rounded.
    fn from_unit(value: f32, formulas: Formulas, noise: f32) -> Self;
}

impl Sample for f32 {
    #[inline(always)]
    fn from_unit(value: f32, _: Formulas, _: f32) -> Self {
        value
    }
}

impl Sample for i16 {
    #[inline(always)]
    fn from_unit(value: f32, formulas: Formulas, noise: f32) -> Self {
        match formulas {
            Formulas::Original => pcm16::<true>(value),
            Formulas::ClickFree => pcm16::<false>(value + noise * (1.0 / 32_767.0)),
        }
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i16 {}
}

impl Clone for Stream {
    fn clone(&self) -> Self {
        Self {
            composer: self.composer.clone(),
            voices: self.voices.clone(),
            away: self.away.clone(),
            chain: self.chain.clone(),
            limiter: self.limiter.clone(),
            trim: self.trim,
            seed: self.seed,
            settings: self.settings,
            params: self.params,
            simd: self.simd,
            quantum: self.quantum,
            left: self.left,
            position: self.position,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.composer.clone_from(&source.composer);
        self.voices.clone_from(&source.voices);
        self.away.clone_from(&source.away);
        self.chain.clone_from(&source.chain);
        self.limiter.clone_from(&source.limiter);
        self.trim = source.trim;
        self.seed = source.seed;
        self.settings = source.settings;
        self.params = source.params;
        self.simd = source.simd;
        self.quantum = source.quantum;
        self.left = source.left;
        self.position = source.position;
    }
}

impl Stream {
    /// The stream of `seed` at 48 kHz.
    ///
    /// ```
    /// use warpsmith_synth::{Params, Preset, Stream};
    /// let mut stream = Stream::new(7, Params::preset(Preset::Focus))?;
    /// let mut block = [0i16; 2 * 480];
    /// stream.render_into(&mut block);
    /// assert_eq!(stream.position(), 480);
    /// # Ok::<(), warpsmith_synth::ParamError>(())
    /// ```
    pub fn new(seed: u64, params: Params) -> Result<Self, ParamError> {
        Self::with_settings(seed, params, StreamSettings::default())
    }

    /// The stream of `seed` at another rate or with other formulas.
    pub fn with_settings(
        seed: u64,
        params: Params,
        settings: StreamSettings,
    ) -> Result<Self, ParamError> {
        params.validate()?;
        let style = settings.style()?;
        let chain = Chain::new(&params, settings.sample_rate);
        Ok(Self {
            seed,
            settings,
            params,
            composer: Composer::with_form(seed, settings.sample_rate, settings.form_seconds),
            voices: Voices::new(style, WAITING, TONES, OTHERS),
            away: None,
            trim: chain.controls.trim.value as f32,
            chain,
            limiter: Limiter::new(settings.sample_rate),
            simd: style.simd,
            quantum: [[0.0; QUANTUM]; 2],
            left: 0,
            position: 0,
        })
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What it was made with.
    pub fn settings(&self) -> &StreamSettings {
        &self.settings
    }

    /// The parameters that it heads for.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Frames handed out so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Notes for which no voice was free; zero unless a limit was reached.
    pub fn dropped_notes(&self) -> u64 {
        self.voices.dropped()
    }

    /// Voices that sound now.
    pub fn sounding_voices(&self) -> usize {
        self.voices.sounding()
    }

    /// Changes the parameters: filter, space and volume glide there at once, tempo, key and
    /// everything that notes are drawn with change with the next bar. Refused as a whole where one
    /// is out of range.
    pub fn set_params(&mut self, params: Params) -> Result<(), ParamError> {
        params.validate()?;
        self.params = params;
        self.chain.controls.aim(&params);
        Ok(())
    }

    /// Position at which the next bar is composed, with the parameters of then.
    pub fn next_bar(&self) -> u64 {
        self.composer.next_bar()
    }

    /// The notes of the next bar, unless the parameters change before it. Allocates.
    pub fn next_notes(&self) -> Vec<Note> {
        let mut notes = Vec::with_capacity(MOST_NOTES_A_BAR);
        let mut ahead = self.composer.clone();
        ahead.compose_bar(&self.params, &mut |note| notes.push(note));
        notes
    }

    /// Frames by which the sound is behind its notes: the limiter looks ahead.
    pub const LATENCY: usize = DELAY_QUANTA * QUANTUM;

    /// Renders the next frames, left and right alternating. A half frame at the end of an odd block
    /// is left as it is.
    pub fn render_into<S: Sample>(&mut self, out: &mut [S]) {
        self.hand_out(out, Self::render_quantum);
    }

    /// The same with voices that an engine rendered; by itself where `answer` is not what was asked
    /// for last.
    pub fn render_dry_into<S: Sample>(&mut self, answer: &DryRequest, out: &mut [S]) {
        self.hand_out(out, |stream| match answer.lanes(stream.position) {
            Some(lanes) if stream.away.is_some() => {
                let mut lanes = Aligned(lanes);
                let [pads, plain] = &mut lanes.0;
                stream.mix(pads, plain);
            }
            _ => stream.render_quantum(),
        });
    }

    /// Lets an engine render the voices from now on; says whether it may. Nothing of the stream
    /// may have been rendered, and engines know the click-free formulas alone.
    pub fn send_away(&mut self) -> bool {
        let usual = StreamSettings {
            sample_rate: self.settings.sample_rate,
            simd: self.settings.simd,
            form_seconds: self.settings.form_seconds,
            ..StreamSettings::default()
        };
        if self.position == 0 && self.settings == usual {
            self.away = Some(Vec::new());
        }
        self.away.is_some()
    }

    /// What an engine must render before the next `frames` are available; zero frames where that is
    /// nothing. To ask again is no harm. Composing may allocate here.
    pub fn ask(&mut self, frames: usize, request: &mut DryRequest) {
        let sample_rate = self.settings.sample_rate;
        // The grid goes on where the quantum in hand ends.
        let position = self.position + self.left as u64;
        let missing = frames.saturating_sub(self.left).next_multiple_of(QUANTUM);
        request.sample_rate = sample_rate;
        request.position = position;
        request.frames = missing;
        request.samples.clear();
        request.notes.iter_mut().for_each(Vec::clear);
        let Self {
            composer,
            params,
            away: Some(notes),
            ..
        } = self
        else {
            request.frames = 0;
            return;
        };
        notes.retain(|(_, end)| *end > position);
        let end = position + missing as u64;
        while composer.next_bar() < end {
            composer.compose_bar(params, &mut |note: Note| {
                notes.push((note, note_end(&note, sample_rate, Formulas::ClickFree)));
            });
        }
        for (note, _) in notes.iter().filter(|(note, _)| note.start < end) {
            request.notes[usize::from(note.voice != Voice::Pad)].push(*note);
        }
    }

    /// Hands out what is left of a quantum and lets `render` make the next.
    fn hand_out<S: Sample>(&mut self, out: &mut [S], mut render: impl FnMut(&mut Self)) {
        let mut rest = out;
        while rest.len() >= 2 {
            if self.left == 0 {
                render(self);
            }
            let count = self.left.min(rest.len() / 2);
            let from = QUANTUM - self.left;
            let (out, later) = rest.split_at_mut(2 * count);
            self.simd.run(Interleave {
                channels: [
                    &self.quantum[0][from..from + count],
                    &self.quantum[1][from..from + count],
                ],
                formulas: self.settings.formulas,
                dither: (self.settings.formulas == Formulas::ClickFree)
                    .then(|| Dither::from(self.position)),
                out,
            });
            rest = later;
            self.left -= count;
            self.position += count as u64;
        }
    }

    fn render_quantum(&mut self) {
        // Nothing is left of the quantum before, so the grid is where the next frame is.
        let position = self.position;
        for (note, _) in self.away.take().into_iter().flatten() {
            if note.start < position {
                self.voices.begin(&note);
            } else {
                self.voices.add(note);
            }
        }
        let Self {
            composer,
            voices,
            params,
            ..
        } = self;
        while composer.next_bar() < position + QUANTUM as u64 {
            composer.compose_bar(params, &mut |note: Note| voices.add(note));
        }
        let mut lanes = Aligned([[[0.0; QUANTUM]; 2]; 2]);
        let [pads, plain] = &mut lanes.0;
        voices.render(position, pads, plain);
        self.mix(pads, plain);
    }

    /// Effects, limit, and the next quantum to hand out.
    fn mix(&mut self, pads: &mut [Lane; 2], plain: &mut [Lane; 2]) {
        match self.settings.formulas {
            Formulas::ClickFree => {
                self.simd.run(Mix {
                    chain: &mut self.chain,
                    params: &self.params,
                    pads,
                    plain,
                });
                let to = self.chain.controls.trim.value as f32;
                let from = std::mem::replace(&mut self.trim, to);
                self.simd.run(Amplify {
                    from,
                    to,
                    lanes: plain,
                });
                self.simd.run(LimitPeaks {
                    limiter: &mut self.limiter,
                    lanes: plain,
                });
                self.quantum = *plain;
            }
            Formulas::Original => {
                for j in 0..QUANTUM {
                    plain[0][j] += pads[0][j];
                }
                self.quantum = [plain[0]; 2];
                self.simd.run(Limit(self.quantum.as_flattened_mut()));
            }
        }
        self.left = QUANTUM;
    }

    /// The stream as it is now. Allocates; see [`Stream::snapshot_into`].
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.clone())
    }

    /// The same into a snapshot of this stream that is no longer needed, without allocating.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) {
        snapshot.0.clone_from(self);
    }

    /// A stream that goes on from `snapshot`.
    pub fn resume(snapshot: &Snapshot) -> Self {
        snapshot.0.clone()
    }
}

/// Share of the difference between the sides that is kept: a large room is so wide that one speaker
/// would lose two decibels of it.
const WIDTH: f32 = 0.75;

/// Multiplies a quantum by a factor that changes in a straight line, and brings the sides together.
struct Amplify<'a> {
    from: f32,
    to: f32,
    lanes: &'a mut [Lane; 2],
}

impl Task for Amplify<'_> {
    #[inline(always)]
    fn run(self) {
        let slope = (self.to - self.from) / QUANTUM as f32;
        let [left, right] = self.lanes;
        for (j, (left, right)) in left.iter_mut().zip(right).enumerate() {
            let gain = self.from + slope * j as f32;
            let middle = 0.5 * gain * (*left + *right);
            let side = 0.5 * WIDTH * gain * (*left - *right);
            (*left, *right) = (middle + side, middle - side);
        }
    }
}

/// Two channels as alternating samples; as many as fit.
pub(crate) struct Interleave<'a, S> {
    pub(crate) channels: [&'a [f32]; 2],
    pub(crate) formulas: Formulas,
    /// From the first frame on, where samples that are rounded get noise first; the frames are of one
    /// quantum then.
    pub(crate) dither: Option<Dither>,
    pub(crate) out: &'a mut [S],
}

impl<S: Sample> Task for Interleave<'_, S> {
    #[inline(always)]
    fn run(self) {
        let Self {
            channels: [left, right],
            formulas,
            dither,
            out,
        } = self;
        let frames = out.as_chunks_mut::<2>().0.iter_mut();
        let frames = frames.zip(left.iter().zip(right));
        let Some(dither) = dither else {
            for (frame, (left, right)) in frames {
                *frame = [*left, *right].map(|value| S::from_unit(value, formulas, 0.0));
            }
            return;
        };
        for (j, (frame, (left, right))) in (0..).zip(frames) {
            *frame = [
                S::from_unit(*left, formulas, dither.at(j, 0)),
                S::from_unit(*right, formulas, dither.at(j, 1)),
            ];
        }
    }
}
