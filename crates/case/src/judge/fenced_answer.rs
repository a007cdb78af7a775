//! The code in an answer of a language model, which comes as Markdown: prose, and code between fences.

/// The code of an answer: the first fenced block that defines something, else the first block. A text that is
/// itself code, whose comments may well hold fences, stays as it is.
pub(super) fn code_of_answer(text: &str) -> &str {
    let blocks = match text.lines().find(|line| !line.trim().is_empty()) {
        Some(first) if !is_code(first) => fenced_blocks(text),
        _ => return text,
    };
    let defines = |block: &&&str| block.lines().any(is_definition);
    match blocks.iter().find(defines).or(blocks.first()) {
        Some(block) => block,
        None => text,
    }
}

/// The texts between a line of three backticks, with or without a language, and the next such line or the end:
/// answers are cut off at a limit.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let (mut opened, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.starts_with("```") {
            match opened.take() {
                Some(start) => blocks.push(&text[start..at]),
                // Code before the first fence: the fences are in its comments.
                None if blocks.is_empty() && text[..at].lines().any(is_code) => return blocks,
                None => opened = Some(end),
            }
        }
        at = end;
    }
    blocks.extend(opened.map(|start| &text[start..]));
    blocks
}

fn is_code(line: &str) -> bool {
    // A `#` alone is a heading as well as a comment.
    let beginnings = [
        "#include", "#define", "#if", "#pragma", "#!", "//", "/*", "\"\"\"", "'''", "import ",
        "from ", "@", "template", "extern", "static ",
    ];
    beginnings.iter().any(|one| line.starts_with(one)) || is_definition(line)
}

fn is_definition(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("def ") || line.starts_with("class ") || line.contains("__global__")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_code_is_taken_out_of_an_answer() {
        let code = "import torch\ndef f(x):\n    return x\n";
        for answer in [
            format!("```python\n{code}```"),
            format!("```\n{code}```\n\nThis returns `x`.\n"),
            format!(
                "Here is the kernel:\n\n```python\n{code}```\nRun it with\n```bash\npython f.py\n```\n"
            ),
            format!(
                "# Plan\nFirst install\n```bash\npip install torch\n```\nthen\n```python\n{code}```\n"
            ),
            format!("I was cut off:\n```python\n{code}"),
            code.to_owned(),
        ] {
            assert_eq!(code_of_answer(&answer), code, "{answer}");
        }
        let cuda = "extern \"C\" __global__ void f(float *x) {}\n";
        assert_eq!(code_of_answer(&format!("```cuda\n{cuda}```")), cuda);
    }

    #[test]
    fn code_with_fences_in_its_comments_is_code() {
        for code in [
            "def f(x):\n    \"\"\"\n```\nf(1)\n```\n    \"\"\"\n    return x\n",
            "\"\"\"As in\n```\nf(1)\n```\n\"\"\"\ndef f(x):\n    return x\n",
            "// usage\n/*\n```\nf<<<1, 1>>>()\n```\n*/\n__global__ void f() {}\n",
            "x = 3\ndef f(y):\n    return y\n```\n",
            "",
            "```",
        ] {
            let wanted = if code == "```" { "" } else { code };
            assert_eq!(code_of_answer(code), wanted, "{code}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in "(```(python)?\n|\n|def f\\(x\\): pass\n|é|#|.){0,40}") {
            prop_assert!(text.contains(code_of_answer(&text)));
        }
    }
}
