//! A CUDA function: its header, and what its body launches, calls, guards and waits for.

use std::collections::{BTreeMap, BTreeSet};

use super::cuda_api::{asks_last_error, is_success, waits};
use super::cuda_lexer::{Token, TokenKind};

/// A function definition; tokens `body` of the file are its body.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) is_kernel: bool,
    pub(crate) is_device: bool,
    /// Names that appear in the parameter list.
    pub(crate) takes_tensor: bool,
    /// Whether its first parameter is a library's status, or may be one: a template's.
    pub(crate) takes_status: bool,
    /// Whether the body compares with a success constant.
    pub(crate) compares_status: bool,
    /// What it calls, with the position of the last call among the file's tokens.
    pub(crate) calls: BTreeMap<String, usize>,
    /// The last position where the status of a call that waits is read.
    pub(crate) last_wait: Option<usize>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) data_pointers: Vec<u32>,
    pub(crate) checks_layout: bool,
    pub(crate) guards_device: bool,
    pub(crate) barrier_after_return: Option<u32>,
}

/// A `<<<…>>>`.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) line: u32,
    pub(crate) kernel: String,
    pub(crate) stream: Option<String>,
    /// Its place among the file's tokens.
    pub(crate) position: usize,
    /// The line of the statement's end, where another statement can follow on the next line.
    pub(crate) end_line: Option<u32>,
}

