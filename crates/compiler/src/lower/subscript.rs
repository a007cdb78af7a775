//! Subscripts: elements, views, components, rows, slices.

use super::body::Body;
use super::value::{Few, Res, fail};
use crate::syntax::{ExprId, ExprKind};
use warpsmith_ir::types::{Mapping, Type, TypeId};
use warpsmith_ir::{Constant, Number, Slot, Step, VarId};

/// What stands for an omitted lower bound of an array's slice.
const SLICE_BEGIN: i64 = i32::MAX as i64;
/// What stands for an omitted upper bound of an array's slice.
const SLICE_END: i64 = i32::MIN as i64;

impl Body<'_, '_> {
    /// Reads a subscript.
    pub(super) fn subscript(&mut self, expr: ExprId) -> Res<VarId> {
        let (target, indices) = self.subscript_parts(expr, false)?;
        self.index(target, &indices, false)
    }

    /// The value under all brackets and the index expressions that are yet to be applied to it: what
    /// goes beyond an array's rank has been applied to the array already.
    pub(super) fn subscript_parts(
        &mut self,
        expr: ExprId,
        as_target: bool,
    ) -> Res<(VarId, Few<ExprId>)> {
        // `x[i]` and `x[i, j]` of a plain name, by far the most common.
        if let ExprKind::Subscript(value, slice) = self.shared.tree.expr(expr).kind
            && let ExprKind::Name(_) = self.shared.tree.expr(value).kind
        {
            let target = self.eval_var(value)?;
            let indices = match self.shared.tree.expr(slice).kind {
                ExprKind::Tuple(list) => Few::from_slice(self.shared.tree.exprs_in(list)),
                _ => Few::from_slice(&[slice]),
            };
            let rank = self
                .shared
                .types
                .array_parts(self.value_ty(target))
                .map(|(_, rank)| rank);
            if rank.is_some_and(|rank| indices.len() > usize::from(rank)) {
                return fail(
                    "K011",
                    format!(
                        "{} indices for {} dimensions",
                        indices.len(),
                        rank.unwrap_or(0)
                    ),
                );
            }
            return Ok((target, indices));
        }
        let mut groups = Vec::new();
        let mut gradient = None;
        let mut at = expr;
        while let ExprKind::Subscript(value, slice) = self.shared.tree.expr(at).kind {
            if self.is_adjoint(value) {
                gradient = Some(self.gradient_of(slice)?);
                break;
            }
            groups.push(match self.shared.tree.expr(slice).kind {
                ExprKind::Tuple(list) => self.shared.tree.exprs_in(list).to_vec(),
                _ => vec![slice],
            });
            at = value;
        }
        groups.reverse();
        let is_name = matches!(self.shared.tree.expr(at).kind, ExprKind::Name(_));
        let mut target = match gradient {
            Some(gradient) => gradient,
            None if as_target && !is_name => self.store_target(at)?,
            None => self.eval_var(at)?,
        };
        while groups.len() > 1
            && let Some(tile) = self.tile_of(target)
        {
            let mut later = groups[1..].iter().flatten();
            let is_row = groups[0].len() < tile.shape.len();
            let makes_view = groups[0].iter().any(|expr| self.makes_view(*expr))
                || (is_row && later.any(|expr| self.makes_view(*expr)));
            if !makes_view {
                break;
            }
            let group = groups.remove(0);
            target = self.index(target, &group, false)?;
        }
        for _ in 0..groups.len() {
            let Some((_, rank)) = self.shared.types.array_parts(self.value_ty(target)) else {
                break;
            };
            let rank = usize::from(rank);
            let flat: Vec<ExprId> = groups.iter().flatten().copied().collect();
            if flat.len() <= rank {
                break;
            }
            target = self.index(target, &flat[..rank], as_target)?;
            let mut left = rank;
            while left > 0 {
                let group = groups.remove(0);
                if group.len() > left {
                    return fail(
                        "K011",
                        format!(
                            "{} indices in one bracket for {left} dimensions",
                            group.len()
                        ),
                    );
                }
                left -= group.len();
            }
        }
        Ok((target, groups.into_iter().flatten().collect()))
    }

    /// Whether an index of a tile is a slice or a tile.
    fn makes_view(&self, expr: ExprId) -> bool {
        matches!(self.shared.tree.expr(expr).kind, ExprKind::Slice(_)) || self.tile_rank(expr) > 0
    }

