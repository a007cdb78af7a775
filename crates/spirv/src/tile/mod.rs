//! Whole tiles: memory of the thread's own, gone through element by element, as the interpreter does.
//!
//! Cells are read before a branch is opened: what is read inside of one is not known behind it.

mod algebra;
mod movement;
mod sort;

use std::rc::Rc;

use super::emitter::{Emitted, Emitter};
use super::memory::stored;
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::Layout;
use warpsmith_interpreter::scalar_form::{Binary, Space};
use warpsmith_interpreter::scalar_form::{Tile, TileKind};
use warpsmith_ir::types::Scalar;

/// A tile whose cells were read.
#[derive(Clone)]
struct Seen<'t> {
    tile: &'t Tile,
    buffer: Id,
    first: Id,
    layout: Rc<Layout>,
}

/// Where the elements of a tile, or their gradients, lie.
#[derive(Clone)]
struct Ground<'t> {
    tile: &'t Tile,
    /// The address of the first element.
    base: Id,
    layout: Rc<Layout>,
}

/// Elements in memory that an operation has for itself.
struct Room {
    base: Id,
    scalars: Vec<Scalar>,
    layout: Layout,
}

impl<'p> Emitter<'p> {
    pub(super) fn tile(&mut self, entry: u32) -> Emitted {
        let program = self.program;
        let call = &program.tiles[entry as usize];
        let seen: Vec<Seen<'p>> = call.tiles.iter().map(|tile| self.see(tile)).collect();
        match (&call.kind, seen.as_slice()) {
            (TileKind::View(origin), [view, tile]) => {
                self.tile_view(origin, view.tile, tile);
                Ok(())
            }
            (TileKind::Copy(offsets), [to, from]) => {
                let room = match call.room {
                    Some(_) => Some(self.room(call.room)?),
                    None => None,
                };
                self.tile_copy(offsets, to, from, room)
            }
            (TileKind::TakeCopied(offsets), [to, from]) => self.tile_take_copied(offsets, to, from),
            (TileKind::ZeroGradient, [tile]) => self.while_alive(|e| e.zero_gradients(tile)),
            (TileKind::Sort, [keys, values]) => {
                let room = self.room(call.room)?;
                self.while_alive(|e| e.tile_sort(keys, values, room))
            }
            (TileKind::Fourier { .. }, _) => self.refuse("Fourier transforms of tiles"),
            (kind, tiles) => {
                if self.tile_to_array(kind, tiles)? {
                    return Ok(());
                }
                self.tile_algebra(kind, tiles, call.room)
            }
        }
    }

