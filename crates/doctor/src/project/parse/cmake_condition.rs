//! Which commands a CMake of today runs in a build for CUDA, where an `if` decides it.
//!
//! Decided are comparisons of CMAKE_VERSION and switches that are named after another platform, alone,
//! negated or joined by AND. Everything else may be either, and its commands stay.

use super::cmake::CmakeCommand;
use super::condition::{Truth, names_other_platform};
use crate::version::Version;

/// FindCUDA and what older releases needed in its place are gone from this one on.
const OLDEST: &str = "3.27";

/// An `if` that is open: the side being read, and whether an earlier side was certainly taken.
struct Branch {
    side: Truth,
    decided: bool,
}

/// Leaves out what stands in a branch that is certainly not taken.
pub(crate) fn live(commands: Vec<CmakeCommand>) -> Vec<CmakeCommand> {
    let mut branches: Vec<Branch> = Vec::new();
    let mut kept = Vec::with_capacity(commands.len());
    for command in commands {
        match command.name.as_str() {
            "if" => {
                let side = truth(&command.arguments);
                let decided = side == Truth::Yes;
                branches.push(Branch { side, decided });
            }
            "elseif" | "else" => {
                if let Some(branch) = branches.last_mut() {
                    branch.side = if branch.decided {
                        Truth::No
                    } else if command.name == "elseif" {
                        truth(&command.arguments)
                    } else {
                        branch.side.not().or(Truth::Either)
                    };
                    branch.decided |= branch.side == Truth::Yes;
                }
            }
            "endif" => {
                branches.pop();
            }
            _ if branches.iter().any(|b| b.side == Truth::No) => continue,
            _ => {}
        }
        // The `if` itself is read by rules that ask what a command depends on.
        kept.push(command);
    }
    kept
}

/// Whether a condition holds. Parentheses are not kept in arguments, so only AND joins safely.
fn truth(arguments: &[String]) -> Truth {
    if arguments.iter().any(|a| a == "OR") {
        return Truth::Either;
    }
    let terms = arguments.split(|a| a == "AND");
    terms.map(term).fold(Truth::Yes, Truth::and)
}

fn term(words: &[String]) -> Truth {
    match words {
        [not, rest @ ..] if not == "NOT" => term(rest).not(),
        [name] if names_other_platform(name) => Truth::No,
        [left, sign, right] if left.contains("CMAKE_VERSION") => compare(sign, right),
        _ => Truth::Either,
    }
}

/// A comparison of the running CMake, which is [`OLDEST`] or newer.
fn compare(sign: &str, right: &str) -> Truth {
    let (Some(oldest), Some(right)) = (Version::parse(OLDEST), Version::parse(right)) else {
        return Truth::Either;
    };
    match sign {
        "VERSION_LESS" if right <= oldest => Truth::No,
        "VERSION_LESS_EQUAL" | "VERSION_EQUAL" if right < oldest => Truth::No,
        "VERSION_GREATER_EQUAL" if right <= oldest => Truth::Yes,
        "VERSION_GREATER" if right < oldest => Truth::Yes,
        _ => Truth::Either,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::cmake::parse_cmake;

    fn kept(text: &str) -> Vec<String> {
        live(parse_cmake(text))
            .into_iter()
            .filter(|c| c.name == "set")
            .map(|c| c.arguments[0].clone())
            .collect()
    }

    #[test]
    fn branches_of_old_releases_and_other_platforms_are_left_out() {
        let text = "if(CMAKE_VERSION VERSION_LESS 3.18)\nset(OLD)\nelse()\nset(NEW)\nendif()\n\
                    if(NOT CMAKE_VERSION VERSION_GREATER_EQUAL \"3.17.0\" AND CUDA)\nset(OLD2)\nendif()\n\
                    if(USE_ROCM)\nset(AMD)\nelseif(FOO)\nset(MAY)\nelse()\nset(ELSE)\nendif()\n";
        assert_eq!(kept(text), ["NEW", "MAY", "ELSE"]);
    }

    #[test]
    fn what_is_not_known_stays() {
        let text = "if(CMAKE_VERSION VERSION_LESS 4.1)\nset(A)\nelse()\nset(B)\nendif()\n\
                    if(USE_ROCM OR USE_CUDA)\nset(C)\nendif()\nif(CUDA_VERSION VERSION_LESS 12)\nset(D)\nendif()\nendif()\nset(E)\n";
        assert_eq!(kept(text), ["A", "B", "C", "D", "E"]);
    }
}
