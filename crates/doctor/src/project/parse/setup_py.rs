//! setup.py read as indented lines: what it imports, which flags it passes, and whether it can be
//! run where no GPU is visible. Python is not executed.

use super::requirements::{Requirement, parse_requirement};
use warpsmith_compatibility::{Coverage, gencode_flags};

/// What a setup.py says.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetupPy {
    pub(crate) path: String,
    pub(crate) text: String,
    /// What the package is called, where it is written as a literal.
    pub(crate) name: Option<String>,
    /// The first import of torch that runs when the file does.
    pub(crate) imports_torch: Option<u32>,
    /// The first use of CUDAExtension.
    pub(crate) cuda_extension: Option<u32>,
    pub(crate) standards: Vec<StandardFlag>,
    pub(crate) gencode: Coverage,
    pub(crate) gencode_line: Option<u32>,
    /// Flags are put together from variables, so the list is not known here.
    pub(crate) computed_gencode: bool,
    pub(crate) emits_ptx: bool,
    pub(crate) arch_list_line: Option<u32>,
    pub(crate) arch_list_values: Vec<(u32, String)>,
    /// Where the build ends when no GPU is visible.
    pub(crate) needs_gpu: Option<u32>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) python_requires: Option<(String, u32)>,
    pub(crate) cuda_path_line: Option<u32>,
    pub(crate) fast_math_line: Option<u32>,
}

/// `-std=c++17`, with the conditions that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StandardFlag {
    pub(crate) line: u32,
    pub(crate) standard: u32,
    /// Conditions, each with whether it must hold: an `else` needs its `if` to fail.
    pub(crate) conditions: Vec<(String, bool)>,
}

