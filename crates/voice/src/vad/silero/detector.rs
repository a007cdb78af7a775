//! Decisions from the network's probabilities, of whole signals and of streams.

use std::borrow::Cow;

use warpsmith_signal::{Quality, Resampler, Result, energy};

use super::cpu::{CHUNK, CONTEXT, SileroNetwork, SpeechNetwork};

/// What the network was trained at.
pub(crate) const RATE: u32 = 16_000;
/// Samples to a decision: 10 ms.
const HOP: usize = 160;
/// The mean square of silence: −90 dBFS. Speech of a meeting, far from the microphone, is at −75.
const SILENCE: f32 = 1e-9;

/// Bounds of the probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeuralSettings {
    /// Speech starts where it is at least this.
    pub start: f32,
    /// Speech ends where it is less.
    pub end: f32,
}

impl Default for NeuralSettings {
    fn default() -> Self {
        Self::from_threshold(0.5)
    }
}

impl NeuralSettings {
    /// Speech that starts at this probability, and ends at a third of it. The default is that of Silero's own scripts:
    /// noise is taken for speech below it. Labellers of meetings call more speech than that; 0.15 is nearer to them.
    pub fn from_threshold(start: f32) -> Self {
        let end = start / 3.0;
        Self { start, end }
    }
}

/// What follows from probabilities, chunk by chunk.
struct Decisions {
    settings: NeuralSettings,
    /// Samples that have arrived, and chunks that were judged.
    received: usize,
    chunks: usize,
    speaking: bool,
    /// Decisions that were handed out, and those about 10 ms whose end has not arrived.
    decided: usize,
    pending: Vec<bool>,
}

impl Decisions {
    fn new(settings: NeuralSettings) -> Self {
        Self {
            settings,
            received: 0,
            chunks: 0,
            speaking: false,
            decided: 0,
            pending: Vec::new(),
        }
    }

    /// Judges the next chunks, the first of `samples`, with these probabilities.
    fn judge(&mut self, samples: &[f32], probabilities: &[f32], out: &mut Vec<bool>) {
        for (chunk, probability) in samples.chunks(CHUNK).zip(probabilities) {
            let bound = if self.speaking {
                self.settings.end
            } else {
                self.settings.start
            };
            self.speaking = *probability >= bound && energy(chunk) > SILENCE * CHUNK as f32;
            self.chunks += 1;
            // A decision is that of the chunk with the middle of its 10 ms.
            while (self.decided + self.pending.len()) * HOP + HOP / 2 < self.chunks * CHUNK {
                self.pending.push(self.speaking);
            }
        }
        let full = self.received / HOP - self.decided;
        let ready = full.min(self.pending.len());
        out.extend(self.pending.drain(..ready));
        self.decided += ready;
    }
}

/// A detector of a sound that is still arriving, at 16 kHz: any cutting into pieces gives the bits of the whole.
pub struct NeuralStream {
    network: Box<dyn SpeechNetwork>,
    /// What the next chunks are heard with, and their samples so far.
    waiting: Vec<f32>,
    decisions: Decisions,
}

impl NeuralStream {
    /// A detector that has heard nothing.
    pub fn new(network: &SileroNetwork, settings: NeuralSettings) -> Self {
        Self {
            network: network.listener(),
            waiting: vec![0.0; CONTEXT],
            decisions: Decisions::new(settings),
        }
    }

    /// Takes the next samples; appends a decision to each 10 ms that are heard to the end.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<bool>) {
        self.decisions.received += piece.len();
        self.waiting.extend_from_slice(piece);
        self.decide(out);
    }

    /// Ends the sound; appends the decisions that are left. Its last chunk is heard with zeros behind it; 10 ms that
    /// are not full are not decided.
    pub fn finish(mut self, out: &mut Vec<bool>) {
        self.close(out);
    }

    fn close(&mut self, out: &mut Vec<bool>) {
        fill_up(&mut self.waiting);
        self.decide(out);
    }

    fn restart(&mut self) {
        self.network.reset();
        self.waiting.clear();
        self.waiting.resize(CONTEXT, 0.0);
        self.decisions = Decisions::new(self.decisions.settings);
    }

    /// Decides about the whole chunks of those that wait.
    fn decide(&mut self, out: &mut Vec<bool>) {
        let mut probabilities = Vec::new();
        self.network.process(&self.waiting, &mut probabilities);
        let chunks = &self.waiting[CONTEXT..];
        self.decisions.judge(chunks, &probabilities, out);
        self.waiting.drain(..probabilities.len() * CHUNK);
    }
}

/// A planned detector for whole signals.
pub struct NeuralVad {
    stream: NeuralStream,
    resampler: Option<Resampler>,
}

impl NeuralVad {
    /// A detector for signals at `sample_rate`.
    pub fn new(
        network: &SileroNetwork,
        sample_rate: u32,
        settings: NeuralSettings,
    ) -> Result<Self> {
        let resampler = (sample_rate != RATE)
            .then(|| Resampler::new(sample_rate, RATE, Quality::High))
            .transpose()?;
        Ok(Self {
            stream: NeuralStream::new(network, settings),
            resampler,
        })
    }

