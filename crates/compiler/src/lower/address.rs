//! Addresses: arguments of `wp.ref[T]` parameters, stores through these, and `wp.address_of`.

use super::body::Body;
use super::value::{Res, Value, fail, hinted};
use crate::syntax::{ExprKind, List};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};
use warpsmith_ir::{Callee, Op, Piece, Step, Text, VarId};

/// One step from a variable to what lies at an address.
enum Part {
    Field(Name),
    Element(Vec<VarId>),
    Component(Vec<VarId>),
}

/// How what lies at an address is reached.
struct Origin {
    root: VarId,
    parts: Vec<Part>,
}

impl Origin {
    fn then(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

const NO_ADDRESS: &str =
    "only a variable, an element, a component, a field or a `wp.ref` has an address";

impl Body<'_, '_> {
    /// The pointer to what an argument stands for, and to its gradient.
    pub(super) fn pointer_to(&mut self, var: VarId) -> Res<(VarId, VarId)> {
        if self.constant(var).is_some() {
            return Err(hinted(
                "K021",
                "a constant has no address",
                "make it a variable, e.g. `x = wp.float32(1.0)`",
            ));
        }
        let Some(origin) = self.origin_of(var) else {
            return fail("K021", NO_ADDRESS);
        };
        let is_reference = self.is_reference(var);
        let value_ty = self.value_ty(var);
        let ty = self.shared.types.reference(value_ty);
        let pointer = if is_reference {
            var
        } else {
            let pieces = self.pointer(&origin, false);
            self.add_alias(ty, pieces)
        };
        let pieces = self.pointer(&origin, true);
        Ok((pointer, self.add_alias(ty, pieces)))
    }

    /// How a value is reached, as the operations that gave it say.
    fn origin_of(&self, var: VarId) -> Option<Origin> {
        if var.alias().is_some() {
            return None;
        }
        let at = |root| Origin {
            root,
            parts: Vec::new(),
        };
        if self.is_reference(var) {
            if var.0 < self.params {
                return Some(at(var));
            }
        } else {
            if self.shared.types.array_parts(self.ty(var)).is_some()
                && let Some(place) = self.place_of(var)
            {
                let mut origin = at(place.root);
                for step in place.steps {
                    origin.parts.push(match step {
                        Step::Field(field) => Part::Field(field),
                        Step::Element(indices) => Part::Element(indices),
                        // The adjoint gives a view a name first.
                        Step::View(_) => return None,
                    });
                }
                return Some(origin);
            }
            if self.symbols.is_bound(super::value::Binding::Var(var)) {
                return Some(at(var));
            }
        }
        for op in self.ops.iter().rev() {
            match *op {
                Op::FieldAddress {
                    dst,
                    aggregate,
                    field,
                    ..
                } if dst == var => {
                    if !matches!(self.kind(aggregate), Type::Struct(_)) {
                        return None;
                    }
                    return Some(self.origin_of(aggregate)?.then(Part::Field(field)));
                }
                Op::Call(call) if call.operands.outs(&self.pool) == [var] => {
                    let Callee::Builtin(index, _) = call.callee else {
                        return None;
                    };
                    let args = call.operands.args(&self.pool);
                    let originals = call.operands.adjoints(&self.pool);
                    let (first, rest) = originals.split_first()?;
                    let part = match BUILTINS[usize::from(index)].name {
                        "address" => Part::Element(args[1..].to_vec()),
                        "extract" => {
                            if !self.selects_component(*first, rest) {
                                return None;
                            }
                            Part::Component(rest.to_vec())
                        }
                        "transform_get_translation" => Part::Field(self.shared.names.find("p")?),
                        "transform_get_rotation" => Part::Field(self.shared.names.find("q")?),
                        _ => return None,
                    };
                    return Some(self.origin_of(*first)?.then(part));
                }
                _ => {}
            }
        }
        None
    }

    /// Whether plain numbers select a component, an element or a row.
    fn selects_component(&self, target: VarId, indices: &[VarId]) -> bool {
        let most = match self.kind(target) {
            Type::Matrix { .. } => 2,
            Type::Vector { .. } | Type::Quat(_) | Type::Transform(_) => 1,
            _ => 0,
        };
        let is_number =
            |var: &VarId| !self.is_reference(*var) && self.shared.types.is_int(self.ty(*var));
        indices.len() <= most && indices.iter().all(is_number)
    }

    fn indices(&mut self, indices: &[VarId], pieces: &mut Vec<Piece>) {
        for index in indices {
            let comma = self.piece(", ");
            pieces.extend([comma, Piece::Var(*index)]);
        }
    }

    /// What is reached, each step wrapped around those before it.
    fn lvalue(&mut self, root: VarId, parts: &[Part], dual: bool) -> Vec<Piece> {
        let Some((last, inner)) = parts.split_last() else {
            let var = match dual {
                true => Piece::Dual(root),
                false => Piece::Var(root),
            };
            if !self.is_reference(root) {
                return vec![var];
            }
            return vec![self.piece("*("), var, self.piece(")")];
        };
        let (before, after) = match last {
            Part::Field(field) => {
                let after = format!(").{}", self.shared.names.get(*field));
                ("(", after)
            }
            Part::Element(_) => ("(*wp::address(", "))".to_owned()),
            Part::Component(_) => ("(*wp::index(", "))".to_owned()),
        };
        let mut pieces = vec![self.piece(before)];
        pieces.extend(self.lvalue(root, inner, dual));
        if let Part::Element(indices) | Part::Component(indices) = last {
            self.indices(indices, &mut pieces);
        }
        let after = self.piece(&after);
        pieces.push(after);
        pieces
    }

    fn pointer(&mut self, origin: &Origin, dual: bool) -> Vec<Piece> {
        let root = origin.root;
        let (call, indices, inner) = match origin.parts.split_last() {
            None if self.is_reference(root) => {
                return match dual {
                    true => vec![Piece::Dual(root)],
                    false => vec![Piece::Var(root)],
                };
            }
            Some((Part::Element(indices), inner)) => ("wp::address(", indices.as_slice(), inner),
            Some((Part::Component(indices), inner)) => ("wp::index(", indices.as_slice(), inner),
            Some((Part::Field(_), _)) | None => ("&(", &[][..], origin.parts.as_slice()),
        };
        let mut pieces = vec![self.piece(call)];
        pieces.extend(self.lvalue(root, inner, dual));
        self.indices(indices, &mut pieces);
        let close = self.piece(")");
        pieces.push(close);
        pieces
    }

    pub(super) fn push_text(&mut self, forward: Vec<Piece>) {
        self.texts.push(Text {
            forward,
            reverse: Vec::new(),
        });
        self.ops.push(Op::Text {
            text: self.texts.len() as u32 - 1,
            replayed: true,
        });
    }

    /// The `wp.ref[T]` parameter behind a name.
    pub(super) fn reference_parameter(&self, name: Name) -> Option<VarId> {
        match self.symbols.get(name) {
            Some(super::value::Binding::Var(var))
                if var.0 < self.params && self.is_reference(var) =>
            {
                Some(var)
            }
            _ => None,
        }
    }

    /// Stores what a name stands for where its `wp.ref[T]` points.
    pub(super) fn store_through(&mut self, parameter: VarId, value: VarId) -> Res<()> {
        let value = self.load(value);
        if !self
            .shared
            .types
            .equal(self.ty(value), self.value_ty(parameter))
        {
            return fail(
                "K009",
                format!(
                    "a value of type {} is stored where {} is",
                    self.describe(value),
                    self.describe(parameter)
                ),
            );
        }
        let (star, equals) = (self.piece("*"), self.piece(" = "));
        self.push_text(vec![star, Piece::Var(parameter), equals, Piece::Var(value)]);
        Ok(())
    }

    /// `wp.address_of(x)`.
    pub(super) fn address_of(&mut self, args: List, keywords: List) -> Res<Value> {
        let (&[arg], 0) = (self.shared.tree.exprs_in(args), keywords.len) else {
            return fail("K007", "`wp.address_of` takes one argument");
        };
        if !matches!(
            self.shared.tree.expr(arg).kind,
            ExprKind::Name(_) | ExprKind::Subscript(..) | ExprKind::Attribute(..)
        ) {
            return fail("K021", NO_ADDRESS);
        }
        let var = self.eval_var(arg)?;
        let (pointer, _) = self.pointer_to(var)?;
        let out = self.add_var(TypeId::U64);
        let (cast, close) = (self.piece(" = (wp::uint64)("), self.piece(")"));
        self.push_text(vec![Piece::Var(out), cast, Piece::Var(pointer), close]);
        Ok(Value::Var(out))
    }
}
