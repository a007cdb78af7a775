//! Statements of a module that only Python can run: what they may have changed is no longer known.

use super::evaluate::path;
use super::value::Tables;
use super::{Global, PythonModule, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, List, Stmt, StmtId, StmtKind, Tree};
use warpsmith_ir::{Constant, Number};

const CHANGED: Global = Global::Opaque("set by a statement that only Python can run");

impl Scope {
    /// Forgets what the statements may set. `runs` says whether Python runs them when the module is imported:
    /// only then do they change settings.
    pub(super) fn forget(&mut self, tables: &mut Tables<'_>, body: List, runs: bool) {
        let mut pending: Vec<StmtId> = tables.tree.stmts_in(body).to_vec();
        while let Some(id) = pending.pop() {
            let stmt = tables.tree.stmt(id);
            match stmt.kind {
                StmtKind::Assign { targets, .. } => {
                    for target in tables.tree.exprs_in(targets).to_vec() {
                        self.forget_target(tables, target, runs);
                    }
                }
                StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => {
                    self.forget_target(tables, target, runs);
                }
                StmtKind::Delete(targets) => {
                    for target in tables.tree.exprs_in(targets).to_vec() {
                        self.forget_target(tables, target, runs);
                    }
                }
                StmtKind::For { target, body, .. } => {
                    self.forget_target(tables, target, runs);
                    pending.extend_from_slice(tables.tree.stmts_in(body));
                }
                StmtKind::If { body, orelse, .. } => {
                    pending.extend_from_slice(tables.tree.stmts_in(body));
                    pending.extend_from_slice(tables.tree.stmts_in(orelse));
                }
                StmtKind::While { body, .. } | StmtKind::Block { body, .. } => {
                    pending.extend_from_slice(tables.tree.stmts_in(body));
                }
                StmtKind::Import(aliases) | StmtKind::ImportFrom { aliases, .. } => {
                    for alias in tables.tree.aliases_in(aliases).to_vec() {
                        let bound = match alias.bound {
                            Some(bound) => bound,
                            None => {
                                let whole = tables.names.get(alias.name);
                                let first = whole.split('.').next().unwrap_or("").to_owned();
                                tables.names.intern(&first)
                            }
                        };
                        self.set(bound, CHANGED);
                    }
                }
                StmtKind::Function(index) => {
                    let name = tables.tree.functions[index as usize].name;
                    self.set(name, CHANGED);
                }
                StmtKind::Class(index) => {
                    let name = tables.tree.classes[index as usize].name;
                    self.set(name, CHANGED);
                }
                StmtKind::Expr(value) if runs && sets_options(self, tables, value) => {
                    self.unknown_setting(stmt, "module options that are set under a condition");
                }
                _ => {}
            }
        }
    }

