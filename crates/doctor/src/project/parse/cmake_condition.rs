//! Which commands a CMake of today runs in a build for CUDA, where an `if` decides it.
//!
//! Decided are comparisons of the versions of CMake, CUDA and cuDNN, and switches that are named after
//! another platform; NOT, AND, OR and parentheses join them. Everything else may be either, and its
//! commands stay.

use super::cmake::CmakeCommand;
use super::condition::{Truth, Versions, names_other_platform, truth_of};
use warpsmith_compatibility::Version;

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

/// Whether a condition holds: its tests are decided one by one, and joined by the evaluator of `#if`.
fn truth(arguments: &[String]) -> Truth {
    let is_joint = |word: &String| matches!(word.as_str(), "AND" | "OR" | "NOT" | "(" | ")");
    let mut tokens = Vec::new();
    let mut rest = arguments;
    while let [first, tail @ ..] = rest {
        if is_joint(first) {
            tokens.push(match first.as_str() {
                "AND" => "&&",
                "OR" => "||",
                "NOT" => "!",
                parenthesis => parenthesis,
            });
            rest = tail;
            continue;
        }
        let end = rest.iter().position(is_joint).unwrap_or(rest.len());
        tokens.push(match test(&rest[..end]) {
            Truth::Yes => "1",
            Truth::No => "0",
            Truth::Either => "not_known",
        });
        rest = &rest[end..];
    }
    truth_of(&tokens)
}

/// One test: a switch, or a comparison.
fn test(words: &[String]) -> Truth {
    match words {
        [name] if names_other_platform(name) => Truth::No,
        [left, sign, right] => {
            let sign = match sign.strip_prefix("VERSION_").unwrap_or(sign) {
                "LESS" => "<",
                "LESS_EQUAL" => "<=",
                "GREATER" => ">",
                "GREATER_EQUAL" => ">=",
                "EQUAL" => "==",
                _ => return Truth::Either,
            };
            let mirrored = match sign {
                "<" => ">",
                "<=" => ">=",
                ">" => "<",
                ">=" => "<=",
                same => same,
            };
            match (versions(left), versions(right)) {
                (Some(left), None) => Version::parse(right).map(|v| left.compare(sign, &v)),
                (None, Some(right)) => Version::parse(left).map(|v| right.compare(mirrored, &v)),
                _ => None,
            }
            .unwrap_or(Truth::Either)
        }
        _ => Truth::Either,
    }
}

/// What a variable that holds a version has in a build of today.
fn versions(word: &str) -> Option<Versions> {
    let name = word
        .trim_start_matches("${")
        .trim_end_matches('}')
        .to_ascii_uppercase();
    let (name, only_major) = match name.strip_suffix("_MAJOR") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let versions = match name {
        "CMAKE_VERSION" => Versions::from(&Version::parse(OLDEST)?),
        "CUDA_VERSION"
        | "CUDA_VERSION_STRING"
        | "CUDATOOLKIT_VERSION"
        | "CUDA_TOOLKIT_VERSION"
        | "CUDA_COMPILER_VERSION"
        | "CMAKE_CUDA_COMPILER_VERSION"
        | "CMAKE_CUDA_COMPILER_TOOLKIT_VERSION" => Versions::cuda(),
        "CUDNN_VERSION" | "CUDNN_VERSION_STRING" => Versions::cudnn(),
        _ => return None,
    };
    Some(if only_major {
        versions.majors()
    } else {
        versions
    })
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
    fn guards_of_old_toolkits_are_evaluated_as_the_preprocessor_does() {
        for (condition, expected) in [
            ("CUDA_VERSION VERSION_LESS 12", Truth::No),
            ("${CUDA_VERSION} VERSION_GREATER \"11.7\"", Truth::Yes),
            ("CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8", Truth::Yes),
            (
                "CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13.2",
                Truth::Either,
            ),
            ("CUDAToolkit_VERSION_MAJOR EQUAL 11", Truth::No),
            ("CUDAToolkit_VERSION_MAJOR GREATER_EQUAL 13", Truth::Yes),
            (
                "NOT CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.0 AND CUDA_VERSION VERSION_LESS 14",
                Truth::Yes,
            ),
            ("12.0 VERSION_LESS_EQUAL CUDA_VERSION", Truth::Yes),
            ("CUDA_VERSION LESS 11080", Truth::Either),
            ("CUDA_VERSION_MINOR LESS 8", Truth::Either),
            ("CUDNN_VERSION VERSION_LESS 8.0", Truth::No),
            (
                "(CUDA_VERSION VERSION_LESS 10 OR CUDA_VERSION VERSION_LESS 11) AND FOO",
                Truth::No,
            ),
            ("FOO OR (NOT (CUDA_VERSION VERSION_LESS 11))", Truth::Yes),
            (
                "FOO AND (BAR OR CUDA_VERSION VERSION_LESS 11)",
                Truth::Either,
            ),
            ("CMAKE_VERSION VERSION_LESS 3.18 OR USE_ROCM", Truth::No),
            ("(CUDA_VERSION VERSION_LESS 10", Truth::Either),
            ("", Truth::Either),
        ] {
            let commands = parse_cmake(&format!("if({condition})\nendif()\n"));
            assert_eq!(truth(&commands[0].arguments), expected, "{condition}");
        }
    }

    #[test]
    fn what_is_not_known_stays() {
        let text = "if(CMAKE_VERSION VERSION_LESS 4.1)\nset(A)\nelse()\nset(B)\nendif()\n\
                    if(USE_ROCM OR USE_CUDA)\nset(C)\nendif()\n\
                    if(CUDA_VERSION VERSION_LESS 13.1)\nset(D)\nendif()\nendif()\nset(E)\n";
        assert_eq!(kept(text), ["A", "B", "C", "D", "E"]);
    }
}
