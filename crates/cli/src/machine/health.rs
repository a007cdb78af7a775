//! `warpsmith health`: whether a running exporter is well, for container health checks.

use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_telemetry::exporter::{WebConfig, check_health};

use warpsmith_console::address::socket_address;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::numbers;

/// Ask a running exporter whether it is well.
///
/// The exit code is 0 when it is, 1 when it is not.
///
/// Needs no shell and no curl, loads no driver and takes milliseconds.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith health\n  warpsmith health --ready\n  \
                        warpsmith health --address 127.0.0.1:9900 --format json"
)]
pub(crate) struct Health {
    /// Where the exporter listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9877", value_parser = socket_address)]
    address: SocketAddr,
    /// The exporter's own web-config file, if it serves TLS: the certificate must be the file's.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    web_config: Option<PathBuf>,
    /// Also ask whether a GPU answers.
    #[arg(long)]
    ready: bool,
    /// How long to wait for an answer.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = numbers::duration)]
    timeout: Duration,
}

#[derive(Serialize)]
struct Said {
    healthy: bool,
    said: String,
}

impl Health {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let path = if self.ready { "/readyz" } else { "/healthz" };
        let config = match &self.web_config {
            Some(path) => WebConfig::read(path)?,
            None => WebConfig::default(),
        };
        let (healthy, said) = match check_health(self.address, path, self.timeout, &config) {
            Ok(said) => (true, said),
            Err(said) => (false, said),
        };
        let mut out = stdout().lock();
        if global.format == Format::Json {
            serde_json::to_writer_pretty(&mut out, &Said { healthy, said })?;
            writeln!(out)?;
        } else {
            writeln!(out, "{said}")?;
        }
        Ok(Outcome::fine_if(healthy))
    }
}
