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
        let [re, im] = &mut column;
        for (row, (re, im)) in re.iter_mut().zip(im).enumerate() {
            if let Some(bin) = rows.get(row * frames + frame) {
                (*re, *im) = (bin[0], bin[1]);
            }
        }
    }
    column
}

/// Writes what [`column`] reads.
#[inline(always)]
pub(crate) fn put_column(rows: &mut [[f32; 2]], frames: usize, frame: usize, column: &Column) {
    let [re, im] = column;
    for (row, (re, im)) in re.iter().zip(im).enumerate() {
        if let Some(bin) = rows.get_mut(row * frames + frame) {
            *bin = [*re, *im];
        }
    }
}
