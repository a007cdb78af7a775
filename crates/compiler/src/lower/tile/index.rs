//! Subscripts of tiles: elements, views, rows that a tile of indices chooses.

use super::super::body::Body;
use super::super::value::{Few, Res, Value, fail};
use super::native::{Arg, Given, Native};
use super::view::ViewIndex;
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use warpsmith_ir::types::{Extent, Tile, Type, TypeId};
use warpsmith_ir::{Chain, Comparison, Constant, Number, Op, VarId};

impl Body<'_, '_> {
    /// Evaluates the indices of a tile: negative ones count from the end.
    pub(in super::super) fn tile_indices(
        &mut self,
        tile: &Tile,
        exprs: &[ExprId],
    ) -> Res<Few<VarId>> {
        let mut indices = Few::new();
        for (dim, expr) in exprs.iter().enumerate() {
            indices.push(match self.shared.tree.expr(*expr).kind {
                ExprKind::Slice(parts) => self.tile_slice(parts)?,
                _ => {
                    let index = self.eval_var(*expr)?;
                    self.wrapped_index(index, tile.shape.get(dim).copied())?
                }
            });
        }
        Ok(indices)
    }

    /// An index that may be negative.
    fn wrapped_index(&mut self, index: VarId, length: Option<Extent>) -> Res<VarId> {
        let ty = self.value_ty(index);
        if self.shared.types.tile_of(ty).is_some() {
            return Ok(index);
        }
        if !self.shared.types.is_int(ty) {
            return fail("K027", "an index must be an integer or a slice");
        }
        let Some(length) = length else {
            return Ok(index);
        };
        let Some(length) = length.number() else {
            return fail("K021", "an index along a block's threads is not supported");
        };
        if self.constant(index).is_some() {
            let Some(value) = self.constant_int(index) else {
                return fail("K020", "an index is out of range");
            };
            let wrapped = if value < 0 { value + length } else { value };
            if !(0..length).contains(&wrapped) {
                return fail(
                    "K011",
                    format!("index {value} lies outside of {length} elements"),
                );
            }
            return Ok(if wrapped == value {
                index
            } else {
                self.add_int(wrapped)
            });
        }
        let number = |value: i64| Constant::Number(Number::Int(i128::from(value)));
        let zero = self.add_typed_constant(ty, number(0));
        let length = self.add_typed_constant(ty, number(length));
        let is_negative = self.add_var(TypeId::BOOL);
        let loaded = [self.load(index), zero];
        let chain = Chain {
            operands: self.pool.len() as u32,
            comparisons: self.comparisons.len() as u32,
            count: 1,
        };
        self.pool.extend_from_slice(&loaded);
        self.comparisons.push(Comparison::Less);
        self.ops.push(Op::Compare {
            dst: is_negative,
            chain,
        });
        let sum = self.call_operator(BinaryOp::Add, &[index, length])?;
        let sum = self.single(sum)?;
        self.select(is_negative, sum, index)
    }

    /// Which of the indices are slices and tiles, for the view that they make.
    fn view_indices(&self, indices: &[VarId]) -> Vec<ViewIndex> {
        indices
            .iter()
            .map(
                |index| match self.tile_slices.iter().rev().find(|(var, _)| var == index) {
                    Some((_, bounds)) => ViewIndex::Slice(*bounds),
                    None => ViewIndex::Int(Arg::Var(*index)),
                },
            )
            .collect()
    }

    fn is_slice(&self, index: VarId) -> bool {
        self.value_ty(index) == TypeId::SLICE
    }

    /// Reads a subscript of a tile.
    pub(in super::super) fn tile_index(
        &mut self,
        target: VarId,
        tile: &Tile,
        indices: &[VarId],
    ) -> Res<VarId> {
        if indices.iter().any(|index| self.tile_of(*index).is_some()) {
            return self.tile_gather(target, tile, indices);
        }
        if indices.iter().any(|index| self.is_slice(*index)) || indices.len() < tile.shape.len() {
            if indices.len() > tile.shape.len() {
                return fail("K011", "there are more indices than dimensions");
            }
            let indices = self.view_indices(indices);
            return self.tile_view(target, &indices, None);
        }
        self.tile_extract(target, indices)
    }

