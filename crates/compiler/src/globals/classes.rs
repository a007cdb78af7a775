//! Structs.

use super::annotation::type_of;
use super::collect::unsupported;
use super::evaluate::path;
use super::value::Tables;
use super::{Global, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprKind, StmtKind};
use crate::types::{FieldDef, StructDef};

impl Scope {
    /// Enters a struct; a class of another kind is opaque.
    pub(super) fn class(
        &mut self,
        tables: &mut Tables<'_>,
        index: u32,
        struct_suffix: &str,
    ) -> Result<(), Problem> {
        let node = tables.tree.classes[index as usize];
        let key = node.name;
        let is_struct = match *tables.tree.exprs_in(node.decorators) {
            [decorator] => matches!(path(self, tables, decorator), Global::WarpCallable(name)
                if tables.names.get(name) == "struct"),
            _ => false,
        };
        let plain = node.bases.len == 0 && !node.has_keywords;
        if !is_struct || !plain {
            self.set(key, Global::Opaque("a class that is not a `@wp.struct`"));
            return Ok(());
        }
        let mut fields = Vec::new();
        for at in node.body.start..node.body.start + node.body.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            match stmt.kind {
                StmtKind::AnnAssign {
                    target, annotation, ..
                } => {
                    let ExprKind::Name(name) = tables.tree.expr(target).kind else {
                        return Err(unsupported(stmt, "this field"));
                    };
                    let Ok(ty) = type_of(self, tables, annotation) else {
                        self.set(
                            key,
                            Global::Opaque("a struct with a field that is not supported"),
                        );
                        return Ok(());
                    };
                    if tables.types.is_generic(ty) {
                        self.set(key, Global::Opaque("a struct with a generic field"));
                        return Ok(());
                    }
                    fields.push(FieldDef { name, ty });
                }
                StmtKind::Pass => {}
                StmtKind::Expr(doc) if matches!(tables.tree.expr(doc).kind, ExprKind::Str(_)) => {}
                _ => {
                    self.set(key, Global::Opaque("a struct with more than fields"));
                    return Ok(());
                }
            }
        }
        let mut def = StructDef {
            key,
            native: key,
            fields,
        };
        let native = format!("{}{struct_suffix}", tables.names.get(key));
        def.native = tables.names.intern(&native);
        // An equal struct under the same name is the same C++ type.
        let known = tables.types.structs().contains(&def);
        let ty = tables.types.define_struct(def, tables.names);
        self.set(
            key,
            if known {
                Global::Opaque("a struct that is defined twice")
            } else {
                Global::Type(ty)
            },
        );
        Ok(())
    }
}
