//! `warpsmith serve`: music for many listeners, a page to listen with, and a load test of it.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_device::DeviceChoice;
use warpsmith_server::{Limits, Server, Settings};
use warpsmith_telemetry::LiveMachine;

use super::synth::music::Music;
use warpsmith_console::address::socket_address;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::output;

mod load_test;

/// Stream music to many listeners at once.
///
/// Each listener has a piece and parameters of its own.
///
/// Open the address in a browser to listen. `/stream.wav` plays in VLC, ffplay or curl; `/api/status`
/// lists the rest. It listens on loopback unless told otherwise; beyond it every request needs the
/// token, given in the variable WARPSMITH_TOKEN or in a file. There is no TLS: put a proxy in front
/// of it, which browsers need anyway to play sound from another machine.
///
/// The CPU renders unless `--device cuda` is given; then a GPU renders the voices of all streams, all
/// that wait in one launch, and effects stay the CPU's. Should the GPU disappear, the CPU takes over
/// within the block, and a finding says so.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith serve
  warpsmith serve --preset sleep --seed 7 --listen 127.0.0.1:8080
  WARPSMITH_TOKEN=$(openssl rand -hex 16) warpsmith serve --listen 0.0.0.0:9878
  warpsmith serve --load-test 1000 --load-duration 30s
  curl -sN http://127.0.0.1:9878/stream.wav | ffplay -i -
  curl -s http://127.0.0.1:9878/metrics
With `--format json` everything that happens is printed, a JSON object to a line.")]
pub struct Serve {
    /// Address and port to listen on; port 0 takes any.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9878", value_parser = socket_address)]
    listen: SocketAddr,
    /// A file with the token that clients must bring, instead of WARPSMITH_TOKEN.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    token_file: Option<PathBuf>,
    /// A file with the token of the broadcast's owner, instead of WARPSMITH_OWNER_TOKEN: only who sends
    /// it as `owner` steers what everybody hears. Without one everybody on loopback may, and nobody else.
    /// The page takes it behind `#owner=` in its address, which browsers keep to themselves.
    #[arg(hide_short_help = true, long, value_name = "FILE", value_parser = inputs::file())]
    owner_token_file: Option<PathBuf>,
    /// A page of this origin may connect, e.g. `https://radio.example`; can be given several times.
    #[arg(hide_short_help = true, long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Listeners at most.
    #[arg(long, value_name = "N", default_value_t = Limits::default().listeners)]
    max_listeners: usize,
    /// Connections from one address at most; loopback is not held to it.
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = Limits::default().per_client)]
    per_client: usize,
    /// Threads; default: one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The broadcast's piece.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    music: Music,
    #[command(flatten)]
    load_test: load_test::LoadTest,
}

impl Serve {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        if let Some(outcome) = self
            .load_test
            .run(global, self.threads.unwrap_or(0), || self.settings(global))?
        {
            return Ok(outcome);
        }
        let interruption = Interruption::listen()?;
        // What the GPUs do, for the page's second tab; the music waits for no driver.
        let machine = LiveMachine::start(&warpsmith_telemetry::Settings::default());
        let settings = Settings {
            board: Some(Arc::clone(machine.board())),
            ..self.settings(global)?
        };
        let owner = settings.owner.clone();
        let server = Server::start(settings)?;
        if global.format == Format::Json {
            server.on_event(|line| {
                // A reader that is gone ends with the program.
                let _ = writeln!(stdout(), "{line}");
            });
        }
        output::note(
            global,
            &format!(
                "http://{}/ plays, rendered on {}",
                server.address(),
                server.device()
            ),
        );
        if let Some(owner) = owner {
            // A log is not the place for a secret.
            let shown = if stderr().is_terminal() {
                &*owner
            } else {
                "…"
            };
            output::note(
                global,
                &format!(
                    "http://{}/#owner={shown} steers the broadcast",
                    server.address()
                ),
            );
        }
        let mut told = false;
        while !interruption.wait(Duration::from_secs(1)) {
            if let (Some(finding), false) = (server.finding(), told) {
                output::note(global, &finding.to_string());
                told = true;
            }
        }
        server.stop();
        machine.stop();
        Ok(Outcome::Fine)
    }

    fn settings(&self, global: &Global) -> Result<Settings> {
        Ok(Settings {
            // A dozen voices a listener: their samples cost a GPU's host as much to fetch as to render.
            device: match global.device {
                DeviceChoice::Auto => DeviceChoice::Cpu,
                chosen => chosen,
            },
            matrix_device: global.device,
            listen: self.listen,
            token: token(self.token_file.as_deref(), "WARPSMITH_TOKEN")?,
            owner: token(self.owner_token_file.as_deref(), "WARPSMITH_OWNER_TOKEN")?,
            origins: self.allow_origin.clone(),
            limits: Limits {
                listeners: self.max_listeners,
                per_client: self.per_client,
                ..Limits::default()
            },
            threads: self.threads.unwrap_or(0),
            seed: self.seed,
            params: self.music.params()?,
            ..Settings::default()
        })
    }
}

/// A token from a file, or else from a variable.
fn token(file: Option<&Path>, variable: &str) -> Result<Option<String>> {
    let Some(path) = file else {
        return Ok(std::env::var(variable).ok());
    };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the token `{}`", path.display()))?;
    Ok(Some(text.trim().to_owned()))
}
