//! Parameters and techniques that several lattice workloads share.

use warpsmith_device::CpuDevice;
use warpsmith_workload::{ActsOn, Judgement, ParameterSpec, Parameters, Technique};

use warpsmith_lanes::InstructionSet;

/// One thread or all.
pub(super) const THREADS: ParameterSpec = ParameterSpec::choice(
    "threads",
    "CPU: one thread, or all that this process may use",
    &["all", "one"],
);

/// Vector instructions.
pub(super) const SIMD: ParameterSpec = ParameterSpec::choice(
    "simd",
    "CPU: vector instructions; those that the CPU lacks fall back to narrower ones",
    &["avx512", "avx2", "portable"],
);

/// [`THREADS`] as a technique.
pub(super) const ALL_THREADS: Technique = Technique {
    name: "threads",
    parameter: "threads",
    off: "one",
    on: "all",
    meaning: "every core that this process may use (CPU)",
    acts_on: ActsOn::Cpu,
    effort: Judgement::Medium,
    risk: Judgement::Medium,
};

/// [`SIMD`] as a technique.
pub(super) const WIDEST_SIMD: Technique = Technique {
    name: "SIMD width",
    parameter: "simd",
    off: "portable",
    on: "avx512",
    meaning: "the widest vectors of this CPU instead of those that every CPU has",
    acts_on: ActsOn::Cpu,
    effort: Judgement::Medium,
    risk: Judgement::Low,
};

/// A graph of all launches as a technique; the workload has a parameter `launch`.
pub(super) const ONE_GRAPH: Technique = Technique {
    name: "graph",
    parameter: "launch",
    off: "each",
    on: "graph",
    meaning: "all launches recorded once and launched as one (GPU)",
    acts_on: ActsOn::Gpu,
    effort: Judgement::Medium,
    risk: Judgement::Medium,
};

/// The instruction set that [`SIMD`] asks for, or the widest narrower one.
pub(super) fn instruction_set(parameters: &Parameters) -> InstructionSet {
    match parameters.choice("simd") {
        "portable" => InstructionSet::Portable,
        "avx2" => InstructionSet::up_to_avx2(),
        _ => InstructionSet::widest(),
    }
}

/// Whether [`THREADS`] asks for more than one and there are more.
pub(super) fn on_threads(parameters: &Parameters, cpu: &CpuDevice) -> bool {
    parameters.choice("threads") == "all" && cpu.threads() > 1
}