/// The first line that builds nowhere else than where CUDA lies in `/usr/local`.
fn cuda_path(lines: &[Line<'_>]) -> Option<u32> {
    const PATH: &str = "/usr/local/cuda";
    // CUDAExtension adds the folders of the toolkit that torch finds: one more changes nothing.
    let adds_folders = lines.iter().any(|l| l.code.contains("CUDAExtension("));
    let decides = |n: usize| {
        let code = lines[n].code;
        // One more candidate in a list of them, or a default for others' processes.
        let gives_way = ["environ", "getenv", ".append(", "env[", "exists(", "isdir("];
        let mut folders = code.split(PATH).skip(1).map(|behind| {
            let end = behind.find(['"', '\'']).unwrap_or(behind.len());
            &behind[..end]
        });
        let searched = |folder: &str| folder.contains("/include") || folder.contains("/lib");
        let tried = gives_way.iter().any(|word| code.contains(word)) || is_tried(lines, n);
        let spare = adds_folders && folders.all(searched);
        code.contains(PATH) && !tried && !spare
    };
    let found = (0..lines.len()).find(|n| decides(*n))?;
    Some(lines[found].number)
}

/// Whether a block around a line is entered only where a file or folder is there, or a variable is not.
fn is_tried(lines: &[Line<'_>], n: usize) -> bool {
    let mut indent = lines[n].indent;
    for line in lines[..n].iter().rev() {
        if line.indent >= indent {
            continue;
        }
        indent = line.indent;
        let asks = ["exists(", "isdir(", "isfile(", " is None", "if not "];
        let opens = line.code.starts_with("if ") || line.code.starts_with("elif ");
        if opens && asks.iter().any(|word| line.code.contains(word)) {
            return true;
        }
    }
    false
}

struct Line<'t> {
    number: u32,
    indent: usize,
    code: &'t str,
}

impl SetupPy {
    /// Whether a `setup.py` builds a package: a module of a program may have the same name.
    pub(crate) fn is_build_script(text: &str) -> bool {
        ["setuptools", "distutils", "cpp_extension", "skbuild"]
            .iter()
            .any(|word| text.contains(word))
            || text.lines().any(|line| line.starts_with("setup("))
    }

    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let lines = code_lines(text);
        let first = |needle: &str| {
            lines
                .iter()
                .find(|l| l.code.contains(needle))
                .map(|l| l.number)
        };
        let mut setup = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            name: lines.iter().find_map(|l| {
                let value = l.code.split("name=").nth(1)?.trim_start();
                let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                Some(value[1..].split(quote).next()?.to_owned())
            }),
            imports_torch: imports_torch(&lines),
            cuda_extension: lines
                .iter()
                .find(|l| {
                    l.code.contains("CUDAExtension")
                        && !l.code.starts_with("from ")
                        && !l.code.starts_with("import ")
                })
                .or_else(|| lines.iter().find(|l| l.code.contains("CUDAExtension")))
                .map(|l| l.number),
            arch_list_line: first("TORCH_CUDA_ARCH_LIST"),
            needs_gpu: needs_gpu(&lines),
            cuda_path_line: cuda_path(&lines),
            fast_math_line: first("use_fast_math"),
            ..Self::default()
        };
        for (n, line) in lines.iter().enumerate() {
            for (at, _) in line.code.match_indices("-std=c++") {
                let digits: String = line.code[at + 8..]
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                if let Ok(standard) = digits.parse()
                    && !is_overruled(&lines, n, at)
                {
                    setup.standards.push(StandardFlag {
                        line: line.number,
                        standard,
                        conditions: conditions_of(&lines, n),
                    });
                }
            }
            let coverage = gencode_flags(line.code);
            if !coverage.is_empty() {
                setup.gencode_line.get_or_insert(line.number);
                setup.gencode.merge(&coverage);
            }
            if line.code.contains("code=sm_{")
                || line.code.contains("arch=compute_{")
                || line.code.contains("code=sm_%")
                || line.code.contains("code=sm_\" +")
            {
                setup.computed_gencode = true;
                setup.gencode_line.get_or_insert(line.number);
            }
            if line.code.contains("code=compute_") || line.code.contains("+PTX") {
                setup.emits_ptx = true;
            }
            if line.code.contains("TORCH_CUDA_ARCH_LIST")
                && let Some(value) = string_literals(line.code)
                    .into_iter()
                    .rev()
                    .find(|s| s.starts_with(|c: char| c.is_ascii_digit()))
            {
                setup.arch_list_values.push((line.number, value));
            }
        }
        setup.read_lists(&lines);
        setup
    }

    fn read_lists(&mut self, lines: &[Line<'_>]) {
        let mut inside = false;
        let mut depth = 0i64;
        for line in lines {
            let starts = line.code.contains("install_requires") && line.code.contains('=');
            if starts {
                inside = true;
                depth = 0;
            }
            if inside {
                for literal in string_literals(line.code) {
                    if let Some(mut requirement) = parse_requirement(&literal)
                        && literal != "install_requires"
                    {
                        requirement.file.clone_from(&self.path);
                        requirement.line = line.number;
                        self.requirements.push(requirement);
                    }
                }
                depth +=
                    line.code.matches('[').count() as i64 - line.code.matches(']').count() as i64;
                if depth <= 0 {
                    inside = false;
                }
            }
            if let Some(rest) = line.code.trim().strip_prefix("python_requires")
                && let Some(range) = string_literals(rest).first()
            {
                self.python_requires = Some((range.clone(), line.number));
            }
        }
    }
}

fn code_lines(text: &str) -> Vec<Line<'_>> {
    let mut docstring: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, raw) in (1u32..).zip(text.lines()) {
        // A string over several lines is prose.
        let mut quotes = 0;
        for mark in ["\"\"\"", "'''"] {
            if docstring.is_none_or(|d| d == mark) {
                let n = raw.matches(mark).count();
                if n % 2 == 1 {
                    docstring = if docstring.is_some() {
                        None
                    } else {
                        Some(mark)
                    };
                    quotes += 1;
                }
            }
        }
        if docstring.is_some() || quotes > 0 {
            continue;
        }
        let code = strip_comment(raw);
        let body = code.trim_start();
        if !body.is_empty() {
            lines.push(Line {
                number,
                indent: code.len() - body.len(),
                code,
            });
        }
    }
    lines
}

fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return line[..at].trim_end(),
            _ => {}
        }
    }
    line.trim_end()
}

pub(crate) fn string_literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize)> = None;
    for (at, c) in code.char_indices() {
        match open {
            Some((quote, start)) if c == quote => {
                found.push(code[start..at].to_owned());
                open = None;
            }
            None if c == '"' || c == '\'' => open = Some((c, at + 1)),
            _ => {}
        }
    }
    found
}

