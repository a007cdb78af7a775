//! Voices of many streams before their effects, a batch at a time: the part of rendering that an
//! engine can take over from the streams.
//!
//! Invariant: what an engine renders depends on a request alone, so that a request which failed can
//! be rendered by any other engine, or by the stream itself.

use std::sync::Arc;

use thiserror::Error;
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, PinnedBuffer};

use super::blocks::{DRY, flags, launch_shape};
use super::images::BLOCK_F32;
use super::note_table::{NOTE_WORDS, note_words};
use crate::error::ParamError;
use crate::note::{Formulas, Note};
use crate::params::{Params, Patch, Preset};
use crate::sound::QUANTUM;
use crate::sound::kick::kick_table;
use crate::sound::oscillator::Saw;
use crate::stream::{Stream, StreamSettings};
use crate::voices::{Voices, layers_of};

/// What one stream wants rendered; see [`crate::Stream::ask`].
#[derive(Clone, Debug, Default)]
pub struct DryRequest {
    /// Frames a second.
    pub sample_rate: u32,
    /// Position of the first frame.
    pub position: u64,
    /// Frames, whole quanta.
    pub frames: usize,
    /// The notes that sound there: pads, and all others.
    pub notes: [Vec<Note>; 2],
    /// The answer: stereo frames of the pads, then of the others, neither mixed nor limited.
    pub samples: Vec<f32>,
}

impl DryRequest {
    /// Both channels of pads and others of the quantum at `position`; absent where that was not
    /// requested or not answered.
    pub(crate) fn lanes(&self, position: u64) -> Option<[[[f32; QUANTUM]; 2]; 2]> {
        let first = usize::try_from(position.checked_sub(self.position)?).ok()?;
        if first + QUANTUM > self.frames || self.samples.len() != 4 * self.frames {
            return None;
        }
        let bus = |bus: usize| {
            let from = 2 * (bus * self.frames + first);
            let mut lanes = [[0.0; QUANTUM]; 2];
            let frames = self.samples[from..from + 2 * QUANTUM].chunks_exact(2);
            for (j, frame) in frames.enumerate() {
                lanes[0][j] = frame[0];
                lanes[1][j] = frame[1];
            }
            lanes
        };
        Some([bus(0), bus(1)])
    }
}

/// Why an engine is of no more use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the engine of the voices failed: {reason}")]
pub struct EngineLost {
    /// What it said.
    pub reason: String,
}

impl From<DeviceError> for EngineLost {
    fn from(error: DeviceError) -> Self {
        Self {
            reason: error.to_string(),
        }
    }
}

impl From<ParamError> for EngineLost {
    fn from(error: ParamError) -> Self {
        Self {
            reason: error.to_string(),
        }
    }
}

/// Renders voices for many streams at once.
pub trait DryEngine: Send {
    /// The device, as listeners are told.
    fn name(&self) -> String;

    /// Answers every request. After an error no answer counts, and the engine is not asked again.
    fn render(&mut self, batch: &mut [DryRequest]) -> Result<(), EngineLost>;
}

/// Largest difference from the CPU that an engine may show: −80 dB, far above rounding and far below
/// what a wrong note would be.
const PROOF: f32 = 1e-4;

/// Holds three seconds of every voice against the CPU, so that an engine which computes something
/// else is never heard. Warms the engine up on the way.
pub fn prove(engine: &mut dyn DryEngine) -> Result<(), EngineLost> {
    let mut params = Params::preset(Preset::Bright);
    (params.intensity, params.density) = (1.0, 1.0);
    (params.parts.pulse, params.parts.bells) = (true, true);
    params.instruments.bass = Patch::Felt;
    let mut stream = Stream::new(1, params)?;
    let mut request = [DryRequest::default()];
    stream.send_away();
    stream.ask(3 * 48_000, &mut request[0]);
    let mut expected = request.clone();
    CpuVoices.render(&mut expected)?;
    engine.render(&mut request)?;
    let ([request], [expected]) = (request, expected);
    let pairs = request.samples.iter().zip(&expected.samples);
    let apart: Vec<f32> = pairs.map(|(a, b)| (a - b).abs()).collect();
    // Not `max`, which forgets what is not a number.
    if apart.len() == expected.samples.len() && apart.iter().all(|apart| *apart <= PROOF) {
        return Ok(());
    }
    let worst = apart.into_iter().max_by(f32::total_cmp).unwrap_or(f32::NAN);
    Err(EngineLost {
        reason: format!("its voices differ from the CPU's by {worst:e} of full scale"),
    })
}

/// The specification of [`CudaVoices`], on this thread.
#[derive(Debug, Default)]
pub struct CpuVoices;

