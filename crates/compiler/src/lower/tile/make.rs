//! Tiles that are made of constants, of a value, of random numbers, or of what each thread has.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use crate::globals::round_to;
use warpsmith_ir::types::{Extent, Scalar, Tile, Type, TypeId};
use warpsmith_ir::{Constant, Number, VarId};

impl Body<'_, '_> {
    /// `tile_zeros`, `tile_ones`, `tile_empty`.
    pub(super) fn tile_fill(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [shape, dtype, storage] = self.bind(name, ["shape", "dtype", "storage"], given)?;
        let shape = self.tile_shape(shape)?;
        let (element, piece) = self.element_type(dtype)?;
        if name == "tile_ones" && matches!(self.shared.types.get(element), Type::Struct(_)) {
            return fail("K008", "`tile_ones` makes no structs; use `tile_full`");
        }
        let shared = self.storage(storage)?;
        let mut template = vec![piece];
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(element, shape, shared));
        let native = Native::new(name).template(template).forward_only();
        self.emit_native(native, &[], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_full(&mut self, given: Given<'_>) -> Res<Value> {
        let [shape, value, dtype, storage] =
            self.bind("tile_full", ["shape", "value", "dtype", "storage"], given)?;
        let shape = self.tile_shape(shape)?;
        let value = self.needed_var(value, "value")?;
        let have = self.value_ty(value);
        let element = match dtype {
            None => have,
            Some(_) => self.element_type(dtype)?.0,
        };
        let is_scalar = |ty| matches!(self.shared.types.get(ty), Type::Scalar(_));
        if !self.is_element(element) || (!is_scalar(have) || !is_scalar(element)) && have != element
        {
            return fail(
                "K008",
                "`tile_full`: the value must have the type of the elements",
            );
        }
        let shared = self.storage(storage)?;
        self.filled("tile_full", element, shape, shared, &[Arg::Var(value)])
    }

    pub(super) fn tile_from_thread(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["shape", "value", "thread_idx", "storage"];
        let [shape, value, thread, storage] = self.bind("tile_from_thread", params, given)?;
        let shape = self.tile_shape(shape)?;
        let value = self.needed_var(value, "value")?;
        let thread = self.needed_var(thread, "thread_idx")?;
        let thread = self.index_arg(thread)?;
        let shared = self.storage(storage)?;
        let element = self.value_ty(value);
        if !self.is_element(element) {
            return fail(
                "K008",
                "`tile_from_thread`: a tile cannot hold elements of this type",
            );
        }
        let args = [Arg::Var(value), thread];
        self.filled("tile_from_thread", element, shape, shared, &args)
    }

    /// A tile by `name<element, shape…>(args)`.
    fn filled(
        &mut self,
        name: &str,
        element: TypeId,
        shape: Vec<Extent>,
        shared: bool,
        args: &[Arg],
    ) -> Res<Value> {
        let mut template = vec![warpsmith_ir::Piece::Type(element)];
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(element, shape, shared));
        let native = Native::new(name).template(template).forward_only();
        self.emit_native(native, args, &[out]);
        Ok(Value::Var(out))
    }

