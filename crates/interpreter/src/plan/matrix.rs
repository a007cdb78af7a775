//! Builtins on matrices, stored row by row.

use super::builder::{Builder, Expanded};
use super::call::Operand;
use super::vector::Math;
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
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
    /// Without one row and one column.
    fn minor(&self, row: usize, col: usize) -> Self {
        let kept = (0..self.cells.len()).filter(|n| n / self.cols != row && n % self.cols != col);
        let cells = kept.map(|n| self.cells[n]).collect();
        Self {
            rows: self.rows - 1,
            cols: self.cols - 1,
            cells,
        }
    }
}

fn determinant(m: &mut Math<'_, '_>, a: &Matrix) -> Cell {
    match a.rows {
        1 => a.cells[0],
        2 => {
            let (x, y) = (m.mul(a.at(0, 0), a.at(1, 1)), m.mul(a.at(0, 1), a.at(1, 0)));
            m.sub(x, y)
        }
        _ => {
            // Along the first row.
            let row: Vec<Cell> = (0..a.cols).map(|col| cofactor(m, a, 0, col)).collect();
            m.dot(&a.row(0), &row)
        }
    }
}

fn cofactor(m: &mut Math<'_, '_>, a: &Matrix, row: usize, col: usize) -> Cell {
    let minor = determinant(m, &a.minor(row, col));
    if (row + col) % 2 == 1 {
        m.neg(minor)
    } else {
        minor
    }
}

/// The inverse; of a singular matrix, zero.
fn inverse(m: &mut Math<'_, '_>, a: &Matrix) -> Vec<Cell> {
    let mut cofactors = Vec::new();
    for row in 0..a.rows {
        for col in 0..a.cols {
            cofactors.push(cofactor(m, a, row, col));
        }
    }
    let determinant = m.dot(&a.row(0), &cofactors[..a.cols]);
    let (zero, one) = (m.number(0.0), m.number(1.0));
    let regular = m.b.compare(Comparison::NotEqual, m.ty, determinant, zero);
    let divisor = m.select(regular, determinant, one);
    let adjugate = Matrix {
        cells: cofactors,
        ..a.clone()
    }
    .transposed();
    let quotients: Vec<Cell> = adjugate.into_iter().map(|x| m.div(x, divisor)).collect();
    quotients
        .into_iter()
        .map(|x| m.select(regular, x, zero))
        .collect()
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
                    product.push(m.dot(&x.row(row), &y.col(col)));
                }
            }
            product
        }
        ("mul", [Some(x), None], [_, v]) => (0..x.rows).map(|row| m.dot(&x.row(row), v)).collect(),
        ("mul", [None, Some(x)], [v, _]) => (0..x.cols).map(|col| m.dot(v, &x.col(col))).collect(),
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
        ("determinant", [Some(x)], _) if x.rows == x.cols && x.rows <= 4 => {
            vec![determinant(&mut m, x)]
        }
        ("inverse" | "inverse_approx", [Some(x)], _) if x.rows == x.cols && x.rows <= 4 => {
            inverse(&mut m, x)
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
                let sum = m.dot(&x.row(row)[..3], v);
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
