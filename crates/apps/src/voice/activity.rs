//! `warpsmith voice vad`: which frames hold speech.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_device::{CudaDevice, DeviceChoice};
use warpsmith_voice::{
    EnergyVad, FrameMillis, NetVad, NeuralSettings, NeuralStream, NeuralVad, PeriodicityVad,
    SignalError, SileroNetwork, StatisticalSettings, StatisticalStream, StatisticalVad, WebrtcMode,
    WebrtcStream, WebrtcVad, net_vad_on_cuda, neural_vad_on_cuda, periodicity_vad_on_cuda,
};
use warpsmith_workload::WorkloadError;

use super::device::Task;
use super::input::Input;
use super::live::{Listener, Listening, count_samples, listen};
use super::sheet::{Destination, Sheet};
use super::weights::SILERO;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;

/// Seconds between decisions.
pub(super) const HOP_SECONDS: f64 = 0.01;

/// How speech is told from the rest.
#[derive(Args)]
pub(super) struct Detector {
    /// How speech is told from the rest.
    ///
    /// `statistical` compares the bands of the whole signal with its noise; `periodicity` asks for
    /// the pitch of a voice, which loud noises do not have; `energy` compares levels with the noise of
    /// the last seconds; `webrtc` decides bit for bit as libfvad and webrtcvad do; `neural` is Silero VAD's
    /// network, with weights that you have; `net` is a small network of our own, for speech in loud noise. The
    /// last four decide about a pipe while it is still arriving.
    #[arg(long, value_enum, default_value_t = Method::Statistical)]
    method: Method,
    /// How much `webrtc` must be convinced: 0 misses the least speech, 3 passes the least noise.
    #[arg(long = "aggressiveness", alias = "mode", value_name = "0..3", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    mode: u8,
    /// Decibels above the noise that make speech, for `energy`.
    #[arg(
        long = "margin-db",
        alias = "margin",
        value_name = "DB",
        default_value_t = 6.0
    )]
    margin: f32,
    /// The probability that makes speech; default: 0.5 for `neural`, 0.7 for `net`.
    #[arg(long)]
    threshold: Option<f32>,
    /// The weights for `neural`.
    ///
    /// The wheel of the package silero-vad or the `silero_vad.jit` in it; default:
    /// `$WARPSMITH_SILERO`, else `warpsmith/silero_vad.jit` in your data directory.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    weights: Option<PathBuf>,
    /// Planned once for all inputs.
    #[arg(skip)]
    network: OnceCell<SileroNetwork>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Statistical,
    Periodicity,
    Energy,
    Webrtc,
    Neural,
    Net,
}

/// What the network was trained at; other rates are resampled.
const NEURAL_RATE: u32 = 16_000;

impl Detector {
    fn network(&self) -> Result<&SileroNetwork> {
        if let Some(planned) = self.network.get() {
            return Ok(planned);
        }
        let weights = SILERO.weights(self.weights.as_deref())?;
        let planned = SileroNetwork::new(&weights)?;
        Ok(self.network.get_or_init(|| planned))
    }

    fn settings(&self) -> NeuralSettings {
        self.threshold
            .map_or_else(NeuralSettings::default, NeuralSettings::from_threshold)
    }

    fn net(&self, sample_rate: u32) -> Result<NetVad> {
        Ok(NetVad::new(sample_rate, self.net_threshold())?)
    }

    fn net_threshold(&self) -> f32 {
        self.threshold.unwrap_or(NetVad::THRESHOLD)
    }

    fn neural(&self, sample_rate: u32) -> Result<NeuralVad> {
        Ok(NeuralVad::new(
            self.network()?,
            sample_rate,
            self.settings(),
        )?)
    }

    fn mode(&self) -> WebrtcMode {
        match self.mode {
            0 => WebrtcMode::Quality,
            1 => WebrtcMode::LowBitrate,
            2 => WebrtcMode::Aggressive,
            _ => WebrtcMode::VeryAggressive,
        }
    }

    /// Whether decisions need no more than the past.
    pub(super) fn is_causal(&self) -> bool {
        matches!(
            self.method,
            Method::Energy | Method::Webrtc | Method::Neural | Method::Net
        )
    }

    /// Whether a file can be heard piece by piece: twice, where decisions depend on the whole.
    pub(super) fn is_in_pieces(&self) -> bool {
        self.is_causal() || self.method == Method::Statistical
    }

