//! Reads a case from its text: every mistake names its file, line and key.

mod arguments;
mod choices;
mod consistency;
mod launch;
mod reference;
mod sizes;

use std::fs;
use std::path::{Path, PathBuf};

use crate::description::{Callable, Case, Source};
use crate::document::{CaseError, Item, Place, parse};

/// More points than this of one tunable, or arguments of a kernel, are a mistake.
const MOST_VALUES: usize = 4096;

const TOP: &[&str] = &[
    "source",
    "kernel",
    "sizes",
    "tails",
    "constraints",
    "arguments",
    "launch",
    "compile",
    "reference",
    "tolerance",
    "tunables",
    "cost",
];

impl Case {
    /// Reads the case of a file.
    pub fn open(path: &Path) -> Result<Self, CaseError> {
        let unreadable = |problem: String| CaseError {
            file: path.to_owned(),
            line: 1,
            key: String::new(),
            problem,
        };
        let text = fs::read_to_string(path)
            .map_err(|error| unreadable(format!("cannot read the case: {error}")))?;
        Self::parse(path, &text)
    }

    /// Reads a case; `file` is what messages call it, and paths in it are relative to its folder.
    pub fn parse(file: &Path, text: &str) -> Result<Self, CaseError> {
        let mut table = parse(file, text)?;
        let reader = Reader { file };
        let whole = Place {
            line: 1,
            key: "source".into(),
        };
        let Some(source) = table.take("source") else {
            return Err(whole.error(file, "missing: the file that holds the kernel"));
        };
        let source_place = source.place.clone();
        let source = reader.source(&source)?;
        let kernel = match table.take("kernel") {
            Some(item) => Some(item.text(file)?),
            None => None,
        };
        let tunables = reader.tunables(table.take("tunables"))?;
        let mut sizes = reader.sizes(table.take("sizes"))?;
        if let Some(item) = table.take("tails") {
            sizes.tails = item.truth(file)?;
        }
        let constraints = match table.take("constraints") {
            None => Vec::new(),
            Some(item) => item
                .list()
                .iter()
                .map(|item| Ok((item.place.clone(), item.expression(file)?)))
                .collect::<Result<_, CaseError>>()?,
        };
        let arguments = match table.take("arguments") {
            None => Vec::new(),
            Some(item) => reader.arguments(item)?,
        };
        let launch = reader.launch(table.take("launch"), &source, &source_place)?;
        let (defines, flags) = reader.compile(table.take("compile"))?;
        let reference = table
            .take("reference")
            .map(|item| reader.reference(item, &source))
            .transpose()?;
        let tolerance = table
            .take("tolerance")
            .map(|item| reader.tolerance(item))
            .transpose()?;
        let cost = reader.cost(table.take("cost"))?;
        table.finish(file, TOP)?;
        let case = Self {
            file: file.to_owned(),
            source,
            kernel,
            sizes,
            constraints,
            arguments,
            launch,
            defines,
            flags,
            reference,
            tolerance,
            tunables,
            cost,
        };
        case.check()?;
        Ok(case)
    }
}

struct Reader<'a> {
    file: &'a Path,
}

