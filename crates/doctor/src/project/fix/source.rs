//! Mending CUDA sources.

use warpsmith_core::Finding;

use super::edits::Edits;
use super::{Fixer, place};
use crate::project::facts::ProjectFacts;

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("BLD010", renamed_macro),
    ("SRC001", wrap),
    ("SRC002", launch_check),
    ("SRC003", current_stream),
    ("SRC004", guard),
    ("SRC007", warp_sync),
    ("SRC008", renamed_api),
    ("SRC012", wide_index),
];

fn seen(finding: &Finding) -> String {
    finding
        .evidence
        .first()
        .map_or(String::new(), |e| e.seen.clone())
}

fn renamed_macro(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let old = seen(finding);
    if let Some((file, line)) = place(finding).filter(|_| old.starts_with("AT_")) {
        edits.change(file, line, |l| l.replace(&old, "TORCH_CHECK"));
    }
}

/// Wraps a call that stands on one line in a macro that the same file uses already.
fn wrap(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let call = seen(finding);
    if !call.starts_with("cuda") {
        return;
    }
    let own = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .flat_map(|f| &f.macros)
        .filter(|(_, body)| {
            body.contains("cudaSuccess")
                && body.starts_with('(')
                && !body.split(')').next().unwrap_or("").contains(',')
        })
        .map(|(name, _)| name.clone())
        .find(|name| edits.contains(file, &format!("{name}(")));
    let Some(name) = own else {
        return;
    };
    edits.change(file, line, |l| {
        let body = l.trim();
        if !body.starts_with(&call) || !body.ends_with(");") {
            return l.to_owned();
        }
        let indent = &l[..l.len() - l.trim_start().len()];
        format!("{indent}{name}({});", body.trim_end_matches(';'))
    });
}

fn launch_check(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let torch = facts.cuda.iter().any(|f| f.path == file && f.uses_torch);
    if !torch {
        return;
    }
    let Some(end) = edits.find(file, line, |l| l.trim_end().ends_with(");")) else {
        return;
    };
    // A launch inside a macro or lambda ends elsewhere; then nothing is inserted.
    let continued = (line..=end).any(|n| {
        edits
            .line(file, n)
            .is_none_or(|l| l.trim_end().ends_with('\\') || l.contains("});"))
    });
    if continued || end > line + 12 {
        return;
    }
    let Some(first) = edits.line(file, line) else {
        return;
    };
    let indent = first[..first.len() - first.trim_start().len()].to_owned();
    edits.insert_before(
        file,
        end + 1,
        &format!("{indent}C10_CUDA_KERNEL_LAUNCH_CHECK();"),
    );
    edits.include(file, "c10/cuda/CUDAException.h");
}

fn current_stream(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let Some(text) = edits.line(file, line) else {
        return;
    };
    let (Some(open), Some(close)) = (text.find("<<<"), text.find(">>>")) else {
        return;
    };
    let inside = &text[open + 3..close];
    let mut depth = 0;
    let commas: Vec<usize> = inside
        .char_indices()
        .filter_map(|(n, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => return Some(n),
                _ => {}
            }
            None
        })
        .collect();
    const STREAM: &str = "at::cuda::getCurrentCUDAStream()";
    let config = match commas.len() {
        1 => format!("{inside}, 0, {STREAM}"),
        2 => format!("{inside}, {STREAM}"),
        3 => format!("{}, {STREAM}", &inside[..commas[2]]),
        _ => return,
    };
    edits.change(file, line, |l| {
        format!("{}{config}{}", &l[..open + 3], &l[close..])
    });
    edits.include(file, "ATen/cuda/CUDAContext.h");
}

fn guard(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let Some(open) = edits.find(file, line, |l| l.trim_end().ends_with('{')) else {
        return;
    };
    if open > line + 20 {
        return;
    }
    // The first tensor among the parameters.
    let header: String = (line..=open)
        .filter_map(|n| edits.line(file, n))
        .collect::<Vec<_>>()
        .join(" ");
    let name = header.split("Tensor").skip(1).find_map(|rest| {
        let rest = rest.trim_start_matches(['&', ' ', '*']);
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
        (end > 0 && !rest.starts_with("const ")).then(|| rest[..end].to_owned())
    });
    if let Some(name) = name {
        edits.insert_before(
            file,
            open + 1,
            &format!("    const at::cuda::OptionalCUDAGuard device_guard(at::device_of({name}));"),
        );
        edits.include(file, "c10/cuda/CUDAGuard.h");
    }
}

fn warp_sync(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let name = seen(finding);
    if let Some((file, line)) = place(finding) {
        edits.change(file, line, |l| {
            l.replace(&format!("{name}("), &format!("{name}_sync(0xffffffff, "))
        });
    }
}

fn renamed_api(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let new = match seen(finding).as_str() {
        "cudaThreadSynchronize" => "cudaDeviceSynchronize",
        "cudaThreadExit" => "cudaDeviceReset",
        _ => return,
    };
    if let Some((file, line)) = place(finding) {
        edits.change(file, line, |l| l.replace(&seen(finding), new));
    }
}

fn wide_index(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, line)) = place(finding) {
        edits.change(file, line, |l| {
            let Some(at) = l.find("int ") else {
                return l.to_owned();
            };
            format!("{}int64_t {}", &l[..at], &l[at + 4..])
        });
    }
}
