//! A kernel as native code on the CPU against the interpreter, on random arguments, forward and backward.

use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::launch_abi::Direction;
use warpsmith_core::Finding;
use warpsmith_interpreter::{Argument, Interpreter, Objects, with_random_objects};

use crate::verify::{
    ATTEMPTS, Expectation, MOST_ITERATIONS, arguments_of, expect_with, first_message, rank,
    threads_along,
};

/// Threads that share tiles: as many as Warp starts.
const BLOCK: u32 = 256;

/// How a kernel fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum NativeParity {
    /// Native code and the interpreter give the same bits, findings and printed lines.
    Agrees {
        /// Whether the adjoint was compared too.
        backward: bool,
        /// Over how many threads.
        threads: usize,
        /// What both found wrong with every set of arguments, such as an index out of range.
        #[serde(skip_serializing_if = "Option::is_none")]
        fault: Option<String>,
        /// What makes results depend on the order of threads, which both run one after the other.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_deterministic: Option<Box<Finding>>,
    },
    /// They do not.
    Disagrees {
        /// `forward` or `backward`.
        direction: &'static str,
        /// Where, first.
        difference: String,
    },
    /// The kernel has no native form, so there is nothing to compare.
    Interpreted {
        /// What it has that only the interpreter does.
        reason: String,
    },
    /// The interpreter does not know an operation, or there are no random arguments.
    NotExecutable {
        /// What was said.
        reason: String,
    },
    /// The compiler refuses the kernel.
    Refused {
        /// What it said.
        reason: String,
    },
}

/// Runs the kernel of `module` both ways over about `size` squared threads.
pub fn verify_natively(module: &Module, size: usize, seed: u64) -> NativeParity {
    let forward = match Interpreter::forward(module) {
        Ok(forward) => forward,
        Err(findings) => {
            let reason = first_message(&findings);
            return NativeParity::NotExecutable { reason };
        }
    };
    if let Some(reason) = forward.interpreted_because() {
        let reason = reason.to_owned();
        return NativeParity::Interpreted { reason };
    }
    let adjoint = Interpreter::adjoint(module).ok();
    let adjoint = adjoint.filter(|adjoint| adjoint.interpreted_because().is_none());
    let backward = adjoint.is_some();
    let mut directions: Vec<_> = [("forward", Some(forward)), ("backward", adjoint)]
        .into_iter()
        .filter_map(|(name, planned)| Some((name, planned?.with_iteration_limit(MOST_ITERATIONS))))
        .collect();
    let dim = vec![threads_along(rank(module), size); rank(module)];
    let mut fault = None;
    let mut race = None;
    for attempt in 0..ATTEMPTS {
        let mut given = match arguments_of(module, &dim, seed, attempt) {
            Ok(given) => given,
            Err(reason) => return NativeParity::NotExecutable { reason },
        };
        let objects = with_random_objects(module, seed, &mut given);
        fault = None;
        for (direction, interpreter) in &mut directions {
            interpreter.set_objects(objects.clone());
            let mut arguments = given.clone();
            let (outcome, difference) = match interpreter.run_both(&dim, &mut arguments) {
                Ok(ran) => ran,
                Err(error) => {
                    let reason = error.to_string();
                    return NativeParity::NotExecutable { reason };
                }
            };
            if let Some(difference) = difference {
                return NativeParity::Disagrees {
                    direction,
                    difference: difference.to_string(),
                };
            }
            if !outcome.findings.is_empty() {
                fault.get_or_insert_with(|| first_message(&outcome.findings));
            }
        }
        if fault.is_none() {
            race = race_of(module, &dim, &given, objects);
            break;
        }
    }
    NativeParity::Agrees {
        backward,
        threads: dim.iter().product(),
        fault,
        not_deterministic: race,
    }
}

