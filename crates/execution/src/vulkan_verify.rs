//! A kernel on a Vulkan device against the interpreter, on random arguments, forward and backward.

use std::time::Duration;

use serde::Serialize;
use warpsmith_compiler::ir::{FunctionKind, Module};
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_core::Finding;
use warpsmith_device::{DeviceError, VulkanDevice};
use warpsmith_interpreter::{Argument, Interpreter};
use warpsmith_spirv::{Printed, Spirv};

use crate::agreement::{Difference, compare_bits, compare_conditioned};
use crate::conditioning::{MOVES, moved};
use crate::verify::{ATTEMPTS, Expectation, arguments_of, expect, rank, threads_along};
use crate::vulkan_kernel::{VulkanError, VulkanProgram};

/// A launch of a few hundred threads that takes longer does not end.
const LIMIT: Duration = Duration::from_secs(120);
/// A driver for the CPU compiles a kernel when it first runs: the longest for half a minute, if nothing else has
/// the cores.
const LIMIT_OF_SOFTWARE: Duration = Duration::from_secs(600);
/// How far printed numbers may be apart where functions round: as results of `float32` may.
const PRINTED_BOUND: f64 = 5e-4;

/// How a kernel fared on Vulkan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum VulkanParity {
    /// Device and interpreter agree.
    Agrees {
        /// How closely forward.
        forward: Closeness,
        /// How closely backward; nothing where that was not compared.
        #[serde(skip_serializing_if = "Option::is_none")]
        backward: Option<Closeness>,
        /// Why it was not, where the kernel has an adjoint.
        #[serde(skip_serializing_if = "Option::is_none")]
        backward_refused: Option<String>,
        /// Over how many threads.
        threads: usize,
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
    /// The interpreter found something wrong with the kernel on these arguments, or does not know an
    /// operation, so that there is nothing to compare with.
    NotExecutable {
        /// What it said.
        reason: String,
    },
    /// The compiler refuses the kernel, or it has something that Vulkan kernels do not support.
    Refused {
        /// What was said.
        reason: String,
    },
    /// It could not be compiled for the device or launched.
    Failed {
        /// What was seen.
        reason: String,
    },
}

/// How closely two runs agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Closeness {
    /// Every bit is the same.
    Bits,
    /// As far as functions such as `sin` and sums in another order round.
    Rounding,
    /// As far as the last bits of the inputs decide the results.
    Conditioned,
}

/// Runs the kernel of `module` on both, over about `size` squared threads; over fewer where those reach
/// outside the arrays or race.
pub fn verify_on_vulkan(
    device: &VulkanDevice,
    module: &Module,
    size: usize,
    seed: u64,
) -> VulkanParity {
    match check(device, module, size, seed) {
        Ok(parity) => parity,
        Err(VulkanError::Refused(findings)) => VulkanParity::Refused {
            reason: VulkanError::Refused(findings).to_string(),
        },
        Err(VulkanError::Device(error @ DeviceError::VulkanLacks { .. })) => {
            VulkanParity::Refused {
                reason: error.to_string(),
            }
        }
        Err(error) => VulkanParity::Failed {
            reason: error.to_string(),
        },
    }
}

