//! Where the results of a transform go: each is handed on as soon as there is one, so that what is done with
//! it next need not find it in memory.

/// Takes values by their number. `put` must be `#[inline(always)]`, as everything with lanes.
pub trait Outlet<T> {
    /// Takes the value of this number.
    fn put(&mut self, number: usize, value: T);
}

/// Values to their places.
impl<T> Outlet<T> for &mut [T] {
    #[inline(always)]
    fn put(&mut self, number: usize, value: T) {
        self[number] = value;
    }
}
