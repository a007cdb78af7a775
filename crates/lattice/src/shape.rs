//! The extent of a lattice and its cells.
//!
//! Invariants: every extent is at least 1, and the number of cells times 16 bytes fits in an
//! `isize`, so that no index or size computed from a shape overflows.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::error::LatticeError;

/// A lattice of one, two or three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    /// Cells along z, y and x; 1 along the axes that the lattice does not have.
    extents: [usize; 3],
    dimensions: usize,
}

/// Coordinates z, y, x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Cell(pub [usize; 3]);

/// Extents are passed to kernels as 32-bit numbers.
const LONGEST: usize = 1 << 30;

impl Shape {
    /// A lattice of these extents, slowest first.
    pub fn new(extents: &[usize]) -> Result<Self, LatticeError> {
        let text = || {
            let parts: Vec<String> = extents.iter().map(ToString::to_string).collect();
            parts.join("x")
        };
        let bad = |problem: &str| LatticeError::Shape {
            text: text(),
            problem: problem.to_owned(),
        };
        if extents.is_empty() || extents.len() > 3 {
            return Err(bad("it takes one to three extents"));
        }
        if extents.contains(&0) {
            return Err(bad("an extent is zero"));
        }
        let mut padded = [1; 3];
        padded[3 - extents.len()..].copy_from_slice(extents);
        let cells = padded
            .iter()
            .try_fold(1usize, |product, &extent| product.checked_mul(extent))
            .filter(|&cells| cells <= isize::MAX as usize / 16);
        if cells.is_none() || extents.iter().any(|&extent| extent > LONGEST) {
            return Err(bad("it has more cells than can be addressed"));
        }
        Ok(Self {
            extents: padded,
            dimensions: extents.len(),
        })
    }

    /// A cube.
    pub fn cube(extent: usize) -> Result<Self, LatticeError> {
        Self::new(&[extent; 3])
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.extents.iter().product()
    }

    /// Cells along z, y, x.
    pub fn extents(&self) -> [usize; 3] {
        self.extents
    }

    /// 1, 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Cells of a row.
    pub(crate) fn row(&self) -> usize {
        self.extents[2]
    }

    /// Rows in all.
    pub(crate) fn rows(&self) -> usize {
        self.extents[0] * self.extents[1]
    }

    /// Cells of a plane.
    pub(crate) fn plane(&self) -> usize {
        self.extents[1] * self.extents[2]
    }

    /// Place of a cell in row-major order; the cell is inside.
    pub fn index(&self, cell: Cell) -> usize {
        let [z, y, x] = cell.0;
        (z * self.extents[1] + y) * self.extents[2] + x
    }

    /// The cell at a place in row-major order.
    pub fn cell(&self, index: usize) -> Cell {
        let [_, ny, nx] = self.extents;
        Cell([index / (ny * nx), index / nx % ny, index % nx])
    }

    /// Whether the cell is inside.
    pub fn contains(&self, cell: Cell) -> bool {
        cell.0
            .iter()
            .zip(self.extents)
            .all(|(&coordinate, extent)| coordinate < extent)
    }

    /// The face neighbours of a cell.
    pub fn neighbours(&self, cell: Cell) -> impl Iterator<Item = Cell> + use<> {
        let extents = self.extents;
        (0..6).filter_map(move |face| {
            let (axis, up) = (face / 2, face % 2 == 1);
            let mut next = cell.0;
            next[axis] = if up {
                next[axis] + 1
            } else {
                next[axis].checked_sub(1)?
            };
            (next[axis] < extents[axis]).then_some(Cell(next))
        })
    }

    /// Reads `z,y,x` (or `y,x`, or `x`) as a cell of this lattice.
    pub fn parse_cell(&self, text: &str) -> Result<Cell, LatticeError> {
        let bad = |problem: String| LatticeError::Cell {
            text: text.to_owned(),
            shape: self.to_string(),
            problem,
        };
        let coordinates: Vec<usize> = text
            .split(',')
            .map(|part| part.trim().parse())
            .collect::<Result<_, _>>()
            .map_err(|_| bad("coordinates are whole numbers from 0, e.g. `0,0,0`".into()))?;
        if coordinates.len() != self.dimensions {
            return Err(bad(format!("it takes {} coordinates", self.dimensions)));
        }
        let mut cell = [0; 3];
        cell[3 - self.dimensions..].copy_from_slice(&coordinates);
        let cell = Cell(cell);
        if self.contains(cell) {
            Ok(cell)
        } else {
            Err(bad("it lies outside".into()))
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.extents[3 - self.dimensions..]
            .iter()
            .map(ToString::to_string)
            .collect();
        f.pad(&parts.join("x"))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [z, y, x] = self.0;
        f.pad(&format!("({z},{y},{x})"))
    }
}

impl FromStr for Shape {
    type Err = LatticeError;

    /// `128` is a cube; `64x128` has two dimensions.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let extents: Vec<usize> = text
            .split('x')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| LatticeError::Shape {
                text: text.to_owned(),
                problem: "extents are whole numbers".to_owned(),
            })?;
        match extents[..] {
            [extent] => Self::cube(extent).map_err(|error| match error {
                LatticeError::Shape { problem, .. } => LatticeError::Shape {
                    text: text.to_owned(),
                    problem,
                },
                other => other,
            }),
            _ => Self::new(&extents),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_number_is_a_cube_and_texts_come_back() {
        assert_eq!(
            "5".parse::<Shape>().unwrap(),
            Shape::new(&[5, 5, 5]).unwrap()
        );
        for text in ["4x5x6", "1000x3"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_lattice_is_refused_with_a_reason() {
        for (text, reason) in [
            ("0", "an extent is zero"),
            ("", "extents are whole numbers"),
            ("-3", "extents are whole numbers"),
            ("4x4x4x4", "one to three extents"),
            ("99999999", "more cells than can be addressed"),
            ("18446744073709551615", "more cells than can be addressed"),
            ("18446744073709551616", "extents are whole numbers"),
        ] {
            let error = text.parse::<Shape>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn cells_and_places_are_one_to_one() {
        let shape = Shape::new(&[3, 4, 5]).unwrap();
        for index in 0..shape.cells() {
            assert_eq!(shape.index(shape.cell(index)), index);
        }
        assert_eq!(shape.neighbours(Cell([0, 0, 0])).count(), 3);
        assert_eq!(shape.neighbours(Cell([1, 1, 1])).count(), 6);
        assert!(shape.parse_cell("2,3,4").is_ok());
        for text in ["3,0,0", "1,2", "a,b,c", "-1,0,0", ""] {
            assert!(shape.parse_cell(text).is_err(), "{text}");
        }
    }
}
