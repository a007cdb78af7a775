//! One launch of a kernel from a file, and the workload that repeats it.

use std::sync::Arc;

use thiserror::Error;
use warpsmith_core::{Bytes, Flops, KernelImage};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Kernel, LaunchShape, Stream};
use warpsmith_workload::random::Random;
use warpsmith_workload::{Cost, Output, Prepared, WorkloadError};

use super::argument::{self, Direction, KernelArgument};
use super::ptx_entry::{PtxEntry, entries};
use super::symbol::{is_entry_of, written_name};

/// Why a kernel of a file cannot be launched as asked.
#[derive(Debug, Error)]
pub enum KernelFileError {
    /// The file has no kernel.
    #[error("`{file}` has no kernel (hint: a kernel is `extern \"C\" __global__ void name(…)`)")]
    NoKernel {
        /// The file.
        file: String,
    },
    /// A kernel that is not there, or none named where there are several.
    #[error("{asked}; `{file}` has {}", .there.join(", "))]
    WhichKernel {
        /// The file.
        file: String,
        /// What was requested.
        asked: String,
        /// The kernels that are there.
        there: Vec<String>,
    },
    /// Arguments that do not fit the parameters.
    #[error("`{kernel}` takes {wanted}, and {given}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// What it takes.
        wanted: String,
        /// What it was given.
        given: String,
    },
}

/// Where the kernel of a name is, as it is written in C++ or as it is called in the code.
fn position(name: &str, found: &[PtxEntry]) -> Result<usize, String> {
    let named = |entry: &PtxEntry| entry.name == name;
    if let Some(at) = found.iter().position(named) {
        return Ok(at);
    }
    let mut places = (0..found.len()).filter(|at| is_entry_of(name, &found[*at].name));
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (Some(at), Some(other)) => Err(format!(
            "`{name}` may be `{}` or `{}`: name one of these",
            found[at].name, found[other].name
        )),
        (None, _) => Err(format!("there is no kernel `{name}`")),
    }
}

/// A kernel with everything that a launch needs.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    file: String,
    ptx: String,
    entry: PtxEntry,
    shape: LaunchShape,
    arguments: Vec<KernelArgument>,
}

impl KernelLaunch {
    /// Finds `kernel` in `ptx` (the only one where none is named) and holds `arguments` against
    /// its parameters. `file` is what messages call it.
    pub fn new(
        file: &str,
        ptx: &str,
        kernel: Option<&str>,
        shape: LaunchShape,
        arguments: Vec<KernelArgument>,
    ) -> Result<Self, KernelFileError> {
        let mut found = entries(ptx);
        let there: Vec<String> = found
            .iter()
            .map(|entry| format!("`{}`", written_name(&entry.name)))
            .collect();
        let which = |asked: String| KernelFileError::WhichKernel {
            file: file.to_owned(),
            asked,
            there: there.clone(),
        };
        let index = match kernel {
            Some(name) => position(name, &found).map_err(which)?,
            None if found.len() > 1 => {
                return Err(which("`--kernel` must say which one".into()));
            }
            None => 0,
        };
        if index >= found.len() {
            return Err(KernelFileError::NoKernel {
                file: file.to_owned(),
            });
        }
        let entry = found.swap_remove(index);
        check(&entry, &arguments)?;
        Ok(Self {
            file: file.to_owned(),
            ptx: ptx.to_owned(),
            entry,
            shape,
            arguments,
        })
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.entry.name
    }

    /// The arguments.
    pub fn arguments(&self) -> &[KernelArgument] {
        &self.arguments
    }

    /// The least bytes that one launch must move, from the buffers: each read once, each written
    /// once. What it computes cannot be told from outside.
    pub fn cost(&self) -> Cost {
        let bytes = self.arguments.iter().map(|argument| match argument {
            KernelArgument::Buffer {
                direction,
                scalar,
                length,
                ..
            } => {
                let once = (scalar.bytes() * length) as u64;
                if *direction == Direction::InOut {
                    2 * once
                } else {
                    once
                }
            }
            KernelArgument::Value { .. } => 0,
        });
        Cost {
            bytes: Bytes(bytes.sum()),
            flops: Flops(0),
            units: 1,
            unit: "launch",
        }
    }

    /// Allocates and fills the buffers, and loads the kernel.
    pub fn prepare(&self, gpu: &CudaDevice, seed: u64) -> Result<Box<dyn Prepared>, DeviceError> {
        let mut random = Random::seeded(seed);
        let mut buffers = Vec::new();
        let mut packed = Vec::new();
        for (argument, parameter) in self.arguments.iter().zip(&self.entry.parameters) {
            let at = packed.len().next_multiple_of(parameter.alignment.max(1));
            packed.resize(at, 0);
            match argument {
                KernelArgument::Value { bytes, .. } => packed.extend(bytes),
                KernelArgument::Buffer {
                    direction,
                    scalar,
                    length,
                    fill,
                } => {
                    let data = argument::fill(*scalar, *length, *fill, &mut random);
                    let buffer = gpu.upload(&data)?;
                    packed.extend(buffer.pointer().to_le_bytes());
                    buffers.push((*direction, buffer));
                }
            }
        }
        // SAFETY: no parameters are declared, so the checked launch refuses every argument; the
        // packed launch below makes the promise for each call.
        let image = unsafe {
            KernelImage::compiled(
                format!("file/{}", self.file),
                self.entry.name.clone(),
                Vec::new(),
                self.ptx.clone(),
            )
        };
        Ok(Box::new(PreparedLaunch {
            kernel: gpu.kernel(&image)?,
            stream: gpu.stream().clone(),
            shape: self.shape,
            packed,
            buffers,
        }))
    }
}

