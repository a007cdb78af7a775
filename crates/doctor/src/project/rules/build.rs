//! Rules about setup.py and torch: isolation, builds without a GPU, C++ standards, removed headers.

use warpsmith_core::Finding;

use super::Check;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies, not_applicable, pass};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::parse::cmake::CmakeCommand;
use crate::project::parse::condition::Truth;
use crate::project::parse::python_condition;
use warpsmith_compatibility::database;
use warpsmith_compatibility::{Version, VersionRange};

pub(super) const RULES: &[Check] = &[
    ("BLD006", build_isolation),
    ("BLD007", needs_gpu),
    ("BLD008", old_standard),
    ("BLD009", removed_headers),
    ("BLD010", removed_api),
    ("BLD011", hard_coded_path),
    ("BLD012", fast_math),
    ("BLD016", python_range),
    ("BLD017", stable_abi),
];

const NO_EXTENSION: &str = "no setup.py that builds CUDA code";

fn build_isolation(facts: &ProjectFacts) -> Judgement {
    let with_torch: Vec<_> = facts
        .setups
        .iter()
        .filter(|s| s.imports_torch.is_some() && !is_test(&s.path))
        .collect();
    applies(!with_torch.is_empty(), "no setup.py imports torch")?;
    Ok(
        with_torch
            .into_iter()
            .filter_map(|setup| {
                let directory = setup.path.rsplit_once('/').map_or("", |(d, _)| d);
                let own = if directory.is_empty() { "pyproject.toml".to_owned() } else { format!("{directory}/pyproject.toml") };
                let project = facts.pyprojects.iter().find(|p| p.path == own);
                let requires = project.and_then(|p| p.build_requires.as_ref());
                // A file that no reader accepts says neither that it requires torch nor that it does not.
                if project.is_some_and(|p| p.fault.is_some())
                    || requires.is_some_and(|r| r.iter().any(|line| line.starts_with("torch")))
                {
                    return None;
                }
                let line = setup.imports_torch?;
                // What the hint says is enough: the documentation tells how to install it.
                let documented = facts.user_documents().any(|document| {
                    document.lines.iter().any(|l| l.contains("no-build-isolation"))
                });
                let seen = match project {
                    None => "imports torch; there is no pyproject.toml",
                    Some(_) => "imports torch; build-system.requires does not name it",
                };
                let guarded =
                    goes_on_without_torch(&setup.text) || is_conditional(&setup.text, line);
                let message = if guarded {
                    "setup.py uses torch without requiring it: with build isolation the CUDA code is left out silently"
                } else {
                    "setup.py needs torch and does not require it: `pip install` fails with build isolation"
                };
                let found = at("BLD006", &setup.path, line, message, seen)
                    .hint("name torch in build-system.requires of pyproject.toml, or document `pip install --no-build-isolation`");
                // Whoever catches the missing module has chosen to go on without it.
                Some(if documented || guarded { as_info(found) } else { found })
            })
            .collect(),
    )
}

/// Whether a line runs only under an `if`: what a variable requests, or where torch was found.
fn is_conditional(setup: &str, line: u32) -> bool {
    let lines: Vec<&str> = setup.lines().take(line as usize).collect();
    let indent = |l: &str| l.len() - l.trim_start().len();
    let Some((import, before)) = lines.split_last() else {
        return false;
    };
    let mut depth = indent(import);
    for outer in before.iter().rev().filter(|l| !l.trim().is_empty()) {
        if indent(outer) < depth {
            depth = indent(outer);
            let body = outer.trim_start();
            let is_if = body.starts_with("if ") || body.starts_with("elif ");
            if is_if && !body.contains("__name__") {
                return true;
            }
        }
    }
    false
}

