//! Whether a condition holds in a CUDA build of today, in three values: preprocessor lines here, and
//! the comparisons of versions that CMake and setup.py make ([`Versions`]).
//!
//! Known: macros of other platforms are not defined, the CUDA, cuDNN and NCCL versions are the newest
//! of the table, device code is for sm_75 or newer. Everything else may be either.

use warpsmith_compatibility::Version;

/// The value of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Truth {
    Yes,
    No,
    Either,
}

impl Truth {
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Either => Self::Either,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Either,
        }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// Whether a path or a macro is named after a platform that is not CUDA.
pub(crate) fn names_other_platform(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| {
            let part = part.to_ascii_lowercase();
            matches!(
                part.as_str(),
                "rocm"
                    | "hip"
                    | "hipcc"
                    | "hcc"
                    | "hipify"
                    | "hipcub"
                    | "hiprtc"
                    | "amd"
                    | "amdgpu"
                    | "amdgcn"
                    | "musa"
                    | "musacc"
                    | "sycl"
                    | "cann"
                    | "maca"
                    | "npu"
                    | "mlu"
            ) || (part.starts_with("gfx") && part[3..].starts_with(|c: char| c.is_ascii_digit()))
        })
}

/// A number that is known, a range of them, or nothing known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Range(i64, i64),
    Unknown,
}

/// Majors of today's CUDA and cuDNN.
const CUDA: i64 = 13;
const CUDNN: i64 = 9;

/// The versions that something may have in a build, first and last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Versions {
    first: i64,
    last: i64,
}

/// A version as one number; what comes behind the patch decides no guard.
fn ordinal(version: &Version) -> i64 {
    let part = |n: usize| i64::try_from(version.part(n).min(999_999)).unwrap_or(0);
    part(0) * 1_000_000_000_000 + part(1) * 1_000_000 + part(2)
}

impl Versions {
    /// Every release from the first of one major to the last of another.
    pub(crate) const fn of_majors(first: i64, last: i64) -> Self {
        Self {
            first: first * 1_000_000_000_000,
            last: last * 1_000_000_000_000 + 999_999_999_999,
        }
    }

    /// The CUDA toolkit of today.
    pub(crate) const fn cuda() -> Self {
        Self::of_majors(CUDA, CUDA)
    }

    /// cuDNN of today.
    pub(crate) const fn cudnn() -> Self {
        Self::of_majors(CUDNN, CUDNN)
    }

    /// This release and every one behind it.
    pub(crate) fn from(first: &Version) -> Self {
        Self {
            first: ordinal(first),
            last: i64::MAX,
        }
    }

    /// Only the major numbers, as `CUDA_VERSION_MAJOR` has them.
    pub(crate) const fn majors(self) -> Self {
        let whole = 1_000_000_000_000;
        Self {
            first: self.first / whole * whole,
            last: self.last / whole * whole,
        }
    }

    /// Whether `these sign right` holds.
    pub(crate) fn compare(self, sign: &str, right: &Version) -> Truth {
        // `11080` is the preprocessor's way to write 11.8; what it is compared with is not known.
        if right.major() >= 1000 {
            return Truth::Either;
        }
        let right = ordinal(right);
        compare(
            Value::Range(self.first, self.last),
            sign,
            Value::Range(right, right),
        )
    }
}

/// `#ifdef NAME`.
pub(crate) fn is_defined(name: &str) -> Truth {
    let name = name.split_whitespace().next().unwrap_or("");
    match name {
        "CUDA_VERSION" | "CUDART_VERSION" | "__CUDACC_VER_MAJOR__" => Truth::Yes,
        _ if names_other_platform(name) => Truth::No,
        _ => Truth::Either,
    }
}

fn macro_value(name: &str) -> Value {
    match name {
        "CUDA_VERSION" | "CUDART_VERSION" | "CUDA_API_VERSION" => {
            Value::Range(CUDA * 1_000, CUDA * 1_000 + 990)
        }
        "__CUDACC_VER_MAJOR__" | "CUDA_VERSION_MAJOR" => Value::Range(CUDA, CUDA),
        "CUDNN_VERSION" => Value::Range(CUDNN * 10_000, CUDNN * 10_000 + 9_999),
        "CUDNN_MAJOR" => Value::Range(CUDNN, CUDNN),
        "NCCL_MAJOR" => Value::Range(2, 2),
        "NCCL_VERSION_CODE" => Value::Range(22_700, 29_999),
        // The device side; the host side has its own branch behind `defined`.
        "__CUDA_ARCH__" => Value::Range(750, 1_999),
        "__cplusplus" => Value::Range(201_703, 300_000),
        "true" => Value::Range(1, 1),
        "false" => Value::Range(0, 0),
        _ if names_other_platform(name) => Value::Range(0, 0),
        _ => Value::Unknown,
    }
}

