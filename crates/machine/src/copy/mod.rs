//! `machine/copy`: the rate at which memory copies to itself, the ceiling of everything that is
//! bound by memory.

mod vulkan;

use rayon::prelude::*;
use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device, DeviceBuffer, Stream, ensure_host_room};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, ParameterSpec, Parameters, Prepared, Ready, Workload,
    WorkloadError, result_in_memory, result_on_stream,
};

pub(crate) struct Copy;

const ID: &str = "machine/copy";

const PARAMETERS: &[ParameterSpec] = &[ParameterSpec::integer(
    "bytes",
    "bytes copied; several times the last-level cache, or the cache is measured",
    256 << 20,
    8,
    1 << 40,
)];

impl Workload for Copy {
    fn about(&self) -> About {
        About::new(
            ID,
            "copy memory to memory on the device: the bandwidth ceiling",
            PARAMETERS,
        )
        .sizes("bytes", &["64K", "256K", "1M", "4M", "16M", "64M"])
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let bytes = parameters.integer("bytes") / 8 * 8;
        Cost {
            bytes: Bytes(2 * bytes),
            flops: Flops(0),
            units: bytes,
            unit: "byte",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("a copy changes nothing")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let words = parameters.size("bytes") / 8;
        ensure_host_room(2 * parameters.integer("bytes"))?;
        let mut random = Random::seeded(seed);
        let source: Vec<u64> = (0..words).map(|_| random.bits()).collect();
        Ok(match device {
            Device::Cpu(cpu) => {
                let target = vec![0; words];
                Box::new(CpuCopy {
                    cpu: cpu.clone(),
                    source,
                    target,
                })
            }
            Device::Cuda(gpu) => Box::new(CudaCopy {
                source: gpu.upload(&source)?,
                target: gpu.alloc(words)?,
                stream: gpu.stream().clone(),
            }),
            Device::Vulkan(device) => Box::new(vulkan::copy(device, &source)?),
        })
    }
}

struct CpuCopy {
    cpu: CpuDevice,
    source: Vec<u64>,
    target: Vec<u64>,
}

/// Large enough that a worker streams, small enough that workers share the load: 1 MiB.
const CHUNK: usize = 1 << 17;

impl Prepared for CpuCopy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (source, target) = (&self.source, &mut self.target);
        self.cpu.run(|| {
            target
                .par_chunks_mut(CHUNK)
                .zip(source.par_chunks(CHUNK))
                .for_each(|(target, source)| target.copy_from_slice(source));
        });
        Ok(())
    }

    result_in_memory!(target: U64, u64::MAX);
}

struct CudaCopy {
    source: DeviceBuffer<u64>,
    target: DeviceBuffer<u64>,
    stream: Stream,
}

impl Prepared for CudaCopy {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        Ok(self.stream.copy(&self.source, &mut self.target)?)
    }

    result_on_stream!(target: U64);
}