    /// `tile_randi`, `tile_randf`.
    pub(super) fn tile_random(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let (positional, _) = given;
        if positional.len() > 2 {
            return fail(
                "K021",
                format!("`{name}`: give the bounds and the storage by name"),
            );
        }
        let params = ["shape", "rng", "min", "max", "storage"];
        let [shape, rng, min, max, storage] = self.bind(name, params, given)?;
        let shape = self.tile_shape(shape)?;
        let rng = self.needed_var(rng, "rng")?;
        if self.value_ty(rng) != TypeId::U32 {
            return fail("K008", format!("`{name}`: the state is a uint32"));
        }
        let shared = self.storage(storage)?;
        let element = if name == "tile_randi" {
            TypeId::I32
        } else {
            TypeId::F32
        };
        let mut args = vec![Arg::Var(rng)];
        args.extend(self.random_bounds(name, element, min, max)?);
        let mut template = Vec::new();
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(element, shape, shared));
        let native = Native::new(name).template(template).forward_only();
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }

    /// The bounds of random numbers, both or none: constants of the elements' kind.
    fn random_bounds(
        &self,
        name: &str,
        element: TypeId,
        min: Option<Value>,
        max: Option<Value>,
    ) -> Res<Vec<Arg>> {
        let (min, max) = match (min, max) {
            (None, None) => return Ok(Vec::new()),
            (Some(min), Some(max)) => (min, max),
            _ => return fail("K007", format!("`{name}` takes both bounds or none")),
        };
        let number = |value: Value| -> Res<Number> {
            match self.constant(self.single(value)?) {
                Some(Constant::Number(Number::Int(bound))) if element == TypeId::I32 => {
                    match i32::try_from(bound) {
                        Ok(_) => Ok(Number::Int(bound)),
                        Err(_) => fail("K020", format!("a bound of `{name}` is not an int32")),
                    }
                }
                Some(Constant::Number(Number::Float(bound))) if element == TypeId::F32 => {
                    Ok(Number::Float(f64::from(bound as f32)))
                }
                _ => fail(
                    "K020",
                    format!("the bounds of `{name}` must be constants of the elements' type"),
                ),
            }
        };
        let (min, max) = (number(min)?, number(max)?);
        let rises = match (min, max) {
            (Number::Int(min), Number::Int(max)) => max > min,
            (Number::Float(min), Number::Float(max)) => max > min,
            _ => false,
        };
        if !rises {
            return fail(
                "K020",
                format!("`{name}`: the upper bound must be above the lower"),
            );
        }
        Ok([min, max]
            .map(|bound| Arg::Constant(element, Constant::Number(bound)))
            .to_vec())
    }

    /// `tile_arange(stop)`, `(start, stop)`, `(start, stop, step)`.
    pub(super) fn tile_arange(&mut self, (range, named): Given<'_>) -> Res<Value> {
        let [dtype, storage] = self.bind("tile_arange", ["dtype", "storage"], (&[], named))?;
        let element = self.element_type(dtype)?.0;
        let Type::Scalar(scalar) = self.shared.types.get(element) else {
            return fail("K008", "`tile_arange` makes a tile of scalars");
        };
        if !scalar.is_float() && !scalar.is_int() {
            return fail("K008", "`tile_arange` makes a tile of numbers");
        }
        let shared = self.storage(storage)?;
        let mut vars = Vec::with_capacity(3);
        for value in range {
            vars.push(self.single(*value)?);
        }
        let absent = |number| {
            (
                Arg::Constant(element, Constant::Number(Number::Int(number))),
                number as f64,
            )
        };
        let (start, stop, step) = match *vars {
            [stop] => (absent(0), self.range_value(stop, scalar)?, absent(1)),
            [start, stop] => (
                self.range_value(start, scalar)?,
                self.range_value(stop, scalar)?,
                absent(1),
            ),
            [start, stop, step] => (
                self.range_value(start, scalar)?,
                self.range_value(stop, scalar)?,
                self.range_value(step, scalar)?,
            ),
            _ => return fail("K007", "`tile_arange` takes one to three numbers"),
        };
        let mut quotient = (stop.1 - start.1) / step.1;
        if scalar.is_float()
            && let Some(Number::Float(rounded)) = round_to(scalar, Number::Float(quotient))
        {
            quotient = rounded;
        }
        if step.1 == 0.0 || quotient <= 0.0 || quotient > f64::from(i32::MAX) {
            return fail(
                "K020",
                "`tile_arange`: the range must have between 1 and 2^31 numbers",
            );
        }
        let count = (quotient.ceil() as i64).max(1);
        let template = vec![warpsmith_ir::Piece::Type(element), self.number_piece(count)];
        let out = self.tile_var(Tile::dense(element, vec![Extent::fixed(count)], shared));
        let native = Native::new("tile_arange").template(template).forward_only();
        self.emit_native(native, &[start.0, stop.0, step.0], &[out]);
        Ok(Value::Var(out))
    }

    /// A constant bound of a range: as it is, or a constant of the elements' type.
    fn range_value(&self, var: VarId, scalar: Scalar) -> Res<(Arg, f64)> {
        let number = match self.constant(var) {
            Some(Constant::Number(number) | Constant::Typed(_, number)) => number,
            _ => return fail("K020", "the bounds of `tile_arange` must be constants"),
        };
        let (value, exact) = match number {
            // Beyond 2^53 the count would need wider arithmetic than this.
            Number::Int(value) => (value as f64, value.unsigned_abs() <= 1 << 53),
            Number::Float(value) => (value, value.is_finite()),
        };
        if !exact || (scalar.is_int() && value.fract() != 0.0) {
            return fail(
                "K020",
                "a bound of `tile_arange` does not fit the elements' type",
            );
        }
        if scalar.is_int() {
            let fits = match scalar {
                Scalar::I8 => (-128.0..=127.0).contains(&value),
                Scalar::I16 => (-32768.0..=32767.0).contains(&value),
                Scalar::I32 => (-2147483648.0..=2147483647.0).contains(&value),
                Scalar::U8 => (0.0..=255.0).contains(&value),
                Scalar::U16 => (0.0..=65535.0).contains(&value),
                Scalar::U32 => (0.0..=4294967295.0).contains(&value),
                Scalar::U64 => value >= 0.0,
                _ => true,
            };
            if !fits {
                return fail(
                    "K020",
                    "a bound of `tile_arange` does not fit the elements' type",
                );
            }
        }
        let value = match round_to(scalar, Number::Float(value)) {
            Some(Number::Float(rounded)) => rounded,
            _ => value,
        };
        if self.ty(var) == TypeId::scalar(scalar) {
            return Ok((Arg::Var(var), value));
        }
        let constant = Constant::Typed(scalar, number);
        Ok((Arg::Constant(TypeId::scalar(scalar), constant), value))
    }
}
