//! What a CUDA file does, function by function: launches, calls whose status is dropped, checks,
//! guards, barriers.

use super::cuda_api::returns_status;
use super::cuda_function::{Function, function_header, read_body};
use super::cuda_lexer::{Lexed, Token, TokenKind, lex};

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
