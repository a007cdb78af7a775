//! `warpsmith export`: metrics for Prometheus.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use warpsmith_telemetry::exporter::{
    Exporter, KUBELET_SOCKET, Names, PodWatch, ProcessSeries, Serving, WebConfig,
    give_back_start_up,
};
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{Board, LiveBoard, Player};

use super::sampling::{self, Selection};
use warpsmith_console::address::socket_address;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::output;

/// Whose names metrics have.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Compat {
    /// NVIDIA's dcgm-exporter: `DCGM_FI_DEV_GPU_UTIL` and so on, with its labels and units.
    Dcgm,
}

/// Serve GPU metrics to Prometheus.
///
/// They are on `/metrics`, beside `/healthz` and `/readyz`.
///
/// A scrape is answered from memory and never waits for the driver. It listens on loopback unless
/// told otherwise. A web-config file, in the form of Prometheus' own exporters, adds TLS
/// (`tls_server_config`: `cert_file`, `key_file`, `client_ca_file`, `client_auth_type`, versions; a
/// renewed certificate is picked up) and users with bcrypt passwords (`basic_auth_users`).
///
/// On a Kubernetes node `--kubernetes` asks the kubelet which pod has which GPU:
/// `warpsmith_gpu_pod_info` joins namespace, pod and container to every GPU's series. With
/// `--compat dcgm` they are labels of each line, as dcgm-exporter has them.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith export\n  \
                        warpsmith export --listen 0.0.0.0:9877 --web-config web.yml\n  \
                        warpsmith export --processes\n  \
                        warpsmith export --kubernetes --compat dcgm --listen 0.0.0.0:9400\n  \
                        warpsmith export --from run.wsrec --speed 10\n  \
                        curl -s http://127.0.0.1:9877/metrics")]
pub(crate) struct Export {
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9877", value_parser = socket_address)]
    listen: SocketAddr,
    #[command(flatten)]
    selection: Selection,
    /// A series for each process (pid, program, user, container), at most 32 per GPU.
    #[arg(long)]
    processes: bool,
    /// Serve the names, labels and units of another exporter, for dashboards written for it.
    #[arg(
        long,
        value_enum,
        value_name = "EXPORTER",
        conflicts_with = "processes"
    )]
    compat: Option<Compat>,
    /// Ask the kubelet which pod has which GPU, over its socket.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true,
          default_missing_value = KUBELET_SOCKET, conflicts_with = "from")]
    kubernetes: Option<PathBuf>,
    /// TLS and users: a file in the form of Prometheus' own exporters.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    web_config: Option<PathBuf>,
    /// Serve a recording instead of this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "gpus", value_parser = inputs::file())]
    from: Option<PathBuf>,
    /// How many times as fast as it was recorded.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, requires = "from")]
    speed: f64,
}

impl Export {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let config = match &self.web_config {
            Some(path) => WebConfig::read(path)?,
            None => WebConfig::default(),
        };
        let processes = if self.processes {
            ProcessSeries::On
        } else {
            ProcessSeries::Off
        };
        let interruption = Interruption::listen()?;
        let (board, machine) = match &self.from {
            Some(path) => {
                let recording = Recording::open(path)?;
                let events = Player::start(&recording, Duration::ZERO, self.speed)?;
                let board = LiveBoard::new(recording.inventory().clone(), events);
                (Arc::new(board), None)
            }
            None => {
                let Some(machine) = sampling::attend(global, &self.selection.settings())? else {
                    return Ok(Outcome::CannotHere);
                };
                (Arc::clone(machine.board()), Some(machine))
            }
        };
        let scheme = if config.serves_tls() { "https" } else { "http" };
        let serving = Serving {
            processes,
            config,
            names: match self.compat {
                None => Names::Own,
                Some(Compat::Dcgm) => Names::Dcgm,
            },
            pods: self.pods(global)?,
        };
        let exporter = Exporter::start(self.listen, Arc::clone(&board), serving)?;
        output::note(
            global,
            &format!("serving {scheme}://{}/metrics", exporter.address()),
        );
        if !interruption.wait(PROMPT) {
            say_what_is_down(global, &board.now());
        }
        give_back_start_up();
        while !interruption.wait(Duration::from_secs(3600)) {}
        drop(exporter);
        if let Some(machine) = machine {
            machine.stop();
        }
        Ok(Outcome::Fine)
    }

    /// Who has which GPU, where that is wanted; a kubelet that does not answer may do so later.
    fn pods(&self, global: &Global) -> Result<Option<PodWatch>> {
        let Some(socket) = &self.kubernetes else {
            return Ok(None);
        };
        let pods = PodWatch::start(socket)?;
        if let Some(failure) = pods.now().failure {
            output::note(global, &format!("the kubelet does not answer: {failure}"));
        }
        Ok(Some(pods))
    }
}

/// A driver that opens takes less; the log then says what is not there.
const PROMPT: Duration = Duration::from_millis(1_500);

fn say_what_is_down(global: &Global, board: &Board) {
    let inventory = &board.inventory;
    if let Some(reason) = &inventory.nvml_absent {
        output::note(global, reason);
    }
    for down in &inventory.unreachable {
        output::note(global, &format!("not sampled: {down}"));
    }
}