/// Whether a missing torch is caught and the build goes on: an `except` that raises does not.
fn goes_on_without_torch(setup: &str) -> bool {
    let lines: Vec<&str> = setup
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
        .collect();
    let indent = |l: &str| l.len() - l.trim_start().len();
    lines.iter().enumerate().any(|(n, line)| {
        let body = line.trim_start();
        let catches = [
            "except ImportError",
            "except ModuleNotFoundError",
            "except:",
            "except Exc",
        ];
        if !catches.iter().any(|c| body.starts_with(c)) {
            return false;
        }
        let deeper = |l: &&&str| indent(l) > indent(line);
        let imports = lines[..n]
            .iter()
            .rev()
            .take_while(deeper)
            .any(|l| l.contains("import") && l.contains("torch"));
        let ends = lines[n + 1..]
            .iter()
            .take_while(deeper)
            .any(|l| l.contains("raise") || l.contains("exit("));
        imports && !ends
    })
}

fn needs_gpu(facts: &ProjectFacts) -> Judgement {
    applies(!facts.setups.is_empty(), "no setup.py")?;
    Ok(
        facts
            .setups
            .iter()
            .filter_map(|setup| {
                let line = setup.needs_gpu?;
                Some(
                    at("BLD007", &setup.path, line, "the build ends where no GPU is visible, as in every `docker build` and CI job", "ends when torch.cuda.is_available() is false")
                        .hint("compiling needs no GPU: ask for CUDA_HOME instead, and let FORCE_CUDA=1 override"),
                )
            })
            .collect(),
    )
}

/// The newest torch that the project allows.
pub(crate) fn newest_allowed_torch(
    facts: &ProjectFacts,
) -> Option<&'static warpsmith_compatibility::TorchRelease> {
    let ranges: Vec<VersionRange> = facts
        .demands()
        .filter(|r| r.name == "torch" && !r.range.is_unbounded())
        .map(|r| r.range.clone())
        .collect();
    database()
        .torch
        .iter()
        .filter(|row| ranges.iter().all(|range| range.contains(&row.torch)))
        .max_by(|a, b| a.torch.cmp(&b.torch))
}

fn old_standard(facts: &ProjectFacts) -> Judgement {
    // A package may depend on torch at run time and compile nothing against it.
    // PaddlePaddle names its module of extensions as torch does.
    let uses_torch = |text: &str| {
        text.contains("torch.utils")
            || text.contains("cpp_extension") && !text.contains("paddle.utils")
    };
    let mut findings: Vec<Finding> = Vec::new();
    let mut looked = false;
    let required = newest_allowed_torch(facts).and_then(|row| {
        let standard: u32 = row
            .cxx_standard_required
            .as_deref()?
            .trim_start_matches("c++")
            .parse()
            .ok()?;
        Some((standard, row.torch.clone()))
    });
    for setup in &facts.setups {
        // TensorFlow's headers are C++17 since 2.9; its own flags say so behind those of the project.
        let required = if uses_torch(&setup.text) {
            required
                .clone()
                .map(|(n, torch)| (n, format!("torch {torch}")))
        } else if setup.text.contains("tensorflow") && !setup.text.contains("get_compile_flags") {
            Some((17, "TensorFlow 2.9 and newer".to_owned()))
        } else {
            None
        };
        let mut standards = setup.standards.clone();
        standards.dedup();
        let newest = newest_allowed_torch(facts).map(|row| &row.torch);
        for flag in &standards {
            looked = true;
            let (line, standard) = (&flag.line, &flag.standard);
            // A branch that this torch does not take says nothing about it.
            let excluded = newest.is_some_and(|torch| {
                flag.conditions.iter().any(|(condition, wanted)| {
                    let holds = python_condition::holds(condition, torch);
                    holds == if *wanted { Truth::No } else { Truth::Yes }
                })
            });
            if excluded {
                continue;
            }
            if let Some((needed, framework)) = &required
                && standard < needed
                && (*standard != 17 || *needed >= 20)
            {
                findings.push(at("BLD008", &setup.path, *line, format!("-std=c++{standard} is too old for {framework}, which needs C++{needed}"), format!("-std=c++{standard}"))
                    .hint(format!("raise it to c++{needed}, or remove the flag where the framework adds its own; or require a release below the one that raised it")));
            }
        }
    }
    for (path, commands) in &facts.cmake {
        // A library beside the extension may have nothing of torch.
        let uses_torch = commands.iter().any(|c| {
            c.name == "find_package" && c.arguments.first().is_some_and(|a| a == "Torch")
                || c.arguments.iter().any(|a| a.contains("TORCH_LIBRARIES"))
        });
        for command in commands.iter().filter(|_| uses_torch) {
            let flag = command.arguments.iter().find_map(|a| {
                let digits: String = a
                    .split("-std=c++")
                    .nth(1)?
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                digits.parse::<u32>().ok()
            });
            if let (Some(standard), Some((needed, torch))) = (flag, &required)
                && standard < 17
            {
                looked = true;
                findings.push(
                    at("BLD008", path, command.line, format!("-std=c++{standard} is too old for torch {torch}, which needs C++{needed}"), format!("-std=c++{standard}"))
                        .hint("set CMAKE_CXX_STANDARD and CMAKE_CUDA_STANDARD instead"),
                );
            }
        }
    }
    applies(looked, "no C++ standard flag beside torch")?;
    Ok(findings)
}

