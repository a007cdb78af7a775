//! Problems found in a kernel, before and after they become findings.

use warpsmith_core::{CodeDoc, Finding, Severity, Span};

use crate::syntax::SourceText;

/// A problem at a place in the source; the compiler stops at the first.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Problem {
    /// A problem over a range of bytes.
    pub(crate) fn at(code: &'static str, start: u32, end: u32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            start,
            end,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The finding that a user sees.
    pub(crate) fn into_finding(self, file: &str, text: &str, source: &SourceText) -> Finding {
        let line = source.line_of(self.start);
        let column = source.column_of(text, self.start);
        let width = text
            .get(self.start as usize..self.end as usize)
            .map_or(0, |part| {
                part.lines().next().unwrap_or("").chars().count() as u32
            });
        let mut finding = Finding::new(self.code, Severity::Error, self.message).at(Span {
            file: file.to_owned(),
            line,
            column,
            end_column: column + width,
        });
        // Every code says what to do about it; a problem that knows better says so itself.
        finding.hint = self.hint.or_else(|| {
            let doc = CODES.iter().find(|doc| doc.code == self.code);
            doc.map(|doc| doc.fix.to_owned())
        });
        finding
    }
}

/// A finding with its source line and a caret under the place.
///
/// ```
/// use warpsmith_core::{Finding, Severity, Span};
/// let finding = Finding::new("K006", Severity::Error, "`y` is not defined").at(Span {
///     file: "kernels.py".into(), line: 1, column: 5, end_column: 6,
/// });
/// assert_eq!(
///     warpsmith_compiler::render(&finding, "x = y\n"),
///     "error K006: `y` is not defined\n  --> kernels.py:1:5\n   |\n 1 | x = y\n   |     ^\n"
/// );
/// ```
pub fn render(finding: &Finding, source: &str) -> String {
    let mut text = format!(
        "{} {}: {}\n",
        finding.severity, finding.code, finding.message
    );
    if let Some(span) = &finding.span {
        let number = span.line.to_string();
        let gutter = " ".repeat(number.len());
        text.push_str(&format!("{gutter} --> {span}\n"));
        let line = source
            .lines()
            .nth(span.line.saturating_sub(1) as usize)
            .unwrap_or("");
        let before: String = line
            .chars()
            .take(span.column.saturating_sub(1) as usize)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let width = span.end_column.saturating_sub(span.column).max(1) as usize;
        let carets = "^".repeat(width);
        text.push_str(&format!(
            "{gutter}  |\n {number} | {line}\n{gutter}  | {before}{carets}\n"
        ));
    }
    for evidence in &finding.evidence {
        text.push_str(&format!("  = {}: {}\n", evidence.source, evidence.seen));
    }
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("  = hint: {hint}\n"));
    }
    text
}

/// One entry of the table below.
const fn doc(
    code: &'static str,
    title: &'static str,
    explanation: &'static str,
    fix: &'static str,
) -> CodeDoc {
    CodeDoc {
        code,
        title,
        explanation,
        fix,
    }
}

/// The code of a call that needs the library's source.
pub(crate) const LIBRARY_FUNCTION: &str = "K029";

