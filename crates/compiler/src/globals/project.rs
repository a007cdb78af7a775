//! The modules that a source imports from its own project.
//!
//! Nothing is run: a module's text is read, and what it defines is worked out as the source's own is. All
//! texts lie behind each other, the source's first, so that a place in any of them is one number.

use std::sync::{Arc, OnceLock};

use crate::syntax::{List, Parsed, StmtId, StmtKind, Tree};

/// Where the texts of a project's modules come from.
pub trait Modules {
    /// The module with this dotted name; `None` if the project has none.
    fn find(&self, name: &str) -> Option<ModuleText>;
}

/// A module as it is found. Copies share its text, and the tree that is made of it once.
#[derive(Clone, Debug)]
pub struct ModuleText {
    /// The file name that comments and findings show.
    pub(crate) file: String,
    /// Whether it is a package: relative imports then begin in it, not beside it.
    pub(crate) package: bool,
    /// Whether the text stands for compiled code, whose enumerations are integers to Python but nothing to a kernel.
    pub(crate) compiled: bool,
    text: Arc<Text>,
}

#[derive(Debug)]
struct Text {
    text: String,
    /// `None` inside where it cannot be read.
    parsed: OnceLock<Option<Parsed>>,
    /// The same without what kernels are made of, which no other module can call.
    without_kernels: OnceLock<Option<Parsed>>,
}

impl ModuleText {
    /// A module with the name of its file, its source, and whether it is a package.
    pub fn new(file: String, text: String, package: bool) -> Self {
        Self {
            file,
            package,
            compiled: false,
            text: Arc::new(Text {
                text,
                parsed: OnceLock::new(),
                without_kernels: OnceLock::new(),
            }),
        }
    }

    /// The same, of a text that stands for compiled code.
    pub(crate) fn of_compiled_code(mut self) -> Self {
        self.compiled = true;
        self
    }

    /// The source.
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// The source's tree, with what its kernels are made of or without; `None` where the source cannot be read.
    pub(crate) fn parsed(&self, with_kernels: bool) -> Option<&Parsed> {
        let text = &self.text;
        let parsed = match with_kernels {
            true => text.parsed.get_or_init(|| Parsed::read(self.text())),
            false => (text.without_kernels).get_or_init(|| Parsed::without_kernels(self.text())),
        };
        parsed.as_ref()
    }
}

/// A source's place among the modules of its project.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The source's own dotted name.
    pub module: &'a str,
    /// Whether the source is a package.
    pub package: bool,
    /// The other modules.
    pub modules: &'a dyn Modules,
}

/// A module that has been read.
#[derive(Debug)]
pub(crate) struct ProjectModule {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) package: bool,
    /// Whether the text stands for compiled code.
    pub(crate) compiled: bool,
    /// Where its text begins among all.
    pub(crate) start: u32,
    /// How many lines stand before it.
    pub(crate) lines_before: u32,
    pub(crate) body: List,
    /// Whether its imports lead nowhere but into its own package.
    pub(crate) is_closed: bool,
}

impl ProjectModule {
    /// Whether a module that this one imports is of interest.
    fn may_lead_to(&self, name: &str) -> bool {
        !self.is_closed || package(name) == package(&self.name)
    }

    /// The dotted name that an import of this module means; `None` where it leaves the project.
    pub(super) fn absolute(&self, level: u32, module: Option<&str>) -> Option<String> {
        if level == 0 {
            return module.map(str::to_owned);
        }
        let mut parts: Vec<&str> = self.name.split('.').collect();
        let up = level as usize - usize::from(self.package);
        let kept = parts.len().checked_sub(up)?;
        parts.truncate(kept);
        parts.extend(module);
        (!parts.is_empty()).then(|| parts.join("."))
    }
}

/// The package that a module lies in, which may be the module itself.
pub(crate) fn package(name: &str) -> &str {
    name.split('.').next().unwrap_or("")
}

/// Whether a module is one that is known without its text, or lies in one.
fn is_known(name: &str) -> bool {
    matches!(package(name), "warp" | "math" | "numpy" | "typing")
}

/// The position of a module.
pub(super) fn position(modules: &[ProjectModule], name: &str) -> Option<u16> {
    let found = modules.iter().position(|module| module.name == name)?;
    u16::try_from(found).ok()
}

/// The dotted names that the statements of a module may import, in order: of `from a import b` both `a` and
/// `a.b`, and of `a.b` also `a`, because Python runs that first.
pub(crate) fn imported(
    tree: &Tree,
    names: &warpsmith_ir::names::Names,
    of: &ProjectModule,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |name: &str| {
        if is_known(name) || !of.may_lead_to(name) {
            return;
        }
        let ends = name.match_indices('.').map(|(at, _)| at);
        for end in ends.chain([name.len()]) {
            let part = &name[..end];
            if !found.iter().any(|known| known == part) {
                found.push(part.to_owned());
            }
        }
    };
    if let Some((package, _)) = of.name.rsplit_once('.') {
        add(package);
    }
    let mut pending: Vec<StmtId> = tree.stmts_in(of.body).iter().rev().copied().collect();
    while let Some(id) = pending.pop() {
        match tree.stmt(id).kind {
            StmtKind::Import(aliases) => {
                for alias in tree.aliases_in(aliases) {
                    add(names.get(alias.name));
                }
            }
            StmtKind::ImportFrom {
                module,
                level,
                aliases,
            } => {
                let Some(base) = of.absolute(level, module.map(|name| names.get(name))) else {
                    continue;
                };
                add(&base);
                for alias in tree.aliases_in(aliases) {
                    add(&format!("{base}.{}", names.get(alias.name)));
                }
            }
            StmtKind::If { body, orelse, .. } => {
                pending.extend(tree.stmts_in(orelse).iter().rev());
                pending.extend(tree.stmts_in(body).iter().rev());
            }
            // What `try` and `with` import is not known to be there.
            _ => {}
        }
    }
    found
}
