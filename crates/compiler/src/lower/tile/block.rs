//! What the threads of a block have in common: their values as a tile, stacks, scatters, queries.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Extent, Query, Scalar, Tile, Type, TypeId};
use warpsmith_ir::{Piece, VarId};

/// The names of indices.
const INDICES: [&str; 4] = ["i", "j", "k", "l"];

impl Body<'_, '_> {
    /// `tile(x)`: the value of each thread.
    pub(super) fn tile_of_threads(&mut self, given: Given<'_>) -> Res<Value> {
        let [x, preserve] = self.bind("tile", ["x", "preserve_type"], given)?;
        let var = self.needed_var(x, "x")?;
        if self.is_reference(var) {
            return fail(
                "K021",
                "`tile` of an array's element is not supported; give it a name",
            );
        }
        let ty = self.ty(var);
        if !self.is_element(ty) {
            return fail("K021", "`tile` of this type is not supported");
        }
        let preserve = self.flag(preserve, false)?;
        let whole = (ty, Vec::new());
        let (element, sizes) = match self.shared.types.get(ty) {
            _ if preserve => whole,
            Type::Vector { length, scalar } => (TypeId::scalar(scalar), vec![length]),
            Type::Quat(scalar) => (TypeId::scalar(scalar), vec![4]),
            Type::Matrix { rows, cols, scalar } => (TypeId::scalar(scalar), vec![rows, cols]),
            _ => whole,
        };
        let mut template: Vec<Piece> = Vec::new();
        for size in &sizes {
            template.push(self.number_piece(i64::from(*size)));
        }
        // A matrix has its sizes first, a vector its scalar.
        let at = if sizes.len() == 2 { 2 } else { 0 };
        template.insert(at, Piece::Type(element));
        let mut shape: Vec<Extent> = sizes
            .iter()
            .map(|size| Extent::fixed(i64::from(*size)))
            .collect();
        shape.push(Extent::BLOCK);
        let out = self.tile_var(Tile::dense(element, shape, false));
        let native = Native::new("tile").template(template);
        self.emit_native(native, &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    /// `untile(a)`: each thread's own value.
    pub(super) fn untile(&mut self, given: Given<'_>) -> Res<Value> {
        let [a] = self.bind("untile", ["a"], given)?;
        let (var, tile) = self.needed_tile(a, "a")?;
        let size = |extent: Extent| extent.number().and_then(|n| u32::try_from(n).ok());
        let ty = match (tile.shape.as_slice(), self.shared.types.get(tile.element)) {
            ([Extent::BLOCK], _) => Some(tile.element),
            ([length, Extent::BLOCK], Type::Scalar(scalar)) => size(*length)
                .map(|length| self.shared.types.intern(Type::Vector { length, scalar })),
            ([rows, cols, Extent::BLOCK], Type::Scalar(scalar)) => match (size(*rows), size(*cols))
            {
                (Some(rows), Some(cols)) => {
                    Some(
                        self.shared
                            .types
                            .intern(Type::Matrix { rows, cols, scalar }),
                    )
                }
                _ => None,
            },
            _ => None,
        };
        let Some(ty) = ty else {
            return fail("K008", "`untile` takes a tile as long as the block");
        };
        let out = self.add_var(ty);
        self.emit_native(Native::new("untile"), &[Arg::Var(var)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_stack(&mut self, given: Given<'_>) -> Res<Value> {
        let [capacity, dtype] = self.bind("tile_stack", ["capacity", "dtype"], given)?;
        let numbers = self.constant_numbers(capacity, "capacity")?;
        let dtype = self.needed(dtype, "dtype")?;
        let (element, piece) = self.element_type(Some(dtype))?;
        let [capacity] = *numbers else {
            return fail("K020", "`capacity` is one number");
        };
        let Some(capacity) = u32::try_from(capacity)
            .ok()
            .filter(|n| (1..1 << 31).contains(n))
        else {
            return fail("K020", "`capacity` is out of range");
        };
        let template = vec![piece, self.number_piece(i64::from(capacity))];
        let ty = self
            .shared
            .types
            .intern(Type::TileStack { element, capacity });
        let out = self.add_var(ty);
        let native = Native::new("tile_stack_init")
            .template(template)
            .forward_only();
        self.emit_native(native, &[], &[out]);
        Ok(Value::Var(out))
    }

    /// `tile_stack_push`, `tile_stack_pop`, `tile_stack_clear`, `tile_stack_count`.
    pub(super) fn tile_stack_call(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let (stack, value, has_value) = if name == "tile_stack_push" {
            let [s, value, has_value] = self.bind(name, ["s", "value", "has_value"], given)?;
            (s, value, has_value)
        } else {
            let [s] = self.bind(name, ["s"], given)?;
            (s, None, None)
        };
        let stack = self.needed_var(stack, "s")?;
        let Type::TileStack { element, .. } = self.kind(stack) else {
            return fail("K008", format!("`{name}` takes a stack of a block"));
        };
        let mut args = vec![Arg::Var(stack)];
        let mut outs: Vec<VarId> = Vec::new();
        match name {
            "tile_stack_push" => {
                let value = self.needed_var(value, "value")?;
                let has_value = self.needed_var(has_value, "has_value")?;
                if self.value_ty(value) != element || self.value_ty(has_value) != TypeId::BOOL {
                    return fail(
                        "K008",
                        "`tile_stack_push` takes a value of the stack and a bool",
                    );
                }
                args.extend([value, has_value].map(Arg::Var));
                outs.push(self.add_var(TypeId::I32));
            }
            "tile_stack_pop" => {
                outs.push(self.add_var(element));
                outs.push(self.add_var(TypeId::I32));
            }
            "tile_stack_count" => outs.push(self.add_var(TypeId::I32)),
            _ => {}
        }
        self.emit_native(Native::new(name).forward_only(), &args, &outs);
        Ok(self.result_value(&outs))
    }

    /// The tile, its indices, the value and whether there is one.
    fn scatter_args(&mut self, name: &str, given: Given<'_>) -> Res<Vec<Arg>> {
        let (var, tile) = self.needed_tile(self.given_as(0, "a", given), "a")?;
        let rank = tile.shape.len();
        if rank > INDICES.len() {
            return fail(
                "K011",
                format!("`{name}` takes a tile of at most four dimensions"),
            );
        }
        let mut params = vec!["a"];
        params.extend(&INDICES[..rank]);
        params.extend(["value", "has_value"]);
        let values = self.in_order(name, &params, given)?;
        if values.len() != params.len() {
            return fail(
                "K011",
                format!("`{name}`: the number of indices does not fit the tile"),
            );
        }
        let mut args = vec![Arg::Var(var)];
        for (at, value) in values[1..].iter().enumerate() {
            let value = self.single(*value)?;
            if at < rank {
                self.index_arg(value)?;
            } else if self.value_ty(value) != [tile.element, TypeId::BOOL][at - rank] {
                return fail(
                    "K008",
                    format!("`{name}`: a value of the tile and a bool are expected"),
                );
            }
            args.push(Arg::Var(value));
        }
        self.share(var);
        Ok(args)
    }

    pub(super) fn tile_scatter_add(&mut self, (positional, named): Given<'_>) -> Res<Value> {
        let is_atomic = |(name, _): &&(Name, Value)| self.shared.names.get(*name) == "atomic";
        let atomic = named.iter().find(is_atomic).map(|(_, value)| *value);
        let rest: Vec<(Name, Value)> = named
            .iter()
            .filter(|pair| !is_atomic(pair))
            .copied()
            .collect();
        let args = self.scatter_args("tile_scatter_add", (positional, &rest))?;
        let atomic = self.flag(atomic, true)?;
        let mut native = Native::new("tile_scatter_add");
        if !atomic {
            native = native.template(vec![self.bool_piece(false)]);
        }
        self.emit_native(native, &args, &[]);
        Ok(self.result_value(&[]))
    }

    pub(super) fn tile_scatter_masked(&mut self, given: Given<'_>) -> Res<Value> {
        let args = self.scatter_args("tile_scatter_masked", given)?;
        self.emit_native(Native::new("tile_scatter_masked"), &args, &[]);
        Ok(self.result_value(&[]))
    }

    /// A question that the whole block asks.
    pub(super) fn tile_query(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let params = match name {
            "bvh_query_ray" => ["id", "start", "dir"],
            _ => ["id", "low", "high"],
        };
        let bound = self.bind(name, params, given)?;
        let mut args = Vec::new();
        let vector = Type::Vector {
            length: 3,
            scalar: Scalar::F32,
        };
        for (value, param) in bound.into_iter().zip(params) {
            let var = self.needed_var(value, param)?;
            let fits = match param {
                "id" => self.value_ty(var) == TypeId::U64,
                _ => self.kind(var) == vector,
            };
            if !fits {
                return fail("K008", format!("`{name}`: `{param}` is of another type"));
            }
            args.push(Arg::Var(var));
        }
        let query = match name {
            "mesh_query_aabb" => Query::MeshTiled,
            _ => Query::BvhTiled,
        };
        let ty = self.shared.types.intern(Type::Query(query));
        let out = self.add_var(ty);
        let native = Native::new(&format!("tile_{name}")).forward_only();
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }

    /// The next answers, one for each thread.
    pub(super) fn tile_query_next(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let [query] = self.bind(name, ["query"], given)?;
        let query = self.needed_var(query, "query")?;
        let wanted = match name {
            "bvh_query_next" => Query::BvhTiled,
            _ => Query::MeshTiled,
        };
        if self.kind(query) != Type::Query(wanted) {
            return fail("K008", format!("`{name}` takes a query of a block"));
        }
        let out = self.tile_var(Tile::dense(TypeId::I32, vec![Extent::BLOCK], false));
        let native = Native::new(&format!("tile_{name}")).forward_only();
        self.emit_native(native, &[Arg::Var(query)], &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_query_valid(&mut self, given: Given<'_>) -> Res<Value> {
        let [query] = self.bind("tile_query_valid", ["query"], given)?;
        let query = self.needed_var(query, "query")?;
        if !matches!(
            self.kind(query),
            Type::Query(Query::BvhTiled | Query::MeshTiled)
        ) {
            return fail("K008", "`tile_query_valid` takes a query of a block");
        }
        let out = self.add_var(TypeId::BOOL);
        let native = Native::new("tile_query_valid").forward_only();
        self.emit_native(native, &[Arg::Var(query)], &[out]);
        Ok(Value::Var(out))
    }
}