/// Whether `#if condition` holds.
pub(crate) fn truth(condition: &str) -> Truth {
    truth_of(&tokens(condition))
}

/// Whether an expression holds that is split into its tokens already.
pub(crate) fn truth_of(tokens: &[&str]) -> Truth {
    let mut reader = Reader {
        tokens,
        at: 0,
        depth: 0,
    };
    let value = reader.either();
    // What could not be read to its end proves nothing.
    match (value, reader.at == tokens.len()) {
        (Some(value), true) => as_truth(value),
        _ => Truth::Either,
    }
}

fn as_truth(value: Value) -> Truth {
    match value {
        Value::Range(0, 0) => Truth::No,
        Value::Range(low, high) if low > 0 || high < 0 => Truth::Yes,
        _ => Truth::Either,
    }
}

fn from_truth(truth: Truth) -> Value {
    match truth {
        Truth::Yes => Value::Range(1, 1),
        Truth::No => Value::Range(0, 0),
        Truth::Either => Value::Unknown,
    }
}

fn tokens(text: &str) -> Vec<&str> {
    let text = text.split("//").next().unwrap_or(text);
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() && found.len() < 400 {
        let c = bytes[at];
        if c.is_ascii_whitespace() || c == b'\\' {
            at += 1;
            continue;
        }
        if bytes[at..].starts_with(b"/*") {
            at = memchr::memmem::find(&bytes[at..], b"*/").map_or(bytes.len(), |n| at + n + 2);
            continue;
        }
        let mut end = at + 1;
        if c.is_ascii_alphanumeric() || c == b'_' {
            while end < bytes.len() && (bytes[end].is_ascii_alphanumeric() || bytes[end] == b'_') {
                end += 1;
            }
        } else if [&b"&&"[..], b"||", b">=", b"<=", b"==", b"!=", b"<<", b">>"]
            .iter()
            .any(|sign| bytes[at..].starts_with(sign))
        {
            end = at + 2;
        }
        // Text outside of ASCII is part of no condition that is decided here.
        match text.get(at..end) {
            Some(token) => found.push(token),
            None => return Vec::new(),
        }
        at = end;
    }
    found
}

