//! The kernels of a CUDA file and their parameters, read from its text.
//!
//! This is no C++ front end: it reads what stands between `__global__` and the body, follows simple
//! aliases (`typedef float real;`, `using real = float;`), and looks for a few words in the body. What
//! it cannot tell it leaves open.

use warpsmith_measure::kernel_file::Scalar;

/// A kernel as its text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSignature {
    /// Its name.
    pub name: String,
    /// The line of its name, from 1.
    pub line: u32,
    /// Its parameters.
    pub parameters: Vec<KernelParameter>,
    /// Names of template parameters.
    pub template: Vec<String>,
    /// An instance of the template: one that the file launches, else a guess; the plain name where it is
    /// no template.
    pub instance: String,
    /// Threads of `__launch_bounds__`, where it is a number.
    pub launch_bounds: Option<u32>,
    /// Whether the body uses a second dimension of blocks or threads.
    pub two_dimensional: bool,
    /// Whether the body indexes by block alone, as kernels with one block per row do.
    pub block_per_row: bool,
    /// Whether it has shared memory whose size the launch gives.
    pub dynamic_shared: bool,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelParameter {
    /// Its name, or `argumentN` where it has none.
    pub name: String,
    /// The type as it is written, without qualifiers.
    pub written: String,
    /// The element type, where it is a plain number or a vector of them.
    pub scalar: Option<Scalar>,
    /// Numbers in one element: 4 for `float4`.
    pub components: u32,
    /// Whether it is an address.
    pub pointer: bool,
    /// Whether what it points to is `const`.
    pub constant: bool,
    /// Whether the body adds to it: an atomic operation, or `+=`.
    pub accumulated: bool,
}

/// Every kernel that the text defines or declares, in its order; a declaration before its definition
/// counts once.
pub fn kernel_signatures(text: &str) -> Vec<KernelSignature> {
    let tokens = lex(text);
    let aliases = aliases(&tokens);
    let mut found: Vec<KernelSignature> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "__global__"
            && let Some(signature) = signature(&tokens, at, &aliases)
        {
            match found.iter_mut().find(|known| known.name == signature.name) {
                Some(known) => *known = signature,
                None => found.push(signature),
            }
        }
    }
    found
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    line: u32,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// Words and single symbols; comments, texts and directives are left out.
pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut tokens = Vec::new();
    let mut line_begins = true;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'\n' => {
                line += 1;
                line_begins = true;
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'#' if line_begins => {
                // A directive ends with its line, unless a backslash carries it on.
                while at < bytes.len() && !(bytes[at] == b'\n' && bytes[at - 1] != b'\\') {
                    line += u32::from(bytes[at] == b'\n');
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                while at < bytes.len() && !bytes[..at].ends_with(b"*/") {
                    line += u32::from(bytes[at] == b'\n');
                    at += 1;
                }
                // The end may be the last two bytes themselves, or `/*/`, which is no end.
                continue;
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
            }
            byte => {
                at += if byte < 0x80 {
                    1
                } else {
                    text[at..].chars().next().map_or(1, char::len_utf8)
                }
            }
        }
        line_begins = false;
        if let Some(token) = text.get(start..at) {
            tokens.push(Token {
                text: token,
                line,
                at: start,
            });
        }
    }
    tokens
}

/// `typedef A B;` and `using B = A;` of a few words.
fn aliases<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens[at + 1..].iter().take(6).map(|token| token.text);
        let words: Vec<&str> = rest.take_while(|word| *word != ";").collect();
        match (token.text, &words[..]) {
            ("typedef", [from @ .., to]) if !from.is_empty() => found.push((*to, from.to_vec())),
            ("using", [to, "=", from @ ..]) if !from.is_empty() => found.push((*to, from.to_vec())),
            _ => {}
        }
    }
    found
}

