//! What a CUDA file does, function by function: launches, calls whose status is dropped, checks,
//! guards, barriers.

use std::sync::Arc;

use super::condition::names_other_platform;
use super::cuda_api::{api, returns_status};
use super::cuda_function::{Function, function_header, read_body};
use super::cuda_lexer::{Define, Lexed, Token, TokenKind, lex};
use super::jinja;

/// A call whose status is thrown away.
#[derive(Clone, Debug)]
pub(crate) struct DroppedStatus {
    pub(crate) line: u32,
    pub(crate) call: String,
    /// Its place among the file's tokens.
    pub(crate) position: usize,
    /// The function that it stands in, of [`CudaFile::functions`]; none in a macro's body.
    pub(crate) function: Option<usize>,
}

/// A macro of the project.
#[derive(Clone, Debug)]
pub(crate) struct Macro {
    pub(crate) name: String,
    pub(crate) line: u32,
    /// `None` where it is used without parentheses.
    pub(crate) parameters: Option<Vec<String>>,
    /// The words of its body, each once, in order.
    pub(crate) words: Vec<String>,
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
    pub(crate) macros: Vec<Arc<Macro>>,
    pub(crate) functions: Vec<Function>,
    pub(crate) dropped: Vec<DroppedStatus>,
    /// Names that enclose a call of the CUDA runtime: `CHECK(cudaMalloc(…))`.
    pub(crate) wrappers: Vec<Mention>,
    /// Hashes of words that are returned, assigned or passed on: functions among them may be called
    /// from anywhere. Sorted, each once.
    pub(crate) values: Vec<u32>,
    /// Functions that the newest headers declare no more.
    pub(crate) removed: Vec<Mention>,
    /// Whether the file is for another platform: by its path, or by what it includes and calls.
    pub(crate) foreign: bool,
    /// Whether the text names another platform anywhere, as in a condition.
    pub(crate) mentions_other_platform: bool,
    /// Words that rules look for.
    pub(crate) mentions: Vec<Mention>,
    pub(crate) uses_torch: bool,
    /// A header of torch that every build of the file includes.
    pub(crate) torch_header: Option<String>,
    /// Whether the file looks at __CUDA_ARCH__.
    pub(crate) asks_architecture: bool,
}

