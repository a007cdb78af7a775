//! `warpsmith serve --load-test N`: a server here, listeners in a second process, and what both saw.

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_server::Settings;
use warpsmith_server::load_test::{Plan, listen_as_told, run_whole};
use warpsmith_server::protocol::Hello;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Options of the load test.
#[derive(Args)]
#[command(next_help_heading = "Load test")]
pub(super) struct LoadTest {
    /// Serve this many listeners on this machine for a while, print what they heard, and end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    load_test: Option<u32>,
    /// How long each listener plays.
    #[arg(hide_short_help = true, long, alias = "load-seconds", value_name = "TIME", default_value = "10s", value_parser = numbers::seconds, requires = "load_test")]
    load_duration: f64,
    /// Time over which listeners arrive.
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "3s", value_parser = numbers::seconds_or_none, requires = "load_test")]
    load_ramp: f64,
    /// Length of an audio frame; above some hundred listeners longer ones cost less.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "MS",
        default_value_t = 100,
        requires = "load_test"
    )]
    frame_ms: u32,
    /// How much is sent ahead.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "MS",
        default_value_t = 300,
        requires = "load_test"
    )]
    prebuffer_ms: u32,
    /// `pcm16`: music, and some streams compared byte by byte; `tag`: positions, and every sample
    /// compared.
    #[arg(hide_short_help = true, long, default_value = "pcm16", value_parser = ["pcm16", "f32", "tag"], requires = "load_test")]
    codec: String,
    /// Play this many times as fast as a sound card.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIMES",
        default_value_t = 1.0,
        requires = "load_test"
    )]
    load_speed: f64,
    /// Frames a second.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "HZ",
        default_value_t = 48_000,
        requires = "load_test"
    )]
    load_rate: u32,
    /// The other half of the load test: listeners, with their plan on standard input.
    #[arg(hide_short_help = true, long, hide = true)]
    load_listeners: bool,
}

/// Streams that are rendered a second time and compared.
const COMPARED: usize = 4;

impl LoadTest {
    /// Does what these options ask for; absent where they ask for nothing.
    pub(super) fn run(
        &self,
        global: &Global,
        threads: usize,
        settings: impl FnOnce() -> Result<Settings>,
    ) -> Result<Option<Outcome>> {
        if self.load_listeners {
            listen_as_told()?;
            return Ok(Some(Outcome::Fine));
        }
        let Some(count) = self.load_test else {
            return Ok(None);
        };
        if !(0.1..=3_600.0).contains(&self.load_duration)
            || !(0.0..=600.0).contains(&self.load_ramp)
            || !(0.1..=100.0).contains(&self.load_speed)
        {
            bail!(
                "a load test takes 0.1 to 3600 seconds of `--load-duration`, 0 to 600 of `--load-ramp`, and \
                 plays 0.1 to 100 times as fast"
            );
        }
        let settings = settings()?;
        let plan = Plan {
            // Where the server will be is not known yet.
            address: settings.listen,
            token: settings.token.clone(),
            clients: count as usize,
            seconds: self.load_duration,
            ramp_seconds: self.load_ramp,
            speed: self.load_speed,
            hello: Hello {
                rate: self.load_rate,
                codecs: vec![self.codec.clone()],
                frame_ms: self.frame_ms,
                prebuffer_ms: self.prebuffer_ms,
                ..Hello::default()
            },
            compared: COMPARED,
            threads,
        };
        let mut listeners = global.host.command()?;
        listeners.args(["serve", "--load-listeners"]);
        let whole = plan.seconds + plan.ramp_seconds;
        let body = run_whole(settings, plan, listeners, |passed| {
            output::progress(global, &format!("{passed:.0} of {whole:.0} s"));
        })?;
        output::progress(global, "");
        let findings = body.listeners.findings();
        let fine = findings.is_empty();
        let mut report = output::report("serve", body);
        report.findings = findings;
        output::print(global, &report, ToString::to_string)?;
        Ok(Some(Outcome::fine_if(fine)))
    }
}
