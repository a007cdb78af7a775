//! The parts of a PTX module: one kernel with what it needs, out of a unit that many pairs share.

use std::collections::BTreeSet;

/// A definition or declaration at the top level.
#[derive(Debug)]
struct Item<'a> {
    text: &'a str,
    /// Functions, variables and kernels by the names that they define.
    name: &'a str,
}

/// A PTX module, divided into its definitions.
#[derive(Debug)]
pub(super) struct PtxItems<'a> {
    /// Version, target and address size.
    header: &'a str,
    items: Vec<Item<'a>>,
}

impl<'a> PtxItems<'a> {
    /// Divides a module.
    pub(super) fn of(ptx: &'a str) -> Self {
        let is_item = |line: &str| {
            [
                ".visible", ".weak", ".extern", ".func", ".entry", ".global", ".const", ".shared",
                ".common",
            ]
            .iter()
            .any(|word| line.starts_with(word))
        };
        let mut starts = Vec::new();
        let mut at = 0;
        let mut depth = 0_i32;
        for line in ptx.split_inclusive('\n') {
            if depth == 0 && is_item(line) {
                starts.push(at);
            }
            // Brackets of parameter lists and bodies; names and strings of PTX have none.
            for byte in line.bytes() {
                depth += match byte {
                    b'{' | b'(' => 1,
                    b'}' | b')' => -1,
                    _ => 0,
                };
            }
            at += line.len();
        }
        let header = without_last_comment(&ptx[..starts.first().copied().unwrap_or(ptx.len())]);
        let ends = starts.iter().skip(1).copied().chain([ptx.len()]);
        let items = starts.iter().zip(ends).map(|(start, end)| {
            let text = without_last_comment(&ptx[*start..end]);
            Item {
                text,
                name: defined_name(text),
            }
        });
        Self {
            header,
            items: items.collect(),
        }
    }

    /// A module of the kernels with these names and of what they use.
    pub(super) fn module(&self, kernels: &[String]) -> String {
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = (0..self.items.len())
            .filter(|n| kernels.iter().any(|kernel| self.items[*n].name == kernel))
            .collect();
        while let Some(next) = open.pop() {
            if !wanted.insert(next) {
                continue;
            }
            let words: BTreeSet<&str> = words(self.items[next].text).collect();
            open.extend((0..self.items.len()).filter(|n| words.contains(self.items[*n].name)));
        }
        let mut text = self.header.to_owned();
        for item in wanted {
            text.push_str(self.items[item].text);
        }
        text
    }
}

/// A text without the comment at its end, which announces what comes next: `// .globl name`.
fn without_last_comment(text: &str) -> &str {
    let trimmed = text.trim_end();
    match trimmed.rfind('\n') {
        Some(line) if trimmed[line..].trim_start().starts_with("// .globl") => &trimmed[..=line],
        _ => text,
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c))
        .filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
}

/// The name that a definition introduces: what stands before its parameters, or before a variable's
/// size.
fn defined_name(text: &str) -> &str {
    let is_function = |line: &str| line.contains(".func") || line.contains(".entry");
    let head = text.lines().next().unwrap_or_default();
    if is_function(head) {
        // A function's result, in parentheses, stands before its name.
        let after = match head.find(".func") {
            Some(at) => &text[at + ".func".len()..],
            None => &text[text.find(".entry").unwrap_or(0) + ".entry".len()..],
        };
        let after = after.trim_start();
        let after = match after.strip_prefix('(') {
            Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
            None => after,
        };
        return words(after).next().unwrap_or_default();
    }
    let before = text.split(['[', '=', ';']).next().unwrap_or_default();
    words(before).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
// made by hand
.version 8.0
.target sm_80
.address_size 64

\t// .globl\tfirst_cuda_kernel_forward
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;
.global .align 1 .b8 $str[4] = {37, 100, 10, 0};
.global .align 4 .b8 table[16];

.visible .entry first_cuda_kernel_forward(
\t.param .u64 first_param_0
)
{
\tmov.u64 %rd1, table;
\tret;
}
\t// .globl\tsecond_cuda_kernel_forward
.func helper(.param .b64 p)
{
\tmov.u64 %rd1, $str;
\tcall.uni (retval0), vprintf, (param0);
\tret;
}

.visible .entry second_cuda_kernel_forward(
\t.param .u64 second_param_0
)
{
\tcall.uni helper, (param0);
\tret;
}
";

    #[test]
    fn a_kernel_comes_with_what_it_needs_and_nothing_else() {
        let items = PtxItems::of(PTX);
        let names: Vec<&str> = items.items.iter().map(|item| item.name).collect();
        assert_eq!(
            names,
            [
                "vprintf",
                "$str",
                "table",
                "first_cuda_kernel_forward",
                "helper",
                "second_cuda_kernel_forward"
            ]
        );
        let first = items.module(&["first_cuda_kernel_forward".to_owned()]);
        assert!(first.contains(".target sm_80") && first.contains("table[16]"));
        assert!(!first.contains("vprintf") && !first.contains("helper"));
        assert!(!first.contains("second") && !first.contains("globl"));
        let second = items.module(&["second_cuda_kernel_forward".to_owned()]);
        assert!(second.contains(".func helper") && second.contains("$str[4]"));
        assert!(second.contains(".extern .func") && !second.contains("table"));
    }
}
