//! `warpsmith lattice rd`: reaction-diffusion.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::{BytesPerSecond, Seconds};
use warpsmith_device::{CpuDevice, Device};
use warpsmith_formats::write_output;
use warpsmith_lattice::image::{Image, middle};
use warpsmith_lattice::rd::{CpuForm, CpuRun, CudaForm, CudaRun, Field, Rule, VulkanRun};
use warpsmith_lattice::{InstructionSet, Shape};
use warpsmith_wisdom::Problem;
use warpsmith_workload::Prepared;

use super::placed::Where;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::placement::{Decision, Placement};

/// Let a bistable medium react and diffuse: u' = u + D·lap u + R·u(1−u)(u−a), with a memory.
#[derive(Args)]
#[command(
    after_long_help = "Every form gives the same bits, on CPU, CUDA and Vulkan; the digest shows it.

Examples:
  warpsmith lattice rd --size 100 --steps 10
  warpsmith lattice rd --size 512x512 --steps 2000 --start ball --slice front.png
  warpsmith lattice rd --size 200 --steps 10 --explain --device auto
  warpsmith lattice rd --size 64 --steps 100 --device vulkan"
)]
pub(crate) struct Rd {
    /// Cells: `128` is a cube, `512x512` a plane, `64x128x256` slowest first.
    #[arg(long, default_value = "128", allow_negative_numbers = true)]
    size: Shape,
    /// Steps in time.
    #[arg(long, default_value_t = 100)]
    steps: usize,
    /// How it starts.
    #[arg(long, value_enum, default_value_t = Start::Noise)]
    start: Start,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// D, above 0 and at most 1/(2d).
    #[arg(long, default_value_t = Rule::DIFFUSION, allow_negative_numbers = true)]
    diffusion: f32,
    /// R, above 0 and at most 1.
    #[arg(long, default_value_t = Rule::REACTION, allow_negative_numbers = true)]
    reaction: f32,
    /// a, above 0 and at most 1: above it the medium grows.
    #[arg(long, default_value_t = Rule::THRESHOLD, allow_negative_numbers = true)]
    threshold: f32,
    /// Write a plane of the medium as a PNG picture.
    #[arg(long, value_name = "FILE")]
    slice: Option<PathBuf>,
    /// Which plane; default: the middle one.
    #[arg(long, requires = "slice")]
    plane: Option<usize>,
    #[command(flatten)]
    place: Where,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Start {
    /// Uniform noise.
    Noise,
    /// A grown ball in an empty medium.
    Ball,
}

#[derive(Serialize)]
struct Body {
    size: String,
    steps: usize,
    device: String,
    exact: bool,
    seconds: f64,
    nanoseconds_per_cell_step: f64,
    bytes_per_second: f64,
    medium: Spread,
    memory: Spread,
    digest: String,
    decision: Decision,
}

#[derive(Serialize)]
struct Spread {
    least: f32,
    mean: f64,
    greatest: f32,
}

impl Spread {
    fn of(values: &[f32]) -> Self {
        let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
        Self {
            least: values.iter().copied().fold(f32::INFINITY, f32::min),
            mean: sum / values.len() as f64,
            greatest: values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        }
    }
}

impl Rd {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--slice", self.slice.as_deref())])?;
        let shape = self.size;
        let rule = Rule::new(shape, self.diffusion, self.reaction, self.threshold)?;
        let plane = self.plane.unwrap_or_else(|| middle(shape));
        if plane >= shape.extents()[0] {
            bail!(
                "there is no plane {plane}: the lattice has {}",
                shape.extents()[0]
            );
        }
        let cells = shape.cells() as f64;
        let problem = Problem {
            size: cells,
            passes: self.steps as f64,
            footprint: 24.0 * cells,
            bytes_in: 8.0 * cells,
            bytes_out: 8.0 * cells,
        };
        let placement = Placement::of("lattice/rd")?;
        let (device, decision) = placement.decide(global, &problem, self.place.exact)?;
        let field = match self.start {
            Start::Noise => Field::noise(shape, self.seed)?,
            Start::Ball => Field::ball(shape)?,
        };
        let (field, seconds) = match &device {
            Device::Cpu(cpu) => on_cpu(global, cpu, rule, field, self.steps)?,
            Device::Vulkan(device) => {
                let mut run = VulkanRun::new(device, rule, &field, self.steps, None)?;
                let begun = Instant::now();
                run.run_once()?;
                let seconds = begun.elapsed().as_secs_f64();
                (run.field()?, seconds)
            }
            Device::Cuda(gpu) => {
                let form = CudaForm::best(shape, self.steps, gpu.facts());
                let mut run = CudaRun::new(gpu, rule, form, &field)?;
                let begun = Instant::now();
                run.advance(self.steps)?;
                run.stream().synchronize()?;
                let seconds = begun.elapsed().as_secs_f64();
                (run.field()?, seconds)
            }
        };
        placement.learn(global, &decision, &problem.resident(), seconds);
        if let Some(path) = &self.slice {
            write_output(path, &Image::slice(&field, plane).to_png()?)?;
        }
        let cell_steps = (cells * self.steps as f64).max(1.0);
        let report = output::report(
            "lattice rd",
            Body {
                size: shape.to_string(),
                steps: self.steps,
                device: device.name().to_owned(),
                exact: true,
                seconds,
                nanoseconds_per_cell_step: seconds / cell_steps * 1e9,
                bytes_per_second: 16.0 * cell_steps / seconds,
                medium: Spread::of(&field.u),
                memory: Spread::of(&field.e),
                digest: field.digest(),
                decision,
            },
        );
        output::print(global, &report, |body| self.describe(body))?;
        Ok(Outcome::Fine)
    }

