//! Pitch and speech of whole signals and of streams.

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, exp};
use warpsmith_signal::{Quality, ResampleStream, Resampler, Result, SignalError};

use super::front::Front;
use super::layers::{Answer, Layers};
use super::path::{Decision, PitchPath};
use super::tables::{HOP, LOWEST, PER_OCTAVE, PITCHES, RATE, WINDOW};
use crate::pitch::PitchRange;

/// Seconds between frames.
const STEP: f64 = HOP as f64 / RATE as f64;
/// How sure the network must be that a frame is voiced, about, and that somebody speaks: what agreed best with
/// recordings in English and French, which the training had not heard.
const VOICED: f32 = 0.45;
const SPEECH: f32 = 0.7;
/// Pitches on either side of the likeliest whose mean is taken.
const AROUND: usize = 2;

/// A track with how sure it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetTrack {
    /// Seconds of each frame's centre.
    pub seconds: Vec<f64>,
    /// Frequency, Hz; 0 in unvoiced frames.
    pub frequency: Vec<f32>,
    /// How sure the network is that the frame is voiced, 0 to 1.
    pub voiced: Vec<f32>,
}

impl NetTrack {
    /// Appends the frame of this number.
    pub(super) fn push(&mut self, number: usize, decision: Decision) {
        let Decision {
            hertz,
            voiced,
            sounds,
        } = decision;
        self.seconds.push(number as f64 * STEP);
        self.frequency.push(if sounds { hertz } else { 0.0 });
        self.voiced.push(voiced);
    }
}

/// The network with what it has heard.
trait Listening: Send {
    /// Takes the next samples at [`RATE`]; appends the answers that are complete.
    fn hear(&mut self, samples: &[f32], out: &mut Vec<Answer>);
    /// Ends the sound.
    fn end(self: Box<Self>, out: &mut Vec<Answer>);
}

struct Engine<V> {
    front: Front<V>,
    layers: Layers,
    /// Samples from the next frame's window on.
    waiting: Vec<f32>,
    /// Samples that have arrived, and frames that were seen.
    arrived: usize,
    seen: usize,
}

impl<V: Lanes> Engine<V> {
    fn new() -> Self {
        Self {
            front: Front::new(),
            layers: Layers::new(),
            // The first frame's centre is the first sample.
            waiting: vec![0.0; WINDOW / 2],
            arrived: 0,
            seen: 0,
        }
    }

    /// Sees the frames whose windows are complete, or all up to `last`.
    fn see(&mut self, last: Option<usize>, out: &mut Vec<Answer>) {
        let mut first = 0;
        let mut frames = Vec::new();
        loop {
            let ready = (self.waiting.len() + HOP).saturating_sub(first + WINDOW) / HOP;
            let left = last.map_or(usize::MAX, |last| last - self.seen);
            let count = ready.min(left).min(V::WIDTH);
            // Vectors are filled where the sound goes on.
            if count == 0 || (last.is_none() && count < V::WIDTH) {
                break;
            }
            frames.clear();
            let length = WINDOW + (count - 1) * HOP;
            self.front
                .see(&self.waiting[first..][..length], &mut frames);
            for frame in &frames {
                self.layers.take::<V>(frame, out);
            }
            self.seen += count;
            first += count * HOP;
        }
        self.waiting.drain(..first.min(self.waiting.len()));
    }
}

impl<V: Lanes> Listening for Engine<V> {
    fn hear(&mut self, samples: &[f32], out: &mut Vec<Answer>) {
        self.arrived += samples.len();
        self.waiting.extend_from_slice(samples);
        self.see(None, out);
    }

    fn end(mut self: Box<Self>, out: &mut Vec<Answer>) {
        if self.arrived == 0 {
            return;
        }
        let frames = self.arrived / HOP + 1;
        self.waiting.extend_from_slice(&[0.0; WINDOW]);
        self.see(Some(frames), out);
        self.layers.finish::<V>(out);
    }
}

/// The network on a sound of any rate that is still arriving.
struct Ear {
    network: Box<dyn Listening>,
    resampler: Option<ResampleStream>,
    resampled: Vec<f32>,
}

