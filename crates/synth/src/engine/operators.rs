//! A phrase on the GPU in the ways that the matrix compares: a launch per operator, per voice, or
//! for everything.

use std::sync::Arc;

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};

use super::blocks::{NoteTables, THREADS, TILE, flags, launch_shape};
use super::images;
use super::note_table::{note_span, note_words};
use crate::note::{Formulas, Voice};
use crate::phrase::Phrase;
use crate::sound::oscillator::Saw;

/// How much one launch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launches {
    /// All notes and the master.
    Phrase,
    /// One note; then the master.
    Voice,
    /// One operator of one note, through memory; then the master.
    Operator,
}

/// A layer of a note as the loops below need it.
struct Place {
    tone: bool,
    first_tile: u32,
    tiles: u32,
    length: usize,
}

/// A phrase on the device.
pub(crate) struct DevicePhrase {
    tables: NoteTables,
    places: Vec<Place>,
    block: Arc<Kernel>,
    voice_add: Arc<Kernel>,
    sine: Arc<Kernel>,
    saw: Arc<Kernel>,
    envelope: Arc<Kernel>,
    add: Arc<Kernel>,
    multiply: Arc<Kernel>,
    mix: Arc<Kernel>,
    master: Arc<Kernel>,
    sums: DeviceBuffer<f32>,
    temporaries: [DeviceBuffer<f32>; 3],
    frames: usize,
    flags: u32,
}

impl DevicePhrase {
    pub(crate) fn new(
        gpu: &CudaDevice,
        phrase: &Phrase,
        formulas: Formulas,
        saw: Saw,
        launches: Launches,
    ) -> Result<Self, DeviceError> {
        let places: Vec<Place> = phrase
            .notes
            .iter()
            .flat_map(|note| {
                let tone = !matches!(note.voice, Voice::Kick | Voice::Swell);
                note_words(note, phrase.sample_rate, formulas).map(move |words| (tone, words))
            })
            .map(|(tone, words)| {
                let (start, end) = note_span(&words);
                let end = end.min(phrase.frames as u64).max(start);
                let first_tile = start / TILE as u64;
                Place {
                    tone,
                    first_tile: first_tile as u32,
                    tiles: (end.div_ceil(TILE as u64) - first_tile).max(1) as u32,
                    length: (end - start) as usize,
                }
            })
            .collect();
        let longest = places.iter().map(|place| place.length).max().unwrap_or(0);
        let (sums, temporary) = match launches {
            Launches::Phrase => (0, 0),
            Launches::Voice => (2 * phrase.frames, 0),
            Launches::Operator => (2 * phrase.frames, longest),
        };
        let mut zeroed = gpu.alloc::<f32>(sums)?;
        zeroed.fill_bytes(gpu.stream(), 0)?;
        gpu.stream().synchronize()?;
        Ok(Self {
            tables: NoteTables::upload(gpu, &[&phrase.notes], phrase.sample_rate, formulas)?,
            places,
            block: gpu.kernel(&images::BLOCK_PCM16)?,
            voice_add: gpu.kernel(&images::VOICE_ADD)?,
            sine: gpu.kernel(&images::SINE_INTO)?,
            saw: gpu.kernel(&images::SAW_INTO)?,
            envelope: gpu.kernel(&images::ENVELOPE_INTO)?,
            add: gpu.kernel(&images::ADD_INTO)?,
            multiply: gpu.kernel(&images::MULTIPLY_INTO)?,
            mix: gpu.kernel(&images::MIX_INTO)?,
            master: gpu.kernel(&images::MASTER_PCM16)?,
            sums: zeroed,
            temporaries: [
                gpu.alloc(temporary)?,
                gpu.alloc(temporary)?,
                gpu.alloc(temporary)?,
            ],
            frames: phrase.frames,
            flags: flags(formulas, saw),
        })
    }

    /// Queues everything that ends in 16-bit stereo in `out`.
    pub(crate) fn queue(
        &mut self,
        queue: &Stream,
        launches: Launches,
        out: &mut DeviceBuffer<i16>,
    ) -> Result<(), DeviceError> {
        if launches == Launches::Phrase {
            return self.queue_block(queue, &Arc::clone(&self.block), out.write());
        }
        for index in 0..self.places.len() {
            if launches == Launches::Operator && self.places[index].tone {
                self.queue_operators(queue, index)?;
            } else {
                self.queue_voice(queue, index)?;
            }
        }
        let shape = LaunchShape::linear(self.sums.len(), THREADS);
        queue.launch(
            &self.master,
            shape,
            &[self.sums.write(), out.write(), self.flags.into()],
        )
    }

    /// Queues one launch of `kernel`, one of the three that render whole blocks.
    pub(crate) fn queue_block(
        &self,
        queue: &Stream,
        kernel: &Kernel,
        out: warpsmith_device::Argument<'_>,
    ) -> Result<(), DeviceError> {
        let arguments = [
            self.tables.notes.read(),
            self.tables.offsets.read(),
            self.tables.kick.read(),
            out,
            0u64.into(),
            (self.frames as u32).into(),
            self.flags.into(),
        ];
        queue.launch(kernel, launch_shape(self.frames, 1), &arguments)
    }

    fn queue_voice(&mut self, queue: &Stream, index: usize) -> Result<(), DeviceError> {
        let place = &self.places[index];
        let shape = LaunchShape {
            grid: [place.tiles, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
        };
        let arguments = [
            self.tables.notes.read(),
            self.tables.kick.read(),
            self.sums.write(),
            (index as u32).into(),
            place.first_tile.into(),
            self.flags.into(),
        ];
        queue.launch(&self.voice_add, shape, &arguments)
    }

    fn queue_operators(&mut self, queue: &Stream, index: usize) -> Result<(), DeviceError> {
        let shape = LaunchShape::linear(self.places[index].length, THREADS);
        let index = index as u32;
        let [wave, saw, envelope] = &mut self.temporaries;
        let notes = &self.tables.notes;
        queue.launch(
            &self.sine,
            shape,
            &[notes.read(), wave.write(), index.into()],
        )?;
        let arguments = [notes.read(), saw.write(), index.into(), self.flags.into()];
        queue.launch(&self.saw, shape, &arguments)?;
        queue.launch(&self.add, shape, &[saw.read(), wave.write()])?;
        queue.launch(
            &self.envelope,
            shape,
            &[notes.read(), envelope.write(), index.into()],
        )?;
        queue.launch(&self.multiply, shape, &[envelope.read(), wave.write()])?;
        let arguments = [wave.read(), notes.read(), self.sums.write(), index.into()];
        queue.launch(&self.mix, shape, &arguments)
    }
}
