//! Dense matrices in arrays: products, Cholesky factors and solutions, one lane after the other.
//!
//! Matrices lie row after row from the beginning of their array. A lane that leaves an array stops there.

use super::control::Machine;
use crate::findings::Fault;
use crate::instruction::Space;
use crate::lanes::{Cell, Mask, each};
use crate::layout::ARRAY_SHAPE;
use crate::memory::Column;
use crate::races::Touch;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenseKind {
    /// A product.
    Product,
    /// A Cholesky factor.
    Cholesky,
    /// Solves with a Cholesky factor.
    Substitution,
    /// The adjoint of a product.
    ProductAdjoint,
    /// The adjoint of a solution.
    SolutionAdjoint,
}

/// An array and which of its memories is meant.
pub(crate) type Operand = (Cell, Space);

/// A call: sizes, a number, arrays, each in the order of the builtin's parameters.
#[derive(Clone, Debug)]
pub struct DenseCall {
    /// What is computed.
    pub kind: DenseKind,
    /// Rows, columns and the like.
    pub sizes: Vec<Cell>,
    /// What is added to a diagonal.
    pub number: Option<Cell>,
    /// The arrays.
    pub arrays: Vec<Operand>,
}

/// What a lane sees of the registers and of memory.
pub(crate) trait LaneMemory {
    /// A lane's word of a cell.
    fn word(&self, cell: Cell) -> u32;
    /// Whether an array has such an element; those of an array from its buffer's beginning.
    fn has(&self, buffer: usize, element: usize) -> bool;
    fn load(&mut self, space: Space, buffer: usize, element: usize) -> f32;
    fn store(&mut self, space: Space, buffer: usize, element: usize, value: f32);
}

/// A lane's call.
struct Matrices<'a, M> {
    memory: &'a mut M,
    /// The first index that lay outside its array.
    outside: Option<i32>,
}

/// Does what a call says for one lane; gives the first index that lay outside its array.
pub(crate) fn run_dense(call: &DenseCall, memory: &mut impl LaneMemory) -> Option<i32> {
    let mut matrices = Matrices {
        memory,
        outside: None,
    };
    matrices.run(call);
    matrices.outside
}

/// The interpreter's memory as a lane sees it.
struct Interpreted<'a, 'p> {
    machine: &'a mut Machine<'p>,
    lane: usize,
    position: usize,
}

impl LaneMemory for Interpreted<'_, '_> {
    fn word(&self, cell: Cell) -> u32 {
        self.machine.registers.row::<u32>(cell)[self.lane]
    }

    fn has(&self, buffer: usize, element: usize) -> bool {
        // Values that the kernel does not touch are not kept, though their gradients may be.
        let column = match self.machine.memory(Space::Value, buffer) {
            Some(Column::Narrow(words)) if words.is_empty() => None,
            column => column,
        };
        let gradients = self.machine.memory(Space::Gradient, buffer);
        let kept = column.or(gradients);
        kept.is_some_and(|column| column.get(element).is_some())
    }

    fn load(&mut self, space: Space, buffer: usize, element: usize) -> f32 {
        let at = (buffer, 0, element);
        self.machine
            .note_place(self.lane, self.position, at, space, Touch::Read);
        let column = self.machine.memory(space, buffer);
        let bits = column.and_then(|column| column.get(element));
        f32::from_bits(bits.unwrap_or(0) as u32)
    }

    fn store(&mut self, space: Space, buffer: usize, element: usize, value: f32) {
        let bits = u64::from(value.to_bits());
        let column = self.machine.memory(space, buffer);
        let old = column.and_then(|column| column.get(element));
        let touch = Touch::Write {
            unchanged: old == Some(bits),
        };
        let at = (buffer, 0, element);
        self.machine
            .note_place(self.lane, self.position, at, space, touch);
        if let Some(column) = self.machine.memory(space, buffer) {
            column.set(element, bits);
        }
    }
}

/// A product's shape: rows, columns, terms; whether the factors are stored transposed.
#[derive(Clone, Copy)]
struct Product {
    rows: i32,
    cols: i32,
    terms: i32,
    transposed: [bool; 2],
}

impl Machine<'_> {
    pub(super) fn dense(&mut self, mask: Mask, position: usize, entry: u32) {
        let program = self.program;
        let call = &program.dense[entry as usize];
        for lane in each(mask) {
            let mut memory = Interpreted {
                machine: self,
                lane,
                position,
            };
            if let Some(index) = run_dense(call, &mut memory) {
                self.stop_outside_dense(lane, position, index);
            }
        }
    }

    /// Stops a lane that left an array.
    pub(crate) fn stop_outside_dense(&mut self, lane: usize, position: usize, index: i32) {
        let detail = move |_: &Self, _: usize| format!("element {index} of a dense matrix");
        self.stop(1 << lane, position, Fault::OutOfBounds, detail);
    }
}

