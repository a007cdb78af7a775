//! The symbols that a C++ compiler makes of kernels: `_Z7softmaxPfPKf` is `softmax(float*, const float*)`.

use super::argument::Scalar;

/// Whether a symbol is the kernel of this name: the same, or what a C++ compiler makes of it
/// (`_Z7softmax…`, `_ZN2ns7softmax…`; an instance of a template goes on with `I`).
pub fn is_entry_of(name: &str, symbol: &str) -> bool {
    if symbol == name {
        return true;
    }
    let plain = name.split('<').next().unwrap_or(name).trim();
    let parts = plain.split("::").filter(|part| !part.is_empty());
    let mangled: String = parts.map(|part| format!("{}{part}", part.len())).collect();
    let Some(at) = symbol.find(&mangled).filter(|_| symbol.starts_with("_Z")) else {
        return false;
    };
    let longer_number = symbol[..at].ends_with(|c: char| c.is_ascii_digit());
    let instance = symbol[at + mangled.len()..].starts_with('I');
    !longer_number && name.contains('<') == instance
}

/// A symbol as its kernel is written: `_ZN2ns7softmaxIfEvPT_` is `ns::softmax<…>`.
pub fn written_name(symbol: &str) -> String {
    match split(symbol) {
        None => symbol.to_owned(),
        Some(Split { names, rest, .. }) => {
            names.join("::") + if rest.starts_with('I') { "<…>" } else { "" }
        }
    }
}

/// What the kernel's parameters point to, where its symbol says so: as many as are understood, `None` where one
/// is no pointer to such numbers. Bytes are `None`: they may stand for anything.
pub fn pointees(symbol: &str) -> Vec<Option<Scalar>> {
    let Some(Split {
        names,
        nested,
        rest,
    }) = split(symbol)
    else {
        return Vec::new();
    };
    let mut reader = Types {
        rest: match nested {
            true => match rest.strip_prefix('E') {
                Some(rest) => rest,
                None => return Vec::new(),
            },
            false => rest,
        },
        // The namespaces around the name are the first that a later `S…_` may mean.
        seen: vec![Type::Other; if nested { names.len() - 1 } else { 0 }],
    };
    let mut found = Vec::new();
    while let Some(parameter) = reader.next(0) {
        found.push(match parameter {
            Type::Pointer(scalar) => scalar,
            Type::Number(_) | Type::Other => None,
        });
    }
    found
}

/// The names of a symbol, and what stands behind them.
struct Split<'s> {
    names: Vec<&'s str>,
    nested: bool,
    rest: &'s str,
}

fn split(symbol: &str) -> Option<Split<'_>> {
    let all = symbol.strip_prefix("_Z")?;
    let mut rest = all.strip_prefix('N').unwrap_or(all);
    let nested = rest.len() < all.len();
    let mut names = Vec::new();
    while let Some((name, behind)) = source_name(rest) {
        names.push(name);
        rest = behind;
        // What follows a plain name are its parameters, which begin with a number where they are classes.
        if !nested {
            break;
        }
    }
    (!names.is_empty()).then_some(Split {
        names,
        nested,
        rest,
    })
}

/// `6__half…` is `__half`. A file of machine code may hold any symbol.
fn source_name(text: &str) -> Option<(&str, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = text[..digits].parse().ok().filter(|length| *length > 0)?;
    text[digits..].split_at_checked(length)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Number(Option<Scalar>),
    Pointer(Option<Scalar>),
    Other,
}

/// Types one after the other, with those that `S_`, `S0_`, … repeat.
struct Types<'s> {
    rest: &'s str,
    seen: Vec<Type>,
}

