//! What is done with whole tiles: to and from arrays, views and copies, matrices, transforms, sorts.

use super::super::array_call::is_used;
use super::super::builder::{Builder, LaidOut, Planned};
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::tile::{Solve, Tile, TileArray, TileKind};
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Call, VarId};

impl<'m> Builder<'m> {
    fn index_cells(&mut self, frame: &Frame<'m>, args: &[Arg<'m>]) -> Planned<Vec<Cell>> {
        let mut cells = Vec::with_capacity(args.len());
        for arg in args {
            let var = self.needed_var("tile_load", Some(arg))?;
            cells.push(self.index_of(frame, var)?);
        }
        Ok(cells)
    }

    /// The array of a statement, and the tile that it has beside it.
    fn tile_array(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> Planned<Option<(TileArray, Tile)>> {
        let name = statement.name;
        let args = statement.args.as_slice();
        let (array, offsets, tile, indices) = match (name, args) {
            ("tile_load", [array, offsets @ ..]) => {
                (array, offsets, self.out_tile(frame, statement)?, None)
            }
            ("tile_store" | "tile_atomic_add", [array, offsets @ .., tile]) => (
                array,
                offsets,
                self.needed_tile(frame, name, Some(tile))?,
                None,
            ),
            ("tile_load_indexed", [array, indices, axis, offsets @ ..]) => {
                let tile = self.out_tile(frame, statement)?;
                (array, offsets, tile, Some((indices, axis)))
            }
            (
                "tile_store_indexed" | "tile_atomic_add_indexed",
                [array, indices, axis, offsets @ .., tile],
            ) => {
                let tile = self.needed_tile(frame, name, Some(tile))?;
                (array, offsets, tile, Some((indices, axis)))
            }
            _ => return Ok(None),
        };
        let indices = match indices {
            None => None,
            Some((indices, axis)) => {
                let tile = self.needed_tile(frame, name, Some(indices))?;
                let axis = axis.var().and_then(|var| frame.constant_int(var));
                match axis.and_then(|axis| usize::try_from(axis).ok()) {
                    Some(axis) => Some((tile, axis)),
                    None => return self.unknown(format!("the axis of `{name}`")),
                }
            }
        };
        let var = self.needed_var(name, Some(array))?;
        if !matches!(frame.kind(self, var), Type::Array { .. }) {
            return self.unknown(format!("`{name}` of an array that is not a plain one"));
        }
        let array = TileArray {
            cells: self.array_cells(frame, var)?,
            offsets: self.index_cells(frame, offsets)?,
            // The second template argument; what has none is checked.
            checked: statement.template.get(1) != Some(&"false"),
            indices,
        };
        Ok(Some((array, tile)))
    }

    /// Lays out a statement on whole tiles; false if it is none.
    pub(super) fn tile_whole(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let name = statement.name;
        if let Some((array, tile)) = self.tile_array(frame, statement)? {
            let mut tiles = vec![tile];
            let kind = match name {
                "tile_load" | "tile_load_indexed" => TileKind::Load(array),
                "tile_store" | "tile_store_indexed" => TileKind::Store(array),
                _ => {
                    tiles.push(self.out_tile(frame, statement)?);
                    let observed = statement
                        .out
                        .is_some_and(|out| is_used(frame.function, out));
                    TileKind::AtomicAdd { array, observed }
                }
            };
            self.tile_call(kind, tiles);
            return Ok(true);
        }
        let args = statement.args.as_slice();
        let (kind, tiles) = match (name, args) {
            ("tile_transpose" | "tile_reshape" | "tile_squeeze" | "tile_broadcast", [source]) => {
                let var = self.needed_var(name, Some(source))?;
                let Some(out) = statement.out else {
                    return Ok(true);
                };
                for n in 0..2 {
                    let dst = frame.cell(out).at(n);
                    self.copy(Scalar::I32, dst, frame.cell(var).at(n));
                }
                return Ok(true);
            }
            ("tile_view", [source, origin @ ..]) => {
                let tiles = vec![
                    self.out_tile(frame, statement)?,
                    self.needed_tile(frame, name, Some(source))?,
                ];
                (TileKind::View(self.index_cells(frame, origin)?), tiles)
            }
            ("tile_assign", [to, from, offsets @ ..]) => {
                let tiles = self.copied(frame, to, from)?;
                (TileKind::Copy(self.index_cells(frame, offsets)?), tiles)
            }
            ("tile_matmul" | "tile_matmul_acc", [_, _, _, a, b, c, alpha, beta]) => {
                let tiles = self.three(frame, name, [a, b, c])?;
                let (alpha, beta) = (
                    self.factor(frame, name, alpha)?,
                    self.factor(frame, name, beta)?,
                );
                (TileKind::Product { alpha, beta }, tiles)
            }
            ("tile_fft" | "tile_ifft", [.., tile]) => {
                let tile = self.needed_tile(frame, name, Some(tile))?;
                let inverse = name == "tile_ifft";
                let gradients = false;
                (TileKind::Fourier { inverse, gradients }, vec![tile])
            }
            ("tile_cholesky", [.., a, l]) => {
                let upper = statement.template.first() == Some(&"true");
                (TileKind::Cholesky { upper }, self.two(frame, name, a, l)?)
            }
            ("tile_cholesky_inplace", [_, a]) => {
                let upper = statement.template.first() == Some(&"true");
                (TileKind::Cholesky { upper }, self.two(frame, name, a, a)?)
            }
            ("tile_diag_add", [a, d, out]) => {
                (TileKind::DiagonalAdd, self.three(frame, name, [a, d, out])?)
            }
            ("tile_sort", [keys, values]) => (TileKind::Sort, self.two(frame, name, keys, values)?),
            _ => match (solve_of(statement), args) {
                (Some(solve), [.., l, y]) if name.ends_with("_inplace") => {
                    (TileKind::Solve(solve), self.three(frame, name, [l, y, y])?)
                }
                (Some(solve), [.., l, y, x]) => {
                    (TileKind::Solve(solve), self.three(frame, name, [l, y, x])?)
                }
                _ => return Ok(false),
            },
        };
        self.tile_call(kind, tiles);
        Ok(true)
    }

    /// Two tiles of which one is copied into the other: of the same elements, or of floats.
    fn copied(&mut self, frame: &Frame<'m>, to: &Arg<'m>, from: &Arg<'m>) -> Planned<Vec<Tile>> {
        let tiles = self.two(frame, "tile_assign", to, from)?;
        let (a, b) = (&tiles[0].scalars, &tiles[1].scalars);
        let floats = |(a, b): (&Scalar, &Scalar)| a == b || a.is_float() && b.is_float();
        if a.len() != b.len() || !a.iter().zip(b).all(floats) {
            return self.unknown("`wp.tile_assign` of a tile of other elements");
        }
        Ok(tiles)
    }

    fn two(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        a: &Arg<'m>,
        b: &Arg<'m>,
    ) -> Planned<Vec<Tile>> {
        let a = self.needed_tile(frame, name, Some(a))?;
        Ok(vec![a, self.needed_tile(frame, name, Some(b))?])
    }

    fn three(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        [a, b, c]: [&Arg<'m>; 3],
    ) -> Planned<Vec<Tile>> {
        let mut tiles = self.two(frame, name, a, b)?;
        tiles.push(self.needed_tile(frame, name, Some(c))?);
        Ok(tiles)
    }

    fn factor(&mut self, frame: &Frame<'m>, name: &str, arg: &Arg<'m>) -> Planned<(Scalar, Cell)> {
        let var = self.needed_var(name, Some(arg))?;
        let operand = self.operand(frame, var);
        Ok((operand.scalar, operand.first))
    }

    /// The tiles among a call's results that have memory in the caller.
    pub(in crate::plan) fn result_tiles(
        &mut self,
        frame: &Frame<'m>,
        outs: &[VarId],
    ) -> Vec<Option<Tile>> {
        let tiles = outs.iter().map(|out| self.tile(frame, *out));
        tiles.map(|tile| tile.filter(|tile| tile.owner)).collect()
    }

    /// Copies a tile to the result that it is; false where it is none, or a view.
    pub(in crate::plan) fn give_back_tile(
        &mut self,
        frame: &Frame<'m>,
        result: usize,
        value: VarId,
    ) -> bool {
        self.tile_result(frame, result, value, TileKind::Copy(Vec::new()))
    }

    /// Takes the gradients of a result back to the tile that was copied there.
    pub(in crate::plan) fn take_back_tile(
        &mut self,
        frame: &Frame<'m>,
        result: usize,
        value: VarId,
    ) -> bool {
        self.tile_result(frame, result, value, TileKind::TakeCopied(Vec::new()))
    }

    fn tile_result(
        &mut self,
        frame: &Frame<'m>,
        result: usize,
        value: VarId,
        kind: TileKind,
    ) -> bool {
        let to = frame.result_tiles.get(result).cloned().flatten();
        let (Some(to), Some(from)) = (to, self.tile(frame, value)) else {
            return false;
        };
        if to.shape != from.shape || to.scalars != from.scalars {
            return false;
        }
        self.tile_call(kind, vec![to, from]);
        true
    }

    /// Lays out a tile that is a copy of another, or of one of two, or the adjoint of that; false if it is
    /// something else.
    pub(in crate::plan) fn tile_choice(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
        backward: bool,
    ) -> LaidOut {
        let pool = &frame.function.pool;
        let (args, outs) = (call.operands.args(pool), call.operands.outs(pool));
        let &[out] = outs else {
            return Ok(false);
        };
        if !self.tile(frame, out).is_some_and(|tile| tile.owner) {
            return Ok(false);
        }
        let copy = |builder: &mut Self, from: VarId| match backward {
            true => builder.assign_tile_adjoint(frame, out, from),
            false => builder.assign_tile(frame, out, from),
        };
        match (name, args) {
            ("copy", [from]) => copy(self, *from)?,
            ("where", [cond, a, b]) => {
                let cond = self.condition(frame, *cond)?;
                let kept = self.cells_for(1);
                self.copy(Scalar::Bool, kept, cond);
                for (from, negated) in [(*a, false), (*b, true)] {
                    let opened = self.code.len();
                    self.emit(Instruction::If {
                        cond: kept,
                        negated,
                        end: 0,
                        skips: true,
                    });
                    copy(self, from)?;
                    self.close_branch(Some(opened));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `a = b` of whole tiles.
    pub(in crate::plan) fn assign_tile(
        &mut self,
        frame: &Frame<'m>,
        to: VarId,
        from: VarId,
    ) -> Planned<()> {
        let tiles = self.copied(frame, &Arg::Var(to), &Arg::Var(from))?;
        if tiles[0].shape != tiles[1].shape {
            return self.unknown("an assignment of a tile of another shape");
        }
        self.tile_call(TileKind::Copy(Vec::new()), tiles);
        Ok(())
    }

    /// Its adjoint.
    pub(in crate::plan) fn assign_tile_adjoint(
        &mut self,
        frame: &Frame<'m>,
        to: VarId,
        from: VarId,
    ) -> Planned<()> {
        let tiles = self.copied(frame, &Arg::Var(to), &Arg::Var(from))?;
        self.tile_call(TileKind::TakeCopied(Vec::new()), tiles);
        Ok(())
    }

    /// Lays out the adjoint of a statement on whole tiles; false if it is none.
    pub(super) fn tile_whole_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let name = statement.name;
        if let Some((array, tile)) = self.tile_array(frame, statement)? {
            if !tile.scalars[0].is_float() {
                return Ok(true);
            }
            let kind = match name {
                "tile_load" | "tile_load_indexed" => TileKind::AddGradient(array),
                "tile_store" | "tile_store_indexed" => TileKind::TakeGradient {
                    array,
                    zeroes: true,
                },
                _ => TileKind::TakeGradient {
                    array,
                    zeroes: false,
                },
            };
            self.tile_call(kind, vec![tile]);
            return Ok(true);
        }
        let (kind, tiles) = match (name, statement.args.as_slice()) {
            // A view's gradients are those of what it shows.
            ("tile_transpose" | "tile_reshape" | "tile_squeeze" | "tile_broadcast", _) => {
                return Ok(true);
            }
            ("tile_assign", [to, from, offsets @ ..]) => {
                let tiles = self.copied(frame, to, from)?;
                (
                    TileKind::TakeCopied(self.index_cells(frame, offsets)?),
                    tiles,
                )
            }
            ("tile_matmul" | "tile_matmul_acc", [_, _, _, a, b, c, alpha, beta]) => {
                let tiles = self.three(frame, name, [a, b, c])?;
                let (alpha, beta) = (
                    self.factor(frame, name, alpha)?,
                    self.factor(frame, name, beta)?,
                );
                let scales = name == "tile_matmul_acc";
                let kind = TileKind::ProductAdjoint {
                    alpha,
                    beta,
                    scales,
                };
                (kind, tiles)
            }
            ("tile_fft" | "tile_ifft", [.., tile]) => {
                let tile = self.needed_tile(frame, name, Some(tile))?;
                // The adjoint of a transform without a factor is the other one.
                let inverse = name == "tile_fft";
                let gradients = true;
                (TileKind::Fourier { inverse, gradients }, vec![tile])
            }
            ("tile_cholesky", [.., a, l]) => {
                let upper = statement.template.first() == Some(&"true");
                (
                    TileKind::CholeskyAdjoint { upper },
                    self.two(frame, name, a, l)?,
                )
            }
            ("tile_lower_solve", [.., l, y, x]) => (
                TileKind::LowerSolveAdjoint,
                self.three(frame, name, [l, y, x])?,
            ),
            _ => return Ok(false),
        };
        self.tile_call(kind, tiles);
        Ok(true)
    }
}

/// The equation that a statement solves.
fn solve_of(statement: &Statement<'_>) -> Option<Solve> {
    let upper = statement.template.first() == Some(&"true");
    match statement.name.trim_end_matches("_inplace") {
        "tile_lower_solve" => Some(Solve::Lower),
        "tile_upper_solve" => Some(Solve::Upper),
        "tile_cholesky_solve" => Some(Solve::Cholesky { upper }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Argument, ArrayArgument, Interpreter};
    use warpsmith_compiler::{Options, compile};

    fn gradients(source: &str, chosen: i64) -> [Vec<f32>; 2] {
        let source = format!("import warp as wp\n{source}");
        let module = compile(&source, &Options::default()).expect("the kernel compiles");
        let interpreter = Interpreter::adjoint(&module).expect("the kernel is planned");
        let array = |gradient: [f32; 4]| {
            let array = ArrayArgument::from_f32(&[1.0, 2.0, 3.0, 4.0]);
            Argument::Array(array.with_gradient_f32(&gradient))
        };
        let mut arguments = [
            array([0.0; 4]),
            array([0.0; 4]),
            array([1.0, 10.0, 100.0, 1000.0]),
            Argument::int(chosen),
        ];
        let outcome = interpreter.run(&[1], &mut arguments).expect("it runs");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        [0, 1].map(|n| match &arguments[n] {
            Argument::Array(array) => array.gradient_to_f32(),
            _ => Vec::new(),
        })
    }

    #[test]
    fn gradients_go_back_through_functions_that_return_tiles() {
        let source = "
@wp.func
def twice(t: wp.tile[float]) -> wp.tile[float]:
    return t + t

@wp.func
def same(t: wp.tile[float]) -> wp.tile[float]:
    return t

@wp.kernel
def k(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    a = twice(wp.tile_load(x, shape=4))
    b = same(wp.tile_load(z, shape=4))
    wp.tile_store(y, a + b)
";
        let [x, z] = gradients(source, 0);
        assert_eq!(x, [2.0, 20.0, 200.0, 2000.0]);
        assert_eq!(z, [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn gradients_go_back_to_the_tile_that_was_chosen() {
        let source = "
@wp.kernel
def k(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    t = wp.tile_load(x, shape=4)
    s = wp.tile_load(z, shape=4)
    if n == 0:
        t = s
    wp.tile_store(y, t)
";
        let all = vec![1.0, 10.0, 100.0, 1000.0];
        assert_eq!(gradients(source, 0), [vec![0.0; 4], all.clone()]);
        assert_eq!(gradients(source, 1), [all, vec![0.0; 4]]);
    }
}