impl<M: LaneMemory> Matrices<'_, M> {
    fn run(&mut self, call: &DenseCall) {
        let mut sizes = [0; 5];
        for (size, cell) in sizes.iter_mut().zip(&call.sizes) {
            *size = self.memory.word(*cell).cast_signed();
        }
        let size = |n: usize| sizes[n];
        match (call.kind, call.arrays.as_slice()) {
            (DenseKind::Product, &[a, b, c]) => {
                let (rows, cols, terms) = (size(0), size(1), size(2));
                // Other values than 0 and 1 name no layout.
                let transposed = match (size(3), size(4)) {
                    (s @ 0..=1, t @ 0..=1) => [s == 1, t == 1],
                    _ => return,
                };
                let shape = Product {
                    rows,
                    cols,
                    terms,
                    transposed,
                };
                self.product(shape, a, b, c, false);
            }
            (DenseKind::ProductAdjoint, &[a, b, _, da, db, dc]) => {
                let (m, n, p) = (size(0), size(1), size(2));
                let (first, second) = (size(3) != 0, size(4) != 0);
                let shape = |rows, cols, terms, transposed| Product {
                    rows,
                    cols,
                    terms,
                    transposed,
                };
                if first {
                    self.product(shape(p, m, n, [false, true]), b, dc, da, true);
                } else {
                    self.product(shape(m, p, n, [false, !second]), dc, b, da, true);
                }
                self.product(shape(p, n, m, [!first, false]), a, dc, db, true);
            }
            (DenseKind::Cholesky, &[a, l]) => {
                let number = call.number;
                let number = number.map_or(0.0, |cell| f32::from_bits(self.memory.word(cell)));
                self.cholesky(size(0), a, number, l);
            }
            (DenseKind::Substitution, &[l, b, x]) => self.substitute(size(0), l, b, x),
            (DenseKind::SolutionAdjoint, &[l, x, da, db, dx]) => {
                let n = size(0);
                self.substitute(n, l, dx, db);
                for i in 0..n {
                    for j in 0..n {
                        let term = self.get(db, i) * self.get(x, j);
                        let at = i.wrapping_mul(n).wrapping_add(j);
                        let old = self.get(da, at);
                        self.set(da, at, old - term);
                    }
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, (array, _): Operand, index: i32) -> Option<(usize, usize)> {
        let field = |n: usize| self.memory.word(array.at(n)).cast_signed();
        let place = usize::try_from(field(0))
            .ok()
            .zip(usize::try_from(field(1).wrapping_add(index)).ok());
        let inside = (0..field(ARRAY_SHAPE)).contains(&index)
            && place.is_some_and(|(buffer, element)| self.memory.has(buffer, element));
        if !inside {
            self.outside.get_or_insert(index);
        }
        place.filter(|_| inside)
    }

    fn get(&mut self, operand: Operand, index: i32) -> f32 {
        match self.place(operand, index) {
            Some((buffer, element)) => self.memory.load(operand.1, buffer, element),
            None => 0.0,
        }
    }

    fn set(&mut self, operand: Operand, index: i32, value: f32) {
        if let Some((buffer, element)) = self.place(operand, index) {
            self.memory.store(operand.1, buffer, element, value);
        }
    }

    fn product(&mut self, shape: Product, a: Operand, b: Operand, c: Operand, adds: bool) {
        let Product {
            rows,
            cols,
            terms,
            transposed,
        } = shape;
        let index = |transposed: bool, rows: i32, cols: i32, i: i32, j: i32| {
            if transposed {
                j.wrapping_mul(rows).wrapping_add(i)
            } else {
                i.wrapping_mul(cols).wrapping_add(j)
            }
        };
        for i in 0..rows {
            for j in 0..cols {
                let mut sum = 0.0;
                for k in 0..terms {
                    sum += self.get(a, index(transposed[0], rows, terms, i, k))
                        * self.get(b, index(transposed[1], terms, cols, k, j));
                }
                let at = i.wrapping_mul(cols).wrapping_add(j);
                if adds {
                    sum += self.get(c, at);
                }
                self.set(c, at, sum);
                if self.outside.is_some() {
                    return;
                }
            }
        }
    }

    fn cholesky(&mut self, n: i32, a: Operand, regularization: f32, l: Operand) {
        let at = |i: i32, j: i32| i.wrapping_mul(n).wrapping_add(j);
        for j in 0..n {
            let mut pivot = self.get(a, at(j, j)) + regularization;
            for k in 0..j {
                let r = self.get(l, at(j, k));
                pivot -= r * r;
            }
            let pivot = pivot.sqrt();
            self.set(l, at(j, j), pivot);
            for i in j + 1..n {
                let mut sum = self.get(a, at(i, j));
                for k in 0..j {
                    sum -= self.get(l, at(i, k)) * self.get(l, at(j, k));
                }
                self.set(l, at(i, j), sum * (1.0 / pivot));
            }
            if self.outside.is_some() {
                return;
            }
        }
    }

    /// Solves L Lᵀ x = b, first forwards, then backwards.
    fn substitute(&mut self, n: i32, l: Operand, b: Operand, x: Operand) {
        let at = |i: i32, j: i32| i.wrapping_mul(n).wrapping_add(j);
        for i in 0..n {
            let mut sum = self.get(b, i);
            for j in 0..i {
                sum -= self.get(l, at(i, j)) * self.get(x, j);
            }
            let pivot = self.get(l, at(i, i));
            self.set(x, i, sum / pivot);
            if self.outside.is_some() {
                return;
            }
        }
        for i in (0..n).rev() {
            let mut sum = self.get(x, i);
            for j in i + 1..n {
                sum -= self.get(l, at(j, i)) * self.get(x, j);
            }
            let pivot = self.get(l, at(i, i));
            self.set(x, i, sum / pivot);
        }
    }
}
