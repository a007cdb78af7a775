//! What librosa's YIN and pYIN and Praat's autocorrelation can be told beside frames and frequencies, as options.

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_voice::{CorrelationWindow, PraatSettings, PyinSettings};

/// The depth of a trough from which on YIN takes it, as in librosa.
const TROUGH: f32 = 0.1;

/// Options of one method each.
#[derive(Args)]
pub(super) struct PitchOptions {
    /// Of `yin`: the depth of a trough from which on it is taken, above 0 to 1 [default: 0.1].
    #[arg(long, hide_short_help = true, value_name = "DEPTH", value_parser = share, help_heading = YIN)]
    trough: Option<f64>,
    /// Of `pyin`: the beta distribution of thresholds, two whole numbers [default: 2,18].
    #[arg(long, hide_short_help = true, value_name = "A,B", value_parser = beta, help_heading = YIN)]
    beta: Option<(u32, u32)>,
    /// Of `pyin`: how much earlier troughs are preferred [default: 2].
    #[arg(long, hide_short_help = true, value_name = "NUMBER", value_parser = cost, help_heading = YIN)]
    boltzmann: Option<f64>,
    /// Of `pyin`: the probability of the deepest trough where none is below a threshold [default: 0.01].
    #[arg(long, hide_short_help = true, value_name = "PROBABILITY", value_parser = share, help_heading = YIN)]
    no_trough: Option<f64>,
    /// Of `pyin`: pitch bins to a semitone [default: 10].
    #[arg(long, hide_short_help = true, value_name = "BINS", value_parser = clap::value_parser!(u8).range(1..=100), help_heading = YIN)]
    semitone_bins: Option<u8>,
    /// Of `pyin`: the fastest movement, octaves in a second [default: 35.92].
    #[arg(long, hide_short_help = true, value_name = "OCTAVES", value_parser = cost, help_heading = YIN)]
    max_transition: Option<f64>,
    /// Of `pyin`: the probability that voicing changes between frames [default: 0.01].
    #[arg(long, hide_short_help = true, value_name = "PROBABILITY", value_parser = share, help_heading = YIN)]
    switch: Option<f64>,
    /// Of `praat`: candidates of a frame, the unvoiced one among them [default: 15].
    #[arg(long, hide_short_help = true, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(2..=1000), help_heading = PRAAT)]
    candidates: Option<u16>,
    /// Of `praat`: frames whose peak is below this share of the file's are silent [default: 0.03].
    #[arg(long, hide_short_help = true, value_name = "SHARE", value_parser = cost, help_heading = PRAAT)]
    silence: Option<f64>,
    /// Of `praat`: the strength of the unvoiced candidate [default: 0.45].
    #[arg(long, hide_short_help = true, value_name = "STRENGTH", value_parser = cost, help_heading = PRAAT)]
    voicing: Option<f64>,
    /// Of `praat`: how much higher candidates are preferred, to an octave [default: 0.01].
    #[arg(long, hide_short_help = true, value_name = "COST", value_parser = cost, help_heading = PRAAT)]
    octave_cost: Option<f64>,
    /// Of `praat`: what a jump of an octave in 10 ms costs [default: 0.35].
    #[arg(long, hide_short_help = true, value_name = "COST", value_parser = cost, help_heading = PRAAT)]
    octave_jump: Option<f64>,
    /// Of `praat`: what a change of voicing in 10 ms costs [default: 0.14].
    #[arg(long, hide_short_help = true, value_name = "COST", value_parser = cost, help_heading = PRAAT)]
    voicing_change: Option<f64>,
    /// Of `praat`: Gaussian windows of twice the length, Praat's "very accurate".
    #[arg(long, hide_short_help = true, help_heading = PRAAT)]
    very_accurate: bool,
}

const YIN: &str = "Options of yin and pyin";
const PRAAT: &str = "Options of praat";

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1.0 => Ok(value),
        _ => Err("a number above 0 and up to 1 is needed".to_owned()),
    }
}

fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1000.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1000 is needed".to_owned()),
    }
}

fn beta(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(',');
    let parts = parts.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    parts
        .filter(|(a, b)| (1..=100).contains(a) && (1..=100).contains(b))
        .ok_or_else(|| "two whole numbers from 1 to 100 are needed, such as 2,18".to_owned())
}

/// Whose options are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Yin,
    Pyin,
    Praat,
    Other,
}

impl PitchOptions {
    /// The options that are given, with whose they are.
    fn given(&self) -> impl Iterator<Item = (&'static str, Family)> {
        use Family::{Praat, Pyin, Yin};
        [
            ("--trough", Yin, self.trough.is_some()),
            ("--beta", Pyin, self.beta.is_some()),
            ("--boltzmann", Pyin, self.boltzmann.is_some()),
            ("--no-trough", Pyin, self.no_trough.is_some()),
            ("--semitone-bins", Pyin, self.semitone_bins.is_some()),
            ("--max-transition", Pyin, self.max_transition.is_some()),
            ("--switch", Pyin, self.switch.is_some()),
            ("--candidates", Praat, self.candidates.is_some()),
            ("--silence", Praat, self.silence.is_some()),
            ("--voicing", Praat, self.voicing.is_some()),
            ("--octave-cost", Praat, self.octave_cost.is_some()),
            ("--octave-jump", Praat, self.octave_jump.is_some()),
            ("--voicing-change", Praat, self.voicing_change.is_some()),
            ("--very-accurate", Praat, self.very_accurate),
        ]
        .into_iter()
        .filter_map(|(name, family, given)| given.then_some((name, family)))
    }

    /// Whether all is as it is by default.
    pub(super) fn is_default(&self) -> bool {
        self.given().next().is_none()
    }

    /// An error where an option is of another method.
    pub(super) fn check(&self, family: Family) -> Result<()> {
        for (name, of) in self.given() {
            if of != family {
                let method = match of {
                    Family::Yin => "yin",
                    Family::Pyin => "pyin",
                    Family::Praat | Family::Other => "praat",
                };
                bail!("`{name}` is for `--method {method}`; leave it out for the others");
            }
        }
        Ok(())
    }

    /// The depth of a trough that YIN takes.
    pub(super) fn trough(&self) -> f32 {
        self.trough.map_or(TROUGH, |depth| depth as f32)
    }

    /// The settings of pYIN.
    pub(super) fn pyin(&self) -> PyinSettings {
        let own = PyinSettings::default();
        PyinSettings {
            beta: self.beta.unwrap_or(own.beta),
            boltzmann: self.boltzmann.unwrap_or(own.boltzmann),
            no_trough: self.no_trough.unwrap_or(own.no_trough),
            bins_per_semitone: self
                .semitone_bins
                .map_or(own.bins_per_semitone, usize::from),
            octaves_per_second: self.max_transition.unwrap_or(own.octaves_per_second),
            switch: self.switch.unwrap_or(own.switch),
        }
    }

    /// The settings of Praat's tracker.
    pub(super) fn praat(&self) -> PraatSettings {
        let own = PraatSettings::default();
        PraatSettings {
            candidates: self.candidates.map_or(own.candidates, usize::from),
            silence: self.silence.unwrap_or(own.silence),
            voicing: self.voicing.unwrap_or(own.voicing),
            octave: self.octave_cost.unwrap_or(own.octave),
            octave_jump: self.octave_jump.unwrap_or(own.octave_jump),
            voicing_change: self.voicing_change.unwrap_or(own.voicing_change),
            window: match self.very_accurate {
                true => CorrelationWindow::Gaussian,
                false => own.window,
            },
            ..own
        }
    }
}
