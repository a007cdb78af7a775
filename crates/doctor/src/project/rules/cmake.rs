//! Rules about CMake.

use super::Check;
use super::place::at;
use crate::conclude::{Judgement, applies, not_applicable};
use crate::project::facts::{ProjectFacts, is_test};
use warpsmith_compatibility::Version;

pub(super) const RULES: &[Check] = &[("BLD013", find_cuda), ("BLD014", cmake_minimum)];

fn find_cuda(facts: &ProjectFacts) -> Judgement {
    if facts.cmake.is_empty() || !facts.has_cuda() {
        return not_applicable("no CMake with CUDA code");
    }
    let mut findings = Vec::new();
    for (path, commands) in &facts.cmake {
        let mut conditions: Vec<bool> = Vec::new();
        // The policy that keeps the module: whoever sets it knows.
        let keeps_module = commands
            .iter()
            .any(|c| c.name == "cmake_policy" && c.arguments.iter().any(|a| a == "CMP0146"));
        for command in commands {
            match command.name.as_str() {
                // A choice that the user makes is not a default.
                "if" => conditions.push(
                    command
                        .arguments
                        .iter()
                        .any(|a| a.contains("CMAKE_CUDA_ARCHITECTURES")),
                ),
                "endif" => {
                    conditions.pop();
                }
                _ => {}
            }
            let first = command.arguments.first().map(String::as_str);
            if command.name == "find_package" && first == Some("CUDA") && !keeps_module {
                findings.push(
                    at(
                        "BLD013",
                        path,
                        command.line,
                        "FindCUDA was removed in CMake 3.27",
                        "find_package(CUDA)",
                    )
                    .hint("enable_language(CUDA) and find_package(CUDAToolkit)"),
                );
            }
            if command.name == "set"
                && conditions.iter().all(|c| *c)
                && first == Some("CMAKE_CUDA_ARCHITECTURES")
                && command.arguments.get(1).is_some_and(|a| a == "native")
            {
                findings.push(
                    at(
                        "BLD013",
                        path,
                        command.line,
                        "`native` builds for the builder's GPU only, and fails without one",
                        "CMAKE_CUDA_ARCHITECTURES native",
                    )
                    .hint("name the architectures, or `all-major`"),
                );
            }
        }
    }
    Ok(findings)
}

fn cmake_minimum(facts: &ProjectFacts) -> Judgement {
    applies(!facts.cmake.is_empty(), "no CMake")?;
    let mut findings = Vec::new();
    for (path, commands) in facts.cmake.iter().filter(|(p, _)| !is_test(p)) {
        let cuda = commands.iter().any(|c| {
            (matches!(c.name.as_str(), "project" | "enable_language"))
                && c.arguments.iter().any(|a| a == "CUDA")
        });
        for command in commands
            .iter()
            .filter(|c| c.name == "cmake_minimum_required")
        {
            let Some(text) = command.arguments.get(1) else {
                continue;
            };
            // `3.10...3.27` asks for the policies of the second.
            let newest = text.rsplit("...").next().unwrap_or(text);
            let Some(version) = Version::parse(newest) else {
                continue;
            };
            let floor = if cuda { "3.18" } else { "3.5" };
            if Version::parse(floor).is_some_and(|f| version < f) {
                findings.push(
                    at(
                        "BLD014",
                        path,
                        command.line,
                        format!(
                            "cmake_minimum_required({version}) is below {floor}{}",
                            if cuda {
                                ", the first with CMAKE_CUDA_ARCHITECTURES"
                            } else {
                                ", which CMake 4 no longer accepts"
                            }
                        ),
                        text.clone(),
                    )
                    .hint(format!("raise it to {floor}")),
                );
            }
        }
    }
    Ok(findings)
}