fn removed_headers(facts: &ProjectFacts) -> Judgement {
    let mut torch = false;
    let mut findings = Vec::new();
    for file in facts.cuda.iter().chain(&facts.cxx) {
        torch |= file.uses_torch;
        for include in &file.includes {
            let gone = matches!(
                include.name.as_str(),
                "THC/THC.h"
                    | "TH/TH.h"
                    | "THC.h"
                    | "TH.h"
                    | "THC/THCGeneral.h"
                    | "THC/THCTensor.h"
                    | "THC/THCNumerics.cuh"
            );
            // A project may carry a header of that name itself.
            let own = || {
                facts.files.iter().any(|f| {
                    f.strip_suffix(include.name.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
                })
            };
            if gone && !own() {
                findings.push(
                    at("BLD009", &file.path, include.line, format!("`{}` is gone from torch since 1.11", include.name), include.name.clone())
                        .hint("use ATen: at::cuda::getCurrentCUDAStream, c10::cuda::CUDACachingAllocator; THC/THCAtomics.cuh still exists"),
                );
            }
        }
    }
    if !torch && findings.is_empty() {
        return not_applicable("no torch extension code");
    }
    Ok(findings)
}

fn removed_api(facts: &ProjectFacts) -> Judgement {
    // As the headers of torch 2.15 have it: AT_ASSERTM is still there, and marked.
    const OLD: [(&str, &str, &str); 3] = [
        ("AT_CHECK", "TORCH_CHECK", "gone from torch's C++ API"),
        ("AT_ASSERTM", "TORCH_CHECK", "deprecated in torch's C++ API"),
        ("THCState", "at::cuda", "gone from torch's C++ API"),
    ];
    let names = facts.names();
    let mut torch = false;
    let mut findings = Vec::new();
    for file in facts.cuda.iter().chain(&facts.cxx) {
        torch |= file.uses_torch;
        // A project that defines the name itself keeps working.
        for mention in &file.mentions {
            if let Some((old, new, state)) = OLD.iter().find(|(old, ..)| mention.name == *old)
                && !names.defines(old)
            {
                findings.push(
                    at(
                        "BLD010",
                        &file.path,
                        mention.line,
                        format!("{old} is {state}"),
                        *old,
                    )
                    .hint(format!("write {new}")),
                );
            }
        }
    }
    applies(torch, "no torch extension code")?;
    Ok(findings)
}

/// Whether a command of CMake gives way to others: a cache entry, one under `if(NOT …)` of the same
/// variable, or one that is taken only where the folder exists.
fn is_default(commands: &[CmakeCommand], at: usize) -> bool {
    let command = &commands[at];
    if command.name == "set" && command.arguments.iter().any(|a| a == "CACHE") {
        return true;
    }
    let (mut closed, mut other_side) = (0, false);
    for (n, outer) in commands[..at].iter().enumerate().rev() {
        match outer.name.as_str() {
            "endif" => closed += 1,
            "if" if closed > 0 => closed -= 1,
            "else" | "elseif" if closed == 0 => other_side = true,
            "if" => {
                if !std::mem::take(&mut other_side) && is_off(&commands[..n], outer) {
                    return true;
                }
                let asks = |word: &str| outer.arguments.iter().any(|a| a.contains(word));
                let own = command.arguments.first().is_some_and(|name| asks(name));
                if asks("NOT") && own || asks("EXISTS") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether the file itself has switched off what an `if` asks for: `if(USE_GPU)` behind
/// `set(USE_GPU OFF)`.
fn is_off(before: &[CmakeCommand], condition: &CmakeCommand) -> bool {
    let asked = match condition.arguments.as_slice() {
        [name] => name,
        [name, sign, on] if sign == "STREQUAL" && on == "ON" => name,
        _ => return false,
    };
    let mut set = before.iter().filter(|c| c.name == "set");
    let last = set.rfind(|c| c.arguments.first() == Some(asked));
    last.and_then(|c| c.arguments.last())
        .is_some_and(|value| matches!(value.as_str(), "OFF" | "0" | "FALSE" | "NO"))
}

/// Whether CMake or the project reads a variable; what nobody reads decides nothing.
fn is_read(facts: &ProjectFacts, name: &str) -> bool {
    const BY_CMAKE: [&str; 6] = [
        "CMAKE_CUDA_COMPILER",
        "CMAKE_PREFIX_PATH",
        "CUDAToolkit_ROOT",
        "CUDA_NVCC_EXECUTABLE",
        "CUDA_TOOLKIT_ROOT_DIR",
        "ENV{PATH}",
    ];
    let value = format!("${{{name}}}");
    let mut commands = facts.cmake.iter().flat_map(|(_, commands)| commands);
    BY_CMAKE.contains(&name) || commands.any(|c| c.arguments.iter().any(|a| a.contains(&value)))
}

/// Whether a CMake file names sources of CUDA, and none that a host compiler reads.
fn only_nvcc(commands: &[CmakeCommand]) -> bool {
    let mut arguments = commands.iter().flat_map(|c| &c.arguments);
    let host = |a: &String| [".c", ".cc", ".cpp", ".cxx"].iter().any(|e| a.ends_with(e));
    let elsewhere = |c: &CmakeCommand| {
        matches!(
            c.name.as_str(),
            "add_subdirectory" | "aux_source_directory" | "target_sources"
        )
    };
    arguments.clone().any(|a| a.ends_with(".cu"))
        && !arguments.any(host)
        && !commands.iter().any(elsewhere)
}

/// Whether CMake searches for the toolkit.
fn finds_cuda(commands: &[CmakeCommand]) -> bool {
    let toolkit = |a: &String| matches!(a.as_str(), "CUDA" | "CUDAToolkit");
    let asks =
        |c: &CmakeCommand| c.name == "find_package" && c.arguments.first().is_some_and(toolkit);
    commands.iter().any(asks)
}

/// Whether the folder of headers that CMake found is searched as well.
fn includes_found(commands: &[CmakeCommand]) -> bool {
    const FOUND: [&str; 4] = [
        "CUDA_INCLUDE_DIRS",
        "CUDA_TOOLKIT_INCLUDE",
        "CUDAToolkit_INCLUDE_DIRS",
        "CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES",
    ];
    let searched = |a: &String| FOUND.iter().any(|name| a.contains(name));
    let includes = |c: &&CmakeCommand| c.name.ends_with("include_directories");
    let mut arguments = commands.iter().filter(includes).flat_map(|c| &c.arguments);
    finds_cuda(commands) && arguments.any(searched)
}

/// Whether a library of the toolkit is linked by its bare name, which the linker must find.
fn names_libraries(commands: &[CmakeCommand]) -> bool {
    const BEGIN: [&str; 10] = [
        "cublas",
        "cudart",
        "cudnn",
        "cufft",
        "curand",
        "cusolver",
        "cusparse",
        "npp",
        "nvToolsExt",
        "nvrtc",
    ];
    let links = |c: &&CmakeCommand| c.name.ends_with("link_libraries") || c.name == "set";
    let mut arguments = commands.iter().filter(links).flat_map(|c| &c.arguments);
    arguments.any(|a| {
        let name = a.strip_prefix("-l").unwrap_or(a);
        BEGIN.iter().any(|begin| name.starts_with(begin))
    })
}

fn hard_coded_path(facts: &ProjectFacts) -> Judgement {
    if facts.setups.is_empty() && facts.cmake.is_empty() {
        return not_applicable("neither setup.py nor CMake");
    }
    let from_setup = facts
        .setups
        .iter()
        .filter_map(|s| Some((s.path.as_str(), s.cuda_path_line?)));
    let from_cmake = facts.cmake.iter().flat_map(|(path, commands)| {
        commands
            .iter()
            .enumerate()
            .filter(|(n, _)| !is_default(commands, *n))
            .map(|(_, command)| command)
            .filter(|c| {
                matches!(
                    c.name.as_str(),
                    "include_directories"
                        | "link_directories"
                        | "target_include_directories"
                        | "set"
                )
            })
            .filter(|c| {
                // One of several folders to search is a guess that may fail without harm.
                let searched = c.name == "set" && c.arguments.len() > 2
                    || c.name == "link_directories"
                        && commands.iter().any(|other| other.name == "find_library");
                // nvcc finds its own headers: only a host compiler needs to be told.
                let spare = match c.name.as_str() {
                    "set" => !c.arguments.first().is_some_and(|name| is_read(facts, name)),
                    "link_directories" => finds_cuda(commands) && !names_libraries(commands),
                    _ => only_nvcc(commands) || includes_found(commands),
                };
                let mut folders = c.arguments.iter();
                !searched && !spare && folders.any(|a| a.starts_with("/usr/local/cuda"))
            })
            .map(|c| (path.as_str(), c.line))
    });
    Ok(from_setup
        .chain(from_cmake)
        .map(|(path, line)| {
            at(
                "BLD011",
                path,
                line,
                "a CUDA path is written down: builds fail where CUDA lies elsewhere",
                "/usr/local/cuda",
            )
            .hint("use CUDA_HOME from torch.utils.cpp_extension, or find_package(CUDAToolkit)")
        })
        .collect())
}

fn fast_math(facts: &ProjectFacts) -> Judgement {
    if facts.setups.is_empty() && facts.cmake.is_empty() {
        return not_applicable("neither setup.py nor CMake");
    }
    Ok(facts
        .setups
        .iter()
        .filter_map(|s| {
            let line = s.fast_math_line?;
            Some(
                at(
                    "BLD012",
                    &s.path,
                    line,
                    "--use_fast_math flushes denormals and approximates division and square roots",
                    "--use_fast_math",
                )
                .hint("say so in the documentation, or use intrinsics where it matters"),
            )
        })
        .collect())
}

fn python_range(facts: &ProjectFacts) -> Judgement {
    let range = facts
        .setups
        .iter()
        .filter(|s| s.requirements.iter().any(|r| r.name == "torch"))
        .find_map(|s| {
            s.python_requires
                .clone()
                .map(|(r, l)| (s.path.clone(), r, l))
        })
        .or_else(|| {
            facts
                .pyprojects
                .iter()
                .filter(|p| p.dependencies.iter().any(|r| r.name == "torch"))
                .find_map(|p| {
                    p.requires_python
                        .clone()
                        .map(|(r, l)| (p.path.clone(), r, l))
                })
        });
    let Some((file, text, line)) = range else {
        return not_applicable("no Python range beside a torch requirement");
    };
    let Some(torch) = newest_allowed_torch(facts) else {
        return not_applicable("the torch range holds no release in the database");
    };
    let python = VersionRange::parse(&text);
    let missing: Vec<String> = (8..=14)
        .filter_map(|minor| Version::parse(&format!("3.{minor}")))
        .filter(|version| python.contains(version))
        .filter(|version| {
            let tag = format!("cp3{}", version.part(1));
            let any = database()
                .torch
                .iter()
                .filter(|row| {
                    facts
                        .demands()
                        .filter(|r| r.name == "torch")
                        .all(|r| r.range.contains(&row.torch))
                })
                .any(|row| row.python_tags_linux_x86_64.contains(&tag));
            !any
        })
        .map(|v| v.to_string())
        .collect();
    // An open range promises Pythons that do not exist yet; only those that do are compared with it.
    if missing.is_empty() {
        return pass();
    }
    Ok(vec![
        at(
            "BLD016",
            &file,
            line,
            format!(
                "Python {} has no wheel of any torch that the range allows",
                missing.join(", ")
            ),
            text,
        )
        .because(
            "newest torch in the range",
            format!(
                "{} ({})",
                torch.torch,
                torch.python_tags_linux_x86_64.join(", ")
            ),
        )
        .hint("narrow python_requires, or widen the torch range"),
    ])
}

fn stable_abi(facts: &ProjectFacts) -> Judgement {
    let Some(setup) = facts.extension() else {
        return not_applicable(NO_EXTENSION);
    };
    let pybind = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.mentions.iter().any(|m| m.name == "PYBIND11_MODULE"));
    let library = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.mentions.iter().any(|m| m.name == "TORCH_LIBRARY"));
    if pybind || !library {
        return not_applicable("the extension binds with pybind11");
    }
    let line = setup.cuda_extension.unwrap_or(1);
    Ok(vec![as_info(
        at(
            "BLD017",
            &setup.path,
            line,
            "one wheel could serve several Python and torch versions",
            "TORCH_LIBRARY without pybind11",
        )
        .hint("see TORCH_TARGET_VERSION and py_limited_api in torch 2.10 and newer"),
    )])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::cmake::parse_cmake;

    #[test]
    fn only_the_block_that_imports_torch_says_what_happens_without_it() {
        let optional = "try:\n    import torch\n    OK = True\nexcept ImportError:\n    OK = False\n\nif windows:\n    raise RuntimeError()\n";
        assert!(goes_on_without_torch(optional));
        let needed =
            "try:\n    import torch\nexcept ImportError:\n    raise SystemExit('install torch')\n";
        assert!(!goes_on_without_torch(needed));
        let other = "try:\n    from wheel.bdist_wheel import bdist_wheel\nexcept ImportError:\n    bdist_wheel = None\nimport torch\n";
        assert!(!goes_on_without_torch(other));
    }

    #[test]
    fn a_path_that_gives_way_is_a_default() {
        let judged = |text: &str| {
            let facts = ProjectFacts {
                cmake: vec![("CMakeLists.txt".into(), parse_cmake(text))],
                ..ProjectFacts::default()
            };
            hard_coded_path(&facts).unwrap().len()
        };
        let home = "set(CUDA_HOME /usr/local/cuda)\n";
        let used = "include_directories(${CUDA_HOME}/include)\n";
        assert_eq!(judged(&format!("{home}{used}")), 1);
        assert_eq!(judged(home), 0);
        let nvcc = "set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)\n";
        assert_eq!(judged(nvcc), 1);
        let off = format!("set(GPU OFF)\nif(GPU STREQUAL \"ON\")\n{nvcc}");
        assert_eq!(judged(&format!("{off}endif()\n")), 0);
        assert_eq!(judged(&format!("{off}else()\n{nvcc}endif()\n")), 1);
        let cached = "set(CUDA_HOME /usr/local/cuda CACHE PATH \"\")\n";
        assert_eq!(judged(&format!("{cached}{used}")), 0);
        let unless = format!("if (NOT CUDA_HOME)\n{home}endif()\n{used}");
        assert_eq!(judged(&unless), 0);
        let behind = format!("if (NOT CUDA_HOME)\nendif()\n{home}{used}");
        assert_eq!(judged(&behind), 1);
        let there = "if(EXISTS /usr/local/cuda/include)\n include_directories(/usr/local/cuda/include)\nendif()\n";
        assert_eq!(judged(there), 0);
        let include = "include_directories(/usr/local/cuda/include)\n";
        assert_eq!(judged(include), 1);
        let nvcc = format!("{include}cuda_add_executable(a a.cu)\n");
        assert_eq!(judged(&nvcc), 0);
        assert_eq!(judged(&format!("{nvcc}add_library(b b.cpp)\n")), 1);
        let found = format!("find_package(CUDA)\n{include}");
        assert_eq!(judged(&found), 1);
        let both = format!("{found}include_directories(${{CUDA_INCLUDE_DIRS}})\n");
        assert_eq!(judged(&both), 0);
        let link = "find_package(CUDA)\nlink_directories(/usr/local/cuda/lib64)\n";
        assert_eq!(judged(link), 0);
        let bare = format!("{link}target_link_libraries(a nvinfer cudart)\n");
        assert_eq!(judged(&bare), 1);
    }
}
