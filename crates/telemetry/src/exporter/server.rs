//! The exporter's page and its health, over the shared HTTP layer, from one thread.
//!
//! Invariants: a request is answered from memory and never waits for the driver; above the limit of
//! connections those without a request make room; the page is rendered once for all who ask within
//! the same twentieth of a second; a password that is being checked keeps nobody else waiting.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use warpsmith_http::{
    Answer, Application, Background, Bytes, Limits, Refusal, Reply, Request, TlsSource, blocking,
};

use super::dcgm_text::{dcgm_text, hostname};
use super::login_throttle::LoginThrottle;
use super::metrics_text::{ProcessSeries, metrics_text, pods_text};
use super::otlp::{OtlpError, OtlpPush, OtlpSettings, Source};
use super::own_metrics::Cost;
use super::pod_resources::PodWatch;
use super::web_config::WebConfig;
use crate::Clock;
use crate::board::{GpuBoard, LiveBoard};
use crate::event::Presence;

const LIMITS: Limits = Limits {
    connections: 512,
    per_client: 128,
    head_bytes: 8 << 10,
    body_bytes: 0,
    head: Duration::from_secs(10),
    body: Duration::from_secs(10),
    // Twice a slow scrape interval.
    idle: Duration::from_secs(120),
    write: Duration::from_secs(10),
};
/// A page younger than this is given out again: state is read every 100 ms.
const PAGE_LIFE: Duration = Duration::from_millis(50);
/// Without scrapes the events would pile up: a dozen a second for each GPU, 200 bytes each.
const REFRESH: Duration = Duration::from_secs(5);
/// The sampler is alive while its last sample is younger than this.
const HEALTHY_AGE: Duration = Duration::from_secs(3);

/// Why the exporter cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address} (hint: another exporter may be running; `--listen` chooses another address)"
    )]
    Listen {
        /// The address requested.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Metrics cannot be pushed.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
}

/// Under which names metrics are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Our own.
    #[default]
    Own,
    /// Those of NVIDIA's dcgm-exporter.
    Dcgm,
}

/// How to serve.
#[derive(Default)]
pub struct Serving {
    /// Whether each process has its own series.
    pub processes: ProcessSeries,
    /// TLS and users.
    pub config: WebConfig,
    /// Under which names.
    pub names: Names,
    /// Which pod has which GPU.
    pub pods: Option<PodWatch>,
    /// Where to push our metrics as well.
    pub otlp: Option<OtlpSettings>,
}

/// What every connection shares.
struct Shared {
    board: Arc<LiveBoard>,
    processes: ProcessSeries,
    names: Names,
    pods: Option<Arc<PodWatch>>,
    /// Set once the exporter listens: what cannot listen pushes nothing.
    otlp: OnceLock<OtlpPush>,
    hostname: String,
    config: Arc<WebConfig>,
    page: Mutex<Option<(Instant, Bytes)>>,
    throttle: LoginThrottle,
    cost: Cost,
    stopping: AtomicBool,
}

/// A running exporter; finishes its answers and stops when dropped.
pub struct Exporter {
    server: Background,
    shared: Arc<Shared>,
}

impl Exporter {
    /// Binds `address` and serves the board from threads of its own.
    pub fn start(
        address: SocketAddr,
        board: Arc<LiveBoard>,
        serving: Serving,
    ) -> Result<Self, ServeError> {
        let refused = |source| ServeError::Listen { address, source };
        let config = Arc::new(serving.config);
        let pods = serving.pods.map(Arc::new);
        let source = Source {
            board: Arc::clone(&board),
            processes: serving.processes,
            pods: pods.clone(),
        };
        let shared = Arc::new(Shared {
            board,
            processes: serving.processes,
            names: serving.names,
            pods,
            otlp: OnceLock::new(),
            hostname: hostname(),
            config: Arc::clone(&config),
            page: Mutex::new(None),
            throttle: LoginThrottle::default(),
            cost: Cost::default(),
            stopping: AtomicBool::new(false),
        });
        let tls = config.tls.as_ref().map(|tls| -> TlsSource {
            let tls = Arc::clone(tls);
            Box::new(move || tls.current())
        });
        let application = Arc::clone(&shared);
        let server = Background::start("accept", address, application, LIMITS, tls);
        let server = server.map_err(refused)?;
        let refreshing = Arc::clone(&shared);
        thread::Builder::new()
            .name("refresh".to_owned())
            .spawn(move || {
                while !refreshing.stopping.load(Ordering::Relaxed) {
                    thread::sleep(REFRESH);
                    drop(refreshing.board.now());
                }
            })
            .map_err(refused)?;
        if let Some(settings) = serving.otlp {
            // Nobody else sets it.
            let _ = shared.otlp.set(OtlpPush::start(settings, source)?);
        }
        Ok(Self { server, shared })
    }

    /// Where it listens; of use when port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        if let Some(otlp) = self.shared.otlp.get() {
            otlp.stop();
        }
    }
}

fn text(status: u16, body: impl Into<Bytes>) -> Answer {
    Answer::new(status, "text/plain; charset=utf-8", body)
}

impl Application for Shared {
    async fn answer(&self, request: Request, peer: SocketAddr) -> Reply {
        let answer = respond(&request, peer.ip(), self).await;
        self.cost.answered(answer.status());
        Reply::Whole(answer)
    }