    fn describe(&self, body: &Body) -> String {
        let explained = if self.place.explain {
            body.decision.explain()
        } else {
            String::new()
        };
        let picture = self.slice.as_ref().map_or(String::new(), |path| {
            format!("picture   {}\n", path.display())
        });
        let spread = |spread: &Spread| {
            format!(
                "{:.4} to {:.4}, mean {:.4}",
                spread.least, spread.greatest, spread.mean
            )
        };
        format!(
            "{explained}rd        {}, {} steps on {} ({})\ntime      {}, {:.3} ns per cell and \
             step, {} at 16 B\nmedium    {}\nmemory    {}\nsha256    {}\n{picture}",
            body.size,
            body.steps,
            body.decision.device,
            body.device,
            Seconds(body.seconds),
            body.nanoseconds_per_cell_step,
            BytesPerSecond(body.bytes_per_second),
            spread(&body.medium),
            spread(&body.memory),
            body.digest,
        )
    }
}

/// Steps between two looks at the progress.
const STRETCH: usize = 64;

fn on_cpu(
    global: &Global,
    cpu: &CpuDevice,
    rule: Rule,
    field: Field,
    steps: usize,
) -> Result<(Field, f64)> {
    let form = if cpu.threads() > 1 {
        CpuForm::Threads {
            set: InstructionSet::widest(),
        }
    } else {
        CpuForm::blocked_for(field.shape, private_cache(cpu))
    };
    let mut run = CpuRun::new(cpu, rule, form, field)?;
    let begun = Instant::now();
    let mut done = 0;
    while done < steps {
        let taken = STRETCH.min(steps - done);
        run.advance(taken);
        done += taken;
        output::progress(global, &format!("step {done} of {steps}"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    output::progress(global, "");
    Ok((run.into_field(), seconds))
}

/// The private cache of a core, which a wavefront should fit into.
fn private_cache(cpu: &CpuDevice) -> u64 {
    let mut caches = cpu.facts().caches.iter();
    caches
        .find(|cache| cache.level == 2)
        .map_or(1 << 20, |cache| cache.bytes)
}
