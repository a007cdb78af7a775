//! Extended XYZ: a count, a line with the box (`Lattice="…"`) and the columns (`Properties=…`), and
//! a line to an atom. What ASE, OVITO and VMD read.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::error::{MdError, Result};
use crate::periodic_box::PeriodicBox;
use crate::start::Atoms;

/// One frame of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The atoms.
    pub atoms: Atoms,
    /// Whether the file had velocities; they are zero where it had none.
    pub has_velocities: bool,
}

/// What stands for the element where a file needs one: the fluid that reduced units are used for.
const SPECIES: &str = "Ar";

/// Appends a frame, with all digits that an `f64` needs to come back as it was.
pub fn write_frame(out: &mut impl Write, atoms: &Atoms, step: u64, time: f64) -> io::Result<()> {
    let [x, y, z] = atoms.cell.sides;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}\nLattice=\"{x} 0 0 0 {y} 0 0 0 {z}\" Properties=species:S:1:pos:R:3:velo:R:3 \
         pbc=\"T T T\" step={step} time={time}",
        atoms.len()
    );
    for ([x, y, z], [u, v, w]) in atoms.positions.iter().zip(&atoms.velocities) {
        let _ = writeln!(text, "{SPECIES} {x} {y} {z} {u} {v} {w}");
        if text.len() > 1 << 16 {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())
}

/// Reads the next frame; `None` at the end of the file. `cell` is used where the file names none.
pub fn read_frame(
    input: &mut impl BufRead,
    path: &Path,
    first_line: usize,
    cell: Option<PeriodicBox>,
) -> Result<Option<Frame>> {
    let mut reader = Lines {
        input,
        path,
        line: first_line,
        text: String::new(),
    };
    if !reader.next()? || reader.text.trim().is_empty() {
        return Ok(None);
    }
    let count: usize = match reader.text.trim().parse() {
        Ok(count) if count > 0 => count,
        _ => {
            return Err(reader.bad(format!(
                "expected a number of atoms, found `{}`",
                reader.text.trim()
            )));
        }
    };
    if !reader.next()? {
        return Err(reader.bad("the file ends before the comment line".to_owned()));
    }
    let comment = Comment::parse(&reader.text).map_err(|problem| reader.bad(problem))?;
    let Some(cell) = comment.cell.or(cell) else {
        let problem = "no `Lattice=\"…\"`; give the box with `--box`".to_owned();
        return Err(reader.bad(problem));
    };
    let (mut positions, mut velocities) = (Vec::new(), Vec::new());
    for _ in 0..count {
        if !reader.next()? {
            let found = positions.len();
            return Err(reader.bad(format!("the file ends after {found} of {count} atoms")));
        }
        let fields: Vec<&str> = reader.text.split_whitespace().collect();
        let vector = |column: usize| -> std::result::Result<[f64; 3], String> {
            let mut vector = [0.0; 3];
            for (axis, value) in vector.iter_mut().enumerate() {
                let field = fields
                    .get(column + axis)
                    .ok_or_else(|| format!("{} columns, expected {}", fields.len(), column + 3))?;
                *value = field
                    .parse()
                    .map_err(|_| format!("`{field}` is not a number"))?;
            }
            Ok(vector)
        };
        positions.push(vector(comment.position).map_err(|problem| reader.bad(problem))?);
        velocities.push(match comment.velocity {
            Some(column) => vector(column).map_err(|problem| reader.bad(problem))?,
            None => [0.0; 3],
        });
    }
    Ok(Some(Frame {
        atoms: Atoms {
            cell,
            positions,
            velocities,
        },
        has_velocities: comment.velocity.is_some(),
    }))
}

struct Lines<'a, B> {
    input: &'a mut B,
    path: &'a Path,
    line: usize,
    text: String,
}

impl<B: BufRead> Lines<'_, B> {
    fn next(&mut self) -> Result<bool> {
        self.text.clear();
        let read = self
            .input
            .read_line(&mut self.text)
            .map_err(|source| MdError::Io {
                attempted: "read",
                path: self.path.to_owned(),
                source,
            })?;
        self.line += 1;
        Ok(read > 0)
    }

    fn bad(&self, problem: String) -> MdError {
        MdError::Format {
            path: self.path.to_owned(),
            place: format!("line {}", self.line),
            problem,
        }
    }
}

/// What the second line says.
struct Comment {
    cell: Option<PeriodicBox>,
    position: usize,
    velocity: Option<usize>,
}

