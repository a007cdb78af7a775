//! What is known about a project: parsed files, each with its path and lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::keywords::WordSet;
use super::parse::cmake::{CmakeCommand, parse_cmake};
use super::parse::cuda::CudaFile;
use super::parse::dockerfile::Dockerfile;
use super::parse::markdown::Document;
use super::parse::pyproject::Pyproject;
use super::parse::requirements::{IndexOption, Requirement, parse_requirements};
use super::parse::setup_py::SetupPy;
use super::parse::yaml::Outline;
use super::walk::{self, Kind};

/// A YAML file.
#[derive(Clone, Debug, Default)]
pub(crate) struct YamlFile {
    pub(crate) path: String,
    pub(crate) outline: Outline,
    pub(crate) text: String,
}

/// What rules ask of a Python file.
#[derive(Clone, Debug, Default)]
pub(crate) struct PythonFile {
    pub(crate) path: String,
    pub(crate) is_test: bool,
    pub(crate) unsafe_loads: Vec<u32>,
    pub(crate) debug_server: Option<u32>,
    pub(crate) web: bool,
    pub(crate) skips_without_cuda: Option<u32>,
    pub(crate) imports: BTreeSet<String>,
    pub(crate) cpu_test: bool,
}

/// A place where a secret seems to stand.
#[derive(Clone, Debug)]
pub(crate) struct SecretPlace {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) what: &'static str,
}

/// Everything that `audit` rules see.
#[derive(Debug, Default)]
pub(crate) struct ProjectFacts {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<String>,
    pub(crate) dockerfiles: Vec<Dockerfile>,
    pub(crate) workflows: Vec<YamlFile>,
    pub(crate) other_ci: Vec<YamlFile>,
    pub(crate) yaml: Vec<YamlFile>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) index_options: Vec<IndexOption>,
    pub(crate) pyprojects: Vec<Pyproject>,
    pub(crate) setups: Vec<SetupPy>,
    pub(crate) cmake: Vec<(String, Vec<CmakeCommand>)>,
    pub(crate) documents: Vec<Document>,
    pub(crate) cuda: Vec<CudaFile>,
    pub(crate) cxx: Vec<CudaFile>,
    pub(crate) python: Vec<PythonFile>,
    pub(crate) secrets: Vec<SecretPlace>,
    pub(crate) unreadable: Vec<String>,
    words: Words,
}

#[derive(Debug, Default)]
struct Words {
    python: WordSet,
    cxx: WordSet,
    ci: WordSet,
    yaml: WordSet,
    docs: WordSet,
    scripts: WordSet,
    image: WordSet,
    paths: WordSet,
}

enum Parsed {
    Cuda(CudaFile),
    Cxx(CudaFile),
    Python(PythonFile),
    SetupPy(SetupPy),
    Pyproject(Pyproject),
    Requirements(Vec<Requirement>, Vec<IndexOption>),
    Dockerfile(Dockerfile),
    Yaml(Kind, YamlFile),
    Cmake(String, Vec<CmakeCommand>),
    Document(Document),
    Words,
}

impl ProjectFacts {
    /// Reads a project.
    pub(crate) fn collect(root: &Path) -> Self {
        let files = walk::list(root);
        let parsed: Vec<_> = files
            .par_iter()
            .filter_map(|path| {
                let kind = walk::kind(path);
                if kind == Kind::Other {
                    return None;
                }
                let Some(text) = walk::read(root, path) else {
                    return Some((path.clone(), kind, None, WordSet::default(), Vec::new()));
                };
                let words = match kind {
                    Kind::Cuda => WordSet::default(),
                    Kind::Cxx if !is_test(path) => WordSet::default(),
                    _ => WordSet::of(&text),
                };
                let secrets = secrets(path, kind, &text);
                Some((path.clone(), kind, parse(path, kind, text), words, secrets))
            })
            .collect();
        let mut facts = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        facts.words.paths = WordSet::of(&files.join("\n"));
        facts.files = files;
        for (path, kind, parsed, words, secrets) in parsed {
            facts.words.of(kind).merge(&words);
            facts.secrets.extend(secrets);
            match parsed {
                None => facts.unreadable.push(path),
                Some(Parsed::Cuda(file)) => facts.cuda.push(file),
                Some(Parsed::Cxx(file)) => facts.cxx.push(file),
                Some(Parsed::Python(file)) => facts.python.push(file),
                Some(Parsed::SetupPy(file)) => facts.setups.push(file),
                Some(Parsed::Pyproject(file)) => facts.pyprojects.push(file),
                Some(Parsed::Requirements(found, options)) => {
                    facts.requirements.extend(found);
                    facts.index_options.extend(options);
                }
                Some(Parsed::Dockerfile(file)) => facts.dockerfiles.push(file),
                Some(Parsed::Yaml(Kind::Workflow, file)) => facts.workflows.push(file),
                Some(Parsed::Yaml(Kind::OtherCi, file)) => facts.other_ci.push(file),
                Some(Parsed::Yaml(_, file)) => facts.yaml.push(file),
                Some(Parsed::Cmake(path, commands)) => facts.cmake.push((path, commands)),
                Some(Parsed::Document(file)) => facts.documents.push(file),
                Some(Parsed::Words) => {}
            }
        }
        facts
    }

