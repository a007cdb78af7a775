//! Counts the allocations of each thread, for figures that are counted and not assumed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter in front.
struct Counting;

// SAFETY: everything is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may allocate after its counter is gone.
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations that this thread has made.
pub(crate) fn made() -> u64 {
    MADE.with(Cell::get)
}
