//! `warpsmith lattice bfs`: shortest paths.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, Seconds};
use warpsmith_device::{Device, DeviceError};
use warpsmith_formats::write_output;
use warpsmith_lattice::bfs::{CudaSearch, DrawnMaze, Labels, Maze, Reach, TileSearch, parse_map};
use warpsmith_lattice::image::Image;
use warpsmith_lattice::{Cell, LatticeError, Shape};
use warpsmith_wisdom::Problem;

use super::placed::Where;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::placement::{Decision, Placement};

/// Find shortest paths on a lattice with blocked cells, 64 cells to a word.
#[derive(Args)]
#[command(
    after_long_help = "A drawing has a line to a row and a blank line between planes: `#` is \
blocked, `.` is free, `S` and `T` are source and target.

Exit code 1: the target cannot be reached.

Examples:
  warpsmith lattice bfs --size 128 --blocked 30
  warpsmith lattice bfs --size 400x600 --blocked 38 --target 399,599 --image path.png
  warpsmith lattice bfs --map maze.txt --path"
)]
pub(crate) struct Bfs {
    /// Cells: `128` is a cube, `512x512` a plane, `64x128x256` slowest first.
    #[arg(
        long,
        default_value = "128",
        conflicts_with = "map",
        allow_negative_numbers = true
    )]
    size: Shape,
    /// Percent of the cells that are blocked at random.
    #[arg(
        long,
        default_value_t = 30.0,
        allow_negative_numbers = true,
        conflicts_with = "map"
    )]
    blocked: f64,
    /// Seed of the blocked cells.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "map")]
    seed: u64,
    /// Read the maze from a drawing.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    map: Option<PathBuf>,
    /// Where to start, `z,y,x`; default: the first free cell.
    #[arg(long, value_name = "CELL")]
    source: Option<String>,
    /// Where to go, `z,y,x`; default: everywhere within reach.
    #[arg(long, value_name = "CELL")]
    target: Option<String>,
    /// Print the cells of the path.
    #[arg(long)]
    path: bool,
    /// Write the path, or the wave where there is no target, as a PNG picture.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

#[derive(Serialize)]
struct Body {
    size: String,
    free_cells: u64,
    source: Cell,
    target: Option<Cell>,
    device: String,
    seconds: f64,
    reach: Reach,
    state_bytes: usize,
    bits_per_cell: f64,
    /// Steps of the path; absent where there is no target or no path.
    distance: Option<usize>,
    path: Option<Vec<Cell>>,
    decision: Decision,
}

impl Bfs {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--image", self.image.as_deref())])?;
        let drawn = self.maze()?;
        let maze = drawn.maze;
        let shape = maze.shape();
        let given = |text: &Option<String>, mark: Option<Cell>| -> Result<Option<Cell>> {
            Ok(match text {
                Some(text) => Some(shape.parse_cell(text)?),
                None => mark,
            })
        };
        let source = given(&self.source, drawn.source)?
            .or_else(|| maze.first_free())
            .context("every cell is blocked: there is nowhere to start")?;
        let target = given(&self.target, drawn.target)?;
        maze.ensure_free("source", source)?;
        if let Some(target) = target {
            maze.ensure_free("target", target)?;
        }
        let cells = shape.cells() as f64;
        let problem = Problem {
            size: cells,
            passes: 1.0,
            footprint: cells,
            bytes_in: cells / 8.0,
            bytes_out: cells / 4.0,
        };
        let placement = Placement::of("lattice/bfs")?;
        let (device, decision) = placement.decide(global, &problem, self.place.exact)?;
        let found = search(&device, maze.clone(), source, target)?;
        if target.is_none() {
            placement.learn(global, &decision, &problem.resident(), found.seconds);
        }
        let path = target.map(|target| found.labels.path(target)).transpose();
        let path = match path {
            Ok(path) => path,
            Err(LatticeError::Unreachable { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(file) = &self.image {
            let cells = path.as_deref().unwrap_or(std::slice::from_ref(&source));
            write_output(file, &Image::path(&maze, &found.labels, cells).to_png()?)?;
        }
        let report = output::report(
            "lattice bfs",
            Body {
                size: shape.to_string(),
                free_cells: maze.free_cells(),
                source,
                target,
                device: device.name().to_owned(),
                seconds: found.seconds,
                reach: found.reach,
                state_bytes: found.state_bytes,
                bits_per_cell: 8.0 * found.state_bytes as f64 / cells,
                distance: path.as_ref().map(|path| path.len() - 1),
                path: path.filter(|_| self.path),
                decision,
            },
        );
        output::print(global, &report, |body| self.describe(body))?;
        let lost = target.is_some() && report.body.distance.is_none();
        Ok(Outcome::fine_if(!lost))
    }

    fn maze(&self) -> Result<DrawnMaze> {
        let Some(path) = &self.map else {
            return Ok(DrawnMaze {
                maze: Maze::random(self.size, self.blocked, self.seed)?,
                source: None,
                target: None,
            });
        };
        let name = || format!("cannot read the maze `{}`", path.display());
        let text = std::fs::read_to_string(path).with_context(name)?;
        parse_map(&text).with_context(name)
    }

    fn describe(&self, body: &Body) -> String {
        let mut text = if self.place.explain {
            body.decision.explain()
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "bfs       {}, {} free cells, from {} on {} ({})",
            body.size, body.free_cells, body.source, body.decision.device, body.device
        );
        let _ = writeln!(
            text,
            "time      {}; {} of state, {:.2} bits per cell",
            Seconds(body.seconds),
            Bytes(body.state_bytes as u64),
            body.bits_per_cell
        );
        let _ = writeln!(
            text,
            "reached   {} cells, the farthest at {}",
            body.reach.cells, body.reach.eccentricity
        );
        match (body.target, body.distance) {
            (Some(target), Some(distance)) => {
                let _ = writeln!(text, "path      {distance} steps to {target}");
            }
            (Some(target), None) => {
                let _ = writeln!(text, "path      none: {target} is walled off");
            }
            _ => {}
        }
        if let Some(path) = &body.path {
            let cells: Vec<String> = path.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{}", cells.join(" "));
        }
        if let Some(file) = &self.image {
            let _ = writeln!(text, "picture   {}", file.display());
        }
        text
    }
}

struct Found {
    reach: Reach,
    labels: Labels,
    seconds: f64,
    state_bytes: usize,
}

fn search(device: &Device, maze: Maze, source: Cell, target: Option<Cell>) -> Result<Found> {
    Ok(match device {
        Device::Cpu(cpu) => {
            let mut search = TileSearch::on_threads(cpu, maze)?;
            let begun = Instant::now();
            let reach = search.run(source, target)?;
            Found {
                reach,
                seconds: begun.elapsed().as_secs_f64(),
                labels: search.labels(),
                state_bytes: search.state_bytes(),
            }
        }
        Device::Vulkan(_) => bail!(DeviceError::NotOnVulkan {
            what: "`lattice bfs`"
        }),
        Device::Cuda(gpu) => {
            let mut search = CudaSearch::new(gpu, maze, 1)?;
            let begun = Instant::now();
            search.queue(source, target)?;
            search.stream().synchronize()?;
            Found {
                seconds: begun.elapsed().as_secs_f64(),
                reach: search.reach()?,
                labels: search.labels()?,
                state_bytes: search.state_bytes(),
            }
        }
    })
}