    /// How many dimensions the tile has that an index is, before it is evaluated; 0 for anything else.
    fn tile_rank(&self, expr: ExprId) -> usize {
        let tree = &*self.shared.tree;
        match tree.expr(expr).kind {
            ExprKind::Name(name) => match self.symbols.get(name) {
                Some(super::value::Binding::Var(var)) => {
                    self.tile_of(var).map_or(0, |tile| tile.shape.len())
                }
                _ => 0,
            },
            ExprKind::Unary(_, operand) => self.tile_rank(operand),
            ExprKind::Binary(_, left, right) => self.tile_rank(left).max(self.tile_rank(right)),
            ExprKind::Call { func, .. } => {
                let is_range = matches!(tree.expr(func).kind, ExprKind::Attribute(_, name) | ExprKind::Name(name)
                    if self.shared.names.get(name) == "tile_arange");
                usize::from(is_range)
            }
            ExprKind::Subscript(base, index) => {
                let indices = match tree.expr(index).kind {
                    ExprKind::Tuple(list) => tree.exprs_in(list).to_vec(),
                    _ => vec![index],
                };
                let chosen = indices.iter().filter(|index| !self.makes_view(**index));
                self.tile_rank(base).saturating_sub(chosen.count())
            }
            _ => 0,
        }
    }

    /// Evaluates index expressions for a target.
    pub(super) fn eval_indices(&mut self, target: VarId, exprs: &[ExprId]) -> Res<Few<VarId>> {
        if let Some(tile) = self.tile_of(target) {
            return self.tile_indices(&tile, exprs);
        }
        let compound = self.shared.types.is_compound(self.value_ty(target));
        let dims = match self.kind(target) {
            Type::Matrix { rows, cols, .. } => [Some(i64::from(rows)), Some(i64::from(cols))],
            _ => [self.leading_length(target), None],
        };
        let mut indices = Few::new();
        for (at, expr) in exprs.iter().enumerate() {
            indices.push(match self.shared.tree.expr(*expr).kind {
                ExprKind::Slice(parts) if compound => {
                    let Some(length) = dims.get(at).copied().flatten() else {
                        return fail("K011", "there are more indices than dimensions");
                    };
                    let (start, stop, step) = self.constant_bounds(parts, length)?;
                    self.slice_value([start, stop, step].map(SlicePart::Int))?
                }
                _ => self.eval_var(*expr)?,
            });
        }
        Ok(indices)
    }

    /// Applies indices to a value.
    pub(super) fn index(&mut self, target: VarId, exprs: &[ExprId], as_target: bool) -> Res<VarId> {
        if exprs.is_empty() && target.alias().is_some() {
            return Ok(target);
        }
        let indices = self.eval_indices(target, exprs)?;
        let target_ty = self.value_ty(target);
        if let Some(tile) = self.tile_of(target) {
            return self.tile_index(target, &tile, &indices);
        }
        let Some((element, rank)) = self.shared.types.array_parts(target_ty) else {
            if as_target && let Some(slot) = self.select_slot(target, &indices)? {
                return Ok(self.slot_reference(slot));
            }
            return self.index_call(self.shared.operators.extract, target, &indices);
        };
        let all_ints = indices
            .iter()
            .all(|index| self.shared.types.is_int(self.value_ty(*index)));
        let mut loaded: Few<VarId> = Few::new();
        for index in &indices {
            loaded.push(self.load(*index));
        }
        if indices.len() == usize::from(rank) && all_ints {
            let has_slots = self.shared.types.is_compound(element)
                || matches!(self.shared.types.get(element), Type::Struct(_));
            if as_target
                && has_slots
                && matches!(self.shared.types.get(target_ty), Type::MappedArray { .. })
            {
                return fail(
                    "K021",
                    "a store into a part of an element of an indexed or Fabric array is not supported",
                );
            }
            if as_target && has_slots {
                let slot = Slot {
                    array: target,
                    indices: loaded.into_vec(),
                    steps: Vec::new(),
                    ty: element,
                    place: self.place_of(target),
                };
                return Ok(self.slot_reference(slot));
            }
            let out = self.index_call(self.shared.operators.address, target, &loaded)?;
            if self.needs_place(element)
                && let Some(mut place) = self.place_of(target)
            {
                place.steps.push(Step::Element(loaded.into_vec()));
                self.trace(out, place);
            }
            return Ok(out);
        }
        let out = self.index_call(self.shared.operators.view, target, &loaded)?;
        // The gradients of a Fabric array cannot be walked as its own elements can.
        let is_walked = !matches!(
            self.shared.types.get(target_ty),
            Type::MappedArray {
                mapping: Mapping::Fabric | Mapping::IndexedFabric,
                ..
            }
        );
        if is_walked && let Some(mut place) = self.place_of(target) {
            place.steps.push(Step::View(loaded.into_vec()));
            self.trace(out, place);
        }
        Ok(out)
    }

