//! Columns of a `[bin, frame]` matrix, sixteen bins at a time: where a bin's frames follow from each other,
//! its neighbours do not, and sixteen of them go side by side.

/// Rows that go together.
pub(crate) const ROWS: usize = 16;

/// Real and imaginary parts of one frame's bins.
pub(crate) type Column = [[f32; ROWS]; 2];

/// Frame `frame` of up to [`ROWS`] rows of `frames`; zeros for rows that there are not, and beyond the
/// last frame.
#[inline(always)]
pub(crate) fn column(rows: &[[f32; 2]], frames: usize, frame: usize) -> Column {
    let mut column = [[0.0; ROWS]; 2];
    if frame < frames {
        for row in 0..ROWS {
            if let Some(bin) = rows.get(row * frames + frame) {
                (column[0][row], column[1][row]) = (bin[0], bin[1]);
            }
        }
    }
    column
}

/// Writes what [`column`] reads.
#[inline(always)]
pub(crate) fn put_column(rows: &mut [[f32; 2]], frames: usize, frame: usize, column: &Column) {
    for row in 0..ROWS {
        if let Some(bin) = rows.get_mut(row * frames + frame) {
            *bin = [column[0][row], column[1][row]];
        }
    }
}
