//! Determinants and inverses of matrices of two, three and four rows, in the order in which Warp's CPU adds:
//! their last bits depend on it.

use super::vector::Math;
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

/// Rows whose 2 × 2 determinants a 4 × 4 matrix has in each half of its columns.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// A cofactor is a sum of three products: an entry's row in the other column of the same half, and which
/// of [`PAIRS`] in the other half. The second is subtracted; of the last, [`FourByFour::cofactor`] says.
/// By parity of the cofactor's column, then by its row.
const TERMS: [[[(usize, usize); 3]; 4]; 2] = [
    [
        [(1, 5), (2, 4), (3, 3)],
        [(2, 2), (3, 1), (0, 5)],
        [(0, 4), (1, 2), (3, 0)],
        [(1, 1), (2, 0), (0, 3)],
    ],
    [
        [(2, 4), (3, 3), (1, 5)],
        [(0, 5), (2, 2), (3, 1)],
        [(1, 2), (3, 0), (0, 4)],
        [(0, 3), (1, 1), (2, 0)],
    ],
];

/// A 4 × 4 matrix while its cofactors are made.
struct FourByFour<'a> {
    cells: &'a [Cell],
    /// The type of the entries.
    narrow: Scalar,
    /// The type in which cofactors are added: doubles, but for entries of 16 bits.
    wide: Scalar,
    /// Determinants of [`PAIRS`] in the first two columns and the last two; in the wide type.
    pairs: [Vec<Cell>; 2],
}

impl<'a> FourByFour<'a> {
    fn new(m: &mut Math<'_, '_>, cells: &'a [Cell]) -> Self {
        let narrow = m.ty;
        let wide = match narrow {
            Scalar::F32 | Scalar::F64 => Scalar::F64,
            small => small,
        };
        let pairs = [0, 2].map(|col| {
            PAIRS
                .map(|[i, j]| {
                    let x = m.mul(cells[4 * i + col], cells[4 * j + col + 1]);
                    let y = m.mul(cells[4 * j + col], cells[4 * i + col + 1]);
                    let determinant = m.sub(x, y);
                    m.b.cast(narrow, wide, determinant)
                })
                .to_vec()
        });
        Self {
            cells,
            narrow,
            wide,
            pairs,
        }
    }

    /// In the wide type; those of the first two columns were rounded to the narrow one.
    fn cofactor(&self, m: &mut Math<'_, '_>, row: usize, col: usize) -> Cell {
        let (narrow, wide) = (self.narrow, self.wide);
        let pairs = &self.pairs[1 - col / 2];
        let other = col ^ 1;
        m.ty = wide;
        let [first, second, third] = TERMS[col % 2][row].map(|(at, pair)| {
            let entry = m.b.cast(narrow, wide, self.cells[4 * at + other]);
            m.mul(entry, pairs[pair])
        });
        let sum = m.sub(first, second);
        let sum = match (row + col) % 2 {
            0 => m.add(sum, third),
            _ => m.sub(sum, third),
        };
        m.ty = narrow;
        if col < 2 {
            let rounded = m.b.cast(wide, narrow, sum);
            return m.b.cast(narrow, wide, rounded);
        }
        sum
    }

    fn determinant(&self, m: &mut Math<'_, '_>) -> Cell {
        let products = [3, 2, 1, 0].map(|row| {
            let cofactor = self.cofactor(m, row, 0);
            let cofactor = m.b.cast(self.wide, self.narrow, cofactor);
            m.mul(self.cells[4 * row], cofactor)
        });
        products[1..]
            .iter()
            .fold(products[0], |sum, product| m.add(sum, *product))
    }
}

/// The determinant of a square matrix; `None` of others than 2 to 4 rows.
pub(super) fn determinant(m: &mut Math<'_, '_>, cells: &[Cell]) -> Option<Cell> {
    Some(match cells.len() {
        4 => {
            let (x, y) = (m.mul(cells[0], cells[3]), m.mul(cells[2], cells[1]));
            m.sub(x, y)
        }
        9 => {
            let cross = m.cross(&cells[3..6], &cells[6..]);
            m.dot(&cells[..3], &cross)
        }
        16 => FourByFour::new(m, cells).determinant(m),
        _ => return None,
    })
}

