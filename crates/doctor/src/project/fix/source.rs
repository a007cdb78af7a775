//! Fixing CUDA sources.

use warpsmith_core::Finding;

use super::edits::Edits;
use super::{Fixer, place};
use crate::project::facts::ProjectFacts;
use crate::project::parse::cuda_api::api;

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
        edits.change(file, line, |l| replace_word(l, &old, "TORCH_CHECK"));
    }
}

/// Wraps a call that stands on one line in a checker that the same file uses for such calls.
fn wrap(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let call = seen(finding);
    let is_runtime = api(&call).is_some_and(|function| function.library == "cudart");
    let Some(source) = facts.cuda_file(file).filter(|_| is_runtime) else {
        return;
    };
    // A macro's body is its author's: the checker may be that macro.
    if !source
        .dropped
        .iter()
        .any(|d| d.line == line && d.function.is_some())
    {
        return;
    }
    let names = facts.names();
    let Some(name) = source
        .wrappers
        .iter()
        .map(|w| w.name.clone())
        .find(|name| names.wraps_status(name) && names.is_visible(name, file, line))
    else {
        return;
    };
    edits.change(file, line, |l| {
        let body = l.trim();
        let whole = body
            .strip_prefix(call.as_str())
            .is_some_and(|rest| rest.starts_with('(') && closes_at_end(rest.trim_end_matches(';')));
        if !whole || !body.ends_with(");") {
            return l.to_owned();
        }
        let indent = &l[..l.len() - l.trim_start().len()];
        format!("{indent}{name}({});", body.trim_end_matches(';'))
    });
}

/// Whether the parenthesis that a text starts with closes with its last character, and not before.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '"' | '\'' => return false,
            _ => {}
        }
        if depth == 0 {
            return at + c.len_utf8() == text.len();
        }
    }
    false
}

fn launch_check(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let Some(source) = facts.cuda_file(file) else {
        return;
    };
    let Some(beside) = &source.torch_header else {
        return;
    };
    let launch = source
        .functions
        .iter()
        .flat_map(|f| &f.launches)
        .find(|launch| launch.line == line);
    let Some(end) = launch.and_then(|launch| launch.end_line) else {
        return;
    };
    // A line that is continued belongs to a macro, where the next line may be anything.
    let continued = (line..=end).any(|n| {
        edits
            .line(file, n)
            .is_none_or(|l| l.trim_end().ends_with('\\'))
    });
    let Some(first) = edits.line(file, line).filter(|_| !continued) else {
        return;
    };
    let indent = first[..first.len() - first.trim_start().len()].to_owned();
    edits.insert_before(
        file,
        end + 1,
        &format!("{indent}C10_CUDA_KERNEL_LAUNCH_CHECK();"),
    );
    edits.include(file, "c10/cuda/CUDAException.h", beside);
}

fn current_stream(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let Some(beside) = torch_header(facts, file) else {
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
    edits.include(file, "ATen/cuda/CUDAContext.h", beside);
}

/// A header of torch that the file always includes: without one, torch's names break other builds of it.
fn torch_header<'f>(facts: &'f ProjectFacts, file: &str) -> Option<&'f str> {
    facts.cuda_file(file)?.torch_header.as_deref()
}

fn guard(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let Some(beside) = torch_header(facts, file) else {
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
    let name = header.match_indices("Tensor").find_map(|(at, word)| {
        let rest = &header[at + word.len()..];
        // `TensorList`, `MyTensor` and `vector<Tensor>` are something else.
        let part = |c: char| c.is_alphanumeric() || c == '_';
        if !rest.starts_with(['&', ' ']) || header[..at].ends_with(part) {
            return None;
        }
        let rest = rest.trim_start_matches(['&', ' ']);
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
        // What `(` follows is the function: its result is a tensor.
        let ends = rest[end..].trim_start().starts_with([',', ')', '=']);
        (end > 0 && ends).then(|| rest[..end].to_owned())
    });
    if let Some(name) = name {
        edits.insert_before(
            file,
            open + 1,
            &format!("    const at::cuda::OptionalCUDAGuard device_guard(at::device_of({name}));"),
        );
        edits.include(file, "c10/cuda/CUDAGuard.h", beside);
    }
}

fn warp_sync(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let name = seen(finding);
    let Some((file, line)) = place(finding) else {
        return;
    };
    // AMD's wavefronts have 64 lanes: a mask of 32 bits is wrong in a file that both compile.
    if facts
        .cuda_file(file)
        .is_none_or(|f| f.mentions_other_platform)
    {
        return;
    }
    edits.change(file, line, |l| {
        replace_word(l, &format!("{name}("), &format!("{name}_sync(0xffffffff, "))
    });
}

/// Replaces `old` where no letter, digit or `_` stands before it, or behind it where it ends in one.
fn replace_word(line: &str, old: &str, new: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(line.len() + new.len());
    let mut from = 0;
    for (at, _) in line.match_indices(old) {
        let behind = &line[at + old.len()..];
        let inside =
            line[..at].ends_with(part) || (old.ends_with(part) && behind.starts_with(part));
        if !inside {
            text += &line[from..at];
            text += new;
            from = at + old.len();
        }
    }
    text + &line[from..]
}

fn renamed_api(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let new = match seen(finding).as_str() {
        "cudaThreadSynchronize" => "cudaDeviceSynchronize",
        "cudaThreadExit" => "cudaDeviceReset",
        _ => return,
    };
    if let Some((file, line)) = place(finding) {
        edits.change(file, line, |l| replace_word(l, &seen(finding), new));
    }
}

fn wide_index(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, line)) = place(finding) {
        edits.change(file, line, |l| {
            if l.contains("unsigned") || l.contains("for (") || l.contains("for(") {
                return l.to_owned();
            }
            replace_word(l, "int ", "int64_t ")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_whole() {
        assert_eq!(
            replace_word("print x; int y", "int ", "long "),
            "print x; long y"
        );
        assert_eq!(
            replace_word("my__shfl(x) + __shfl(y)", "__shfl(", "s("),
            "my__shfl(x) + s(y)"
        );
        assert_eq!(
            replace_word("AT_CHECKED AT_CHECK(", "AT_CHECK", "T"),
            "AT_CHECKED T("
        );
    }

    #[test]
    fn only_one_whole_call_is_wrapped() {
        assert!(closes_at_end("(a, (b), c)"));
        assert!(!closes_at_end("(a); f(b)") && !closes_at_end("(a) + (b)"));
    }
}