fn signature<'a>(
    tokens: &[Token<'a>],
    global: usize,
    aliases: &[(&'a str, Vec<&'a str>)],
) -> Option<KernelSignature> {
    let mut at = global + 1;
    let mut launch_bounds = None;
    let open = loop {
        let token = tokens.get(at)?;
        match token.text {
            ";" | "{" | "}" => return None,
            "(" => {
                let name = tokens[at - 1].text;
                if matches!(
                    name,
                    "__launch_bounds__" | "__attribute__" | "__cluster_dims__"
                ) {
                    if name == "__launch_bounds__" {
                        launch_bounds =
                            tokens.get(at + 1).and_then(|token| token.text.parse().ok());
                    }
                    at = closing(tokens, at)? + 1;
                    continue;
                }
                break at;
            }
            _ => at += 1,
        }
    };
    let name = tokens[open - 1];
    if !name
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_')
    {
        return None;
    }
    let close = closing(tokens, open)?;
    let template = template_parameters(&tokens[..global]);
    let mut arguments: Vec<Vec<&str>> = template.iter().map(|one| one.guess.clone()).collect();
    if let Some(launched) = launched_arguments(tokens, name.text) {
        // What the launch leaves out has a default, or follows from the arguments.
        for (slot, given) in arguments.iter_mut().zip(launched) {
            *slot = given;
        }
    }
    let mut aliases = aliases.to_vec();
    for (parameter, words) in template.iter().zip(&arguments) {
        if parameter.is_type {
            aliases.insert(0, (parameter.name, words.clone()));
        }
    }
    let mut parameters: Vec<KernelParameter> = split(&tokens[open + 1..close])
        .iter()
        .enumerate()
        .filter_map(|(index, words)| parameter(index, words, &aliases))
        .collect();
    let body = match tokens.get(close + 1) {
        Some(token) if token.text == "{" => {
            let end = closing(tokens, close + 1).unwrap_or(tokens.len() - 1);
            &tokens[close + 1..end]
        }
        _ => &[],
    };
    for parameter in &mut parameters {
        parameter.accumulated = parameter.pointer && adds_to(body, &parameter.name);
    }
    let uses = |object: &str, axis: &str| {
        body.windows(3)
            .any(|three| three[0].text == object && three[1].text == "." && three[2].text == axis)
    };
    Some(KernelSignature {
        name: name.text.to_owned(),
        line: name.line,
        parameters,
        instance: instance(name.text, &arguments),
        template: template.iter().map(|one| one.name.to_owned()).collect(),
        launch_bounds,
        two_dimensional: uses("threadIdx", "y") || uses("blockIdx", "y"),
        block_per_row: uses("blockIdx", "x")
            && !body.windows(4).any(|four| {
                four[0].text == "blockIdx" && four[2].text == "x" && four[3].text == "*"
                    || four[0].text == "*" && four[1].text == "blockIdx"
            }),
        dynamic_shared: body
            .windows(2)
            .any(|two| two[0].text == "extern" && two[1].text == "__shared__"),
    })
}

/// `name<float, 32>`, or the name alone.
fn instance(name: &str, arguments: &[Vec<&str>]) -> String {
    if arguments.is_empty() {
        return name.to_owned();
    }
    let words: Vec<String> = arguments.iter().map(|words| words.join(" ")).collect();
    format!("{name}<{}>", words.join(", "))
}

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => {
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

/// A parameter of a template, and what to put there unless something else is known.
struct TemplateParameter<'a> {
    name: &'a str,
    guess: Vec<&'a str>,
    is_type: bool,
}

