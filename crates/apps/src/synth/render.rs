//! `warpsmith synth render`: music of any length into a WAV or FLAC file.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_device::DeviceChoice;
use warpsmith_formats::{check_vacant, write_output};
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::preset_file::preset_text;
use warpsmith_synth::{
    COMPOSITION_VERSION, Formulas, ParamError, Params, Stream, StreamSettings, compose_with,
};

use super::gpu_voices::{GpuVoices, WarmUp};
use super::music::Music;
use super::sound_file::SoundFile;
use super::{spectrogram, stems};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Render music into a WAV or FLAC file, many times faster than it plays.
///
/// One stream takes a thousandth of a core, so that the CPU renders it unless `--device cuda` is given;
/// then a GPU renders the voices, to a 16-bit step the same, and how long its warm-up took is printed.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith synth render --seed 7 --duration 60s --output a.wav
  warpsmith synth render --preset sleep --duration 8h --output night.wav
  warpsmith synth render --key F# --scale lydian --bpm 90 --intensity 0.9 --output b.wav --midi b.mid
  warpsmith synth render --form 10m --output piece.flac --stems parts --midi piece.mid
  warpsmith synth render --preset night.toml --output d.wav
  warpsmith synth render --device cuda --duration 10m --output c.wav
The same seed and parameters give the same bytes.")]
pub(crate) struct Render {
    /// The file to write, 16-bit stereo: WAV, or FLAC where its name ends in `.flac`.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Which piece.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long the music is; default: 60s, or as long as the form and its last chord.
    #[arg(long, alias = "seconds", value_name = "TIME", value_parser = numbers::seconds)]
    duration: Option<f64>,
    /// A piece with an end: it arrives, stays and lets go within this time.
    #[arg(long, value_name = "TIME", value_parser = numbers::seconds)]
    form: Option<f64>,
    /// Frames a second, 8000 to 192000.
    #[arg(long, value_name = "HZ", default_value_t = 48_000)]
    rate: u32,
    /// The first engine's formulas: mono, steps in the envelopes, no effects.
    #[arg(long)]
    original: bool,
    /// Also write the notes as a MIDI file.
    #[arg(long, value_name = "FILE")]
    midi: Option<PathBuf>,
    /// Also write every part by itself into this folder.
    #[arg(long, value_name = "FOLDER")]
    stems: Option<PathBuf>,
    /// Also write the parameters as a preset that `--preset` reads.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    save_preset: Option<PathBuf>,
    /// Also draw a mel spectrogram of the first ten minutes as PNG.
    #[arg(long, value_name = "FILE")]
    spectrogram: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    music: Music,
}

/// The longest file: a week.
const LONGEST_SECONDS: f64 = 7.0 * 86_400.0;
/// Seconds that a spectrogram shows at most.
const DRAWN_SECONDS: u64 = 600;
/// Seconds that the last chord of a form rings.
const RINGS_SECONDS: f64 = 8.0;