impl DryEngine for CpuVoices {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn render(&mut self, batch: &mut [DryRequest]) -> Result<(), EngineLost> {
        for request in batch {
            let style = StreamSettings {
                sample_rate: request.sample_rate,
                ..StreamSettings::default()
            }
            .style()?;
            let count = request.notes[0].len() + request.notes[1].len();
            let layers = request.notes.iter().flatten();
            let layers = layers.map(|note| layers_of(note, style.sample_rate, style.formulas));
            let mut voices = Voices::new(style, count, layers.sum(), count);
            for note in request.notes.iter().flatten() {
                voices.add(*note);
            }
            request.samples.clear();
            request.samples.resize(4 * request.frames, 0.0);
            let (pads, others) = request.samples.split_at_mut(2 * request.frames);
            for first in (0..request.frames).step_by(QUANTUM) {
                let mut lanes = [[[0.0; QUANTUM]; 2]; 2];
                let [filtered, plain] = &mut lanes;
                voices.render(request.position + first as u64, filtered, plain);
                for (bus, [left, right]) in [&mut *pads, &mut *others].into_iter().zip(&lanes) {
                    let frames = bus[2 * first..].chunks_exact_mut(2);
                    for (frame, (left, right)) in frames.zip(left.iter().zip(right)) {
                        frame.copy_from_slice(&[*left, *right]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Floats of the largest answer that is fetched at once, 4 MiB: page-locked memory is everybody's.
const LARGEST_ROOM: usize = 1 << 20;

/// A GPU: one launch for all requests of one rate and length, or for as many as fit.
pub struct CudaVoices {
    gpu: CudaDevice,
    kernel: Arc<Kernel>,
    /// Where answers are made and where they arrive, for each power of two that a batch has needed:
    /// memory taken and given back for every batch would make the device wait twice.
    rooms: Vec<(DeviceBuffer<f32>, PinnedBuffer<f32>)>,
    /// The kick of each rate that was requested.
    kicks: Vec<(u32, DeviceBuffer<f32>)>,
}

impl CudaVoices {
    /// Loads the kernel.
    pub fn new(gpu: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self {
            kernel: gpu.kernel(&BLOCK_F32)?,
            rooms: Vec::new(),
            kicks: Vec::new(),
            gpu: gpu.clone(),
        })
    }

    /// Renders `group`, whose requests have one rate and one length.
    fn render_group(&mut self, group: &mut [&mut DryRequest]) -> Result<(), DeviceError> {
        let Some(first) = group.first() else {
            return Ok(());
        };
        let (sample_rate, frames) = (first.sample_rate, first.frames);
        let (words, offsets) = tables(group);
        let room = (4 * frames * group.len()).next_power_of_two();
        if !self.rooms.iter().any(|(out, _)| out.len() == room) {
            let host = PinnedBuffer::new(&self.gpu, room)?;
            self.rooms.push((self.gpu.alloc(room)?, host));
        }
        let place = self.rooms.iter_mut().find(|(out, _)| out.len() == room);
        if !self.kicks.iter().any(|(rate, _)| *rate == sample_rate) {
            let table = kick_table(sample_rate, Formulas::ClickFree);
            self.kicks.push((sample_rate, self.gpu.upload(&table)?));
        }
        let kick = self.kicks.iter().find(|(rate, _)| *rate == sample_rate);
        let (Some((_, kick)), Some((out, host))) = (kick, place) else {
            return Ok(());
        };
        let (notes, offsets) = (self.gpu.upload(&words)?, self.gpu.upload(&offsets)?);
        let queue = self.gpu.stream().clone();
        let arguments = [
            notes.read(),
            offsets.read(),
            kick.read(),
            out.write(),
            // Notes begin as far from here as their stream is from them.
            0u64.into(),
            (frames as u32).into(),
            (flags(Formulas::ClickFree, Saw::default()) | DRY).into(),
        ];
        let shape = launch_shape(frames, 2 * group.len());
        queue.launch(&self.kernel, shape, &arguments)?;
        queue.copy_to_host(out, host)?;
        let answers = host.as_slice()?.chunks_exact(4 * frames);
        for (request, answer) in group.iter_mut().zip(answers) {
            request.samples.clear();
            request.samples.extend_from_slice(answer);
        }
        Ok(())
    }
}

/// Note words and offsets of the pads and the others of each request, as the kernel reads them.
fn tables(group: &[&mut DryRequest]) -> (Vec<u64>, Vec<u32>) {
    let (mut words, mut offsets) = (Vec::new(), vec![0u32]);
    for request in group {
        for notes in &request.notes {
            for note in notes {
                let here = Note {
                    start: note.start.wrapping_sub(request.position),
                    ..*note
                };
                let layers = note_words(&here, request.sample_rate, Formulas::ClickFree);
                words.extend(layers.flatten());
            }
            offsets.push(u32::try_from(words.len() / NOTE_WORDS).unwrap_or(u32::MAX));
        }
    }
    // A table of nothing is still a table.
    words.resize(words.len().max(NOTE_WORDS), 0);
    (words, offsets)
}

impl DryEngine for CudaVoices {
    fn name(&self) -> String {
        format!("cuda: {}", self.gpu.facts().name)
    }

    fn render(&mut self, batch: &mut [DryRequest]) -> Result<(), EngineLost> {
        let mut waiting: Vec<&mut DryRequest> = batch.iter_mut().collect();
        waiting.sort_by_key(|request| (request.sample_rate, request.frames));
        let same = |a: &&mut DryRequest, b: &&mut DryRequest| {
            (a.sample_rate, a.frames) == (b.sample_rate, b.frames)
        };
        for group in waiting.chunk_by_mut(same) {
            let frames = group[0].frames;
            if frames > 0 {
                let most = (LARGEST_ROOM / (4 * frames)).max(1);
                for part in group.chunks_mut(most) {
                    self.render_group(part)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::note_table::note_end;

    /// A stream whose voices an engine renders, in blocks of `frames`.
    fn through(engine: &mut dyn DryEngine, seed: u64, blocks: usize, frames: usize) -> Vec<f32> {
        let mut stream = Stream::new(seed, Params::default()).unwrap();
        assert!(stream.send_away());
        let mut requests = [DryRequest::default()];
        let mut out = vec![0.0f32; 2 * frames];
        let mut all = Vec::new();
        for _ in 0..blocks {
            stream.ask(frames, &mut requests[0]);
            engine.render(&mut requests).unwrap();
            // In two pieces, as a ring takes it.
            let (early, late) = out.split_at_mut(frames & !1);
            stream.render_dry_into(&requests[0], early);
            stream.render_dry_into(&requests[0], late);
            all.extend_from_slice(&out);
        }
        // From here on by itself.
        stream.render_into(&mut out);
        all.extend_from_slice(&out);
        all
    }

    #[test]
    fn a_stream_whose_voices_come_from_an_engine_sounds_as_by_itself() {
        for frames in [960, 882, 4_800, 1] {
            let blocks = (48_000 * 6 / frames).min(2_000);
            let heard = through(&mut CpuVoices, 3, blocks, frames);
            let mut expected = vec![0.0f32; heard.len()];
            Stream::new(3, Params::default())
                .unwrap()
                .render_into(&mut expected);
            let noise: f64 = heard
                .iter()
                .zip(&expected)
                .map(|(a, b)| f64::from(a - b).powi(2))
                .sum();
            let power: f64 = expected.iter().map(|b| f64::from(*b).powi(2)).sum();
            let db = 10.0 * (noise.max(1e-30) / power.max(1e-30)).log10();
            assert!(db < -100.0, "{frames}: {db:.1} dB");
        }
    }

    /// An engine that is wrong in one voice-sample, or silent about some.
    struct Wrong(fn(&mut Vec<f32>));

    impl DryEngine for Wrong {
        fn name(&self) -> String {
            "wrong".to_owned()
        }

        fn render(&mut self, batch: &mut [DryRequest]) -> Result<(), EngineLost> {
            CpuVoices.render(batch)?;
            batch
                .iter_mut()
                .for_each(|request| self.0(&mut request.samples));
            Ok(())
        }
    }

    #[test]
    fn only_an_engine_that_computes_the_same_is_proven() {
        prove(&mut CpuVoices).unwrap();
        let wrongs: [fn(&mut Vec<f32>); 4] = [
            |samples| samples[100_000] += 2e-4,
            |samples| samples[7] = f32::NAN,
            |samples| samples.truncate(1_000),
            |samples| samples.fill(0.0),
        ];
        for wrong in wrongs {
            assert!(prove(&mut Wrong(wrong)).is_err());
        }
    }

    #[test]
    fn what_was_not_asked_for_is_rendered_by_the_stream() {
        let mut stream = Stream::new(4, Params::default()).unwrap();
        stream.send_away();
        let mut request = DryRequest::default();
        stream.ask(960, &mut request);
        // The answer never came.
        let mut heard = vec![0i16; 2 * 960];
        stream.render_dry_into(&request, &mut heard);
        let mut expected = heard.clone();
        Stream::new(4, Params::default())
            .unwrap()
            .render_into(&mut expected);
        assert_eq!(heard, expected);
    }

    #[test]
    fn tables_place_notes_relative_to_their_stream() {
        let note = Note {
            voice: crate::Voice::Pad,
            start: 1_000,
            length: 48_000,
            pitch: 60.0,
            velocity: 0.5,
            pan: 0.0,
            seed: 0,
            patch: Patch::Usual,
        };
        let mut request = DryRequest {
            sample_rate: 48_000,
            position: 64_000,
            frames: 64,
            notes: [vec![note], Vec::new()],
            samples: Vec::new(),
        };
        let (words, offsets) = tables(&[&mut request]);
        assert_eq!(offsets, [0, 1, 1]);
        assert_eq!(words.len(), NOTE_WORDS);
        assert_eq!(words[0].cast_signed(), -63_000);
        let lasts = note_end(&note, 48_000, Formulas::ClickFree) - note.start;
        assert_eq!(words[3] & 0xffff_ffff, lasts);
    }
}
