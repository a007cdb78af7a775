//! What a choice costs: `cargo bench -p warpsmith-wisdom --bench choice`.
//!
//! Counts allocations as well: a choice makes none.

#![allow(clippy::print_stdout)] // A bench prints its figures.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use warpsmith_wisdom::{Bus, Candidate, Chooser, Constraints, Curve, Problem, Profile};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands everything to the system's allocator and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let points: Vec<(f64, f64)> = (0..12)
        .map(|power| 8f64.powi(power))
        .map(|size| (size, 1e-7 + size * 1e-9))
        .collect();
    let curve = Curve::through(&points).expect("sizes rise");
    let bus = Bus {
        latency: 1e-5,
        rate: 5e10,
    };
    let candidates = ["scalar", "cpu", "threads", "cuda:0"]
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let mut candidate = Candidate::on_host(name, Profile::measured(curve, curve, 0));
            candidate.bus = (index == 3).then_some([bus, bus]);
            candidate
        })
        .collect();
    let mut chooser = Chooser::new();
    let operation = chooser.add("lattice/rd", candidates);
    let problems: Vec<Problem> = (0..1024)
        .map(|index| Problem {
            size: 1.5f64.powi(index % 48),
            passes: f64::from(1 + index % 100),
            footprint: 1e6,
            bytes_in: 1e6,
            bytes_out: 1e6,
        })
        .collect();
    let constraints = Constraints::default();
    let mut times = Vec::with_capacity(200);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..200 {
        let begun = Instant::now();
        for problem in &problems {
            let choice = chooser.choose(operation, black_box(problem), &constraints);
            let _ = black_box(choice);
        }
        times.push(begun.elapsed().as_secs_f64() / problems.len() as f64);
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    times.sort_by(f64::total_cmp);
    println!(
        "a choice among four: median {:.0} ns, P99 of batches {:.0} ns, {allocations} allocations in {} choices",
        times[times.len() / 2] * 1e9,
        times[times.len() * 99 / 100] * 1e9,
        200 * problems.len()
    );
}
