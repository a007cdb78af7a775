//! Blanks in the place of host code.

use crate::signature::{Token, closing, lex};

/// Words that make a function or variable the device's.
const DEVICE: &[&str] = &[
    "__device__",
    "__global__",
    "__constant__",
    "__shared__",
    "__managed__",
    "constexpr",
    "consteval",
];

/// The text with `static` before `__global__` blanked out: a kernel that nothing in the file calls
/// would be dropped. `None` where there is none.
pub(crate) fn exported_kernels(text: &str) -> Option<String> {
    let tokens = lex(text);
    let mut blanks = Blanks::new(text);
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "__global__" {
            let before = tokens[at.saturating_sub(3)..at].iter();
            let after = tokens[at + 1..].iter().take(2);
            for word in before.chain(after).filter(|word| word.text == "static") {
                blanks.blank(word.at, word.at + word.text.len());
            }
        }
    }
    blanks.done()
}

/// The text with host functions and declarations blanked out; `None` where there are none.
pub(crate) fn without_host_code(text: &str) -> Option<String> {
    let tokens = lex(text);
    let mut blanks = Blanks::new(text);
    let (mut start, mut at) = (0, 0);
    while at < tokens.len() {
        match tokens[at].text {
            ";" => {
                if is_host_declaration(&tokens[start..at]) {
                    blanks.tokens(&tokens[start..=at]);
                }
                start = at + 1;
            }
            "}" => start = at + 1,
            "{" => {
                let header: Vec<&str> = tokens[start..at].iter().map(|token| token.text).collect();
                let has = |words: &[&str]| words.iter().any(|word| header.contains(word));
                // Namespaces and `extern "C"` are entered; what they hold is looked at by itself.
                if has(&["namespace"]) || (header.first() == Some(&"extern") && !has(&["("])) {
                    start = at + 1;
                    at += 1;
                    continue;
                }
                let end = closing(&tokens, at).unwrap_or(tokens.len() - 1);
                let brackets = takes_arguments(&tokens[start..at]);
                let type_or_value = has(&["struct", "class", "union", "enum", "="]) && !brackets;
                if brackets && !has(DEVICE) && !type_or_value {
                    blanks.tokens(&tokens[start..=end]);
                }
                at = end;
                // A type ends with its `;`, a function here.
                if !type_or_value {
                    start = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    blanks.done()
}

/// Whether a statement outside of functions is the declaration of a host function, or of something of the
/// host's C++ library.
fn is_host_declaration(tokens: &[Token<'_>]) -> bool {
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.text));
    if tokens.is_empty() || has(DEVICE) {
        return false;
    }
    let host_library = tokens
        .windows(3)
        .any(|three| three[0].text == "std" && three[1].text == ":" && three[2].text == ":");
    if host_library {
        return true;
    }
    // `template void reduce<int>(…);` is an instance of a function that is left out.
    if let [first, second, ..] = tokens
        && first.text == "template"
        && second.text != "<"
        && takes_arguments(tokens)
        && !has(&["struct", "class", "union"])
    {
        return true;
    }
    let kept = [
        "typedef",
        "using",
        "struct",
        "class",
        "union",
        "enum",
        "template",
        "static_assert",
        "friend",
        "=",
        "asm",
    ];
    takes_arguments(tokens) && !has(&kept)
}

/// Whether there are brackets that are no attribute's, as those of `alignas(16)` are.
fn takes_arguments(tokens: &[Token<'_>]) -> bool {
    const ATTRIBUTES: &[&str] = &["alignas", "__align__", "__attribute__", "decltype"];
    tokens.iter().enumerate().any(|(at, token)| {
        let attribute = at > 0 && ATTRIBUTES.contains(&tokens[at - 1].text);
        // `__attribute__((…))` has two.
        let inner = at > 1 && tokens[at - 1].text == "(" && tokens[at - 2].text == "__attribute__";
        token.text == "(" && !attribute && !inner
    })
}

/// A text of which parts become blanks; lines stay.
struct Blanks {
    bytes: Vec<u8>,
    changed: bool,
}

impl Blanks {
    fn new(text: &str) -> Self {
        Self {
            bytes: text.as_bytes().to_vec(),
            changed: false,
        }
    }

    fn tokens(&mut self, tokens: &[Token<'_>]) {
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            self.blank(first.at, last.at + last.text.len());
        }
    }

    /// Directives stay: an `#if` inside may end outside, and a macro may be used later.
    fn blank(&mut self, from: usize, to: usize) {
        self.changed = true;
        let mut at = from;
        while at < to {
            let end = self.bytes[at..to]
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(to, |offset| at + offset);
            // Only a whole line can be a directive; the first begins in its middle.
            let line = self.bytes[at..end].trim_ascii_start();
            if at != from && line.starts_with(b"#") {
                let mut last = end;
                while last < to && self.bytes[..last].ends_with(b"\\") {
                    let rest = self.bytes[last + 1..to].iter();
                    last = rest
                        .clone()
                        .position(|byte| *byte == b'\n')
                        .map_or(to, |offset| last + 1 + offset);
                }
                at = last + 1;
                continue;
            }
            self.bytes[at..end].fill(b' ');
            at = end + 1;
        }
    }

    /// Blanks replace whole tokens, so that the text stays UTF-8.
    fn done(self) -> Option<String> {
        self.changed
            .then(|| String::from_utf8_lossy(&self.bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "#include <stdio.h>\n#define CHECK(x) { x; }\nstruct P { int a; int f() { return a; } };\n\
        template <typename T>\n__device__ T twice(T x) { return x + x; }\n\
        void fill(float* x, int n) {\n  for (int i = 0; i < n; i++) { x[i] = rand(); }\n}\n\
        __global__ void k(float* x) { x[0] = twice(x[0]); }\n\
        namespace host {\n  inline double now() { return 1; }\n  __device__ float g() { return 1; }\n}\n\
        constexpr int up(int a) { return a + 1; }\nint main(int c, char** v) { k<<<1, 2>>>(nullptr); }\n";

    #[test]
    fn host_functions_go_and_lines_stay() {
        let left = without_host_code(FILE).unwrap();
        assert_eq!(left.lines().count(), FILE.lines().count());
        for kept in [
            "struct P { int a;",
            "twice(T x)",
            "void k(float* x)",
            "float g()",
            "int up(",
        ] {
            assert!(left.contains(kept), "{kept}\n{left}");
        }
        for gone in ["rand()", "main", "now()", "<<<"] {
            assert!(!left.contains(gone), "{gone}\n{left}");
        }
        assert_eq!(without_host_code("__global__ void k() {}"), None);
        let aligned = "template <class T> struct alignas(16) P { T a[4]; };\nstruct __align__(8) Q { int a; };\n";
        assert_eq!(without_host_code(aligned), None);
        assert_eq!(without_host_code("{ {"), None);
        let instances =
            "template void reduce<int>(int n, int* x);\ntemplate __global__ void k<int>(int*);\n";
        let left = without_host_code(instances).unwrap();
        assert!(
            !left.contains("reduce") && left.contains("void k<int>(int*);"),
            "{left}"
        );
    }

    #[test]
    fn declarations_of_the_host_go_and_directives_stay() {
        let text = "extern cudaDeviceProp deviceProp;\nvoid run(cudaStream_t s,\n#ifdef A\n  int a);\n#else\n  int b);\n#endif\n\
                    static std::vector<int> all;\ntypedef float floatX;\n__constant__ float w[9];\n\
                    __device__ float f(float);\nconst int TILE = 32;\nstruct S;\n";
        let left = without_host_code(text).unwrap();
        for gone in ["run", "vector"] {
            assert!(!left.contains(gone), "{gone}\n{left}");
        }
        for kept in [
            "#ifdef A",
            "#endif",
            "floatX",
            "w[9]",
            "f(float)",
            "TILE",
            "deviceProp;",
        ] {
            assert!(left.contains(kept), "{kept}\n{left}");
        }
        assert_eq!(left.lines().count(), text.lines().count());
    }

    #[test]
    fn a_static_kernel_is_exported() {
        let text = "static __global__ void a() {}\ntemplate <int N>\nstatic __global__ void b() {}\n__global__ static void c() {}\nstatic __device__ int d;\n";
        let left = exported_kernels(text).unwrap();
        assert_eq!(left.matches("static").count(), 1);
        assert_eq!(left.len(), text.len());
        assert_eq!(exported_kernels("__global__ void a() {}"), None);
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_length(text in "[_a-z(){}<>*,;\"'/#\\\\\n é=]{0,200}") {
            for left in [without_host_code(&text), exported_kernels(&text)].into_iter().flatten() {
                prop_assert_eq!(left.lines().count(), text.lines().count());
            }
        }
    }
}
