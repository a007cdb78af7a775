//! `warpsmith lattice catalytic`: count walks in memory that belongs to somebody else.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, BytesPerSecond, Seconds};
use warpsmith_device::{Device, DeviceChoice, ensure_host_room};
use warpsmith_lattice::catalytic::{
    CpuBorrow, CudaBorrow, Obstacles, VulkanBorrow, Walks, restore, run_in_file,
};
use warpsmith_lattice::{Cell, InstructionSet, Shape};
use warpsmith_wisdom::Problem;
use warpsmith_workload::Prepared;
use warpsmith_workload::random::Random;

use super::placed::Where;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::placement::{Decision, Placement};

/// Count walks between two cells inside borrowed memory, and leave every bit of it as it was.
#[derive(Args)]
#[command(
    after_long_help = "With `--borrow FILE` the memory is a file that somebody else owns; a \
journal beside it brings every bit back even if this program is killed: \
`warpsmith lattice catalytic --restore FILE`. Without it, random words of this process are used.

Exit code 1: the memory was not restored.

Examples:
  warpsmith lattice catalytic --size 64 --steps 32
  warpsmith lattice catalytic --size 100 --steps 500 --borrow disk.img
  warpsmith lattice catalytic --restore disk.img"
)]
pub(crate) struct Catalytic {
    /// Cells: `128` is a cube, `512x512` a plane, `64x128x256` slowest first.
    #[arg(long, default_value = "64", allow_negative_numbers = true)]
    size: Shape,
    /// The longest walk; the programme takes four passes for each step.
    #[arg(long, default_value_t = 16)]
    steps: u32,
    /// Where walks start, `z,y,x`; default: the middle.
    #[arg(long, value_name = "CELL")]
    source: Option<String>,
    /// Where they end, `z,y,x`; default: the source, or beside it for odd steps.
    #[arg(long, value_name = "CELL")]
    tap: Option<String>,
    /// Percent of the cells that walks must not enter.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    blocked: f64,
    /// Seed of the blocked cells, and of the borrowed words where they are ours.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Borrow the memory of this file; it needs 8 bytes per cell.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    borrow: Option<PathBuf>,
    /// Put the memory of this file back after a run was killed, and do nothing else.
    #[arg(long, value_name = "FILE", conflicts_with = "borrow", value_parser = inputs::file())]
    restore: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

#[derive(Serialize)]
struct Body {
    size: String,
    steps: u32,
    source: Cell,
    tap: Cell,
    device: String,
    /// Weighted walks modulo 2³².
    count: u32,
    borrowed_bytes: u64,
    restored: bool,
    seconds: f64,
    bytes_per_second: f64,
    decision: Option<Decision>,
}

impl Catalytic {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        if let Some(path) = &self.restore {
            return put_back(global, path);
        }
        let shape = self.size;
        let source = match &self.source {
            Some(text) => shape.parse_cell(text)?,
            None => Cell(shape.extents().map(|extent| extent / 2)),
        };
        let tap = match &self.tap {
            Some(text) => shape.parse_cell(text)?,
            // A walk of an odd length ends on a cell of the other colour.
            None => match shape.neighbours(source).next() {
                Some(beside) if self.steps % 2 == 1 => beside,
                _ => source,
            },
        };
        let obstacles = (self.blocked != 0.0).then_some((self.blocked, self.seed));
        let body = match &self.borrow {
            Some(path) => self.in_file(global, path, (source, tap), obstacles)?,
            None => self.in_memory(global, (source, tap), obstacles)?,
        };
        let restored = body.restored;
        let report = output::report("lattice catalytic", body);
        output::print(global, &report, |body| self.describe(body))?;
        Ok(Outcome::fine_if(restored))
    }

    fn in_file(
        &self,
        global: &Global,
        path: &Path,
        ends: (Cell, Cell),
        obstacles: Option<(f64, u64)>,
    ) -> Result<Body> {
        if let DeviceChoice::Cuda(_) | DeviceChoice::Vulkan(_) = global.device {
            bail!("a file is borrowed by the CPU; leave `--device` out");
        }
        let begun = Instant::now();
        let count = run_in_file(
            path,
            self.size,
            self.steps,
            ends,
            obstacles,
            &mut |progress| {
                let line = format!("pass {} of {}", progress.done + 1, progress.all);
                output::progress(global, &line);
            },
        )?;
        output::progress(global, "");
        // That every bit came back follows from how it is done; there is no second copy to hold it
        // against, which is the point.
        Ok(self.body(
            "cpu",
            ends,
            count,
            true,
            begun.elapsed().as_secs_f64(),
            None,
        ))
    }

