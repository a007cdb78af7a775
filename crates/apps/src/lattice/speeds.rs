//! `warpsmith lattice speeds`: the table "backend, time, speed-up" for one problem.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::Seconds;
use warpsmith_device::{
    CpuDevice, CudaDevice, DeviceChoice, VulkanDevice, VulkanKind, cuda_devices,
};
use warpsmith_lattice::rd::{CpuForm, CpuRun, CudaForm, CudaRun, Field, Rule, VulkanRun};
use warpsmith_lattice::{InstructionSet, PEERS, Shape};
use warpsmith_measure::peers::{Peer, time_peers};
use warpsmith_workload::Prepared;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Time reaction-diffusion on every backend here: scalar, vectors, threads, GPU, and peers.
#[derive(Args)]
#[command(
    after_long_help = "Each time is the least of several runs, warm, from the call to the end of \
the wait, data already where they are worked on. Speed-ups are against the first row: NumPy where \
`--python` names an interpreter that has it, else our scalar form. Peers that are not installed \
are left out. `--device vulkan` times that Vulkan device.

Examples:
  warpsmith lattice speeds
  warpsmith lattice speeds --size 128 --steps 30 --python .venv/bin/python"
)]
pub struct Speeds {
    /// Cells along each edge of the cube.
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Steps in time.
    #[arg(long, default_value_t = 10)]
    steps: usize,
    /// A Python interpreter; its NumPy, SciPy, Numba and PyTorch are timed beside.
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

#[derive(Serialize)]
struct Body {
    size: usize,
    steps: usize,
    /// What speed-ups are against.
    baseline: String,
    rows: Vec<Row>,
    /// Whether all of our own backends gave the same bits.
    same_bits: bool,
}

/// One backend's or peer's time.
pub struct Timed {
    pub name: String,
    pub seconds: f64,
    /// Ours, not a peer's.
    pub own: bool,
    pub gpu: bool,
}

/// The problem, what every backend took for it, and what our own made of it.
struct Timings<'a> {
    field: &'a Field,
    times: Vec<Timed>,
    digests: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    backend: String,
    seconds: f64,
    speed_up: f64,
    nanoseconds_per_cell_step: f64,
}

