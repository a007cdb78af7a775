//! What a compilation reads: the source, the modules that it imports, what the user binds, and Warp's library.

use std::collections::{HashMap, HashSet};

use super::{Binding, Compiler, Options};
use crate::diagnostic::Problem;
use crate::globals::{Bind, ModuleText, Place, ProjectModule, Tables, imported, package};
use crate::syntax::{List, Parsed, StmtKind, line_count, parse};

/// Most modules that one source may bring in, and most bytes of text.
const MAX_MODULES: usize = 4096;
const MAX_TEXT: usize = 64 << 20;

/// Most modules of one of other people's packages that do not know Warp: what constants such a package has it gives
/// at once.
const MAX_CLOSED: usize = 128;

impl Compiler {
    /// Reads everything that the source and what it imports define.
    pub(super) fn collect(
        &mut self,
        text: &str,
        library: Option<&str>,
        options: &Options,
        place: Option<&Place<'_>>,
    ) -> Result<(), Box<Problem>> {
        self.names.reset();
        self.types.reset();
        self.tree.clear();
        self.scope.clear();
        self.modules.clear();
        self.text.clear();
        self.lines_before = 0;
        let (name, package) = place.map_or(("", false), |place| (place.module, place.package));
        let module = self.begin_module(name, options.file.clone(), package);
        let read = self.append(text);
        // A syntax error is shown with its line, too.
        self.source.index(&self.text);
        self.modules.push(module);
        self.modules[0].body = read?;
        if let Some(place) = place {
            self.follow_imports(place);
        }
        self.read_binds(&options.bind)?;
        let mut library_body = List { start: 0, len: 0 };
        self.library_start = u32::MAX;
        if let Some(library) = library {
            self.library_start = self.text.len() as u32;
            library_body = self.append(library)?;
        }
        // What was read by itself has left other lines there.
        if !options.bind.is_empty() || library.is_some() {
            self.source.index(&self.text);
        }
        let mut tables = Tables {
            names: &mut self.names,
            types: &mut self.types,
            tree: &mut self.tree,
            source: &self.source,
            text: &self.text,
            modules: &self.modules,
            known: Vec::new(),
        };
        self.scope
            .collect(&mut tables, &options.suffix, library_body)?;
        Ok(())
    }

    /// Reads the modules that the source imports, and those that they import. A module that cannot be read is
    /// missing: whatever needs it says so.
    fn follow_imports(&mut self, place: &Place<'_>) {
        let mut seen: HashSet<String> = HashSet::from([place.module.to_owned()]);
        // Of each package. Such a module leads to its own package alone, so that one of very many modules takes
        // nothing from the others.
        let mut closed: HashMap<String, usize> = HashMap::new();
        let mut at = 0;
        while at < self.modules.len() && self.modules.len() < MAX_MODULES {
            let of = &self.modules[at];
            let own = of.is_closed.then(|| package(&of.name).to_owned());
            for name in imported(&self.tree, &self.names, &self.modules[at]) {
                let is_enough = |own: &String| closed.get(own).is_some_and(|n| *n >= MAX_CLOSED);
                if seen.contains(&name)
                    || self.text.len() > MAX_TEXT
                    || own.as_ref().is_some_and(is_enough)
                {
                    continue;
                }
                if let Some(found) = place.modules.find(&name)
                    && let Some(parsed) = found.parsed(self.with_kernels)
                    && self.put_module(&name, &found, parsed)
                {
                    *closed.entry(package(&name).to_owned()).or_default() += 1;
                }
                seen.insert(name);
            }
            at += 1;
        }
    }

    /// A module whose text comes next.
    fn begin_module(&self, name: &str, file: String, package: bool) -> ProjectModule {
        ProjectModule {
            name: name.to_owned(),
            file,
            package,
            compiled: false,
            start: self.text.len() as u32,
            lines_before: self.lines_before,
            body: List { start: 0, len: 0 },
            is_closed: false,
        }
    }

    /// Enters a module that has been read; says whether its imports lead nowhere but into its own package.
    fn put_module(&mut self, name: &str, found: &ModuleText, parsed: &Parsed) -> bool {
        let mut module = self.begin_module(name, found.file.clone(), found.package);
        module.compiled = found.compiled;
        // Other people's packages that do not know Warp have constants of their own at most.
        let is_own = |first: &ProjectModule| package(&first.name) == package(name);
        let is_package = found.package || name.contains('.');
        module.is_closed =
            is_package && !self.modules.first().is_none_or(is_own) && !parsed.knows_warp();
        let down = (module.start, module.lines_before);
        module.body = parsed.put_into(&mut self.tree, &mut self.names, down);
        self.push_text(found.text(), parsed.lines());
        let length = found.text().len() as u32;
        self.source
            .extend(module.start, parsed.later_lines(), length);
        let is_closed = module.is_closed;
        self.modules.push(module);
        is_closed
    }

    fn push_text(&mut self, text: &str, lines: u32) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines_before += lines;
    }

    /// Reads what the user says of factories' parameters.
    fn read_binds(&mut self, binds: &[Binding]) -> Result<(), Problem> {
        for bind in binds {
            // No import names such a module.
            let mut module = self.begin_module("--bind", format!("--bind {}", bind.name), false);
            let read = self.append(&bind.value);
            let body = read
                .as_ref()
                .map_or(&[][..], |body| self.tree.stmts_in(*body));
            let value = match *body {
                [only] => match self.tree.stmt(only).kind {
                    StmtKind::Expr(value) => Some(value),
                    _ => None,
                },
                _ => None,
            };
            if let Ok(body) = read {
                module.body = body;
                self.modules.push(module);
            }
            let Some(value) = value else {
                let what = format!(
                    "the value of `{}` is not a Python expression: `{}`",
                    bind.name, bind.value
                );
                return Err(Problem::at("K001", 0, 0, what)
                    .hint("write it as a call would, e.g. `make.size=16`"));
            };
            let path = bind.name.split('.').map(|part| self.names.intern(part));
            self.scope.binds.push(Bind {
                path: path.collect(),
                value,
                text: bind.value.clone(),
                is_used: false,
            });
        }
        Ok(())
    }

    /// Puts a text behind those that are there, and its statements into the tree.
    fn append(&mut self, text: &str) -> Result<List, Problem> {
        let (start, lines) = (self.text.len() as u32, self.lines_before);
        self.push_text(text, line_count(text));
        let before = self.tree.mark();
        let (tree, names) = (&mut self.tree, &mut self.names);
        let body = parse(text, tree, names, &mut self.source, &mut self.scratch)?;
        self.tree.move_since(before, start, lines);
        Ok(body)
    }
}