    /// The rows that a tile of indices chooses.
    fn tile_gather(&mut self, target: VarId, tile: &Tile, indices: &[VarId]) -> Res<VarId> {
        let mut axis = None;
        for (dim, index) in indices.iter().enumerate() {
            let slice = self.tile_slices.iter().rev().find(|(var, _)| var == index);
            if let Some(chosen) = self.tile_of(*index) {
                let is_list = chosen.shape.len() == 1 && self.shared.types.is_int(chosen.element);
                if axis.is_some() || !is_list {
                    return fail("K008", "one tile of integers chooses along one dimension");
                }
                axis = Some((dim, *index, chosen.shape[0]));
            } else if !slice
                .is_some_and(|(_, bounds)| *bounds == [None; 3] || *bounds == [None, None, Some(1)])
            {
                return fail("K008", "beside a tile of indices the others are `:`");
            }
        }
        let (Some((dim, chosen, length)), true) = (axis, indices.len() <= tile.shape.len()) else {
            return fail("K011", "there are more indices than dimensions");
        };
        self.share(target);
        self.share(chosen);
        let mut shape = tile.shape.clone();
        shape[dim] = length;
        let mut template = Vec::new();
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(tile.element, shape, false));
        let args = [Arg::Var(target), Arg::Var(chosen), Arg::Int(dim as i64)];
        let native = Native::new("tile_slice_indexed").template(template);
        self.emit_native(native, &args, &[out]);
        Ok(out)
    }

    /// `tile_extract(a, i, …)`.
    pub(super) fn tile_extract_call(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["a", "i", "j", "k", "l", "m", "n"];
        let values = self.in_order("tile_extract", &params, given)?;
        let [a, indices @ ..] = values.as_slice() else {
            return fail("K007", "`tile_extract` takes a tile and its indices");
        };
        let (target, _) = self.needed_tile(Some(*a), "a")?;
        let mut vars = Vec::with_capacity(indices.len());
        for index in indices {
            let var = self.single(*index)?;
            self.index_arg(var)?;
            vars.push(var);
        }
        self.tile_extract(target, &vars).map(Value::Var)
    }

    /// An element of a tile, or a component of one.
    fn tile_extract(&mut self, target: VarId, indices: &[VarId]) -> Res<VarId> {
        let Some(tile) = self.tile_of(target) else {
            return fail("K008", "a tile is expected");
        };
        for index in indices {
            self.index_arg(*index)?;
        }
        let beyond = indices.len().checked_sub(tile.shape.len());
        let ty = match (beyond, self.shared.types.get(tile.element)) {
            (Some(0), _) => tile.element,
            (Some(1), Type::Vector { scalar, .. }) | (Some(2), Type::Matrix { scalar, .. }) => {
                TypeId::scalar(scalar)
            }
            (Some(1), Type::Matrix { cols, scalar, .. }) => {
                self.shared.types.intern(Type::Vector {
                    length: cols,
                    scalar,
                })
            }
            _ => return fail("K011", "the number of indices does not fit the tile"),
        };
        self.share(target);
        let out = self.add_var(ty);
        let mut args = vec![Arg::Var(target)];
        args.extend(indices.iter().map(|index| Arg::Var(*index)));
        self.emit_native(Native::new("tile_extract"), &args, &[out]);
        Ok(out)
    }

    /// Stores into a subscript of a tile.
    pub(in super::super) fn tile_store_subscript(
        &mut self,
        target: VarId,
        indices: &[VarId],
        value: VarId,
    ) -> Res<()> {
        let Some(tile) = self.tile_of(target) else {
            return fail("K008", "a tile is expected");
        };
        if indices.iter().any(|index| self.tile_of(*index).is_some()) {
            return fail(
                "K008",
                "a tile of indices chooses what is read, not what is stored",
            );
        }
        if indices.iter().any(|index| self.is_slice(*index)) || indices.len() < tile.shape.len() {
            let Some(source) = self.tile_of(value) else {
                return fail("K019", "a tile is stored into a part of a tile");
            };
            let indices = self.view_indices(indices);
            let view = self.tile_view(target, &indices, None)?;
            if self
                .tile_of(view)
                .is_none_or(|view| view.shape != source.shape)
            {
                return fail(
                    "K019",
                    "the part of the tile has another shape than the value",
                );
            }
            return self.tile_assign(view, value, None);
        }
        for index in indices {
            self.index_arg(*index)?;
        }
        if self.tile_of(value).is_some() {
            return fail("K019", "a tile is stored into one element");
        }
        let beyond = indices.len() - tile.shape.len();
        let have = self.value_ty(value);
        let fits = match (beyond, self.shared.types.get(tile.element)) {
            (0, _) => have == tile.element,
            (1, Type::Vector { scalar, .. }) | (2, Type::Matrix { scalar, .. }) => {
                have == TypeId::scalar(scalar)
            }
            (1, Type::Matrix { cols, scalar, .. }) => {
                self.shared.types.get(have)
                    == Type::Vector {
                        length: cols,
                        scalar,
                    }
            }
            _ => false,
        };
        if !fits {
            return fail("K019", "the value must have the type of the element");
        }
        self.share(target);
        let mut args = vec![Arg::Var(target)];
        args.extend(indices.iter().chain([&value]).map(|var| Arg::Var(*var)));
        self.emit_native(Native::new("assign"), &args, &[]);
        Ok(())
    }

    /// `t[i] += x`; false where there is no such builtin.
    pub(in super::super) fn tile_update(
        &mut self,
        target: VarId,
        indices: &[VarId],
        op: BinaryOp,
        value: ExprId,
    ) -> Res<()> {
        let Some(tile) = self.tile_of(target) else {
            return fail("K008", "a tile is expected");
        };
        let Some((name, differentiable)) = inplace(op) else {
            let current = self.tile_extract(target, indices)?;
            let value = self.eval_var(value)?;
            let result = self.call_operator(op, &[current, value])?;
            let result = self.single(result)?;
            return self.tile_store_subscript(target, indices, result);
        };
        if indices.len() != tile.shape.len() || indices.len() > 4 {
            return fail("K008", "an update is of one element of a tile");
        }
        for index in indices {
            self.index_arg(*index)?;
        }
        let value = self.eval_var(value)?;
        if self.value_ty(value) != tile.element {
            return fail("K019", "the value must have the type of the elements");
        }
        self.share(target);
        let mut args = vec![Arg::Var(target)];
        args.extend(indices.iter().chain([&value]).map(|var| Arg::Var(*var)));
        let mut native = Native::new(name);
        if !differentiable {
            native = native.forward_only();
        }
        self.emit_native(native, &args, &[]);
        Ok(())
    }

    /// `a += b` of two tiles; false where the operator makes a new tile.
    pub(in super::super) fn tile_update_all(
        &mut self,
        target: VarId,
        op: BinaryOp,
        value: VarId,
    ) -> Res<bool> {
        let (Some(a), Some(b), Some((name, differentiable))) =
            (self.tile_of(target), self.tile_of(value), inplace(op))
        else {
            return Ok(false);
        };
        if a.shape != b.shape || !self.shared.types.equal(a.element, b.element) {
            return fail("K008", "both tiles must have the same shape and elements");
        }
        let mut native = Native::new(name);
        if !differentiable {
            native = native.forward_only();
        }
        self.emit_native(native, &[Arg::Var(target), Arg::Var(value)], &[]);
        Ok(true)
    }
}

/// The builtin that updates in place, and whether it has an adjoint.
fn inplace(op: BinaryOp) -> Option<(&'static str, bool)> {
    Some(match op {
        BinaryOp::Add => ("tile_add_inplace", true),
        BinaryOp::Sub => ("tile_sub_inplace", true),
        BinaryOp::BitAnd => ("tile_bit_and_inplace", false),
        BinaryOp::BitOr => ("tile_bit_or_inplace", false),
        BinaryOp::BitXor => ("tile_bit_xor_inplace", false),
        _ => return None,
    })
}
