//! Rules about CUDA sources, at function scope.

use std::collections::HashSet;

use warpsmith_core::{Certainty, Finding};

use super::Check;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::names::Names;
use crate::project::parse::cuda::{CudaFile, DroppedStatus, Mention, WITHOUT_MASK};
use crate::project::parse::cuda_api::{api, is_cleanup, is_query};
use crate::project::parse::cuda_function::Function;

pub(super) const RULES: &[Check] = &[
    ("SRC001", dropped_status),
    ("SRC002", unchecked_launch),
    ("SRC003", default_stream),
    ("SRC004", no_guard),
    ("SRC005", no_layout_check),
    ("SRC006", own_allocation),
    ("SRC007", legacy_warp),
    ("SRC008", removed_api),
    ("SRC009", device_sync),
    ("SRC010", device_zero),
    ("SRC011", needs_higher_sm),
    ("SRC012", narrow_index),
    ("SRC013", barrier_after_return),
    ("SRC014", long_file),
];

const NO_CUDA: &str = "no CUDA code";

fn each(facts: &ProjectFacts, check: impl Fn(&CudaFile) -> Vec<Finding>) -> Judgement {
    applies(facts.has_cuda(), NO_CUDA)?;
    Ok(facts
        .cuda
        .iter()
        .filter(|f| !f.foreign)
        .flat_map(check)
        .collect())
}

fn dropped_status(facts: &ProjectFacts) -> Judgement {
    let names = facts.names();
    each(facts, |file| {
        file.dropped
            .iter()
            .filter(|d| !names.defines(&d.call))
            .map(|d| dropped_call(file, d, names))
            .collect()
    })
}

fn dropped_call(file: &CudaFile, dropped: &DroppedStatus, names: &Names) -> Finding {
    let call = dropped.call.as_str();
    let function = dropped.function.and_then(|n| file.functions.get(n));
    let is_runtime = api(call).is_some_and(|f| f.library == "cudart");
    let asked = is_runtime
        && function.is_some_and(|f| {
            names.asked_behind(f, dropped.position) || names.asked_by_caller(&f.name)
        });
    let found = at(
        "SRC001",
        &file.path,
        dropped.line,
        format!("the status of {call} is thrown away: a failure shows up later, elsewhere"),
        call,
    )
    .hint("wrap the call in the project's check macro");
    let quiet = is_cleanup(call)
        || is_query(call)
        || is_test(&file.path)
        || asked
        || function.is_some_and(|f| f.is_kernel || f.is_device);
    if asked {
        let why = "a later check in the same function or its caller reads the runtime's last error";
        as_info(found.sure(Certainty::Hint, why))
    } else if quiet {
        as_info(found)
    } else if dropped.function.is_none() {
        found.sure(
            Certainty::Likely,
            "a macro's body, judged where it is defined",
        )
    } else {
        found.sure(
            Certainty::Certain,
            "the headers declare that it returns a status, and nothing takes it",
        )
    }
}

fn unchecked_launch(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_cuda(), NO_CUDA)?;
    let names = facts.names();
    let mut findings = Vec::new();
    for file in facts.cuda.iter().filter(|f| !f.foreign) {
        for function in &file.functions {
            // A kernel that launches reports through the host's launch.
            if function.is_device || function.is_kernel || names.asked_by_caller(&function.name) {
                continue;
            }
            let doubt = function.calls.keys().any(|name| names.may_ask(name))
                || names.is_taken(&function.name);
            for launch in &function.launches {
                if names.asked_behind(function, launch.position) {
                    continue;
                }
                let found = at(
                    "SRC002",
                    &file.path,
                    launch.line,
                    format!("the launch of {} is never checked", launch.kernel),
                    format!("{}<<<…>>> in {}", launch.kernel, function.name),
                )
                .hint(if file.uses_torch {
                    "add C10_CUDA_KERNEL_LAUNCH_CHECK(); behind it"
                } else {
                    "ask for cudaGetLastError() behind it"
                });
                // Waiting with a check behind it tells of most failures, though not by name.
                let waited = names.waits_behind(function, launch.position);
                findings.push(if is_test(&file.path) || doubt || waited {
                    as_info(found)
                } else {
                    found
                });
            }
        }
    }
    Ok(findings)
}