/// Number, and size of each.
fn check(entry: &PtxEntry, arguments: &[KernelArgument]) -> Result<(), KernelFileError> {
    let sizes: Vec<String> = entry
        .parameters
        .iter()
        .map(|parameter| format!("{} bytes", parameter.bytes))
        .collect();
    let wanted = match sizes.len() {
        0 => "no parameters".to_owned(),
        1 => format!("one parameter ({})", sizes[0]),
        count => format!("{count} parameters ({})", sizes.join(", ")),
    };
    let misfit = |given: String| KernelFileError::Arguments {
        kernel: entry.name.clone(),
        wanted: wanted.clone(),
        given,
    };
    if arguments.len() != entry.parameters.len() {
        return Err(misfit(format!(
            "{} were given with `--arg`",
            arguments.len()
        )));
    }
    for (index, (argument, parameter)) in arguments.iter().zip(&entry.parameters).enumerate() {
        let bytes = match argument {
            KernelArgument::Buffer { .. } => size_of::<u64>(),
            KernelArgument::Value { scalar, .. } => scalar.bytes(),
        };
        if bytes != parameter.bytes {
            return Err(misfit(format!(
                "argument {index} (`{argument}`) has {bytes} bytes"
            )));
        }
    }
    Ok(())
}

struct PreparedLaunch {
    kernel: Arc<Kernel>,
    stream: Stream,
    shape: LaunchShape,
    packed: Vec<u8>,
    /// Kept alive: the packed parameters hold their addresses.
    buffers: Vec<(Direction, DeviceBuffer<u8>)>,
}

impl Prepared for PreparedLaunch {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        // SAFETY: number, sizes and alignment of the parameters were compared with the kernel's own
        // PTX; the addresses are of buffers that live as long as `self`. That the kernel stays
        // inside them is the user's word, who wrote it and its arguments: they are no more at
        // risk than in a program of their own.
        unsafe {
            self.stream
                .launch_packed(&self.kernel, self.shape, &mut self.packed)?;
        }
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.stream)
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        for (direction, buffer) in &mut self.buffers {
            if *direction == Direction::Out {
                buffer.fill_bytes(&self.stream, 0xFF)?;
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        let mut bytes = Vec::new();
        for (direction, buffer) in &self.buffers {
            if *direction != Direction::In {
                bytes.extend(buffer.download(&self.stream)?);
            }
        }
        Ok(Output::U8(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry add(.param .u64 a, .param .u64 b, .param .f32 c)\n{ }\n\
                       .visible .entry other(.param .u32 n)\n{ }";

    fn launch(kernel: Option<&str>, arguments: &[&str]) -> Result<KernelLaunch, KernelFileError> {
        let arguments = arguments.iter().map(|text| text.parse().unwrap()).collect();
        KernelLaunch::new("a.cu", PTX, kernel, LaunchShape::linear(1, 32), arguments)
    }

    #[test]
    fn a_launch_knows_its_cost() {
        let launch = launch(Some("add"), &["in:f32:1K", "inout:f32:1K", "f32=2"]).unwrap();
        assert_eq!(launch.cost().bytes, Bytes(3 * 4096));
        assert_eq!(launch.kernel(), "add");
    }

    #[test]
    fn misfits_say_what_the_kernel_takes() {
        let words = |result: Result<KernelLaunch, KernelFileError>| result.unwrap_err().to_string();
        assert_eq!(
            words(launch(None, &[])),
            "`--kernel` must say which one; `a.cu` has `add`, `other`"
        );
        assert_eq!(
            words(launch(Some("sub"), &[])),
            "there is no kernel `sub`; `a.cu` has `add`, `other`"
        );
        assert_eq!(
            words(launch(Some("other"), &[])),
            "`other` takes one parameter (4 bytes), and 0 were given with `--arg`"
        );
        assert_eq!(
            words(launch(Some("add"), &["in:f32:4", "f32=1", "f32=2"])),
            "`add` takes 3 parameters (8 bytes, 8 bytes, 4 bytes), and argument 1 (`f32=1`) has 4 bytes"
        );
        let empty = KernelLaunch::new("b.cu", "", None, LaunchShape::linear(1, 1), Vec::new());
        assert!(words(empty).starts_with("`b.cu` has no kernel"));
    }
    #[test]
    fn kernels_are_called_as_they_are_written() {
        let ptx = ".visible .entry _Z5twicePf(.param .u64 x)\n{ }\n\
                   .visible .entry _Z5scalePf(.param .u64 x)\n{ }\n\
                   .visible .entry _Z5scalePd(.param .u64 x)\n{ }";
        let named = |name| {
            let shape = LaunchShape::linear(1, 32);
            let arguments = vec!["in:f32:4".parse().unwrap()];
            KernelLaunch::new("a.cu", ptx, Some(name), shape, arguments)
        };
        assert_eq!(named("twice").unwrap().kernel(), "_Z5twicePf");
        assert_eq!(named("_Z5scalePd").unwrap().kernel(), "_Z5scalePd");
        assert_eq!(
            named("scale").unwrap_err().to_string(),
            "`scale` may be `_Z5scalePf` or `_Z5scalePd`: name one of these; `a.cu` has `twice`, `scale`, `scale`"
        );
    }
}
