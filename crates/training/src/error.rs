//! What can go wrong between a caller's buffers and a result.

pub use warpsmith_core::ArgumentError;

/// The result of an operation.
pub type Result<T, E = ArgumentError> = std::result::Result<T, E>;

/// Whether `x` is whole rows of `width` numbers, and `out` as long.
pub(crate) fn check_rows(x: &[f32], width: usize, out: &[f32]) -> Result<()> {
    ArgumentError::expect_size("the result", out.len(), x.len())?;
    if width == 0 || !x.len().is_multiple_of(width) {
        return Err(ArgumentError::parameter(
            "width",
            width,
            format!("{} values do not make whole rows", x.len()),
        ));
    }
    Ok(())
}
