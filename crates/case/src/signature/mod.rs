//! The kernels of a CUDA file and their parameters, read from its text.
//!
//! This is no C++ front end: it reads what stands between `__global__` and the body, follows simple
//! aliases (`typedef float real;`, `using real = float;`), and looks for a few words in the body. What
//! it cannot tell it leaves open.

mod body_use;
mod element_type;
mod namespaces;
mod template_arguments;
mod tokens;

use warpsmith_measure::kernel_file::Scalar;

pub use body_use::BodyUse;
use body_use::use_of;
use element_type::element;
use namespaces::namespace_of;
use template_arguments::{instance, launched_arguments, template_parameters};
use tokens::split;
pub(crate) use tokens::{Token, closing, lex};

/// A kernel as its text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSignature {
    /// Its name.
    pub name: String,
    /// The namespaces around it, `a::b`; nothing where there are none with a name.
    pub namespace: String,
    /// The line of its name, from 1.
    pub line: u32,
    /// Its parameters.
    pub parameters: Vec<KernelParameter>,
    /// Names of template parameters.
    pub template: Vec<String>,
    /// What names it in code: with its namespaces, and as an instance of the template: one that the file launches,
    /// else a guess.
    pub instance: String,
    /// Whether the file launches that instance.
    pub is_launched: bool,
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
    /// What else the body does with it.
    pub body_use: BodyUse,
}

impl KernelSignature {
    /// Its name behind those of its namespaces.
    pub fn path(&self) -> String {
        within(&self.namespace, &self.name)
    }
}

fn within(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        _ => format!("{namespace}::{name}"),
    }
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
            let same = |known: &&mut KernelSignature| known.path() == signature.path();
            match found.iter_mut().find(same) {
                Some(known) => *known = signature,
                None => found.push(signature),
            }
        }
    }
    found
}

/// `typedef A B;` and `using B = A;` of a few words; of a name with several types, as in branches of `#if`, none.
fn aliases<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens[at + 1..].iter().take(6).map(|token| token.text);
        let words: Vec<&str> = rest.take_while(|word| *word != ";").collect();
        match (token.text, &words[..]) {
            ("typedef", [from @ .., to]) if !from.is_empty() => found.push((*to, from.to_vec())),
            ("using", [to, "=", from @ ..]) if !from.is_empty() => found.push((*to, from.to_vec())),
            _ => {}
        }
    }
    let all = found.clone();
    found.retain(|(name, words)| {
        let mut same = all.iter().filter(|(other, _)| other == name);
        same.all(|(_, other)| other == words)
    });
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
    let launched = launched_arguments(tokens, name.text);
    let is_launched = launched.is_some();
    if let Some(launched) = launched {
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
        parameter.body_use = use_of(body, &parameter.name);
    }
    let uses = |object: &str, axis: &str| {
        body.windows(3)
            .any(|three| three[0].text == object && three[1].text == "." && three[2].text == axis)
    };
    let namespace = namespace_of(&tokens[..global]);
    Some(KernelSignature {
        name: name.text.to_owned(),
        line: name.line,
        parameters,
        instance: instance(&within(&namespace, name.text), &arguments),
        namespace,
        is_launched,
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
    let stars = tokens.iter().filter(|token| token.text == "*").count();
    // An array of addresses has no elements that a case could make.
    let of_addresses = stars + usize::from(tokens.iter().any(|t| t.text == "[")) > 1 && stars > 0;
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
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let name = match words[..] {
        [] => return None,
        // A type alone, which ends in `>` where it is an instance of a template.
        [.., last] if words.len() == 1 || !is_name(last) => format!("argument{index}"),
        _ => words.pop()?.to_owned(),
    };
    let mut written = words.join(" ");
    if of_addresses {
        written.push_str("**");
        words.clear();
    }
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
        body_use: BodyUse::default(),
    })
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

    #[test]
    fn a_parameter_without_a_name_gets_one() {
        let text = "__global__ void k(float*, int n, std::bool_constant<true>, unsigned) {}";
        let found = kernel_signatures(text);
        let names: Vec<&str> = found[0]
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        assert_eq!(names, ["argument0", "n", "argument2", "argument3"]);
    }
}