fn torch_launches(facts: &ProjectFacts) -> bool {
    facts
        .cuda
        .iter()
        .any(|f| f.uses_torch && f.functions.iter().any(|x| !x.launches.is_empty()))
}

fn default_stream(facts: &ProjectFacts) -> Judgement {
    applies(
        torch_launches(facts),
        "no torch extension that launches kernels",
    )?;
    each(facts, |file| {
        if !file.uses_torch {
            return Vec::new();
        }
        file.functions
            .iter()
            .flat_map(|f| &f.launches)
            .filter(|l| {
                l.stream
                    .as_deref()
                    .is_none_or(|s| s == "0" || s == "nullptr" || s == "NULL")
            })
            .map(|l| {
                at(
                    "SRC003",
                    &file.path,
                    l.line,
                    format!(
                        "{} runs on the legacy default stream, not on torch's current one",
                        l.kernel
                    ),
                    format!("{}<<<…>>>", l.kernel),
                )
                .hint("pass at::cuda::getCurrentCUDAStream() as the fourth launch argument")
            })
            .collect()
    })
}

/// Functions of a torch extension that take a tensor, are `exposed`, and are `safe` neither by
/// themselves nor through a caller.
fn unprotected(
    facts: &ProjectFacts,
    exposed: impl Fn(&Function) -> bool,
    safe: impl Fn(&Function) -> bool,
    found: impl Fn(&CudaFile, &Function) -> Finding,
) -> Judgement {
    let functions = || {
        facts
            .cuda
            .iter()
            .chain(&facts.cxx)
            .flat_map(|f| &f.functions)
    };
    let mut safe_callees: HashSet<&str> = functions()
        .filter(|f| safe(f))
        .flat_map(|f| f.calls.keys().map(String::as_str))
        .collect();
    // A caller's caller protects too.
    for _ in 0..2 {
        let more: Vec<&str> = functions()
            .filter(|f| f.takes_tensor && safe_callees.contains(f.name.as_str()))
            .flat_map(|f| f.calls.keys().map(String::as_str))
            .collect();
        safe_callees.extend(more);
    }
    each(facts, |file| {
        if !file.uses_torch || is_test(&file.path) {
            return Vec::new();
        }
        file.functions
            .iter()
            .filter(|f| f.takes_tensor && exposed(f))
            .filter(|f| !safe(f) && !safe_callees.contains(f.name.as_str()))
            .map(|f| found(file, f))
            .collect()
    })
}

fn no_guard(facts: &ProjectFacts) -> Judgement {
    applies(
        torch_launches(facts),
        "no torch extension that launches kernels",
    )?;
    let names = facts.names();
    let in_python = facts.python.iter().any(|file| file.chooses_device);
    unprotected(
        facts,
        |f| !f.launches.is_empty(),
        |f| names.guards_device(f),
        |file, f| {
            let found = at(
                "SRC004",
                &file.path,
                f.line,
                format!(
                    "{} launches on the current device, wherever its tensors lie",
                    f.name
                ),
                "no device guard here or in a caller",
            )
            .hint("const at::cuda::OptionalCUDAGuard guard(at::device_of(tensor));");
            if in_python {
                let why = "the project's Python code makes the device of a tensor the current one";
                as_info(found.sure(Certainty::Hint, why))
            } else {
                found
            }
        },
    )
}

fn no_layout_check(facts: &ProjectFacts) -> Judgement {
    applies(
        facts.cuda.iter().any(|f| f.uses_torch),
        "no torch extension",
    )?;
    let names = facts.names();
    unprotected(
        facts,
        |f| !f.data_pointers.is_empty(),
        |f| names.checks_layout(f),
        |file, f| {
            at(
                "SRC005",
                &file.path,
                f.line,
                format!(
                    "{} reads a tensor's memory without asking whether it is contiguous",
                    f.name
                ),
                "data_ptr without is_contiguous or contiguous()",
            )
            .hint("TORCH_CHECK(x.is_contiguous()) and check the dtype, or call .contiguous()")
        },
    )
}

