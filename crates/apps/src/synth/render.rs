//! `warpsmith synth render`: music of any length into a WAV file.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_device::DeviceChoice;
use warpsmith_formats::wav::WavFormat;
use warpsmith_formats::{OutputFile, check_vacant, write_output};
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::{Formulas, ParamError, Params, Stream, StreamSettings, compose};

use super::gpu_voices::{GpuVoices, WarmUp};
use super::music::Music;
use super::spectrogram;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Render music into a WAV file, many times faster than it plays.
///
/// One stream takes a thousandth of a core, so that the CPU renders it unless `--device cuda` is given;
/// then a GPU renders the voices, to a 16-bit step the same, and how long its warm-up took is printed.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith synth render --seed 7 --duration 60s --output a.wav
  warpsmith synth render --preset sleep --duration 8h --output night.wav
  warpsmith synth render --key F# --scale lydian --bpm 90 --intensity 0.9 --output b.wav --midi b.mid
  warpsmith synth render --device cuda --duration 10m --output c.wav
The same seed and parameters give the same bytes.")]
pub(crate) struct Render {
    /// The WAV file to write: 16-bit stereo.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Which piece.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long the music is.
    #[arg(long, alias = "seconds", default_value = "60s", value_name = "TIME", value_parser = numbers::seconds)]
    duration: f64,
    /// Frames a second, 8000 to 192000.
    #[arg(long, value_name = "HZ", default_value_t = 48_000)]
    rate: u32,
    /// The first engine's formulas: mono, steps in the envelopes, no effects.
    #[arg(long)]
    original: bool,
    /// Also write the notes as a MIDI file.
    #[arg(long, value_name = "FILE")]
    midi: Option<PathBuf>,
    /// Also draw a mel spectrogram of the first ten minutes as PNG.
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
    /// Replace the WAV and MIDI files if they exist.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    music: Music,
}

/// The longest file: a week.
const LONGEST_SECONDS: f64 = 7.0 * 86_400.0;
/// Seconds that a spectrogram shows at most.
const DRAWN_SECONDS: u64 = 600;

#[derive(Serialize)]
struct Body {
    file: PathBuf,
    seed: u64,
    params: Option<Params>,
    sample_rate: u32,
    frames: u64,
    notes: usize,
    peak: f64,
    rms: f64,
    dropped_notes: u64,
    render_seconds: f64,
    times_real_time: f64,
    /// From nothing to the first sound of a GPU, where one rendered.
    warm_up: Option<WarmUp>,
}

