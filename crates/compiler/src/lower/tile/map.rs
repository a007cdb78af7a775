//! Functions as arguments: `tile_map`, and the operator of `tile_reduce`.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use crate::overload::{Outcome, result_type, select};
use warpsmith_ir::builtin::{BUILTINS, Dispatch};
use warpsmith_ir::types::{Tile, TypeId};

impl Body<'_, '_> {
    /// The operator of a reduction, and its name if it is a builtin.
    pub(super) fn reduction(
        &mut self,
        op: Value,
        element: TypeId,
    ) -> Res<(Arg, Option<&'static str>)> {
        match op {
            Value::Function(set) => {
                let set = &self.shared.scope.sets[set as usize];
                let (&[index], []) = (set.overloads.as_slice(), set.templates.as_slice()) else {
                    return fail(
                        "K021",
                        "an operator with several overloads is not supported here",
                    );
                };
                let built = self.build_passed(index)?;
                Ok((self.function_arg(built), None))
            }
            Value::Builtin(_) => {
                let (arg, _, _, name) = self.mapped(op, &[element, element])?;
                Ok((arg, Some(name)))
            }
            _ => fail("K016", "a function is expected"),
        }
    }

    /// Builds a function that is passed on.
    fn build_passed(&mut self, index: u32) -> Res<u32> {
        let def = &self.shared.scope.functions[index as usize];
        if def.gradient.is_some() || def.replay.is_some() {
            return fail(
                "K021",
                "a function with a gradient or a replay of its own is not supported as an argument",
            );
        }
        self.shared.build_function(index)
    }

    fn function_arg(&mut self, built: u32) -> Arg {
        let native = self.shared.functions[built as usize].native;
        let dual = format!("adj_{}", self.shared.names.get(native));
        Arg::Function(native, self.shared.names.intern(&dual))
    }

    /// The function that is applied to elements: the argument, its result, whether it has an adjoint,
    /// and its name.
    fn mapped(&mut self, op: Value, elements: &[TypeId]) -> Res<(Arg, TypeId, bool, &'static str)> {
        match op {
            Value::Function(set) => {
                let Some(index) = self.overload_by_types(set, elements, &[])? else {
                    return fail("K007", "no overload of the function takes these elements");
                };
                let built = self.build_passed(index)?;
                let [result] = *self.shared.functions[built as usize].returns else {
                    return fail("K008", "the function must return one value");
                };
                Ok((self.function_arg(built), result, true, ""))
            }
            Value::Builtin(index) => {
                let builtin = &BUILTINS[usize::from(index)];
                if builtin.python {
                    return fail("K021", "a function of Warp's library is not supported here");
                }
                let selected = select(builtin.rows, self.shared.types, elements, &[], None);
                let Some(row) = selected.map(|selected| &builtin.rows[selected.row]) else {
                    return fail(
                        "K007",
                        format!("`{}` does not take these elements", builtin.name),
                    );
                };
                if row.dispatch != Dispatch::Plain || row.params.len() != elements.len() {
                    return fail("K021", format!("`{}` is not supported here", builtin.name));
                }
                let outcome = result_type(row.rule, self.shared.types, elements);
                let Ok(Outcome::One(result)) = outcome else {
                    return fail(
                        "K008",
                        format!("`{}` does not give one value", builtin.name),
                    );
                };
                let [name, dual] =
                    [row.native, row.adjoint].map(|text| self.shared.names.intern(text));
                Ok((
                    Arg::Function(name, dual),
                    result,
                    row.differentiable,
                    builtin.name,
                ))
            }
            _ => fail("K016", "a function is expected"),
        }
    }

    /// `tile_map(op, a, …)`.
    pub(super) fn tile_map(&mut self, given: Given<'_>) -> Res<Value> {
        let values = match given {
            (positional, []) => positional.to_vec(),
            _ => self.in_order("tile_map", &["op", "a", "b"], given)?,
        };
        let [op, a, rest @ ..] = values.as_slice() else {
            return fail("K007", "`tile_map` takes a function and tiles");
        };
        let (first, tile) = self.needed_tile(Some(*a), "a")?;
        let mut args = vec![Arg::Var(first)];
        let mut elements = vec![tile.element];
        for value in rest {
            let var = self.single(*value)?;
            args.push(Arg::Var(var));
            elements.push(match self.tile_of(var) {
                Some(other) if other.shape == tile.shape => other.element,
                Some(_) => return fail("K008", "`tile_map`: the shapes of the tiles differ"),
                None => self.value_ty(var),
            });
        }
        if !elements.iter().all(|element| self.is_element(*element)) {
            return fail(
                "K008",
                "`tile_map` takes tiles, scalars, vectors and matrices",
            );
        }
        let (function, result, differentiable, _) = self.mapped(*op, &elements)?;
        if !self.is_element(result) {
            return fail("K008", "a tile cannot hold elements of this type");
        }
        args.insert(0, function);
        let out = self.tile_var(Tile::dense(result, tile.shape, false));
        let mut native = Native::new(match elements.len() {
            1 => "tile_unary_map",
            2 => "tile_binary_map",
            _ => "tile_map",
        });
        if !differentiable {
            native = native.forward_only();
        }
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }
}
