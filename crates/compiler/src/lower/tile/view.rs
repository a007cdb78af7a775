//! Views: other shapes and strides of what lies in shared memory.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{Extent, Tile, Type, TypeId, dense_strides};
use warpsmith_ir::{Piece, VarId};

/// An index of a view: an integer, or a slice with its bounds.
#[derive(Clone, Copy)]
pub(super) enum ViewIndex {
    Int(Arg),
    Slice([Option<i64>; 3]),
}

/// Start, stop and step of a slice of something `length` long, and how many elements it has.
fn normal_slice(bounds: [Option<i64>; 3], length: i64) -> (i64, i64, i64) {
    let step = bounds[2].unwrap_or(1);
    let (lower, upper) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let resolve = |bound: Option<i64>, default: i64| match bound {
        None => default,
        Some(value) if value < 0 => value.saturating_add(length).max(lower),
        Some(value) => value.min(upper),
    };
    let (first, last) = if step > 0 {
        (lower, upper)
    } else {
        (upper, lower)
    };
    let (start, stop) = (resolve(bounds[0], first), resolve(bounds[1], last));
    let count = if step > 0 {
        (stop - start + step - 1) / step
    } else {
        (start - stop - step - 1) / -step
    };
    (start, step, count.max(0))
}

impl Body<'_, '_> {
    /// `tile_view(t, offset, shape)`.
    pub(super) fn tile_view_call(&mut self, given: Given<'_>) -> Res<Value> {
        let [t, offset, shape] = self.bind("tile_view", ["t", "offset", "shape"], given)?;
        let (var, tile) = self.needed_tile(t, "t")?;
        let offset = self.needed_var(offset, "offset")?;
        let Some(count) = self.tuple_values(offset).map(|values| values.len()) else {
            return fail("K007", "`tile_view`: the offset is a tuple");
        };
        let offsets = self.offsets(Some(Value::Var(offset)), count)?;
        let shape = match shape {
            None => None,
            Some(_) => Some(self.tile_shape(shape)?),
        };
        if count > tile.shape.len() {
            return fail("K011", "there are more offsets than dimensions");
        }
        for (arg, extent) in offsets.iter().zip(&tile.shape) {
            if let Arg::Int(number) = *arg
                && !extent
                    .number()
                    .is_some_and(|length| (0..length).contains(&number))
            {
                return fail("K011", "an offset lies outside of the tile");
            }
        }
        let indices: Vec<ViewIndex> = offsets.into_iter().map(ViewIndex::Int).collect();
        self.tile_view(var, &indices, shape).map(Value::Var)
    }

    /// A view of a tile, which is put into shared memory.
    pub(super) fn tile_view(
        &mut self,
        var: VarId,
        indices: &[ViewIndex],
        shape: Option<Vec<Extent>>,
    ) -> Res<VarId> {
        let Some(tile) = self.tile_of(var) else {
            return fail("K008", "a tile is expected");
        };
        self.share(var);
        let has_slice = indices
            .iter()
            .any(|index| matches!(index, ViewIndex::Slice(_)));
        let mut origin = vec![Arg::Int(0); tile.shape.len()];
        let (mut lengths, mut strides) = (Vec::new(), Vec::new());
        for (dim, slot) in origin.iter_mut().enumerate() {
            match indices.get(dim) {
                Some(ViewIndex::Int(arg)) => *slot = *arg,
                Some(ViewIndex::Slice(bounds)) => {
                    let Some(length) = tile.shape[dim].number() else {
                        return fail("K021", "a slice along a block's threads is not supported");
                    };
                    let (start, step, count) = normal_slice(*bounds, length);
                    if count == 0 {
                        return fail("K020", "a slice of a tile has no elements");
                    }
                    *slot = Arg::Int(start);
                    lengths.push(Extent::fixed(count));
                    strides.push(tile.strides[dim].times(Extent::fixed(step)));
                }
                None => {
                    lengths.push(tile.shape[dim]);
                    strides.push(tile.strides[dim]);
                }
            }
        }
        if let Some(shape) = shape {
            if has_slice || shape.len() != tile.shape.len() {
                return fail(
                    "K008",
                    "the shape of a view has as many dimensions as the tile",
                );
            }
            lengths = shape;
            strides.clone_from(&tile.strides);
        }
        if lengths.is_empty() {
            return fail("K008", "a view of a single element; use `tile_extract`");
        }
        let out = self.tile_var(Tile {
            element: tile.element,
            shape: lengths,
            strides,
            shared: true,
            column_major: tile.column_major,
            owner: false,
        });
        let mut args = vec![Arg::Var(var)];
        args.extend(origin);
        let template = vec![Piece::Type(self.ty(out))];
        let native = Native::new("tile_view").template(template).forward_only();
        self.emit_native(native, &args, &[out]);
        Ok(out)
    }

