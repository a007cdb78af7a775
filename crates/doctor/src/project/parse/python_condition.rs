//! Whether an `if` of a setup.py holds for a given torch, in three values. Python is not executed:
//! only comparisons with the versions of torch and of its CUDA are decided, and platforms that are not
//! CUDA.

use super::condition::{Truth, Versions, names_other_platform};
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

/// Whether `condition` holds where torch has this version.
pub(crate) fn holds(condition: &str, torch: &Version) -> Truth {
    decide(condition.trim().trim_end_matches(':'), torch, 0)
}

fn decide(text: &str, torch: &Version, depth: u32) -> Truth {
    let text = text.trim();
    if depth > 20 {
        return Truth::Either;
    }
    let parts = split(text, " or ");
    if parts.len() > 1 {
        let all = parts.iter().map(|part| decide(part, torch, depth + 1));
        return all.fold(Truth::No, Truth::or);
    }
    let parts = split(text, " and ");
    if parts.len() > 1 {
        let all = parts.iter().map(|part| decide(part, torch, depth + 1));
        return all.fold(Truth::Yes, Truth::and);
    }
    if let Some(rest) = text.strip_prefix("not ") {
        return decide(rest, torch, depth + 1).not();
    }
    if text.starts_with('(') && split(text, ")").len() == 2 && text.ends_with(')') {
        return decide(&text[1..text.len() - 1], torch, depth + 1);
    }
    for sign in [">=", "<=", "==", "!=", ">", "<"] {
        if let [left, right] = split(text, sign).as_slice() {
            return compare(left, sign, right, torch);
        }
    }
    match names_other_platform(text) && !text.contains(" in ") {
        true => Truth::No,
        false => Truth::Either,
    }
}

/// Parts of a text between separators that stand outside of brackets and strings.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let (mut depth, mut quote, mut from, mut skip) = (0i32, None, 0, 0);
    for (at, c) in text.char_indices() {
        if at < skip {
            continue;
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        let outside = quote.is_none() && depth == 0;
        if outside && text[at..].starts_with(separator) {
            parts.push(&text[from..at]);
            from = at + separator.len();
            skip = from;
        }
    }
    parts.push(&text[from..]);
    parts
}

/// What a side of a comparison stands for.
enum Side {
    /// torch's version, its first `parts` numbers.
    Torch(usize),
    TorchMinor,
    /// CUDA's version, or only its major number.
    Cuda {
        only_major: bool,
    },
    Literal(Version),
    Unknown,
}

