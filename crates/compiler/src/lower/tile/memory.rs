//! Tiles from and to arrays.

use super::super::body::Body;
use super::super::value::{Res, Value, fail};
use super::native::{Arg, Given, Native};
use warpsmith_ir::types::{Tile, Type, TypeId};
use warpsmith_ir::{Piece, VarId};

impl Body<'_, '_> {
    /// The array that a tile is loaded from or stored to: element and rank.
    fn tile_array(&self, value: Option<Value>) -> Res<(VarId, TypeId, usize)> {
        let var = self.needed_var(value, "a")?;
        match self.kind(var) {
            Type::Array { element, rank } if self.is_element(element) => {
                Ok((var, element, usize::from(rank)))
            }
            Type::Array { .. } => fail("K021", "a tile of such elements is not supported"),
            _ => fail("K008", "a tile is loaded from and stored to a plain array"),
        }
    }

    /// A tile that fits an array.
    fn stored_tile(
        &self,
        value: Option<Value>,
        element: TypeId,
        rank: usize,
    ) -> Res<(VarId, Tile)> {
        let (var, tile) = self.needed_tile(value, "t")?;
        if tile.shape.len() != rank || !self.shared.types.equal(tile.element, element) {
            return fail(
                "K019",
                "the tile must have the dimensions and the element type of the array",
            );
        }
        Ok((var, tile))
    }

    pub(super) fn tile_load(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["a", "shape", "offset", "storage", "bounds_check", "aligned"];
        let [a, shape, offset, storage, check, aligned] = self.bind("tile_load", params, given)?;
        let (array, element, rank) = self.tile_array(a)?;
        self.same_form(shape, offset)?;
        let shape = self.tile_shape(shape)?;
        let offsets = self.offsets(offset, rank)?;
        if shape.len() != rank {
            return fail("K011", "the tile must have as many dimensions as the array");
        }
        let shared = self.storage(storage)?;
        let (check, aligned) = (self.flag(check, true)?, self.flag(aligned, false)?);
        let mut template = vec![
            Piece::Type(element),
            self.bool_piece(check),
            self.bool_piece(aligned && shared),
        ];
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(element, shape, shared));
        let mut args = vec![Arg::Var(array)];
        args.extend(offsets);
        self.emit_native(Native::new("tile_load").template(template), &args, &[out]);
        Ok(Value::Var(out))
    }

    pub(super) fn tile_store(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["a", "t", "offset", "bounds_check", "aligned"];
        let [a, t, offset, check, aligned] = self.bind("tile_store", params, given)?;
        let (array, element, rank) = self.tile_array(a)?;
        let (var, tile) = self.stored_tile(t, element, rank)?;
        let offsets = self.offsets(offset, rank)?;
        let (check, aligned) = (self.flag(check, true)?, self.flag(aligned, false)?);
        let template = vec![
            Piece::Type(element),
            self.bool_piece(check),
            self.bool_piece(aligned && tile.shared),
        ];
        let mut args = vec![Arg::Var(array)];
        args.extend(offsets);
        args.push(Arg::Var(var));
        let native = Native::new("tile_store").template(template).once();
        self.emit_native(native, &args, &[]);
        Ok(self.result_value(&[]))
    }

    /// Whether sums of an element are made atomically.
    fn adds_atomically(&self, element: TypeId) -> Res<()> {
        let types = &self.shared.types;
        let adds = matches!(types.get(element), Type::Struct(_))
            || types
                .scalar_of(element)
                .is_some_and(warpsmith_ir::types::Scalar::adds_atomically);
        if adds {
            Ok(())
        } else {
            fail("K007", "elements of this type are not added atomically")
        }
    }

    pub(super) fn tile_atomic_add(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["a", "t", "offset", "bounds_check"];
        let [a, t, offset, check] = self.bind("tile_atomic_add", params, given)?;
        let (array, element, rank) = self.tile_array(a)?;
        let (var, tile) = self.stored_tile(t, element, rank)?;
        self.adds_atomically(element)?;
        let offsets = self.offsets(offset, rank)?;
        let check = self.flag(check, true)?;
        let template = vec![Piece::Type(element), self.bool_piece(check)];
        let out = self.tile_var(Tile::dense(tile.element, tile.shape, tile.shared));
        let mut args = vec![Arg::Var(array)];
        args.extend(offsets);
        args.push(Arg::Var(var));
        let native = Native::new("tile_atomic_add").template(template).once();
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }

    /// The tile of indices along an axis of a shape.
    fn index_tile(
        &mut self,
        value: Option<Value>,
        axis: Option<Value>,
        shape: &[warpsmith_ir::types::Extent],
    ) -> Res<(VarId, Arg)> {
        let (var, tile) = self.needed_tile(value, "indices")?;
        let axis = match axis {
            None => (0, Arg::Int(0)),
            Some(value) => {
                let var = self.single(value)?;
                match self.constant_int(var).map(usize::try_from) {
                    Some(Ok(axis)) => (axis, Arg::Var(var)),
                    _ => return fail("K020", "`axis` must be a constant that is not negative"),
                }
            }
        };
        if tile.shape.len() != 1
            || tile.element != TypeId::I32
            || shape.get(axis.0) != tile.shape.first()
        {
            return fail(
                "K008",
                "the indices are a tile of int32 as long as the other tile along the axis",
            );
        }
        self.share(var);
        Ok((var, axis.1))
    }

    pub(super) fn tile_load_indexed(&mut self, given: Given<'_>) -> Res<Value> {
        let params = ["a", "indices", "shape", "offset", "axis", "storage"];
        let [a, indices, shape, offset, axis, storage] =
            self.bind("tile_load_indexed", params, given)?;
        let (array, element, rank) = self.tile_array(a)?;
        let shape = self.tile_shape(shape)?;
        let (indices, axis) = self.index_tile(indices, axis, &shape)?;
        let offsets = self.offsets(offset, rank)?;
        if shape.len() != rank {
            return fail("K011", "the tile must have as many dimensions as the array");
        }
        let shared = self.storage(storage)?;
        let mut template = Vec::new();
        for extent in &shape {
            template.push(self.extent_piece(*extent));
        }
        let out = self.tile_var(Tile::dense(element, shape, shared));
        let mut args = vec![Arg::Var(array), Arg::Var(indices), axis];
        args.extend(offsets);
        let native = Native::new("tile_load_indexed").template(template);
        self.emit_native(native, &args, &[out]);
        Ok(Value::Var(out))
    }

    /// `tile_store_indexed`, `tile_atomic_add_indexed`.
    pub(super) fn tile_store_indexed(&mut self, name: &str, given: Given<'_>) -> Res<Value> {
        let params = ["a", "indices", "t", "offset", "axis"];
        let [a, indices, t, offset, axis] = self.bind(name, params, given)?;
        let (array, element, rank) = self.tile_array(a)?;
        let (var, tile) = self.stored_tile(t, element, rank)?;
        let (indices, axis) = self.index_tile(indices, axis, &tile.shape)?;
        let offsets = self.offsets(offset, rank)?;
        let mut outs = Vec::new();
        if name == "tile_atomic_add_indexed" {
            self.adds_atomically(element)?;
            let tile = self.tile_of(var).unwrap_or(tile);
            outs.push(self.tile_var(Tile::dense(tile.element, tile.shape, tile.shared)));
        }
        let mut args = vec![Arg::Var(array), Arg::Var(indices), axis];
        args.extend(offsets);
        args.push(Arg::Var(var));
        self.emit_native(Native::new(name).once(), &args, &outs);
        Ok(self.result_value(&outs))
    }
}