    /// Calls an indexing builtin.
    pub(super) fn index_call(
        &mut self,
        builtin: u16,
        target: VarId,
        indices: &[VarId],
    ) -> Res<VarId> {
        let mut args: Few<VarId> = Few::new();
        args.push(target);
        args.extend_from_slice(indices);
        let value = self.call_builtin_vars(builtin, &args)?;
        self.single(value)
    }

    /// A slice of an array, whose bounds may be variables.
    pub(super) fn array_slice(&mut self, parts: [Option<ExprId>; 3]) -> Res<VarId> {
        let defaults = [SLICE_BEGIN, SLICE_END, 1];
        let mut values = [SlicePart::Int(0); 3];
        for ((slot, part), default) in values.iter_mut().zip(parts).zip(defaults) {
            *slot = match part {
                Some(expr) => SlicePart::Var(self.eval_var(expr)?),
                None => SlicePart::Int(default),
            };
        }
        if let SlicePart::Var(step) = values[2]
            && self.constant_int(step) == Some(0)
        {
            return fail("K005", "the step of a slice is 0");
        }
        self.slice_value(values)
    }

    /// The slice itself: its number comes first, then those of its constant bounds.
    fn slice_value(&mut self, parts: [SlicePart; 3]) -> Res<VarId> {
        for part in parts {
            if let SlicePart::Var(var) = part
                && self.value_ty(var) != TypeId::I32
            {
                return fail("K027", "the bounds of a slice are 32-bit integers");
            }
        }
        let out = self.add_var(TypeId::SLICE);
        let originals = parts.map(|part| match part {
            SlicePart::Int(value) => self.add_int(value),
            SlicePart::Var(var) => var,
        });
        let loaded = originals.map(|var| self.load(var));
        let operands = self.operands(&loaded, &originals, &[out]);
        let index = self.builtin_named("slice")?;
        self.push_call(warpsmith_ir::Call {
            callee: Body::builtin_row(index, 0),
            operands,
            template: None,
            braces: false,
            has_adjoint: false,
        });
        let bounds = originals.map(|var| self.constant_int(var));
        self.slice_of.push((out, bounds));
        Ok(out)
    }

    /// A slice of a tile, whose bounds are constants.
    pub(super) fn tile_slice(&mut self, parts: [Option<ExprId>; 3]) -> Res<VarId> {
        let mut bounds = [None; 3];
        for at in [2, 0, 1] {
            if let Some(part) = parts[at] {
                bounds[at] = Some(self.constant_index(part)?);
            }
        }
        if bounds[2] == Some(0) {
            return fail("K005", "the step of a slice is 0");
        }
        if bounds
            .iter()
            .flatten()
            .any(|bound| i32::try_from(*bound).is_err())
        {
            return fail("K020", "a slice bound is out of range");
        }
        let written = [
            bounds[0].unwrap_or(SLICE_BEGIN),
            bounds[1].unwrap_or(SLICE_END),
            bounds[2].unwrap_or(1),
        ];
        let out = self.slice_value(written.map(SlicePart::Int))?;
        self.tile_slices.push((out, bounds));
        Ok(out)
    }

    /// A part of a slice that must be a constant.
    pub(super) fn constant_index(&mut self, expr: ExprId) -> Res<i64> {
        let var = self.eval_var(expr)?;
        match self.constant(var) {
            Some(Constant::Number(Number::Int(value))) => {
                i64::try_from(value).or_else(|_| fail("K020", "a slice bound is out of range"))
            }
            _ => fail("K020", "the bounds of this slice must be constants"),
        }
    }

    /// Start, stop and step of a slice of something `length` long, as Python's own `slice.indices`.
    pub(super) fn constant_bounds(
        &mut self,
        parts: [Option<ExprId>; 3],
        length: i64,
    ) -> Res<(i64, i64, i64)> {
        let step = match parts[2] {
            Some(step) => self.constant_index(step)?,
            None => 1,
        };
        if step == 0 {
            return fail("K005", "the step of a slice is 0");
        }
        let (lower, upper) = if step > 0 {
            (0, length)
        } else {
            (-1, length - 1)
        };
        let (first, last) = if step > 0 {
            (lower, upper)
        } else {
            (upper, lower)
        };
        let mut bound = |part: Option<ExprId>, default: i64| -> Res<i64> {
            let Some(expr) = part else { return Ok(default) };
            let value = self.constant_index(expr)?;
            Ok(if value < 0 {
                (value + length).max(lower)
            } else {
                value.min(upper)
            })
        };
        let start = bound(parts[0], first)?;
        let stop = bound(parts[1], last)?;
        Ok((start, stop, step))
    }
}

/// A part of a slice: a number that becomes a constant, or a value.
#[derive(Clone, Copy)]
enum SlicePart {
    Int(i64),
    Var(VarId),
}