    fn refuse(&self, refusal: Refusal) -> Answer {
        match refusal {
            Refusal::NoLength | Refusal::BodyTooLong => text(413, "requests have no body here\n"),
            other => text(other.status(), format!("{other}\n")),
        }
    }
}

async fn respond(request: &Request, address: IpAddr, shared: &Shared) -> Answer {
    if !matches!(request.method(), "GET" | "HEAD") {
        return text(405, "only GET and HEAD\n");
    }
    // Health is for the machine's own watchers, who have no password, and says nothing of use to
    // anybody else.
    match request.path() {
        "/healthz" => return health(shared),
        "/readyz" => return readiness(shared),
        _ => {}
    }
    match login(request, address, shared).await {
        Login::Right => {}
        Login::Wrong => {
            return text(401, "a user and a password are needed\n")
                .with("www-authenticate", "Basic realm=\"warpsmith\"");
        }
        Login::TooOften(wait) => {
            let seconds = wait.as_secs() + 1;
            let words = format!("too many wrong passwords: try again in {seconds} s\n");
            return text(429, words).with_computed("retry-after", seconds.to_string());
        }
    }
    match request.path() {
        "/metrics" => Answer::new(
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            page(shared),
        ),
        "/" => text(200, "warpsmith exporter: /metrics /healthz /readyz\n"),
        _ => text(404, "there is /metrics, /healthz and /readyz\n"),
    }
}

/// What came of a request's user and password.
enum Login {
    Right,
    Wrong,
    /// Not looked at: too many from there were wrong.
    TooOften(Duration),
}

async fn login(request: &Request, address: IpAddr, shared: &Shared) -> Login {
    let header = request.header("authorization");
    if shared.config.users.remembers(header) {
        return Login::Right;
    }
    let Some(header) = header.map(str::to_owned) else {
        return Login::Wrong;
    };
    if let Some(wait) = shared.throttle.wait(address, Instant::now()) {
        return Login::TooOften(wait);
    }
    // Bcrypt is slow on purpose.
    let config = Arc::clone(&shared.config);
    let checked = blocking(move || config.users.admits(&header)).await;
    let right = checked.unwrap_or(false);
    shared.throttle.note(address, right, Instant::now());
    match right {
        true => Login::Right,
        false => Login::Wrong,
    }
}

/// The metrics page, rendered at most every [`PAGE_LIFE`].
fn page(shared: &Shared) -> Bytes {
    let mut known = shared.page.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((made, page)) = &*known
        && made.elapsed() < PAGE_LIFE
    {
        return page.clone();
    }
    let started = Instant::now();
    let mut text = String::with_capacity(16 << 10);
    let pods = shared.pods.as_ref().map(|pods| pods.now());
    let complete = {
        let board = shared.board.now();
        match shared.names {
            Names::Own => {
                metrics_text(&board, Clock::System.now(), shared.processes, &mut text);
                if let Some(pods) = &pods {
                    pods_text(&board, pods, &mut text);
                }
            }
            Names::Dcgm => dcgm_text(&board, pods.as_ref(), &shared.hostname, &mut text),
        }
        // A page of the first milliseconds, before the first samples, is of no use to the next.
        let waits = |gpu: &GpuBoard| gpu.presence == Presence::Live && gpu.state_at.is_none();
        !board.gpus.iter().any(waits)
    };
    let took = started.elapsed();
    shared.cost.own_metrics(&mut text);
    if let Some(otlp) = shared.otlp.get() {
        otlp.own_metrics(&mut text);
    }
    shared.cost.rendered(took, text.len());
    // Without the room that the text did not need.
    let page = Bytes::copy_from_slice(text.as_bytes());
    if complete {
        *known = Some((Instant::now(), page.clone()));
    }
    page
}

/// Alive: the process answers, and no GPU that has not been lost is without a young sample.
fn health(shared: &Shared) -> Answer {
    let now = Clock::System.now();
    let board = shared.board.now();
    let stale = board
        .gpus
        .iter()
        .zip(&board.inventory.gpus)
        .find(|(gpu, _)| {
            gpu.presence == Presence::Stale
                || gpu.presence == Presence::Live
                    && gpu.state_at.is_some_and(|at| now.since(at) > HEALTHY_AGE)
        });
    match stale {
        // A driver that does not open is nothing that a restart of this process could fix.
        None => match board.inventory.unreachable.first() {
            None => text(200, "ok\n"),
            Some(down) => text(200, format!("ok; {down}\n")),
        },
        Some((_, identity)) => text(
            503,
            format!(
                "GPU {}: no sample for more than {} s\n",
                identity.index,
                HEALTHY_AGE.as_secs()
            ),
        ),
    }
}

/// Ready: NVML works and at least one GPU has answered.
fn readiness(shared: &Shared) -> Answer {
    let board = shared.board.now();
    if let Some(reason) = &board.inventory.nvml_absent {
        return text(503, format!("{reason}\n"));
    }
    let answering = board
        .gpus
        .iter()
        .any(|gpu| gpu.state_at.is_some() && gpu.presence == Presence::Live);
    if answering {
        text(200, "ready\n")
    } else if let Some(down) = board.inventory.unreachable.first() {
        text(503, format!("no GPU has answered: {down}\n"))
    } else {
        text(503, "no GPU has answered\n")
    }
}