impl Comment {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let cell = match value_of(text, "Lattice") {
            Some(lattice) => Some(parse_lattice(lattice)?),
            None => None,
        };
        let Some(properties) = value_of(text, "Properties") else {
            // Plain XYZ: an element and three coordinates.
            return Ok(Self {
                cell,
                position: 1,
                velocity: None,
            });
        };
        let (mut column, mut position, mut velocity) = (0, None, None);
        let parts: Vec<&str> = properties.split(':').collect();
        for part in parts.chunks(3) {
            let width = match part {
                [_, _, width] => width.parse::<usize>().ok(),
                _ => None,
            };
            let Some(width) = width else {
                return Err(format!(
                    "`Properties={properties}` is not name:type:columns…"
                ));
            };
            match part[0] {
                "pos" => position = Some(column),
                "velo" | "vel" | "velocities" => velocity = Some(column),
                _ => {}
            }
            column += width;
        }
        let position = position.ok_or("`Properties` names no `pos`")?;
        Ok(Self {
            cell,
            position,
            velocity,
        })
    }
}

/// The value of `key=value` or `key="value"`.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let at = rest.find(key)?;
        let begins = at == 0 || rest[..at].ends_with(char::is_whitespace);
        let after = &rest[at + key.len()..];
        match after.strip_prefix('=') {
            Some(value) if begins => {
                return match value.strip_prefix('"') {
                    Some(quoted) => quoted.split('"').next(),
                    None => value.split_whitespace().next(),
                };
            }
            _ => rest = after,
        }
    }
}

fn parse_lattice(text: &str) -> std::result::Result<PeriodicBox, String> {
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(|field| {
            field
                .parse()
                .map_err(|_| format!("`Lattice` holds `{field}`"))
        })
        .collect::<std::result::Result<_, _>>()?;
    let &[x, a, b, c, y, d, e, f, z] = &numbers[..] else {
        return Err(format!(
            "`Lattice` has {} numbers, expected 9",
            numbers.len()
        ));
    };
    if [a, b, c, d, e, f].iter().any(|&off| off != 0.0) {
        return Err("`Lattice` is skewed; only rectangular boxes are supported".to_owned());
    }
    PeriodicBox::new([x, y, z]).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Frame>> {
        read_frame(&mut text.as_bytes(), Path::new("a.xyz"), 0, None)
    }

    #[test]
    fn a_frame_comes_back_bit_for_bit() {
        let mut atoms = Atoms::lattice(2, 0.8, 1.1, 5).unwrap();
        atoms.positions[3] = [1.0 / 3.0, 1e-300, -0.0];
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &atoms, 7, 0.035).unwrap();
        let frame = read(std::str::from_utf8(&bytes).unwrap()).unwrap().unwrap();
        assert!(frame.has_velocities);
        assert_eq!(frame.atoms, atoms);
    }

    #[test]
    fn wrong_files_are_refused_with_the_line() {
        for (text, message) in [
            (
                "x\n",
                "`a.xyz` line 1: expected a number of atoms, found `x`",
            ),
            (
                "2\n",
                "`a.xyz` line 2: the file ends before the comment line",
            ),
            (
                "1\nno box\nAr 0 0 0\n",
                "`a.xyz` line 2: no `Lattice=\"…\"`; give the box with `--box`",
            ),
            (
                "2\nLattice=\"5 0 0 0 5 0 0 0 5\"\nAr 0 0 0\n",
                "`a.xyz` line 4: the file ends after 1 of 2 atoms",
            ),
            (
                "1\nLattice=\"5 0 0 0 5 0 0 0 5\"\nAr 0 zero 0\n",
                "`a.xyz` line 3: `zero` is not a number",
            ),
            (
                "1\nLattice=\"5 0 0 0 5 0 0 0 5\"\nAr 0\n",
                "`a.xyz` line 3: 2 columns, expected 4",
            ),
            (
                "1\nLattice=\"5 1 0 0 5 0 0 0 5\"\nAr 0 0 0\n",
                "`a.xyz` line 2: `Lattice` is skewed; only rectangular boxes are supported",
            ),
            (
                "1\nLattice=\"5 0 0 0 5 0 0 0 -5\"\nAr 0 0 0\n",
                "`a.xyz` line 2: box side = -5 cannot be used: the sides of a box are positive numbers",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
        assert_eq!(read("").unwrap(), None);
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "1\nProperties=id:I:1:velo:R:3:species:S:1:pos:R:3 Lattice=\"5 0 0 0 6 0 0 0 7\"\n9 1 2 3 Ar 4 5 6\n";
        let frame = read(text).unwrap().unwrap();
        assert_eq!(frame.atoms.positions, [[4.0, 5.0, 6.0]]);
        assert_eq!(frame.atoms.velocities, [[1.0, 2.0, 3.0]]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            count in "[0-9]{0,3}",
            comment in "((Lattice|Properties|pbc)(=|=\"|:)?[ -~]{0,30}\"? ?){0,4}",
            lines in proptest::collection::vec("[ -~]{0,40}", 0..5),
        ) {
            let _ = read(&format!("{count}\n{comment}\n{}\n", lines.join("\n")));
        }
    }
}
