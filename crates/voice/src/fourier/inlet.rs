//! Where the points of a transform come from: the first pass asks for each when it needs it, so that nobody
//! has to put them into memory before.

/// Yields values by their number. `get` must be `#[inline(always)]`, as everything with lanes.
pub(crate) trait Inlet<T> {
    fn get(&self, number: usize) -> T;
}
