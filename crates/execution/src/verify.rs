//! A kernel on the GPU against the interpreter, on random arguments, forward and backward.

use serde::Serialize;
use warpsmith_compiler::ir::{FunctionKind, Module, Number};
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_core::Finding;
use warpsmith_device::{CompileCache, CudaDevice, Nvrtc};
use warpsmith_interpreter::{
    Argument, Interpreter, Objects, random_arguments, random_arguments_with_ones,
    random_arguments_without_zeros,
};

use crate::agreement::{Difference, compare_conditioned};
use crate::conditioning::{MOVES, moved};
use crate::gpu_kernel::{Build, GpuKernel, RunError};
use crate::parameter::parameter_type;

/// Iterations that a block of interpreted threads may make: kernels that search until they find go on
/// for ever on some random arguments.
pub(crate) const MOST_ITERATIONS: u64 = 1 << 18;

/// How many sets of arguments are tried where the interpreter finds fault with the first: integers are
/// indices in one kernel, sizes in the next and divisors in a third. The last three
/// sets have no integer that is zero, no other, and none but ones.
pub(crate) const ATTEMPTS: u64 = 6;

/// How a kernel fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum KernelParity {
    /// GPU and interpreter agree.
    Agrees {
        /// Whether the adjoint was compared too.
        backward: bool,
        /// Over how many threads.
        threads: usize,
        /// Whether products and sums may be rounded once, as they are unless told otherwise. A kernel
        /// that cancels to nothing (a cross product of equal vectors, normalised) agrees without only.
        fused: bool,
        /// Whether they agree only as far as the last bits of the inputs decide the results: a kernel
        /// that subtracts what is nearly equal amplifies rounding, and a GPU rounds elsewhere.
        ill_conditioned: bool,
        /// What makes more threads give results that depend on their order, so that it was compared with
        /// few.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_deterministic: Option<Box<Finding>>,
    },
    /// They do not.
    Disagrees {
        /// `forward` or `backward`.
        direction: &'static str,
        /// Where, first.
        difference: Difference,
        /// Over how many threads.
        threads: usize,
    },
    /// The interpreter found something wrong with the kernel on these arguments (an index out of
    /// range, say), so that it may not run on a GPU, or does not know an operation.
    NotExecutable {
        /// What it said.
        reason: String,
    },
    /// The compiler refuses the kernel.
    Refused {
        /// What it said.
        reason: String,
    },
    /// It could not be compiled for the GPU, loaded or launched.
    Failed {
        /// What was seen.
        reason: String,
    },
}

/// What the interpreter says about a launch.
pub(crate) enum Expectation {
    /// The arguments after it, and what threads printed.
    Results(Vec<Argument>, Vec<String>),
    /// Threads race; the results depend on their order.
    Race(Box<Finding>),
    /// It cannot run.
    Fault(String),
}

/// Runs the kernel of `module` on both, over about `size` squared threads; over fewer where those reach
/// outside the arrays or race.
pub fn verify_kernel(
    gpu: &CudaDevice,
    nvrtc: &Nvrtc,
    cache: &CompileCache,
    module: &Module,
    size: usize,
    seed: u64,
) -> KernelParity {
    match check(gpu, nvrtc, cache, module, size, seed) {
        Ok(parity) => parity,
        Err(error) => KernelParity::Failed {
            reason: error.to_string(),
        },
    }
}

/// Threads along each dimension of a launch of about `size` squared.
pub(crate) fn threads_along(rank: usize, size: usize) -> usize {
    match rank {
        1 => size * size,
        2 => size,
        3 => size.div_ceil(2),
        _ => size.div_ceil(4),
    }
}