impl Speeds {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if self.steps == 0 {
            bail!("`--steps 0` leaves nothing to time");
        }
        let shape = Shape::cube(self.size)?;
        let (times, same_bits) = self.time_all(global)?;
        output::progress(global, "");
        let Some((baseline, first)) = times
            .first()
            .map(|timed| (timed.name.clone(), timed.seconds))
        else {
            bail!("nothing was timed");
        };
        let cell_steps = shape.cells() as f64 * self.steps as f64;
        let rows = times
            .into_iter()
            .map(|timed| Row {
                backend: timed.name,
                seconds: timed.seconds,
                speed_up: first / timed.seconds,
                nanoseconds_per_cell_step: timed.seconds / cell_steps * 1e9,
            })
            .collect();
        let report = output::report(
            "lattice speeds",
            Body {
                size: self.size,
                steps: self.steps,
                baseline,
                rows,
                same_bits,
            },
        );
        output::print(global, &report, describe)?;
        Ok(Outcome::fine_if(same_bits))
    }

    /// For the report: the default problem, with the peers of `python` where one is given.
    pub fn of_report(python: Option<PathBuf>) -> Self {
        Self {
            size: 100,
            steps: 10,
            python,
        }
    }

    /// Every time, peers first, and whether all of our own backends gave the same bits.
    pub fn time_all(&self, global: &Global) -> Result<(Vec<Timed>, bool)> {
        let shape = Shape::cube(self.size)?;
        let field = Field::noise(shape, 1234)?;
        let mut timings = Timings {
            field: &field,
            times: Vec::new(),
            digests: Vec::new(),
        };
        if let Some(python) = &self.python {
            output::progress(global, "peers");
            timings.times.extend(self.peers(python)?);
        }
        // Opened before anything is timed: a GPU that was requested and is broken is an error.
        let mut vulkan = None;
        match global.device {
            DeviceChoice::Cuda(index) => drop(CudaDevice::open(index)?),
            DeviceChoice::Vulkan(index) => vulkan = Some(VulkanDevice::open(index)?),
            DeviceChoice::Auto | DeviceChoice::Cpu => {}
        }
        self.on_cpu(global, &mut timings)?;
        match vulkan {
            Some(device) => self.on_vulkan(global, &device, &mut timings)?,
            None if global.device != DeviceChoice::Cpu => {
                self.on_gpus(global, &mut timings)?;
            }
            None => {}
        }
        let same_bits = timings.digests.windows(2).all(|pair| pair[0] == pair[1]);
        Ok((timings.times, same_bits))
    }

    fn on_cpu(&self, global: &Global, timings: &mut Timings<'_>) -> Result<()> {
        let field = timings.field;
        let all = CpuDevice::open()?;
        let one = CpuDevice::with_threads(1)?;
        let set = InstructionSet::widest();
        let cache = all.facts().caches.iter().find(|cache| cache.level == 2);
        let blocked = CpuForm::blocked_for(field.shape, cache.map_or(1 << 20, |cache| cache.bytes));
        let mut forms = vec![
            ("scalar, one core".to_owned(), &one, CpuForm::Plain),
            (
                format!("{set}, one core"),
                &one,
                CpuForm::Blocked { set, depth: 1 },
            ),
        ];
        if let CpuForm::Blocked { depth, .. } = blocked
            && depth > 1
        {
            let name = format!("{set}, one core, {depth} steps per pass");
            forms.push((name, &one, blocked));
        }
        if all.threads() > 1 {
            let name = format!("{set}, {} threads", all.threads());
            forms.push((name, &all, CpuForm::Threads { set }));
        }
        for (name, device, form) in forms {
            output::progress(global, &name);
            let rule = Rule::usual(field.shape);
            let mut run = CpuRun::new(device, rule, form, field.clone())?;
            run.advance(self.steps);
            timings.digests.push(run.field().digest());
            let seconds = least(|| {
                run.advance(self.steps);
                Ok(())
            })?;
            timings.times.push(Timed {
                name,
                seconds,
                own: true,
                gpu: false,
            });
        }
        Ok(())
    }

    fn on_gpus(&self, global: &Global, timings: &mut Timings<'_>) -> Result<()> {
        let field = timings.field;
        for facts in cuda_devices().unwrap_or_default() {
            if let DeviceChoice::Cuda(index) = global.device
                && index != facts.index
            {
                continue;
            }
            let gpu = CudaDevice::open(facts.index)?;
            let best = CudaForm::best(field.shape, self.steps, &facts);
            let mut forms = vec![CudaForm::Steps { planes: 0 }];
            if best != forms[0] {
                forms.push(best);
            }
            for form in forms {
                let how = match form {
                    CudaForm::Steps { .. } => "one launch per step".to_owned(),
                    CudaForm::Blocked { depth, .. } => format!("{depth} steps per pass, graph"),
                    CudaForm::Resident => "one launch for all steps".to_owned(),
                };
                let name = format!("cuda:{} {}, {how}", facts.index, facts.name);
                output::progress(global, &name);
                let mut run = CudaRun::new(&gpu, Rule::usual(field.shape), form, field)?;
                run.advance(self.steps)?;
                timings.digests.push(run.field()?.digest());
                let stream = run.stream().clone();
                let graph = match form {
                    CudaForm::Blocked { .. } => Some(run.record(self.steps)?),
                    _ => None,
                };
                let seconds = least(|| {
                    match &graph {
                        Some(graph) => graph.launch(&stream)?,
                        None => {
                            run.restart();
                            run.advance(self.steps)?;
                        }
                    }
                    Ok(stream.synchronize()?)
                })?;
                timings.times.push(Timed {
                    name,
                    seconds,
                    own: true,
                    gpu: true,
                });
            }
        }
        Ok(())
    }

    fn on_vulkan(
        &self,
        global: &Global,
        device: &VulkanDevice,
        timings: &mut Timings<'_>,
    ) -> Result<()> {
        let field = timings.field;
        let name = format!("{} {}", global.device, device.facts().name);
        output::progress(global, &name);
        let rule = Rule::usual(field.shape);
        let mut run = VulkanRun::new(device, rule, field, self.steps, None)?;
        run.run_once()?;
        timings.digests.push(run.field()?.digest());
        timings.times.push(Timed {
            name,
            seconds: least(|| Ok(run.run_once()?))?,
            own: true,
            gpu: device.facts().kind != VulkanKind::Software,
        });
        Ok(())
    }

    fn peers(&self, python: &Path) -> Result<Vec<Timed>> {
        let (size, steps) = (self.size.to_string(), self.steps.to_string());
        let peers = time_peers(python, PEERS, &["rd", &size, &steps])
            .with_context(|| format!("cannot time peers with `{}`", python.display()))?;
        let timed = |peer: Peer| {
            Some(Timed {
                gpu: peer.name.contains("GPU") || peer.name.contains("cuda"),
                seconds: peer.seconds?,
                name: peer.name,
                own: false,
            })
        };
        Ok(peers.into_iter().filter_map(timed).collect())
    }
}

/// The least of several runs after one that warms up.
fn least(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut least = f64::INFINITY;
    let begun = Instant::now();
    let mut runs = 0;
    while runs < 3 || (begun.elapsed() < Duration::from_secs(1) && runs < 1000) {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(least)
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["backend", ">time", ">speed-up", ">ns per cell and step"]);
    for row in &body.rows {
        table.row([
            row.backend.clone(),
            Seconds(row.seconds).to_string(),
            format!("{:.2}", row.speed_up),
            format!("{:.3}", row.nanoseconds_per_cell_step),
        ]);
    }
    let bits = if body.same_bits {
        "our backends gave the same bits"
    } else {
        "OUR BACKENDS GAVE DIFFERENT BITS"
    };
    format!(
        "{table}\nreaction-diffusion, {0}x{0}x{0}, {1} steps; speed-ups against {2}; {bits}\n",
        body.size, body.steps, body.baseline
    )
}
