//! Where `exec` runs a kernel: what the interpreter takes for it, and what a GPU would add.
//!
//! The emitted text checks no index, so that a run on a GPU is checked by the interpreter first. The
//! GPU's prediction is therefore the CPU's and more, and a choice by time never falls on it: whoever
//! wants a GPU's results asks for them with `--device cuda`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use warpsmith_interpreter::Argument;
use warpsmith_wisdom::{Curve, Origin, Problem, Profile};

use warpsmith_console::placement::Placement;

/// Seconds that the interpreter takes for a thread of a small kernel, where nothing is known.
const PER_THREAD: f64 = 1e-7;
/// Seconds to load a kernel that was built before and to launch it; building takes longer.
const LOAD: f64 = 1e-3;

/// A chooser for a kernel. Runs of the same text are remembered under the same name.
pub(crate) fn of(file: &Path, source: &str, direction: &str) -> Placement {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let operation = format!("exec/{stem}.{direction}.{:016x}", hasher.finish());
    let interpreter = Profile::modelled(1e-5, PER_THREAD, PER_THREAD);
    Placement::look(&operation, interpreter, |_, on_cpu| on_gpu(on_cpu))
}

/// What a GPU takes: the interpreter's check, and a launch after it.
fn on_gpu(interpreter: &Profile) -> Profile {
    Profile {
        start: Curve::constant(LOAD + interpreter.start.seconds(1.0)),
        origin: Origin::Modelled,
        ..*interpreter
    }
}

/// The problem that a launch over this grid with these arguments is.
pub(crate) fn problem(dim: &[usize], arguments: &[Argument]) -> Problem {
    let bytes: usize = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Array(array) => {
                array.data.len() + array.gradient.as_ref().map_or(0, Vec::len)
            }
            _ => 0,
        })
        .sum();
    Problem {
        size: dim.iter().map(|&threads| threads as f64).product(),
        passes: 1.0,
        footprint: bytes as f64,
        bytes_in: bytes as f64,
        bytes_out: bytes as f64,
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_wisdom::{Bus, Candidate, Chooser, Constraints};

    use super::*;

    /// On no machine and at no size is a check followed by a launch sooner done than the check.
    #[test]
    fn a_choice_by_time_stays_on_the_interpreter() {
        let interpreter = Profile::modelled(1e-5, PER_THREAD, PER_THREAD);
        let slow = Profile::measured(
            Curve::constant(1e-9),
            Curve::through(&[(10.0, 1.0), (1e6, 1e5)]).unwrap(),
            0,
        );
        let instant = Bus {
            latency: 0.0,
            rate: 1e18,
        };
        for cpu in [interpreter, slow] {
            let mut gpu = Candidate::on_host("cuda:0", on_gpu(&cpu));
            gpu.bus = Some([instant, instant]);
            let mut chooser = Chooser::new();
            let id = chooser.add("exec/k", vec![Candidate::on_host("cpu", cpu), gpu]);
            for threads in [1, 100, 1_000_000_000] {
                let problem = problem(&[threads], &[]);
                let choose = |constraints| chooser.choose(id, &problem, &constraints).unwrap();
                let free = Constraints::default();
                assert_eq!(choose(free).candidate, 0);
                let asked = Constraints {
                    forced: Some(1),
                    ..free
                };
                assert_eq!(choose(asked).candidate, 1);
            }
        }
    }
}