    /// A listener whose decisions are those of [`Self::decide`].
    pub(super) fn listener(
        &self,
        input: &Input,
        path: &Path,
        sample_rate: u32,
    ) -> Result<Box<dyn Listener>> {
        let hop = (sample_rate as usize / 100).max(1);
        let decider = match self.method {
            Method::Energy => Decider::Energy(EnergyVad::new(self.margin)),
            Method::Webrtc if [8_000, 16_000, 32_000, 48_000].contains(&sample_rate) => {
                Decider::Webrtc(Box::new(WebrtcStream::new(
                    sample_rate,
                    self.mode(),
                    FrameMillis::Ten,
                )?))
            }
            Method::Neural if sample_rate == NEURAL_RATE => {
                Decider::Neural(self.neural(sample_rate)?.into_stream())
            }
            Method::Net => Decider::Net(Box::new(self.net(sample_rate)?)),
            Method::Statistical => {
                let settings = StatisticalSettings::default();
                let samples = count_samples(input, path)?;
                let stream = StatisticalStream::new(sample_rate, settings, samples)?;
                Decider::Statistical(Box::new(stream))
            }
            // Other rates are resampled, which looks at the whole signal.
            Method::Neural => Decider::LateNeural(Box::new(self.neural(sample_rate)?)),
            _ => Decider::Late(sample_rate, self.mode()),
        };
        Ok(Box::new(LiveDecisions {
            decider,
            hop,
            waiting: Vec::with_capacity(2 * hop),
            decided: 0,
        }))
    }

    /// The workload of a method that runs on a GPU.
    fn workload(&self) -> Option<&'static str> {
        match self.method {
            Method::Periodicity => Some("voice/periodicity"),
            Method::Neural => Some("voice/silero"),
            Method::Net => Some("voice/net"),
            _ => None,
        }
    }

    fn on_gpu(
        &self,
        gpu: &CudaDevice,
        sample_rate: u32,
        signals: &[&[f32]],
    ) -> Result<Vec<Vec<bool>>, WorkloadError> {
        match self.method {
            Method::Neural => {}
            Method::Net => {
                return net_vad_on_cuda(gpu, sample_rate, self.net_threshold(), signals);
            }
            _ => return periodicity_vad_on_cuda(gpu, sample_rate, signals),
        }
        let network = self.network().map_err(|error| WorkloadError::Failed {
            workload: "voice/silero",
            reason: format!("{error:#}"),
        })?;
        neural_vad_on_cuda(gpu, network, sample_rate, self.settings(), signals)
    }

    /// An error where a GPU was requested that the method does not run on.
    pub(super) fn check(&self, global: &Global) -> Result<()> {
        if let (DeviceChoice::Cuda(_), false) = (global.device, self.workload().is_some()) {
            bail!(
                "of the detectors `--method periodicity`, `neural` and `net` can run on a GPU; leave `--device` \
                 out for the others"
            );
        }
        Ok(())
    }

    /// Writes what `sheet` makes of the decisions about every input, a signal with its rate; of many at a
    /// time where they are made on a GPU.
    pub(super) fn write(
        &self,
        global: &Global,
        (input, destination): (&Input, &Destination),
        listener: Option<Listening<'_>>,
        sheet: impl Fn(&[bool], &[f32], u32) -> Result<Sheet, SignalError>,
    ) -> Result<Outcome> {
        if self.method == Method::Neural {
            self.network()?;
        }
        Task {
            workload: self.workload().unwrap_or("voice/periodicity"),
            input,
            destination,
            fits: self.workload().is_some(),
            listener,
            rate: None,
        }
        .write_sheets(
            global,
            |signal, rate| Ok(sheet(&self.decide(signal, rate)?, signal, rate)?),
            |gpu, rate, signals| {
                let decisions = self.on_gpu(gpu, rate, signals)?;
                let pairs = decisions.iter().zip(signals);
                pairs
                    .map(|(decisions, signal)| sheet(decisions, signal, rate))
                    .collect::<Result<_, _>>()
                    .map_err(|error| WorkloadError::Failed {
                        workload: "voice/periodicity",
                        reason: error.to_string(),
                    })
            },
        )
    }

    fn decide(&self, signal: &[f32], sample_rate: u32) -> Result<Vec<bool>> {
        Ok(match self.method {
            Method::Energy => {
                EnergyVad::new(self.margin).decide(signal, (sample_rate as usize / 100).max(1))
            }
            Method::Webrtc => {
                WebrtcVad::decide(signal, sample_rate, self.mode(), FrameMillis::Ten)?
            }
            Method::Neural => self.neural(sample_rate)?.decide(signal),
            Method::Net => self.net(sample_rate)?.decide(signal),
            Method::Periodicity => PeriodicityVad::new(sample_rate)?.decide(signal),
            Method::Statistical => {
                StatisticalVad::new(sample_rate, StatisticalSettings::default())?.decide(signal)?
            }
        })
    }
}

