//! Samples of textures, whose call is written as those on tiles are.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{Query, Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Number};

impl Body<'_, '_> {
    /// `texture_sample(tex, uv, dtype, lod)`, or with one number per coordinate.
    pub(super) fn texture_sample(&mut self, given: Given<'_>) -> Res<Value> {
        const WHAT: &str = "texture_sample";
        let (positional, named) = given;
        let Some((Value::Var(texture), rest)) = positional.split_first() else {
            return fail("K007", "`texture_sample` takes a texture first");
        };
        let rank = match self.kind(*texture) {
            Type::Query(Query::Texture1) => 1,
            Type::Query(Query::Texture2) => 2,
            Type::Query(Query::Texture3) => 3,
            _ => return fail("K008", "`texture_sample` takes a texture first"),
        };
        let point = Type::Vector {
            length: rank,
            scalar: Scalar::F32,
        };
        let coordinates = match rest.first() {
            Some(Value::Var(var)) if rank > 1 && self.kind(*var) == point => 1,
            _ => rank as usize,
        };
        let Some((coordinates, rest)) = rest.split_at_checked(coordinates) else {
            return fail(
                "K021",
                "`texture_sample` takes its coordinates by position here",
            );
        };
        let mut args = vec![Arg::Var(*texture)];
        for value in coordinates {
            let var = self.single(*value)?;
            if self.kind(var) != point
                && (self.value_ty(var) != TypeId::F32 || coordinates.len() != rank as usize)
            {
                return fail("K008", "the coordinates of a texture are float32");
            }
            args.push(Arg::Var(var));
        }
        let [dtype, lod] = self.bind(WHAT, ["dtype", "lod"], (rest, named))?;
        let dtype = self.needed(dtype, "dtype")?;
        let vector = |length| Type::Vector {
            length,
            scalar: Scalar::F32,
        };
        let fits = match dtype {
            Value::PythonType(ty) => ty == TypeId::F32,
            Value::Type(ty) => {
                let kind = self.shared.types.get(ty);
                kind == vector(2) || kind == vector(4)
            }
            _ => false,
        };
        if !fits {
            return fail(
                "K008",
                "`texture_sample` gives `float`, `wp.vec2f` or `wp.vec4f`",
            );
        }
        let (ty, piece) = self.element_type(Some(dtype))?;
        args.push(match lod {
            None => Arg::Constant(TypeId::F32, Constant::Number(Number::Float(-1.0))),
            Some(value) => {
                let var = self.single(value)?;
                if self.value_ty(var) != TypeId::F32 {
                    return fail("K008", "the level of detail is a float32");
                }
                Arg::Var(var)
            }
        });
        let out = self.add_var(ty);
        let native = Native::new(WHAT).template(vec![piece]);
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }
}
