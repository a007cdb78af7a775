//! `warpsmith lattice xor`: a keyed XOR of a file.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_core::{Bytes, BytesPerSecond, Seconds};
use warpsmith_device::{Device, ensure_host_room};
use warpsmith_formats::{check_vacant, write_output};
use warpsmith_lattice::InstructionSet;
use warpsmith_lattice::xor::{CudaXor, Key, VulkanXor};
use warpsmith_wisdom::Problem;
use warpsmith_workload::Prepared;

use super::placed::Where;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::placement::{Decision, Placement};

/// XOR a file with a repeated key; the same key gives the file back. This hides nothing from anyone.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith lattice xor data.bin --key-hex 5a17 --output changed.bin
  warpsmith lattice xor changed.bin --key key.bin --output data.bin")]
pub(crate) struct Xor {
    /// The file.
    #[arg(value_parser = inputs::file())]
    file: PathBuf,
    /// A file with the key's bytes.
    #[arg(long, value_name = "FILE", required_unless_present = "key_hex", value_parser = inputs::file())]
    key: Option<PathBuf>,
    /// The key's bytes in hexadecimal.
    #[arg(long, value_name = "HEX", conflicts_with = "key")]
    key_hex: Option<String>,
    /// Where the result goes.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Where,
}

#[derive(Serialize)]
struct Body {
    bytes: u64,
    key_bytes: usize,
    device: String,
    seconds: f64,
    bytes_per_second: f64,
    decision: Decision,
}

impl Xor {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--output", Some(&self.output))])?;
        if !self.force {
            check_vacant(&self.output)?;
        }
        let read = |path: &PathBuf| -> Result<Vec<u8>> {
            let name = || format!("cannot read `{}`", path.display());
            ensure_host_room(2 * std::fs::metadata(path).with_context(name)?.len())?;
            std::fs::read(path).with_context(name)
        };
        let key = match (&self.key, &self.key_hex) {
            (Some(path), _) => read(path)?,
            (None, Some(text)) => parse_hex(text)?,
            (None, None) => bail!("a key is needed: `--key FILE` or `--key-hex HEX`"),
        };
        let key = Key::new(&key)?;
        let mut data = read(&self.file)?;
        let bytes = data.len() as f64;
        let problem = Problem {
            size: bytes.max(1.0),
            passes: 1.0,
            footprint: bytes,
            bytes_in: bytes,
            bytes_out: bytes,
        };
        let placement = Placement::of("lattice/xor")?;
        let (device, decision) = placement.decide(global, &problem, self.place.exact)?;
        let seconds = match &device {
            Device::Cpu(cpu) => {
                let begun = Instant::now();
                key.apply_on_threads(cpu, InstructionSet::widest(), &mut data);
                begun.elapsed().as_secs_f64()
            }
            Device::Cuda(_) | Device::Vulkan(_) if data.is_empty() => 0.0,
            Device::Vulkan(device) => {
                let mut xor = VulkanXor::new(device, &key, std::mem::take(&mut data))?;
                let begun = Instant::now();
                xor.run_once()?;
                let seconds = begun.elapsed().as_secs_f64();
                data = xor.data()?;
                seconds
            }
            Device::Cuda(gpu) => {
                let mut xor = CudaXor::new(gpu, &key, &data)?;
                let begun = Instant::now();
                xor.queue()?;
                xor.stream().synchronize()?;
                let seconds = begun.elapsed().as_secs_f64();
                data = xor.data()?;
                seconds
            }
        };
        placement.learn(global, &decision, &problem.resident(), seconds);
        write_output(&self.output, &data)?;
        let report = output::report(
            "lattice xor",
            Body {
                bytes: data.len() as u64,
                key_bytes: key.bytes(),
                device: device.name().to_owned(),
                seconds,
                bytes_per_second: 2.0 * bytes / seconds.max(1e-9),
                decision,
            },
        );
        output::print(global, &report, |body| {
            let explained = if self.place.explain {
                body.decision.explain()
            } else {
                String::new()
            };
            format!(
                "{explained}xor       {} with a key of {} bytes on {} ({})\ntime      {}, {}\n",
                Bytes(body.bytes),
                body.key_bytes,
                body.decision.device,
                body.device,
                Seconds(body.seconds),
                BytesPerSecond(body.bytes_per_second)
            )
        })?;
        Ok(Outcome::Fine)
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || digits.len() % 2 == 1 {
        bail!("`{text}` is not a key: two hexadecimal digits to a byte, e.g. `00ff17`");
    }
    digits
        .chunks_exact(2)
        .map(|pair| {
            let value = |digit: u8| char::from(digit).to_digit(16);
            match (value(pair[0]), value(pair[1])) {
                (Some(high), Some(low)) => Ok((16 * high + low) as u8),
                _ => bail!(
                    "`{text}` is not a key: `{}` are not hexadecimal digits",
                    String::from_utf8_lossy(pair)
                ),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_pairs_of_hexadecimal_digits() {
        assert_eq!(parse_hex("00ff1A").unwrap(), [0, 255, 26]);
        for text in ["", "0", "0g", "é0"] {
            assert!(parse_hex(text).is_err(), "{text}");
        }
    }
}