/// The arguments of an attempt, for at most so many threads along each dimension.
pub(crate) fn arguments_of(
    module: &Module,
    most: &[usize],
    seed: u64,
    attempt: u64,
) -> Result<Vec<Argument>, String> {
    // Room behind the last thread, for kernels that look at neighbours.
    let room: Vec<usize> = most.iter().map(|threads| 2 * threads + 8).collect();
    let seed = seed.wrapping_add(attempt);
    if attempt + 3 == ATTEMPTS {
        return random_arguments_without_zeros(module, &room, seed);
    }
    if attempt + 1 == ATTEMPTS {
        return random_arguments_with_ones(module, &room, seed);
    }
    let mut given = random_arguments(module, &room, seed)?;
    if attempt + 2 == ATTEMPTS {
        given.iter_mut().for_each(without_integers);
    }
    Ok(given)
}

fn check(
    gpu: &CudaDevice,
    nvrtc: &Nvrtc,
    cache: &CompileCache,
    module: &Module,
    size: usize,
    seed: u64,
) -> Result<KernelParity, RunError> {
    // Arrays that are reached through lists or buckets have no form in memory that a launch here knows.
    let mut parameters = module.kernel.parameters();
    if let Some(what) = parameters.find_map(|(_, var)| parameter_type(module, var.ty).err()) {
        let reason = format!("{what} is not launched on a GPU");
        return Ok(KernelParity::NotExecutable { reason });
    }
    let rank = rank(module);
    let many = threads_along(rank, size);
    let silent = true;
    let fused = Build {
        silent,
        ..Build::default()
    };
    let kernel = GpuKernel::build_with(gpu, nvrtc, cache, module, fused)?;
    let mut race = None;
    let mut fault = String::new();
    let launches = (0..ATTEMPTS).flat_map(|attempt| [many, 6, 1].map(|threads| (attempt, threads)));
    for (attempt, threads) in launches {
        let dim = vec![threads; rank];
        let given = match arguments_of(module, &[many].repeat(rank), seed, attempt) {
            Ok(arguments) => arguments,
            Err(reason) => return Ok(KernelParity::NotExecutable { reason }),
        };
        match compare(gpu, module, &kernel, &dim, &given, 0)? {
            Compared::Agrees { backward } => {
                return Ok(KernelParity::Agrees {
                    backward,
                    threads: dim.iter().product(),
                    fused: true,
                    ill_conditioned: false,
                    not_deterministic: race,
                });
            }
            Compared::Disagrees {
                direction,
                difference,
            } => {
                let separate = Build {
                    silent,
                    fused: false,
                    ..Build::default()
                };
                let unfused = GpuKernel::build_with(gpu, nvrtc, cache, module, separate)?;
                let threads = dim.iter().product();
                let tries = [(&unfused, false), (&kernel, true)];
                for (kernel, ill_conditioned) in tries {
                    let moves = if ill_conditioned { MOVES } else { 0 };
                    let again = compare(gpu, module, kernel, &dim, &given, moves)?;
                    if let Compared::Agrees { backward } = again {
                        return Ok(KernelParity::Agrees {
                            backward,
                            threads,
                            fused: ill_conditioned,
                            ill_conditioned,
                            not_deterministic: race,
                        });
                    }
                }
                return Ok(KernelParity::Disagrees {
                    direction,
                    difference,
                    threads,
                });
            }
            Compared::Race(found) => {
                race.get_or_insert(found);
            }
            Compared::Fault(reason) => fault = reason,
        }
    }
    Ok(KernelParity::NotExecutable { reason: fault })
}

/// What came of one launch.
enum Compared {
    Agrees {
        backward: bool,
    },
    Disagrees {
        direction: &'static str,
        difference: Difference,
    },
    Race(Box<Finding>),
    Fault(String),
}