fn check(
    device: &VulkanDevice,
    module: &Module,
    size: usize,
    seed: u64,
) -> Result<VulkanParity, VulkanError> {
    let rank = rank(module);
    let many = threads_along(rank, size);
    let planned = Interpreter::forward(module);
    let interpreter = match planned {
        Ok(interpreter) => interpreter,
        Err(findings) => {
            let reason = VulkanError::Refused(findings).to_string();
            return Ok(VulkanParity::NotExecutable { reason });
        }
    };
    // Without 64-bit floats quotients and roots are the device's own.
    let exact = interpreter.rounds_alike() && device.facts().float64;
    let forward = VulkanProgram::build(device, module, interpreter)?;
    let mut backward_refused = None;
    let backward = match adjoint(device, module) {
        Ok(program) => program,
        Err(VulkanError::Refused(findings)) => {
            backward_refused = Some(VulkanError::Refused(findings).to_string());
            None
        }
        Err(error) => return Err(error),
    };
    let mut fault = String::new();
    let mut race = None;
    let launches = (0..ATTEMPTS).flat_map(|attempt| [many, 6, 1].map(|threads| (attempt, threads)));
    for (attempt, threads) in launches {
        let dim = vec![threads; rank];
        let given = match arguments_of(module, &[many].repeat(rank), seed, attempt) {
            Ok(arguments) => arguments,
            Err(reason) => return Ok(VulkanParity::NotExecutable { reason }),
        };
        let threads = dim.iter().product();
        let mut agreed = [None; 2];
        let passes = [
            (Some((&forward, exact)), Direction::Forward, "forward"),
            (
                backward.as_ref().map(|(program, exact)| (program, *exact)),
                Direction::Backward,
                "backward",
            ),
        ];
        let mut stopped = false;
        for (n, (program, direction, name)) in passes.into_iter().enumerate() {
            let Some((program, exact)) = program else {
                continue;
            };
            match compare(program, exact, module, direction, &dim, &given)? {
                Compared::Agrees(closeness) => agreed[n] = Some(closeness),
                Compared::Disagrees(difference) => {
                    return Ok(VulkanParity::Disagrees {
                        direction: name,
                        difference,
                        threads,
                    });
                }
                Compared::Invented(finding) => {
                    return Ok(VulkanParity::Failed {
                        reason: format!("{name}: only the device says: {finding}"),
                    });
                }
                Compared::PrintsOther(reason) => {
                    return Ok(VulkanParity::Failed {
                        reason: format!("{name}: {reason}"),
                    });
                }
                Compared::Race(found) => {
                    fault = format!("{name}: {}", found.message);
                    race.get_or_insert(found);
                    stopped = true;
                    break;
                }
                Compared::Cannot(reason) => {
                    fault = format!("{name}: {reason}");
                    stopped = true;
                    break;
                }
            }
        }
        if let ([Some(forward), backward], false) = (agreed, stopped) {
            return Ok(VulkanParity::Agrees {
                forward,
                backward,
                backward_refused,
                threads,
                not_deterministic: race,
            });
        }
    }
    Ok(VulkanParity::NotExecutable { reason: fault })
}

/// The adjoint, where the kernel has one, and whether it rounds alike everywhere.
fn adjoint<'m>(
    device: &VulkanDevice,
    module: &'m Module,
) -> Result<Option<(VulkanProgram<'m>, bool)>, VulkanError> {
    let FunctionKind::Kernel { options, .. } = &module.kernel.kind else {
        return Ok(None);
    };
    if !options.backward {
        return Ok(None);
    }
    let interpreter = Interpreter::adjoint(module).map_err(VulkanError::Refused)?;
    let exact = interpreter.rounds_alike() && device.facts().float64;
    let program = VulkanProgram::build(device, module, interpreter)?;
    Ok(Some((program, exact)))
}

enum Compared {
    Agrees(Closeness),
    Disagrees(Difference),
    /// The device finds fault where the interpreter finds none.
    Invented(String),
    /// The results agree, and what is printed does not.
    PrintsOther(String),
    /// Threads race; there is nothing to compare with.
    Race(Box<Finding>),
    /// There is nothing to compare with.
    Cannot(String),
}

