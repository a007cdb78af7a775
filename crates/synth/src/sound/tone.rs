//! A pitched voice, rendered a quantum at a time.
//!
//! The envelope and the tremolo are slow: over 64 samples their product is a cubic to within
//! 2·10⁻⁸, so each quantum costs four coefficients in double precision and three multiplications a
//! sample. Quanta in which a note begins, ends or turns into its next envelope piece are put
//! together from several cubics.

use super::envelope::Envelope;
use super::instrument::{Layer, pan_gains};
use super::oscillator::{ROUNDED, Saw, phase_step, saw, saw_between_jumps, sine};
use super::technique::{EnvelopeRate, Techniques};
use super::variant::Wave;
use super::{Aligned, Lane, MOMENTS, QUANTUM};
use crate::note::{Formulas, Note, Voice};

/// `velocity · envelope(k) · (base + depth·sin(step·k))`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amplitude {
    envelope: Envelope,
    gain: f64,
    base: f64,
    depth: f64,
    step: f64,
    /// Sine and cosine of the tremolo at the next quantum, and of its turn over a quantum.
    tremolo: [f64; 2],
    turn: [f64; 2],
    /// Where `tremolo` and `decayed` are valid.
    next: i64,
    piece: usize,
    decayed: f64,
    ratio: f64,
}

impl Amplitude {
    pub(crate) fn new(envelope: Envelope, gain: f64, base: f64, depth: f64, step: f64) -> Self {
        let turn = (step * QUANTUM as f64).sin_cos();
        Self {
            envelope,
            gain,
            base,
            depth,
            step,
            tremolo: [0.0, 1.0],
            turn: [turn.0, turn.1],
            next: i64::MIN,
            piece: usize::MAX,
            decayed: 0.0,
            ratio: 0.0,
        }
    }

    pub(crate) fn length(&self) -> u32 {
        self.envelope.length()
    }

    /// Fills `out` by the formula, for every sample or for every so many.
    pub(crate) fn fill_by_formula(&self, k0: i64, held: usize, out: &mut Lane) {
        let length = i64::from(self.envelope.length());
        for (group, out) in out.chunks_mut(held).enumerate() {
            let at = |k: i64| {
                let tremolo = self.base + self.depth * (self.step * k as f64).sin();
                (self.gain * self.envelope.at(k as u32) * tremolo) as f32
            };
            let first = k0 + (group * held) as i64;
            let value = at(first.clamp(0, length - 1));
            for (j, out) in out.iter_mut().enumerate() {
                let inside = (0..length).contains(&(first + j as i64));
                *out = if inside { value } else { 0.0 };
            }
        }
    }

    /// Fills `out` with the amplitudes of samples `k0..k0 + 64`, zero outside the note.
    #[inline(always)]
    pub(crate) fn fill(&mut self, k0: i64, out: &mut Lane) {
        match self.whole(k0) {
            Some(cubic) => fill_cubic(cubic, out),
            None => self.fill_pieces(k0, out),
        }
    }

    /// Moves on over samples `k0..k0 + 64`; gives the cubic that they lie on. Where there is none,
    /// [`Amplitude::fill_pieces`] must be called for them.
    #[inline(always)]
    fn whole(&mut self, k0: i64) -> Option<[f32; 4]> {
        self.arrive(k0);
        let within = u32::try_from(k0).is_ok_and(|k| {
            self.piece != usize::MAX
                && self.envelope.pieces()[self.piece].start <= k
                && k + QUANTUM as u32 <= self.envelope.piece_end(self.piece)
                && self.ratio != 0.0
        });
        let mut cubic = None;
        if within {
            cubic = Some(self.cubic(self.piece, self.decayed, self.tremolo));
            self.decayed *= self.ratio;
        }
        let ([s, c], [ts, tc]) = (self.tremolo, self.turn);
        self.tremolo = [s * tc + c * ts, c * tc - s * ts];
        self.next = k0 + QUANTUM as i64;
        cubic
    }

    fn arrive(&mut self, k0: i64) {
        if self.next != k0 {
            let (s, c) = (self.step * k0 as f64).sin_cos();
            self.tremolo = [s, c];
            self.piece = usize::MAX;
            self.next = k0;
        }
    }

    /// Coefficients of 1, j, j², j³ from the Taylor series of both factors.
    #[inline(always)]
    fn cubic(&self, piece: usize, decayed: f64, [s, c]: [f64; 2]) -> [f32; 4] {
        let piece = &self.envelope.pieces()[piece];
        let (e, r) = (piece.scale * decayed, piece.rate);
        let envelope = [
            piece.level + e,
            -e * r,
            e * r * r * 0.5,
            -e * r * r * r * (1.0 / 6.0),
        ];
        let d = self.step;
        let tremolo = [
            self.gain * (self.base + self.depth * s),
            self.gain * self.depth * c * d,
            self.gain * self.depth * s * d * d * -0.5,
            self.gain * self.depth * c * d * d * d * (-1.0 / 6.0),
        ];
        [
            (envelope[0] * tremolo[0]) as f32,
            (envelope[0] * tremolo[1] + envelope[1] * tremolo[0]) as f32,
            (envelope[0] * tremolo[2] + envelope[1] * tremolo[1] + envelope[2] * tremolo[0]) as f32,
            (envelope[0] * tremolo[3]
                + envelope[1] * tremolo[2]
                + envelope[2] * tremolo[1]
                + envelope[3] * tremolo[0]) as f32,
        ]
    }

