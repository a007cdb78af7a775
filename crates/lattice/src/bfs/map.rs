//! Mazes as people draw them: a line to a row, a blank line between planes, `#` is blocked, `.` or a
//! space is free, `S` and `T` are free and mark source and target.

use super::maze::Maze;
use crate::error::LatticeError;
use crate::shape::{Cell, Shape};

/// A drawn maze with its marks.
#[derive(Clone, Debug)]
pub struct DrawnMaze {
    /// The maze.
    pub maze: Maze,
    /// Where the `S` is.
    pub source: Option<Cell>,
    /// Where the `T` is.
    pub target: Option<Cell>,
}

/// Reads a drawing.
pub fn parse_map(text: &str) -> Result<DrawnMaze, LatticeError> {
    let bad = |line: usize, problem: String| LatticeError::Shape {
        text: format!("line {}", line + 1),
        problem,
    };
    let mut planes: Vec<Vec<&str>> = vec![Vec::new()];
    let mut width = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            if planes.last().is_some_and(|plane| !plane.is_empty()) {
                planes.push(Vec::new());
            }
            continue;
        }
        if !line.is_ascii() {
            return Err(bad(
                number,
                "a maze is drawn with `#`, `.`, `S` and `T`".into(),
            ));
        }
        if *width.get_or_insert(line.len()) != line.len() {
            return Err(bad(
                number,
                format!(
                    "{} cells, the first row has {}",
                    line.len(),
                    width.unwrap_or(0)
                ),
            ));
        }
        if let Some(last) = planes.last_mut() {
            last.push(line);
        }
    }
    planes.retain(|plane| !plane.is_empty());
    let (nz, ny) = (planes.len(), planes.first().map_or(0, Vec::len));
    if let Some(plane) = planes.iter().find(|plane| plane.len() != ny) {
        let problem = format!("a plane of {} rows, the first has {ny}", plane.len());
        return Err(bad(0, problem));
    }
    let width = width.ok_or_else(|| bad(0, "the drawing is empty".into()))?;
    let shape = if nz == 1 {
        Shape::new(&[ny, width])?
    } else {
        Shape::new(&[nz, ny, width])?
    };
    let drawn = |index: usize| {
        let [z, y, x] = shape.cell(index).0;
        planes[z][y].as_bytes()[x]
    };
    let (mut source, mut target) = (None, None);
    for index in 0..shape.cells() {
        let slot = match drawn(index) {
            b'#' | b'.' | b' ' => continue,
            b'S' => &mut source,
            b'T' => &mut target,
            other => {
                let [_, y, _] = shape.cell(index).0;
                let problem = format!("`{}` is none of `#`, `.`, `S`, `T`", char::from(other));
                return Err(bad(y, problem));
            }
        };
        if slot.replace(shape.cell(index)).is_some() {
            return Err(bad(0, "a mark stands twice".into()));
        }
    }
    Ok(DrawnMaze {
        maze: Maze::new(shape, |index| drawn(index) != b'#')?,
        source,
        target,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_drawing_is_read_as_it_looks() {
        let drawn = parse_map("S.#\n.#.\n..T\n").unwrap();
        assert_eq!(drawn.maze.shape(), Shape::new(&[3, 3]).unwrap());
        assert_eq!(drawn.source, Some(Cell([0, 0, 0])));
        assert_eq!(drawn.target, Some(Cell([0, 2, 2])));
        assert_eq!(drawn.maze.free_cells(), 7);
        assert_eq!(
            parse_map("..\n..\n\n..\n#.\n").unwrap().maze.free_cells(),
            7
        );
    }

    #[test]
    fn what_is_no_drawing_is_refused_with_its_line() {
        for (text, problem) in [
            ("", "the drawing is empty"),
            (
                "..\n...\n",
                "`line 2` is not a lattice: 3 cells, the first row has 2",
            ),
            ("..\n.x\n", "`x` is none of"),
            ("S.\n.S\n", "a mark stands twice"),
            ("é\n", "is drawn with"),
            ("..\n\n..\n..\n", "a plane of 2 rows, the first has 1"),
        ] {
            let error = parse_map(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_maze_or_an_error(text in "[#.ST\n x]{0,80}") {
            let _ = parse_map(&text);
        }
    }
}