    pub(crate) fn has_cuda(&self) -> bool {
        !self.cuda.is_empty()
    }

    pub(crate) fn has_ci(&self) -> bool {
        !self.workflows.is_empty() || !self.other_ci.is_empty()
    }

    /// A torch extension: a setup.py that builds CUDA code.
    pub(crate) fn extension(&self) -> Option<&SetupPy> {
        self.setups.iter().find(|s| s.cuda_extension.is_some())
    }

    /// A web service that is shipped as an image.
    pub(crate) fn is_service(&self) -> bool {
        self.python.iter().any(|p| p.web && !p.is_test) && self.dockerfiles.iter().any(exposes)
    }

    pub(crate) fn readme(&self) -> Option<&Document> {
        ["README.md", "README.rst", "readme.md", "Readme.md"]
            .iter()
            .find_map(|name| self.documents.iter().find(|d| d.path == *name))
    }

    /// README, INSTALL and the documentation folder.
    pub(crate) fn user_documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(|d| {
            let lower = d.path.to_ascii_lowercase();
            !lower.contains('/') || lower.starts_with("docs/") || lower.starts_with("doc/")
        })
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files
            .binary_search_by(|f| f.as_str().cmp(path))
            .is_ok()
    }

    pub(crate) fn has_word(&self, scopes: &[String], words: &[String]) -> bool {
        scopes.iter().any(|scope| {
            let set = match scope.as_str() {
                "python" => &self.words.python,
                "cxx" => &self.words.cxx,
                "ci" => &self.words.ci,
                "yaml" => &self.words.yaml,
                "docs" => &self.words.docs,
                "scripts" => &self.words.scripts,
                "image" => &self.words.image,
                _ => &self.words.paths,
            };
            words.iter().any(|word| set.has(word))
        })
    }

    /// Every demand on torch: requirements, setup.py, pyproject.
    pub(crate) fn demands(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements
            .iter()
            .chain(self.setups.iter().flat_map(|s| &s.requirements))
            .chain(self.pyprojects.iter().flat_map(|p| &p.dependencies))
    }
}

pub(crate) fn exposes(file: &Dockerfile) -> bool {
    file.last()
        .is_some_and(|stage| file.lineage(stage).iter().any(|i| i.keyword == "EXPOSE"))
}

impl Words {
    fn of(&mut self, kind: Kind) -> &mut WordSet {
        match kind {
            Kind::Python | Kind::SetupPy | Kind::Pyproject => &mut self.python,
            Kind::Workflow | Kind::OtherCi => &mut self.ci,
            Kind::Document => &mut self.docs,
            Kind::Script | Kind::Cmake | Kind::Requirements => &mut self.scripts,
            Kind::Dockerfile => &mut self.image,
            Kind::Cuda | Kind::Cxx => &mut self.cxx,
            Kind::Yaml | Kind::Other => &mut self.yaml,
        }
    }
}

fn parse(path: &str, kind: Kind, text: String) -> Option<Parsed> {
    let yaml = |text: String| YamlFile {
        path: path.to_owned(),
        outline: Outline::parse(&text),
        text,
    };
    Some(match kind {
        Kind::Cuda => Parsed::Cuda(CudaFile::parse(path, &text)),
        Kind::Cxx
            if ["torch/", "ATen/", "cuda_runtime", "<<<"]
                .iter()
                .any(|w| text.contains(w))
                || text.contains("#define") && text.contains("cudaSuccess") =>
        {
            Parsed::Cxx(CudaFile::parse(path, &text))
        }
        Kind::Python => Parsed::Python(python(path, &text)),
        Kind::SetupPy => Parsed::SetupPy(SetupPy::parse(path, &text)),
        Kind::Pyproject => Parsed::Pyproject(Pyproject::parse(path, &text)),
        Kind::Requirements => {
            let (found, options) = parse_requirements(path, &text);
            Parsed::Requirements(found, options)
        }
        Kind::Dockerfile => Parsed::Dockerfile(Dockerfile::parse(path, &text)),
        Kind::Workflow | Kind::OtherCi | Kind::Yaml => Parsed::Yaml(kind, yaml(text)),
        Kind::Cmake => Parsed::Cmake(path.to_owned(), parse_cmake(&text)),
        Kind::Document => Parsed::Document(Document::parse(path, &text)),
        Kind::Script | Kind::Cxx | Kind::Other => Parsed::Words,
    })
}

