//! Operators on tiles.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{Tile, Type, TypeId};

impl Body<'_, '_> {
    /// `-a`, `a + b`, and their kin.
    pub(super) fn tile_operator(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        if name == "neg" {
            let [x] = self.bind(name, ["x"], given)?;
            let (var, tile) = self.needed_tile(x, "x")?;
            return self.new_register_tile("tile_neg", tile, &[Arg::Var(var)], true);
        }
        let [a, b] = self.bind(name, ["a", "b"], given)?;
        let (a, b) = (self.needed_var(a, "a")?, self.needed_var(b, "b")?);
        match (self.tile_of(a), self.tile_of(b)) {
            (Some(x), Some(y)) => {
                if x.shape != y.shape {
                    return fail(
                        "K008",
                        format!("`{name}`: both tiles must have the same shape"),
                    );
                }
                let args = [Arg::Var(a), Arg::Var(b)];
                if name == "mul" || name == "div" {
                    let element = self.product(x.element, y.element)?;
                    let native = format!("tile_{name}_elementwise");
                    return self.new_register_tile(&native, Tile { element, ..x }, &args, true);
                }
                if !self.shared.types.equal(x.element, y.element) {
                    return fail(
                        "K008",
                        format!("`{name}`: both tiles must have the same elements"),
                    );
                }
                let differentiable = !name.starts_with("bit_");
                self.new_register_tile(&format!("tile_{name}"), x, &args, differentiable)
            }
            (Some(tile), None) if matches!(name, "mul" | "div") => {
                let element = self.scaled(&tile, b)?;
                let args = [Arg::Var(a), Arg::Var(b)];
                self.new_register_tile(
                    &format!("tile_{name}"),
                    Tile { element, ..tile },
                    &args,
                    true,
                )
            }
            (None, Some(tile)) if matches!(name, "mul" | "div") => {
                let element = self.scaled(&tile, a)?;
                let args = if name == "mul" { [b, a] } else { [a, b] }.map(Arg::Var);
                self.new_register_tile(
                    &format!("tile_{name}"),
                    Tile { element, ..tile },
                    &args,
                    true,
                )
            }
            _ => fail(
                "K007",
                format!("`{name}` does not take a tile and this value"),
            ),
        }
    }

    /// The elements of a product or quotient of two, of which one is a scalar.
    fn product(&self, a: TypeId, b: TypeId) -> Res<TypeId> {
        let types = &self.shared.types;
        let is_scalar = |ty| matches!(types.get(ty), Type::Scalar(_));
        let is_known = |ty| {
            matches!(
                types.get(ty),
                Type::Scalar(_) | Type::Vector { .. } | Type::Matrix { .. }
            )
        };
        if !(is_scalar(a) || is_scalar(b))
            || !(is_known(a) && is_known(b))
            || types.scalar_of(a) != types.scalar_of(b)
            || types.scalar_of(a) == Some(warpsmith_ir::types::Scalar::Bool)
        {
            return fail(
                "K008",
                "one operand must be a scalar of the other's scalar type",
            );
        }
        Ok(if is_scalar(a) { b } else { a })
    }

    /// The elements of a tile times a value.
    fn scaled(&self, tile: &Tile, value: warpsmith_ir::VarId) -> Res<TypeId> {
        let value = self.value_ty(value);
        let element = self.product(tile.element, value)?;
        // A scalar leaves the tile's elements as they are.
        Ok(match self.shared.types.get(value) {
            Type::Scalar(_) => tile.element,
            _ => element,
        })
    }

    /// A tile in registers with the shape of another, by a plain call.
    pub(super) fn new_register_tile(
        &mut self,
        name: &str,
        like: Tile,
        args: &[Arg],
        differentiable: bool,
    ) -> Res<Value> {
        let out = self.tile_var(Tile::dense(like.element, like.shape, false));
        let mut native = Native::new(name);
        if !differentiable {
            native = native.forward_only();
        }
        self.emit_native(native, args, &[out]);
        Ok(Value::Var(out))
    }
}