/// What each code means.
pub const CODES: &[CodeDoc] = &[
    doc(
        "K001",
        "the source is not valid Python",
        "The parser stopped before the compiler could look at any kernel.",
        "correct the syntax at the place shown",
    ),
    doc(
        "K002",
        "a statement outside functions is not understood",
        "Module-level code is evaluated without running Python: imports, constants, type aliases, \
         structs, functions and kernels. A statement of another kind could change anything, so the \
         compiler does not guess.",
        "keep only definitions and constants at module level",
    ),
    doc(
        "K003",
        "there is not exactly one kernel to compile",
        "A translation unit holds one kernel: the source has none, several, or a generic one without \
         exactly one overload.",
        "name the kernel, or add `wp.overload(kernel, [types])` to a generic one",
    ),
    doc(
        "K004",
        "a type annotation is missing or not understood",
        "Every parameter of a kernel or function and every field of a struct needs a type that can be \
         worked out from the source alone.",
        "annotate it, e.g. `x: wp.array(dtype=float)`",
    ),
    doc(
        "K005",
        "a construct is not part of the kernel language",
        "Kernels are a subset of Python; the construct shown has no translation.",
        "rewrite it with assignments, `if`, `for`, `while` and calls",
    ),
    doc(
        "K006",
        "a name is not defined",
        "The name is neither a local, nor a constant or function of the module, nor a builtin.",
        "define it before the kernel, or correct its spelling",
    ),
    doc(
        "K007",
        "no overload takes these types",
        "Arguments are matched exactly: there are no implicit conversions between integers and floats, \
         nor between widths.",
        "convert explicitly, e.g. `float(i)` or `wp.float64(x)`",
    ),
    doc(
        "K008",
        "operands have different types",
        "An overload fits the shapes of the operands, and their scalar types or sizes then disagree.",
        "convert one of them explicitly",
    ),
    doc(
        "K009",
        "a variable changes its type",
        "A name keeps the type of its first value for the whole function.",
        "use another name, or convert the value",
    ),
    doc(
        "K010",
        "a constant is changed in a dynamic loop",
        "A name that was bound to a literal is a compile-time constant and cannot be carried from one \
         iteration to the next.",
        "declare a variable: `x = float(0.0)` or `n = int(0)`",
    ),
    doc(
        "K011",
        "the number of indices does not fit",
        "An array is indexed with one index per dimension; fewer make a view, more reach into the element.",
        "give one index per dimension, or declare the array with its rank, e.g. `wp.array2d`",
    ),
    doc(
        "K012",
        "there is no such attribute",
        "Vectors have `x y z w`, one letter at a time; transforms `p` and `q`; arrays `shape`; structs \
         their fields.",
        "correct the attribute",
    ),
    doc(
        "K013",
        "a kernel returns a value",
        "Kernels write their results into arrays; `return` stands alone.",
        "store the value in an output array",
    ),
    doc(
        "K014",
        "`tid()` is called in a function",
        "Only the kernel knows its thread; functions are given the index.",
        "call `wp.tid()` in the kernel and pass the index on",
    ),
    doc(
        "K015",
        "the results of a function disagree",
        "All `return` statements give the same number of values of the same types, and an annotation \
         says the same.",
        "make the returns agree",
    ),
    doc(
        "K016",
        "a value cannot be used here",
        "A type, function, module or list of results stands where a single value is needed.",
        "use a value",
    ),
    doc(
        "K017",
        "an assignment has several targets",
        "`a = b = c` is not supported.",
        "write one assignment per name",
    ),
    doc(
        "K018",
        "the number of values to unpack does not fit",
        "The names on the left must be as many as the values on the right, and simple names.",
        "name every value",
    ),
    doc(
        "K019",
        "a value of another type is stored",
        "Arrays, struct fields and components take values of exactly their own type.",
        "convert the value explicitly",
    ),
    doc(
        "K020",
        "a slice or length is not a constant",
        "Slices of vectors and matrices and the shapes of fixed arrays are part of a type, so they must be \
         known when the kernel is compiled.",
        "use literals or constants",
    ),
    doc(
        "K021",
        "a builtin is outside the supported subset",
        "Tiles, meshes, volumes, textures, native snippets, custom gradients and the like are not \
         compiled yet; refusing them is what keeps every accepted kernel exact.",
        "keep the kernel to scalars, arrays, vectors, matrices, quaternions, transforms, functions and \
         structs",
    ),
    doc(
        "K022",
        "the source is too large or too deeply nested",
        "Limits on length and nesting bound the compiler's time and memory on any input.",
        "split the expression or the file",
    ),
    doc(
        "K023",
        "a module-level value is not understood",
        "The kernel uses a name whose value the compiler cannot work out without running Python.",
        "replace it by a literal, a `wp.constant`, or a supported type",
    ),
    doc(
        "K024",
        "the reference text depends on chance",
        "Two leftover loop variables are changed in one later loop; Warp then orders its copies by a \
         randomised hash, so there is no one text to reproduce.",
        "use new names for the later loop",
    ),
    doc(
        "K025",
        "an option is not supported",
        "The option changes the generated text in a way that is not reproduced.",
        "leave the option out",
    ),
    doc(
        "K026",
        "a function calls itself",
        "Functions are compiled into their callers, so recursion has no end.",
        "write a loop",
    ),
    doc(
        "K027",
        "the index or condition has the wrong type",
        "Indices are integers (or slices), conditions booleans or integers.",
        "convert the value, e.g. `int(x)` or `x != 0.0`",
    ),
    doc(
        "K028",
        "NVRTC does not compile the emitted text",
        "The kernel is one that Warp writes C++ for, and the C++ compiler then refuses it: a comparison of \
         types without an order, say. The line is the Python line that the refused C++ stands under.",
        "write the statement differently; `--emit cuda` shows the text",
    ),
    doc(
        "K029",
        "a function of Warp's own library is called",
        "Eighteen of Warp's functions (`wp.transform_compose`, `wp.quat_from_euler`, `wp.norm_l1`…) are \
         Python sources of its library, and the text that Warp writes quotes their lines. This program \
         has no copy of them, so it needs the library's own file.",
        "name the file: `warpsmith compile --library …/site-packages/warp/_src/math.py`, or set \
         WARPSMITH_WARP_LIBRARY",
    ),
    doc(
        "K101",
        "an index is out of range",
        "A thread reached outside an array, or outside the components of a value, while the kernel was \
         interpreted. The thread stopped there; on a GPU it would have read or changed other memory.",
        "guard the access with `if i < x.shape[0]:`, or launch as many threads as there are elements",
    ),
    doc(
        "K102",
        "a variable is read before it has a value",
        "The variable is assigned in a branch or loop that did not run in this thread. Compiled code \
         reads whatever the register held.",
        "assign the variable before the branch",
    ),
    doc(
        "K103",
        "the interpreter does not know an operation",
        "The kernel compiles, and the reference interpreter has no definition for one of its \
         operations; it refuses rather than guess.",
        "run the kernel on a GPU, or write the operation out",
    ),
    doc(
        "K104",
        "an expectation of the kernel does not hold",
        "`assert`, `expect_eq`, `expect_neq` or `expect_near` failed in a thread.",
        "print the operands in the thread that the finding names",
    ),
    doc(
        "K106",
        "an integer is divided by zero",
        "The thread stopped there; compiled code stops the program on a CPU and gives an arbitrary \
         number on a GPU.",
        "guard the division",
    ),
    doc(
        "K107",
        "a loop did not end",
        "The loop made more iterations than the interpreter allows a block of threads.",
        "see that the condition of the loop becomes false",
    ),
    doc(
        "K108",
        "threads race",
        "The order of threads decides the result: they store different values to one element, use what \
         another thread changes, or look at the old value of an atomic operation. A GPU keeps no order.",
        "give each thread its own element, or combine values with an atomic operation",
    ),
    doc(
        "K109",
        "a result is not finite",
        "An array holds infinities or values that are no number after the run.",
        "keep the arguments inside the domain of the functions used",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
