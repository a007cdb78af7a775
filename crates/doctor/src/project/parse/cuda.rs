//! What a CUDA file does, function by function: launches, calls whose status is dropped, checks,
//! guards, barriers.

use std::collections::BTreeSet;

use super::cuda_lexer::{Lexed, Token, TokenKind, lex};

/// A function definition; tokens `body` of the file are its body.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) is_kernel: bool,
    pub(crate) is_device: bool,
    /// Names that appear in the parameter list.
    pub(crate) takes_tensor: bool,
    pub(crate) calls: BTreeSet<String>,
    /// Words in the body, for questions by name.
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
    /// Whether the rest of the function asks for the error.
    pub(crate) checked: bool,
}

/// A call whose status is thrown away.
#[derive(Clone, Debug)]
pub(crate) struct DroppedStatus {
    pub(crate) line: u32,
    pub(crate) call: String,
}

/// A name that stands in the file, with its line.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    pub(crate) line: u32,
    pub(crate) name: String,
}

/// A CUDA source or header.
#[derive(Clone, Debug, Default)]
pub(crate) struct CudaFile {
    pub(crate) path: String,
    pub(crate) lines: usize,
    pub(crate) includes: Vec<Mention>,
    pub(crate) macros: Vec<(String, String)>,
    pub(crate) functions: Vec<Function>,
    pub(crate) dropped: Vec<DroppedStatus>,
    /// Words that rules look for.
    pub(crate) mentions: Vec<Mention>,
    pub(crate) uses_torch: bool,
    /// Whether the file looks at __CUDA_ARCH__.
    pub(crate) asks_architecture: bool,
}

/// Calls that return nothing or that report by themselves.
const NOT_A_STATUS: [&str; 10] = [
    "cudaGridDependencySynchronize",
    "cudaTriggerProgrammaticLaunchCompletion",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaGetErrorString",
    "cudaGetErrorName",
    "cudaCreateChannelDesc",
    "cudaGetParameterBuffer",
    "cudaGetParameterBufferV2",
    "cudaDeviceSynchronizeDeprecationAvoidance",
];

/// Whether a name is a host function that returns a status.
pub(crate) fn returns_status(name: &str) -> bool {
    let after = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    if NOT_A_STATUS.contains(&name) || name.ends_with("_t") || name.ends_with("GetErrorString") {
        return false;
    }
    [
        "cuda", "cublas", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nccl", "nvrtc",
    ]
    .iter()
    .any(|p| after(p))
        || [
            "cuMem",
            "cuModule",
            "cuCtx",
            "cuLaunch",
            "cuStream",
            "cuEvent",
            "cuDevice",
            "cuFunc",
            "cuGraph",
            "cuInit",
            "cuLink",
            "cuTensorMap",
        ]
        .iter()
        .any(|p| name.starts_with(p))
}

/// Calls that end something: their status is often lost on purpose.
pub(crate) fn is_cleanup(name: &str) -> bool {
    [
        "Destroy",
        "Free",
        "Unload",
        "Unregister",
        "Unmap",
        "Deregister",
        "Finalize",
        "Abort",
        "Reset",
    ]
    .iter()
    .any(|w| name.contains(w))
}

/// Calls that only ask or hint: a lost failure shows at once, or costs speed, not correctness.
pub(crate) fn is_query(name: &str) -> bool {
    name.contains("Get")
        || name.contains("FuncSetAttribute")
        || name.contains("FuncSetCache")
        || name.contains("Occupancy")
        || name.contains("Query")
        || name.contains("Version")
}

/// Words that mean that an error is asked for.
pub(crate) fn is_check(word: &str) -> bool {
    if matches!(
        word,
        "cudaGetLastError" | "cudaPeekAtLastError" | "hipGetLastError"
    ) {
        return true;
    }
    let upper = word.to_ascii_uppercase();
    let asks = upper.contains("CHECK")
        || upper.contains("ASSERT")
        || upper.contains("TRY")
        || upper.contains("SAFE")
        || upper.contains("CALL");
    asks && ["CUDA", "LAUNCH", "KERNEL", "ERROR", "LAST", "GPU", "CU_"].iter().any(|w| upper.contains(w))
        // `CHECK_CUDA(tensor)` asks where a tensor lies, not whether something failed; it is learnt
        // from its definition.
        && upper != "CHECK_CUDA"
}