/// A function's header: everything since the last `;`, `{` or `}` outside of functions.
pub(super) fn function_header(header: &[Token<'_>]) -> Option<Function> {
    let has = |word: &str| header.iter().any(|t| t.text == word);
    let mut at = 0;
    while at < header.len() {
        if header[at].text == "template" {
            // Skip `<…>`: it may hold parentheses.
            let mut depth = 0i32;
            at += 1;
            while at < header.len() {
                match header[at].text {
                    "<" => depth += 1,
                    ">" => depth -= 1,
                    ">>>" => depth -= 3,
                    _ => {}
                }
                at += 1;
                if depth <= 0 {
                    break;
                }
            }
            continue;
        }
        if header[at].text == "=" {
            return None;
        }
        if header[at].text == "(" {
            let name = header.get(at.checked_sub(1)?)?;
            let attribute = matches!(
                name.text,
                "__launch_bounds__" | "__attribute__" | "alignas" | "__align__" | "decltype"
            );
            if attribute || name.kind != TokenKind::Word {
                let mut depth = 0i32;
                while at < header.len() {
                    match header[at].text {
                        "(" => depth += 1,
                        ")" => depth -= 1,
                        _ => {}
                    }
                    at += 1;
                    if depth == 0 {
                        break;
                    }
                }
                continue;
            }
            if matches!(name.text, "if" | "for" | "while" | "switch") {
                return None;
            }
            let parameters = &header[at..];
            return Some(Function {
                name: name.text.to_owned(),
                line: name.line,
                is_kernel: has("__global__"),
                is_device: has("__device__"),
                takes_tensor: parameters
                    .iter()
                    .any(|t| matches!(t.text, "Tensor" | "TensorView" | "IntArrayRef")),
                takes_status: takes_status(parameters) || has("template"),
                compares_status: false,
                calls: BTreeMap::new(),
                last_wait: None,
                launches: Vec::new(),
                data_pointers: Vec::new(),
                checks_layout: false,
                guards_device: false,
                barrier_after_return: None,
            });
        }
        at += 1;
    }
    None
}

/// Whether the first parameter's type is a status.
fn takes_status(parameters: &[Token<'_>]) -> bool {
    parameters
        .iter()
        .skip(1)
        .take_while(|t| t.text != "," && t.text != ")")
        .any(|t| {
            matches!(
                t.text,
                "cudaError_t"
                    | "cudaError"
                    | "CUresult"
                    | "cublasStatus_t"
                    | "cudnnStatus_t"
                    | "cufftResult"
                    | "curandStatus_t"
                    | "cusolverStatus_t"
                    | "cusparseStatus_t"
                    | "ncclResult_t"
                    | "nvrtcResult"
                    | "T"
                    | "auto"
            )
        })
}

/// Reads a body whose first token is the file's token `offset`.
pub(super) fn read_body(
    function: &mut Function,
    body: &[Token<'_>],
    offset: usize,
    close_line: u32,
    is_dropped: impl Fn(usize) -> bool,
) {
    let mut early_return: Option<u32> = None;
    let by_thread = thread_variables(body);
    for (n, token) in body.iter().enumerate() {
        if token.kind == TokenKind::Word {
            let called = body
                .get(n + 1)
                .is_some_and(|t| t.text == "(" || t.text == "<")
                || is_bare_macro(body, n);
            if called {
                // A name is kept once: most calls of a body repeat.
                match function.calls.get_mut(token.text) {
                    Some(last) => *last = offset + n,
                    None => {
                        function.calls.insert(token.text.to_owned(), offset + n);
                    }
                }
                if waits(token.text) && !is_dropped(offset + n) {
                    function.last_wait = Some(offset + n);
                }
            } else if asks_last_error(token.text) {
                // Handed on by name.
                function.calls.insert(token.text.to_owned(), offset + n);
            }
            if is_success(token.text) {
                function.compares_status = true;
            }
            match token.text {
                "data_ptr" | "mutable_data_ptr" | "const_data_ptr" => {
                    function.data_pointers.push(token.line)
                }
                "is_contiguous"
                | "contiguous"
                | "expect_contiguous"
                | "PackedTensorAccessor32"
                | "packed_accessor32"
                | "packed_accessor64"
                | "generic_packed_accessor"
                | "PackedTensorAccessor64"
                | "is_non_overlapping_and_dense"
                | "strides"
                | "stride" => function.checks_layout = true,
                "CUDAGuard"
                | "OptionalCUDAGuard"
                | "DeviceGuard"
                | "OptionalDeviceGuard"
                | "MaybeSetDevice"
                | "cudaSetDevice"
                | "device_guard"
                | "CUDADeviceGuard" => {
                    function.guards_device = true;
                }
                "return" if function.is_kernel && early_return.is_none() => {
                    // `if (thread is out of range) return;`: some threads leave, others go on.
                    let from = n.saturating_sub(40);
                    let thread = body[from..n]
                        .iter()
                        .rev()
                        .take_while(|t| t.text != ";" && t.text != "}")
                        .any(|t| by_thread.contains(t.text));
                    let conditional = body[from..n]
                        .iter()
                        .rev()
                        .take_while(|t| t.text != ";" && t.text != "}")
                        .any(|t| t.text == "if");
                    if thread && conditional {
                        early_return = Some(token.line);
                    }
                }
                "__syncthreads" => {
                    if let Some(line) = early_return
                        && function.is_kernel
                        && function.barrier_after_return.is_none()
                    {
                        function.barrier_after_return = Some(line);
                    }
                }
                _ => {}
            }
        }
        if matches!(token.text, "<<<" | "<< <")
            && let Some(launch) = launch(body, n, offset, close_line)
        {
            function.launches.push(launch);
        }
    }
}

/// `CHECK_LAUNCH;`, or `CHECK_LAUNCH` alone on its line: a macro without arguments.
fn is_bare_macro(body: &[Token<'_>], n: usize) -> bool {
    let token = &body[n];
    let begins = n
        .checked_sub(1)
        .is_none_or(|before| matches!(body[before].text, ";" | "{" | "}"));
    let alone = body.get(n + 1).is_none_or(|t| t.line > token.line);
    let ends = body.get(n + 1).is_some_and(|t| t.text == ";");
    token.text.bytes().all(|b| !b.is_ascii_lowercase()) && (ends || begins && alone)
}

/// `threadIdx` and the variables that are made from it.
fn thread_variables<'t>(body: &[Token<'t>]) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::from(["threadIdx"]);
    for (n, token) in body.iter().enumerate().skip(1) {
        if token.text == "=" && body[n - 1].kind == TokenKind::Word {
            let value = body[n + 1..].iter().take(24).take_while(|t| t.text != ";");
            if value.clone().any(|t| names.contains(t.text)) {
                names.insert(body[n - 1].text);
            }
        }
    }
    names
}

fn launch(body: &[Token<'_>], n: usize, offset: usize, close_line: u32) -> Option<Launch> {
    let mut depth = 0i32;
    let mut parts: Vec<String> = vec![String::new()];
    let mut end = None;
    for (at, token) in body.iter().enumerate().skip(n + 1).take(300) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ">>>" if depth <= 0 => {
                end = Some(at);
                break;
            }
            "," if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            ";" => return None,
            _ => {}
        }
        parts.last_mut()?.push_str(token.text);
    }
    let end = end?;
    // The kernel's name, before its template arguments.
    let mut name = n.checked_sub(1)?;
    if body[name].text == ">" {
        let mut angle = 0i32;
        while name > 0 {
            match body[name].text {
                ">" => angle += 1,
                "<" => angle -= 1,
                _ => {}
            }
            name -= 1;
            if angle == 0 {
                break;
            }
        }
    }
    Some(Launch {
        line: body[n].line,
        kernel: body[name].text.to_owned(),
        stream: parts.get(3).cloned(),
        position: offset + n,
        end_line: statement_end(body, end, close_line),
    })
}

/// The line of the `;` behind `>>>(…)`, where the next line can hold another statement.
fn statement_end(body: &[Token<'_>], chevrons: usize, close_line: u32) -> Option<u32> {
    let mut depth = 0i32;
    for (at, token) in body.iter().enumerate().skip(chevrons + 1).take(2000) {
        match token.text {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth -= 1,
            ";" if depth == 0 => {
                let free = match body.get(at + 1) {
                    Some(next) => next.line > token.line && next.text != "else",
                    None => close_line > token.line,
                };
                return free.then_some(token.line);
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}
