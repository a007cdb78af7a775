//! What rules ask of a Python file, found by searching for words and reading only their lines.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Frameworks whose import makes a program a web service.
const WEB: [&str; 9] = [
    "flask",
    "fastapi",
    "aiohttp",
    "tornado",
    "sanic",
    "starlette",
    "uvicorn",
    "gradio",
    "django",
];

/// More imports than this say nothing new about a file.
const IMPORT_LIMIT: usize = 200;

/// What a Python file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct PythonFile {
    pub(crate) path: String,
    pub(crate) is_test: bool,
    /// Lines of `torch.load` without `weights_only`.
    pub(crate) unsafe_loads: Vec<u32>,
    pub(crate) debug_server: Option<u32>,
    /// Whether it runs Flask's own server.
    pub(crate) development_server: bool,
    pub(crate) web: bool,
    pub(crate) skips_without_cuda: Option<u32>,
    pub(crate) imports: BTreeSet<String>,
    pub(crate) cpu_test: bool,
    /// Whether it makes the device of a tensor the current one, as before a call into an extension.
    pub(crate) chooses_device: bool,
}

/// Lines of code (not of comments) on which a word stands, with their numbers.
fn lines_with<'t>(text: &'t str, word: &Finder<'_>) -> Vec<(u32, &'t str)> {
    let mut found: Vec<(u32, &str)> = Vec::new();
    let (mut number, mut counted) = (1u32, 0);
    let mut from = 0;
    while let Some(hit) = word.find(&text.as_bytes()[from..]) {
        let at = from + hit;
        let start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |n| n + 1);
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n| at + n);
        let newlines = memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count();
        number = number.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        counted = start;
        let line = text[start..end].trim_start();
        if !line.starts_with('#') {
            found.push((number, line));
        }
        from = end;
    }
    found
}

macro_rules! word {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new($text));
    };
}

word!(IMPORT, "import ");
word!(LOAD, "torch.load(");
word!(RUN, ".run(");
word!(SKIP_IF, "skipif");
word!(SKIP_UNLESS, "skipUnless");
word!(CPU, "cpu");
word!(CUDA_DEVICE, "torch.cuda.device");
word!(SET_DEVICE, "torch.cuda.set_device(");

impl PythonFile {
    pub(crate) fn parse(path: &str, text: &str, is_test: bool) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            is_test,
            ..Self::default()
        };
        for (_, line) in lines_with(text, &IMPORT) {
            let Some(rest) = line
                .strip_prefix("import ")
                .or_else(|| line.strip_prefix("from "))
            else {
                continue;
            };
            let module = rest.split([' ', '.', ',']).next().unwrap_or("");
            file.web |= WEB.contains(&module);
            if file.imports.len() < IMPORT_LIMIT {
                let name = rest.split([' ', ',']).next().unwrap_or("");
                file.imports.insert(name.to_owned());
            }
        }
        file.unsafe_loads = lines_with(text, &LOAD)
            .into_iter()
            .filter(|(number, line)| {
                let commented = line.find('#') < line.find("torch.load(") && line.contains('#');
                !commented && !in_docstring(text, *number) && !is_safe_load(text, *number)
            })
            .map(|(number, _)| number)
            .collect();
        let first = |word: &Finder<'_>, also: &str| {
            lines_with(text, word)
                .into_iter()
                .find(|(number, line)| {
                    without_comment(line).contains(also) && !in_docstring(text, *number)
                })
                .map(|(number, _)| number)
        };
        file.debug_server = lines_with(text, &RUN)
            .into_iter()
            .find(|(number, line)| {
                let code = without_comment(line);
                // An event loop has a debug mode as well, and serves nobody.
                let loops = ["asyncio.run(", "anyio.run(", "trio.run(", "subprocess.run("];
                code.contains("debug=True")
                    && !loops.iter().any(|run| code.contains(run))
                    && !in_docstring(text, *number)
            })
            .map(|(number, _)| number);
        let flask = file.imports.iter().any(|i| i.starts_with("flask"));
        file.development_server = flask && first(&RUN, "app.run(").is_some();
        file.skips_without_cuda = match (first(&SKIP_IF, "cuda"), first(&SKIP_UNLESS, "cuda")) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let of_tensor = |line: &str| line.contains("device_of(") || line.contains(".device)");
        file.chooses_device = !is_test
            && lines_with(text, &CUDA_DEVICE)
                .iter()
                .chain(&lines_with(text, &SET_DEVICE))
                .any(|(_, line)| of_tensor(line));
        file.cpu_test = is_test && !lines_with(text, &CPU).is_empty();
        file
    }
}