/// A recursive reader of the expression grammar; depth is bounded.
struct Reader<'t> {
    tokens: &'t [&'t str],
    at: usize,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn next_is(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&token);
        self.at += usize::from(found);
        found
    }

    fn either(&mut self) -> Option<Value> {
        let mut left = self.both()?;
        while self.next_is("||") || self.next_is("or") {
            let right = self.both()?;
            left = from_truth(as_truth(left).or(as_truth(right)));
        }
        Some(left)
    }

    fn both(&mut self) -> Option<Value> {
        let mut left = self.comparison()?;
        while self.next_is("&&") || self.next_is("and") {
            let right = self.comparison()?;
            left = from_truth(as_truth(left).and(as_truth(right)));
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Value> {
        let left = self.sum()?;
        let Some(sign) = self
            .tokens
            .get(self.at)
            .copied()
            .filter(|t| matches!(*t, "<" | ">" | "<=" | ">=" | "==" | "!="))
        else {
            return Some(left);
        };
        self.at += 1;
        let right = self.sum()?;
        Some(from_truth(compare(left, sign, right)))
    }

    fn sum(&mut self) -> Option<Value> {
        let mut left = self.product()?;
        loop {
            let sign = if self.next_is("+") {
                1
            } else if self.next_is("-") {
                -1
            } else {
                return Some(left);
            };
            left = match (left, self.product()?) {
                (Value::Range(a, b), Value::Range(c, d)) if sign > 0 => {
                    Value::Range(a.saturating_add(c), b.saturating_add(d))
                }
                (Value::Range(a, b), Value::Range(c, d)) => {
                    Value::Range(a.saturating_sub(d), b.saturating_sub(c))
                }
                _ => Value::Unknown,
            };
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut left = self.unary()?;
        loop {
            let divides = if self.next_is("*") {
                false
            } else if self.next_is("/") {
                true
            } else {
                return Some(left);
            };
            left = match (left, self.unary()?) {
                (Value::Range(a, b), Value::Range(c, d)) if divides && c == d && c > 0 => {
                    Value::Range(a / c, b / c)
                }
                (Value::Range(a, b), Value::Range(c, d)) if !divides && a >= 0 && c >= 0 => {
                    Value::Range(a.saturating_mul(c), b.saturating_mul(d))
                }
                _ => Value::Unknown,
            };
        }
    }

    fn unary(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > 60 {
            return None;
        }
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<Value> {
        if self.next_is("!") || self.next_is("not") {
            let value = self.unary()?;
            return Some(from_truth(as_truth(value).not()));
        }
        if self.next_is("(") {
            let value = self.either()?;
            return self.next_is(")").then_some(value);
        }
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        if token == "defined" {
            let open = self.next_is("(");
            let name = *self.tokens.get(self.at)?;
            self.at += 1;
            if open && !self.next_is(")") {
                return None;
            }
            return Some(from_truth(is_defined(name)));
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(number(token));
        }
        if !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        // `FOO(…)`: a macro with arguments, or `__has_include`; its value is not known here.
        if self.next_is("(") {
            let mut depth = 1;
            while depth > 0 {
                match *self.tokens.get(self.at)? {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                self.at += 1;
            }
            return Some(if names_other_platform(token) {
                Value::Range(0, 0)
            } else {
                Value::Unknown
            });
        }
        Some(macro_value(token))
    }
}

fn number(token: &str) -> Value {
    let digits = token.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map_or(Value::Unknown, |n| Value::Range(n, n))
}

fn compare(left: Value, sign: &str, right: Value) -> Truth {
    let (Value::Range(a, b), Value::Range(c, d)) = (left, right) else {
        return Truth::Either;
    };
    let less = |a: i64, b: i64, c: i64, d: i64| {
        if b < c {
            Truth::Yes
        } else if a >= d {
            Truth::No
        } else {
            Truth::Either
        }
    };
    let equal = if a == b && c == d && a == c {
        Truth::Yes
    } else if b < c || d < a {
        Truth::No
    } else {
        Truth::Either
    };
    match sign {
        "<" => less(a, b, c, d),
        ">" => less(c, d, a, b),
        ">=" => less(a, b, c, d).not(),
        "<=" => less(c, d, a, b).not(),
        "==" => equal,
        _ => equal.not(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn platforms_and_versions_are_evaluated() {
        let decided = [
            (
                "defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)",
                Truth::No,
            ),
            ("!defined(USE_ROCM) && CUDA_VERSION >= 11080", Truth::Yes),
            ("defined(GGML_USE_HIP) && defined(FOO)", Truth::No),
            ("defined(__HCC__)", Truth::No),
            (
                "!(defined(GGML_USE_HIP) || defined(GGML_USE_MUSA))",
                Truth::Yes,
            ),
            ("CUDART_VERSION < 12000", Truth::No),
            ("CUDART_VERSION / 1000 >= 12", Truth::Yes),
            ("__CUDACC_VER_MAJOR__ < 9", Truth::No),
            (
                "defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ >= 9)",
                Truth::Yes,
            ),
            ("CUDA_VERSION >= 13020", Truth::Either),
            ("__CUDA_ARCH__ < 700", Truth::No),
            (
                "defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800",
                Truth::Either,
            ),
            ("__CUDA_ARCH__ >= 900", Truth::Either),
            ("CUDNN_VERSION < 8000", Truth::No),
            ("defined(FOO) && BAR(3)", Truth::Either),
            ("__has_include(<x.h>)", Truth::Either),
            ("0 // never", Truth::No),
            ("1", Truth::Yes),
            ("SHIP_IT", Truth::Either),
            ("chipset == 3", Truth::Either),
            ("defined(", Truth::Either),
            ("é", Truth::Either),
            ("", Truth::Either),
        ];
        for (text, expected) in decided {
            assert_eq!(truth(text), expected, "{text}");
        }
    }

    #[test]
    fn a_platform_is_a_word_of_a_path_and_not_a_part_of_one() {
        for path in [
            "csrc/rocm/attention.cu",
            "ggml/src/ggml-cuda/vendors/hip.h",
            "src/k_hip.cu",
        ] {
            assert!(names_other_platform(path), "{path}");
        }
        for path in [
            "src/ship/k.cu",
            "chips/a.cu",
            "amdahl/b.cu",
            "src/cuda/k.cu",
        ] {
            assert!(!names_other_platform(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_condition_has_a_value(text in "(defined|\\(|\\)|!|&&|\\|\\||[0-9]|CUDA_VERSION|<|>=|x|\\PC){0,60}") {
            let _ = truth(&text);
        }
    }
}
