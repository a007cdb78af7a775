//! What a terminal shows after a program has drawn on it, as an SVG.
//!
//! Understands what full-screen programs of ours write: cursor positions, colours and bold.
//! Other sequences are skipped.

use std::fmt::Write;

/// Width and height of a character cell in the picture.
const CELL: (usize, usize) = (8, 15);
/// The eight colours of a terminal, readable on a dark ground.
const COLOURS: [&str; 8] = [
    "#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3",
];

#[derive(Clone, Copy, PartialEq)]
struct Pen {
    colour: Option<usize>,
    bold: bool,
}

#[derive(Clone, Copy)]
struct Cell {
    letter: char,
    pen: Pen,
}

pub(super) struct Screen {
    cells: Vec<Vec<Cell>>,
}

impl Screen {
    /// The screen after `text` was written to it; the last one before it was given back.
    pub(super) fn after(text: &str, rows: usize, columns: usize) -> Self {
        let mut pen = Pen {
            colour: None,
            bold: false,
        };
        let blank = Cell { letter: ' ', pen };
        let mut cells = vec![vec![blank; columns]; rows];
        let (mut row, mut column) = (0, 0);
        let mut rest = text.chars().peekable();
        while let Some(letter) = rest.next() {
            match letter {
                '\x1b' if rest.peek() == Some(&'[') => {
                    rest.next();
                    let mut sequence = String::new();
                    let mut end = ' ';
                    for letter in rest.by_ref() {
                        if letter.is_ascii_alphabetic() {
                            end = letter;
                            break;
                        }
                        sequence.push(letter);
                    }
                    let numbers: Vec<usize> = sequence
                        .split(';')
                        .map(|number| number.parse().unwrap_or(0))
                        .collect();
                    match end {
                        'H' => {
                            row = numbers[0].saturating_sub(1);
                            column = numbers.get(1).copied().unwrap_or(1).saturating_sub(1);
                        }
                        'm' => colour(&mut pen, &numbers),
                        'l' if sequence == "?1049" => break,
                        _ => {}
                    }
                }
                '\r' => column = 0,
                '\n' => row += 1,
                letter if !letter.is_control() => {
                    if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
                        *cell = Cell { letter, pen };
                    }
                    column += 1;
                }
                _ => {}
            }
        }
        Self { cells }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.iter().flatten().all(|cell| cell.letter == ' ')
    }

    pub(super) fn svg(&self) -> String {
        let columns = self.cells.first().map_or(0, Vec::len);
        let (width, height) = ((columns + 2) * CELL.0, (self.cells.len() + 1) * CELL.1);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
             font-size=\"13.3\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
        );
        for (number, row) in self.cells.iter().enumerate() {
            let y = (number + 1) * CELL.1;
            for run in runs(row) {
                let text: String = row[run.clone()].iter().map(|cell| cell.letter).collect();
                let pen = row[run.start].pen;
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{y}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" \
                     fill=\"{}\"{} xml:space=\"preserve\">{}</text>",
                    (run.start + 1) * CELL.0,
                    run.len() * CELL.0,
                    pen.colour.map_or("#e6edf3", |colour| COLOURS[colour]),
                    if pen.bold {
                        " font-weight=\"bold\""
                    } else {
                        ""
                    },
                    escaped(&text)
                );
            }
        }
        svg + "</svg>\n"
    }
}

/// Stretches of a row that one pen wrote, without blank ones.
fn runs(row: &[Cell]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (column, cell) in row.iter().enumerate() {
        // Words keep their columns, whatever width the reader's font has.
        if cell.letter == ' ' {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == column && row[run.start].pen == cell.pen => run.end += 1,
            _ => runs.push(column..column + 1),
        }
    }
    runs
}

fn colour(pen: &mut Pen, numbers: &[usize]) {
    let mut rest = numbers.iter().copied();
    while let Some(number) = rest.next() {
        match number {
            0 => {
                *pen = Pen {
                    colour: None,
                    bold: false,
                }
            }
            1 => pen.bold = true,
            22 => pen.bold = false,
            30..=37 => pen.colour = Some(number - 30),
            39 => pen.colour = None,
            // `38;5;N`: a colour by number.
            38 if rest.next() == Some(5) => pen.colour = rest.next().map(|colour| colour % 8),
            _ => {}
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_is_drawn_with_its_colours() {
        let text = "\x1b[?1049h\x1b[1;1Hab\x1b[2;2H\x1b[38;5;2;49mc<\x1b[39m\x1b[?1049lgone";
        let svg = Screen::after(text, 2, 4).svg();
        assert!(svg.contains(">ab</text>") && svg.contains(">c&lt;</text>"));
        assert!(svg.contains(COLOURS[2]) && !svg.contains("gone"));
    }

    #[test]
    fn what_lies_outside_the_screen_is_not_drawn() {
        assert!(Screen::after("\x1b[9;9Hx", 2, 4).is_empty());
    }
}