fn mentions(
    facts: &ProjectFacts,
    code: &str,
    torch_only: bool,
    names: &[&str],
    message: impl Fn(&str) -> String,
    hint: &str,
    info: bool,
) -> Judgement {
    each(facts, |file| {
        if is_test(&file.path) || torch_only && !file.uses_torch {
            return Vec::new();
        }
        file.mentions
            .iter()
            .filter(|m| names.contains(&m.name.as_str()))
            .map(|m| {
                let found =
                    at(code, &file.path, m.line, message(&m.name), m.name.clone()).hint(hint);
                if info { as_info(found) } else { found }
            })
            .collect()
    })
}

fn own_allocation(facts: &ProjectFacts) -> Judgement {
    mentions(
        facts,
        "SRC006",
        true,
        &["cudaMalloc"],
        |_| "cudaMalloc bypasses torch's caching allocator".into(),
        "allocate with torch::empty",
        true,
    )
}

fn legacy_warp(facts: &ProjectFacts) -> Judgement {
    let names = facts.names();
    let intrinsics: Vec<&str> = WITHOUT_MASK
        .into_iter()
        // A project that defines the name, as a macro or an overload, has its own meaning for it.
        .filter(|name| !names.defines(name))
        .collect();
    let found = mentions(
        facts,
        "SRC007",
        false,
        &intrinsics,
        |name| format!("{name} does not exist for sm_70 and newer"),
        "use the _sync form with the mask of the participating lanes",
        false,
    )?;
    Ok(found.into_iter().filter(|f| !has_both(facts, f)).collect())
}

/// Whether the function around an old intrinsic has its `_sync` form too: the old one is then for an
/// old toolkit.
fn has_both(facts: &ProjectFacts, finding: &Finding) -> bool {
    let Some((span, old)) = finding.span.as_ref().zip(finding.evidence.first()) else {
        return false;
    };
    let file = facts.cuda_file(&span.file);
    let mut around = file.iter().flat_map(|f| f.functions.iter().rev());
    around
        .find(|function| function.line <= span.line)
        .is_some_and(|function| function.calls.contains_key(&format!("{}_sync", old.seen)))
}

/// Functions of the first runtimes, gone before the first headers of the table (CUDA 11.7).
const GONE_BEFORE_THE_TABLE: [&str; 3] = ["cudaSetupArgument", "cudaConfigureCall", "cudaLaunch"];

fn removed_api(facts: &ProjectFacts) -> Judgement {
    let names = facts.names();
    each(facts, |file| {
        if is_test(&file.path) {
            return Vec::new();
        }
        let early = file
            .mentions
            .iter()
            .filter(|m| GONE_BEFORE_THE_TABLE.contains(&m.name.as_str()))
            .map(|m| {
                let why = "CUDA 11.7 and every version since do not declare it";
                (m, why.to_owned())
            });
        let later = file.removed.iter().filter_map(|m| {
            let function = api(&m.name)?;
            let version = function.removed_in?;
            // What cuFFT declared for a while is cuFFTMp's, and still in its header.
            let declares = |i: &Mention| i.name.ends_with("cufftMp.h");
            if function.library == "cufft" && file.includes.iter().any(declares) {
                return None;
            }
            let product = match function.library {
                "cudart" | "cuda" | "nvrtc" => "CUDA",
                library => library,
            };
            // `_v2` names became the plain ones: the plain name is what people write.
            let spelling = m.name.ends_with("_v2");
            (!spelling).then(|| (m, format!("{product} {version} removed it")))
        });
        early
            .chain(later)
            .filter(|(m, _)| !names.defines(&m.name))
            .map(|(m, why)| {
                at(
                    "SRC008",
                    &file.path,
                    m.line,
                    format!("{} does not compile any more: {why}", m.name),
                    m.name.clone(),
                )
                .hint(replacement(&m.name))
            })
            .collect()
    })
}

/// What took the place of a removed function.
fn replacement(name: &str) -> &'static str {
    match name {
        "cudaThreadSynchronize" => "call cudaDeviceSynchronize",
        "cudaThreadExit" => "call cudaDeviceReset",
        _ if name.starts_with("cudaThread") => "call the cudaDevice… function of the same name",
        _ if name.contains("Texture") || name.contains("Surface") => {
            "use texture and surface objects (cudaCreateTextureObject)"
        }
        "cudaSetupArgument" | "cudaConfigureCall" | "cudaLaunch" => "call cudaLaunchKernel",
        _ => "see the library's release notes for its successor",
    }
}

