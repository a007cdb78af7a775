//! `warpsmith voice pitch`: the fundamental frequency of every frame.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_device::{CudaDevice, DeviceChoice};
use warpsmith_voice::{
    Framing, HqPitch, Padding, PitchRange, PraatPitch, PraatSettings, Pyin, PyinSettings, Yin,
    yin_on_cuda,
};

use super::device::{GROUP_BYTES, by_rate, gpu_for};
use super::input::Input;
use super::sheet::{Destination, Sheet};
use crate::arguments::Global;
use crate::exit::Outcome;

/// Track the fundamental frequency.
#[derive(Args)]
#[command(after_help = "Examples:
  warpsmith voice pitch song.wav
  warpsmith voice pitch song.wav --method yin --low 80 --high 400 --as npy --output f0.npy")]
pub(crate) struct Pitch {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// `pyin` decides voicing, `yin` gives a frequency for every frame, both as librosa does;
    /// `praat` is Praat's autocorrelation; `hq` is the most accurate, in noise and vibrato too.
    #[arg(long, value_enum, default_value_t = Method::Pyin)]
    method: Method,
    /// Lowest frequency looked for, Hz.
    #[arg(long, default_value_t = PitchRange::VOICE.low_hz)]
    low: f64,
    /// Highest frequency looked for, Hz.
    #[arg(long, default_value_t = PitchRange::VOICE.high_hz)]
    high: f64,
    /// Samples in a frame; long enough for two of the longest periods where absent.
    #[arg(long)]
    frame: Option<usize>,
    /// Samples between frames; 10 ms where absent.
    #[arg(long)]
    hop: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Pyin,
    Yin,
    Praat,
    Hq,
}

/// Frames that hold two periods of the lowest frequency, a power of two, 10 ms apart.
pub(super) fn default_framing(sample_rate: u32, range: PitchRange) -> Framing {
    let two_periods = (2.0 * f64::from(sample_rate) / range.low_hz.max(1.0)).ceil() as usize + 2;
    Framing {
        length: two_periods.next_power_of_two().max(1024),
        hop: (sample_rate as usize / 100).max(1),
        padding: Padding::CentredZero,
    }
}

impl Pitch {
    fn framing(&self, rate: u32, range: PitchRange) -> Framing {
        let framing = default_framing(rate, range);
        Framing {
            length: self.frame.unwrap_or(framing.length),
            hop: self.hop.unwrap_or(framing.hop),
            ..framing
        }
    }

    /// The GPU for YIN, where it was asked for or is faster; the other methods have no kernel.
    fn gpu(&self, global: &Global) -> Result<Option<CudaDevice>> {
        if self.method == Method::Yin {
            return gpu_for(global, "voice/yin", &self.input, true);
        }
        if let DeviceChoice::Cuda(_) = global.device {
            bail!("only `--method yin` runs on a GPU; leave `--device` out for the others");
        }
        Ok(None)
    }

    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let range = PitchRange {
            low_hz: self.low,
            high_hz: self.high,
        };
        if let Some(gpu) = self.gpu(global)? {
            self.destination
                .in_groups(global, &self.input, GROUP_BYTES, |paths| {
                    let signals: Vec<(Vec<f32>, u32)> = paths
                        .iter()
                        .map(|path| self.input.signal(path))
                        .collect::<Result<_>>()?;
                    by_rate(&signals, |rate, same| {
                        let framing = self.framing(rate, range);
                        let tracks = yin_on_cuda(&gpu, rate, framing, range, same)?;
                        Ok(tracks
                            .iter()
                            .map(|track| yin_sheet(track, framing, rate))
                            .collect())
                    })
                })?;
            return Ok(Outcome::Fine);
        }
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let framing = self.framing(rate, range);
            let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(rate);
            let mut values = Vec::new();
            let columns: &[&str] = match self.method {
                Method::Yin => {
                    let track = Yin::new(rate, framing, range, 0.1)?.track(&signal)?;
                    return Ok(yin_sheet(&track, framing, rate));
                }
                Method::Hq => {
                    let track = HqPitch::new(rate, framing.hop, range)?.track(&signal);
                    for (frame, seconds) in track.seconds.iter().enumerate() {
                        let hz = f64::from(track.frequency[frame]);
                        values.extend([
                            *seconds,
                            if hz > 0.0 { hz } else { f64::NAN },
                            f64::from(u8::from(hz > 0.0)),
                            f64::from(track.confidence[frame]),
                        ]);
                    }
                    &["seconds", "hertz", "voiced", "confidence"]
                }
                Method::Praat => {
                    let settings = PraatSettings::default();
                    let track = PraatPitch::new(rate, framing.hop, range, settings)?.track(&signal);
                    for (frame, seconds) in track.seconds.iter().enumerate() {
                        let hz = f64::from(track.frequency[frame]);
                        values.extend([
                            *seconds,
                            if hz > 0.0 { hz } else { f64::NAN },
                            f64::from(u8::from(hz > 0.0)),
                            f64::from(track.strength[frame]),
                        ]);
                    }
                    &["seconds", "hertz", "voiced", "strength"]
                }
                Method::Pyin => {
                    let settings = PyinSettings::default();
                    let track = Pyin::new(rate, framing, range, settings)?.track(&signal);
                    for (frame, voiced) in track.voiced.iter().enumerate() {
                        let hz = f64::from(track.frequency[frame]);
                        values.extend([
                            time(frame),
                            if *voiced { hz } else { f64::NAN },
                            f64::from(u8::from(*voiced)),
                            f64::from(track.probability[frame]),
                        ]);
                    }
                    &["seconds", "hertz", "voiced", "probability"]
                }
            };
            Ok(Sheet {
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                values,
            })
        })?;
        Ok(Outcome::Fine)
    }
}

fn yin_sheet(track: &[f32], framing: Framing, rate: u32) -> Sheet {
    let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(rate);
    Sheet {
        columns: vec!["seconds".into(), "hertz".into()],
        values: track
            .iter()
            .enumerate()
            .flat_map(|(frame, hz)| [time(frame), f64::from(*hz)])
            .collect(),
    }
}