/// The conditions of the blocks that a line stands in, from the inside.
fn conditions_of(lines: &[Line<'_>], at: usize) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut indent = lines[at].indent;
    let mut from = at;
    while let Some(n) = (0..from).rev().find(|n| lines[*n].indent < indent) {
        let head = lines[n].code.trim_start();
        indent = lines[n].indent;
        from = n;
        if let Some(condition) = head.strip_prefix("if ").or(head.strip_prefix("elif ")) {
            found.push((condition.to_owned(), true));
        }
        // What an `else` or `elif` follows did not hold.
        if head.starts_with("else") || head.starts_with("elif ") {
            let mut back = n;
            while let Some(m) = (0..back).rev().find(|m| lines[*m].indent <= indent) {
                let earlier = lines[m].code.trim_start();
                let condition = earlier
                    .strip_prefix("if ")
                    .or(earlier.strip_prefix("elif "));
                match condition.filter(|_| lines[m].indent == indent) {
                    Some(condition) => found.push((condition.to_owned(), false)),
                    None => break,
                }
                back = m;
                if earlier.starts_with("if ") {
                    break;
                }
            }
        }
        if found.len() > 40 {
            break;
        }
    }
    found
}

/// An import that runs with the file: at its top, or inside a function that the file calls.
fn imports_torch(lines: &[Line<'_>]) -> Option<u32> {
    let mut function: Option<(usize, &str, usize)> = None;
    for (n, line) in lines.iter().enumerate() {
        let body = line.code.trim_start();
        if function.is_some_and(|(at, ..)| line.indent <= at) {
            function = None;
        }
        if let Some(name) = body.strip_prefix("def ").and_then(|r| r.split('(').next())
            && function.is_none()
        {
            function = Some((line.indent, name, n));
        }
        if body.starts_with("class ") && function.is_none() {
            // Its body runs, its methods only when setuptools calls them.
            continue;
        }
        let import = body == "import torch"
            || [
                "import torch ",
                "import torch.",
                "from torch ",
                "from torch.",
            ]
            .iter()
            .any(|p| body.starts_with(p));
        let called = |(indent, name, start): (usize, &str, usize)| {
            let call = format!("{name}(");
            let own = lines[start + 1..]
                .iter()
                .take_while(|l| l.indent > indent)
                .count();
            indent == 0
                && lines.iter().enumerate().any(|(m, l)| {
                    !(start..=start + own).contains(&m)
                        && contains_word(l.code, call.trim_end_matches('('))
                        && l.code.contains(&call)
                })
        };
        if import && function.is_none_or(called) {
            return Some(line.number);
        }
    }
    None
}

/// The statement that ends the build when `torch.cuda.is_available()` is false. Functions whose
/// value is that answer count as the question, and so do variables that hold it.
fn needs_gpu(lines: &[Line<'_>]) -> Option<u32> {
    let mut words = vec!["is_available()".to_owned()];
    // Names that carry the answer: two rounds, for a variable from a function.
    for _ in 0..2 {
        let mut current: Option<(usize, String)> = None;
        for line in lines {
            let body = line.code.trim_start();
            if current.as_ref().is_some_and(|(at, _)| line.indent <= *at) {
                current = None;
            }
            if let Some(name) = body.strip_prefix("def ").and_then(|r| r.split('(').next()) {
                current = Some((line.indent, format!("{name}()")));
            }
            let asks = words.iter().any(|w| body.contains(w.as_str())) && !body.contains("xpu.");
            match (&current, body.split_once('=')) {
                (Some((at, name)), _) if asks && line.indent > *at && !words.contains(name) => {
                    words.push(name.clone())
                }
                (None, Some((name, value))) if asks && !value.starts_with('=') => {
                    let name = name.trim();
                    if name.chars().all(|c| c.is_alphanumeric() || c == '_')
                        && !words.iter().any(|w| w == name)
                    {
                        words.push(name.to_owned());
                    }
                }
                _ => {}
            }
        }
    }
    for (n, line) in lines.iter().enumerate() {
        let body = line.code.trim_start();
        let Some(condition) = body
            .strip_prefix("if ")
            .or_else(|| body.strip_prefix("elif "))
        else {
            continue;
        };
        let asks = words.iter().any(|w| contains_word(condition, w));
        let escape = chain(lines, n).any(|part| {
            ["environ", "FORCE", "getenv", "argv", "SKIP"]
                .iter()
                .any(|w| part.contains(w))
        });
        if !asks || escape || inside_rocm(lines, n) || inside_function_that_is_not_called(lines, n)
        {
            continue;
        }
        let negated = |word: &str| {
            condition.match_indices(word).any(|(at, _)| {
                let before = condition[..at]
                    .trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
                before.trim_end().ends_with("not")
            })
        };
        let negative = words.iter().any(|w| negated(w))
            || condition.contains("== False")
            || condition.contains("is False");
        let block = |from: usize| {
            lines[from + 1..]
                .iter()
                .take_while(move |l| l.indent > line.indent)
        };
        let ends = |l: &Line<'_>| {
            let b = l.code.trim_start();
            b.starts_with("sys.exit")
                || b.starts_with("exit(")
                || b.starts_with("raise ")
                || b.starts_with("quit(")
        };
        if negative {
            if let Some(end) = block(n).find(|l| ends(l)) {
                return Some(end.number);
            }
        } else {
            // The `else:` of the same `if`.
            let after = n + 1 + block(n).count();
            if let Some(other) = lines
                .get(after)
                .filter(|l| l.indent == line.indent && l.code.trim() == "else:")
            {
                let at = lines.iter().position(|l| l.number == other.number)?;
                if block(at).any(ends) {
                    return Some(line.number);
                }
            }
        }
    }
    None
}

/// The condition on a line and those of the same `if … elif` chain before it: whoever asks the
/// environment first never comes to the later question.
fn chain<'l>(lines: &'l [Line<'l>], at: usize) -> impl Iterator<Item = &'l str> {
    let indent = lines[at].indent;
    let mut open = true;
    lines[..=at]
        .iter()
        .rev()
        .take_while(move |l| l.indent >= indent)
        .filter(move |l| l.indent == indent)
        .map(|l| l.code.trim_start())
        .take_while(move |code| {
            let inside = open;
            open = code.starts_with("elif ");
            inside && (code.starts_with("elif ") || code.starts_with("if "))
        })
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        (!part(before) || word.contains('(')) && !part(after)
    })
}

fn inside_rocm(lines: &[Line<'_>], at: usize) -> bool {
    let mut indent = lines[at].indent;
    for line in lines[..at].iter().rev() {
        if line.indent < indent {
            indent = line.indent;
            let upper = line.code.to_ascii_uppercase();
            if upper.contains("ROCM") || upper.contains("HIP") {
                return true;
            }
        }
    }
    ["ROCM", "HIP"]
        .iter()
        .any(|w| lines[at].code.to_ascii_uppercase().contains(w))
}

/// A function that answers the question for others is looked at where it is called.
fn inside_function_that_is_not_called(lines: &[Line<'_>], at: usize) -> bool {
    let mut indent = lines[at].indent;
    for line in lines[..at].iter().rev() {
        if line.indent < indent {
            indent = line.indent;
            if let Some(name) = line
                .code
                .trim_start()
                .strip_prefix("def ")
                .and_then(|r| r.split('(').next())
            {
                let call = format!("{name}(");
                return !lines
                    .iter()
                    .any(|l| l.number != line.number && l.code.contains(&call));
            }
        }
    }
    false
}

/// Whether a later `-std=` of the same list takes the place of the flag at byte `at` of line `n`.
fn is_overruled(lines: &[Line<'_>], n: usize, at: usize) -> bool {
    let rest = std::iter::once(&lines[n].code[at + 8..]);
    let below = lines[n + 1..].iter().take(40).map(|line| line.code);
    for code in rest.chain(below) {
        let end = code.find(']');
        if code[..end.unwrap_or(code.len())].contains("-std=c++") {
            return true;
        }
        if end.is_some() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_module_of_that_name_is_no_build_script() {
        assert!(SetupPy::is_build_script("setup(name='x')\n"));
        assert!(SetupPy::is_build_script("from setuptools import setup\n"));
        let module = "import torch\n\ndef default_setup(config, args):\n    pass\n";
        assert!(!SetupPy::is_build_script(module));
    }

    #[test]
    fn a_build_that_ends_without_a_gpu_is_seen_through_a_function_and_a_variable() {
        let text = "import sys\nimport torch\ndef have_gpu():\n    if not torch.cuda.is_available():\n        return False\n    return True\nok = have_gpu()\nif not ok:\n    sys.exit(1)\n";
        assert_eq!(SetupPy::parse("setup.py", text).needs_gpu, Some(9));
        let other = "import torch\nif torch.cuda.is_available() and X:\n    a()\nelse:\n    raise RuntimeError('no')\n";
        assert_eq!(SetupPy::parse("setup.py", other).needs_gpu, Some(2));
        let escape = "import torch\nif not torch.cuda.is_available() and not os.environ.get('FORCE_CUDA'):\n    raise RuntimeError('no')\n";
        assert_eq!(SetupPy::parse("setup.py", escape).needs_gpu, None);
        let chain = "import torch\nif 'ARCHS' in os.environ:\n    a()\nelif torch.cuda.is_available():\n    b()\nelse:\n    raise RuntimeError('no')\n";
        assert_eq!(SetupPy::parse("setup.py", chain).needs_gpu, None);
        let rocm =
            "if IS_ROCM:\n    if not torch.cuda.is_available():\n        raise RuntimeError()\n";
        assert_eq!(SetupPy::parse("setup.py", rocm).needs_gpu, None);
    }

    #[test]
    fn flags_lists_and_imports_are_read() {
        let text = "def f():\n    import torch\nfrom torch.utils.cpp_extension import CUDAExtension\nsetup(ext_modules=[CUDAExtension('a', extra_compile_args={'nvcc': ['-std=c++17', '-gencode', 'arch=compute_80,code=sm_80']})],\n  install_requires=[\n    'torch>=2.0,<2.2', 'numpy'],\n  python_requires='>=3.8')\n";
        let setup = SetupPy::parse("setup.py", text);
        assert_eq!(setup.imports_torch, Some(3));
        assert_eq!(
            (setup.standards[0].line, setup.standards[0].standard),
            (4, 17)
        );
        assert!(setup.standards[0].conditions.is_empty());
        assert_eq!(setup.gencode.cubins.len(), 1);
        assert_eq!(setup.requirements.len(), 2);
        assert_eq!(setup.python_requires, Some((">=3.8".to_owned(), 7)));
    }

    #[test]
    fn an_import_in_a_function_counts_where_the_file_calls_it() {
        let text = "def extensions():\n    from torch.utils.cpp_extension import CUDAExtension\n    return []\nsetup(ext_modules=extensions())\n";
        assert_eq!(SetupPy::parse("setup.py", text).imports_torch, Some(2));
        let unused = "def extensions():\n    import torch\nsetup()\n";
        assert_eq!(SetupPy::parse("setup.py", unused).imports_torch, None);
    }

    #[test]
    fn a_path_of_cuda_counts_where_nothing_else_is_searched() {
        let line = |text: &str| SetupPy::parse("setup.py", text).cuda_path_line;
        let folder = "include_dirs=['/usr/local/cuda/include']";
        assert_eq!(line(&format!("Extension('a', {folder})\n")), Some(1));
        // torch adds the folders of the toolkit that it finds.
        assert_eq!(line(&format!("CUDAExtension('a', {folder})\n")), None);
        let nvcc = "CUDAExtension('a', [])\nnvcc = '/usr/local/cuda/bin/nvcc'\n";
        assert_eq!(line(nvcc), Some(2));
        let asked = "if os.path.exists('/opt/cuda'):\n    home = '/opt/cuda'\nelif home is None:\n    home = '/usr/local/cuda'\n";
        assert_eq!(line(asked), None);
        assert_eq!(line("if linux:\n    home = '/usr/local/cuda'\n"), Some(2));
    }

    #[test]
    fn a_flag_knows_the_conditions_that_lead_to_it() {
        let text = "import torch\nif torch.__version__ <= '1.12.1':\n    f = ['-std=c++14']\nelse:\n    f = ['-std=c++17']\n";
        let setup = SetupPy::parse("setup.py", text);
        let condition = "torch.__version__ <= '1.12.1':".to_owned();
        assert_eq!(setup.standards[0].conditions, [(condition.clone(), true)]);
        assert_eq!(setup.standards[1].conditions, [(condition, false)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(if |not |else:|\n|    |def f\\(\\):|is_available\\(\\)|raise |'|\"|#|=|\\PC){0,60}") {
            let _ = SetupPy::parse("s", &text);
        }
    }

    #[test]
    fn the_last_standard_of_a_list_is_the_one() {
        let standards = |text: &str| -> Vec<u32> {
            let setup = SetupPy::parse("setup.py", text);
            setup.standards.iter().map(|flag| flag.standard).collect()
        };
        let twice = "args = [\n    '-std=c++11',\n    '-fPIC',\n    '-std=c++17',\n]\n";
        assert_eq!(standards(twice), [17]);
        assert_eq!(standards("args = ['-std=c++11', '-std=c++17']\n"), [17]);
        let lists = "cxx = ['-std=c++14']\nnvcc = ['-std=c++17']\n";
        assert_eq!(standards(lists), [14, 17]);
    }
}
