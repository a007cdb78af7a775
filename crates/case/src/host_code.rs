//! A CUDA file without its host code: what NVRTC, which compiles for the device alone, can take.
//!
//! Files that people have hold a `main`, checks and timers around their kernels. Functions that are
//! neither `__global__`, `__device__` nor `constexpr` become blanks, so that lines keep their numbers;
//! headers of the host's library become short texts with what kernels use of them.

use crate::signature::{closing, lex};

/// Headers of the host, and what stands in for them.
const HEADERS: &[(&str, &str)] = &[
    (
        "assert.h",
        "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n",
    ),
    (
        "cassert",
        "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n",
    ),
    ("float.h", LIMITS),
    ("cfloat", LIMITS),
    ("limits.h", LIMITS),
    ("climits", LIMITS),
    ("math.h", LIMITS),
    ("cmath", LIMITS),
    ("math_constants.h", LIMITS),
    ("stdint.h", INTEGERS),
    ("cstdint", INTEGERS),
    ("stddef.h", INTEGERS),
    ("cstddef", INTEGERS),
    ("stdio.h", ""),
    ("cstdio", ""),
    ("stdlib.h", ""),
    ("cstdlib", ""),
    ("string.h", ""),
    ("cstring", ""),
    ("time.h", ""),
    ("algorithm", ""),
    ("chrono", ""),
    ("functional", ""),
    ("iomanip", ""),
    ("iostream", ""),
    ("memory", ""),
    ("random", ""),
    ("string", ""),
    ("vector", ""),
    ("cublas_v2.h", ""),
    ("cublasLt.h", ""),
    ("cuda.h", ""),
    ("cuda_runtime.h", LIMITS),
    ("cuda_runtime_api.h", ""),
    ("device_launch_parameters.h", ""),
    ("helper_cuda.h", ""),
    ("helper_functions.h", ""),
];

const LIMITS: &str = "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n\
    #ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n\
    #ifndef FLT_MAX\n#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n\
    #define FLT_EPSILON 1.192092896e-07f\n#define DBL_MAX 1.7976931348623158e+308\n#endif\n\
    #ifndef INT_MAX\n#define INT_MAX 2147483647\n#define INT_MIN (-2147483647 - 1)\n\
    #define UINT_MAX 4294967295u\n#endif\n\
    #ifndef M_PI\n#define M_PI 3.14159265358979323846\n#endif\n";

const INTEGERS: &str = "#ifndef INTEGERS_OF_FIXED_WIDTH\n#define INTEGERS_OF_FIXED_WIDTH\n\
    typedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\n\
    typedef unsigned short uint16_t;\ntypedef int int32_t;\ntypedef unsigned int uint32_t;\n\
    typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n#endif\n";

/// The headers as NVRTC takes them.
pub(crate) fn headers() -> Vec<(String, String)> {
    let pairs = HEADERS.iter();
    pairs
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

/// The text with host functions blanked out; `None` where there are none.
pub(crate) fn without_host_code(text: &str) -> Option<String> {
    let tokens = lex(text);
    let mut bytes = text.as_bytes().to_vec();
    let mut changed = false;
    let (mut start, mut at) = (0, 0);
    while at < tokens.len() {
        match tokens[at].text {
            ";" | "}" => start = at + 1,
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
                let type_or_value = has(&["struct", "class", "union", "enum", "="]) && !has(&["("]);
                let device = has(&["__device__", "__global__", "constexpr", "consteval"]);
                if has(&["("]) && !device && !type_or_value {
                    let last = &tokens[end];
                    for byte in &mut bytes[tokens[start].at..last.at + last.text.len()] {
                        if *byte != b'\n' {
                            *byte = b' ';
                        }
                    }
                    changed = true;
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
    // Blanks replace whole tokens, so that the text stays UTF-8.
    changed.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(without_host_code("{ {"), None);
    }
}