impl Ear {
    fn new(sample_rate: u32) -> Result<Self> {
        let resampler = (sample_rate != RATE)
            .then(|| Resampler::new(sample_rate, RATE, Quality::High))
            .transpose()?;
        Ok(Self {
            network: engine_for_this_machine!(Blocks::Wide, Engine::new()),
            resampler: resampler.map(ResampleStream::new),
            resampled: Vec::new(),
        })
    }

    fn hear(&mut self, piece: &[f32], out: &mut Vec<Answer>) {
        match &mut self.resampler {
            None => self.network.hear(piece, out),
            Some(resampler) => {
                self.resampled.clear();
                resampler.process(piece, &mut self.resampled);
                self.network.hear(&self.resampled, out);
            }
        }
    }

    fn end(mut self, out: &mut Vec<Answer>) {
        if let Some(resampler) = self.resampler {
            self.resampled.clear();
            resampler.finish(&mut self.resampled);
            self.network.hear(&self.resampled, out);
        }
        self.network.end(out);
    }
}

/// Samples that are heard at a time, so that memory stays small.
const PIECE: usize = 1 << 16;

/// A pitch tracker; frames are 10 ms apart. Pieces of a sound give the bits of the whole.
pub struct NetPitch {
    ear: Ear,
    answers: Vec<Answer>,
    path: PitchPath,
    /// Frames that are decided.
    frames: usize,
}

impl NetPitch {
    /// How sure the network must be that a frame is voiced, unless told otherwise; a doubtful frame goes with those
    /// around it.
    pub const THRESHOLD: f32 = VOICED;

    /// A tracker that has heard nothing; `hop` must be 10 ms. A threshold of 0 gives every frame a pitch.
    pub fn new(sample_rate: u32, hop: usize, range: PitchRange, threshold: f32) -> Result<Self> {
        Self::check(sample_rate, hop, range, threshold)?;
        Ok(Self {
            ear: Ear::new(sample_rate)?,
            answers: Vec::new(),
            path: PitchPath::new(range, threshold),
            frames: 0,
        })
    }

    pub(super) fn check(
        sample_rate: u32,
        hop: usize,
        range: PitchRange,
        threshold: f32,
    ) -> Result<()> {
        range.check(sample_rate)?;
        check_threshold(threshold)?;
        if hop != (sample_rate as usize / 100).max(1) {
            return Err(SignalError::parameter(
                "hop",
                hop,
                "the frames of `net` are 10 ms apart",
            ));
        }
        Ok(())
    }

    /// The track of a whole signal.
    pub fn track(mut self, signal: &[f32]) -> NetTrack {
        let mut track = NetTrack::default();
        for piece in signal.chunks(PIECE) {
            self.process(piece, &mut track);
        }
        self.finish(&mut track);
        track
    }

    /// Takes the next samples; appends the frames that are decided.
    pub fn process(&mut self, piece: &[f32], track: &mut NetTrack) {
        self.ear.hear(piece, &mut self.answers);
        self.decide(track);
    }

    /// Ends the sound; appends the frames that are left.
    pub fn finish(self, track: &mut NetTrack) {
        let Self {
            ear,
            mut answers,
            mut path,
            mut frames,
        } = self;
        ear.end(&mut answers);
        decide(&mut path, &answers, &mut frames, track);
        while let Some(decision) = path.finish() {
            track.push(frames, decision);
            frames += 1;
        }
    }

    fn decide(&mut self, track: &mut NetTrack) {
        decide(&mut self.path, &self.answers, &mut self.frames, track);
        self.answers.clear();
    }
}

/// Takes answers; appends the frames that are decided then.
fn decide(path: &mut PitchPath, answers: &[Answer], frames: &mut usize, track: &mut NetTrack) {
    for answer in answers {
        if let Some(decision) = path.step(&answer.pitches[..PITCHES], answer.voiced()) {
            track.push(*frames, decision);
            *frames += 1;
        }
    }
}

