//! `lattice/xor`: a keyed XOR in place as a workload.

use warpsmith_core::{Bytes, Flops};
use warpsmith_device::{CpuDevice, Device, Stream, ensure_host_room};
use warpsmith_workload::random::Random;
use warpsmith_workload::{
    About, ArguedTolerance, Cost, Definition, Output, ParameterSpec, Parameters, Prepared, Ready,
    Technique, Workload, WorkloadError,
};

use super::cpu::Key;
use super::cuda::CudaXor;
use super::vulkan::VulkanXor;
use crate::error::failed;
use crate::switches::{ALL_THREADS, SIMD, THREADS, WIDEST_SIMD, instruction_set, on_threads};
use warpsmith_lanes::InstructionSet;

pub(super) const ID: &str = "lattice/xor";

/// The keyed-XOR workload.
#[derive(Clone, Copy, Debug)]
pub struct XorWorkload;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::integer("bytes", "bytes of data", 256 << 20, 1, 1 << 36),
    ParameterSpec::integer("key", "bytes of the key", 256, 1, 1 << 27),
    THREADS,
    SIMD,
];

const TECHNIQUES: &[Technique] = &[ALL_THREADS, WIDEST_SIMD];

impl Workload for XorWorkload {
    fn about(&self) -> About {
        About::new(
            ID,
            "XOR data with a repeated key, in place: the lowest intensity there is",
            PARAMETERS,
        )
        .sizes("bytes", &["1K", "16K", "256K", "4M", "64M"])
        .techniques(TECHNIQUES)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let bytes = parameters.integer("bytes");
        Cost {
            bytes: Bytes(2 * bytes),
            flops: Flops(0),
            units: bytes,
            unit: "byte",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("bits")
    }

    fn definition(&self, _: &Parameters) -> Option<Definition> {
        Some(Definition {
            results: |_, inputs| {
                let key = inputs[1].iter().cycle();
                let pairs = inputs[0].iter().zip(key);
                pairs
                    .map(|(byte, key)| f64::from(*byte as u8 ^ *key as u8))
                    .collect()
            },
            tolerance: ArguedTolerance::exact("bits"),
        })
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        ensure_host_room(2 * parameters.integer("bytes"))?;
        let mut random = Random::seeded(seed);
        let mut bytes = |count: usize| -> Vec<u8> {
            let words = count.div_ceil(8);
            let mut bytes: Vec<u8> = (0..words)
                .flat_map(|_| random.bits().to_le_bytes())
                .collect();
            bytes.truncate(count);
            bytes
        };
        let key = Key::new(&bytes(parameters.size("key"))).map_err(failed(ID))?;
        let data = bytes(parameters.size("bytes"));
        Ok(match device {
            Device::Cpu(cpu) => Box::new(OnCpu {
                set: instruction_set(parameters),
                threads: on_threads(parameters, cpu),
                device: cpu.clone(),
                key,
                original: data.clone(),
                data,
                applied: false,
            }),
            Device::Cuda(gpu) => Box::new(OnGpu {
                xor: CudaXor::new(gpu, &key, &data)?,
                original: data,
                applied: false,
            }),
            Device::Vulkan(device) => Box::new(VulkanXor::new(device, &key, data)?),
        })
    }
}

// A run changes the data in place, so every second run gives the original back. The output is that
// of a first run, which `applied` tells: XOR is its own inverse, so nothing is hidden by it.

struct OnCpu {
    device: CpuDevice,
    set: InstructionSet,
    threads: bool,
    key: Key,
    original: Vec<u8>,
    data: Vec<u8>,
    applied: bool,
}

impl Prepared for OnCpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        if self.threads {
            self.key
                .apply_on_threads(&self.device, self.set, &mut self.data);
        } else {
            self.key.apply(self.set, &mut self.data);
        }
        self.applied = !self.applied;
        Ok(())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        // The input is the output's place: the next run starts from the original, as a first one.
        self.data.copy_from_slice(&self.original);
        self.applied = false;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        if !self.applied {
            self.run_once()?;
        }
        Ok(Output::U8(self.data.clone()))
    }

    fn inputs(&self) -> Vec<Output> {
        let key = &self.key.pattern()[..self.key.bytes()];
        vec![Output::U8(self.original.clone()), Output::U8(key.to_vec())]
    }
}

struct OnGpu {
    xor: CudaXor,
    original: Vec<u8>,
    applied: bool,
}

impl Prepared for OnGpu {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        self.xor.queue()?;
        self.applied = !self.applied;
        Ok(())
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.xor.stream())
    }

    fn poison(&mut self) -> Result<(), WorkloadError> {
        self.xor.upload(&self.original)?;
        self.applied = false;
        Ok(())
    }

    fn output(&mut self) -> Result<Output, WorkloadError> {
        if !self.applied {
            self.run_once()?;
        }
        Ok(Output::U8(self.xor.data()?))
    }
}
