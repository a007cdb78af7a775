//! Imports: of Warp and the few modules of Python that kernels use, and of the project's own.

use super::project::position;
use super::value::{Tables, attribute};
use super::{Global, PythonModule, Scope};
use crate::diagnostic::Problem;
use crate::syntax::List;
use warpsmith_ir::names::Name;

const UNKNOWN: Global = Global::Opaque("something imported from another module");

impl Scope {
    pub(super) fn import(&mut self, tables: &mut Tables<'_>, aliases: List) -> Result<(), Problem> {
        for at in aliases.start..aliases.start + aliases.len {
            let alias = tables.tree.aliases[at as usize];
            let module = tables.names.get(alias.name).to_owned();
            let first = module.split('.').next().unwrap_or("");
            // Without `as`, the name that is bound is the first part's.
            let meant = if alias.bound.is_some() {
                &module
            } else {
                first
            };
            self.enter_path(tables, &module)?;
            let value = match position(tables.modules, meant) {
                Some(project) => Global::Module(PythonModule::Project(project)),
                None => match known_module(meant) {
                    Some(known) => Global::Module(known),
                    None => Global::Opaque("a module that is not known"),
                },
            };
            let bound = alias.bound.unwrap_or_else(|| tables.names.intern(first));
            self.set(bound, value);
        }
        Ok(())
    }

    pub(super) fn import_from(
        &mut self,
        tables: &mut Tables<'_>,
        module: Option<Name>,
        level: u32,
        aliases: List,
    ) -> Result<(), Problem> {
        let written = module.map(|name| tables.names.get(name).to_owned());
        let here = tables.modules.get(usize::from(self.module()));
        let base = match here {
            Some(here) => here.absolute(level, written.as_deref()),
            None => written.filter(|_| level == 0),
        }
        .unwrap_or_default();
        self.enter_path(tables, &base)?;
        let source = match position(tables.modules, &base) {
            Some(project) => Some(PythonModule::Project(project)),
            None => known_module(&base),
        };
        for at in aliases.start..aliases.start + aliases.len {
            let alias = tables.tree.aliases[at as usize];
            let name = tables.names.get(alias.name).to_owned();
            if name == "*" {
                self.import_all(tables, source);
                continue;
            }
            let bound = alias.bound.unwrap_or(alias.name);
            let below = format!("{base}.{name}");
            let mut value = source.and_then(|source| {
                let source = Global::Module(source);
                attribute(source, alias.name, self, tables.names, tables.types)
            });
            if matches!(value, None | Some(Global::Opaque(_)))
                && let Some(project) = position(tables.modules, &below)
            {
                self.enter_project(tables, project)?;
                value = Some(Global::Module(PythonModule::Project(project)));
            }
            if let Some(PythonModule::Project(project)) = source {
                self.import_display(bound, project, alias.name);
                if bound == alias.name {
                    self.import_host_function(bound, project);
                }
            }
            self.set(bound, value.unwrap_or(UNKNOWN));
        }
        Ok(())
    }

    /// `from module import *`: the names of a module of the project; others may hide anything.
    fn import_all(&mut self, tables: &mut Tables<'_>, source: Option<PythonModule>) {
        match source {
            Some(PythonModule::Project(project)) => {
                for (name, value) in self.names_of(project) {
                    if !tables.names.get(name).starts_with('_') {
                        self.set(name, value);
                    }
                }
            }
            Some(PythonModule::Warp | PythonModule::Math | PythonModule::Typing) => {}
            _ => self.hides_names = true,
        }
    }

    /// Enters the modules of the project along a dotted path, from the left, as Python does.
    pub(super) fn enter_path(
        &mut self,
        tables: &mut Tables<'_>,
        path: &str,
    ) -> Result<(), Problem> {
        let ends = path.match_indices('.').map(|(at, _)| at);
        let mut parent: Option<u16> = None;
        for end in ends.chain([path.len()]) {
            let Some(project) = position(tables.modules, &path[..end]) else {
                parent = None;
                continue;
            };
            self.enter_project(tables, project)?;
            // A module is an attribute of the package that it lies in.
            if let Some(parent) = parent {
                let last = path[..end].rsplit('.').next().unwrap_or("");
                let last = tables.names.intern(last);
                let before = self.enter_module(parent);
                self.set(last, Global::Module(PythonModule::Project(project)));
                self.enter_module(before);
            }
            parent = Some(project);
        }
        Ok(())
    }

    /// Enters what a module of the project defines, once.
    fn enter_project(&mut self, tables: &mut Tables<'_>, project: u16) -> Result<(), Problem> {
        let at = usize::from(project);
        if self.entered.len() < tables.modules.len() {
            self.entered.resize(tables.modules.len(), false);
        }
        if std::mem::replace(&mut self.entered[at], true) {
            return Ok(());
        }
        let qualifier = std::mem::take(&mut self.qualifier);
        let may_define = self.may_define;
        let outer = self.enter_closure(project, &[]);
        let entered = self.module_body(tables, tables.modules[at].body);
        self.leave_closure(outer);
        self.may_define = may_define;
        self.qualifier = qualifier;
        entered
    }
}

/// A module that is known without its text.
fn known_module(name: &str) -> Option<PythonModule> {
    Some(match name {
        "warp" => PythonModule::Warp,
        "warp.types" => PythonModule::WarpTypes,
        "math" => PythonModule::Math,
        "numpy" => PythonModule::Numpy,
        "typing" => PythonModule::Typing,
        _ => return None,
    })
}