/// A line up to the comment that ends it; a `#` inside quotes begins none.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            None if c == '#' => return &line[..at],
            None if matches!(c, '"' | '\'') => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
    }
    line
}

/// Whether a line stands inside a string of three quotes: an example in prose.
fn in_docstring(text: &str, number: u32) -> bool {
    let before = text.lines().take(number.saturating_sub(1) as usize);
    let (mut double, mut single) = (0, 0);
    for line in before {
        double += line.matches("\"\"\"").count();
        single += line.matches("'''").count();
    }
    double % 2 == 1 || single % 2 == 1
}

/// Whether the call on a line names `weights_only`; it may go on over the next lines.
fn is_safe_load(text: &str, number: u32) -> bool {
    let window: String = text
        .lines()
        .skip(number as usize - 1)
        .take(4)
        .collect::<Vec<_>>()
        .join(" ");
    let call = window.split("torch.load(").nth(1).unwrap_or("");
    call.split(')')
        .take(3)
        .collect::<String>()
        .contains("weights_only")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn imports_loads_and_skips_are_found_with_their_lines() {
        let text = "import flask\nfrom a.b import c\n# torch.load(x)\nx = torch.load(\n    p,\n    weights_only=True)\ny = torch.load(p)  # model\n@pytest.mark.skipif(not torch.cuda.is_available())\napp.run(debug=True)\nz = 1 # torch.load(p)\n";
        let file = PythonFile::parse("tests/a.py", text, true);
        assert!(file.web && file.imports.contains("a.b"));
        assert_eq!(file.unsafe_loads, [7]);
        let prose = "def f():\n    \"\"\"Example:\n    x = torch.load(p)\n    \"\"\"\n    return torch.load(p)\n";
        assert_eq!(PythonFile::parse("a.py", prose, false).unsafe_loads, [5]);
        assert_eq!(
            (file.skips_without_cuda, file.debug_server),
            (Some(8), Some(9))
        );
        assert!(!file.cpu_test);
    }

    #[test]
    fn a_server_is_what_the_file_runs_and_not_what_a_text_says() {
        let runs = |text: &str| {
            let file = PythonFile::parse("app.py", text, false);
            (file.development_server, file.debug_server)
        };
        assert_eq!(
            runs("import flask\napp.run(host='0.0.0.0')\n"),
            (true, None)
        );
        assert_eq!(runs("import flask\nserve(app)\n"), (false, None));
        assert_eq!(runs("import uvicorn\nuvicorn.run(app)\n"), (false, None));
        let quoted = "import flask\ncode = \"\"\"\napp.run(debug=True)\n\"\"\"\n";
        assert_eq!(runs(quoted), (false, None));
        let remark = "import flask\napp.run(host='0.0.0.0')  # debug=True restarts it\n";
        assert_eq!(runs(remark), (true, None));
        let event_loop = "import aiohttp\nasyncio.run(close(), debug=True)\n";
        assert_eq!(runs(event_loop), (false, None));
        let sharp = "import flask\napp.run('#', debug=True)\n";
        assert_eq!(runs(sharp), (true, Some(2)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(
            text in "(import |from |torch\\.load\\(|\\.run\\(|skipif|cuda|cpu|#|\\)|\n|\\PC){0,60}"
        ) {
            let lines = u32::try_from(text.lines().count()).unwrap();
            let file = PythonFile::parse("p", &text, true);
            prop_assert!(file.unsafe_loads.iter().all(|n| (1..=lines).contains(n)));
        }
    }
}
