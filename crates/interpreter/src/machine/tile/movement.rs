//! Tiles from and to arrays, and from and to each other.

use super::super::control::Machine;
use super::super::lane_function::{bits as float_bits, number};
use super::super::memory_access::updated;
use super::Stops;
use crate::instruction::{Binary, Space, Update};
use crate::lanes::Cell;
use crate::layout::{ARRAY_SHAPE, ARRAY_STRIDES};
use crate::memory::Buffer;
use crate::races::Touch;
use crate::tile::{Tile, TileArray};
use warpsmith_ir::types::Scalar;

const ADD: Update = Update::Binary(Binary::Add);

/// Elements of an array: where each element of the tile lies; `None` outside.
struct Places<'p> {
    buffer: usize,
    memory: Option<&'p Buffer>,
    elements: Vec<Option<usize>>,
}

impl<'p> Machine<'p> {
    fn places(
        &self,
        lane: usize,
        array: &TileArray,
        tile: &Tile,
        space: Space,
    ) -> Result<Places<'p>, String> {
        let field = |n: usize| i64::from(self.registers.row::<i32>(array.cells.at(n))[lane]);
        let Ok(buffer) = usize::try_from(field(0)) else {
            return Err("the array was not given".to_owned());
        };
        let rank = tile.shape.len();
        let sizes: Vec<i64> = (0..rank).map(|axis| field(ARRAY_SHAPE + axis)).collect();
        let strides: Vec<i64> = (0..rank).map(|axis| field(ARRAY_STRIDES + axis)).collect();
        let offsets: Vec<i64> = array
            .offsets
            .iter()
            .map(|cell| i64::from(self.registers.row::<i32>(*cell)[lane]))
            .collect();
        let chosen = array.indices.as_ref().map(|(indices, axis)| {
            let read = self.read_tile(lane, (indices, Space::Value), 0);
            (*axis, read)
        });
        let mut places = vec![Some(field(1))];
        for axis in 0..rank {
            let mut next = Vec::with_capacity(places.len() * tile.shape[axis]);
            for place in places {
                for n in 0..tile.shape[axis] {
                    let along = match &chosen {
                        Some((chosen_axis, indices)) if *chosen_axis == axis => {
                            i64::from(indices[n] as u32 as i32)
                        }
                        _ => n as i64,
                    };
                    let index = offsets[axis] + along;
                    let inside = (0..sizes[axis]).contains(&index);
                    let step = index.wrapping_mul(strides[axis]);
                    next.push(place.filter(|_| inside).map(|place| place + step));
                }
            }
            places = next;
        }
        if !array.checked && places.contains(&None) {
            return Err(format!(
                "a tile of shape {:?} at {offsets:?} of an array of shape {sizes:?}, without bounds check",
                tile.shape
            ));
        }
        let bindings = self.bindings;
        let memory = match space {
            Space::Value => bindings.buffers.get(buffer),
            Space::Gradient => bindings.gradients.get(buffer).and_then(Option::as_ref),
        };
        let elements = places.into_iter();
        let elements = elements.map(|place| place.and_then(|place| usize::try_from(place).ok()));
        Ok(Places {
            buffer,
            memory,
            elements: elements.collect(),
        })
    }

    fn note_places(
        &mut self,
        lane: usize,
        at: usize,
        places: &Places<'_>,
        space: Space,
        touch: Touch,
    ) {
        if self.watch.is_none() || places.buffer >= self.bindings.first_own {
            return;
        }
        for element in places.elements.iter().flatten() {
            self.note_place(lane, at, (places.buffer, 0, *element), space, touch);
        }
    }

    pub(super) fn tile_load(
        &mut self,
        lane: usize,
        at: usize,
        array: &TileArray,
        tile: &Tile,
    ) -> Stops {
        let places = self.places(lane, array, tile, Space::Value)?;
        self.note_places(lane, at, &places, Space::Value, Touch::Read);
        for leaf in 0..tile.scalars.len() {
            let column = places.memory.and_then(|memory| memory.columns.get(leaf));
            let values: Vec<u64> = (places.elements.iter())
                .map(|element| {
                    column
                        .zip(*element)
                        .and_then(|(c, e)| c.get(e))
                        .unwrap_or(0)
                })
                .collect();
            self.write_tile(lane, (tile, Space::Value), leaf, &values);
        }
        Ok(())
    }

    pub(super) fn tile_store(
        &mut self,
        lane: usize,
        at: usize,
        array: &TileArray,
        tile: &Tile,
    ) -> Stops {
        let places = self.places(lane, array, tile, Space::Value)?;
        let touch = Touch::Write { unchanged: false };
        self.note_places(lane, at, &places, Space::Value, touch);
        for leaf in 0..tile.scalars.len() {
            let values = self.read_tile(lane, (tile, Space::Value), leaf);
            let Some(column) = places.memory.and_then(|memory| memory.columns.get(leaf)) else {
                continue;
            };
            for (element, bits) in places.elements.iter().zip(values) {
                if let Some(element) = element {
                    column.set(*element, bits);
                }
            }
        }
        Ok(())
    }

    /// Adds a tile to an array and keeps what was there, with whether that is looked at; or a tile's gradients to
    /// the array's. Each number is added by itself, as an atomic operation does.
    pub(super) fn tile_add(
        &mut self,
        lane: usize,
        at: usize,
        array: &TileArray,
        tile: &Tile,
        old: Option<(&Tile, bool)>,
    ) -> Stops {
        let space = match old {
            Some(_) => Space::Value,
            None => Space::Gradient,
        };
        let places = self.places(lane, array, tile, space)?;
        let observed = old.is_some_and(|(_, observed)| observed);
        self.note_places(lane, at, &places, space, Touch::Update { observed });
        for (leaf, ty) in tile.scalars.iter().enumerate() {
            let values = self.read_tile(lane, (tile, space), leaf);
            let mut before = vec![0; values.len()];
            let column = places.memory.and_then(|memory| memory.columns.get(leaf));
            for (n, (element, bits)) in places.elements.iter().zip(&values).enumerate() {
                if let (Some(column), Some(element)) = (column, element) {
                    // Warp leaves a field of a struct as it is that has no atomic sum.
                    before[n] = column.update(*element, |old| match ty.adds_atomically() {
                        true => updated(ADD, *ty, old, *bits),
                        false => old,
                    });
                }
            }
            if let Some((old, _)) = old {
                self.write_tile(lane, (old, Space::Value), leaf, &before);
            }
        }
        Ok(())
    }

    /// The tile's gradients receive the array's.
    pub(super) fn tile_take(
        &mut self,
        lane: usize,
        at: usize,
        array: &TileArray,
        tile: &Tile,
        zeroes: bool,
    ) -> Stops {
        let places = self.places(lane, array, tile, Space::Gradient)?;
        let touch = match zeroes {
            true => Touch::Write { unchanged: false },
            false => Touch::Read,
        };
        self.note_places(lane, at, &places, Space::Gradient, touch);
        for leaf in 0..tile.scalars.len() {
            let Some(column) = places.memory.and_then(|memory| memory.columns.get(leaf)) else {
                continue;
            };
            let take = |element: &Option<usize>| match (*element, zeroes) {
                (Some(element), true) => column.update(element, |_| 0),
                (Some(element), false) => column.get(element).unwrap_or(0),
                (None, _) => 0,
            };
            let taken: Vec<u64> = places.elements.iter().map(take).collect();
            self.add_to_tile(lane, (tile, Space::Gradient), leaf, &taken);
        }
        Ok(())
    }

    /// The cells of a view.
    pub(super) fn tile_view(
        &mut self,
        lane: usize,
        origin: &[Cell],
        view: &Tile,
        tile: &Tile,
    ) -> Stops {
        let mut first = self.registers.row::<i32>(tile.cells.at(1))[lane] as isize;
        for (axis, cell) in origin.iter().enumerate() {
            let index = self.registers.row::<i32>(*cell)[lane] as isize;
            let (size, stride) = (tile.shape[axis] as isize, tile.strides[axis]);
            // A view of as many dimensions goes on from there; else the index picks one.
            let last = match view.shape.len() == tile.shape.len() && stride != 0 {
                true => index + (view.shape[axis] as isize - 1) * (view.strides[axis] / stride),
                false => index,
            };
            if !(0..size).contains(&index) || !(0..size).contains(&last) {
                return Err(format!("a view from {index} to {last} of {size} elements"));
            }
            first += index * stride;
        }
        let buffer = self.registers.row::<i32>(tile.cells)[lane];
        self.registers.row_mut::<i32>(view.cells)[lane] = buffer;
        self.registers.row_mut::<i32>(view.cells.at(1))[lane] = first as i32;
        Ok(())
    }

    /// The part of a tile that another is copied into.
    fn part(&self, lane: usize, offsets: &[Cell], to: &Tile, from: &Tile) -> Result<isize, String> {
        let mut start = 0;
        for (axis, cell) in offsets.iter().enumerate() {
            let index = self.registers.row::<i32>(*cell)[lane] as isize;
            let (size, length) = (to.shape[axis] as isize, from.shape[axis] as isize);
            if index < 0 || index + length > size {
                return Err(format!("{length} elements from {index} of {size}"));
            }
            start += index * to.strides[axis];
        }
        Ok(start)
    }

    /// A tile with the strides of one and the shape of the other.
    fn shaped(to: &Tile, from: &Tile) -> Tile {
        Tile {
            shape: from.shape.clone(),
            ..to.clone()
        }
    }

    fn shifted_first(&mut self, lane: usize, tile: &Tile, by: isize) {
        let first = &mut self.registers.row_mut::<i32>(tile.cells.at(1))[lane];
        *first = (*first as isize + by) as i32;
    }

    pub(super) fn tile_copy(
        &mut self,
        lane: usize,
        offsets: &[Cell],
        to: &Tile,
        from: &Tile,
    ) -> Stops {
        let start = self.part(lane, offsets, to, from)?;
        let part = Self::shaped(to, from);
        for leaf in 0..from.scalars.len() {
            let mut values = self.read_tile(lane, (from, Space::Value), leaf);
            converted(&mut values, from.scalars[leaf], to.scalars[leaf]);
            self.shifted_first(lane, &part, start);
            self.write_tile(lane, (&part, Space::Value), leaf, &values);
            self.shifted_first(lane, &part, -start);
        }
        Ok(())
    }

    pub(super) fn tile_take_copied(
        &mut self,
        lane: usize,
        offsets: &[Cell],
        to: &Tile,
        from: &Tile,
    ) -> Stops {
        let start = self.part(lane, offsets, to, from)?;
        let part = Self::shaped(to, from);
        for (leaf, ty) in from.scalars.iter().enumerate() {
            if !ty.is_float() {
                continue;
            }
            self.shifted_first(lane, &part, start);
            let mut taken = self.read_tile(lane, (&part, Space::Gradient), leaf);
            let zeroes = vec![0; taken.len()];
            self.write_tile(lane, (&part, Space::Gradient), leaf, &zeroes);
            self.shifted_first(lane, &part, -start);
            converted(&mut taken, to.scalars[leaf], from.scalars[leaf]);
            self.add_to_tile(lane, (from, Space::Gradient), leaf, &taken);
        }
        Ok(())
    }
}

/// Rounds floats of one type to another; the plan lets no other types through.
fn converted(values: &mut [u64], from: Scalar, to: Scalar) {
    if from != to {
        for value in values {
            *value = float_bits(to, number(from, *value));
        }
    }
}
