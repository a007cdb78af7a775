//! Start, shared state, and an end that lets everybody know.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use warpsmith_core::Finding;
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_http::access::Origins;
use warpsmith_http::{Doors, Listening};
use warpsmith_synth::{CudaVoices, DryEngine, InstructionSet, Params, prove};
use warpsmith_telemetry::LiveBoard;

use crate::access::{Access, Limits};
use crate::api::Router;
use crate::api::matrix::Matrix;
use crate::audio::{Broadcast, Desk, Parking};
use crate::error::ServeError;
use crate::events::Events;
use crate::housekeeping::keep_house;
use crate::metrics::{Gauges, Metrics};
use crate::presets::Presets;
use crate::process;
use crate::seats::Seats;
use crate::wav::WavFiles;

/// How long connections may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// What the kernel may hold for a client that does not read.
const SEND_BUFFER_BYTES: u32 = 128 << 10;
/// How long a client may take for a head, for a body and between two requests, and how long it may
/// take nothing of what it is sent.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Files rendered at once.
const RENDERS: usize = 2;

/// What to serve, and to whom.
#[derive(Clone)]
pub struct Settings {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// What clients must bring; needed beyond loopback.
    pub token: Option<String>,
    /// What whoever steers the broadcast must bring. Without one everybody may on loopback, and nobody
    /// beyond it.
    pub owner: Option<String>,
    /// Pages of other origins that may connect.
    pub origins: Vec<String>,
    /// How many of what.
    pub limits: Limits,
    /// Threads; one for each core where it is 0.
    pub threads: usize,
    /// The broadcast's piece.
    pub seed: u64,
    /// Parameters of the broadcast, and of listeners who ask for none.
    pub params: Params,
    /// What renders the voices of all streams. A GPU that fails is given up for the CPU.
    pub device: DeviceChoice,
    /// Where the matrix is measured.
    pub matrix_device: DeviceChoice,
    /// What the GPUs do, where they are sampled.
    pub board: Option<Arc<LiveBoard>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9878)),
            token: None,
            owner: None,
            origins: Vec::new(),
            limits: Limits::default(),
            threads: 0,
            seed: 1,
            params: Params::default(),
            device: DeviceChoice::Cpu,
            matrix_device: DeviceChoice::Cpu,
            board: None,
        }
    }
}

/// What every connection shares.
pub(crate) struct Shared {
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) params: Params,
    /// The CPU.
    pub(crate) device: String,
    /// Where voices are rendered, if not by the threads of the connections.
    pub(crate) desk: Option<Desk>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Arc<Events>,
    pub(crate) seats: Seats,
    pub(crate) parking: Parking,
    pub(crate) presets: Presets,
    pub(crate) broadcast: Arc<Broadcast>,
    pub(crate) doors: Arc<Doors>,
    pub(crate) listeners: Arc<Semaphore>,
    pub(crate) renders: Arc<Semaphore>,
    /// Who hears `/stream.wav`, and who is sent a file.
    pub(crate) wav_listeners: Arc<WavFiles>,
    pub(crate) wav_renders: Arc<WavFiles>,
    pub(crate) matrix: Arc<Matrix>,
    pub(crate) board: Option<Arc<LiveBoard>>,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// What renders listeners' own streams now.
    pub(crate) fn device(&self) -> &str {
        match &self.desk {
            Some(desk) if desk.loss().is_none() => desk.device(),
            _ => &self.device,
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        Gauges {
            connections: self.doors.count(),
            listeners: self.seats.count(),
            broadcast_listeners: self.broadcast.listeners(),
            wav_listeners: self.wav_listeners.count(),
            parked: self.parking.sweep(),
        }
    }
}

/// A running server; stops when dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    stopped: AtomicBool,
    runtime: Option<Runtime>,
}

impl Server {
    /// Binds the address and serves from threads of its own.
    pub fn start(settings: Settings) -> Result<Self, ServeError> {
        let engine = engine(settings.device)?;
        Self::start_with(settings, engine)
    }