impl CudaFile {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let lexed = lex(text);
        let includes: Vec<_> = lexed
            .directives
            .iter()
            .filter(|d| d.name == "include")
            .map(|d| Mention {
                line: d.line,
                name: d.body.clone(),
            })
            .collect();
        let uses_torch = includes.iter().any(|i| {
            i.name.starts_with("torch/")
                || i.name.starts_with("ATen/")
                || i.name.starts_with("c10/")
        });
        let mut file = Self {
            path: path.to_owned(),
            lines: text.lines().count(),
            macros: lexed
                .directives
                .iter()
                .filter(|d| d.name != "include")
                .map(|d| (d.name.to_owned(), d.body.clone()))
                .collect(),
            includes,
            uses_torch,
            asks_architecture: text.contains("__CUDA_ARCH__"),
            ..Self::default()
        };
        file.read(&lexed);
        file
    }

    fn read(&mut self, lexed: &Lexed<'_>) {
        let tokens = &lexed.tokens;
        // Per open brace: whether it is a function's body, and which function.
        enum Scope {
            Outer,
            Function(usize),
            Block,
        }
        let mut scopes: Vec<Scope> = Vec::new();
        let mut statement = 0usize;
        let mut starts: Vec<(usize, usize)> = Vec::new();
        for (n, token) in tokens.iter().enumerate() {
            let inside = scopes.iter().any(|s| matches!(s, Scope::Function(_)));
            match token.text {
                "{" => {
                    let header = &tokens[statement..n];
                    if inside {
                        scopes.push(Scope::Block);
                    } else if let Some(function) = function_header(header) {
                        starts.push((self.functions.len(), n));
                        self.functions.push(function);
                        scopes.push(Scope::Function(self.functions.len() - 1));
                    } else {
                        scopes.push(Scope::Outer);
                    }
                    statement = n + 1;
                }
                "}" => {
                    if let Some(Scope::Function(index)) = scopes.pop()
                        && let Some((_, from)) = starts.iter().find(|(i, _)| *i == index)
                    {
                        let body = &tokens[from + 1..n];
                        read_body(&mut self.functions[index], body);
                    }
                    statement = n + 1;
                }
                ";" => statement = n + 1,
                _ => {}
            }
            if token.kind == TokenKind::Word {
                if let Some(dropped) = dropped_status(tokens, n) {
                    self.dropped.push(dropped);
                }
                if WATCHED.contains(&token.text) && self.mentions.len() < 10_000 {
                    self.mentions.push(Mention {
                        line: token.line,
                        name: token.text.to_owned(),
                    });
                }
                if token.text == "cudaSetDevice" && tokens.get(n + 2).is_some_and(|t| t.text == "0")
                {
                    self.mentions.push(Mention {
                        line: token.line,
                        name: "cudaSetDevice(0)".to_owned(),
                    });
                }
                if token.text == "int"
                    && tokens.get(n + 2).is_some_and(|t| t.text == "=")
                    && tokens[n..]
                        .iter()
                        .take(8)
                        .take_while(|t| t.text != ";")
                        .any(|t| t.text == "numel")
                {
                    self.mentions.push(Mention {
                        line: token.line,
                        name: "int numel".to_owned(),
                    });
                }
            } else if token.kind == TokenKind::Text {
                for ptx in [
                    "wgmma.",
                    "cp.async.bulk",
                    "cp.async",
                    "ldmatrix",
                    "mma.sync",
                    "tcgen05.",
                ] {
                    if token.text.contains(ptx) {
                        self.mentions.push(Mention {
                            line: token.line,
                            name: format!("ptx {ptx}"),
                        });
                        break;
                    }
                }
            }
        }
    }
}

/// Names that rules ask about.
const WATCHED: [&str; 38] = [
    "__shfl",
    "__shfl_up",
    "__shfl_down",
    "__shfl_xor",
    "__ballot",
    "__any",
    "__all",
    "cudaThreadSynchronize",
    "cudaThreadExit",
    "cudaBindTexture",
    "cudaUnbindTexture",
    "cudaBindTextureToArray",
    "cudaMemcpyToArray",
    "cudaMemcpyFromArray",
    "cudaMemcpyArrayToArray",
    "cudaLaunch",
    "cudaSetupArgument",
    "cudaConfigureCall",
    "cudaDeviceSynchronize",
    "cudaMalloc",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cublasCreate",
    "cublasCreate_v2",
    "cudnnCreate",
    "cusparseCreate",
    "AT_CHECK",
    "AT_ASSERTM",
    "AT_ERROR",
    "AT_DISPATCH_FLOATING_TYPES",
    "AT_DISPATCH_ALL_TYPES",
    "PYBIND11_MODULE",
    "TORCH_LIBRARY",
    "__trap",
    "cudaFuncSetCacheConfig",
    "tex1Dfetch",
    "tex2D",
    "THCState",
];

