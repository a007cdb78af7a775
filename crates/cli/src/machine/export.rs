//! `warpsmith export`: metrics for Prometheus.

use std::io::{Write, stderr};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use warpsmith_telemetry::exporter::{
    Exporter, KUBELET_SOCKET, Names, OtlpSettings, PodWatch, ProcessSeries, Serving, WebConfig,
    attribute_list, give_back_start_up, header_list,
};
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{Board, Endpoint, LiveBoard, Player};

use super::sampling::{self, Selection};
use warpsmith_console::address::socket_address;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
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
///
/// `--otlp` also pushes to an OpenTelemetry receiver, over OTLP/HTTP in protobuf: these metrics under
/// OpenTelemetry's form of their names, and those of its conventions for hardware (`hw.gpu.utilization`
/// and so on). A receiver that hangs or refuses delays no scrape: attempts have a deadline and growing
/// pauses, and at most 60 batches wait. `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES` are
/// read as elsewhere.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith export\n  \
                        warpsmith export --listen 0.0.0.0:9877 --web-config web.yml\n  \
                        warpsmith export --processes\n  \
                        warpsmith export --kubernetes --compat dcgm --listen 0.0.0.0:9400\n  \
                        warpsmith export --otlp http://collector:4318 --otlp-attribute rack=r1\n  \
                        warpsmith export --otlp https://prometheus:9090/api/v1/otlp/v1/metrics --otlp-ca ca.crt\n  \
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
    /// Also push to this OpenTelemetry receiver (OTLP/HTTP); without a path, to its `/v1/metrics`.
    #[arg(long, value_name = "URL", value_parser = OtlpSettings::endpoint)]
    otlp: Option<Endpoint>,
    /// Header of every push, as NAME=VALUE; `OTEL_EXPORTER_OTLP_HEADERS` keeps secrets off the command line.
    #[arg(long, value_name = "PAIR", value_parser = OtlpSettings::header, requires = "otlp", hide_short_help = true)]
    otlp_header: Vec<(String, String)>,
    /// Attribute of the pushed resource, as NAME=VALUE.
    #[arg(long, value_name = "PAIR", value_parser = OtlpSettings::attribute, requires = "otlp", hide_short_help = true)]
    otlp_attribute: Vec<(String, String)>,
    /// Time between two pushes.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = numbers::seconds, requires = "otlp", hide_short_help = true)]
    otlp_interval: f64,
    /// How long a push may take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = numbers::seconds, requires = "otlp", hide_short_help = true)]
    otlp_timeout: f64,
    /// Authorities of the receiver's certificate, as PEM; for `https://`.
    #[arg(long, value_name = "FILE", value_parser = inputs::file(), requires = "otlp", hide_short_help = true)]
    otlp_ca: Option<PathBuf>,
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
            otlp: self.otlp(global)?,
        };
        let exporter = Exporter::start(self.listen, Arc::clone(&board), serving)?;
        output::note(
            global,
            &format!("serving {scheme}://{}/metrics", exporter.address()),
        );
        if let Some(endpoint) = &self.otlp {
            let every = self.otlp_interval;
            let said = format!("pushing to {endpoint}{} every {every} s", endpoint.path);
            output::note(global, &said);
        }
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

    /// How to push, where that is wanted; an option wins over its variable.
    fn otlp(&self, global: &Global) -> Result<Option<OtlpSettings>> {
        let Some(endpoint) = &self.otlp else {
            return Ok(None);
        };
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let headers = header_list(&variable(HEADERS)).context(HEADERS)?;
        let attributes = attribute_list(&variable(ATTRIBUTES)).context(ATTRIBUTES)?;
        let quiet = global.quiet;
        Ok(Some(OtlpSettings {
            endpoint: endpoint.clone(),
            headers: first_of_each(&self.otlp_header, headers),
            attributes: first_of_each(&self.otlp_attribute, attributes),
            interval: Duration::from_secs_f64(self.otlp_interval),
            timeout: Duration::from_secs_f64(self.otlp_timeout),
            authorities: self.otlp_ca.clone(),
            say: Arc::new(move |text| {
                if !quiet {
                    // Nothing can be done about a standard error that is closed.
                    let _ = writeln!(stderr(), "{text}");
                }
            }),
        }))
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

const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// Pairs by name: the options', then those of the environment that no option names.
fn first_of_each(
    options: &[(String, String)],
    variable: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in options.iter().cloned().chain(variable) {
        if !pairs.iter().any(|(name, _)| *name == pair.0) {
            pairs.push(pair);
        }
    }
    pairs
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