impl CudaFile {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let shown = jinja::without_other_platforms(text);
        let text = shown.as_ref();
        let lexed = lex(text);
        let includes: Vec<_> = lexed
            .includes
            .iter()
            .map(|include| Mention {
                line: include.line,
                name: include.path.clone(),
            })
            .collect();
        let starts = |prefixes: &[&str]| {
            includes
                .iter()
                .any(|i| prefixes.iter().any(|p| i.name.starts_with(p)))
        };
        const TORCH: [&str; 3] = ["torch/", "ATen/", "c10/"];
        let uses_torch = starts(&TORCH);
        let torch_header = lexed
            .includes
            .iter()
            .find(|i| !i.conditional && TORCH.iter().any(|p| i.path.starts_with(p)))
            .map(|include| include.path.clone());
        // Of a project that is for HIP alone, or of a branch that no condition guards.
        let includes_hip = starts(&["hip/", "rocm", "hipcub/", "musa"]);
        let calls_amd = || memchr::memmem::find(text.as_bytes(), b"__builtin_amdgcn_").is_some();
        let mut file = Self {
            path: path.to_owned(),
            lines: text.lines().count(),
            foreign: names_other_platform(path)
                || includes_hip
                || (calls_amd()
                    && lexed
                        .tokens
                        .iter()
                        .any(|t| t.text.starts_with("__builtin_amdgcn_"))),
            mentions_other_platform: ["ROCM", "HIP", "MUSA", "amdgcn"]
                .iter()
                .any(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()),
            includes,
            uses_torch,
            torch_header,
            asks_architecture: text.contains("__CUDA_ARCH__"),
            ..Self::default()
        };
        file.read(&lexed);
        file.values.sort_unstable();
        file.values.dedup();
        for define in &lexed.defines {
            file.read_macro(define);
        }
        file
    }

    /// A macro's words, and what its body drops: judged once, where it is defined.
    fn read_macro(&mut self, define: &Define<'_>) {
        // Continued lines are code here, and no line's end.
        let body = define.body.replace("\\\r\n", " \n").replace("\\\n", " \n");
        let lexed = lex(&body);
        let mut words: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for token in lexed.tokens.iter().filter(|t| t.kind == TokenKind::Word) {
            if seen.insert(token.text) {
                words.push(token.text.to_owned());
            }
        }
        for n in 0..lexed.tokens.len() {
            if let Some(call) = dropped_status(&lexed.tokens, n) {
                self.dropped.push(DroppedStatus {
                    line: define.line + lexed.tokens[n].line - 1,
                    call: call.to_owned(),
                    position: n,
                    function: None,
                });
            }
        }
        self.macros.push(Arc::new(Macro {
            name: define.name.to_owned(),
            line: define.line,
            parameters: define
                .parameters
                .as_ref()
                .map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            words,
        }));
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
                        let dropped = &self.dropped;
                        read_body(
                            &mut self.functions[index],
                            body,
                            from + 1,
                            token.line,
                            |at| dropped.binary_search_by_key(&at, |d| d.position).is_ok(),
                        );
                    }
                    statement = n + 1;
                }
                ";" => statement = n + 1,
                _ => {}
            }
            if token.kind == TokenKind::Word {
                if let Some(call) = dropped_status(tokens, n) {
                    let function = scopes.iter().rev().find_map(|scope| match scope {
                        Scope::Function(index) => Some(*index),
                        _ => None,
                    });
                    // Without a function around it the call is a declaration, or a macro's argument.
                    if function.is_some() {
                        self.dropped.push(DroppedStatus {
                            line: token.line,
                            call: call.to_owned(),
                            position: n,
                            function,
                        });
                    }
                }
                self.read_api_name(tokens, n);
                let before = n.checked_sub(1).map_or("", |b| tokens[b].text);
                let behind = tokens.get(n + 1).map_or("", |t| t.text);
                if inside
                    && matches!(before, "return" | "=" | "&" | "," | "(" | "?" | ":" | "{")
                    && matches!(behind, ";" | "," | ")" | "<" | "}" | ":")
                {
                    self.values.push(word_hash(token.text));
                }
                if (WITHOUT_MASK.contains(&token.text) || WATCHED.contains(&token.text))
                    && self.mentions.len() < 10_000
                    && (!token.text.starts_with("__") || is_call(tokens, n))
                {
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

impl CudaFile {
    /// What encloses a runtime call, and calls of what is removed.
    fn read_api_name(&mut self, tokens: &[Token<'_>], n: usize) {
        let Some(function) = api(tokens[n].text) else {
            return;
        };
        if function.removed_in.is_some()
            && is_call(tokens, n)
            && !passes_pack(tokens, n + 1)
            && self.removed.len() < 10_000
        {
            self.removed.push(Mention {
                line: tokens[n].line,
                name: tokens[n].text.to_owned(),
            });
        }
        if function.library == "cudart"
            && n >= 2
            && tokens[n - 1].text == "("
            && tokens[n - 2].kind == TokenKind::Word
            && self.wrappers.iter().all(|w| w.name != tokens[n - 2].text)
        {
            self.wrappers.push(Mention {
                line: tokens[n].line,
                name: tokens[n - 2].text.to_owned(),
            });
        }
    }
}

/// Whether the arguments end in `args...`: such a call in a template is looked up only when somebody
/// uses the template, so that it compiles where the function is gone.
fn passes_pack(tokens: &[Token<'_>], open: usize) -> bool {
    let close = matching(tokens, open).unwrap_or(open);
    close > open + 3 && tokens[close - 3..close].iter().all(|t| t.text == ".")
}

/// Whether the name at `n` is called, not declared: no type before it, none among its arguments.
fn is_call(tokens: &[Token<'_>], n: usize) -> bool {
    if tokens.get(n + 1).is_none_or(|t| t.text != "(") {
        return false;
    }
    let before = n.checked_sub(1).map(|b| tokens[b]);
    let typed = before.is_some_and(|t| {
        t.kind == TokenKind::Word
            && !matches!(
                t.text,
                "return" | "else" | "do" | "case" | "throw" | "and" | "or" | "not"
            )
    });
    let member = before.is_some_and(|t| matches!(t.text, "." | "->"));
    // `const at::Half var`: two words in a row are a type and a name.
    let close = matching(tokens, n + 1).unwrap_or(n + 1);
    let declares = tokens[n + 2..close.max(n + 2)]
        .windows(2)
        .any(|pair| pair.iter().all(|t| t.kind == TokenKind::Word) && pair[0].text != "sizeof");
    !typed && !member && !declares
}

/// A short stand-in for a word, for sets of many; two words may share one.
pub(crate) fn word_hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Intrinsics of a warp that take no mask of the participating lanes.
pub(crate) const WITHOUT_MASK: [&str; 7] = [
    "__shfl",
    "__shfl_up",
    "__shfl_down",
    "__shfl_xor",
    "__ballot",
    "__any",
    "__all",
];

/// Other names that rules ask about.
const WATCHED: [&str; 20] = [
    "cudaSetupArgument",
    "cudaConfigureCall",
    "cudaDeviceSynchronize",
    "cudaMalloc",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cublasCreate",
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
    "THCState",
    "tex1Dfetch",
    "tex2D",
];

/// `name(…);` as a whole statement.
fn dropped_status<'t>(tokens: &[Token<'t>], n: usize) -> Option<&'t str> {
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
    (tokens.get(close + 1)?.text == ";").then_some(name)
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
        let asked = host.calls["cudaGetLastError"];
        let found: Vec<_> = host
            .launches
            .iter()
            .map(|l| (l.kernel.as_str(), l.stream.as_deref(), l.position < asked))
            .collect();
        assert_eq!(found, [("k", Some("stream"), true), ("k", None, false)]);
        let ends: Vec<_> = host.launches.iter().map(|l| l.end_line).collect();
        assert_eq!(ends, [Some(6), Some(8)]);
    }

    #[test]
    fn a_macro_is_judged_once_where_it_is_defined() {
        let file = CudaFile::parse(
            "a.cu",
            "#define COPY(a, b) do { \\\n  cudaMemcpy(a, b, 4, k); \\\n} while (0)\nvoid f() { COPY(x, y); COPY(y, x); }\n",
        );
        let found: Vec<_> = file.dropped.iter().map(|d| (d.line, d.function)).collect();
        assert_eq!(found, [(2, None)]);
        assert_eq!(file.macros[0].parameters.as_ref().unwrap().len(), 2);
    }

    #[test]
    fn a_project_may_declare_what_looks_like_an_intrinsic() {
        let file = CudaFile::parse(
            "a.cu",
            "__device__ at::Half __shfl_up(const at::Half var, int d) { return __shfl_up(var.x, d); }\n",
        );
        let lines = file
            .mentions
            .iter()
            .filter(|m| m.name == "__shfl_up")
            .count();
        assert_eq!(lines, 1);
    }

    #[test]
    fn what_only_an_unused_template_calls_is_not_removed_from_it() {
        let file = CudaFile::parse(
            "a.cu",
            "template <class... A> void f(A... args) { cudaThreadExit(args...); }\nvoid g() { cudaThreadExit(); }\n",
        );
        let lines: Vec<u32> = file.removed.iter().map(|m| m.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn a_file_that_includes_hip_without_a_condition_is_for_another_platform() {
        let hip = CudaFile::parse("a.cu", "#include <hip/hip_runtime.h>\n");
        let both = "#ifdef USE_ROCM\n#include <hip/hip_runtime.h>\n#endif\n";
        assert!(hip.foreign && !CudaFile::parse("a.cu", both).foreign);
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
