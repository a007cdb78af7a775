//! A patch is offered only where the new text can still be read as what the file is.
//!
//! C++ is compared by its structure: brackets pair up, and the same functions and launches are there.
//! That is less than a compiler says, which is asked afterwards where there is one; no fix of a source
//! counts as safe.

use super::Patch;
use crate::project::parse::cuda::CudaFile;
use crate::project::parse::cuda_lexer::{TokenKind, lex};
use crate::project::parse::dockerfile::Dockerfile;
use crate::project::parse::pyproject::Pyproject;
use crate::project::parse::yaml::Outline;
use crate::project::walk::{self, Kind};

/// Whether the new text of a file still parses; otherwise why not.
pub(super) fn proved(patch: &Patch) -> Result<(), String> {
    let before = patch.before.as_deref().unwrap_or("");
    let after = patch.after.as_str();
    let sound = match walk::kind(&patch.file) {
        Kind::Workflow | Kind::OtherCi | Kind::Yaml => {
            Outline::parse(after).faults.len() <= Outline::parse(before).faults.len()
        }
        Kind::Pyproject => {
            let fault = |text| Pyproject::parse(&patch.file, text).fault.is_some();
            !fault(after) || (patch.before.is_some() && fault(before))
        }
        Kind::Dockerfile => {
            let stages = |text| Dockerfile::parse(&patch.file, text).stages.len();
            stages(after) == stages(before)
        }
        Kind::Cuda | Kind::Cxx => same_structure(&patch.file, before, after),
        Kind::Python | Kind::SetupPy => balance(after) == balance(before),
        _ => true,
    };
    let codes = || patch.codes.join(", ");
    sound
        .then_some(())
        .ok_or_else(|| format!("the text after the fix of {} does not parse", codes()))
}

/// What each kind of bracket leaves open.
fn balance(text: &str) -> [i64; 3] {
    let mut open = [0i64; 3];
    for token in lex(text)
        .tokens
        .iter()
        .filter(|t| t.kind == TokenKind::Sign)
    {
        match token.text {
            "(" => open[0] += 1,
            ")" => open[0] -= 1,
            "[" => open[1] += 1,
            "]" => open[1] -= 1,
            "{" => open[2] += 1,
            "}" => open[2] -= 1,
            _ => {}
        }
    }
    open
}

fn same_structure(path: &str, before: &str, after: &str) -> bool {
    let shape = |text: &str| {
        let file = CudaFile::parse(path, text);
        let functions: Vec<(String, usize)> = file
            .functions
            .into_iter()
            .map(|f| (f.name, f.launches.len()))
            .collect();
        (functions, file.macros.len())
    };
    balance(before) == balance(after) && shape(before) == shape(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(file: &str, before: &str, after: &str) -> Patch {
        Patch {
            file: file.into(),
            before: Some(before.into()),
            after: after.into(),
            codes: vec!["SRC002".into()],
        }
    }

    #[test]
    fn a_text_that_is_broken_is_not_offered() {
        let source = "void f() { k<<<1, 1>>>(); }\n";
        let good = "void f() { k<<<1, 1>>>(); CHECK(); }\n";
        assert!(proved(&patch("a.cu", source, good)).is_ok());
        assert!(proved(&patch("a.cu", source, "void f() { k<<<1, 1>>>(;) }\n}")).is_err());
        assert!(proved(&patch("a.cu", source, "void g() { k<<<1, 1>>>(); }\n")).is_err());
        let workflow = ".github/workflows/a.yml";
        assert!(proved(&patch(workflow, "a: 1\n", "a: [1\n\tb: 2\n")).is_err());
        assert!(proved(&patch("pyproject.toml", "[a]\n", "[a\n")).is_err());
        assert!(proved(&patch("setup.py", "f(1)\n", "f((1)\n")).is_err());
    }
}
