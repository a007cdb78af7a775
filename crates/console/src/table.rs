//! Tables for people: columns as wide as their widest cell, numbers to the right.

/// A table of text.
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// A table with these headings; a heading that starts with `>` makes a right-aligned column.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            right: headings
                .iter()
                .map(|heading| heading.starts_with('>'))
                .collect(),
            rows: vec![
                headings
                    .iter()
                    .map(|text| text.trim_start_matches('>').into())
                    .collect(),
            ],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), &right) in row.iter().zip(&widths).zip(&self.right) {
                let cell = if right {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                };
                line.push_str(&cell);
                line.push_str("  ");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["what", ">time"]);
        table.row(["copy".into(), "9.1 µs".into()]);
        table.row(["launch".into(), "12.7 µs".into()]);
        assert_eq!(
            table.to_string(),
            "what       time\ncopy     9.1 µs\nlaunch  12.7 µs\n"
        );
    }
}