    /// A quantum with joints in it; leaves the state of the piece that it ends in.
    #[inline(never)]
    fn fill_pieces(&mut self, k0: i64, out: &mut Lane) {
        out.fill(0.0);
        let end = k0 + QUANTUM as i64;
        let first = k0.max(0);
        let length = i64::from(self.envelope.length());
        self.piece = usize::MAX;
        if first >= end.min(length) {
            return;
        }
        let mut index = self.envelope.piece_at(first as u32);
        let mut k = first;
        loop {
            let piece_end = i64::from(self.envelope.piece_end(index));
            let (piece, stop) = (self.envelope.pieces()[index], piece_end.min(end));
            let decayed = (-piece.rate * (k - i64::from(piece.start)) as f64).exp();
            let (s, c) = (self.step * k as f64).sin_cos();
            let [c0, c1, c2, c3] = self.cubic(index, decayed, [s, c]);
            for (j, value) in out[(k - k0) as usize..(stop - k0) as usize]
                .iter_mut()
                .enumerate()
            {
                let j = j as f32;
                *value = ((c3 * j + c2) * j + c1) * j + c0;
            }
            k = stop;
            if k >= end || k >= length {
                break;
            }
            index += 1;
        }
        if k >= length {
            return;
        }
        // A joint at the very end belongs to the next quantum's piece.
        let index = self.envelope.piece_at(end as u32);
        let piece = self.envelope.pieces()[index];
        self.piece = index;
        self.decayed = (-piece.rate * (end - i64::from(piece.start)) as f64).exp();
        self.ratio = (-piece.rate * QUANTUM as f64).exp();
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop)] // see `Tone::add`
fn fill_cubic([c0, c1, c2, c3]: [f32; 4], out: &mut Lane) {
    for j in 0..QUANTUM {
        let x = MOMENTS.0[j];
        out[j] = ((c3 * x + c2) * x + c1) * x + c0;
    }
}

/// A pitched voice that sounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tone {
    start: u64,
    amplitude: Amplitude,
    step: u64,
    saw_step: u64,
    /// Samples to a turn of the saw.
    saw_samples: f32,
    sine_share: f32,
    saw_share: f32,
    gains: [f32; 2],
    /// Whether it goes through the filter.
    pub(crate) filtered: bool,
}

impl Tone {
    /// A layer of a pitched note.
    pub(crate) fn new(layer: &Layer, note: &Note, sample_rate: u32, formulas: Formulas) -> Self {
        let rate = f64::from(sample_rate);
        let tremolo_step = std::f64::consts::TAU * layer.tremolo_hz / rate;
        Self {
            start: note.start,
            amplitude: Amplitude::new(
                layer.envelope,
                f64::from(note.velocity),
                1.0,
                layer.tremolo,
                tremolo_step,
            ),
            step: phase_step(layer.frequency, sample_rate),
            saw_step: phase_step(layer.saw_frequency, sample_rate),
            saw_samples: (rate / layer.saw_frequency) as f32,
            sine_share: layer.sine as f32,
            saw_share: layer.saw as f32,
            gains: pan_gains(note.pan, formulas).map(|gain| gain as f32),
            filtered: note.voice == Voice::Pad,
        }
    }