fn device_sync(facts: &ProjectFacts) -> Judgement {
    mentions(
        facts,
        "SRC009",
        true,
        &["cudaDeviceSynchronize"],
        |_| "the whole device is waited for in library code".into(),
        "wait for the stream, or for nothing",
        true,
    )
}

fn device_zero(facts: &ProjectFacts) -> Judgement {
    mentions(
        facts,
        "SRC010",
        false,
        &["cudaSetDevice(0)"],
        |_| "device 0 is written down".into(),
        "use the tensor's device, or a parameter",
        false,
    )
}

fn needs_higher_sm(facts: &ProjectFacts) -> Judgement {
    let lists = super::architectures::arch_lists(facts);
    // A build script decides over what lies in its folder or below.
    let builds = |list: &str, file: &str| {
        let name = list.rsplit('/').next().unwrap_or(list);
        let folder = &list[..list.len() - name.len()];
        name != "setup.py" || file.starts_with(folder)
    };
    // Of several lists the least demanding one: a list for something else must not accuse this code.
    let lowest_for = |file: &str| {
        lists
            .iter()
            .filter(|l| !is_test(&l.file) && builds(&l.file, file))
            .filter_map(|l| l.coverage.cubins.iter().map(|t| t.capability.sm()).min())
            .max()
    };
    applies(
        lists.iter().any(|l| !l.coverage.cubins.is_empty()),
        "no architecture list",
    )?;
    each(facts, |file| {
        let Some(lowest) = lowest_for(&file.path) else {
            return Vec::new();
        };
        // A file that asks for __CUDA_ARCH__ anywhere has thought about it.
        let named = ["sm", "hopper", "blackwell"]
            .iter()
            .any(|w| file.path.contains(w));
        if is_test(&file.path) || file.asks_architecture || named {
            return Vec::new();
        }
        file.mentions
            .iter()
            .filter_map(|m| {
                let needs = match m.name.strip_prefix("ptx ")? {
                    "wgmma." => 90,
                    "tcgen05." => 100,
                    "cp.async.bulk" => 90,
                    "cp.async" => 80,
                    "ldmatrix" | "mma.sync" => 75,
                    _ => return None,
                };
                (lowest < needs).then(|| {
                    let found = at(
                        "SRC011",
                        &file.path,
                        m.line,
                        format!("{} needs sm_{needs}, and sm_{lowest} is built too", m.name),
                        m.name.clone(),
                    )
                    .hint("guard it with #if __CUDA_ARCH__ >= …");
                    // A file may be compiled by another script, or at run time for the GPU that is there.
                    let why = "which files the list is for was not read from the build";
                    as_info(found.sure(Certainty::Hint, why))
                })
            })
            .take(1)
            .collect()
    })
}

fn narrow_index(facts: &ProjectFacts) -> Judgement {
    mentions(
        facts,
        "SRC012",
        true,
        &["int numel"],
        |_| "a size from numel() is kept in 32 bits".into(),
        "use int64_t",
        true,
    )
}

fn barrier_after_return(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        if is_test(&file.path) {
            return Vec::new();
        }
        file.functions
            .iter()
            .filter_map(|f| {
                let line = f.barrier_after_return?;
                // Whether the condition differs inside a block is a guess without values: information.
                Some(as_info(at("SRC013", &file.path, line, format!("threads of {} leave before a __syncthreads: their part of the shared memory is never written", f.name), "conditional return before a barrier").hint("keep every thread until the last barrier, and guard the work instead")))
            })
            .collect()
    })
}

fn long_file(facts: &ProjectFacts) -> Judgement {
    each(facts, |file| {
        if file.lines <= 3000 || is_test(&file.path) {
            return Vec::new();
        }
        vec![as_info(
            at(
                "SRC014",
                &file.path,
                1,
                format!("{} lines in one file", file.lines),
                format!("{} lines", file.lines),
            )
            .hint("split it by kernel"),
        )]
    })
}