impl Types<'_> {
    /// Types within types at most.
    const DEPTH: u32 = 16;

    fn next(&mut self, depth: u32) -> Option<Type> {
        let first = self.rest.chars().next().filter(|_| depth < Self::DEPTH)?;
        if let Some((name, behind)) = source_name(self.rest) {
            self.rest = behind;
            if behind.starts_with('I') {
                return None;
            }
            return Some(self.remember(Type::Number(match name {
                "__half" => Some(Scalar::F16),
                "__nv_bfloat16" => Some(Scalar::Bf16),
                _ => None,
            })));
        }
        let before = self.rest;
        self.rest = &before[first.len_utf8()..];
        let number = |scalar| Some(Type::Number(Some(scalar)));
        match first {
            'P' => {
                let pointee = match self.next(depth + 1)? {
                    Type::Number(scalar) => scalar,
                    Type::Pointer(_) | Type::Other => None,
                };
                Some(self.remember(Type::Pointer(pointee)))
            }
            'r' | 'V' | 'K' => {
                self.rest = before.trim_start_matches(['r', 'V', 'K']);
                let of = self.next(depth + 1)?;
                Some(self.remember(of))
            }
            'S' => {
                let (number, behind) = self.rest.split_once('_')?;
                self.rest = behind;
                let at = match number {
                    "" => 0,
                    digits => usize::from_str_radix(digits, 36).ok()?.checked_add(1)?,
                };
                self.seen.get(at).copied()
            }
            's' => number(Scalar::I16),
            't' => number(Scalar::U16),
            'i' => number(Scalar::I32),
            'j' => number(Scalar::U32),
            'l' | 'x' => number(Scalar::I64),
            'm' | 'y' => number(Scalar::U64),
            'f' => number(Scalar::F32),
            'd' => number(Scalar::F64),
            'v' | 'b' | 'c' | 'a' | 'h' | 'w' => Some(Type::Number(None)),
            // Templates' parameters, references, functions, arrays: what follows is not understood.
            _ => None,
        }
    }

    fn remember(&mut self, of: Type) -> Type {
        self.seen.push(of);
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_they_were_written() {
        for (symbol, written) in [
            ("_ZN2ns7softmaxIfEEvPT_", "ns::softmax<…>"),
            ("_Z7softmaxPfPKfi", "softmax"),
            ("_Z4both6float4P6__half", "both"),
            ("plain", "plain"),
            ("_Zé", "_Zé"),
            ("_Z18446744073709551615k", "_Z18446744073709551615k"),
        ] {
            assert_eq!(written_name(symbol), written);
        }
        assert!(is_entry_of("ns::softmax<float>", "_ZN2ns7softmaxIfEEvPT_"));
        assert!(is_entry_of("softmax", "_Z7softmaxPfPKfi"));
        assert!(!is_entry_of("max", "_Z7softmaxPfPKfi"));
    }

    /// Symbols as NVRTC 12 wrote them.
    #[test]
    fn parameters_say_what_they_point_to() {
        use Scalar::{Bf16, F16, F32, F64, I32, U16};
        for (symbol, types) in [
            ("_Z7softmaxPfPKfi", vec![Some(F32), Some(F32), None]),
            (
                "_Z4castP13__nv_bfloat16PKS_PK6__half",
                vec![Some(Bf16), Some(Bf16), Some(F16)],
            ),
            ("_Z4axpydPKdPd", vec![None, Some(F64), Some(F64)]),
            ("_ZN2ns4twicePiS0_", vec![]),
            ("_ZN2ns5twiceEPiS0_", vec![Some(I32), Some(I32)]),
            ("_Z5bytesPhPvPcPt", vec![None, None, None, Some(U16)]),
            ("_Z4rowsPPf", vec![None]),
            ("_Z5vec4sP6float4PfS_", vec![None, Some(F32), None]),
            ("_Z4tileIfLi32EEvPT_", vec![]),
            ("_Z4tileIfLi32EEvPf", vec![]),
            ("plain", vec![]),
            ("_Z1kS9_", vec![]),
        ] {
            assert_eq!(pointees(symbol), types, "{symbol}");
        }
        assert_eq!(pointees(&format!("_Z1k{}f", "P".repeat(1000))), vec![]);
    }
}