enum Decider {
    Energy(EnergyVad),
    Webrtc(Box<WebrtcStream>),
    Late(u32, WebrtcMode),
    Neural(NeuralStream),
    LateNeural(Box<NeuralVad>),
    Net(Box<NetVad>),
    Statistical(Box<StatisticalStream>),
}

/// Decisions on a pipe, one to each hop that has arrived.
struct LiveDecisions {
    decider: Decider,
    hop: usize,
    waiting: Vec<f32>,
    decided: usize,
}

impl Listener for LiveDecisions {
    fn columns(&self) -> Vec<String> {
        ["seconds", "speech"].map(str::to_owned).to_vec()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        let mut decisions = Vec::new();
        let takes_any_piece = match &mut self.decider {
            Decider::Neural(vad) => {
                vad.process(piece, &mut decisions);
                true
            }
            Decider::Net(vad) => {
                vad.process(piece, &mut decisions);
                true
            }
            Decider::Statistical(vad) => {
                vad.process(piece)?;
                true
            }
            _ => false,
        };
        if takes_any_piece {
            report(&decisions, &mut self.decided, rows);
            return Ok(());
        }
        self.waiting.extend_from_slice(piece);
        let whole = self.waiting.len() / self.hop * self.hop;
        for hop in self.waiting[..whole].chunks_exact(self.hop) {
            match &mut self.decider {
                Decider::Energy(vad) => decisions.push(vad.process(hop)),
                Decider::Webrtc(vad) => vad.process(&WebrtcVad::integers(hop), &mut decisions)?,
                _ => return Ok(()),
            }
        }
        self.waiting.drain(..whole);
        report(&decisions, &mut self.decided, rows);
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        // A hop that is not full is not decided.
        let Self {
            decider,
            waiting,
            mut decided,
            ..
        } = *self;
        let mut decisions = Vec::new();
        match decider {
            Decider::Late(rate, mode) => {
                decisions = WebrtcVad::decide(&waiting, rate, mode, FrameMillis::Ten)?;
            }
            Decider::Neural(vad) => vad.finish(&mut decisions),
            Decider::Net(vad) => vad.finish(&mut decisions),
            Decider::Statistical(vad) => decisions = vad.finish()?,
            Decider::LateNeural(mut vad) => decisions = vad.decide(&waiting),
            Decider::Energy(_) | Decider::Webrtc(_) => {}
        }
        report(&decisions, &mut decided, rows);
        Ok(())
    }
}

/// Appends a row to a decision.
fn report(decisions: &[bool], decided: &mut usize, rows: &mut Vec<f64>) {
    for speech in decisions {
        rows.extend([*decided as f64 * HOP_SECONDS, f64::from(u8::from(*speech))]);
        *decided += 1;
    }
}

/// Decide for every 10 ms whether there is speech.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith voice vad talk.wav\n  \
                        warpsmith voice vad call.wav --method webrtc --mode 3\n  \
                        ffmpeg -i in.mkv -f wav - | warpsmith voice vad - --method energy")]
pub(crate) struct Vad {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    detector: Detector,
}

impl Vad {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.detector.check(global)?;
        let listener = |path: &Path, rate: u32| self.detector.listener(&self.input, path, rate);
        let listener: Option<Listening<'_>> = self.detector.is_in_pieces().then_some(&listener);
        if let Some(listener) = listener.filter(|_| self.detector.is_causal())
            && let Some(form) = self.destination.live(global, &self.input)
        {
            return listen(&self.input, listener, form);
        }
        self.detector.write(
            global,
            (&self.input, &self.destination),
            listener,
            |decisions, _, _| Ok(decision_sheet(decisions)),
        )
    }
}

fn decision_sheet(decisions: &[bool]) -> Sheet {
    let rows = decisions.iter().enumerate();
    Sheet::new(
        vec!["seconds".into(), "speech".into()],
        rows.flat_map(|(frame, speech)| [frame as f64 * HOP_SECONDS, f64::from(u8::from(*speech))])
            .collect(),
    )
}