/// Runs both and compares; with `moves` above zero, as far as that many movements of the inputs' last
/// bits leave the results alone.
fn compare(
    gpu: &CudaDevice,
    module: &Module,
    kernel: &GpuKernel,
    dim: &[usize],
    given: &[Argument],
    moves: u64,
) -> Result<Compared, RunError> {
    let mut backward = false;
    for (direction, name) in [
        (Direction::Forward, "forward"),
        (Direction::Backward, "backward"),
    ] {
        if direction == Direction::Backward && !kernel.is_differentiable() {
            break;
        }
        let expected = match expect(module, direction, kernel.block_dim(), dim, given) {
            Expectation::Results(arguments, _) => arguments,
            Expectation::Race(found) => return Ok(Compared::Race(found)),
            Expectation::Fault(reason) => return Ok(Compared::Fault(reason)),
        };
        let mut actual = given.to_vec();
        // SAFETY: the interpreter ran with these arguments and found no index out of range.
        unsafe { kernel.run(gpu, module, direction, dim, &mut actual)? };
        let moved: Vec<Vec<Argument>> = (0..moves)
            .map(|seed| moved(module, given, seed))
            .filter_map(
                |given| match expect(module, direction, kernel.block_dim(), dim, &given) {
                    Expectation::Results(arguments, _) => Some(arguments),
                    Expectation::Race(_) | Expectation::Fault(_) => None,
                },
            )
            .collect();
        if let Some(difference) = compare_conditioned(module, &actual, &expected, &moved) {
            return Ok(Compared::Disagrees {
                direction: name,
                difference,
            });
        }
        backward = direction == Direction::Backward;
    }
    Ok(Compared::Agrees { backward })
}

pub(crate) fn expect(
    module: &Module,
    direction: Direction,
    block_dim: u32,
    dim: &[usize],
    given: &[Argument],
) -> Expectation {
    expect_with(module, direction, block_dim, dim, given, Objects::default())
}

/// The same of a kernel that asks objects.
pub(crate) fn expect_with(
    module: &Module,
    direction: Direction,
    block_dim: u32,
    dim: &[usize],
    given: &[Argument],
    objects: Objects,
) -> Expectation {
    let planned = match direction {
        Direction::Forward => Interpreter::forward(module),
        Direction::Backward => Interpreter::adjoint(module),
    };
    let interpreter = match planned {
        Ok(interpreter) => interpreter
            .with_iteration_limit(MOST_ITERATIONS)
            .with_block_dim(i32::try_from(block_dim).unwrap_or(i32::MAX))
            .with_objects(objects)
            .checking_races(),
        Err(findings) => return Expectation::Fault(first_message(&findings)),
    };
    let mut arguments = given.to_vec();
    match interpreter.run(dim, &mut arguments) {
        Ok(outcome) => {
            // An expectation that fails changes nothing; an assertion ends its thread.
            let mut faults = outcome.findings;
            faults.retain(|finding| !finding.message.starts_with("`expect"));
            if !faults.is_empty() {
                Expectation::Fault(first_message(&faults))
            } else {
                match outcome.races.into_iter().next() {
                    Some(race) => Expectation::Race(Box::new(race)),
                    None => Expectation::Results(arguments, outcome.printed),
                }
            }
        }
        Err(error) => Expectation::Fault(error.to_string()),
    }
}

/// Makes every integer zero; so become arrays that hold any, and have no gradients therefore.
fn without_integers(argument: &mut Argument) {
    match argument {
        Argument::Value(numbers) => {
            for number in numbers {
                if let Number::Int(value) = number {
                    *value = 0;
                }
            }
        }
        Argument::Array(array) if array.gradient.is_none() => array.data.fill(0),
        Argument::Array(_) | Argument::Same(_) | Argument::Absent => {}
        Argument::Struct(fields) => fields.iter_mut().for_each(without_integers),
    }
}

pub(crate) fn first_message(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(|| "no finding".into(), |finding| finding.message.clone())
}

/// How many coordinates the kernel asks for, at least one.
pub(crate) fn rank(module: &Module) -> usize {
    match &module.kernel.kind {
        FunctionKind::Kernel { launch_rank, .. } => (*launch_rank as usize).max(1),
        FunctionKind::Device { .. } => 1,
    }
}