/// Probabilities lie between 0 and 1.
fn check_threshold(threshold: f32) -> Result<()> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(());
    }
    Err(SignalError::parameter(
        "threshold",
        threshold,
        "a probability from 0 to 1",
    ))
}

/// The lowest and the highest pitch of the table that a range has.
pub(super) fn places_of(range: PitchRange) -> (usize, usize) {
    let number = |hertz: f64| (hertz / LOWEST).log2() * PER_OCTAVE;
    let last = (PITCHES - 1) as f64;
    let low = number(range.low_hz).floor().clamp(0.0, last);
    let high = number(range.high_hz).ceil().clamp(low, last);
    (low as usize, high as usize)
}

/// What the network says of whole signals at [`RATE`], frame by frame: Hz, voicing, speech.
pub(crate) struct NetResults(pub(super) PitchRange);

impl NetResults {
    pub(super) fn of(&mut self, signal: &[f32], out: &mut [f32]) -> Result<()> {
        let (mut ear, mut answers) = (Ear::new(RATE)?, Vec::new());
        ear.hear(signal, &mut answers);
        ear.end(&mut answers);
        for (slots, answer) in out.as_chunks_mut::<3>().0.iter_mut().zip(&answers) {
            let (hertz, voiced) = answer.pitch(self.0);
            *slots = [hertz, voiced, answer.speech()];
        }
        Ok(())
    }
}

impl Answer {
    /// The likeliest pitch in a range, Hz, and how sure it is that there is one.
    fn pitch(&self, range: PitchRange) -> (f32, f32) {
        let last = PITCHES - 1;
        let (low, high) = places_of(range);
        let most = self.pitches.iter().copied().fold(f32::MIN, f32::max);
        let chances = self.pitches.map(|logit| exp(logit - most));
        let sum: f32 = chances.iter().sum();
        let best = (low..=high)
            .max_by(|a, b| chances[*a].total_cmp(&chances[*b]))
            .unwrap_or(low);
        let around = best.saturating_sub(AROUND)..=(best + AROUND).min(last);
        let (mut weight, mut place) = (0.0, 0.0);
        for n in around {
            weight += f64::from(chances[n]);
            place += f64::from(chances[n]) * n as f64;
        }
        let hertz = LOWEST * (place / weight.max(f64::MIN_POSITIVE) / PER_OCTAVE).exp2();
        (hertz as f32, 1.0 - chances[PITCHES] / sum)
    }

    /// How sure it is that there is a pitch.
    fn voiced(&self) -> f32 {
        let most = self.pitches.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = self.pitches.iter().map(|logit| exp(logit - most)).sum();
        1.0 - exp(self.pitches[PITCHES] - most) / sum
    }

    /// The probability of speech.
    fn speech(&self) -> f32 {
        1.0 / (1.0 + exp(-self.speech))
    }
}

/// A detector of speech; a decision is about 10 ms. Pieces of a sound give the bits of the whole.
pub struct NetVad {
    ear: Ear,
    answers: Vec<Answer>,
    threshold: f32,
    /// Samples that make a decision, that have arrived, and decisions that were made.
    hop: usize,
    arrived: usize,
    decided: usize,
}

impl NetVad {
    /// The probability from which on it is speech.
    pub const THRESHOLD: f32 = SPEECH;

    /// A detector that has heard nothing.
    pub fn new(sample_rate: u32, threshold: f32) -> Result<Self> {
        Self::check(threshold)?;
        Ok(Self {
            ear: Ear::new(sample_rate)?,
            answers: Vec::new(),
            threshold,
            hop: (sample_rate as usize / 100).max(1),
            arrived: 0,
            decided: 0,
        })
    }

    pub(super) fn check(threshold: f32) -> Result<()> {
        check_threshold(threshold)
    }

    /// The decisions that follow from the probabilities of speech in the frames of so many samples. 10 ms that are
    /// not full are not decided; a rate that is no multiple of 100 may be one frame short.
    pub(super) fn judge(
        sample_rate: u32,
        threshold: f32,
        samples: usize,
        speech: impl Iterator<Item = f32>,
    ) -> Vec<bool> {
        let full = samples / (sample_rate as usize / 100).max(1);
        let mut out: Vec<bool> = speech
            .take(full)
            .map(|probability| probability >= threshold)
            .collect();
        out.resize(full, out.last().copied().unwrap_or(false));
        out
    }