fn side(text: &str) -> Side {
    let lower = text.to_ascii_lowercase();
    let word = lower.contains("torch") && lower.contains("version");
    if word && !lower.contains("cuda") && !lower.contains("hip") {
        let parts = match () {
            () if lower.contains("[:2]") => 2,
            () if lower.contains("[0]") => 1,
            () => 3,
        };
        return Side::Torch(parts);
    }
    if lower.contains("torch") && lower.trim().ends_with("major") {
        return Side::Torch(1);
    }
    if lower.contains("torch") && lower.trim().ends_with("minor") {
        return Side::TorchMinor;
    }
    let cuda =
        lower.contains("bare_metal") || (lower.contains("cuda") && lower.contains("version"));
    if cuda && !lower.contains("cudnn") && !lower.contains("minor") && !lower.contains("[1]") {
        let only_major = lower.contains("major") || lower.contains("[0]");
        return Side::Cuda { only_major };
    }
    // `"1.13"`, `Version("1.13")`, `(1, 13)`, `[1, 13]`, `13`.
    let digits: String = text
        .chars()
        .filter(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        .collect();
    let call = text
        .split('(')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    let literal = call.is_empty()
        || call.starts_with(['"', '\'', '['])
        || call.starts_with(|c: char| c.is_ascii_digit())
        || call.ends_with("version")
        || call.ends_with("parse");
    let version = Version::parse(digits.trim_matches(['.', ',']).replace(',', ".").as_str());
    match version.filter(|_| literal) {
        Some(version) => Side::Literal(version),
        None => Side::Unknown,
    }
}

fn compare(left: &str, sign: &str, right: &str, torch: &Version) -> Truth {
    let mirrored = match sign {
        ">=" => "<=",
        "<=" => ">=",
        ">" => "<",
        "<" => ">",
        same => same,
    };
    match (side(left), side(right)) {
        (Side::Torch(parts), Side::Literal(value)) => ordered(torch, parts, sign, &value),
        (Side::Literal(value), Side::Torch(parts)) => ordered(torch, parts, mirrored, &value),
        (Side::Cuda { only_major }, Side::Literal(value)) => {
            cuda_compare(torch, only_major, sign, &value)
        }
        (Side::Literal(value), Side::Cuda { only_major }) => {
            cuda_compare(torch, only_major, mirrored, &value)
        }
        (Side::TorchMinor, Side::Literal(value)) => numbers(torch.part(1), sign, value.major()),
        _ => Truth::Either,
    }
}

/// A comparison of the toolkit: torch builds with every release of a major that it is published for.
fn cuda_compare(torch: &Version, only_major: bool, sign: &str, value: &Version) -> Truth {
    let Some(row) = database().torch(torch) else {
        return Truth::Either;
    };
    let published = row.index_variants.iter().filter_map(|variant| {
        let digits = variant.strip_prefix("cu")?.split(' ').next()?;
        digits.get(..2)?.parse::<i64>().ok()
    });
    let on_pypi = row.pypi_cuda.as_deref().and_then(Version::parse);
    let on_pypi = on_pypi.and_then(|cuda| i64::try_from(cuda.major()).ok());
    let majors: Vec<i64> = published.chain(on_pypi).collect();
    let (Some(first), Some(last)) = (majors.iter().min(), majors.iter().max()) else {
        return Truth::Either;
    };
    let versions = Versions::of_majors(*first, *last);
    match only_major {
        true => versions.majors().compare(sign, value),
        false => versions.compare(sign, value),
    }
}

fn ordered(torch: &Version, parts: usize, sign: &str, value: &Version) -> Truth {
    if parts == 1 {
        return numbers(torch.major(), sign, value.major());
    }
    // As many numbers as the slower side writes: 2.1.0 is neither above nor below `(2, 1)`.
    for n in 0..parts {
        let (ours, theirs) = (torch.part(n), value.part(n));
        if ours != theirs {
            return match sign {
                ">=" | ">" => (ours > theirs).into(),
                "<=" | "<" => (ours < theirs).into(),
                "==" => Truth::No,
                _ => Truth::Yes,
            };
        }
    }
    matches!(sign, ">=" | "<=" | "==").into()
}

fn numbers(ours: u64, sign: &str, theirs: u64) -> Truth {
    match sign {
        ">=" => ours >= theirs,
        "<=" => ours <= theirs,
        ">" => ours > theirs,
        "<" => ours < theirs,
        "==" => ours == theirs,
        _ => ours != theirs,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn version_guards_are_evaluated() {
        let torch = Version::parse("2.15.0").unwrap();
        for (condition, expected) in [
            ("torch.__version__ <= '1.12.1':", Truth::No),
            ("parse(torch.__version__) < Version(\"1.13\")", Truth::No),
            (
                "TORCH_MAJOR > 1 or (TORCH_MAJOR == 1 and TORCH_MINOR >= 12)",
                Truth::Yes,
            ),
            ("TORCH_VERSION[:2] >= (2, 1)", Truth::Yes),
            ("Version('2.0') <= Version(torch.__version__)", Truth::Yes),
            ("not (torch.__version__ < '2.0')", Truth::Yes),
            ("IS_ROCM", Truth::No),
            ("not IS_HIP", Truth::Yes),
            ("bare_metal_version >= Version('11.8')", Truth::Yes),
            ("int(bare_metal_major) < 12", Truth::No),
            ("bare_metal_minor >= 1", Truth::Either),
            ("sys.platform == 'win32'", Truth::Either),
            ("torch.version.cuda >= '11.0'", Truth::Yes),
            ("int(torch.version.cuda.split('.')[0]) >= 12", Truth::Yes),
            ("CUDA_VERSION < 11080", Truth::Either),
            ("'13.1' <= torch.version.cuda", Truth::Either),
            ("", Truth::Either),
        ] {
            assert_eq!(holds(condition, &torch), expected, "{condition}");
        }
    }

    #[test]
    fn a_torch_of_two_toolkits_decides_only_what_both_do() {
        let torch = Version::parse("2.14.0").unwrap();
        for (condition, expected) in [
            ("torch.version.cuda >= '11.8'", Truth::Yes),
            ("torch.version.cuda >= '13.0'", Truth::Either),
            ("torch.version.cuda >= '14.0'", Truth::No),
        ] {
            assert_eq!(holds(condition, &torch), expected, "{condition}");
        }
    }

    proptest! {
        #[test]
        fn any_condition_has_a_value(text in "(not |\\(|\\)| and | or |>=|<|'1\\.2'|torch\\.__version__|é|\\PC){0,40}") {
            let _ = holds(&text, &Version::parse("2.0").unwrap());
        }
    }
}