/// The parameters of the `template <…>` that ends right before the kernel.
fn template_parameters<'a>(before: &[Token<'a>]) -> Vec<TemplateParameter<'a>> {
    let ends = [";", "}", "{"];
    let start = before.iter().rposition(|token| ends.contains(&token.text));
    let header = &before[start.map_or(0, |at| at + 1)..];
    let Some(at) = header.iter().position(|token| token.text == "template") else {
        return Vec::new();
    };
    let Some(end) = header.iter().rposition(|token| token.text == ">") else {
        return Vec::new();
    };
    if end < at + 2 {
        return Vec::new();
    }
    let parameter = |words: &&[Token<'a>]| {
        let until = words
            .iter()
            .position(|token| token.text == "=")
            .unwrap_or(words.len());
        let name = words[..until].last()?.text;
        let is = |kind: &[&str]| {
            words[..until]
                .iter()
                .any(|token| kind.contains(&token.text))
        };
        let is_type = is(&["typename", "class"]);
        let guess: Vec<&'a str> = match words.get(until + 1..) {
            Some(default) if !default.is_empty() => {
                default.iter().map(|token| token.text).collect()
            }
            _ if is_type => vec!["float"],
            _ if is(&["bool"]) => vec!["true"],
            _ => vec!["32"],
        };
        Some(TemplateParameter {
            name,
            guess,
            is_type,
        })
    };
    split(&header[at + 2..end])
        .iter()
        .filter_map(parameter)
        .collect()
}

/// The arguments of the first launch `name<…><<<` that are numbers and types of their own.
fn launched_arguments<'a>(tokens: &[Token<'a>], name: &str) -> Option<Vec<Vec<&'a str>>> {
    let plain = |words: &&[Token<'a>]| {
        let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let truth = |word: &str| word == "true" || word == "false";
        let texts: Vec<&str> = words.iter().map(|token| token.text).collect();
        match texts[..] {
            [word] if number(word) || truth(word) => true,
            _ => element(&texts).is_some(),
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        let opens = tokens.get(at + 1).is_some_and(|next| next.text == "<");
        if token.text != name || !opens {
            continue;
        }
        let rest = &tokens[at + 2..tokens.len().min(at + 66)];
        let text = |at: usize| rest.get(at).map(|token| token.text);
        let end = (0..rest.len())
            .find(|at| text(*at) == Some(">") && (1..4).all(|next| text(at + next) == Some("<")));
        if let Some(end) = end {
            let arguments = split(&rest[..end]);
            if !arguments.is_empty() && arguments.iter().all(&plain) {
                let words = arguments.iter();
                return Some(
                    words
                        .map(|one| one.iter().map(|token| token.text).collect())
                        .collect(),
                );
            }
        }
    }
    None
}