#[derive(Serialize)]
struct Body {
    file: PathBuf,
    seed: u64,
    params: Option<Params>,
    /// A seed of another version is another piece.
    composition: u32,
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
        let seconds = self.seconds();
        if !(seconds > 0.0 && seconds <= LONGEST_SECONDS) {
            bail!("`--duration {seconds}` is outside 0 to {LONGEST_SECONDS}");
        }
        let settings = StreamSettings {
            sample_rate: self.rate,
            formulas: if self.original {
                Formulas::Original
            } else {
                Formulas::ClickFree
            },
            form_seconds: self.form,
            ..StreamSettings::default()
        };
        let opened = self
            .music
            .params()
            .and_then(|params| Ok((params, Stream::with_settings(self.seed, params, settings)?)));
        let (params, mut stream) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(global, &error),
        };
        let gpu = match global.device {
            DeviceChoice::Cuda(_) => Some(GpuVoices::open(global.device, &mut stream)?),
            _ => None,
        };
        let frames = (seconds * f64::from(self.rate)).round() as u64;
        self.check_stems(&params)?;
        let begun = Instant::now();
        let (body, drawn) = self.write(global, &params, &mut stream, gpu, frames)?;
        let notes = compose_with(self.seed, &params, &settings, frames);
        if let Some(path) = &self.midi {
            write_output(path, &midi_file(&notes, &params, self.seed, self.rate))?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        if let Some(path) = &self.save_preset {
            write_output(path, preset_text(&params).as_bytes())?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        if let Some(folder) = &self.stems {
            let ending = self.stems_ending();
            for path in stems::write(folder, ending, self.seed, &params, &settings, frames)? {
                output::note(global, &format!("wrote {}", path.display()));
            }
        }
        if let Some(path) = &self.spectrogram {
            write_output(path, &spectrogram::picture(&drawn, self.rate)?)?;
            output::note(global, &format!("wrote {}", path.display()));
        }
        let elapsed = begun.elapsed().as_secs_f64();
        let body = Body {
            notes: notes.len(),
            render_seconds: elapsed,
            times_real_time: seconds / elapsed,
            ..body
        };
        let report = output::report("synth render", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }

    /// How long the file is.
    fn seconds(&self) -> f64 {
        let form = self.form.map(|form| form + RINGS_SECONDS);
        self.duration.or(form).unwrap_or(60.0)
    }

    /// Stems are files of the same kind as the whole.
    fn stems_ending(&self) -> &'static str {
        let ending = self.output.extension();
        match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("flac")) {
            true => "flac",
            false => "wav",
        }
    }

    /// Whether stems would replace files that nobody wants replaced.
    fn check_stems(&self, params: &Params) -> Result<()> {
        let Some(folder) = self.stems.as_deref().filter(|_| !self.force) else {
            return Ok(());
        };
        for path in stems::paths(folder, params, self.stems_ending()) {
            check_vacant(&path)?;
        }
        Ok(())
    }

    /// Finds out before the rendering what could not be written after it.
    fn check_outputs(&self, global: &Global) -> Result<Global> {
        let midi = self.midi.as_deref();
        let checked = output::check_outputs(
            global,
            &[
                ("--output", Some(&self.output)),
                ("--midi", midi),
                ("--save-preset", self.save_preset.as_deref()),
                ("--spectrogram", self.spectrogram.as_deref()),
            ],
        )?;
        if !self.force {
            check_vacant(&self.output)?;
            midi.map(check_vacant).transpose()?;
            self.save_preset.as_deref().map(check_vacant).transpose()?;
        }
        Ok(checked)
    }

    /// What is wrong with the parameters, as a finding.
    fn refuse(&self, global: &Global, error: &ParamError) -> Result<Outcome> {
        let body = Body {
            file: self.output.clone(),
            seed: self.seed,
            params: None,
            composition: COMPOSITION_VERSION,
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
        let mut out = SoundFile::create(&self.output, self.rate, frames)?;
        let mut samples = vec![0i16; 2 * self.rate as usize];
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
            for frame in block.chunks_exact(2) {
                if (drawn.len() as u64) < most_drawn {
                    let sum = f32::from(frame[0]) + f32::from(frame[1]);
                    drawn.push(sum / 65_534.0);
                }
            }
            for sample in block.iter() {
                peak = peak.max(sample.unsigned_abs());
                power += f64::from(*sample) * f64::from(*sample);
            }
            out.add(block)?;
            done += count as u64;
            let share = (20 * done / frames) as usize;
            output::progress(
                global,
                &format!(
                    "[{}{}] {} of {} s",
                    "#".repeat(share),
                    "-".repeat(20 - share),
                    done / u64::from(self.rate),
                    frames / u64::from(self.rate)
                ),
            );
        }
        output::progress(global, "");
        out.finish()?;
        let body = Body {
            file: self.output.clone(),
            seed: self.seed,
            params: Some(*params),
            composition: COMPOSITION_VERSION,
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
