//! Developer's commands: everything that tests, CI and releases do, by hand.

mod api;
mod axe;
mod compat;
mod conformance;
mod dist;
mod docs;
mod fuzz;
mod gpu;
mod image;
mod kernels;
mod oracles;
mod packages;
mod pictures;
mod precision;
mod python;
mod schemas;
mod test;
mod wheels;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Developer's commands for Warpsmith.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set up and run the tests: formatting, lints, unit, integration, transcripts, documentation, wheel.
    Test(test::Test),
    /// Rewrite the table of CUDA's functions from the headers inside the wheels.
    Api(api::Api),
    /// Compare the compatibility database with the packages that prove its rows, and print a diff.
    Compat(compat::Compat),
    /// Compare the compiler with a suite of kernels and the text that Warp writes for them.
    Conformance(conformance::Conformance),
    /// Build what a release holds, and prove it: archive, wheel, SBOM, checksums.
    Dist(dist::Dist),
    /// Renew the generated pages of the documentation, or build its site.
    Docs(docs::Docs),
    /// Give every parser of foreign bytes mutated inputs.
    Fuzz(fuzz::Fuzz),
    /// Run the device layer's tests and every parity check, or bundle them for a machine without a toolchain.
    Gpu(gpu::Gpu),
    /// Build the exporter's image and run it hardened, with buildah, podman and runc.
    Image(image::Image),
    /// Draw the pictures of README and docs from a recording and a report.
    Pictures(pictures::Pictures),
    /// Sample findings of checked-out projects, judge them blind, and report how many are right.
    Precision(precision::Precision),
    /// Compile the CUDA kernels to the PTX that is committed, and keep `kernels.lock`.
    Kernels(kernels::Kernels),
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Test(command) => command.run(),
        Command::Api(command) => command.run(),
        Command::Compat(command) => command.run(),
        Command::Conformance(command) => command.run(),
        Command::Dist(command) => command.run(),
        Command::Docs(command) => command.run(),
        Command::Fuzz(command) => command.run(),
        Command::Gpu(command) => command.run(),
        Command::Image(command) => command.run(),
        Command::Pictures(command) => command.run(),
        Command::Precision(command) => command.run(),
        Command::Kernels(command) => command.run(),
    }
}
