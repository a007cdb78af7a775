//! Dense matrices in arrays, row after row from the beginning of each: products, Cholesky factors and
//! solutions, in the order of the interpreter's loops.
//!
//! Cells are read before the first loop. A thread that leaves an array has a fault, and its loops end.

use super::emitter::{Emitted, Emitter};
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{ARRAY_SHAPE, Cell, DenseKind, Space, Unary};
use warpsmith_ir::types::Scalar;

const F: Kind = Kind::F32;
const W: Kind = Kind::U32;

/// An array whose cells were read.
#[derive(Clone, Copy)]
struct Matrix {
    /// The address of its first element.
    base: Id,
    /// How many elements it has.
    length: Id,
    /// Whether there is memory: not of gradients that nobody gave.
    given: Id,
}

/// A product's shape, and whether its factors are stored transposed.
struct Product {
    rows: Id,
    cols: Id,
    terms: Id,
    transposed: [Id; 2],
}

impl Emitter<'_> {
    pub(super) fn dense(&mut self, entry: u32) -> Emitted {
        let call = &self.program.dense[entry as usize];
        let sizes: Vec<Id> = (call.sizes.iter())
            .map(|size| self.read(*size, W))
            .collect();
        let number = call.number.map(|cell| self.get(cell, Scalar::F32));
        let arrays: Vec<Matrix> = (call.arrays.iter())
            .map(|(cell, space)| self.dense_matrix(*cell, *space))
            .collect();
        match (call.kind, sizes.as_slice(), arrays.as_slice(), number) {
            (DenseKind::Product, &[m, n, p, first, second], &[a, b, c], _) => {
                let one = self.w.u32(1);
                let [known, also] = [first, second]
                    .map(|layout| self.w.value(Op::ULessThanEqual, Kind::Bool, &[layout, one]));
                let known = self.w.value(Op::LogicalAnd, Kind::Bool, &[known, also]);
                // Other values than 0 and 1 name no layout.
                let none = self.w.u32(0);
                let shape = Product {
                    rows: self.select(W, known, m, none),
                    cols: n,
                    terms: p,
                    transposed: [first, second].map(|layout| self.is_set(layout)),
                };
                self.matrix_product(&shape, [a, b, c], false)
            }
            (DenseKind::ProductAdjoint, &[m, n, p, first, second], &[a, b, _, da, db, dc], _) => {
                let (first, second) = (self.is_set(first), self.is_set(second));
                let no = self.w.constant(Kind::Bool, 0);
                let straight = self.w.value(Op::LogicalNot, Kind::Bool, &[second]);
                let shape = Product {
                    rows: self.select(W, first, p, m),
                    cols: self.select(W, first, m, p),
                    terms: n,
                    transposed: [
                        no,
                        (self.w).value(Op::LogicalOr, Kind::Bool, &[first, straight]),
                    ],
                };
                let left = self.either(first, b, dc);
                let right = self.either(first, dc, b);
                self.matrix_product(&shape, [left, right, da], true)?;
                let shape = Product {
                    rows: p,
                    cols: n,
                    terms: m,
                    transposed: [self.w.value(Op::LogicalNot, Kind::Bool, &[first]), no],
                };
                self.matrix_product(&shape, [a, dc, db], true)
            }
            (DenseKind::Cholesky, &[n], &[a, l], Some(number)) => {
                self.cholesky_factor(n, a, number, l)
            }
            (DenseKind::Substitution, &[n], &[l, b, x], _) => self.substituted(n, l, b, x),
            (DenseKind::SolutionAdjoint, &[n], &[l, x, da, db, dx], _) => {
                self.substituted(n, l, dx, db)?;
                let zero = self.w.u32(0);
                self.span(zero, n, |e, i| {
                    e.span(zero, n, |e, j| {
                        let (left, right) = (e.dense_entry(db, i), e.dense_entry(x, j));
                        let term = e.w.value(Op::FMul, F, &[left, right]);
                        let at = e.row_major(n, i, j);
                        let old = e.dense_entry(da, at);
                        let rest = e.w.value(Op::FSub, F, &[old, term]);
                        e.set_dense_entry(da, at, rest);
                        Ok(())
                    })
                })
            }
            _ => self.refuse("this use of matrices in arrays"),
        }
    }

    fn dense_matrix(&mut self, cells: Cell, space: Space) -> Matrix {
        let [buffer, first, length] = [0, 1, ARRAY_SHAPE].map(|n| self.read(cells.at(n), W));
        let (zero, nowhere) = (self.w.u32(0), self.w.u64(0));
        let missing = self.w.value(Op::SLessThan, Kind::Bool, &[buffer, zero]);
        let buffer = self.select(W, missing, zero, buffer);
        let length = self.select(W, missing, zero, length);
        let start = self.buffer_address(buffer, u64::from(space == Space::Gradient));
        Matrix {
            base: self.address_of(start, first, 4),
            length,
            given: (self.w).value(Op::INotEqual, Kind::Bool, &[start, nowhere]),
        }
    }

    fn either(&mut self, cond: Id, a: Matrix, b: Matrix) -> Matrix {
        Matrix {
            base: self.select(Kind::U64, cond, a.base, b.base),
            length: self.select(W, cond, a.length, b.length),
            given: self.select(Kind::Bool, cond, a.given, b.given),
        }
    }

    fn is_set(&mut self, word: Id) -> Id {
        let zero = self.w.u32(0);
        self.w.value(Op::INotEqual, Kind::Bool, &[word, zero])
    }

    fn row_major(&mut self, cols: Id, i: Id, j: Id) -> Id {
        let row = self.w.value(Op::IMul, W, &[i, cols]);
        self.w.value(Op::IAdd, W, &[row, j])
    }

    /// Where an element lies, and whether it may be touched; outside is a fault.
    fn entry_address(&mut self, matrix: Matrix, at: Id) -> (Id, Id) {
        let operands = [at, matrix.length];
        let outside = (self.w).value(Op::UGreaterThanEqual, Kind::Bool, &operands);
        self.fault(outside);
        let inside = self.w.value(Op::LogicalNot, Kind::Bool, &[outside]);
        let operands = [inside, matrix.given];
        let allowed = self.w.value(Op::LogicalAnd, Kind::Bool, &operands);
        (self.address_of(matrix.base, at, 4), allowed)
    }

    fn dense_entry(&mut self, matrix: Matrix, at: Id) -> Id {
        let (address, allowed) = self.entry_address(matrix, at);
        let place = super::memory::Place { address, allowed };
        self.load_scalar(Scalar::F32, &place)
    }

    fn set_dense_entry(&mut self, matrix: Matrix, at: Id, value: Id) {
        let (address, allowed) = self.entry_address(matrix, at);
        let bits = self.bits(F, value);
        let merge = self.open_plain(allowed);
        let pointer = self.pointer_to(W, address);
        // 2: the alignment follows.
        self.w.act(Op::Store, &[pointer, bits, 2, 4]);
        self.close_plain(merge);
    }

    /// The body for each number from `from` to before `to`, while the thread has no fault.
    fn span(&mut self, from: Id, to: Id, body: impl FnOnce(&mut Self, Id) -> Emitted) -> Emitted {
        let counter = self.w.variable(W);
        let one = self.w.u32(1);
        self.w.act(Op::Store, &[counter, from]);
        let mut outcome = Ok(());
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, W, &[counter]);
                let more = e.w.value(Op::SLessThan, Kind::Bool, &[now, to]);
                let alive = e.alive();
                e.w.value(Op::LogicalAnd, Kind::Bool, &[more, alive])
            },
            |e| {
                let now = e.w.value(Op::Load, W, &[counter]);
                outcome = body(e, now);
                let next = e.w.value(Op::IAdd, W, &[now, one]);
                e.w.act(Op::Store, &[counter, next]);
            },
        );
        outcome
    }

    /// `start`, and for each number from `from` to before `to` a product of two entries added or taken off.
    fn accumulated(
        &mut self,
        op: Op,
        start: Id,
        (from, to): (Id, Id),
        factors: impl FnOnce(&mut Self, Id) -> [Id; 2],
    ) -> Emitted<Id> {
        let sum = self.w.variable(F);
        self.w.act(Op::Store, &[sum, start]);
        self.span(from, to, |e, k| {
            let factors = factors(e, k);
            let term = e.w.value(Op::FMul, F, &factors);
            let old = e.w.value(Op::Load, F, &[sum]);
            let new = e.w.value(op, F, &[old, term]);
            e.w.act(Op::Store, &[sum, new]);
            Ok(())
        })?;
        Ok(self.w.value(Op::Load, F, &[sum]))
    }

    fn matrix_product(&mut self, shape: &Product, of: [Matrix; 3], adds: bool) -> Emitted {
        let [a, b, c] = of;
        let Product {
            rows,
            cols,
            terms,
            transposed,
        } = *shape;
        let index = |e: &mut Self, transposed: Id, (rows, cols): (Id, Id), i: Id, j: Id| {
            let straight = e.row_major(cols, i, j);
            let across = e.row_major(rows, j, i);
            e.select(W, transposed, across, straight)
        };
        let zero = self.w.u32(0);
        self.span(zero, rows, |e, i| {
            e.span(zero, cols, |e, j| {
                let nothing = e.w.f32(0.0);
                let mut sum = e.accumulated(Op::FAdd, nothing, (zero, terms), |e, k| {
                    let left = index(e, transposed[0], (rows, terms), i, k);
                    let right = index(e, transposed[1], (terms, cols), k, j);
                    [e.dense_entry(a, left), e.dense_entry(b, right)]
                })?;
                let at = e.row_major(cols, i, j);
                if adds {
                    let old = e.dense_entry(c, at);
                    sum = e.w.value(Op::FAdd, F, &[sum, old]);
                }
                e.set_dense_entry(c, at, sum);
                Ok(())
            })
        })
    }

    fn cholesky_factor(&mut self, n: Id, a: Matrix, number: Id, l: Matrix) -> Emitted {
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        self.span(zero, n, |e, j| {
            let diagonal = e.row_major(n, j, j);
            let start = e.dense_entry(a, diagonal);
            let start = e.w.value(Op::FAdd, F, &[start, number]);
            let square = e.accumulated(Op::FSub, start, (zero, j), |e, k| {
                let at = e.row_major(n, j, k);
                let root = e.dense_entry(l, at);
                [root, root]
            })?;
            let pivot = e.unary(Unary::Sqrt, Scalar::F32, square)?;
            e.set_dense_entry(l, diagonal, pivot);
            let below = e.w.value(Op::IAdd, W, &[j, one]);
            e.span(below, n, |e, i| {
                let at = e.row_major(n, i, j);
                let start = e.dense_entry(a, at);
                let sum = e.accumulated(Op::FSub, start, (zero, j), |e, k| {
                    let (left, right) = (e.row_major(n, i, k), e.row_major(n, j, k));
                    [e.dense_entry(l, left), e.dense_entry(l, right)]
                })?;
                let one = e.w.f32(1.0);
                let inverse = e.quotient(F, one, pivot);
                let value = e.w.value(Op::FMul, F, &[sum, inverse]);
                e.set_dense_entry(l, at, value);
                Ok(())
            })
        })
    }

    /// Solves L Lᵀ x = b, first forwards, then backwards.
    fn substituted(&mut self, n: Id, l: Matrix, b: Matrix, x: Matrix) -> Emitted {
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        let divided = |e: &mut Self, i: Id, sum: Id| {
            let diagonal = e.row_major(n, i, i);
            let pivot = e.dense_entry(l, diagonal);
            let value = e.quotient(F, sum, pivot);
            e.set_dense_entry(x, i, value);
        };
        self.span(zero, n, |e, i| {
            let start = e.dense_entry(b, i);
            let sum = e.accumulated(Op::FSub, start, (zero, i), |e, j| {
                let at = e.row_major(n, i, j);
                [e.dense_entry(l, at), e.dense_entry(x, j)]
            })?;
            divided(e, i, sum);
            Ok(())
        })?;
        self.span(zero, n, |e, done| {
            let last = e.w.value(Op::ISub, W, &[n, one]);
            let i = e.w.value(Op::ISub, W, &[last, done]);
            let start = e.dense_entry(x, i);
            let next = e.w.value(Op::IAdd, W, &[i, one]);
            let sum = e.accumulated(Op::FSub, start, (next, n), |e, j| {
                let at = e.row_major(n, j, i);
                [e.dense_entry(l, at), e.dense_entry(x, j)]
            })?;
            divided(e, i, sum);
            Ok(())
        })
    }
}