impl Render {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.check_outputs(global)?;
        if !(self.duration > 0.0 && self.duration <= LONGEST_SECONDS) {
            bail!(
                "`--duration {}` is outside 0 to {LONGEST_SECONDS}",
                self.duration
            );
        }
        let opened = self.music.params().and_then(|params| {
            let settings = StreamSettings {
                sample_rate: self.rate,
                formulas: if self.original {
                    Formulas::Original
                } else {
                    Formulas::ClickFree
                },
                ..StreamSettings::default()
            };
            Ok((params, Stream::with_settings(self.seed, params, settings)?))
        });
        let (params, mut stream) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(global, &error),
        };
        let gpu = match global.device {
            DeviceChoice::Cuda(_) => Some(GpuVoices::open(global.device, &mut stream)?),
            _ => None,
        };
        let frames = (self.duration * f64::from(self.rate)).round() as u64;
        let begun = Instant::now();
        let (body, drawn) = self.write(global, &params, &mut stream, gpu, frames)?;
        let notes = compose(self.seed, &params, self.rate, frames);
        if let Some(path) = &self.midi {
            write_output(path, &midi_file(&notes, params.bpm, self.rate))?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        if let Some(path) = &self.spectrogram {
            write_output(path, &spectrogram::picture(&drawn, self.rate)?)?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        let elapsed = begun.elapsed().as_secs_f64();
        let body = Body {
            notes: notes.len(),
            render_seconds: elapsed,
            times_real_time: self.duration / elapsed,
            ..body
        };
        let report = output::report("synth render", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }

    /// Finds out before the rendering what could not be written after it.
    fn check_outputs(&self, global: &Global) -> Result<Global> {
        let midi = self.midi.as_deref();
        let checked = output::check_outputs(
            global,
            &[
                ("--output", Some(&self.output)),
                ("--midi", midi),
                ("--spectrogram", self.spectrogram.as_deref()),
            ],
        )?;
        if !self.force {
            check_vacant(&self.output)?;
            midi.map(check_vacant).transpose()?;
        }
        Ok(checked)
    }

    /// What is wrong with the parameters, as a finding.
    fn refuse(&self, global: &Global, error: &ParamError) -> Result<Outcome> {
        let body = Body {
            file: self.output.clone(),
            seed: self.seed,
            params: None,
            sample_rate: self.rate,
            frames: 0,
            notes: 0,
            peak: 0.0,
            rms: 0.0,
            dropped_notes: 0,
            render_seconds: 0.0,
            times_real_time: 0.0,
            warm_up: None,
        };
        let mut report = output::report("synth render", body);
        report.findings.push(error.finding());
        output::print(global, &report, |_| "nothing was rendered\n".to_owned())?;
        Ok(Outcome::NotFine)
    }

    /// Renders into the file; gives also what is drawn, in mono.
    fn write(
        &self,
        global: &Global,
        params: &Params,
        stream: &mut Stream,
        mut gpu: Option<GpuVoices>,
        frames: u64,
    ) -> Result<(Body, Vec<f32>)> {
        let mut out = OutputFile::create(&self.output)?;
        let doing = || format!("cannot write `{}`", self.output.display());
        out.write_all(&WavFormat::pcm16(self.rate, 2).head(frames))
            .with_context(doing)?;
        let mut samples = vec![0i16; 2 * self.rate as usize];
        let mut bytes = Vec::with_capacity(2 * samples.len());
        let (mut done, mut peak, mut power) = (0, 0u16, 0.0);
        let most_drawn = match self.spectrogram {
            Some(_) => DRAWN_SECONDS * u64::from(self.rate),
            None => 0,
        };
        let mut drawn = Vec::with_capacity(frames.min(most_drawn) as usize);
        while done < frames {
            let count = (frames - done).min(u64::from(self.rate)) as usize;
            let block = &mut samples[..2 * count];
            match &mut gpu {
                Some(gpu) => gpu.render_into(stream, block)?,
                None => stream.render_into(block),
            }
            bytes.clear();
            for frame in block.chunks_exact(2) {
                if (drawn.len() as u64) < most_drawn {
                    let sum = f32::from(frame[0]) + f32::from(frame[1]);
                    drawn.push(sum / 65_534.0);
                }
            }
            for sample in block.iter() {
                peak = peak.max(sample.unsigned_abs());
                power += f64::from(*sample) * f64::from(*sample);
                bytes.extend_from_slice(&sample.to_le_bytes());
            }
            out.write_all(&bytes).with_context(doing)?;
            done += count as u64;
            let share = (20 * done / frames) as usize;
            output::progress(
                global,
                &format!(
                    "[{}{}] {} of {} s",
                    "#".repeat(share),
                    "-".repeat(20 - share),
                    done / u64::from(self.rate),
                    self.duration
                ),
            );
        }
        output::progress(global, "");
        out.finish()?;
        let body = Body {
            file: self.output.clone(),
            seed: self.seed,
            params: Some(*params),
            sample_rate: self.rate,
            frames,
            notes: 0,
            peak: f64::from(peak) / 32_767.0,
            rms: (power / (2 * frames.max(1)) as f64).sqrt() / 32_767.0,
            dropped_notes: stream.dropped_notes(),
            render_seconds: 0.0,
            times_real_time: 0.0,
            warm_up: gpu.map(|gpu| gpu.warm_up),
        };
        Ok((body, drawn))
    }
}

fn describe(body: &Body) -> String {
    let warm_up = body.warm_up.as_ref().map(WarmUp::describe);
    format!(
        "{}: {:.1} s at {} Hz, {} notes, seed {}\npeak {:.1} dBFS, level {:.1} dBFS\n{}",
        body.file.display(),
        body.frames as f64 / f64::from(body.sample_rate),
        body.sample_rate,
        body.notes,
        body.seed,
        20.0 * body.peak.max(1e-9).log10(),
        20.0 * body.rms.max(1e-9).log10(),
        warm_up.unwrap_or_default(),
    )
}
