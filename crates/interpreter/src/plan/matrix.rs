//! Builtins on matrices, stored row by row.

use super::builder::{Builder, Expanded};
use super::call::Operand;
use super::inverse::{determinant, inverse};
use super::vector::Math;
use crate::lanes::Cell;
use warpsmith_ir::types::Type;

/// A matrix of cells.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    cols: usize,
    cells: Vec<Cell>,
}

impl Matrix {
    fn of(operand: &Operand) -> Option<Self> {
        let Type::Matrix { rows, cols, .. } = operand.ty else {
            return None;
        };
        Some(Self {
            rows: rows as usize,
            cols: cols as usize,
            cells: operand.cells(),
        })
    }
    fn at(&self, row: usize, col: usize) -> Cell {
        self.cells[row * self.cols + col]
    }
    fn row(&self, row: usize) -> Vec<Cell> {
        self.cells[row * self.cols..][..self.cols].to_vec()
    }
    fn col(&self, col: usize) -> Vec<Cell> {
        (0..self.rows).map(|row| self.at(row, col)).collect()
    }
    fn transposed(&self) -> Vec<Cell> {
        (0..self.cols).flat_map(|col| self.col(col)).collect()
    }
}

/// The operations of a builtin on matrices; `None` if it is none.
pub(super) fn expand(b: &mut Builder<'_>, name: &str, args: &[Operand], out: Type) -> Expanded {
    if name == "identity" {
        let Type::Matrix { rows, scalar, .. } = out else {
            return Ok(None);
        };
        let (zero, one) = (b.number(scalar, 0.0), b.number(scalar, 1.0));
        let n = rows as usize;
        return Ok(Some(
            (0..n * n)
                .map(|at| if at % (n + 1) == 0 { one } else { zero })
                .collect(),
        ));
    }
    let Some(first) = args.first() else {
        return Ok(None);
    };
    let mut m = Math {
        b,
        ty: first.scalar,
    };
    let matrices: Vec<Option<Matrix>> = args.iter().map(Matrix::of).collect();
    let cells: Vec<Vec<Cell>> = args.iter().map(Operand::cells).collect();
    let result = match (name, matrices.as_slice(), cells.as_slice()) {
        ("mul", [Some(x), Some(y)], _) => {
            let mut product = Vec::new();
            for row in 0..x.rows {
                for col in 0..y.cols {
                    product.push(m.chain(&x.row(row), &y.col(col)));
                }
            }
            product
        }
        ("mul", [Some(x), None], [_, v]) => {
            let rows = (0..x.rows).map(|row| x.row(row));
            rows.map(|row| m.sum_of_products(&row, v)).collect()
        }
        ("mul", [None, Some(x)], [v, _]) => {
            let cols = (0..x.cols).map(|col| x.col(col));
            cols.map(|col| m.sum_of_products(v, &col)).collect()
        }
        ("transpose", [Some(x)], _) => x.transposed(),
        ("trace", [Some(x)], _) => {
            let mut sum = x.at(0, 0);
            for n in 1..x.rows {
                sum = m.add(sum, x.at(n, n));
            }
            vec![sum]
        }
        ("get_diag", [Some(x)], _) => (0..x.rows).map(|n| x.at(n, n)).collect(),
        ("diag", [None], [v]) => {
            let zero = m.number(0.0);
            let n = v.len();
            (0..n * n)
                .map(|at| {
                    if at % (n + 1) == 0 {
                        v[at / (n + 1)]
                    } else {
                        zero
                    }
                })
                .collect()
        }
        ("outer", _, [v, w]) => {
            let mut product = Vec::new();
            for x in v {
                product.extend(m.scale(w, *x));
            }
            product
        }
        ("skew", _, [v]) => {
            let zero = m.number(0.0);
            let minus = m.neg_all(v);
            vec![
                zero, minus[2], v[1], v[2], zero, minus[0], minus[1], v[0], zero,
            ]
        }
        ("matrix_from_rows", _, rows) => rows.concat(),
        ("matrix_from_cols", _, cols) => (0..cols[0].len())
            .flat_map(|row| cols.iter().map(move |col| col[row]))
            .collect(),
        ("determinant", [Some(x)], _) if x.rows == x.cols => {
            return Ok(determinant(&mut m, &x.cells).map(|cell| vec![cell]));
        }
        ("inverse" | "inverse_approx", [Some(x)], _) if x.rows == x.cols => {
            return Ok(inverse(&mut m, &x.cells));
        }
        ("spatial_adjoint", [Some(r), Some(s)], _) => {
            let zero = m.number(0.0);
            let mut cells = vec![zero; 36];
            for row in 0..3 {
                for col in 0..3 {
                    cells[row * 6 + col] = r.at(row, col);
                    cells[(row + 3) * 6 + col] = s.at(row, col);
                    cells[(row + 3) * 6 + col + 3] = r.at(row, col);
                }
            }
            cells
        }
        ("transform_point" | "transform_vector", [Some(x), None], [_, v]) if x.rows == 4 => {
            let mut moved = Vec::new();
            for row in 0..3 {
                let sum = m.sum_of_products(&x.row(row)[..3], v);
                // The fourth component is 1 or 0; the product with 0 is left out.
                moved.push(if name == "transform_point" {
                    m.add(sum, x.at(row, 3))
                } else {
                    sum
                });
            }
            moved
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}
