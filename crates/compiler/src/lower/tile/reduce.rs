//! Sums, extremes, scans, sorts and reductions.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{Extent, Scalar, Tile, Type, TypeId};
use warpsmith_ir::{Constant, Number};

impl Body<'_, '_> {
    /// A constant axis of a tile, and the shape that is left without it.
    fn without_axis(
        &self,
        tile: &Tile,
        axis: Value,
    ) -> Res<(warpsmith_ir::VarId, i64, Vec<Extent>)> {
        let var = self.single(axis)?;
        let at = self
            .constant_int(var)
            .and_then(|axis| usize::try_from(axis).ok());
        let Some(at) = at.filter(|at| *at < tile.shape.len()) else {
            return fail("K020", "`axis` must be a constant dimension of the tile");
        };
        let mut shape = tile.shape.clone();
        shape.remove(at);
        if shape.is_empty() {
            shape.push(Extent::fixed(1));
        }
        Ok((var, at as i64, shape))
    }

    fn one_element(element: TypeId) -> Tile {
        Tile::dense(element, vec![Extent::fixed(1)], false)
    }

    pub(super) fn tile_sum(&mut self, given: Given<'_>) -> Res<Value> {
        let [a, axis] = self.bind("tile_sum", ["a", "axis"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        let Some(axis) = axis else {
            let sum = Self::one_element(tile.element);
            return self.new_register_tile("tile_sum", sum, &[Arg::Var(var)], true);
        };
        let (_, axis, shape) = self.without_axis(&tile, axis)?;
        self.share(var);
        let template = vec![self.number_piece(axis)];
        let out = self.tile_var(Tile::dense(tile.element, shape, false));
        let native = Native::new("tile_sum_axis")
            .template(template)
            .templated_adjoint();
        self.emit_native(native, &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_dot(&mut self, given: Given<'_>) -> Res<Value> {
        let [a, b] = self.bind("tile_dot", ["a", "b"], given)?;
        let (a, x) = self.needed_tile(a, "a")?;
        let (b, y) = self.needed_tile(b, "b")?;
        let scalar = self.shared.types.scalar_of(x.element);
        let (Some(scalar), true) = (scalar, x.shape == y.shape && x.element == y.element) else {
            return fail(
                "K008",
                "`tile_dot`: both tiles must have the same shape and elements",
            );
        };
        let sum = Self::one_element(TypeId::scalar(scalar));
        self.new_register_tile("tile_dot", sum, &[Arg::Var(a), Arg::Var(b)], true)
    }

    pub(super) fn tile_axpy(&mut self, given: Given<'_>) -> Res<Value> {
        let [alpha, src, dest] = self.bind("tile_axpy", ["alpha", "src", "dest"], given)?;
        let alpha = self.needed_var(alpha, "alpha")?;
        let (src, x) = self.needed_tile(src, "src")?;
        let (dest, y) = self.needed_tile(dest, "dest")?;
        let scalar = self.shared.types.scalar_of(x.element).map(TypeId::scalar);
        if x.shape != y.shape || x.element != y.element || scalar != Some(self.value_ty(alpha)) {
            return fail("K008", "`tile_axpy`: the tiles and the factor do not fit");
        }
        let args = [alpha, src, dest].map(Arg::Var);
        self.emit_native(Native::new("tile_axpy"), &args, &[]);
        Ok(self.result_value(&[]))
    }

    pub(super) fn tile_sort(&mut self, given: Given<'_>) -> Res<Value> {
        let [keys, values] = self.bind("tile_sort", ["keys", "values"], given)?;
        let (keys, x) = self.needed_tile(keys, "keys")?;
        let (values, y) = self.needed_tile(values, "values")?;
        let is_key = matches!(
            self.shared.types.get(x.element),
            Type::Scalar(Scalar::F32 | Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64)
        );
        if !is_key || x.shape != y.shape {
            return fail(
                "K008",
                "`tile_sort`: the keys have no order, or another shape",
            );
        }
        self.share(keys);
        self.share(values);
        let args = [Arg::Var(keys), Arg::Var(values)];
        self.emit_native(Native::new("tile_sort").forward_only(), &args, &[]);
        Ok(self.result_value(&[]))
    }

    /// `tile_min`, `tile_max`, `tile_argmin`, `tile_argmax`.
    pub(super) fn tile_extreme(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [a] = self.bind(name, ["a"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        if !matches!(self.shared.types.get(tile.element), Type::Scalar(s) if s != Scalar::Bool) {
            return fail("K008", format!("`{name}` takes a tile of numbers"));
        }
        let element = if name.starts_with("tile_arg") {
            TypeId::I32
        } else {
            tile.element
        };
        self.new_register_tile(name, Self::one_element(element), &[Arg::Var(var)], false)
    }

    /// `tile_scan_inclusive` and its kin.
    pub(super) fn tile_scan(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [a] = self.bind(name, ["a"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        let scalar = self.shared.types.get(tile.element);
        if !matches!(
            scalar,
            Type::Scalar(Scalar::F32 | Scalar::I32 | Scalar::U32)
        ) {
            return fail(
                "K008",
                format!("`{name}` takes a tile of float32, int32 or uint32"),
            );
        }
        self.new_register_tile(name, tile, &[Arg::Var(var)], false)
    }

    /// `tile_reduce(op, a, axis)`.
    pub(super) fn tile_reduce(&mut self, given: Given<'_>) -> Res<Value> {
        let [op, a, axis] = self.bind("tile_reduce", ["op", "a", "axis"], given)?;
        let op = self.needed(op, "op")?;
        let (var, tile) = self.needed_tile(a, "a")?;
        let (function, builtin) = self.reduction(op, tile.element)?;
        let Some(axis) = axis else {
            let args = [function, Arg::Var(var)];
            let out = Self::one_element(tile.element);
            return self.new_register_tile("tile_reduce", out, &args, false);
        };
        let Type::Scalar(scalar) = self.shared.types.get(tile.element) else {
            return fail(
                "K008",
                "`tile_reduce` along an axis takes a tile of numbers",
            );
        };
        let (axis, _, shape) = self.without_axis(&tile, axis)?;
        self.share(var);
        let identity = match (builtin, scalar.is_float()) {
            (Some("mul"), _) => Number::Int(1),
            (Some("min"), true) => Number::Float(f64::INFINITY),
            (Some("max"), true) => Number::Float(f64::NEG_INFINITY),
            (Some("min"), false) => Number::Int(bounds(scalar).1),
            (Some("max"), false) => Number::Int(bounds(scalar).0),
            _ => Number::Int(0),
        };
        let has_identity = matches!(builtin, Some("add" | "mul" | "min" | "max"));
        let args = [
            function,
            Arg::Var(var),
            Arg::Var(axis),
            Arg::Constant(tile.element, Constant::Typed(scalar, identity)),
            Arg::Constant(TypeId::BOOL, Constant::Bool(has_identity)),
        ];
        let out = Tile::dense(tile.element, shape, false);
        self.new_register_tile("tile_reduce_axis", out, &args, false)
    }
}

/// The least and the greatest value of an integer.
fn bounds(scalar: Scalar) -> (i128, i128) {
    match scalar {
        Scalar::I8 => (-(1 << 7), (1 << 7) - 1),
        Scalar::I16 => (-(1 << 15), (1 << 15) - 1),
        Scalar::I32 => (-(1 << 31), (1 << 31) - 1),
        Scalar::I64 => (-(1 << 63), (1 << 63) - 1),
        Scalar::U8 => (0, (1 << 8) - 1),
        Scalar::U16 => (0, (1 << 16) - 1),
        Scalar::U32 => (0, (1 << 32) - 1),
        _ => (0, (1 << 64) - 1),
    }
}
