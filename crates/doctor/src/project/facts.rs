//! What is known about a project: parsed files, each with its path and lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use rayon::prelude::*;

use super::apart::{self, Apart, Include};
use super::keywords::WordSet;
use super::names::Names;
use super::parse::cmake::{CmakeCommand, parse_cmake};
use super::parse::cmake_condition;
use super::parse::cuda::CudaFile;
use super::parse::dockerfile::Dockerfile;
use super::parse::markdown::Document;
use super::parse::pyproject::Pyproject;
use super::parse::python_source::PythonFile;
use super::parse::requirements::{IndexOption, Requirement, parse_requirements};
use super::parse::secrets::{SecretPlace, find_secrets};
use super::parse::setup_py::SetupPy;
use super::parse::yaml::Outline;
use super::settings::{Named, ProjectSettings};
use super::suppression;
use super::walk::{self, Kind};

/// A YAML file.
#[derive(Clone, Debug, Default)]
pub(crate) struct YamlFile {
    pub(crate) path: String,
    pub(crate) outline: Outline,
    pub(crate) text: String,
}

/// Everything that `audit` rules see.
#[derive(Debug, Default)]
pub(crate) struct ProjectFacts {
    pub(crate) root: PathBuf,
    pub(crate) settings: ProjectSettings,
    pub(crate) files: Vec<String>,
    /// Files that the project excludes.
    pub(crate) excluded: Vec<String>,
    /// Inputs of tests, which are not judged.
    pub(crate) fixtures: Vec<String>,
    /// How many files of other people's code are not judged.
    pub(crate) vendored_files: usize,
    /// Where examples are apart: the submodules, which tell them from vendored code.
    pub(super) examples_apart: Option<Vec<String>>,
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
    /// Headers of other people's code inside the project: what they define counts, they are not judged.
    pub(crate) vendored: Vec<CudaFile>,
    pub(crate) python: Vec<PythonFile>,
    pub(crate) secrets: Vec<SecretPlace>,
    /// Shell scripts and makefiles: path and text.
    pub(crate) scripts: Vec<(String, String)>,
    /// Lines that carry a suppression: (file, line) and the text.
    pub(crate) suppressions: BTreeMap<(String, u32), String>,
    pub(crate) unreadable: Vec<String>,
    pub(super) words: BTreeMap<&'static str, WordSet>,
    pub(super) names: OnceLock<Names>,
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
    Script(String, String),
    Words,
}

/// What one reading of a file gives.
struct FileFacts {
    path: String,
    kind: Kind,
    parsed: Option<Parsed>,
    words: WordSet,
    secrets: Vec<SecretPlace>,
    suppressions: Vec<(u32, String)>,
}

impl ProjectFacts {
    /// Reads a project.
    pub(crate) fn collect(root: &Path, settings: ProjectSettings, include: Include) -> Self {
        let mut listed = walk::list(root);
        let copied = apart::copied_folders(&listed.files);
        listed.submodules.extend(copied);
        let (mut files, mut excluded, mut fixtures) = (Vec::new(), Vec::new(), Vec::new());
        let (mut vendored_files, mut headers) = (0, Vec::new());
        for path in listed.files {
            let apart = match settings.named(&path) {
                Named::Excluded => {
                    excluded.push(path);
                    continue;
                }
                Named::Own => None,
                Named::Not => Apart::of(&path, &listed.submodules).filter(|a| !include.has(*a)),
            };
            match apart {
                None | Some(Apart::Examples) => files.push(path),
                Some(Apart::Fixtures) => fixtures.push(path),
                Some(Apart::Vendored) => {
                    vendored_files += 1;
                    if walk::is_header(&path) {
                        headers.push(path);
                    }
                }
            }
        }
        // Where all CUDA code lies in examples, they are the project.
        let is_example = |path: &str| Apart::of(path, &listed.submodules) == Some(Apart::Examples);
        let has_own_cuda = files
            .iter()
            .any(|path| walk::kind(path) == Kind::Cuda && !is_example(path));
        let examples_apart = (has_own_cuda && !include.examples).then(|| listed.submodules.clone());
        let vendored: Vec<CudaFile> = headers
            .par_iter()
            .filter_map(|path| {
                let text = walk::read(root, path)?;
                let defines = CUDA_WORDS.as_ref().is_some_and(|w| w.is_match(&text));
                defines.then(|| CudaFile::parse(path, &text))
            })
            .collect();
        let parsed: Vec<FileFacts> = files
            .par_iter()
            .filter_map(|path| {
                let kind = walk::kind(path);
                (kind != Kind::Other).then(|| read(root, path, kind))
            })
            .collect();
        let mut facts = Self {
            root: root.to_owned(),
            settings,
            excluded,
            fixtures,
            vendored_files,
            examples_apart,
            vendored,
            ..Self::default()
        };
        let paths = WordSet::of("paths", &files.join("\n"));
        facts.words.insert("paths", paths);
        facts.files = files;
        facts.absorb(parsed);
        facts
    }

