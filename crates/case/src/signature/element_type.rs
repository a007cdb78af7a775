//! The number type behind a C++ type.

use warpsmith_measure::kernel_file::Scalar;

/// The number type of a C++ type, and how many of them it holds.
pub(super) fn element(words: &[&str]) -> Option<(Scalar, u32)> {
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
