//! Where the points of a transform come from: the first pass asks for each when it needs it, so that nobody
//! has to put them into memory before.

/// Yields values by their number. `get` must be `#[inline(always)]`, as everything with lanes.
pub trait Inlet<T> {
    /// The value of this number.
    fn get(&self, number: usize) -> T;
}