    /// Reads files again whose text is another now; `None` is a file that is there no more.
    pub(crate) fn reread(&mut self, changed: &BTreeMap<String, Option<String>>) {
        let stays = |path: &str| !changed.contains_key(path);
        self.files.retain(|path| stays(path));
        self.unreadable.retain(|path| stays(path));
        self.dockerfiles.retain(|f| stays(&f.path));
        self.workflows.retain(|f| stays(&f.path));
        self.other_ci.retain(|f| stays(&f.path));
        self.yaml.retain(|f| stays(&f.path));
        self.requirements.retain(|r| stays(&r.file));
        self.index_options.retain(|o| stays(&o.file));
        self.pyprojects.retain(|f| stays(&f.path));
        self.setups.retain(|f| stays(&f.path));
        self.cmake.retain(|(path, _)| stays(path));
        self.documents.retain(|f| stays(&f.path));
        self.cuda.retain(|f| stays(&f.path));
        self.cxx.retain(|f| stays(&f.path));
        self.python.retain(|f| stays(&f.path));
        self.secrets.retain(|s| stays(&s.file));
        self.scripts.retain(|(path, _)| stays(path));
        self.suppressions.retain(|(path, _), _| stays(path));
        let present: Vec<(&String, &String)> = changed
            .iter()
            .filter_map(|(path, text)| Some((path, text.as_ref()?)))
            .collect();
        let parsed: Vec<FileFacts> = present
            .par_iter()
            .filter_map(|(path, text)| {
                let kind = walk::kind(path);
                (kind != Kind::Other).then(|| read_text(path, kind, Some((*text).clone())))
            })
            .collect();
        self.files
            .extend(present.iter().map(|(path, _)| (*path).clone()));
        self.files.sort();
        self.words
            .insert("paths", WordSet::of("paths", &self.files.join("\n")));
        self.absorb(parsed);
        self.sort();
        self.names = OnceLock::new();
    }

    /// By path, as a first reading has it.
    fn sort(&mut self) {
        self.dockerfiles.sort_by(|a, b| a.path.cmp(&b.path));
        self.workflows.sort_by(|a, b| a.path.cmp(&b.path));
        self.other_ci.sort_by(|a, b| a.path.cmp(&b.path));
        self.yaml.sort_by(|a, b| a.path.cmp(&b.path));
        self.requirements.sort_by(|a, b| a.file.cmp(&b.file));
        self.index_options.sort_by(|a, b| a.file.cmp(&b.file));
        self.pyprojects.sort_by(|a, b| a.path.cmp(&b.path));
        self.setups.sort_by(|a, b| a.path.cmp(&b.path));
        self.cmake.sort_by(|a, b| a.0.cmp(&b.0));
        self.documents.sort_by(|a, b| a.path.cmp(&b.path));
        self.cuda.sort_by(|a, b| a.path.cmp(&b.path));
        self.cxx.sort_by(|a, b| a.path.cmp(&b.path));
        self.python.sort_by(|a, b| a.path.cmp(&b.path));
        self.secrets.sort_by(|a, b| a.file.cmp(&b.file));
        self.scripts.sort_by(|a, b| a.0.cmp(&b.0));
    }

    fn absorb(&mut self, parsed: Vec<FileFacts>) {
        let facts = self;
        for file in parsed {
            let path = file.path;
            facts
                .words
                .entry(scope(file.kind))
                .or_default()
                .merge(&file.words);
            facts.secrets.extend(file.secrets);
            for (line, text) in file.suppressions {
                facts.suppressions.insert((path.clone(), line), text);
            }
            match file.parsed {
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
                Some(Parsed::Script(path, text)) => facts.scripts.push((path, text)),
                Some(Parsed::Words) => {}
            }
        }
    }

    /// Whether a file belongs to examples that are counted apart.
    pub(super) fn is_example(&self, path: &str) -> bool {
        self.examples_apart.as_ref().is_some_and(|submodules| {
            Apart::of(path, submodules) == Some(Apart::Examples)
                && self.settings.named(path) == Named::Not
        })
    }