impl Reader<'_> {
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(name)
    }

    fn source(&self, item: &Item) -> Result<Source, CaseError> {
        let text = item.text(self.file)?;
        if let Some(callable) = self.callable(&text) {
            return Ok(Source::Callable(callable));
        }
        let path = self.beside(&text);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("cu" | "cuh") => Ok(Source::Cuda(path)),
            Some("ptx") => Ok(Source::Ptx(path)),
            Some("cubin") => Ok(Source::Cubin(path)),
            Some("py") => Ok(Source::Warp(path)),
            _ => Err(item.error(
                self.file,
                format!(
                    "cannot tell what `{text}` is: a `.cu`, `.ptx`, `.cubin` or Warp-style `.py` file, \
                     or `file.py:function` for a Python function"
                ),
            )),
        }
    }

    /// `file.py:function`, or `module:function` for `module.py` beside the case.
    fn callable(&self, text: &str) -> Option<Callable> {
        let (file, function) = text.rsplit_once(':')?;
        let name = |text: &str| {
            let mut letters = text.chars();
            letters
                .next()
                .is_some_and(|first| first.is_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        if !name(function) || file.is_empty() {
            return None;
        }
        let file = match file.ends_with(".py") {
            true => self.beside(file),
            false if file.split('.').all(name) => self.beside(&(file.replace('.', "/") + ".py")),
            false => return None,
        };
        Some(Callable {
            file,
            function: function.to_owned(),
        })
    }

    fn name(&self, place: &Place, name: &str) -> Result<(), CaseError> {
        let good = name
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        match good {
            true => Ok(()),
            false => Err(place.error(
                self.file,
                "a name is letters, digits and `_`, and begins with no digit",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Reference, ReferenceKind};

    pub(crate) const SOFTMAX: &str = r#"source = "softmax.cu"
kernel = "softmax"
reference = "softmax.py:softmax"
constraints = ["BLOCK % 32 == 0"]

[sizes]
rows = [1, 64]
cols = ["1K", 4096]

[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = ["rows", "cols"]
fill = { normal = [0, 2] }

[[arguments]]
name = "out"
direction = "out"
type = "f32"
shape = ["rows", "cols"]

[[arguments]]
name = "n"
type = "i32"
value = "cols"

[launch]
grid = "rows"
block = "BLOCK"
shared = "4 * block_x"

[compile]
defines = { MODE = "fast", LIMIT = 3 }
flags = ["--use_fast_math"]

[tolerance]
rel = 1e-5
because = "sums of 4096 terms"

[tunables]
BLOCK = [64, 128, 256]
"--maxrregcount" = [32, 64]

[cost]
bytes = "8 * rows * cols"
"#;

    fn read(text: &str) -> Result<Case, CaseError> {
        Case::parse(Path::new("kernels/softmax.toml"), text)
    }

    #[test]
    fn a_case_is_read_whole() {
        let case = read(SOFTMAX).unwrap();
        assert_eq!(case.source, Source::Cuda("kernels/softmax.cu".into()));
        assert_eq!(case.sizes.names, ["rows", "cols"]);
        assert_eq!(case.sizes.listed.len(), 4);
        assert_eq!(case.sizes.listed[0]["cols"], 1024);
        assert_eq!(case.arguments.len(), 3);
        assert_eq!(case.defines[1], ("LIMIT".into(), "3".into()));
        assert_eq!(case.tunables[1].name, "--maxrregcount");
        assert_eq!(case.name(), "softmax");
        assert_eq!(case.outputs().count(), 1);
        let Some(Reference {
            kind: ReferenceKind::Function(callable),
            ..
        }) = &case.reference
        else {
            panic!();
        };
        assert_eq!(callable.function, "softmax");
    }

    #[test]
    fn sizes_may_be_listed_one_by_one() {
        let text = "source = \"a.py\"\nsizes = [{ n = 1, m = 2 }, { m = 5, n = 3 }]\n[launch]\ndim = \"n\"\n";
        let case = read(text).unwrap();
        assert_eq!(case.sizes.listed.len(), 2);
        assert_eq!(case.sizes.listed[1]["m"], 5);
        let uneven = text.replace(", { m = 5, n = 3 }", ", { n = 3 }");
        assert!(
            read(&uneven)
                .unwrap_err()
                .problem
                .contains("same dimensions")
        );
    }

    /// One line of the case exchanged, and what is then said.
    #[test]
    fn mistakes_name_line_and_key() {
        for (from, to, said) in [
            ("source = \"softmax.cu\"", "", ":1: `source`: missing"),
            (
                "softmax.cu",
                "softmax.c",
                ":1: `source`: cannot tell what `softmax.c` is",
            ),
            (
                "rows = [1, 64]",
                "rows = [-1]",
                ":7: `sizes.rows[0]`: -1 is not a size",
            ),
            (
                "rows = [1, 64]",
                "rows = []",
                ":7: `sizes.rows`: it lists no size",
            ),
            (
                "\"1K\"",
                "\"1X\"",
                ":8: `sizes.cols[0]`: `1X` is not a whole number",
            ),
            (
                "type = \"f32\"\nshape = [\"rows\", \"cols\"]\nfill",
                "type = \"f33\"\nshape = [\"rows\", \"cols\"]\nfill",
                ":13: `arguments[0].type`: there is no such type",
            ),
            (
                "direction = \"out\"",
                "direction = \"output\"",
                ":19: `arguments[1].direction`: `output` is neither",
            ),
            ("name = \"out\"", "", "`arguments[1].name`: missing"),
            (
                "shape = [\"rows\", \"cols\"]\nfill",
                "shape = [\"row\", \"cols\"]\nfill",
                "`row`: there is no dimension or tunable `row`; there are rows, cols, BLOCK",
            ),
            (
                "{ normal = [0, 2] }",
                "{ normal = [0] }",
                ":15: `arguments[0].fill.normal`: two numbers expected",
            ),
            (
                "{ normal = [0, 2] }",
                "\"gauss\"",
                ":15: `arguments[0].fill`: `gauss` is no fill",
            ),
            (
                "grid = \"rows\"",
                "grid = \"rows +\"",
                ":29: `launch.grid`: `rows +`: it ends too early",
            ),
            ("block = \"BLOCK\"", "", ":28: `launch`: missing: `block`"),
            (
                "because = \"sums of 4096 terms\"",
                "",
                ":37: `tolerance`: missing: `because`",
            ),
            (
                "rel = 1e-5",
                "rel = -1",
                ":38: `tolerance.rel`: -1 is no bound",
            ),
            (
                "flags = [",
                "flag = [",
                ":35: `compile.flag`: there is no such key (did you mean `flags`?)",
            ),
            (
                "value = \"cols\"",
                "value = \"cols\"\nfill = \"ones\"",
                "`arguments[2].fill`: what is given by `value`",
            ),
            (
                "BLOCK = [64, 128, 256]",
                "rows = [64]",
                "`rows` is a dimension and a tunable",
            ),
            (
                "name = \"n\"",
                "name = \"x\"",
                "there are two arguments `x`",
            ),
            ("\"BLOCK % 32 == 0\"", "\"BLOCK % 0\"", ""),
            ("[cost]", "[cots]", "`cots`: there is no such key"),
        ] {
            let text = SOFTMAX.replacen(from, to, 1);
            assert_ne!(text, SOFTMAX, "{from}");
            match (read(&text), said) {
                (Ok(_), "") => {}
                (Ok(_), said) => panic!("`{to}` was read; expected: {said}"),
                (Err(error), said) => {
                    let error = error.to_string();
                    assert!(
                        error.starts_with("kernels/softmax.toml:") && error.contains(said),
                        "{error}"
                    );
                }
            }
        }
    }

    #[test]
    fn products_of_sizes_are_bounded() {
        let list = format!("{:?}", (1..=200).collect::<Vec<_>>());
        let text =
            format!("source = \"a.py\"\n[sizes]\na = {list}\nb = {list}\n[launch]\ndim = \"a\"\n");
        assert!(read(&text).unwrap_err().problem.contains("combinations"));
    }
}
