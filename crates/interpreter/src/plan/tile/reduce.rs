//! Sums, extremes, scans and reductions: elements one after the other.

use super::super::builder::{Builder, LaidOut, Planned};
use super::super::call::Operand;
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use super::map::{Application, Mapped};
use crate::instruction::{Binary, Space};
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::{Scalar, Type};

/// A tile as lines along one axis: for each, its first element's number, and the step from one to the next.
struct Lines {
    count: usize,
    length: usize,
    /// Elements from one to the next along the axis, which is also how many lines lie side by side.
    step: usize,
}

impl Lines {
    fn along(tile: &Tile, axis: usize) -> Self {
        Self {
            count: tile.count() / tile.shape[axis],
            length: tile.shape[axis],
            step: tile.shape[axis + 1..].iter().product(),
        }
    }

    /// One line through all.
    fn all(tile: &Tile) -> Self {
        Self {
            count: 1,
            length: tile.count(),
            step: 1,
        }
    }
}

impl<'m> Builder<'m> {
    /// The number of an element: of a line, and of the line's.
    fn line_element(&mut self, lines: &Lines, line: Cell, at: Cell) -> Cell {
        let ints = Scalar::I32;
        if lines.count == 1 {
            return at;
        }
        let (step, span) = (
            self.integer(lines.step as i64),
            self.integer((lines.step * lines.length) as i64),
        );
        let outer = self.binary(Binary::Div, ints, line, step);
        let inner = self.binary(Binary::Mod, ints, line, step);
        let start = self.binary(Binary::Mul, ints, outer, span);
        let along = self.binary(Binary::Mul, ints, at, step);
        let first = self.binary(Binary::Add, ints, start, inner);
        self.binary(Binary::Add, ints, first, along)
    }

    fn element_operand(&mut self, tile: &Tile, ty: Type, number: Cell) -> Operand {
        let at = self.tile_place(tile, number);
        Operand {
            ty,
            scalar: tile.scalars[0],
            first: self.load_element(tile, at, Space::Value),
            len: tile.scalars.len(),
        }
    }

    /// Combines the elements of each line, from the first on.
    fn combine_lines(
        &mut self,
        mapped: Mapped<'m>,
        (tile, ty): (&Tile, Type),
        lines: &Lines,
        out: &Tile,
    ) -> Planned<()> {
        let total = self.cells_for(tile.scalars.len());
        self.each(0, lines.count, |this, line| {
            let zero = this.integer(0);
            let number = this.line_element(lines, line, zero);
            let first = this.element_operand(tile, ty, number);
            for (n, ty) in tile.scalars.iter().enumerate() {
                this.copy(*ty, total.at(n), first.first.at(n));
            }
            if lines.length > 1 {
                this.each(1, lines.length, |this, at| {
                    let number = this.line_element(lines, line, at);
                    let element = this.element_operand(tile, ty, number);
                    let before = Operand {
                        first: total,
                        ..element
                    };
                    let results = this.apply(&Application {
                        mapped,
                        args: vec![before, element],
                        out: (ty, tile.scalars.clone()),
                    })?;
                    for (n, ty) in tile.scalars.iter().enumerate() {
                        this.copy(*ty, total.at(n), results[n]);
                    }
                    Ok(())
                })?;
            }
            let to = this.tile_place(out, line);
            let cells: Vec<Cell> = (0..tile.scalars.len()).map(|n| total.at(n)).collect();
            this.store_element(out, to, &cells);
            Ok(())
        })
    }

    /// The axis that a template argument or a constant argument names.
    fn axis_of(&self, frame: &Frame<'m>, statement: &Statement<'m>) -> Planned<usize> {
        let named = statement
            .template
            .first()
            .and_then(|word| word.parse().ok());
        let given = statement
            .args
            .get(2)
            .and_then(|arg| arg.var())
            .and_then(|var| frame.constant_int(var))
            .and_then(|axis| usize::try_from(axis).ok());
        match named.or(given) {
            Some(axis) => Ok(axis),
            None => self.unknown(format!("the axis of `{}`", statement.name)),
        }
    }