/// Whether the body adds to what a parameter points to.
fn adds_to(body: &[Token<'_>], name: &str) -> bool {
    body.iter().enumerate().any(|(at, token)| {
        let text = |offset: usize| body.get(at + offset).map_or("", |token| token.text);
        if token.text.starts_with("atomic") && text(1) == "(" {
            return text(2) == name || (text(2) == "&" && text(3) == name);
        }
        if token.text != name || text(1) != "[" {
            return false;
        }
        closing(body, at + 1).is_some_and(|end| {
            let after = |offset: usize| body.get(end + offset).map_or("", |token| token.text);
            after(1) == "+" && after(2) == "="
        })
    })
}

/// Parts between commas that are inside no brackets.
fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn parameter<'a>(
    index: usize,
    tokens: &[Token<'a>],
    aliases: &[(&'a str, Vec<&'a str>)],
) -> Option<KernelParameter> {
    let until = tokens
        .iter()
        .position(|token| token.text == "=")
        .unwrap_or(tokens.len());
    let tokens = &tokens[..until];
    if let [only] = tokens
        && only.text == "void"
    {
        return None;
    }
    let star = tokens
        .iter()
        .position(|token| matches!(token.text, "*" | "["));
    let pointer = star.is_some();
    let constant = tokens[..star.unwrap_or(0)]
        .iter()
        .any(|token| token.text == "const");
    let quiet = [
        "const",
        "__restrict__",
        "__restrict",
        "restrict",
        "volatile",
        "struct",
        "__grid_constant__",
        "*",
        "&",
        "std",
        ":",
    ];
    let mut words: Vec<&str> = tokens
        .iter()
        .map(|token| token.text)
        .take_while(|word| *word != "[")
        .filter(|word| !quiet.contains(word))
        .collect();
    let name = match words.len() {
        0 => return None,
        1 => format!("argument{index}"),
        _ => words.pop()?.to_owned(),
    };
    let written = words.join(" ");
    // An alias of an alias, but no circle.
    for _ in 0..4 {
        if let [word] = words[..]
            && let Some((_, target)) = aliases.iter().find(|(name, _)| *name == word)
        {
            words = target
                .iter()
                .copied()
                .filter(|word| !quiet.contains(word))
                .collect();
        }
    }
    let (scalar, components) =
        element(&words).map_or((None, 1), |(scalar, count)| (Some(scalar), count));
    Some(KernelParameter {
        name,
        written,
        scalar,
        components,
        pointer,
        constant,
        accumulated: false,
    })
}

/// The number type of a C++ type, and how many of them it holds.
fn element(words: &[&str]) -> Option<(Scalar, u32)> {
    let unsigned = words.contains(&"unsigned");
    let longs = words.iter().filter(|word| **word == "long").count();
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "unsigned" | "signed" | "long" | "int"))
        .collect();
    let whole = |signed: Scalar, other: Scalar| (if unsigned { other } else { signed }, 1);
    Some(match rest[..] {
        // `long` has 64 bits on the platforms that have a CUDA compiler for Linux.
        [] if longs > 0 => whole(Scalar::I64, Scalar::U64),
        [] if !words.is_empty() => whole(Scalar::I32, Scalar::U32),
        ["char"] => whole(Scalar::I8, Scalar::U8),
        ["short"] => whole(Scalar::I16, Scalar::U16),
        [word] => named(word)?,
        _ => return None,
    })
}

fn named(word: &str) -> Option<(Scalar, u32)> {
    let one = |scalar| Some((scalar, 1));
    match word {
        "float" => one(Scalar::F32),
        "double" => one(Scalar::F64),
        "half" | "__half" => one(Scalar::F16),
        "half2" | "__half2" => Some((Scalar::F16, 2)),
        "__nv_bfloat16" | "nv_bfloat16" => one(Scalar::Bf16),
        "__nv_bfloat162" | "nv_bfloat162" => Some((Scalar::Bf16, 2)),
        "int8_t" => one(Scalar::I8),
        "uint8_t" | "bool" | "uchar" => one(Scalar::U8),
        "int16_t" => one(Scalar::I16),
        "uint16_t" | "ushort" => one(Scalar::U16),
        "int32_t" => one(Scalar::I32),
        "uint32_t" | "uint" => one(Scalar::U32),
        "int64_t" | "ptrdiff_t" | "ssize_t" => one(Scalar::I64),
        "uint64_t" | "size_t" | "ulong" => one(Scalar::U64),
        _ => {
            let count = word.strip_prefix(|c: char| c.is_alphabetic())?;
            let digits = count.trim_start_matches(|c: char| c.is_alphabetic());
            let base = &word[..word.len() - digits.len()];
            let components = match digits {
                "2" => 2,
                "3" => 3,
                "4" => 4,
                _ => return None,
            };
            let scalar = match base {
                "float" => Scalar::F32,
                "double" => Scalar::F64,
                "int" => Scalar::I32,
                "uint" => Scalar::U32,
                "longlong" => Scalar::I64,
                "ulonglong" => Scalar::U64,
                "char" => Scalar::I8,
                "uchar" => Scalar::U8,
                "short" => Scalar::I16,
                "ushort" => Scalar::U16,
                _ => return None,
            };
            Some((scalar, components))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The forms that kernels on the web have: a file with host code, an alias, a template with launch
    /// bounds, a declaration before its definition.
    const FILE: &str = r#"
#include <cooperative_groups.h>
#define CHECK(x) do { x; } while (0) \
    /* __global__ void not_here(int n); */
typedef float floatX; // the type of weights
namespace cg = cooperative_groups;

__global__ void forward(floatX* out, const floatX* inp, int N, int C);

__global__ void forward(floatX* __restrict__ out, const floatX* __restrict__ inp, int N, int C) {
    extern __shared__ float shared[];
    int row = blockIdx.x;
    /* "__global__" in a text */ const char* s = "__global__ void fake(int a) {";
    out[row * C + threadIdx.x] = inp[row];
}

template <typename T, int TILE = 32>
__global__ void __launch_bounds__(TILE * 8, 2) transpose(T* odata, T const *idata, unsigned int width, size_t height) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
}

extern "C" __global__ __launch_bounds__(256) void reduce(const float4 *x, double out[], long long n, __half scale, unsigned) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; ) {}
}