    /// Forgets what an assignment to `target` changes.
    pub(super) fn forget_target(&mut self, tables: &mut Tables<'_>, target: ExprId, runs: bool) {
        match tables.tree.expr(target).kind {
            ExprKind::Name(name) => self.set(name, CHANGED),
            ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
                for item in tables.tree.exprs_in(list).to_vec() {
                    self.forget_target(tables, item, runs);
                }
            }
            ExprKind::Starred(value) => self.forget_target(tables, value, runs),
            ExprKind::Attribute(..) if runs => self.forget_attribute(tables, target),
            _ => {}
        }
    }

    /// An assignment to an attribute: of a class that holds constants, or of Warp's settings.
    fn forget_attribute(&mut self, tables: &mut Tables<'_>, target: ExprId) {
        let node = tables.tree.expr(target);
        let ExprKind::Attribute(base, attr) = node.kind else {
            return;
        };
        if let Global::Class(class) = path(self, tables, base) {
            let dotted = format!("{}.{}", tables.names.get(class), tables.names.get(attr));
            let dotted = tables.names.intern(&dotted);
            self.set_attribute(dotted, CHANGED);
            return;
        }
        if let Some(name) = self.config_name(tables, target)
            && changes_the_text(&name)
        {
            let what =
                format!("the setting `wp.config.{name}` changes the text and is not supported");
            self.setting =
                Some(Problem::at("K025", node.start, node.end, what).hint("leave it out"));
        }
    }

    /// The name of a setting: `x` of `wp.config.x`.
    fn config_name(&self, tables: &mut Tables<'_>, target: ExprId) -> Option<String> {
        let ExprKind::Attribute(base, attr) = tables.tree.expr(target).kind else {
            return None;
        };
        let ExprKind::Attribute(root, config) = tables.tree.expr(base).kind else {
            return None;
        };
        let of_warp = tables.names.get(config) == "config"
            && path(self, tables, root) == Global::Module(PythonModule::Warp);
        of_warp.then(|| tables.names.get(attr).to_owned())
    }

    /// `wp.config.x = value`: whether that is known to mean something, or nothing.
    pub(super) fn set_config(
        &mut self,
        tables: &mut Tables<'_>,
        target: ExprId,
        value: Global,
    ) -> bool {
        let Some(name) = self.config_name(tables, target) else {
            return false;
        };
        match (name.as_str(), value) {
            ("enable_backward", Global::Value(Constant::Bool(value))) => {
                self.config.backward = Some(value);
            }
            ("default_grid_stride", Global::Value(Constant::Bool(value))) => {
                self.config.grid_stride = Some(value);
            }
            ("max_unroll", Global::Value(Constant::Number(Number::Int(value)))) => {
                self.config.max_unroll = Some(i64::try_from(value).unwrap_or(i64::MAX));
            }
            ("mode", Global::Value(Constant::Str(mode))) => {
                return tables.names.get(mode) == "release";
            }
            (name, Global::Value(Constant::Bool(false))) => return !is_on_by_default(name),
            _ => return false,
        }
        true
    }

    /// Forgets what functions may set that nobody knows when they are called.
    pub(super) fn forget_globals(&mut self, tables: &Tables<'_>, body: List) {
        let mut names = Vec::new();
        globals_in(tables.tree, body, &mut names);
        for name in names {
            self.set(name, CHANGED);
        }
    }

    fn unknown_setting(&mut self, stmt: Stmt, what: &str) {
        let what = format!("{what} are not supported");
        self.setting = Some(Problem::at("K025", stmt.start, stmt.end, what));
    }
}

/// The names that `global` statements name below `body`.
fn globals_in(tree: &Tree, body: List, found: &mut Vec<warpsmith_ir::names::Name>) {
    for id in tree.stmts_in(body) {
        match tree.stmt(*id).kind {
            StmtKind::Global(list) => {
                for name in tree.exprs_in(list) {
                    if let ExprKind::Name(name) = tree.expr(*name).kind {
                        found.push(name);
                    }
                }
            }
            StmtKind::If { body, orelse, .. } => {
                globals_in(tree, body, found);
                globals_in(tree, orelse, found);
            }
            StmtKind::For { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::Block { body, .. } => globals_in(tree, body, found),
            StmtKind::Function(index) => {
                globals_in(tree, tree.functions[index as usize].body, found);
            }
            StmtKind::Class(index) => globals_in(tree, tree.classes[index as usize].body, found),
            _ => {}
        }
    }
}

/// `wp.set_module_options(…)`.
fn sets_options(scope: &Scope, tables: &mut Tables<'_>, value: ExprId) -> bool {
    let ExprKind::Call { func, .. } = tables.tree.expr(value).kind else {
        return false;
    };
    matches!(path(scope, tables, func), Global::WarpCallable(name)
        if tables.names.get(name) == "set_module_options")
}

/// Whether `False` is a change.
fn is_on_by_default(name: &str) -> bool {
    matches!(name, "enable_tiles_in_stack_memory" | "line_directives")
}

/// Whether a setting of `warp.config` changes what Warp writes.
fn changes_the_text(name: &str) -> bool {
    matches!(
        name,
        "deterministic"
            | "default_grid_stride"
            | "enable_backward"
            | "enable_cpu_blocks"
            | "enable_tiles_in_stack_memory"
            | "enable_vector_component_overwrites"
            | "lineinfo"
            | "max_unroll"
            | "mode"
            | "verify_autograd_array_access"
            | "verify_fp"
    )
}