/// `name(…);` as a whole statement.
fn dropped_status(tokens: &[Token<'_>], n: usize) -> Option<DroppedStatus> {
    let name = tokens[n].text;
    if !returns_status(name) {
        return None;
    }
    // `::cudaFree(…)` starts one token earlier.
    let first = if n > 0 && tokens[n - 1].text == "::" {
        n - 1
    } else {
        n
    };
    let starts = first == 0
        || matches!(tokens[first - 1].text, ";" | "{" | "}" | "else" | "do")
        || (tokens[first - 1].text == ")" && follows_condition(tokens, first - 1))
        || (tokens[first - 1].text == ":"
            && first >= 2
            && matches!(tokens[first - 2].text, "default" | "public" | "private"))
        || (first >= 3 && tokens[first - 1].text == ":" && tokens[first - 3].text == "case");
    if !starts {
        return None;
    }
    let mut at = n + 1;
    // Template arguments: `cudaMalloc<float>(…)`.
    if tokens.get(at)?.text == "<" {
        let mut depth = 0i32;
        while at < tokens.len() && at < n + 60 {
            match tokens[at].text {
                "<" => depth += 1,
                ">" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
    if tokens.get(at)?.text != "(" {
        return None;
    }
    let close = matching(tokens, at)?;
    (tokens.get(close + 1)?.text == ";").then(|| DroppedStatus {
        line: tokens[n].line,
        call: name.to_owned(),
    })
}

/// Whether the `)` at `n` closes an `if (…)`, `for (…)` or `while (…)`.
fn follows_condition(tokens: &[Token<'_>], n: usize) -> bool {
    let mut depth = 0i32;
    for at in (n.saturating_sub(400)..=n).rev() {
        match tokens[at].text {
            ")" => depth += 1,
            "(" => {
                depth -= 1;
                if depth == 0 {
                    let before = at.checked_sub(1).map(|b| tokens[b].text);
                    return matches!(
                        before,
                        Some("if" | "for" | "while" | "constexpr" | "switch")
                    );
                }
            }
            _ => {}
        }
    }
    false
}

fn matching(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, token) in tokens.iter().enumerate().skip(open).take(4000) {
        match token.text {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// A function's header: everything since the last `;`, `{` or `}` outside of functions.
fn function_header(header: &[Token<'_>]) -> Option<Function> {
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
                calls: BTreeSet::new(),
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

fn read_body(function: &mut Function, body: &[Token<'_>]) {
    let mut last_check = None;
    let mut early_return: Option<u32> = None;
    let by_thread = thread_variables(body);
    for (n, token) in body.iter().enumerate() {
        if token.kind == TokenKind::Word {
            let called = body
                .get(n + 1)
                .is_some_and(|t| t.text == "(" || t.text == "<");
            if called {
                function.calls.insert(token.text.to_owned());
            }
            if is_check(token.text) {
                last_check = Some(n);
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
                | "packed_accessor64" => function.checks_layout = true,
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
                word if word.starts_with("CHECK_")
                    || word.contains("CHECK_INPUT")
                    || word.contains("CONTIGUOUS") =>
                {
                    function.checks_layout = true
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
            && let Some(launch) = launch(body, n)
        {
            function.launches.push(launch);
        }
    }
    // A check anywhere behind the launch asks for its error too.
    let mut launches_seen = 0usize;
    for (n, token) in body.iter().enumerate() {
        if matches!(token.text, "<<<" | "<< <")
            && launches_seen < function.launches.len()
            && function.launches[launches_seen].line == token.line
        {
            function.launches[launches_seen].checked = last_check.is_some_and(|check| check > n);
            launches_seen += 1;
        }
    }
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

fn launch(body: &[Token<'_>], n: usize) -> Option<Launch> {
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
    end?;
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
        checked: false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dropped_statuses_are_whole_statements_only() {
        let file = CudaFile::parse(
            "a.cu",
            "void f(float* p) {\n  cudaMemcpy(p, p, 4, k);\n  CHECK(cudaFree(p));\n  auto e = cudaMalloc(&p, 4);\n  if (p) cudaFree(p);\n  \
             cudaGridDependencySynchronize();\n  return cudaFree(p);\n  (void)cudaFree(p);\n  ::cudaDeviceSynchronize();\n  cudaMalloc<float>(&p, 4);\n}\n",
        );
        let found: Vec<_> = file
            .dropped
            .iter()
            .map(|d| (d.line, d.call.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "cudaMemcpy"),
                (5, "cudaFree"),
                (9, "cudaDeviceSynchronize"),
                (10, "cudaMalloc")
            ]
        );
    }

    #[test]
    fn launches_are_found_in_their_function_with_their_stream_and_check() {
        let file = CudaFile::parse(
            "a.cu",
            "template <typename T, int N = (3 > 2)>\n__global__ void __launch_bounds__(256) k(T* x) { if (threadIdx.x > 3) return; __syncthreads(); }\n\
             namespace n {\nvoid host(at::Tensor x) {\n  const at::cuda::OptionalCUDAGuard guard(x.device());\n  k<float, 2><<<dim3(1, 2), 256, 0, stream>>>(x.data_ptr<float>());\n  AT_CUDA_CHECK(cudaGetLastError());\n  k<float><<<1, 2>>>(p);\n}\n}\n",
        );
        let [kernel, host] = file.functions.as_slice() else {
            panic!("{:?}", file.functions)
        };
        assert!(kernel.is_kernel && kernel.name == "k" && kernel.barrier_after_return.is_some());
        assert!(host.takes_tensor && host.guards_device && host.name == "host");
        let found: Vec<_> = host
            .launches
            .iter()
            .map(|l| (l.kernel.as_str(), l.stream.as_deref(), l.checked))
            .collect();
        assert_eq!(found, [("k", Some("stream"), true), ("k", None, false)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(
            text in "(void f\\(\\) |\\{|\\}|\\(|\\)|<<<|>>>|<|>|;|,|cudaFree|template|if|return|\n|[a-z]|#if X\n|#endif\n|\\PC){0,80}"
        ) {
            let _ = CudaFile::parse("a.cu", &text);
        }
    }
}
