//! `machine/launch`: what it costs to start work and to wait for it, whatever the work is.
//!
//! On a GPU: a kernel that does next to nothing, alone, twenty times, and as a graph of twenty; and
//! small copies from pinned and from pageable memory. On the CPU: the same numbers of tasks handed
//! to the thread pool and waited for. On Vulkan: twenty launches are one submission, recorded once, and
//! there is one way to upload.

mod vulkan;

use std::sync::Arc;

use warpsmith_core::{Bytes, Flops, KernelImage, kernel};
use warpsmith_device::{
    CpuDevice, CudaDevice, Device, DeviceBuffer, DeviceError, Graph, Kernel, LaunchShape,
    PinnedBuffer, Stream,
};
use warpsmith_workload::{
    About, ActsOn, ArguedTolerance, Cost, Judgement, ParameterSpec, Parameters, Prepared, Ready,
    Technique, Workload, WorkloadError, result_in_memory, result_on_stream,
};

use vulkan::{VulkanUpload, marks};

pub(crate) struct Launch;

const ID: &str = "machine/launch";

// SAFETY: `mark.cu` takes the marks, an index and a value; its one store is behind
// `index < marks_length`.
static KERNEL: KernelImage = unsafe { kernel!("machine/mark", mark(out u64, u64, u64)) };

const SERIES: usize = 20;

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec::choice(
        "what",
        "one launch, twenty in a row, a graph of twenty, or a copy to the device",
        &["one", "series", "graph", "pinned", "pageable"],
    ),
    ParameterSpec::integer("bytes", "size of the copy", 4096, 8, 1 << 30),
];

const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "graph",
        parameter: "what",
        off: "series",
        on: "graph",
        meaning: "twenty launches recorded once and launched as one",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Medium,
        risk: Judgement::Medium,
    },
    Technique {
        name: "pinned memory",
        parameter: "what",
        off: "pageable",
        on: "pinned",
        meaning: "the host side of the copy is page-locked",
        acts_on: ActsOn::Gpu,
        effort: Judgement::Low,
        risk: Judgement::Low,
    },
];

impl Workload for Launch {
    fn about(&self) -> About {
        About::new(
            ID,
            "start work that does nothing and wait for it: the latency floor",
            PARAMETERS,
        )
        .techniques(TECHNIQUES)
    }

    fn cost(&self, parameters: &Parameters) -> Cost {
        let (bytes, units) = match parameters.choice("what") {
            "one" => (0, 1),
            "series" | "graph" => (0, SERIES as u64),
            _ => (parameters.integer("bytes") / 8 * 8, 1),
        };
        Cost {
            bytes: Bytes(bytes),
            flops: Flops(0),
            units,
            unit: "launch",
        }
    }

    fn tolerance(&self, _: &Parameters) -> ArguedTolerance {
        ArguedTolerance::exact("marks are integers")
    }

    fn prepare(&self, device: &Device, parameters: &Parameters, seed: u64) -> Ready {
        let words = parameters.size("bytes") / 8;
        Ok(match (device, parameters.choice("what")) {
            (Device::Cpu(cpu), "one") => Box::new(CpuLaunch::new(cpu, 1, seed)),
            (Device::Cpu(cpu), "series" | "graph") => Box::new(CpuLaunch::new(cpu, SERIES, seed)),
            (Device::Cpu(cpu), _) => Box::new(CpuLaunch::new(cpu, words, seed)),
            (Device::Cuda(gpu), "one") => Box::new(CudaLaunch::new(gpu, 1, false, seed)?),
            (Device::Cuda(gpu), "series") => Box::new(CudaLaunch::new(gpu, SERIES, false, seed)?),
            (Device::Cuda(gpu), "graph") => Box::new(CudaLaunch::new(gpu, SERIES, true, seed)?),
            (Device::Cuda(gpu), what) => {
                Box::new(CudaUpload::new(gpu, words, what == "pinned", seed)?)
            }
            (Device::Vulkan(device), "one") => Box::new(marks(device, 1, seed)?),
            (Device::Vulkan(device), "series" | "graph") => Box::new(marks(device, SERIES, seed)?),
            (Device::Vulkan(device), "pageable") => {
                Box::new(VulkanUpload::new(device, words, seed)?)
            }
            (Device::Vulkan(_), what) => {
                return Err(WorkloadError::Unsupported {
                    workload: ID,
                    reason: format!("`{what}`: uploads to Vulkan take one way"),
                });
            }
        })
    }
}

/// What mark `index` is after a run.
fn expected_mark(seed: u64, index: usize) -> u64 {
    seed.wrapping_add(index as u64)
}

struct CpuLaunch {
    cpu: CpuDevice,
    marks: Vec<u64>,
    seed: u64,
}

impl CpuLaunch {
    fn new(cpu: &CpuDevice, marks: usize, seed: u64) -> Self {
        Self {
            cpu: cpu.clone(),
            marks: vec![0; marks],
            seed,
        }
    }
}

impl Prepared for CpuLaunch {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let (marks, seed) = (&mut self.marks, self.seed);
        self.cpu.run(|| {
            for (index, mark) in marks.iter_mut().enumerate() {
                *mark = expected_mark(seed, index);
            }
        });
        Ok(())
    }

    result_in_memory!(marks: U64, u64::MAX);
}

struct CudaLaunch {
    kernel: Arc<Kernel>,
    marks: DeviceBuffer<u64>,
    graph: Option<Graph>,
    stream: Stream,
    seed: u64,
}

impl CudaLaunch {
    fn new(gpu: &CudaDevice, launches: usize, graph: bool, seed: u64) -> Result<Self, DeviceError> {
        let mut launch = Self {
            kernel: gpu.kernel(&KERNEL)?,
            marks: gpu.alloc(launches)?,
            graph: None,
            stream: gpu.stream().clone(),
            seed,
        };
        if graph {
            let stream = launch.stream.clone();
            launch.graph = Some(stream.capture(|_| launch.queue())?);
        }
        Ok(launch)
    }

    fn queue(&mut self) -> Result<(), DeviceError> {
        let shape = LaunchShape::linear(1, 32);
        for index in 0..self.marks.len() {
            let value = expected_mark(self.seed, index);
            let arguments = [self.marks.write(), (index as u64).into(), value.into()];
            self.stream.launch(&self.kernel, shape, &arguments)?;
        }
        Ok(())
    }
}

impl Prepared for CudaLaunch {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(&self.stream)?),
            None => Ok(self.queue()?),
        }
    }

    result_on_stream!(marks: U64);
}

enum HostSide {
    Pinned(PinnedBuffer<u64>),
    Pageable(Vec<u64>),
}

struct CudaUpload {
    host: HostSide,
    target: DeviceBuffer<u64>,
    stream: Stream,
}

impl CudaUpload {
    fn new(gpu: &CudaDevice, words: usize, pinned: bool, seed: u64) -> Result<Self, DeviceError> {
        let contents: Vec<u64> = (0..words).map(|index| expected_mark(seed, index)).collect();
        let host = if pinned {
            let mut host = PinnedBuffer::new(gpu, words)?;
            host.as_mut_slice()?.copy_from_slice(&contents);
            HostSide::Pinned(host)
        } else {
            HostSide::Pageable(contents)
        };
        Ok(Self {
            host,
            target: gpu.alloc(words)?,
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaUpload {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        match &self.host {
            HostSide::Pinned(host) => self.stream.copy_to_device(host, &mut self.target)?,
            HostSide::Pageable(host) => self.target.upload(&self.stream, host)?,
        }
        Ok(())
    }

    result_on_stream!(target: U64);
}
