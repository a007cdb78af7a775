//! Tiles as matrices: the operations of the interpreter, in its order.

use super::super::emitter::{Emitted, Emitter, kind};
use super::super::opcode::Op;
use super::super::writer::{Id, Kind};
use super::Seen;
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{Binary, Space, Unary};
use warpsmith_interpreter::scalar_form::{Solve, TileKind};
use warpsmith_ir::types::Scalar;

/// Numbers in memory, by row and column. What has one dimension is a column.
#[derive(Clone, Copy)]
struct Matrix {
    base: Id,
    bytes: usize,
    ty: Scalar,
    strides: [isize; 2],
}

impl Matrix {
    fn transposed(self) -> Self {
        let [rows, cols] = self.strides;
        Self {
            strides: [cols, rows],
            ..self
        }
    }
}

/// The wider of the two precisions.
fn wider(a: Scalar, b: Scalar) -> Scalar {
    let rank = |ty: Scalar| match ty {
        Scalar::F64 => 2,
        Scalar::F32 => 1,
        _ => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

impl Emitter<'_> {
    pub(super) fn tile_algebra(
        &mut self,
        call: &TileKind,
        tiles: &[Seen<'_>],
        room: Option<Cell>,
    ) -> Emitted {
        if tiles.iter().any(|seen| !seen.tile.scalars[0].is_float()) {
            return self.refuse("matrices of whole numbers in tiles");
        }
        match (call, tiles) {
            (TileKind::Product { alpha, beta }, [a, b, c]) => {
                self.refuse_in_place(c, [a, b])?;
                let factors = [alpha, beta].map(|(ty, cell)| (*ty, self.get(*cell, *ty)));
                self.while_alive(|e| e.tile_product([a, b, c], factors))
            }
            (
                TileKind::ProductAdjoint {
                    alpha,
                    beta,
                    scales,
                },
                [a, b, c],
            ) => {
                self.refuse_in_place(c, [a, b])?;
                let factors = [alpha, beta].map(|(ty, cell)| (*ty, self.get(*cell, *ty)));
                self.while_alive(|e| e.tile_product_adjoint([a, b, c], factors, *scales))
            }
            (TileKind::Cholesky { upper }, [a, l]) => {
                self.while_alive(|e| e.tile_cholesky(a, l, *upper))
            }
            (TileKind::CholeskyAdjoint { upper }, [a, l]) => {
                let room = self.room(room)?;
                self.while_alive(|e| e.tile_cholesky_adjoint(a, l, *upper, room))
            }
            (TileKind::Solve(solve), [l, y, x]) => {
                self.while_alive(|e| e.tile_solve(*solve, l, y, x))
            }
            (TileKind::LowerSolveAdjoint, [l, y, x]) => {
                let room = self.room(room)?;
                self.while_alive(|e| e.tile_lower_solve_adjoint(l, y, x, room))
            }
            (TileKind::DiagonalAdd, [a, d, out]) => {
                self.while_alive(|e| e.tile_diagonal_add(a, d, out))
            }
            _ => self.refuse("this operation on tiles"),
        }
    }

    /// The interpreter reads both factors before it writes.
    fn refuse_in_place(&self, result: &Seen<'_>, factors: [&Seen<'_>; 2]) -> Emitted {
        let same = |factor: &&Seen<'_>| factor.tile.cells == result.tile.cells;
        match factors.iter().any(same) {
            true => self.refuse("a product of tiles into one of its factors"),
            false => Ok(()),
        }
    }

    fn matrix(&mut self, seen: &Seen<'_>, space: Space) -> Matrix {
        let ground = self.ground(seen, space);
        let strides = &seen.tile.strides;
        Matrix {
            base: ground.base,
            bytes: seen.layout.bytes,
            ty: seen.tile.scalars[0],
            strides: [strides[0], strides.get(1).copied().unwrap_or(0)],
        }
    }

    /// Doubles of the thread's own, row after row.
    fn room_matrix(&mut self, (buffer, first): (Id, Id), cols: usize) -> Matrix {
        let base = self.buffer_address(buffer, 0);
        Matrix {
            base: self.address_of(base, first, 8),
            bytes: 8,
            ty: Scalar::F64,
            strides: [cols as isize, 1],
        }
    }

    fn entry(&mut self, m: &Matrix, i: Id, j: Id) -> Id {
        let offset = self.offset(&m.strides, &[i, j]);
        self.address_of(m.base, offset, m.bytes)
    }

    /// An entry in the precision of `ty`.
    fn get_entry(&mut self, m: &Matrix, i: Id, j: Id, ty: Scalar) -> Id {
        let address = self.entry(m, i, j);
        let value = self.load_from(m.ty, address);
        // A computation in 16 bits takes wider numbers as they are.
        let to = if kind(ty) == kind(m.ty) { m.ty } else { ty };
        self.as_float(m.ty, to, value)
    }

    fn set_entry(&mut self, m: &Matrix, i: Id, j: Id, ty: Scalar, value: Id) {
        let address = self.entry(m, i, j);
        let value = self.as_float(ty, m.ty, value);
        self.store_to(m.ty, address, value);
    }

    fn add_entry(&mut self, m: &Matrix, i: Id, j: Id, ty: Scalar, value: Id) -> Emitted {
        let address = self.entry(m, i, j);
        let old = self.load_from(m.ty, address);
        let value = self.as_float(ty, m.ty, value);
        let sum = self.binary(Binary::Add, m.ty, old, value)?;
        self.store_to(m.ty, address, sum);
        Ok(())
    }

    /// A variable to which products are added, or from which they are taken.
    fn accumulate(
        &mut self,
        ty: Scalar,
        start: Id,
        op: Binary,
        count: Id,
        factors: impl FnOnce(&mut Self, Id) -> [Id; 2],
    ) -> Emitted<Id> {
        let sum = self.w.variable(kind(ty));
        self.w.act(Op::Store, &[sum, start]);
        self.each(count, |e, k| {
            let [a, b] = factors(e, k);
            let term = e.binary(Binary::Mul, ty, a, b)?;
            let before = e.w.value(Op::Load, kind(ty), &[sum]);
            let after = e.binary(op, ty, before, term)?;
            e.w.act(Op::Store, &[sum, after]);
            Ok(())
        })?;
        Ok(self.w.value(Op::Load, kind(ty), &[sum]))
    }

    /// Each entry of a product in the precision of `ty`, by multiply-adds that round once where it has them.
    fn each_product(
        &mut self,
        ty: Scalar,
        a: &Matrix,
        b: &Matrix,
        [rows, terms, cols]: [usize; 3],
        done: impl FnOnce(&mut Self, Id, Id, Id) -> Emitted,
    ) -> Emitted {
        self.each_below(rows, |e, i| {
            e.each_below(cols, |e, j| {
                let zero = e.w.constant(kind(ty), 0);
                let count = e.w.u32(terms as u32);
                let sum = e.w.variable(kind(ty));
                e.w.act(Op::Store, &[sum, zero]);
                e.each(count, |e, k| {
                    let (x, y) = (e.get_entry(a, i, k, ty), e.get_entry(b, k, j, ty));
                    let before = e.w.value(Op::Load, kind(ty), &[sum]);
                    let after = match ty {
                        Scalar::F32 | Scalar::F64 => e.fused(kind(ty), [x, y, before]),
                        _ => {
                            let term = e.binary(Binary::Mul, ty, x, y)?;
                            e.binary(Binary::Add, ty, before, term)?
                        }
                    };
                    e.w.act(Op::Store, &[sum, after]);
                    Ok(())
                })?;
                let sum = e.w.value(Op::Load, kind(ty), &[sum]);
                done(e, i, j, sum)
            })
        })
    }

    fn tile_product(&mut self, [a, b, c]: [&Seen<'_>; 3], factors: [(Scalar, Id); 2]) -> Emitted {
        let sizes = [a.tile.shape[0], a.tile.shape[1], b.tile.shape[1]];
        let ty = c.tile.scalars[0];
        let [a, b, c] = [a, b, c].map(|seen| self.matrix(seen, Space::Value));
        let [alpha, beta] = factors.map(|(from, value)| self.as_float(from, ty, value));
        let zero = self.w.constant(kind(ty), 0);
        let alone = self.w.value(Op::FOrdEqual, Kind::Bool, &[beta, zero]);
        self.each_product(ty, &a, &b, sizes, |e, i, j, sum| {
            let scaled = e.binary(Binary::Mul, ty, alpha, sum)?;
            let before = e.get_entry(&c, i, j, ty);
            let kept = e.binary(Binary::Mul, ty, beta, before)?;
            let both = e.binary(Binary::Add, ty, scaled, kept)?;
            let result = e.select(kind(ty), alone, scaled, both);
            e.set_entry(&c, i, j, ty, result);
            Ok(())
        })
    }

    fn tile_product_adjoint(
        &mut self,
        [a, b, c]: [&Seen<'_>; 3],
        factors: [(Scalar, Id); 2],
        scales: bool,
    ) -> Emitted {
        let [rows, terms, cols] = [a.tile.shape[0], a.tile.shape[1], b.tile.shape[1]];
        let [x, y] = [a, b].map(|seen| self.matrix(seen, Space::Value));
        let [da, db, g] = [a, b, c].map(|seen| self.matrix(seen, Space::Gradient));
        let [(alpha_type, alpha), (beta_type, beta)] = factors;
        let shares = [
            (g, y.transposed(), da, [rows, cols, terms]),
            (x.transposed(), g, db, [terms, rows, cols]),
        ];
        for (first, second, target, sizes) in shares {
            let ty = wider(target.ty, g.ty);
            let alpha = self.as_float(alpha_type, ty, alpha);
            self.each_product(ty, &first, &second, sizes, |e, i, j, sum| {
                let share = e.binary(Binary::Mul, ty, sum, alpha)?;
                e.add_entry(&target, i, j, ty, share)
            })?;
        }
        if !scales {
            return Ok(());
        }
        let beta = self.as_float(beta_type, g.ty, beta);
        self.each_below(rows, |e, i| {
            e.each_below(cols, |e, j| {
                let old = e.get_entry(&g, i, j, g.ty);
                let new = e.binary(Binary::Mul, g.ty, beta, old)?;
                e.set_entry(&g, i, j, g.ty, new);
                Ok(())
            })
        })
    }

    /// The factor of a symmetric matrix, of which one triangle is read; the other triangle is zero.
    fn tile_cholesky(&mut self, a: &Seen<'_>, l: &Seen<'_>, upper: bool) -> Emitted {
        let n = a.tile.shape[0];
        let ty = a.tile.scalars[0];
        let [mut a, mut l] = [a, l].map(|seen| self.matrix(seen, Space::Value));
        if upper {
            (a, l) = (a.transposed(), l.transposed());
        }
        self.each_below(n, |e, j| {
            let first = e.get_entry(&a, j, j, ty);
            let pivot = e.accumulate(ty, first, Binary::Sub, j, |e, k| {
                let r = e.get_entry(&l, j, k, ty);
                [r, r]
            })?;
            let pivot = e.unary(Unary::Sqrt, ty, pivot)?;
            e.set_entry(&l, j, j, ty, pivot);
            let (one, size) = (e.w.u32(1), e.w.u32(n as u32));
            let next = e.w.value(Op::IAdd, Kind::U32, &[j, one]);
            let below = e.w.value(Op::ISub, Kind::U32, &[size, next]);
            e.each(below, |e, i| {
                let i = e.w.value(Op::IAdd, Kind::U32, &[i, next]);
                let first = e.get_entry(&a, i, j, ty);
                let sum = e.accumulate(ty, first, Binary::Sub, j, |e, k| {
                    [e.get_entry(&l, i, k, ty), e.get_entry(&l, j, k, ty)]
                })?;
                let value = e.binary(Binary::Div, ty, sum, pivot)?;
                e.set_entry(&l, i, j, ty, value);
                Ok(())
            })
        })?;
        let zero = self.w.constant(kind(ty), 0);
        self.each_below(n, |e, j| {
            e.each(j, |e, i| {
                e.set_entry(&l, i, j, ty, zero);
                Ok(())
            })
        })
    }

    /// Solves with a lower triangle, in place.
    fn forwards(&mut self, ty: Scalar, l: &Matrix, x: &Matrix, [n, cols]: [usize; 2]) -> Emitted {
        self.each_below(cols, |e, c| {
            e.each_below(n, |e, i| {
                let first = e.get_entry(x, i, c, ty);
                let sum = e.accumulate(ty, first, Binary::Sub, i, |e, j| {
                    [e.get_entry(l, i, j, ty), e.get_entry(x, j, c, ty)]
                })?;
                let pivot = e.get_entry(l, i, i, ty);
                let value = e.binary(Binary::Div, ty, sum, pivot)?;
                e.set_entry(x, i, c, ty, value);
                Ok(())
            })
        })
    }

    /// Solves with an upper triangle, in place.
    fn backwards(&mut self, ty: Scalar, u: &Matrix, x: &Matrix, [n, cols]: [usize; 2]) -> Emitted {
        self.each_below(cols, |e, c| {
            e.each_below(n, |e, done| {
                let (one, last) = (e.w.u32(1), e.w.u32(n as u32 - 1));
                let i = e.w.value(Op::ISub, Kind::U32, &[last, done]);
                let next = e.w.value(Op::IAdd, Kind::U32, &[i, one]);
                let first = e.get_entry(x, i, c, ty);
                let sum = e.accumulate(ty, first, Binary::Sub, done, |e, j| {
                    let j = e.w.value(Op::IAdd, Kind::U32, &[j, next]);
                    [e.get_entry(u, i, j, ty), e.get_entry(x, j, c, ty)]
                })?;
                let pivot = e.get_entry(u, i, i, ty);
                let value = e.binary(Binary::Div, ty, sum, pivot)?;
                e.set_entry(x, i, c, ty, value);
                Ok(())
            })
        })
    }

    fn tile_solve(&mut self, solve: Solve, l: &Seen<'_>, y: &Seen<'_>, x: &Seen<'_>) -> Emitted {
        let n = l.tile.shape[0];
        let cols = y.tile.shape.get(1).copied().unwrap_or(1);
        let ty = x.tile.scalars[0];
        let [l, y, x] = [l, y, x].map(|seen| self.matrix(seen, Space::Value));
        self.each_below(n, |e, i| {
            e.each_below(cols, |e, c| {
                let value = e.get_entry(&y, i, c, ty);
                e.set_entry(&x, i, c, ty, value);
                Ok(())
            })
        })?;
        let (other, sizes) = (l.transposed(), [n, cols]);
        match solve {
            Solve::Lower => self.forwards(ty, &l, &x, sizes),
            Solve::Upper => self.backwards(ty, &l, &x, sizes),
            Solve::Cholesky { upper } => {
                let (lower, upper) = if upper { (other, l) } else { (l, other) };
                self.forwards(ty, &lower, &x, sizes)?;
                self.backwards(ty, &upper, &x, sizes)
            }
        }
    }

    /// With A = L Lᵀ, A receives L⁻ᵀ Φ(Lᵀ dL) L⁻¹, where Φ takes the lower triangle and half of the diagonal.
    fn tile_cholesky_adjoint(
        &mut self,
        a: &Seen<'_>,
        l: &Seen<'_>,
        upper: bool,
        room: (Id, Id),
    ) -> Emitted {
        let n = a.tile.shape[0];
        let wide = Scalar::F64;
        let middle = self.room_matrix(room, n);
        let mut factor = self.matrix(l, Space::Value);
        let [mut given, mut target] = [l, a].map(|seen| self.matrix(seen, Space::Gradient));
        if upper {
            (factor, given, target) =
                (factor.transposed(), given.transposed(), target.transposed());
        }
        let other = factor.transposed();
        let (none, half) = (self.w.f64(0.0), self.w.f64(0.5));
        self.each_below(n, |e, i| {
            e.each_below(n, |e, j| {
                let count = e.w.u32(n as u32);
                let sum = e.accumulate(wide, none, Binary::Add, count, |e, k| {
                    let share = e.get_entry(&given, k, j, wide);
                    let above = e.w.value(Op::ULessThan, Kind::Bool, &[k, j]);
                    let share = e.select(Kind::F64, above, none, share);
                    [e.get_entry(&other, i, k, wide), share]
                })?;
                let halved = e.binary(Binary::Mul, wide, sum, half)?;
                let diagonal = e.w.value(Op::IEqual, Kind::Bool, &[i, j]);
                let above = e.w.value(Op::ULessThan, Kind::Bool, &[i, j]);
                let value = e.select(Kind::F64, diagonal, halved, sum);
                let value = e.select(Kind::F64, above, none, value);
                e.set_entry(&middle, i, j, wide, value);
                Ok(())
            })
        })?;
        // X = L⁻ᵀ M, then Y = X L⁻¹, which is (L⁻ᵀ Xᵀ)ᵀ.
        let turned = middle.transposed();
        self.backwards(wide, &other, &middle, [n, n])?;
        self.backwards(wide, &other, &turned, [n, n])?;
        self.each_below(n, |e, i| {
            let one = e.w.u32(1);
            let count = e.w.value(Op::IAdd, Kind::U32, &[i, one]);
            e.each(count, |e, j| {
                let here = e.get_entry(&turned, i, j, wide);
                let there = e.get_entry(&turned, j, i, wide);
                let both = e.binary(Binary::Add, wide, here, there)?;
                let diagonal = e.w.value(Op::IEqual, Kind::Bool, &[i, j]);
                let share = e.select(Kind::F64, diagonal, here, both);
                e.add_entry(&target, i, j, wide, share)
            })
        })
    }

    fn tile_lower_solve_adjoint(
        &mut self,
        l: &Seen<'_>,
        y: &Seen<'_>,
        x: &Seen<'_>,
        room: (Id, Id),
    ) -> Emitted {
        let n = l.tile.shape[0];
        let cols = y.tile.shape.get(1).copied().unwrap_or(1);
        let wide = Scalar::F64;
        let shares = self.room_matrix(room, cols);
        let [factor, solution] = [l, x].map(|seen| self.matrix(seen, Space::Value));
        let [dl, dy, dx] = [l, y, x].map(|seen| self.matrix(seen, Space::Gradient));
        self.each_below(n, |e, i| {
            e.each_below(cols, |e, c| {
                let value = e.get_entry(&dx, i, c, wide);
                e.set_entry(&shares, i, c, wide, value);
                Ok(())
            })
        })?;
        self.backwards(wide, &factor.transposed(), &shares, [n, cols])?;
        self.each_below(n, |e, i| {
            e.each_below(cols, |e, c| {
                let share = e.get_entry(&shares, i, c, wide);
                e.add_entry(&dy, i, c, wide, share)
            })?;
            let one = e.w.u32(1);
            let count = e.w.value(Op::IAdd, Kind::U32, &[i, one]);
            e.each(count, |e, j| {
                let (none, terms) = (e.w.f64(0.0), e.w.u32(cols as u32));
                let sum = e.accumulate(wide, none, Binary::Sub, terms, |e, c| {
                    [
                        e.get_entry(&shares, i, c, wide),
                        e.get_entry(&solution, j, c, wide),
                    ]
                })?;
                e.add_entry(&dl, i, j, wide, sum)
            })
        })
    }

    fn tile_diagonal_add(&mut self, a: &Seen<'_>, d: &Seen<'_>, out: &Seen<'_>) -> Emitted {
        let [rows, cols] = [0, 1].map(|axis| a.tile.shape[axis]);
        let ty = a.tile.scalars[0];
        let [a, d, out] = [a, d, out].map(|seen| self.matrix(seen, Space::Value));
        let zero = self.w.u32(0);
        self.each_below(rows, |e, i| {
            let add = e.get_entry(&d, i, zero, ty);
            e.each_below(cols, |e, j| {
                let old = e.get_entry(&a, i, j, ty);
                let sum = e.binary(Binary::Add, ty, old, add)?;
                let diagonal = e.w.value(Op::IEqual, Kind::Bool, &[i, j]);
                let value = e.select(kind(ty), diagonal, sum, old);
                e.set_entry(&out, i, j, ty, value);
                Ok(())
            })
        })
    }
}