    /// A decision to each full 10 ms of a whole signal.
    pub fn decide(mut self, signal: &[f32]) -> Vec<bool> {
        let mut out = Vec::with_capacity(signal.len() / self.hop);
        for piece in signal.chunks(PIECE) {
            self.process(piece, &mut out);
        }
        self.finish(&mut out);
        out
    }

    /// Takes the next samples; appends the decisions that are made.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<bool>) {
        self.arrived += piece.len();
        self.ear.hear(piece, &mut self.answers);
        self.decisions(out);
    }

    /// Ends the sound; appends the decisions that are left. 10 ms that are not full are not decided.
    pub fn finish(self, out: &mut Vec<bool>) {
        let Self {
            ear,
            mut answers,
            threshold,
            hop,
            arrived,
            decided,
        } = self;
        ear.end(&mut answers);
        let left = arrived / hop - decided;
        out.extend(
            answers
                .iter()
                .take(left)
                .map(|answer| answer.speech() >= threshold),
        );
        // A rate that is no multiple of 100 may be one frame short.
        let short = left.saturating_sub(answers.len());
        let last = answers
            .last()
            .is_some_and(|answer| answer.speech() >= threshold);
        out.extend(std::iter::repeat_n(last, short));
    }

    fn decisions(&mut self, out: &mut Vec<bool>) {
        let full = self.arrived / self.hop - self.decided;
        let ready = full.min(self.answers.len());
        out.extend(
            self.answers
                .drain(..ready)
                .map(|answer| answer.speech() >= self.threshold),
        );
        self.decided += ready;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `example` in `train.py`.
    fn example() -> Vec<f32> {
        let (mut state, mut phase) = (1u32, 0.0f64);
        (0..24_000)
            .map(|n| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noise = f64::from(state) / f64::from(1u32 << 31) - 1.0;
                phase += (120.0 + 80.0 * f64::from(n) / 16_000.0) / f64::from(RATE);
                let turn = std::f64::consts::TAU * phase;
                let voice: f64 = (1..=10)
                    .map(|k| (f64::from(k) * turn).sin() / f64::from(k))
                    .sum();
                (0.05 * noise + if n < 16_000 { 0.1 * voice } else { 0.0 }) as f32
            })
            .collect()
    }

    #[test]
    fn the_network_answers_as_the_one_that_was_trained() {
        let golden = include_str!("golden.txt").lines().map(|line| {
            let mut numbers = line
                .split(' ')
                .map(|word| word.parse::<f32>().expect("a number"));
            std::array::from_fn::<f32, 3, _>(|_| numbers.next().expect("three numbers"))
        });
        let mut ear = Ear::new(RATE).expect("a rate");
        let mut answers = Vec::new();
        ear.hear(&example(), &mut answers);
        ear.end(&mut answers);
        assert_eq!(answers.len(), golden.clone().count());
        for (frame, (answer, [hertz, voiced, speech])) in answers.iter().zip(golden).enumerate() {
            let everything = PitchRange {
                low_hz: 1.0,
                high_hz: 8_000.0,
            };
            let (own_hertz, own_voiced) = answer.pitch(everything);
            assert!(
                (own_voiced - voiced).abs() < 2e-3,
                "{frame}: {own_voiced} {voiced}"
            );
            assert!((answer.speech() - speech).abs() < 2e-3, "{frame}");
            if voiced > 0.5 {
                let cents = 1200.0 * (own_hertz / hertz).log2();
                assert!(cents.abs() < 0.5, "{frame}: {own_hertz} Hz, {hertz} Hz");
            }
        }
    }

    #[test]
    fn pieces_give_the_bits_of_the_whole() {
        let signal = example();
        for rate in [RATE, 22_050] {
            let whole = NetPitch::new(rate, rate as usize / 100, PitchRange::VOICE, VOICED)
                .expect("a rate")
                .track(&signal);
            let speech = NetVad::new(rate, NetVad::THRESHOLD)
                .expect("a rate")
                .decide(&signal);
            for size in [1, 37, 160, 5_000] {
                let mut pitch = NetPitch::new(rate, rate as usize / 100, PitchRange::VOICE, VOICED)
                    .expect("a rate");
                let mut vad = NetVad::new(rate, NetVad::THRESHOLD).expect("a rate");
                let (mut track, mut decisions) = (NetTrack::default(), Vec::new());
                for piece in signal.chunks(size) {
                    pitch.process(piece, &mut track);
                    vad.process(piece, &mut decisions);
                }
                pitch.finish(&mut track);
                vad.finish(&mut decisions);
                assert!(track == whole, "{rate} {size}");
                assert_eq!(decisions, speech, "{rate} {size}");
            }
        }
    }

    #[test]
    fn probabilities_of_whole_signals_give_the_decisions_of_the_detector() {
        let mut results = NetResults(PitchRange::VOICE);
        for length in [0, 159, 161, 24_000] {
            let signal = &example()[..length];
            let frames = if length == 0 { 0 } else { length / HOP + 1 };
            let mut values = vec![f32::NAN; 3 * frames];
            results.of(signal, &mut values).expect("a signal");
            let (frames, _) = values.as_chunks::<3>();
            let speech = frames.iter().map(|[_, _, speech]| *speech);
            let vad = NetVad::new(RATE, SPEECH).expect("a rate");
            assert_eq!(
                NetVad::judge(RATE, SPEECH, length, speech),
                vad.decide(signal)
            );
            let pitch = NetPitch::new(RATE, HOP, PitchRange::VOICE, VOICED).expect("a rate");
            let voiced = pitch.track(signal).voiced;
            assert!(voiced.iter().eq(frames.iter().map(|[_, voiced, _]| voiced)));
        }
    }

    #[test]
    fn a_threshold_of_0_gives_every_frame_a_pitch() {
        let pitch = |threshold| NetPitch::new(RATE, HOP, PitchRange::VOICE, threshold);
        let usual = pitch(VOICED).expect("a threshold").track(&example());
        let all = pitch(0.0).expect("a threshold").track(&example());
        assert!(usual.frequency.contains(&0.0));
        for (hertz, same) in all.frequency.iter().zip(&usual.frequency) {
            assert!(*hertz > 0.0 && (*same == 0.0 || hertz == same));
        }
        for bad in [-0.1, 1.1, f32::NAN] {
            assert!(pitch(bad).is_err() && NetVad::new(RATE, bad).is_err());
        }
    }

    #[test]
    fn a_gliding_voice_is_followed_and_noise_has_no_pitch() {
        let track = NetPitch::new(RATE, HOP, PitchRange::VOICE, VOICED)
            .expect("a rate")
            .track(&example());
        for (seconds, hertz) in track.seconds.iter().zip(&track.frequency) {
            if (0.05..0.95).contains(seconds) {
                let truth = 120.0 + 80.0 * *seconds as f32;
                assert!(
                    (hertz / truth - 1.0).abs() < 0.02,
                    "{seconds} s: {hertz} Hz"
                );
            }
            if (1.05..1.45).contains(seconds) {
                assert_eq!(*hertz, 0.0, "{seconds} s");
            }
        }
    }

    #[test]
    fn silence_and_short_sounds_have_neither_pitch_nor_speech() {
        for length in [0, 1, 159, 160, 161, 16_000] {
            let silence = vec![0.0; length];
            let track = NetPitch::new(RATE, HOP, PitchRange::VOICE, VOICED)
                .expect("a rate")
                .track(&silence);
            let frames = if length == 0 { 0 } else { length / HOP + 1 };
            assert_eq!(track.frequency.len(), frames);
            assert!(
                track.frequency.iter().all(|hertz| *hertz == 0.0),
                "{length}"
            );
            let vad = NetVad::new(RATE, NetVad::THRESHOLD).expect("a rate");
            assert_eq!(vad.decide(&silence), vec![false; length / HOP]);
        }
    }
}