    fn in_memory(
        &self,
        global: &Global,
        ends: (Cell, Cell),
        obstacles: Option<(f64, u64)>,
    ) -> Result<Body> {
        let shape = self.size;
        let cells = shape.cells();
        let walks = Walks {
            shape,
            steps: self.steps,
            source: ends.0,
            tap: ends.1,
            obstacles: obstacles
                .map(|(share, seed)| Obstacles::random(shape, share, seed, &[ends.0, ends.1]))
                .transpose()?,
        };
        let problem = Problem {
            // Four passes to a step.
            size: 4.0 * cells as f64,
            passes: f64::from(self.steps),
            footprint: 8.0 * cells as f64,
            bytes_in: 8.0 * cells as f64,
            bytes_out: 8.0 * cells as f64,
        };
        let placement = Placement::of("lattice/catalytic")?;
        let (device, decision) = placement.decide(global, &problem, self.place.exact)?;
        // The words and the copy that they are compared with.
        ensure_host_room(16 * cells as u64)?;
        let mut random = Random::seeded(self.seed);
        let mut words = || -> Vec<u32> { (0..cells).map(|_| random.bits() as u32).collect() };
        let (a, b) = (words(), words());
        let (count, memory, seconds) = match &device {
            Device::Cpu(cpu) => {
                let (mut lent_a, mut lent_b) = (a.clone(), b.clone());
                let borrow = CpuBorrow::new(cpu, InstructionSet::widest(), true, shape);
                let begun = Instant::now();
                let count = borrow.count(&walks, &mut lent_a, &mut lent_b)?;
                (count, (lent_a, lent_b), begun.elapsed().as_secs_f64())
            }
            Device::Vulkan(device) => {
                let mut borrow = VulkanBorrow::new(device, &walks, &a, &b)?;
                let begun = Instant::now();
                borrow.run_once()?;
                let seconds = begun.elapsed().as_secs_f64();
                (borrow.count()?, borrow.memory()?, seconds)
            }
            Device::Cuda(gpu) => {
                let mut borrow = CudaBorrow::new(gpu, walks, &a, &b)?;
                let begun = Instant::now();
                borrow.queue()?;
                borrow.stream().synchronize()?;
                let seconds = begun.elapsed().as_secs_f64();
                (borrow.count()?, borrow.memory()?, seconds)
            }
        };
        placement.learn(global, &decision, &problem.resident(), seconds);
        let restored = memory == (a, b);
        Ok(self.body(
            device.name(),
            ends,
            count,
            restored,
            seconds,
            Some(decision),
        ))
    }

    fn body(
        &self,
        device: &str,
        (source, tap): (Cell, Cell),
        count: u32,
        restored: bool,
        seconds: f64,
        decision: Option<Decision>,
    ) -> Body {
        let cells = self.size.cells() as f64;
        Body {
            size: self.size.to_string(),
            steps: self.steps,
            source,
            tap,
            device: device.to_owned(),
            count,
            borrowed_bytes: 8 * self.size.cells() as u64,
            restored,
            seconds,
            bytes_per_second: 48.0 * cells * f64::from(self.steps) / seconds,
            decision,
        }
    }

    fn describe(&self, body: &Body) -> String {
        let explained = match &body.decision {
            Some(decision) if self.place.explain => decision.explain(),
            _ => String::new(),
        };
        format!(
            "{explained}catalytic {}, {} steps on {}\nwalks     {} modulo 2^32 from {} to {}\n\
             memory    {} borrowed, {}\ntime      {}, {} at 12 B per cell and pass\n",
            body.size,
            body.steps,
            body.device,
            body.count,
            body.source,
            body.tap,
            Bytes(body.borrowed_bytes),
            if body.restored {
                "every bit as it was"
            } else {
                "NOT RESTORED"
            },
            Seconds(body.seconds),
            BytesPerSecond(body.bytes_per_second),
        )
    }
}

#[derive(Serialize)]
struct RestoreBody {
    file: String,
    /// Absent where no run was interrupted.
    blocks: Option<u64>,
}

fn put_back(global: &Global, path: &Path) -> Result<Outcome> {
    let restored = restore(path)?;
    let body = RestoreBody {
        file: path.display().to_string(),
        blocks: restored.map(|restored| restored.blocks),
    };
    let report = output::report("lattice catalytic", body);
    output::print(global, &report, |body| match body.blocks {
        Some(blocks) => format!("restored  {}: {blocks} blocks undone\n", body.file),
        None => format!("restored  {}: no run was interrupted\n", body.file),
    })?;
    Ok(Outcome::Fine)
}