fn compare(
    program: &VulkanProgram<'_>,
    exact: bool,
    module: &Module,
    direction: Direction,
    dim: &[usize],
    given: &[Argument],
) -> Result<Compared, VulkanError> {
    let expectation = |given: &[Argument]| expect(module, direction, Spirv::WORKGROUP, dim, given);
    let (expected, lines) = match expectation(given) {
        Expectation::Results(arguments, lines) => (arguments, lines),
        Expectation::Race(found) => return Ok(Compared::Race(found)),
        Expectation::Fault(reason) => return Ok(Compared::Cannot(reason)),
    };
    let mut actual = given.to_vec();
    let limit = match program.is_on_software() {
        true => LIMIT_OF_SOFTWARE,
        false => LIMIT,
    };
    let ran = program.run(dim, &mut actual, limit)?;
    // The interpreter found nothing but, perhaps, expectations that failed.
    let finding = (ran.findings)
        .into_iter()
        .find(|finding| !finding.message.starts_with("`expect"));
    match finding {
        // A driver that leaves loops early cannot run the kernel, and says so.
        Some(finding) if finding.code == "K107" => {
            return Err(VulkanError::Refused(vec![finding]));
        }
        Some(finding) => return Ok(Compared::Invented(finding.to_string())),
        None => {}
    }
    let agrees = |closeness: Closeness| match other_lines(&ran.printed, &lines, exact) {
        Some(reason) => Compared::PrintsOther(reason),
        None => Compared::Agrees(closeness),
    };
    let Some(bits) = compare_bits(module, &actual, &expected) else {
        return Ok(agrees(Closeness::Bits));
    };
    if exact {
        return Ok(Compared::Disagrees(bits));
    }
    let Some(difference) = compare_conditioned(module, &actual, &expected, &[]) else {
        return Ok(agrees(Closeness::Rounding));
    };
    let near: Vec<Vec<Argument>> = (0..MOVES)
        .filter_map(|seed| match expectation(&moved(module, given, seed)) {
            Expectation::Results(arguments, _) => Some(arguments),
            Expectation::Race(_) | Expectation::Fault(_) => None,
        })
        .collect();
    Ok(
        match compare_conditioned(module, &actual, &expected, &near) {
            None => Compared::Agrees(Closeness::Conditioned),
            Some(_) => Compared::Disagrees(difference),
        },
    )
}

/// What is wrong with what threads print on the device: the first line that the interpreter does not print.
/// Numbers in it are as close as functions such as `sin` round, unless they are to be `exact`.
fn other_lines(printed: &Printed, expected: &[String], exact: bool) -> Option<String> {
    // Which lines a full buffer takes depends on the order of threads.
    if printed.lost > 0 {
        return None;
    }
    let count = printed.lines.len();
    if count != expected.len() {
        let expected = expected.len();
        return Some(format!(
            "{count} lines are printed, {expected} are expected"
        ));
    }
    let mut pairs = printed.lines.iter().zip(expected).enumerate();
    pairs.find_map(|(n, (actual, expected))| {
        let is_right = actual == expected || !exact && is_near(actual, expected);
        let wrong = || format!("line {n} is printed as `{actual}`, `{expected}` is expected");
        (!is_right).then(wrong)
    })
}

/// Whether two lines are the same up to the rounding of their numbers.
fn is_near(actual: &str, expected: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '+' | '-' | '.'));
        line.split(ends).map(str::to_owned).collect()
    };
    let near = |(actual, expected): (&String, &String)| {
        actual == expected
            || match (actual.parse::<f64>(), expected.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= PRINTED_BOUND * b.abs().max(1.0),
                _ => false,
            }
    };
    let (actual, expected) = (words(actual), words(expected));
    actual.len() == expected.len() && actual.iter().zip(&expected).all(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(lines: &[&str], expected: &[&str], exact: bool) -> Option<String> {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let printed = Printed {
            lines: owned(lines),
            lost: 0,
        };
        let expected: Vec<String> = owned(expected);
        other_lines(&printed, &expected, exact)
    }

    #[test]
    fn lines_are_compared_by_what_is_to_be_exact() {
        assert_eq!(wrong(&["x=0.84147096, 3"], &["x=0.841471, 3"], false), None);
        assert!(wrong(&["x=0.84147096, 3"], &["x=0.841471, 3"], true).is_some());
        assert!(wrong(&["x=0.85, 3"], &["x=0.841471, 3"], false).is_some());
        assert!(wrong(&["y=0.841471, 3"], &["x=0.841471, 3"], false).is_some());
        assert!(wrong(&["a"], &["a", "a"], true).is_some());
        assert!(wrong(&["a", "b"], &["a"], true).is_some());
    }
}
