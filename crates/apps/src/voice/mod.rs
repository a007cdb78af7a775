//! `warpsmith voice …`: audio analysis from files and pipes.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use warpsmith_device::DeviceChoice;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

mod activity;
mod analysis;
mod analyze;
mod batch;
mod chroma;
mod constant_q;
mod conversion;
mod device;
mod effect;
mod egemaps;
mod endings;
mod feature;
mod frame_sizes;
mod heard;
mod hpss;
mod input;
mod key;
mod left_out;
mod live;
mod loudness;
mod onsets;
mod picture;
mod pitch;
mod pitch_live;
mod pitch_options;
mod pitch_rows;
mod places;
mod quality;
mod recording;
mod rhythm;
mod segment_text;
mod segments;
mod shape;
mod sheet;
mod sound;
mod sources;
mod spectrum_options;
mod turns;
mod weights;

/// Analyse and change audio: pitch, speech, features, loudness.
///
/// Reads WAV, RF64, W64, FLAC, MP3, OGG and Opus, WebM and MKA, AIFF, AU, CAF, M4A and raw samples.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice analyze *.wav
  warpsmith voice mel recordings/ --as npy --output features/
  warpsmith voice pitch song.flac --method pyin --output pitch.csv
  warpsmith voice mel speech.mp3 --preset whisper --as npy --output mel.npy
  warpsmith voice convert song.m4a --rate 16000 --mono --output song.wav
  ffmpeg -i film.mkv -f wav - | warpsmith voice segments -")]
pub struct Voice {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Analyze(analyze::Analyze),
    Pitch(pitch::Pitch),
    Vad(activity::Vad),
    Segments(segments::Segments),
    Turns(turns::Turns),
    Mel(feature::Mel),
    Mfcc(feature::Mfcc),
    Spectrogram(feature::Spectrogram),
    Cqt(constant_q::Cqt),
    Shape(shape::Shape),
    Chroma(chroma::Chroma),
    Onsets(onsets::Onsets),
    Tempo(rhythm::Tempo),
    Beats(rhythm::Beats),
    Tempogram(rhythm::Tempogram),
    Key(key::Key),
    Loudness(loudness::Loudness),
    Formants(quality::Formants),
    Quality(quality::QualityOf),
    Egemaps(egemaps::Egemaps),
    Picture(picture::Picture),
    Hpss(hpss::Hpss),
    Denoise(effect::Denoise),
    PitchShift(effect::PitchShift),
    Stretch(effect::Stretch),
    Convert(effect::Convert),
}

impl Voice {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        let on_gpu_too = matches!(
            self.verb,
            Verb::Analyze(_)
                | Verb::Pitch(_)
                | Verb::Vad(_)
                | Verb::Segments(_)
                | Verb::Mel(_)
                | Verb::Mfcc(_)
                | Verb::Spectrogram(_)
                | Verb::Cqt(_)
                | Verb::Shape(_)
                | Verb::Chroma(_)
                | Verb::Onsets(_)
                | Verb::Formants(_)
        );
        // A run that requested the GPU and used the CPU would be a wrong answer.
        if let (DeviceChoice::Cuda(_), false) = (global.device, on_gpu_too) {
            bail!(
                "only `voice analyze`, `pitch`, `vad`, `segments`, `formants`, `mel`, `mfcc`, `spectrogram`, \
                 `cqt`, `shape`, `chroma` and `onsets` run on a GPU; leave `--device` out for the others"
            );
        }
        match &self.verb {
            Verb::Analyze(verb) => verb.run(global),
            Verb::Pitch(verb) => verb.run(global),
            Verb::Vad(verb) => verb.run(global),
            Verb::Segments(verb) => verb.run(global),
            Verb::Turns(verb) => verb.run(global),
            Verb::Mel(verb) => verb.run(global),
            Verb::Mfcc(verb) => verb.run(global),
            Verb::Spectrogram(verb) => verb.run(global),
            Verb::Cqt(verb) => verb.run(global),
            Verb::Shape(verb) => verb.run(global),
            Verb::Chroma(verb) => verb.run(global),
            Verb::Onsets(verb) => verb.run(global),
            Verb::Tempo(verb) => verb.run(global),
            Verb::Beats(verb) => verb.run(global),
            Verb::Tempogram(verb) => verb.run(global),
            Verb::Key(verb) => verb.run(global),
            Verb::Loudness(verb) => verb.run(global),
            Verb::Formants(verb) => verb.run(global),
            Verb::Quality(verb) => verb.run(global),
            Verb::Egemaps(verb) => verb.run(global),
            Verb::Picture(verb) => verb.run(global),
            Verb::Hpss(verb) => verb.run(global),
            Verb::Denoise(verb) => verb.run(global),
            Verb::PitchShift(verb) => verb.run(global),
            Verb::Stretch(verb) => verb.run(global),
            Verb::Convert(verb) => verb.run(global),
        }
    }
}
