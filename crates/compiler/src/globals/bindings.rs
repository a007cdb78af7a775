//! The names that a function or a class binds itself, which its module's do not reach.

use super::value::Tables;
use crate::syntax::{ExprId, ExprKind, FunctionNode, List, StmtKind};
use warpsmith_ir::names::Name;

/// A name that a body binds.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: Name,
    /// Whether it is bound once, or by definitions alone that follow each other: then the last value is the
    /// only one that anybody sees.
    pub(super) is_sure: bool,
}

/// The names that a function binds, its parameters first.
pub(super) fn of_function(tables: &mut Tables<'_>, node: &FunctionNode) -> Vec<Binding> {
    let list = node.parameters;
    let parameters = &tables.tree.parameters[list.start as usize..][..list.len as usize];
    let mut found = Found::default();
    for parameter in parameters {
        found.bind(parameter.name);
    }
    found.body(tables, node.body);
    // What these statements bind has no node of its own.
    let text = text_of(tables, node.body);
    for word in words_bound_by_text(text) {
        let name = tables.names.intern(word);
        found.bind(name);
        found.bind(name);
    }
    found.finish(tables, node.body)
}

/// The names that the body of a class binds.
pub(super) fn of_class(tables: &mut Tables<'_>, body: List) -> Vec<Binding> {
    let mut found = Found::default();
    found.body(tables, body);
    found.finish(tables, body)
}

/// The text of statements.
pub(super) fn text_of<'a>(tables: &Tables<'a>, body: List) -> &'a str {
    let statements = tables.tree.stmts_in(body).iter();
    let statements = statements.map(|id| tables.tree.stmt(*id));
    let (start, end) = statements.fold((u32::MAX, 0), |(start, end), stmt| {
        (start.min(stmt.start), end.max(stmt.end))
    });
    tables.text.get(start as usize..end as usize).unwrap_or("")
}

/// Names that `:=`, `except … as`, `case` and `nonlocal` bind, and some more.
fn words_bound_by_text(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    for (at, _) in text.match_indices(":=") {
        let before = text[..at].trim_end();
        words.extend(before.rsplit(|c: char| !is_part(c)).next());
    }
    for line in text.lines() {
        let line = line.trim_ascii_start();
        // Few lines begin like one of these.
        if !matches!(line.as_bytes().first(), Some(b'e' | b'c' | b'n')) {
            continue;
        }
        let bound = match line.split_once(char::is_whitespace) {
            Some(("except", rest)) => rest.split_once(" as ").map_or("", |(_, name)| name),
            Some(("case" | "nonlocal", rest)) => rest,
            _ => "",
        };
        words.extend(bound.split(|c: char| !is_part(c)));
    }
    words.retain(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    words
}

#[derive(Default)]
struct Found {
    /// Names, and how often each is bound.
    names: Vec<(Name, u32)>,
    globals: Vec<Name>,
}

impl Found {
    fn bind(&mut self, name: Name) {
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.names.push((name, 1)),
        }
    }

    fn target(&mut self, tables: &Tables<'_>, target: ExprId) {
        match tables.tree.expr(target).kind {
            ExprKind::Name(name) => self.bind(name),
            ExprKind::Tuple(list) | ExprKind::ListDisplay(list) => {
                for item in tables.tree.exprs_in(list) {
                    self.target(tables, *item);
                }
            }
            ExprKind::Starred(value) => self.target(tables, value),
            _ => {}
        }
    }

    fn body(&mut self, tables: &mut Tables<'_>, body: List) {
        for at in body.start..body.start + body.len {
            let stmt = tables.tree.stmt_lists[at as usize];
            match tables.tree.stmt(stmt).kind {
                StmtKind::Assign { targets, .. } | StmtKind::Delete(targets) => {
                    for target in tables.tree.exprs_in(targets) {
                        self.target(tables, *target);
                    }
                }
                StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => {
                    self.target(tables, target);
                }
                StmtKind::For { target, body, .. } => {
                    self.target(tables, target);
                    self.body(tables, body);
                }
                StmtKind::If { body, orelse, .. } => {
                    self.body(tables, body);
                    self.body(tables, orelse);
                }
                StmtKind::While { body, .. } | StmtKind::Block { body, .. } => {
                    self.body(tables, body);
                }
                StmtKind::Import(aliases) | StmtKind::ImportFrom { aliases, .. } => {
                    for at in aliases.start..aliases.start + aliases.len {
                        let alias = tables.tree.aliases[at as usize];
                        let bound = alias.bound.unwrap_or_else(|| {
                            let whole = tables.names.get(alias.name);
                            let first = whole.split('.').next().unwrap_or("").to_owned();
                            tables.names.intern(&first)
                        });
                        self.bind(bound);
                    }
                }
                StmtKind::Function(index) => {
                    self.bind(tables.tree.functions[index as usize].name);
                }
                StmtKind::Class(index) => self.bind(tables.tree.classes[index as usize].name),
                StmtKind::Global(list) => {
                    for name in tables.tree.exprs_in(list) {
                        if let ExprKind::Name(name) = tables.tree.expr(*name).kind {
                            self.globals.push(name);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(self, tables: &Tables<'_>, body: List) -> Vec<Binding> {
        let definitions = |name: Name| {
            let statements = tables.tree.stmts_in(body).iter();
            let defined = statements.filter(|id| match tables.tree.stmt(**id).kind {
                StmtKind::Function(index) => tables.tree.functions[index as usize].name == name,
                _ => false,
            });
            defined.count() as u32
        };
        let names = self.names.into_iter();
        let names = names.filter(|(name, _)| !self.globals.contains(name));
        names
            .map(|(name, count)| Binding {
                name,
                is_sure: count == 1 || count == definitions(name),
            })
            .collect()
    }
}