    /// The same with voices from `engine`, whatever device the settings name.
    pub fn start_with(
        settings: Settings,
        engine: Option<Box<dyn DryEngine>>,
    ) -> Result<Self, ServeError> {
        let address = settings.listen;
        let loopback = address.ip().is_loopback();
        if !loopback && settings.token.is_none() {
            return Err(ServeError::Open { address });
        }
        let origins = Origins {
            loopback,
            allowed: settings.origins,
        };
        let access = Access::new(settings.token, settings.owner, origins)?;
        process::allow_many_files();
        let runtime =
            runtime(settings.threads, "serve").map_err(|source| ServeError::Threads { source })?;
        let (broadcast, music) = Broadcast::new(settings.seed, settings.params)?;
        let (stop, stopping) = watch::channel(false);
        let events = Arc::new(Events::new());
        let told = Arc::clone(&events);
        let on_lost = move |finding: &Finding| {
            told.tell("engine", || serde_json::json!({ "finding": finding }));
        };
        let desk = engine
            .map(|engine| Desk::open(engine, on_lost))
            .transpose()
            .map_err(|source| ServeError::Threads { source })?;
        let shared = Arc::new(Shared {
            access,
            limits: settings.limits,
            params: settings.params,
            device: device(),
            desk,
            metrics: Arc::new(Metrics::new()),
            events,
            seats: Seats::default(),
            parking: Parking::default(),
            presets: Presets::default(),
            broadcast: Arc::new(broadcast),
            doors: Arc::default(),
            listeners: Arc::new(Semaphore::new(settings.limits.listeners)),
            renders: Arc::new(Semaphore::new(RENDERS)),
            wav_listeners: Arc::default(),
            wav_renders: Arc::default(),
            matrix: Arc::new(Matrix::new(settings.matrix_device)),
            board: settings.board,
            stopping,
        });
        let refused = |source| ServeError::Listen { address, source };
        let listener = {
            let _entered = runtime.enter();
            bind(address).map_err(refused)?
        };
        let bound = listener.local_addr().map_err(refused)?;
        let broadcast = Arc::clone(&shared.broadcast);
        let desk = shared.desk.clone();
        runtime.spawn(broadcast.run(music, desk, Arc::clone(&shared.metrics)));
        runtime.spawn(keep_house(Arc::clone(&shared)));
        let listening = Listening {
            application: Arc::new(Router(Arc::clone(&shared))),
            limits: http_limits(&settings.limits),
            doors: Arc::clone(&shared.doors),
            tls: None,
            stopping: shared.stopping.clone(),
        };
        runtime.spawn(warpsmith_http::accept(listener, listening));
        Ok(Self {
            address: bound,
            shared,
            stop,
            stopped: AtomicBool::new(false),
            runtime: Some(runtime),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What renders.
    pub fn device(&self) -> &str {
        self.shared.device()
    }

    /// What is not as it was requested: a GPU that was given up.
    pub fn finding(&self) -> Option<&Finding> {
        self.shared.desk.as_ref()?.loss()
    }

    /// Calls `take` with every event, a JSON object to a line, from a thread of its own.
    pub fn on_event(&self, mut take: impl FnMut(&str) + Send + 'static) {
        let mut events = self.shared.events.subscribe();
        std::thread::spawn(move || {
            loop {
                match events.blocking_recv() {
                    Ok(line) => take(&line),
                    Err(tokio::sync::broadcast::error::RecvError::Lagged(missed)) => {
                        take(&format!("{{\"event\":\"missed\",\"events\":{missed}}}"));
                    }
                    Err(_) => return,
                }
            }
        });
    }

    /// What the server has counted so far, as `/api/metrics` says it.
    pub fn metrics(&self) -> serde_json::Value {
        self.shared.metrics.json(&self.shared.gauges())
    }

    /// Tells every client, waits a little for them to go, and ends.
    pub fn stop(&self) {
        if self.stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        self.shared
            .events
            .tell("stopping", || serde_json::json!({}));
        // Receivers live as long as `shared`.
        let _ = self.stop.send(true);
        let deadline = Instant::now() + GRACE;
        while self.shared.doors.count() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
    }
}

/// A runtime for short pieces of work: sockets are looked at every few tasks, not every 61, because
/// a task here can render for a tenth of a millisecond.
pub(crate) fn runtime(threads: usize, name: &str) -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(if threads == 0 { cores } else { threads })
        .thread_name(name)
        .thread_stack_size(512 << 10)
        .event_interval(7)
        .global_queue_interval(7)
        .enable_all()
        .build()
}

fn http_limits(limits: &Limits) -> warpsmith_http::Limits {
    warpsmith_http::Limits {
        connections: limits.connections,
        per_client: limits.per_client,
        head_bytes: 16 << 10,
        body_bytes: 64 << 10,
        head: PATIENCE,
        body: PATIENCE,
        idle: PATIENCE,
        write: PATIENCE,
    }
}

fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(4_096)
}

/// The engine of a device; absent for the CPU, where connections render for themselves.
fn engine(choice: DeviceChoice) -> Result<Option<Box<dyn DryEngine>>, ServeError> {
    if choice == DeviceChoice::Cpu {
        return Ok(None);
    }
    let failed = |source| ServeError::Device { source };
    let device = Device::open(choice).map_err(failed)?;
    let Some(gpu) = device.cuda() else {
        return Ok(None);
    };
    let mut engine = CudaVoices::new(gpu).map_err(failed)?;
    prove(&mut engine).map_err(|source| ServeError::Engine { source })?;
    Ok(Some(Box::new(engine)))
}

fn device() -> String {
    let instructions = match InstructionSet::widest() {
        InstructionSet::Portable => "portable",
        InstructionSet::Avx2(_) => "AVX2",
        InstructionSet::Avx512(_) => "AVX-512",
    };
    format!(
        "cpu: {} ({instructions})",
        warpsmith_device::machine_identity().cpu
    )
}
