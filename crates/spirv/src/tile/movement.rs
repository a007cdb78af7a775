//! Tiles from and to arrays, and from and to each other.

use super::super::emitter::{Emitted, Emitter, kind};
use super::super::memory::Place;
use super::super::opcode::Op;
use super::super::writer::{Id, Kind};
use super::{Ground, Seen};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{ARRAY_SHAPE, ARRAY_STRIDES};
use warpsmith_interpreter::scalar_form::{Binary, Space, Update};
use warpsmith_interpreter::scalar_form::{Tile, TileArray, TileKind};
use warpsmith_ir::types::Scalar;

/// An array whose cells were read.
struct Source<'t> {
    buffer: Id,
    first: Id,
    sizes: Vec<Id>,
    strides: Vec<Id>,
    offsets: Vec<Id>,
    indices: Option<(Seen<'t>, usize)>,
}

/// What goes where.
enum Way<'s, 't> {
    Load,
    Store,
    /// What was there before goes to the tile.
    Add(&'s Seen<'t>),
    AddGradient,
    TakeGradient {
        zeroes: bool,
    },
}

impl<'p> Emitter<'p> {
    /// Writes a movement between a tile and an array; false if it is none.
    pub(super) fn tile_to_array(
        &mut self,
        call: &'p TileKind,
        tiles: &[Seen<'p>],
    ) -> Emitted<bool> {
        let (array, way) = match (call, tiles) {
            (TileKind::Load(array), [_]) => (array, Way::Load),
            (TileKind::Store(array), [_]) => (array, Way::Store),
            (TileKind::AtomicAdd { array, .. }, [_, old]) => (array, Way::Add(old)),
            (TileKind::AddGradient(array), [_]) => (array, Way::AddGradient),
            (TileKind::TakeGradient { array, zeroes }, [_]) => {
                (array, Way::TakeGradient { zeroes: *zeroes })
            }
            _ => return Ok(false),
        };
        let seen = &tiles[0];
        let source = self.source(array, seen.tile);
        let zero = self.w.u32(0);
        let missing = self
            .w
            .value(Op::SLessThan, Kind::Bool, &[source.buffer, zero]);
        self.fault(missing);
        if !array.checked {
            self.check_inside(&source, seen.tile)?;
        }
        self.while_alive(|e| e.go_through(&source, seen, &way))?;
        Ok(true)
    }

    fn source<'t>(&mut self, array: &'t TileArray, tile: &Tile) -> Source<'t> {
        let rank = tile.shape.len();
        let field = |e: &mut Self, n: usize| e.read(array.cells.at(n), Kind::U32);
        Source {
            buffer: field(self, 0),
            first: field(self, 1),
            sizes: (0..rank).map(|n| field(self, ARRAY_SHAPE + n)).collect(),
            strides: (0..rank).map(|n| field(self, ARRAY_STRIDES + n)).collect(),
            offsets: (array.offsets.iter())
                .map(|cell| self.read(*cell, Kind::U32))
                .collect(),
            indices: (array.indices.as_ref()).map(|(tile, axis)| (self.see(tile), *axis)),
        }
    }

    /// A fault where part of the tile lies outside of the array.
    fn check_inside(&mut self, source: &Source<'_>, tile: &Tile) -> Emitted {
        for axis in 0..tile.shape.len() {
            let (offset, size) = (source.offsets[axis], source.sizes[axis]);
            if source.indices.as_ref().is_some_and(|(_, at)| *at == axis) {
                let length = tile.shape[axis];
                self.while_alive(|e| {
                    e.each_below(length, |e, n| {
                        let index = e.index_along(source, axis, n);
                        let outside = e.w.value(Op::UGreaterThanEqual, Kind::Bool, &[index, size]);
                        e.fault(outside);
                        Ok(())
                    })
                })?;
                continue;
            }
            let (zero, length) = (self.w.u32(0), self.w.u32(tile.shape[axis] as u32));
            let most = self.w.value(Op::ISub, Kind::U32, &[size, length]);
            let before = self.w.value(Op::SLessThan, Kind::Bool, &[offset, zero]);
            let behind = self.w.value(Op::SGreaterThan, Kind::Bool, &[offset, most]);
            let outside = self.w.value(Op::LogicalOr, Kind::Bool, &[before, behind]);
            self.fault(outside);
        }
        Ok(())
    }

    /// The array's index along an axis that belongs to a tile's.
    fn index_along(&mut self, source: &Source<'_>, axis: usize, along: Id) -> Id {
        let along = match &source.indices {
            Some((indices, at)) if *at == axis => {
                let ground = self.ground(indices, Space::Value);
                let offset = self.offset_of(indices.tile, along);
                let index = self.load_leaf(&ground, offset, 0);
                match kind(indices.tile.scalars[0]) {
                    Kind::U64 => self.w.value(Op::UConvert, Kind::U32, &[index]),
                    _ => index,
                }
            }
            _ => along,
        };
        self.w
            .value(Op::IAdd, Kind::U32, &[source.offsets[axis], along])
    }

    fn go_through(&mut self, source: &Source<'_>, seen: &Seen<'_>, way: &Way<'_, '_>) -> Emitted {
        let tile = seen.tile;
        let space = match way {
            Way::AddGradient | Way::TakeGradient { .. } => Space::Gradient,
            _ => Space::Value,
        };
        let ground = self.ground(seen, space);
        let before = match way {
            Way::Add(old) => Some(self.ground(old, Space::Value)),
            _ => None,
        };
        let base = self.buffer_address(source.buffer, u64::from(space == Space::Gradient));
        let none = self.w.u64(0);
        let given = self.w.value(Op::INotEqual, Kind::Bool, &[base, none]);
        self.each_below(tile.count(), |e, number| {
            let indices = e.coordinates(&tile.shape, number);
            let offset = e.offset(&tile.strides, &indices);
            let mut allowed = given;
            let mut element = source.first;
            for (axis, along) in indices.into_iter().enumerate() {
                let index = e.index_along(source, axis, along);
                let inside =
                    e.w.value(Op::ULessThan, Kind::Bool, &[index, source.sizes[axis]]);
                allowed = e.w.value(Op::LogicalAnd, Kind::Bool, &[allowed, inside]);
                let step =
                    e.w.value(Op::IMul, Kind::U32, &[index, source.strides[axis]]);
                element = e.w.value(Op::IAdd, Kind::U32, &[element, step]);
            }
            let element = e.address_of(base, element, ground.layout.bytes);
            let before = before.as_ref().map(|ground| {
                let offset = e.offset_of(ground.tile, number);
                (ground, offset)
            });
            for (leaf, ty) in tile.scalars.iter().enumerate() {
                let byte = e.w.u64(ground.layout.leaves[leaf].byte as u64);
                let address = e.w.value(Op::IAdd, Kind::U64, &[element, byte]);
                let place = Place { address, allowed };
                e.go(way, *ty, &place, (&ground, offset, leaf), before)?;
            }
            Ok(())
        })
    }

    /// One scalar.
    fn go(
        &mut self,
        way: &Way<'_, '_>,
        ty: Scalar,
        place: &Place,
        (ground, offset, leaf): (&Ground<'_>, Id, usize),
        before: Option<(&Ground<'_>, Id)>,
    ) -> Emitted {
        let add = Update::Binary(Binary::Add);
        match way {
            Way::Load => {
                let value = self.load_scalar(ty, place);
                self.store_leaf(ground, offset, leaf, value);
            }
            Way::Store => {
                let value = self.load_leaf(ground, offset, leaf);
                let merge = self.open_plain(place.allowed);
                self.store_to(ty, place.address, value);
                self.close_plain(merge);
            }
            Way::Add(_) | Way::AddGradient => {
                let value = self.load_leaf(ground, offset, leaf);
                // Warp leaves a field of a struct as it is that has no atomic sum.
                let found = match ty.adds_atomically() {
                    true => self.update(add, ty, place, value)?,
                    false => self.load_scalar(ty, place),
                };
                if let Some((before, offset)) = before {
                    self.store_leaf(before, offset, leaf, found);
                }
            }
            Way::TakeGradient { zeroes } => {
                let taken = if *zeroes {
                    let zero = self.w.constant(kind(ty), 0);
                    self.update(Update::Exchange, ty, place, zero)?
                } else {
                    self.load_scalar(ty, place)
                };
                self.add_leaf(ground, offset, leaf, taken)?;
            }
        }
        Ok(())
    }

    /// The cells of a view; outside of the tile is a fault.
    pub(super) fn tile_view(&mut self, origin: &[Cell], view: &Tile, seen: &Seen<'_>) {
        let tile = seen.tile;
        let mut first = seen.first;
        for (axis, cell) in origin.iter().enumerate() {
            let index = self.read(*cell, Kind::U32);
            let stride = tile.strides[axis];
            // A view of as many dimensions goes on from there; else the index picks one.
            let further = match view.shape.len() == tile.shape.len() && stride != 0 {
                true => (view.shape[axis] as isize - 1) * (view.strides[axis] / stride),
                false => 0,
            };
            let size = self.w.u32(tile.shape[axis] as u32);
            let further = self.w.u32(further as i32 as u32);
            let last = self.w.value(Op::IAdd, Kind::U32, &[index, further]);
            for end in [index, last] {
                let outside = self
                    .w
                    .value(Op::UGreaterThanEqual, Kind::Bool, &[end, size]);
                self.fault(outside);
            }
            let stride = self.w.u32(stride as i32 as u32);
            let step = self.w.value(Op::IMul, Kind::U32, &[index, stride]);
            first = self.w.value(Op::IAdd, Kind::U32, &[first, step]);
        }
        self.write(view.cells, Kind::U32, seen.buffer);
        self.write(view.cells.at(1), Kind::U32, first);
    }

    /// The part of a tile that another is copied into.
    fn part_of<'t>(&mut self, offsets: &[Cell], to: &Seen<'t>, from: &Tile) -> Seen<'t> {
        let mut part = to.clone();
        for (axis, cell) in offsets.iter().enumerate() {
            let index = self.read(*cell, Kind::U32);
            let most = to.tile.shape[axis] as i32 - from.shape[axis] as i32;
            let (zero, most) = (self.w.u32(0), self.w.u32(most as u32));
            let before = self.w.value(Op::SLessThan, Kind::Bool, &[index, zero]);
            let behind = self.w.value(Op::SGreaterThan, Kind::Bool, &[index, most]);
            let outside = self.w.value(Op::LogicalOr, Kind::Bool, &[before, behind]);
            self.fault(outside);
            let stride = self.w.u32(to.tile.strides[axis] as i32 as u32);
            let step = self.w.value(Op::IMul, Kind::U32, &[index, stride]);
            part.first = self.w.value(Op::IAdd, Kind::U32, &[part.first, step]);
        }
        part
    }

    /// Copies by way of `room`, where the tiles may lie over each other.
    pub(super) fn tile_copy(
        &mut self,
        offsets: &[Cell],
        to: &Seen<'_>,
        from: &Seen<'_>,
        room: Option<(Id, Id)>,
    ) -> Emitted {
        let part = self.part_of(offsets, to, from.tile);
        let (count, scalars) = (from.tile.count(), &from.tile.scalars);
        self.while_alive(|e| {
            let room = room.map(|room| e.room_of(room, scalars.clone()));
            let [source, target] = [from, &part].map(|seen| e.ground(seen, Space::Value));
            if let Some(room) = &room {
                e.each_below(count, |e, number| {
                    let there = e.offset_of(from.tile, number);
                    for leaf in 0..scalars.len() {
                        let value = e.load_leaf(&source, there, leaf);
                        e.put_in(room, number, leaf, value);
                    }
                    Ok(())
                })?;
            }
            e.each_below(count, |e, number| {
                let indices = e.coordinates(&from.tile.shape, number);
                let there = e.offset(&from.tile.strides, &indices);
                let here = e.offset(&part.tile.strides, &indices);
                for (leaf, ty) in scalars.iter().enumerate() {
                    let value = match &room {
                        Some(room) => e.take_from(room, number, leaf),
                        None => e.load_leaf(&source, there, leaf),
                    };
                    let value = e.as_float(*ty, part.tile.scalars[leaf], value);
                    e.store_leaf(&target, here, leaf, value);
                }
                Ok(())
            })
        })
    }

    pub(super) fn tile_take_copied(
        &mut self,
        offsets: &[Cell],
        to: &Seen<'_>,
        from: &Seen<'_>,
    ) -> Emitted {
        let part = self.part_of(offsets, to, from.tile);
        self.while_alive(|e| {
            let [source, target] = [from, &part].map(|seen| e.ground(seen, Space::Gradient));
            e.each_below(from.tile.count(), |e, number| {
                let indices = e.coordinates(&from.tile.shape, number);
                let there = e.offset(&from.tile.strides, &indices);
                let here = e.offset(&part.tile.strides, &indices);
                for (leaf, ty) in from.tile.scalars.iter().enumerate() {
                    if !ty.is_float() {
                        continue;
                    }
                    let of = part.tile.scalars[leaf];
                    let taken = e.load_leaf(&target, here, leaf);
                    let zero = e.w.constant(kind(of), 0);
                    e.store_leaf(&target, here, leaf, zero);
                    let taken = e.as_float(of, *ty, taken);
                    e.add_leaf(&source, there, leaf, taken)?;
                }
                Ok(())
            })
        })
    }
}