    /// What the project's own macros and functions do.
    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::of(self))
    }

    /// The CUDA file at a path.
    pub(crate) fn cuda_file(&self, path: &str) -> Option<&CudaFile> {
        let found = self.cuda.binary_search_by(|f| f.path.as_str().cmp(path));
        found.ok().map(|n| &self.cuda[n])
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
        const FRAMEWORKS: [&str; 5] = ["flask", "fastapi", "django", "aiohttp", "gradio"];
        let web = self.python.iter().any(|p| p.web && !p.is_test)
            || self
                .demands()
                .any(|r| FRAMEWORKS.contains(&r.name.as_str()) && !is_test(&r.file));
        web && self.dockerfiles.iter().any(exposes)
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
            self.words
                .get(scope.as_str())
                .is_some_and(|set| words.iter().any(|word| set.has(word)))
        })
    }

    /// Commits for actions that the project gives in `.warpsmith.toml` under `[audit.pins]`.
    pub(crate) fn action_pins(&self) -> BTreeMap<String, String> {
        self.settings
            .pins
            .iter()
            .filter_map(|(action, pin)| {
                let pin = pin.trim();
                let commit = pin.split_whitespace().next()?;
                let whole = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
                whole.then(|| (action.clone(), pin.to_owned()))
            })
            .collect()
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

/// The scope of `data/keyword_rules.toml` that a kind of file belongs to.
fn scope(kind: Kind) -> &'static str {
    match kind {
        Kind::Python | Kind::SetupPy | Kind::Pyproject => "python",
        Kind::Workflow | Kind::OtherCi => "ci",
        Kind::Document => "docs",
        Kind::Script | Kind::Cmake | Kind::Requirements => "scripts",
        Kind::Dockerfile => "image",
        Kind::Cuda | Kind::Cxx => "cxx",
        Kind::Yaml | Kind::Other => "yaml",
    }
}

/// Words of C++ that meets CUDA: calls torch, launches, or checks its statuses.
static CUDA_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::new([
        "torch/",
        "ATen/",
        "cuda_runtime",
        "<<<",
        "cudaSuccess",
        "cudaError",
        "LastError",
        "is_contiguous",
        "CUDAGuard",
        // What a caller writes behind a launch that stands in another file.
        "check_cuda",
        "cuda_check",
        "cudaCheck",
        "checkCuda",
        "CUDA_CHECK",
        "CHECK_CUDA",
    ])
    .ok()
});

fn read(root: &Path, path: &str, kind: Kind) -> FileFacts {
    read_text(path, kind, walk::read(root, path))
}

/// Reads a file once for everything that is asked of it.
fn read_text(path: &str, kind: Kind, text: Option<String>) -> FileFacts {
    let mut facts = FileFacts {
        path: path.to_owned(),
        kind,
        parsed: None,
        words: WordSet::default(),
        secrets: Vec::new(),
        suppressions: Vec::new(),
    };
    if let Some(text) = text {
        facts.words = match kind {
            Kind::Cuda => WordSet::default(),
            Kind::Cxx if !is_test(path) => WordSet::default(),
            _ => WordSet::of(scope(kind), &text),
        };
        if !matches!(kind, Kind::Cuda | Kind::Cxx | Kind::Cmake) && !is_test(path) {
            facts.secrets = find_secrets(path, &text);
        }
        facts.suppressions = suppression::comments(&text);
        facts.parsed = parse(path, kind, text);
    }
    facts
}

fn parse(path: &str, kind: Kind, text: String) -> Option<Parsed> {
    let yaml = |text: String| YamlFile {
        path: path.to_owned(),
        // Jenkins files are CI configuration in a language of their own.
        outline: if path.ends_with(".yml") || path.ends_with(".yaml") {
            Outline::parse(&text)
        } else {
            Outline::default()
        },
        text,
    };
    Some(match kind {
        Kind::Cuda => Parsed::Cuda(CudaFile::parse(path, &text)),
        Kind::Cxx if CUDA_WORDS.as_ref().is_some_and(|w| w.is_match(&text)) => {
            Parsed::Cxx(CudaFile::parse(path, &text))
        }
        Kind::Python => Parsed::Python(PythonFile::parse(path, &text, is_test(path))),
        Kind::SetupPy if SetupPy::is_build_script(&text) => {
            Parsed::SetupPy(SetupPy::parse(path, &text))
        }
        Kind::SetupPy => Parsed::Python(PythonFile::parse(path, &text, is_test(path))),
        Kind::Pyproject => Parsed::Pyproject(Pyproject::parse(path, &text)),
        Kind::Requirements => {
            let (found, options) = parse_requirements(path, &text);
            Parsed::Requirements(found, options)
        }
        Kind::Dockerfile => Parsed::Dockerfile(Dockerfile::parse(path, &text)),
        Kind::Workflow | Kind::OtherCi | Kind::Yaml => Parsed::Yaml(kind, yaml(text)),
        Kind::Cmake => Parsed::Cmake(path.to_owned(), cmake_condition::live(parse_cmake(&text))),
        Kind::Document => Parsed::Document(Document::parse(path, &text)),
        Kind::Script => Parsed::Script(path.to_owned(), text),
        Kind::Cxx | Kind::Other => Parsed::Words,
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