__global__ void nothing(void) {}

int main() { forward<<<1, 2>>>(nullptr, nullptr, 3, 4); }
"#;

    #[test]
    fn kernels_of_a_real_file_are_read() {
        let found = kernel_signatures(FILE);
        let names: Vec<&str> = found.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["forward", "transpose", "reduce", "nothing"]);
        let forward = &found[0];
        assert!(forward.block_per_row && forward.dynamic_shared && !forward.two_dimensional);
        let first = &forward.parameters[0];
        assert_eq!(
            (first.name.as_str(), first.scalar),
            ("out", Some(Scalar::F32))
        );
        assert!(first.pointer && !first.constant && first.written == "floatX");
        assert!(forward.parameters[1].constant);
        assert_eq!(forward.parameters[3].scalar, Some(Scalar::I32));
        let transpose = &found[1];
        assert!(transpose.two_dimensional && !transpose.block_per_row);
        assert_eq!(transpose.template, ["T", "TILE"]);
        assert_eq!(transpose.instance, "transpose<float, 32>");
        assert_eq!(transpose.parameters[1].scalar, Some(Scalar::F32));
        assert!(transpose.parameters[1].constant);
        assert_eq!(transpose.parameters[2].scalar, Some(Scalar::U32));
        assert_eq!(transpose.parameters[3].scalar, Some(Scalar::U64));
        let reduce = &found[2];
        assert_eq!(reduce.launch_bounds, Some(256));
        assert_eq!(
            (reduce.parameters[0].scalar, reduce.parameters[0].components),
            (Some(Scalar::F32), 4)
        );
        assert!(reduce.parameters[1].pointer);
        assert_eq!(reduce.parameters[3].scalar, Some(Scalar::F16));
        assert_eq!(reduce.parameters[4].name, "argument4");
        assert!(found[3].parameters.is_empty());
        assert_eq!(forward.line, 10);
    }

    #[test]
    fn instances_come_from_launches_and_sums_are_seen() {
        let text = "template <class T, const int BM, bool fast = false, typename... Rest>\n\
                    __global__ void gemm(T* c, float* sum, float* d) { atomicAdd(&sum[0], 1.0f); d[threadIdx.x + 1] += 2; c[0] = 1; }\n\
                    template <unsigned n> __global__ void tail(int* x) {}\n\
                    int main() { gemm<T, BM><<<1, 2>>>(a); gemm<double, 64><<<grid, dim3(1, 2)>>>(a); }\n";
        let found = kernel_signatures(text);
        assert_eq!(found[0].instance, "gemm<double, 64, false, float>");
        assert_eq!(found[0].parameters[0].scalar, Some(Scalar::F64));
        let sums: Vec<bool> = found[0]
            .parameters
            .iter()
            .map(|one| one.accumulated)
            .collect();
        assert_eq!(sums, [false, true, true]);
        assert_eq!(found[1].instance, "tail<32>");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[_a-z(){}<>*,;\"'/#\\\\\n é=]{0,200}") {
            let _ = kernel_signatures(&("__global__ ".to_owned() + &text));
        }
    }
}