    fn see<'t>(&mut self, tile: &'t Tile) -> Seen<'t> {
        Seen {
            tile,
            buffer: self.read(tile.cells, Kind::U32),
            first: self.read(tile.cells.at(1), Kind::U32),
            layout: self.layout(tile.element),
        }
    }

    /// The buffer and the first element of the memory that an operation has for itself.
    fn room(&mut self, cell: Option<Cell>) -> Emitted<(Id, Id)> {
        match cell {
            Some(cell) => Ok((self.read(cell, Kind::U32), self.read(cell.at(1), Kind::U32))),
            None => self.refuse("a tile without room"),
        }
    }

    fn room_of(&mut self, (buffer, first): (Id, Id), scalars: Vec<Scalar>) -> Room {
        let layout = Layout::sequence(&scalars);
        let base = self.buffer_address(buffer, 0);
        Room {
            base: self.address_of(base, first, layout.bytes),
            scalars,
            layout,
        }
    }

    fn room_address(&mut self, room: &Room, at: Id, column: usize) -> Id {
        let element = self.address_of(room.base, at, room.layout.bytes);
        let byte = self.w.u64(room.layout.leaves[column].byte as u64);
        self.w.value(Op::IAdd, Kind::U64, &[element, byte])
    }

    fn take_from(&mut self, room: &Room, at: Id, column: usize) -> Id {
        let address = self.room_address(room, at, column);
        self.load_from(room.scalars[column], address)
    }

    fn put_in(&mut self, room: &Room, at: Id, column: usize, value: Id) {
        let address = self.room_address(room, at, column);
        self.store_to(room.scalars[column], address, value);
    }

    /// A branch for threads without a fault, in which no cell is touched.
    fn while_alive(&mut self, body: impl FnOnce(&mut Self) -> Emitted) -> Emitted {
        let alive = self.alive();
        let merge = self.open_plain(alive);
        body(self)?;
        self.close_plain(merge);
        Ok(())
    }

    /// The body for each number below `count`.
    fn each(&mut self, count: Id, body: impl FnOnce(&mut Self, Id) -> Emitted) -> Emitted {
        let counter = self.w.variable(Kind::U32);
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        self.w.act(Op::Store, &[counter, zero]);
        let mut outcome = Ok(());
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[counter]);
                e.w.value(Op::ULessThan, Kind::Bool, &[now, count])
            },
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[counter]);
                outcome = body(e, now);
                let next = e.w.value(Op::IAdd, Kind::U32, &[now, one]);
                e.w.act(Op::Store, &[counter, next]);
            },
        );
        outcome
    }

    /// As [`Emitter::each`], of a number that is known.
    pub(super) fn each_below(
        &mut self,
        count: usize,
        body: impl FnOnce(&mut Self, Id) -> Emitted,
    ) -> Emitted {
        let count = self.w.u32(count as u32);
        self.each(count, body)
    }

    /// The address of an element of a buffer.
    pub(super) fn address_of(&mut self, base: Id, element: Id, bytes: usize) -> Id {
        let element = self.sign_extended(element);
        let size = self.w.u64(bytes as u64);
        let offset = self.w.value(Op::IMul, Kind::U64, &[element, size]);
        self.w.value(Op::IAdd, Kind::U64, &[base, offset])
    }

    fn ground<'t>(&mut self, seen: &Seen<'t>, space: Space) -> Ground<'t> {
        let space = u64::from(space == Space::Gradient);
        let base = self.buffer_address(seen.buffer, space);
        Ground {
            tile: seen.tile,
            base: self.address_of(base, seen.first, seen.layout.bytes),
            layout: Rc::clone(&seen.layout),
        }
    }

    /// An element's index along each dimension, by its number in the order of the last index.
    fn coordinates(&mut self, shape: &[usize], number: Id) -> Vec<Id> {
        let mut rest = number;
        let mut indices = vec![0; shape.len()];
        for (axis, size) in shape.iter().enumerate().rev() {
            if axis == 0 {
                indices[0] = rest;
                break;
            }
            let size = self.w.u32(*size as u32);
            indices[axis] = self.w.value(Op::UMod, Kind::U32, &[rest, size]);
            rest = self.w.value(Op::UDiv, Kind::U32, &[rest, size]);
        }
        indices
    }

    fn offset(&mut self, strides: &[isize], indices: &[Id]) -> Id {
        let mut offset = self.w.u32(0);
        for (index, stride) in indices.iter().zip(strides) {
            let stride = self.w.u32(*stride as i32 as u32);
            let step = self.w.value(Op::IMul, Kind::U32, &[*index, stride]);
            offset = self.w.value(Op::IAdd, Kind::U32, &[offset, step]);
        }
        offset
    }

    /// How far a tile's element lies from the first, by its number.
    fn offset_of(&mut self, tile: &Tile, number: Id) -> Id {
        if tile.is_dense() {
            return number;
        }
        let indices = self.coordinates(&tile.shape, number);
        self.offset(&tile.strides, &indices)
    }

    fn leaf_address(&mut self, ground: &Ground<'_>, offset: Id, leaf: usize) -> Id {
        let element = self.address_of(ground.base, offset, ground.layout.bytes);
        let byte = self.w.u64(ground.layout.leaves[leaf].byte as u64);
        self.w.value(Op::IAdd, Kind::U64, &[element, byte])
    }

    fn load_leaf(&mut self, ground: &Ground<'_>, offset: Id, leaf: usize) -> Id {
        let ty = ground.tile.scalars[leaf];
        let address = self.leaf_address(ground, offset, leaf);
        self.load_from(ty, address)
    }

    fn store_leaf(&mut self, ground: &Ground<'_>, offset: Id, leaf: usize, value: Id) {
        let ty = ground.tile.scalars[leaf];
        let address = self.leaf_address(ground, offset, leaf);
        self.store_to(ty, address, value);
    }

    /// Adds to memory that no other thread sees.
    fn add_leaf(&mut self, ground: &Ground<'_>, offset: Id, leaf: usize, value: Id) -> Emitted {
        let ty = ground.tile.scalars[leaf];
        let address = self.leaf_address(ground, offset, leaf);
        let old = self.load_from(ty, address);
        let sum = self.binary(Binary::Add, ty, old, value)?;
        self.store_to(ty, address, sum);
        Ok(())
    }

    fn load_from(&mut self, ty: Scalar, address: Id) -> Id {
        let raw = self.load_at(stored(ty), address);
        self.stored_value(ty, raw)
    }

    fn store_to(&mut self, ty: Scalar, address: Id, value: Id) {
        let value = self.as_stored(ty, value);
        let pointer = self.pointer_to(stored(ty), address);
        // 2: the alignment follows.
        self.w
            .act(Op::Store, &[pointer, value, 2, stored(ty).bytes()]);
    }

    /// A float of one type as one of another.
    fn as_float(&mut self, from: Scalar, to: Scalar, value: Id) -> Id {
        match (from, to) {
            (a, b) if a == b => value,
            (Scalar::F64, to) => {
                let single = self.narrowed(value);
                self.rounded(to, single)
            }
            (_, Scalar::F64) => self.widened(value),
            (_, to) => self.rounded(to, value),
        }
    }

    fn zero_gradients(&mut self, seen: &Seen<'_>) -> Emitted {
        let ground = self.ground(seen, Space::Gradient);
        let tile = seen.tile;
        self.each_below(tile.count(), |e, n| {
            let offset = e.offset_of(tile, n);
            for (leaf, ty) in tile.scalars.iter().enumerate() {
                let zero = e.w.constant(super::emitter::kind(*ty), 0);
                e.store_leaf(&ground, offset, leaf, zero);
            }
            Ok(())
        })
    }
}
