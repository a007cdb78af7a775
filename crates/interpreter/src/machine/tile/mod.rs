//! Whole tiles, one lane after the other.
//!
//! A lane that leaves an array stops there, unless the load or store leaves such elements out.

mod algebra;
mod fourier;
mod movement;
mod sort;

use super::control::Machine;
use super::lane_function::{bits as float_bits, number};
use super::memory_access::updated;
use crate::findings::Fault;
use crate::instruction::{Binary, Space, Update};
use crate::lanes::{Mask, each};
use crate::memory::Column;
use crate::tile::{Tile, TileKind, TileSpace};

/// Why a lane stops.
type Stops = Result<(), String>;

impl<'p> Machine<'p> {
    pub(super) fn tile(&mut self, mask: Mask, at: usize, entry: u32) {
        let program = self.program;
        let call = &program.tiles[entry as usize];
        for lane in each(mask) {
            if let Err(detail) = self.tile_of_lane(lane, at, &call.kind, &call.tiles) {
                self.stop(1 << lane, at, Fault::OutOfBounds, move |_, _| {
                    detail.clone()
                });
            }
        }
    }

    fn tile_of_lane(&mut self, lane: usize, at: usize, kind: &TileKind, tiles: &[Tile]) -> Stops {
        match (kind, tiles) {
            (TileKind::Load(array), [tile]) => self.tile_load(lane, at, array, tile),
            (TileKind::Store(array), [tile]) => self.tile_store(lane, at, array, tile),
            (TileKind::AtomicAdd { array, observed }, [tile, old]) => {
                self.tile_add(lane, at, array, tile, Some((old, *observed)))
            }
            (TileKind::AddGradient(array), [tile]) => self.tile_add(lane, at, array, tile, None),
            (TileKind::TakeGradient { array, zeroes }, [tile]) => {
                self.tile_take(lane, at, array, tile, *zeroes)
            }
            (TileKind::View(origin), [view, tile]) => self.tile_view(lane, origin, view, tile),
            (TileKind::Copy(offsets), [to, from]) => self.tile_copy(lane, offsets, to, from),
            (TileKind::TakeCopied(offsets), [to, from]) => {
                self.tile_take_copied(lane, offsets, to, from)
            }
            (TileKind::ZeroGradient, [tile]) => {
                let zeroes = vec![0; tile.count()];
                for leaf in 0..tile.scalars.len() {
                    self.write_tile(lane, (tile, Space::Gradient), leaf, &zeroes);
                }
                Ok(())
            }
            (TileKind::Product { alpha, beta }, [a, b, c]) => {
                let [alpha, beta] = [alpha, beta]
                    .map(|(ty, cell)| number(*ty, self.registers.bits(*cell, *ty, lane)));
                self.tile_product(lane, [a, b, c], alpha, beta);
                Ok(())
            }
            (
                TileKind::ProductAdjoint {
                    alpha,
                    beta,
                    scales,
                },
                [a, b, c],
            ) => {
                let [alpha, beta] = [alpha, beta]
                    .map(|(ty, cell)| number(*ty, self.registers.bits(*cell, *ty, lane)));
                self.tile_product_adjoint(lane, [a, b, c], alpha, scales.then_some(beta));
                Ok(())
            }
            (TileKind::Cholesky { upper }, [a, l]) => {
                self.tile_cholesky(lane, a, l, *upper);
                Ok(())
            }
            (TileKind::CholeskyAdjoint { upper }, [a, l]) => {
                self.tile_cholesky_adjoint(lane, a, l, *upper);
                Ok(())
            }
            (TileKind::LowerSolveAdjoint, [l, y, x]) => {
                self.tile_lower_solve_adjoint(lane, l, y, x);
                Ok(())
            }
            (TileKind::Solve(solve), [l, y, x]) => {
                self.tile_solve(lane, *solve, l, y, x);
                Ok(())
            }
            (TileKind::DiagonalAdd, [a, d, out]) => {
                self.tile_diagonal_add(lane, a, d, out);
                Ok(())
            }
            (TileKind::Fourier { inverse, gradients }, [tile]) => {
                let space = match gradients {
                    true => Space::Gradient,
                    false => Space::Value,
                };
                self.tile_fourier(lane, (tile, space), *inverse);
                Ok(())
            }
            (TileKind::Sort, [keys, values]) => {
                self.tile_sort(lane, keys, values);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A tile's column, and its first element.
    fn tile_column(
        &self,
        lane: usize,
        (tile, space): TileSpace<'_>,
        leaf: usize,
    ) -> Option<(&'p Column, isize)> {
        let bindings = self.bindings;
        let buffer = usize::try_from(self.registers.row::<i32>(tile.cells)[lane]).ok()?;
        let first = self.registers.row::<i32>(tile.cells.at(1))[lane];
        let memory = match space {
            Space::Value => bindings.buffers.get(buffer)?,
            Space::Gradient => bindings.gradients.get(buffer)?.as_ref()?,
        };
        Some((memory.columns.get(leaf)?, first as isize))
    }

    /// One scalar of every element, in the order of the last index.
    fn read_tile(&self, lane: usize, tile: TileSpace<'_>, leaf: usize) -> Vec<u64> {
        let Some((column, first)) = self.tile_column(lane, tile, leaf) else {
            return vec![0; tile.0.count()];
        };
        let get = |offset: isize| column.get(usize::try_from(first + offset).unwrap_or(usize::MAX));
        let offsets = tile.0.offsets().into_iter();
        offsets.map(|offset| get(offset).unwrap_or(0)).collect()
    }

    fn write_tile(&mut self, lane: usize, tile: TileSpace<'_>, leaf: usize, values: &[u64]) {
        let Some((column, first)) = self.tile_column(lane, tile, leaf) else {
            return;
        };
        for (offset, bits) in tile.0.offsets().into_iter().zip(values) {
            if let Ok(element) = usize::try_from(first + offset) {
                column.set(element, *bits);
            }
        }
    }

    /// Adds to the elements, one after the other: several of a view may be the same one.
    fn add_to_tile(&mut self, lane: usize, tile: TileSpace<'_>, leaf: usize, values: &[u64]) {
        let Some((column, first)) = self.tile_column(lane, tile, leaf) else {
            return;
        };
        let (add, ty) = (Update::Binary(Binary::Add), tile.0.scalars[leaf]);
        for (offset, bits) in tile.0.offsets().into_iter().zip(values) {
            if let Ok(element) = usize::try_from(first + offset) {
                column.update(element, |old| updated(add, ty, old, *bits));
            }
        }
    }

    fn add_numbers(&mut self, lane: usize, tile: TileSpace<'_>, numbers: &[f64]) {
        let ty = tile.0.scalars[0];
        let bits: Vec<u64> = numbers.iter().map(|n| float_bits(ty, *n)).collect();
        self.add_to_tile(lane, tile, 0, &bits);
    }

    /// The elements of a tile of floats.
    fn read_numbers(&self, lane: usize, tile: TileSpace<'_>) -> Vec<f64> {
        let ty = tile.0.scalars[0];
        let bits = self.read_tile(lane, tile, 0);
        bits.into_iter().map(|bits| number(ty, bits)).collect()
    }

    fn write_numbers(&mut self, lane: usize, tile: TileSpace<'_>, numbers: &[f64]) {
        let ty = tile.0.scalars[0];
        let bits: Vec<u64> = numbers.iter().map(|n| float_bits(ty, *n)).collect();
        self.write_tile(lane, tile, 0, &bits);
    }
}
