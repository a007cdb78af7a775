//! `wp.adjoint[x]`: the gradients that an author's own adjoint adds to.

use super::body::Body;
use super::value::{Binding, Res, fail};
use crate::globals::Global;
use crate::syntax::{ExprId, ExprKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Op, Piece, Place, Step, Text, VarId};

impl Body<'_, '_> {
    /// Whether an expression is `wp.adjoint`.
    pub(super) fn is_adjoint(&mut self, expr: ExprId) -> bool {
        if let ExprKind::Attribute(_, attr) = self.shared.tree.expr(expr).kind
            && self.shared.names.get(attr) == "adjoint"
        {
            return matches!(self.static_path(expr), Some(Global::WarpCallable(name)) if name == attr);
        }
        false
    }

    /// The gradient of a parameter, of one of its fields, or of an array that can be traced to one.
    pub(super) fn gradient_of(&mut self, expr: ExprId) -> Res<VarId> {
        let Some(inputs) = self.gradient_inputs else {
            return fail("K021", "`wp.adjoint` is only understood in a gradient");
        };
        let (root, path, ty) = self.path_of_parameter(expr)?;
        let mut pieces = Vec::new();
        if self.shared.types.array_parts(ty).is_some() {
            let mut place = match self.place_of(root) {
                Some(place) => place,
                None => Place {
                    root,
                    steps: Vec::new(),
                },
            };
            place.steps.extend(path.into_iter().map(Step::Field));
            self.check_input(place.root, inputs)?;
            self.array_gradient(&place, &mut pieces)?;
        } else {
            self.check_input(root, inputs)?;
            pieces.push(Piece::Dual(root));
            for field in path {
                let text = format!(".{}", self.shared.names.get(field));
                pieces.push(Piece::Text(self.shared.names.intern(&text)));
            }
        }
        Ok(self.add_alias(ty, pieces))
    }

    fn check_input(&self, root: VarId, inputs: u32) -> Res<()> {
        if root.0 < inputs {
            return Ok(());
        }
        fail(
            "K021",
            "only parameters of the function have gradients here",
        )
    }

    /// Each field of the path to an array is wrapped around those before it.
    fn array_gradient(&mut self, place: &Place, pieces: &mut Vec<Piece>) -> Res<()> {
        let open = "(".repeat(place.steps.len());
        pieces.push(Piece::Text(self.shared.names.intern(&open)));
        pieces.push(Piece::Dual(place.root));
        for step in &place.steps {
            let Step::Field(field) = step else {
                return fail(
                    "K021",
                    "the gradient of a part of an array is not supported",
                );
            };
            let text = format!(").{}", self.shared.names.get(*field));
            pieces.push(Piece::Text(self.shared.names.intern(&text)));
        }
        Ok(())
    }

    /// The variable, the fields, and the type of what they lead to.
    fn path_of_parameter(&mut self, expr: ExprId) -> Res<(VarId, Vec<Name>, TypeId)> {
        let node = self.shared.tree.expr(expr);
        self.enter_line(node.line);
        match node.kind {
            ExprKind::Name(name) => match self.symbols.get(name) {
                Some(Binding::Var(var)) if var.alias().is_none() && !self.is_reference(var) => {
                    Ok((var, Vec::new(), self.ty(var)))
                }
                _ => fail("K021", "this has no gradient"),
            },
            ExprKind::Attribute(base, attr) => {
                let (root, mut path, ty) = self.path_of_parameter(base)?;
                let field = match self.shared.types.get(ty) {
                    Type::Struct(id) => self.shared.types.struct_def(id).field(attr),
                    _ => None,
                };
                let Some(field) = field else {
                    return fail("K021", "only fields of structs have gradients here");
                };
                path.push(attr);
                Ok((root, path, field))
            }
            _ => fail("K021", "only names and fields have gradients here"),
        }
    }

    /// Gives a gradient another value.
    pub(super) fn set_gradient(&mut self, gradient: VarId, value: VarId) -> Res<()> {
        if self.is_reference(value) || self.shared.types.array_parts(self.ty(gradient)).is_some() {
            return fail("K021", "a gradient is set to a value, not to a reference");
        }
        let equals = self.shared.names.intern(" = ");
        let mut forward = match gradient.alias() {
            Some(alias) => self.aliases[alias].pieces.clone(),
            None => return fail("K021", "this is not a gradient"),
        };
        forward.extend([Piece::Text(equals), Piece::Var(value)]);
        self.texts.push(Text {
            forward,
            reverse: Vec::new(),
        });
        let text = self.texts.len() as u32 - 1;
        let replayed = true;
        self.ops.push(Op::Text { text, replayed });
        Ok(())
    }
}