/// What threads race about, forward.
fn race_of(
    module: &Module,
    dim: &[usize],
    given: &[Argument],
    objects: Objects,
) -> Option<Box<Finding>> {
    match expect_with(module, Direction::Forward, BLOCK, dim, given, objects) {
        Expectation::Race(found) => Some(found),
        Expectation::Results(..) | Expectation::Fault(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{NativeParity, verify_natively};
    use warpsmith_compiler::{Options, compile};

    fn verified(body: &str) -> NativeParity {
        let source = format!("import warp as wp\n\n\n@wp.kernel\n{body}");
        let module = compile(&source, &Options::default()).expect("the kernel compiles");
        verify_natively(&module, 40, 7)
    }

    #[test]
    fn a_kernel_agrees_in_both_directions() {
        let body = "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.sin(x[i]) / (1.0 + x[i] * x[i])\n";
        let expected = NativeParity::Agrees {
            backward: true,
            threads: 1600,
            fault: None,
            not_deterministic: None,
        };
        assert_eq!(verified(body), expected);
    }

    #[test]
    fn a_matrix_of_which_only_gradients_are_written_is_no_empty_one() {
        let body = "def k(a: wp.array(dtype=float), l: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):\n    wp.dense_solve(4, a, l, b, x)\n";
        // Every thread writes the whole result, so that they race.
        let NativeParity::Agrees {
            backward: true,
            threads: 1600,
            fault: None,
            not_deterministic: Some(race),
        } = verified(body)
        else {
            panic!("both run");
        };
        assert_eq!(race.code, "K108");
    }

    #[test]
    fn integers_that_a_kernel_asserts_to_be_one_are_found() {
        let body = "def k(a: wp.array(dtype=int), x: wp.array(dtype=float)):\n    i = wp.tid()\n    assert a[i] == 1\n    x[i] = 2.0 * x[i]\n";
        let NativeParity::Agrees { fault, .. } = verified(body) else {
            panic!("both run");
        };
        assert_eq!(fault, None);
    }

    #[test]
    fn a_kernel_is_given_the_mesh_that_it_asks() {
        let body = "def k(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    found = wp.mesh_query_point_no_sign(mesh, x[i], 100.0)\n    y[i] = wp.length(x[i] - wp.mesh_eval_position(mesh, found.face, found.u, found.v))\n";
        let expected = NativeParity::Agrees {
            backward: true,
            threads: 1600,
            fault: None,
            not_deterministic: None,
        };
        assert_eq!(verified(body), expected);
    }

    #[test]
    fn threads_that_race_are_named() {
        let body =
            "def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    y[0] = x[wp.tid()]\n";
        let NativeParity::Agrees {
            not_deterministic: Some(race),
            ..
        } = verified(body)
        else {
            panic!("both run, and threads race");
        };
        assert_eq!(race.code, "K108");
        assert_eq!(race.span.map(|span| span.line), Some(6));
    }

    #[test]
    fn threads_that_race_about_what_a_mesh_says_are_named() {
        let body = "def k(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):\n    i = wp.tid()\n    found = wp.mesh_query_point_no_sign(mesh, x[i], 100.0)\n    y[0] = x[i][0] + found.u\n";
        let NativeParity::Agrees {
            not_deterministic, ..
        } = verified(body)
        else {
            panic!("both run");
        };
        assert_eq!(not_deterministic.map(|race| race.code), Some("K108".into()));
    }

    #[test]
    fn what_both_find_is_named() {
        let body =
            "def k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i + 100000000] = 1.0\n";
        let NativeParity::Agrees { fault, .. } = verified(body) else {
            panic!("both stop");
        };
        assert_eq!(fault.as_deref(), Some("an index is out of range"));
    }

    #[test]
    fn a_kernel_with_arrays_of_its_own_is_interpreted() {
        let body = "def k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    own = wp.zeros(shape=4, dtype=float)\n    own[0] = x[i]\n    x[i] = own[0] + own[1]\n";
        assert!(matches!(verified(body), NativeParity::Interpreted { .. }));
    }
}
