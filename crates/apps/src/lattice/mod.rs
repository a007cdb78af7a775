//! `warpsmith lattice …`: computations on lattices, with the device that is fastest for each.

use anyhow::Result;
use clap::{Args, Subcommand};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

mod bfs;
mod catalytic;
mod placed;
mod rd;
mod speeds;
mod xor;

pub use speeds::Speeds;

/// Compute on lattices: reaction-diffusion, paths, walks, XOR.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith lattice rd --size 128 --steps 200 --slice waves.png
  warpsmith lattice bfs --size 256 --blocked 30 --target 255,255,255 --image path.png
  warpsmith lattice catalytic --size 64 --steps 32
  warpsmith lattice xor secret.bin --key-hex 00ff17 --output out.bin
  warpsmith lattice speeds --size 100 --steps 10")]
pub struct Lattice {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Rd(rd::Rd),
    Bfs(bfs::Bfs),
    Catalytic(catalytic::Catalytic),
    Xor(xor::Xor),
    Speeds(speeds::Speeds),
}

impl Lattice {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        match &self.verb {
            Verb::Rd(verb) => verb.run(global),
            Verb::Bfs(verb) => verb.run(global),
            Verb::Catalytic(verb) => verb.run(global),
            Verb::Xor(verb) => verb.run(global),
            Verb::Speeds(verb) => verb.run(global),
        }
    }
}