    /// A view that the builtin makes of the tile alone: its type is the template argument.
    fn reshaped(&mut self, name: &str, var: VarId, tile: Tile) -> Res<Value> {
        self.share(var);
        let out = self.tile_var(tile);
        let template = vec![Piece::Type(self.ty(out))];
        let native = Native::new(name).template(template);
        self.emit_native(native, &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_squeeze(&mut self, given: Given<'_>) -> Res<Value> {
        let [t, axis] = self.bind("tile_squeeze", ["t", "axis"], given)?;
        let (var, tile) = self.needed_tile(t, "t")?;
        let rank = tile.shape.len() as i64;
        let one = Extent::fixed(1);
        let squeezed: Vec<bool> = match axis {
            None => tile.shape.iter().map(|extent| *extent == one).collect(),
            Some(Value::Var(var)) if self.tuple_values(var).is_none() => {
                return fail("K007", "`tile_squeeze`: the axes must be a tuple");
            }
            Some(_) => {
                let mut squeezed = vec![false; tile.shape.len()];
                for number in self.constant_numbers(axis, "axis")? {
                    let at = if number < 0 { number + rank } else { number };
                    match usize::try_from(at)
                        .ok()
                        .and_then(|at| tile.shape.get(at).map(|e| (at, *e)))
                    {
                        Some((at, extent)) if extent == one => squeezed[at] = true,
                        _ => return fail("K020", "an axis that is squeezed has length 1"),
                    }
                }
                squeezed
            }
        };
        let kept = |extents: &[Extent]| -> Vec<Extent> {
            let pairs = extents.iter().zip(&squeezed);
            pairs
                .filter(|(_, gone)| !**gone)
                .map(|(extent, _)| *extent)
                .collect()
        };
        let (shape, strides) = (kept(&tile.shape), kept(&tile.strides));
        if shape.is_empty() {
            return fail("K020", "nothing is left of the tile's shape");
        }
        let view = Tile {
            shape,
            strides,
            shared: true,
            owner: false,
            ..tile
        };
        self.reshaped("tile_squeeze", var, view)
    }

    pub(super) fn tile_reshape(&mut self, given: Given<'_>) -> Res<Value> {
        let [t, shape] = self.bind("tile_reshape", ["t", "shape"], given)?;
        let (var, tile) = self.needed_tile(t, "t")?;
        let mut numbers = self.constant_numbers(shape, "shape")?;
        let mut lengths = Vec::with_capacity(tile.shape.len());
        for extent in &tile.shape {
            match extent.number() {
                Some(length) => lengths.push(length),
                None => return fail("K021", "a tile as long as a block is not reshaped here"),
            }
        }
        let dense = if tile.column_major {
            let reversed: Vec<Extent> = tile.shape.iter().rev().copied().collect();
            dense_strides(&reversed).into_iter().rev().collect()
        } else {
            dense_strides(&tile.shape)
        };
        if dense != tile.strides {
            return fail("K008", "`tile_reshape` needs a contiguous tile");
        }
        let size: i64 = lengths.iter().product();
        let mut sizes = numbers.iter().filter(|n| **n != -1);
        let rest = sizes.try_fold(1_i64, |a, b| a.checked_mul(*b)).unwrap_or(0);
        let open = numbers.iter().filter(|n| **n == -1).count();
        if open == 1 && rest > 0 {
            for number in &mut numbers {
                if *number == -1 {
                    *number = size / rest;
                }
            }
        }
        if open > 1
            || numbers.is_empty()
            || numbers.iter().any(|n| *n < 1)
            || numbers.iter().try_fold(1_i64, |a, b| a.checked_mul(*b)) != Some(size)
        {
            return fail(
                "K020",
                "the new shape must have as many elements as the tile",
            );
        }
        let shape: Vec<Extent> = numbers.into_iter().map(Extent::fixed).collect();
        let view = Tile {
            strides: dense_strides(&shape),
            shape,
            shared: true,
            owner: false,
            ..tile
        };
        self.reshaped("tile_reshape", var, view)
    }

    pub(super) fn tile_astype(&mut self, given: Given<'_>) -> Res<Value> {
        let [t, dtype] = self.bind("tile_astype", ["t", "dtype"], given)?;
        let (var, tile) = self.needed_tile(t, "t")?;
        let dtype = self.needed(dtype, "dtype")?;
        let element = self.element_type(Some(dtype))?.0;
        let is_scalar = |ty: TypeId| matches!(self.shared.types.get(ty), Type::Scalar(_));
        if !is_scalar(tile.element) || !is_scalar(element) {
            return fail("K008", "`tile_astype` converts scalars");
        }
        let made = Tile::dense(element, tile.shape, false);
        // The template argument is the type as it is now, wherever the result lies in the end.
        let named = self.shared.types.tile(made.clone());
        let out = self.tile_var(made);
        let native = Native::new("tile_astype").template(vec![Piece::Type(named)]);
        self.emit_native(native, &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_transpose(&mut self, given: Given<'_>) -> Res<Value> {
        let [a] = self.bind("tile_transpose", ["a"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        if tile.shape.len() != 2 {
            return fail("K008", "`tile_transpose` takes a tile of two dimensions");
        }
        self.share(var);
        let out = self.tile_var(Tile {
            shape: tile.shape.iter().rev().copied().collect(),
            strides: tile.strides.iter().rev().copied().collect(),
            shared: true,
            column_major: !tile.column_major,
            owner: false,
            ..tile
        });
        self.emit_native(Native::new("tile_transpose"), &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_broadcast(&mut self, given: Given<'_>) -> Res<Value> {
        let [a, shape] = self.bind("tile_broadcast", ["a", "shape"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        let is_tuple =
            matches!(shape, Some(Value::Var(var)) if matches!(self.kind(var), Type::Tuple(_)));
        if !is_tuple {
            return fail("K007", "`tile_broadcast`: the shape is a tuple");
        }
        let shape = self.tile_shape(shape)?;
        if shape.len() > 4 || shape.len() < tile.shape.len() {
            return fail(
                "K020",
                "`tile_broadcast` makes a tile of at most four dimensions",
            );
        }
        let missing = shape.len() - tile.shape.len();
        let mut strides = vec![Extent::fixed(0); missing];
        for (at, length) in tile.shape.iter().enumerate() {
            strides.push(if *length == Extent::fixed(1) {
                Extent::fixed(0)
            } else if *length == shape[missing + at] {
                tile.strides[at]
            } else {
                return fail("K008", "a dimension is not 1 and not that of the new shape");
            });
        }
        self.share(var);
        let mut template = Vec::new();
        for extent in shape.iter().chain(&strides) {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile {
            element: tile.element,
            shape,
            strides,
            shared: true,
            column_major: false,
            owner: false,
        });
        let native = Native::new("tile_broadcast").template(template);
        self.emit_native(native, &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    /// `tile_assign(dst, src, offset)`.
    pub(super) fn tile_assign_call(&mut self, given: Given<'_>) -> Res<Value> {
        let [dst, src, offset] = self.bind("tile_assign", ["dst", "src", "offset"], given)?;
        let (dst, _) = self.needed_tile(dst, "dst")?;
        let (src, _) = self.needed_tile(src, "src")?;
        self.tile_assign(dst, src, offset)?;
        Ok(self.result_value(&[]))
    }

    /// Copies one tile into a part of another.
    pub(super) fn tile_assign(&mut self, dst: VarId, src: VarId, offset: Option<Value>) -> Res<()> {
        let (Some(to), Some(from)) = (self.tile_of(dst), self.tile_of(src)) else {
            return fail("K008", "`tile_assign` copies a tile into a tile");
        };
        let fits = |(from, to): (&Extent, &Extent)| match (from.number(), to.number()) {
            (Some(from), Some(to)) => from <= to,
            _ => from == to,
        };
        if to.shape.len() != from.shape.len()
            || (offset.is_none() && !from.shape.iter().zip(&to.shape).all(fits))
        {
            return fail("K008", "`tile_assign`: the source does not fit");
        }
        let offsets = self.offsets(offset, to.shape.len())?;
        self.share(dst);
        let mut args = vec![Arg::Var(dst), Arg::Var(src)];
        args.extend(offsets);
        self.emit_native(Native::new("tile_assign"), &args, &[]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::normal_slice;

    #[test]
    fn slices_are_pythons() {
        // Start, step and count, as `range(*slice(…).indices(10))` has them.
        assert_eq!(normal_slice([None; 3], 10), (0, 1, 10));
        assert_eq!(normal_slice([Some(2), Some(9), Some(3)], 10), (2, 3, 3));
        assert_eq!(normal_slice([None, None, Some(-1)], 10), (9, -1, 10));
        assert_eq!(normal_slice([Some(-3), None, None], 10), (7, 1, 3));
        assert_eq!(
            normal_slice([Some(8), Some(-100), Some(-4)], 10),
            (8, -4, 3)
        );
        assert_eq!(normal_slice([Some(4), Some(4), None], 10), (4, 1, 0));
        assert_eq!(normal_slice([Some(20), None, None], 10), (10, 1, 0));
    }
}