/// What the determinant's gradient `g` is to each entry.
pub(super) fn determinant_shares(m: &mut Math<'_, '_>, cells: &[Cell], g: Cell) -> Vec<Cell> {
    match cells.len() {
        4 => {
            let [a, b, c, d] = [3, 2, 1, 0].map(|n| m.mul(cells[n], g));
            vec![a, m.neg(b), m.neg(c), d]
        }
        9 => {
            let row = |n: usize| &cells[3 * n..3 * n + 3];
            let crosses = [(1, 2), (2, 0), (0, 1)].map(|(i, j)| m.cross(row(i), row(j)));
            crosses.iter().flat_map(|cross| m.scale(cross, g)).collect()
        }
        _ => {
            let whole = FourByFour::new(m, cells);
            let (narrow, wide) = (whole.narrow, whole.wide);
            let entry = |m: &mut Math<'_, '_>, at: usize| {
                let (row, col) = (at / 4, at % 4);
                let cofactor = whole.cofactor(m, row, col);
                if col < 2 {
                    let cofactor = m.b.cast(wide, narrow, cofactor);
                    return m.mul(cofactor, g);
                }
                let g = m.b.cast(narrow, wide, g);
                m.ty = wide;
                let share = m.mul(cofactor, g);
                m.ty = narrow;
                m.b.cast(wide, narrow, share)
            };
            (0..16).map(|at| entry(m, at)).collect()
        }
    }
}

/// The inverse; of a singular matrix, zero. `None` of others than 2 to 4 rows.
pub(super) fn inverse(m: &mut Math<'_, '_>, cells: &[Cell]) -> Option<Vec<Cell>> {
    let ty = m.ty;
    let whole = (cells.len() == 16).then(|| FourByFour::new(m, cells));
    let determinant = match &whole {
        Some(whole) => whole.determinant(m),
        None => determinant(m, cells)?,
    };
    let zero = m.number(0.0);
    let mut regular = m.b.compare(Comparison::NotEqual, ty, determinant, zero);
    if cells.len() != 9 {
        // A determinant that is no number makes the zero matrix too.
        let sound = m.b.compare(Comparison::Equal, ty, determinant, determinant);
        let both = crate::instruction::Binary::And;
        regular = m.b.binary(both, Scalar::Bool, regular, sound);
    }
    // No lane divides by zero.
    let one = m.number(1.0);
    let divisor = m.select(regular, determinant, one);
    let entries = match &whole {
        Some(whole) => {
            let wide = Scalar::F64;
            let divisor = m.b.cast(ty, wide, divisor);
            let one = m.b.number(wide, 1.0);
            let divided = crate::instruction::Binary::Div;
            let reciprocal = m.b.binary(divided, wide, one, divisor);
            let scaled = |at: usize| {
                let cofactor = whole.cofactor(m, at % 4, at / 4);
                let cofactor = m.b.cast(whole.wide, wide, cofactor);
                let times = crate::instruction::Binary::Mul;
                let entry = m.b.binary(times, wide, cofactor, reciprocal);
                m.b.cast(wide, ty, entry)
            };
            (0..16).map(scaled).collect()
        }
        None => {
            let adjugate = adjugate(m, cells);
            let reciprocal = m.div(one, divisor);
            m.scale(&adjugate, reciprocal)
        }
    };
    let entries: Vec<Cell> = entries;
    Some(
        entries
            .iter()
            .map(|x| m.select(regular, *x, zero))
            .collect(),
    )
}

/// The cofactors, transposed, of two or three rows.
fn adjugate(m: &mut Math<'_, '_>, cells: &[Cell]) -> Vec<Cell> {
    if let [a, b, c, d] = *cells {
        return vec![d, m.neg(b), m.neg(c), a];
    }
    let at = |row: usize, col: usize| cells[3 * (row % 3) + col % 3];
    let mut entries = Vec::new();
    for row in 0..3 {
        for col in 0..3 {
            let (i, j) = (col + 1, row + 1);
            let (x, y) = (
                m.mul(at(i, j), at(i + 1, j + 1)),
                m.mul(at(i, j + 1), at(i + 1, j)),
            );
            entries.push(m.sub(x, y));
        }
    }
    entries
}
