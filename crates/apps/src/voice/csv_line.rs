//! A row of values as a line of CSV, the same in a file's sheet and in a live one.

/// The values with commas between them.
pub(super) fn csv_line(row: &[f64]) -> String {
    let cells: Vec<String> = row.iter().map(|value| cell(*value)).collect();
    cells.join(",")
}

/// Seven digits, what an f32 holds; nothing where the value is absent.
fn cell(value: f64) -> String {
    if value.is_nan() {
        String::new()
    } else {
        (value as f32).to_string()
    }
}