    /// First position at which it is silent for ever.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.amplitude.length())
    }

    /// Adds the quantum that begins at `position` by another technique than the engine's own.
    pub(crate) fn add_by(
        &mut self,
        techniques: Techniques,
        kind: Saw,
        position: u64,
        left: &mut Lane,
        right: &mut Lane,
    ) {
        let k0 = position.cast_signed() - self.start.cast_signed();
        let mut amplitude = [0.0; QUANTUM];
        match techniques.envelope {
            EnvelopeRate::Cubic => self.amplitude.fill(k0, &mut amplitude),
            EnvelopeRate::Sample => self.amplitude.fill_by_formula(k0, 1, &mut amplitude),
            EnvelopeRate::Hold16 => self.amplitude.fill_by_formula(k0, 16, &mut amplitude),
            EnvelopeRate::Hold64 => self.amplitude.fill_by_formula(k0, QUANTUM, &mut amplitude),
        }
        let wave = Wave {
            k0,
            step: self.step,
            saw_step: self.saw_step,
            saw_samples: self.saw_samples,
            sine_share: self.sine_share,
            saw_share: self.saw_share,
        };
        let mut samples = [0.0; QUANTUM];
        wave.fill(techniques.arithmetic, kind, &amplitude, &mut samples);
        for j in 0..QUANTUM {
            left[j] += samples[j] * self.gains[0];
            right[j] += samples[j] * self.gains[1];
        }
    }

    /// Adds the quantum that begins at `position`. Plain loops over whole quanta: a function that is
    /// left uninlined, an iterator's or a closure for example, would be compiled without the vector
    /// instructions, and a loop of sixteen would be unrolled before it is made a vector loop.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    pub(crate) fn add<const KIND: u8, const STEREO: bool>(
        &mut self,
        position: u64,
        left: &mut Lane,
        right: &mut Lane,
    ) {
        let k0 = position.cast_signed() - self.start.cast_signed();
        let mut aligned = Aligned([0.0; QUANTUM]);
        let wave = &mut aligned.0;
        match self.amplitude.whole(k0) {
            Some(cubic) => fill_cubic(cubic, wave),
            None => self.amplitude.fill_pieces(k0, wave),
        }
        // Everything in locals: the compiler must not fear that a store changes the tone.
        let Self {
            step,
            saw_step,
            saw_samples,
            sine_share,
            saw_share,
            gains: [to_left, to_right],
            ..
        } = *self;
        let mut sine_at = Ramp::new(step, k0);
        if saw_share == 0.0 {
            for j in 0..QUANTUM {
                wave[j] *= sine_share * sine(sine_at.next());
            }
        } else if Ramp::new(saw_step, k0).stays_clear_of_the_jump() {
            let mut saw_at = Ramp::new(saw_step, k0);
            for j in 0..QUANTUM {
                let saw = saw_between_jumps::<KIND>(saw_at.next());
                wave[j] *= sine_share * sine(sine_at.next()) + saw_share * saw;
            }
        } else {
            let mut saw_at = Ramp::new(saw_step, k0);
            for j in 0..QUANTUM {
                let saw = saw::<KIND>(saw_at.next(), saw_samples);
                wave[j] *= sine_share * sine(sine_at.next()) + saw_share * saw;
            }
        }
        if STEREO {
            for j in 0..QUANTUM {
                left[j] += wave[j] * to_left;
            }
            for j in 0..QUANTUM {
                right[j] += wave[j] * to_right;
            }
        } else {
            for j in 0..QUANTUM {
                left[j] += wave[j];
            }
        }
    }
}

/// The phases of a quantum, exact to 2⁻³² turns: the high half of the phase, and the bits below it
/// that can carry into it, each as 32 bits so that a vector holds sixteen.
#[derive(Clone, Copy)]
struct Ramp {
    high: u32,
    low: u32,
    high_step: u32,
    low_step: u32,
}

/// Bits of the low half that are counted: 64 steps of them fill 32 bits.
const LOW_BITS: u32 = 26;

impl Ramp {
    #[inline(always)]
    fn new(step: u64, k0: i64) -> Self {
        let phase = step.wrapping_mul(k0.cast_unsigned());
        let low = |value: u64| (value as u32) >> (32 - LOW_BITS);
        Self {
            high: (phase >> 32) as u32,
            low: low(phase),
            high_step: (step >> 32) as u32,
            low_step: low(step),
        }
    }

    /// Whether no phase of the quantum is one that a saw rounds.
    #[inline(always)]
    fn stays_clear_of_the_jump(&self) -> bool {
        // A step more for what is below it, and one for the rounding of floats.
        let (phase, step) = (u64::from(self.high), u64::from(self.high_step) + 1);
        let clear = (u64::from(ROUNDED) + 1) * step;
        phase >= clear && phase + QUANTUM as u64 * step + clear < 1 << 32
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        let phase = self.high.wrapping_add(self.low >> LOW_BITS);
        self.high = self.high.wrapping_add(self.high_step);
        self.low = self.low.wrapping_add(self.low_step);
        phase
    }
}

/// Adds all `tones`, pads to the filtered channels and the rest to the plain ones.
pub(crate) struct AddTones<'a> {
    pub(crate) tones: &'a mut [Tone],
    pub(crate) position: u64,
    pub(crate) saw: Saw,
    pub(crate) stereo: bool,
    pub(crate) filtered: &'a mut [Lane; 2],
    pub(crate) plain: &'a mut [Lane; 2],
}

impl AddTones<'_> {
    #[inline(always)]
    fn add<const KIND: u8, const STEREO: bool>(self) {
        for tone in self.tones {
            let [left, right] = if tone.filtered {
                &mut *self.filtered
            } else {
                &mut *self.plain
            };
            tone.add::<KIND, STEREO>(self.position, left, right);
        }
    }
}

impl warpsmith_lanes::Task for AddTones<'_> {
    #[inline(always)]
    fn run(self) {
        match (self.saw, self.stereo) {
            (Saw::Naive, false) => self.add::<{ Saw::Naive as u8 }, false>(),
            (Saw::PolyBlep, false) => self.add::<{ Saw::PolyBlep as u8 }, false>(),
            (Saw::Spline, false) => self.add::<{ Saw::Spline as u8 }, false>(),
            (Saw::Naive, true) => self.add::<{ Saw::Naive as u8 }, true>(),
            (Saw::PolyBlep, true) => self.add::<{ Saw::PolyBlep as u8 }, true>(),
            (Saw::Spline, true) => self.add::<{ Saw::Spline as u8 }, true>(),
        }
    }
}
