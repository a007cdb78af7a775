//! Structs, and classes that hold constants.

use super::annotation::type_of;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{Global, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ClassNode, ExprKind, StmtKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{FieldDef, StructDef};
use warpsmith_ir::{Constant, Number};

const UNKNOWN: Global = Global::Opaque("an attribute that only Python can evaluate");

impl Scope {
    /// Enters a struct; a class of another kind is opaque.
    pub(super) fn class(&mut self, tables: &mut Tables<'_>, index: u32) -> Result<(), Problem> {
        let node = tables.tree.classes[index as usize];
        let name = node.name;
        let key = self.key(tables, name);
        let is_struct = match *tables.tree.exprs_in(node.decorators) {
            [decorator] => matches!(path(self, tables, decorator), Global::WarpCallable(name)
                if tables.names.get(name) == "struct"),
            _ => false,
        };
        let plain = node.bases.len == 0 && !node.has_keywords;
        // A class that is derived from one of Warp's types is another name for it.
        if let (0, false, &[base]) = (
            node.decorators.len,
            node.has_keywords,
            tables.tree.exprs_in(node.bases),
        ) && let base @ Global::Type(_) = evaluate(self, tables, base)
        {
            self.set(name, base);
            return Ok(());
        }
        if !is_struct || !plain {
            let class = self.class_name(tables, name);
            let is_outside = self.qualifier.is_empty();
            if is_outside && !is_struct && node.decorators.len == 0 && is_namespace(tables, &node) {
                self.namespace(tables, &node, class);
            } else {
                self.set(name, Global::Opaque("a class that is not a `@wp.struct`"));
            }
            if self.class_functions(tables, &node, class)? {
                self.set(name, Global::Class(class));
            }
            return Ok(());
        }
        let mut fields = Vec::new();
        for at in node.body.start..node.body.start + node.body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            match stmt.kind {
                StmtKind::AnnAssign {
                    target, annotation, ..
                } => {
                    let ExprKind::Name(field) = tables.tree.expr(target).kind else {
                        self.set(name, Global::Opaque("a struct with more than fields"));
                        return Ok(());
                    };
                    let Ok(ty) = type_of(self, tables, annotation) else {
                        self.set(
                            name,
                            Global::Opaque("a struct with a field that is not supported"),
                        );
                        return Ok(());
                    };
                    if tables.types.is_generic(ty) {
                        self.set(name, Global::Opaque("a struct with a generic field"));
                        return Ok(());
                    }
                    let is_handle = evaluate(self, tables, annotation) == Global::Handle;
                    let field = FieldDef {
                        name: field,
                        ty,
                        is_handle,
                    };
                    // A second annotation takes the place of the first.
                    match fields
                        .iter_mut()
                        .find(|other: &&mut FieldDef| other.name == field.name)
                    {
                        Some(other) => *other = field,
                        None => fields.push(field),
                    }
                }
                StmtKind::Pass => {}
                StmtKind::Expr(doc) if matches!(tables.tree.expr(doc).kind, ExprKind::Str(_)) => {}
                _ => {
                    self.set(name, Global::Opaque("a struct with more than fields"));
                    return Ok(());
                }
            }
        }
        let mut def = StructDef {
            key,
            native: key,
            fields,
        };
        let native = format!("{}{}", tables.names.get(key), self.struct_suffix);
        def.native = tables.names.intern(&native);
        // An equal struct under the same name is the same C++ type.
        let known = tables.types.structs().contains(&def);
        let ty = tables.types.define_struct(def, tables.names);
        self.set(
            name,
            if known {
                Global::Opaque("a struct that is defined twice")
            } else {
                Global::Type(ty)
            },
        );
        Ok(())
    }

    /// What a class's attributes are known by: a class of another module may have the same name.
    fn class_name(&self, tables: &mut Tables<'_>, name: Name) -> Name {
        let key = self.key(tables, name);
        match self.module() {
            0 => key,
            module => {
                let unique = format!("{module}:{}", tables.names.get(key));
                tables.names.intern(&unique)
            }
        }
    }

    /// Enters the constants of a class, each under its dotted name.
    fn namespace(&mut self, tables: &mut Tables<'_>, node: &ClassNode, class: Name) {
        let is_enum = node.bases.len > 0;
        let module = tables.modules.get(usize::from(self.module()));
        let is_compiled = module.is_some_and(|module| module.compiled);
        // Names of the class come before those of the module, until its body ends.
        let mut hidden = Vec::new();
        let mut members = Vec::new();
        for at in node.body.start..node.body.start + node.body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            let (target, value) = match stmt.kind {
                StmtKind::Assign { targets, value } if targets.len == 1 => {
                    (tables.tree.exprs_in(targets)[0], value)
                }
                StmtKind::AnnAssign {
                    target,
                    value: Some(value),
                    ..
                } => (target, value),
                _ => continue,
            };
            let ExprKind::Name(name) = tables.tree.expr(target).kind else {
                continue;
            };
            let value = match evaluate(self, tables, value) {
                Global::Value(Constant::Number(Number::Int(value))) if is_compiled => {
                    i64::try_from(value).map_or(UNKNOWN, Global::Member)
                }
                value @ Global::Value(Constant::Number(Number::Int(_))) => value,
                Global::Member(value) if is_enum => {
                    Global::Value(Constant::Number(Number::Int(i128::from(value))))
                }
                value @ Global::Value(_) if !is_enum => value,
                _ => UNKNOWN,
            };
            members.push((name, value));
            hidden.push((name, self.get(name)));
            self.set(name, value);
            let dotted = format!("{}.{}", tables.names.get(class), tables.names.get(name));
            if is_enum {
                let member = tables.names.intern(&format!("{dotted}.value"));
                self.set_attribute(member, value);
            }
            let dotted = tables.names.intern(&dotted);
            self.set_attribute(dotted, value);
        }
        for (name, value) in hidden.into_iter().rev() {
            self.restore(name, value);
        }
        let is_known = |value: &Global| matches!(value, Global::Value(_));
        if is_integer_enum(tables, node) && members.iter().all(|(_, value)| is_known(value)) {
            self.set_enumeration(class, members);
        }
        self.set(node.name, Global::Class(class));
    }
}

/// Whether a class is an enumeration whose values are its members alone, not their sums.
fn is_integer_enum(tables: &Tables<'_>, node: &ClassNode) -> bool {
    let bases = tables.tree.exprs_in(node.bases);
    bases.iter().any(|base| match tables.tree.expr(*base).kind {
        ExprKind::Name(name) | ExprKind::Attribute(_, name) => tables.names.get(name) == "IntEnum",
        _ => false,
    })
}

/// Whether a class does nothing but hold constants: no base, or one of the integer enumerations.
fn is_namespace(tables: &Tables<'_>, node: &ClassNode) -> bool {
    if node.has_keywords {
        return false;
    }
    match *tables.tree.exprs_in(node.bases) {
        [] => true,
        [base] => match tables.tree.expr(base).kind {
            ExprKind::Name(name) | ExprKind::Attribute(_, name) => {
                matches!(tables.names.get(name), "IntEnum" | "IntFlag")
            }
            _ => false,
        },
        _ => false,
    }
}