/// Whether a path belongs to tests, benchmarks or examples.
pub(crate) fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.split('/').any(|part| {
        part.starts_with("test")
            || part.ends_with("tests")
            || part.starts_with("bench")
            || part.starts_with("example")
            || part.contains("_test.")
            || part.contains("unittest")
    })
}

fn python(path: &str, text: &str) -> PythonFile {
    let mut file = PythonFile {
        path: path.to_owned(),
        is_test: is_test(path),
        ..PythonFile::default()
    };
    let interesting = ["torch", "flask", "fastapi", "import ", "pickle"]
        .iter()
        .any(|w| text.contains(w));
    if !interesting {
        return file;
    }
    for (number, line) in (1u32..).zip(text.lines()) {
        let body = line.trim_start();
        if body.starts_with('#') {
            continue;
        }
        if let Some(rest) = body
            .strip_prefix("import ")
            .or_else(|| body.strip_prefix("from "))
        {
            let module = rest.split([' ', '.', ',']).next().unwrap_or("");
            if [
                "flask",
                "fastapi",
                "aiohttp",
                "tornado",
                "sanic",
                "starlette",
                "uvicorn",
                "gradio",
                "django",
            ]
            .contains(&module)
            {
                file.web = true;
            }
            if file.imports.len() < 200 {
                file.imports
                    .insert(rest.split([' ', ',']).next().unwrap_or("").to_owned());
            }
        }
        if let Some(at) = body.find("torch.load(")
            && !body[..at].contains('#')
        {
            // The call may go on over the next lines.
            let window: String = text
                .lines()
                .skip(number as usize - 1)
                .take(4)
                .collect::<Vec<_>>()
                .join(" ");
            let call = window.split("torch.load(").nth(1).unwrap_or("");
            if !call
                .split(')')
                .take(3)
                .collect::<String>()
                .contains("weights_only")
            {
                file.unsafe_loads.push(number);
            }
        }
        if body.contains(".run(") && body.contains("debug=True") {
            file.debug_server.get_or_insert(number);
        }
        if body.contains("skipif") && body.contains("cuda")
            || body.contains("skipUnless") && body.contains("cuda")
        {
            file.skips_without_cuda.get_or_insert(number);
        }
        if file.is_test && body.contains("cpu") {
            file.cpu_test = true;
        }
    }
    file
}

/// Known prefixes of credentials, with enough characters behind them to be one.
fn secrets(path: &str, kind: Kind, text: &str) -> Vec<SecretPlace> {
    const PREFIXES: [(&str, usize, &str); 8] = [
        ("AKIA", 16, "an AWS access key"),
        ("ghp_", 36, "a GitHub token"),
        ("github_pat_", 30, "a GitHub token"),
        ("hf_", 34, "a Hugging Face token"),
        ("sk-ant-", 30, "an API key"),
        ("xoxb-", 24, "a Slack token"),
        ("glpat-", 20, "a GitLab token"),
        ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
    ];
    if matches!(kind, Kind::Cuda | Kind::Cxx | Kind::Cmake) || is_test(path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (prefix, length, what) in PREFIXES {
        for at in memchr::memmem::find_iter(text.as_bytes(), prefix.as_bytes()).take(20) {
            let before = text[..at].chars().next_back();
            let tail: String = text[at + prefix.len()..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                .collect();
            let varied = tail.chars().collect::<BTreeSet<_>>().len() >= length.min(10);
            let upper_only = prefix != "AKIA"
                || tail
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
            let example = tail.to_ascii_lowercase().contains("example")
                || tail.to_ascii_lowercase().contains("xxxx");
            if tail.len() >= length
                && varied
                && upper_only
                && !example
                && !before.is_some_and(|c| c.is_ascii_alphanumeric())
            {
                found.push(SecretPlace {
                    file: path.to_owned(),
                    line: u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(1),
                    what,
                });
            }
        }
    }
    found
}
