//! The kernels of a PTX text and the sizes of their parameters.
//!
//! PTX keeps sizes and alignments but forgets what a pointer points to: enough to refuse arguments
//! that do not fit, not enough to guess them.

/// A kernel in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxEntry {
    /// Its name, as the compiler left it.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<PtxParameter>,
}

/// A parameter as PTX describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxParameter {
    /// Size in bytes.
    pub bytes: usize,
    /// Alignment in bytes.
    pub alignment: usize,
}

/// Every kernel of the text, in its order.
pub fn entries(ptx: &str) -> Vec<PtxEntry> {
    let text: String = ptx
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join(" ");
    text.split(".entry ").skip(1).filter_map(entry).collect()
}

fn entry(text: &str) -> Option<PtxEntry> {
    let text = text.trim_start();
    let end = text.find(|c: char| c == '(' || c == '{' || c.is_whitespace())?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let parameters = match rest.strip_prefix('(') {
        Some(list) => list
            .split(')')
            .next()?
            .split(',')
            .filter(|parameter| !parameter.trim().is_empty())
            .map(parameter)
            .collect::<Option<_>>()?,
        None => Vec::new(),
    };
    Some(PtxEntry {
        name: name.to_owned(),
        parameters,
    })
}

/// `.param .u64 name`, `.param .align 8 .b8 name[24]`, with `.ptr` and its words in between.
fn parameter(text: &str) -> Option<PtxParameter> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let width = words.iter().find_map(|word| width_of(word))?;
    let name = words.last()?;
    let count = match name.split_once('[') {
        Some((_, rest)) => rest.strip_suffix(']')?.trim().parse().ok()?,
        None => 1,
    };
    // `.ptr … .align` speaks of what is pointed to, not of the parameter.
    let own = words.iter().take_while(|word| **word != ".ptr");
    let align = own.clone().position(|word| *word == ".align");
    let alignment = align
        .and_then(|at| words.get(at + 1))
        .and_then(|word| word.parse().ok())
        .unwrap_or(width);
    Some(PtxParameter {
        bytes: width * count,
        alignment,
    })
}

fn width_of(word: &str) -> Option<usize> {
    let digits = word
        .strip_prefix(['.'])?
        .strip_prefix(['u', 's', 'b', 'f'])?;
    match digits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_parameter_sizes_are_read() {
        let ptx = "
//\t.globl saxpy
.version 8.0
.visible .entry saxpy(
\t.param .u64 saxpy_param_0, // x
\t.param .u64 .ptr .global .align 16 saxpy_param_1,
\t.param .f32 saxpy_param_2,
\t.param .align 8 .b8 saxpy_param_3[24]
)
{ ld.param.u64 %rd1, [saxpy_param_0]; }
.entry nothing()
{ ret; }
.visible .entry bare
{ ret; }";
        let found = entries(ptx);
        let sizes = |index: usize| -> Vec<(usize, usize)> {
            let parameters = found[index].parameters.iter();
            parameters.map(|p| (p.bytes, p.alignment)).collect()
        };
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].name, "saxpy");
        assert_eq!(sizes(0), [(8, 8), (8, 8), (4, 4), (24, 8)]);
        assert_eq!((found[1].name.as_str(), sizes(1).len()), ("nothing", 0));
        assert_eq!((found[2].name.as_str(), sizes(2).len()), ("bare", 0));
    }

    #[test]
    fn our_own_kernels_are_read() {
        let found = entries(include_str!("../../../../kernels/measure/hold_stream.ptx"));
        let sizes: Vec<usize> = found[0].parameters.iter().map(|p| p.bytes).collect();
        assert_eq!(sizes, [8, 8, 4, 8]);
    }

    #[test]
    fn broken_text_gives_no_kernels_and_no_panic() {
        for text in [
            "",
            ".entry ",
            ".entry x(",
            ".entry x(.param .u64",
            ".entry x(.param y[z])",
        ] {
            entries(text);
        }
    }
}