    /// Lays out a reduction; false if the statement is none.
    pub(super) fn tile_reduce(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let name = statement.name;
        let args = statement.args.as_slice();
        let (mapped, source) = match (name, args) {
            ("tile_sum" | "tile_sum_axis", [source]) => (Mapped::Builtin("add"), source),
            ("tile_min", [source]) => (Mapped::Builtin("min"), source),
            ("tile_max", [source]) => (Mapped::Builtin("max"), source),
            ("tile_reduce" | "tile_reduce_axis", [Arg::Word(word), source, ..]) => {
                (self.mapped(word)?, source)
            }
            ("tile_argmin" | "tile_argmax", [source]) => {
                let tile = self.needed_tile(frame, name, Some(source))?;
                let out = self.out_tile(frame, statement)?;
                let op = match name {
                    "tile_argmin" => Comparison::Less,
                    _ => Comparison::Greater,
                };
                self.extreme_at(&tile, op, &out)?;
                return Ok(true);
            }
            ("tile_dot", [a, b]) => {
                let a = self.needed_tile(frame, name, Some(a))?;
                let b = self.needed_tile(frame, name, Some(b))?;
                let out = self.out_tile(frame, statement)?;
                self.dot_of_tiles(&a, &b, &out)?;
                return Ok(true);
            }
            (
                "tile_scan_inclusive"
                | "tile_scan_exclusive"
                | "tile_scan_max_inclusive"
                | "tile_scan_min_inclusive",
                [source],
            ) => {
                let tile = self.needed_tile(frame, name, Some(source))?;
                let out = self.out_tile(frame, statement)?;
                self.scan(&tile, name, &out)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let tile = self.needed_tile(frame, name, Some(source))?;
        let ty = match source {
            Arg::Var(var) => self.element_type(frame, *var),
            Arg::Word(_) => Type::Str,
        };
        let out = self.out_tile(frame, statement)?;
        let lines = match name.ends_with("_axis") {
            true => {
                let axis = self.axis_of(frame, statement)?;
                if axis >= tile.shape.len() {
                    return self.unknown(format!("the axis of `{name}`"));
                }
                Lines::along(&tile, axis)
            }
            false => Lines::all(&tile),
        };
        self.combine_lines(mapped, (&tile, ty), &lines, &out)?;
        Ok(true)
    }

    /// The number of the first least or greatest element.
    fn extreme_at(&mut self, tile: &Tile, op: Comparison, out: &Tile) -> Planned<()> {
        let ty = tile.scalars[0];
        let (best, place) = (self.cells_for(1), self.cells_for(1));
        let zero = self.integer(0);
        let at = self.tile_place(tile, zero);
        let first = self.load_element(tile, at, Space::Value);
        self.copy(ty, best, first);
        self.copy(Scalar::I32, place, zero);
        if tile.count() > 1 {
            self.each(1, tile.count(), |this, number| {
                let at = this.tile_place(tile, number);
                let value = this.load_element(tile, at, Space::Value);
                let better = this.compare(op, ty, value, best);
                let chosen = this.select(ty, better, value, best);
                let where_to = this.select(Scalar::I32, better, number, place);
                this.copy(ty, best, chosen);
                this.copy(Scalar::I32, place, where_to);
                Ok(())
            })?;
        }
        let to = self.tile_place(out, zero);
        self.store_element(out, to, &[place]);
        Ok(())
    }

    fn dot_of_tiles(&mut self, a: &Tile, b: &Tile, out: &Tile) -> Planned<()> {
        let ty = out.scalars[0];
        let total = self.cells_for(1);
        let nothing = self.bits(ty, 0);
        self.copy(ty, total, nothing);
        self.each(0, a.count(), |this, number| {
            let (at, bt) = (this.tile_place(a, number), this.tile_place(b, number));
            let x = this.load_element(a, at, Space::Value);
            let y = this.load_element(b, bt, Space::Value);
            let mut sum: Option<Cell> = None;
            for n in 0..a.scalars.len() {
                let product = this.binary(Binary::Mul, ty, x.at(n), y.at(n));
                sum = Some(match sum {
                    Some(before) => this.binary(Binary::Add, ty, before, product),
                    None => product,
                });
            }
            if let Some(sum) = sum {
                this.add_to(ty, total, sum);
            }
            Ok(())
        })?;
        let zero = self.integer(0);
        let to = self.tile_place(out, zero);
        self.store_element(out, to, &[total]);
        Ok(())
    }

    fn scan(&mut self, tile: &Tile, name: &str, out: &Tile) -> Planned<()> {
        let ty = tile.scalars[0];
        let op = match name {
            "tile_scan_max_inclusive" => Binary::Max,
            "tile_scan_min_inclusive" => Binary::Min,
            _ => Binary::Add,
        };
        let exclusive = name == "tile_scan_exclusive";
        let (total, zero) = (self.cells_for(1), self.integer(0));
        let nothing = self.bits(ty, 0);
        if op == Binary::Add {
            self.copy(ty, total, nothing);
        } else {
            let at = self.tile_place(tile, zero);
            let first = self.load_element(tile, at, Space::Value);
            self.copy(ty, total, first);
        }
        self.each(0, tile.count(), |this, number| {
            let at = this.tile_place(tile, number);
            let value = this.load_element(tile, at, Space::Value);
            let to = this.tile_place(out, number);
            if exclusive {
                this.store_element(out, to, &[total]);
            }
            let next = this.binary(op, ty, total, value);
            this.copy(ty, total, next);
            if !exclusive {
                this.store_element(out, to, &[total]);
            }
            Ok(())
        })
    }

    /// Lays out the adjoint of a reduction; false if the statement is none.
    pub(super) fn tile_reduce_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let name = statement.name;
        match (name, statement.args.as_slice()) {
            ("tile_sum" | "tile_sum_axis", [source]) => {
                let tile = self.needed_tile(frame, name, Some(source))?;
                let out = self.out_tile(frame, statement)?;
                let lines = match name {
                    "tile_sum_axis" => Lines::along(&tile, self.axis_of(frame, statement)?),
                    _ => Lines::all(&tile),
                };
                self.each(0, lines.count, |this, line| {
                    let from = this.tile_place(&out, line);
                    let gradient = this.load_element(&out, from, Space::Gradient);
                    let share: Vec<Cell> = (0..out.scalars.len()).map(|n| gradient.at(n)).collect();
                    this.each(0, lines.length, |this, at| {
                        let number = this.line_element(&lines, line, at);
                        let to = this.tile_place(&tile, number);
                        this.add_to_element(&tile, to, &share);
                        Ok(())
                    })
                })?;
                Ok(true)
            }
            ("tile_dot", [a, b]) => {
                let a = self.needed_tile(frame, name, Some(a))?;
                let b = self.needed_tile(frame, name, Some(b))?;
                let out = self.out_tile(frame, statement)?;
                let ty = out.scalars[0];
                let zero = self.integer(0);
                let from = self.tile_place(&out, zero);
                let seed = self.load_element(&out, from, Space::Gradient);
                self.each(0, a.count(), |this, number| {
                    let (at, bt) = (this.tile_place(&a, number), this.tile_place(&b, number));
                    let x = this.load_element(&a, at, Space::Value);
                    let y = this.load_element(&b, bt, Space::Value);
                    let times = |this: &mut Self, first: Cell| -> Vec<Cell> {
                        (0..a.scalars.len())
                            .map(|n| this.binary(Binary::Mul, ty, seed, first.at(n)))
                            .collect()
                    };
                    let (da, db) = (times(this, y), times(this, x));
                    this.add_to_element(&a, at, &da);
                    this.add_to_element(&b, bt, &db);
                    Ok(())
                })?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