    /// A detector of a sound that is still arriving, at 16 kHz, with the same bounds.
    pub fn into_stream(mut self) -> NeuralStream {
        self.stream.restart();
        self.stream
    }

    /// The probability of speech in each 32 ms, the network's own number; the last are filled up with zeros.
    pub fn probabilities(&mut self, signal: &[f32]) -> Vec<f32> {
        let mut samples = vec![0.0; CONTEXT];
        samples.extend_from_slice(&self.at_rate(signal));
        fill_up(&mut samples);
        let mut out = Vec::with_capacity(samples.len() / CHUNK);
        self.stream.network.reset();
        self.stream.network.process(&samples, &mut out);
        out
    }

    /// One decision to a full 10 ms of `signal`.
    pub fn decide(&mut self, signal: &[f32]) -> Vec<bool> {
        let mut out = Vec::new();
        self.stream.restart();
        let signal = self.at_rate(signal);
        self.stream.process(&signal, &mut out);
        self.stream.close(&mut out);
        out
    }

    /// One decision to a full 10 ms of a signal at 16 kHz with these probabilities.
    pub(crate) fn judge(
        settings: NeuralSettings,
        signal: &[f32],
        probabilities: &[f32],
    ) -> Vec<bool> {
        let mut decisions = Decisions::new(settings);
        decisions.received = signal.len();
        let mut out = Vec::with_capacity(signal.len() / HOP);
        decisions.judge(signal, probabilities, &mut out);
        out
    }

    fn at_rate<'a>(&self, signal: &'a [f32]) -> Cow<'a, [f32]> {
        match &self.resampler {
            Some(resampler) => Cow::Owned(resampler.process(signal)),
            None => Cow::Borrowed(signal),
        }
    }
}

/// Zeros up to the end of a chunk.
fn fill_up(samples: &mut Vec<f32>) {
    let filled = (samples.len() - CONTEXT).next_multiple_of(CHUNK);
    samples.resize(CONTEXT + filled, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETTINGS: NeuralSettings = NeuralSettings {
        start: 0.18,
        end: 0.172,
    };

    fn signal(samples: usize) -> Vec<f32> {
        let noise = |n: usize| (n as u32).wrapping_mul(2_654_435_761) >> 8;
        let loud = |n: usize| {
            if (n / 3000).is_multiple_of(2) {
                0.3
            } else {
                0.003
            }
        };
        (0..samples)
            .map(|n| loud(n) * (noise(n) as f32 / 8_388_608.0 - 1.0))
            .collect()
    }

    #[test]
    fn silence_is_never_speech_whatever_the_network_says() {
        let always = NeuralSettings {
            start: 0.0,
            end: 0.0,
        };
        let mut vad = NeuralVad::new(&SileroNetwork::made_up().unwrap(), 16_000, always).unwrap();
        let mut sound = signal(16_000);
        sound.resize(48_000, 0.0);
        let decisions = vad.decide(&sound);
        assert_eq!(decisions.len(), 300);
        let probabilities = vad.probabilities(&sound);
        let judged = NeuralVad::judge(always, &sound, &probabilities);
        assert_eq!(judged, decisions);
        assert!(decisions[..98].iter().all(|speech| *speech));
        assert!(decisions[103..].iter().all(|speech| !speech));
        assert!(vad.decide(&[]).is_empty());
        assert!(vad.probabilities(&[]).is_empty());
    }

    #[test]
    fn probabilities_follow_the_sound_and_another_rate_gives_as_many_decisions() {
        let mut vad = NeuralVad::new(&SileroNetwork::made_up().unwrap(), 16_000, SETTINGS).unwrap();
        let sound = signal(20_000);
        let found = vad.probabilities(&sound);
        assert_eq!(found.len(), 40);
        assert!(found.iter().all(|p| (0.0..=1.0).contains(p)));
        let quieter: Vec<f32> = sound.iter().map(|sample| 0.5 * sample).collect();
        let moved = vad.probabilities(&quieter).into_iter().zip(&found);
        let moved = moved.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(moved > 0.01, "{moved}");
        let decisions = vad.decide(&sound);
        let turns = decisions.windows(2).filter(|pair| pair[0] != pair[1]);
        assert_eq!(turns.count(), 2, "speech, none, and speech again");
        let network = SileroNetwork::made_up().unwrap();
        let mut other = NeuralVad::new(&network, 44_100, SETTINGS).unwrap();
        assert_eq!(other.decide(&signal(44_100)).len(), 100);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        #[test]
        fn any_cutting_decides_as_the_whole(
            samples in 0usize..20_000,
            pieces in proptest::collection::vec(1usize..4000, 1..9),
        ) {
            let signal = signal(samples);
            let network = SileroNetwork::made_up().unwrap();
            let whole = NeuralVad::new(&network, 16_000, SETTINGS).unwrap().decide(&signal);
            let mut stream = NeuralStream::new(&network, SETTINGS);
            let (mut rest, mut decided) = (&signal[..], Vec::new());
            for length in pieces.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*length).min(rest.len()));
                stream.process(piece, &mut decided);
                rest = after;
            }
            stream.finish(&mut decided);
            prop_assert_eq!(whole.len(), samples / HOP);
            prop_assert_eq!(decided, whole);
        }
    }
}
