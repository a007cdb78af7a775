//! Memory of programs, simulated from what their allocators, collectors and caches do: half of
//! them leak, about 10 KB a step, and half do not.

use warpsmith_workload::random::Random;

use super::{MB, autoregressive, between, noise};

const KB: f64 = 1e3;
const PAGE: f64 = 4096.0;

pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) leaks: bool,
    pub(crate) make: fn(usize, &mut Random) -> Vec<f64>,
}

/// Written before the detector saw any of them; it was unchanged since the fourth hold-out.
pub(crate) const FIRST_PROGRAMS: &[Program] = &[
    Program {
        name: "threads that nobody joins",
        leaks: true,
        // A stack that was touched and a heap of the allocator's for each: 132 KiB and some pages.
        make: |n, random| {
            let every = between(10.0, 16.0, random);
            let mut trace = autoregressive(n, 0.9, 0.3 * MB, random);
            let (mut held, mut next) = (0.0, 0.0);
            for (i, bytes) in trace.iter_mut().enumerate() {
                if i as f64 >= next {
                    held += 132.0 * 1024.0 + PAGE * random.below(4) as f64;
                    next += every * (0.5 + random.unit());
                }
                *bytes += 30.0 * MB + held;
            }
            trace
        },
    },
    Program {
        name: "collected heap whose live set grows",
        leaks: true,
        // The collector runs when the heap is twice what lived after the last run.
        make: |n, random| {
            let mut live = between(10.0, 30.0, random) * MB;
            let garbage = between(0.1, 0.3, random) * MB;
            let (mut heap, mut limit) = (live, 2.0 * live);
            (0..n)
                .map(|_| {
                    live += 10.0 * KB;
                    heap += 10.0 * KB + garbage * 2.0 * random.unit();
                    if heap > limit {
                        heap = live;
                        limit = 2.0 * live;
                    }
                    heap + 0.05 * MB * random.normal()
                })
                .collect()
        },
    },
    Program {
        name: "heap pinned by small survivors",
        leaks: true,
        // Large buffers come and go; a small object that stays keeps the top of the heap in place,
        // and the heap moves in steps of its trim threshold.
        make: |n, random| {
            let load = autoregressive(n, 0.97, 3.0 * MB, random);
            let mut pinned = 0.0;
            load.iter()
                .map(|busy| {
                    if random.unit() < 0.08 {
                        pinned += between(0.5, 1.5, random) * 125.0 * KB;
                    }
                    let needed = 40.0 * MB + pinned + busy.max(0.0);
                    (needed / (128.0 * 1024.0)).ceil() * 128.0 * 1024.0
                })
                .collect()
        },
    },
    Program {
        name: "listeners in a table that doubles",
        leaks: true,
        make: |n, random| {
            let mut count = 0u64;
            let mut capacity = 1u64 << 10;
            let mut trace = noise(n, 0.2 * MB, random);
            for bytes in &mut trace {
                count += 10 + random.below(20) as u64;
                let mut old = 0;
                if count > capacity {
                    // Both tables live while the entries move.
                    old = capacity;
                    capacity *= 2;
                }
                *bytes += 20.0 * MB + 480.0 * count as f64 + 16.0 * (capacity + old) as f64;
            }
            trace
        },
    },
    Program {
        name: "arenas of threads on their first request",
        leaks: false,
        // A thread's arena has its size after a few requests; the last threads wait for long.
        make: |n, random| {
            let threads = 32 + random.below(64);
            let mean = between(0.02, 0.06, random) * n as f64;
            let first: Vec<f64> = (0..threads)
                .map(|_| -mean * (1.0 - random.unit()).ln())
                .collect();
            let size: Vec<f64> = first
                .iter()
                .map(|_| between(0.4, 1.6, random) * MB)
                .collect();
            let mut trace = autoregressive(n, 0.8, 0.2 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                let arenas = first.iter().zip(&size);
                *bytes += arenas
                    .map(|(first, size)| size * ((i as f64 - first) / 40.0).clamp(0.0, 1.0))
                    .sum::<f64>();
            }
            trace
        },
    },
    Program {
        name: "cache that fills by its misses, then stops",
        leaks: false,
        make: |n, random| {
            let limit = between(30.0, 120.0, random) * MB;
            let full = between(0.15, 0.45, random) * n as f64;
            let mut held = 0.0;
            (0..n)
                .map(|_| {
                    // Keys repeat: the fuller, the fewer the misses.
                    let miss = 1.0 - 0.6 * held / limit;
                    held += miss * 1.53 * limit / full * 2.0 * random.unit();
                    if held > limit {
                        held -= between(0.1, 1.0, random) * MB;
                    }
                    held + 0.1 * MB * random.normal()
                })
                .collect()
        },
    },
    Program {
        name: "mapped file read through and dropped",
        leaks: false,
        make: |n, random| {
            let file = between(40.0, 200.0, random) * MB;
            let pass = n as f64 / between(4.0, 9.0, random);
            let mut read = random.unit() * file;
            (0..n)
                .map(|_| {
                    read += file / pass * 2.0 * random.unit();
                    if read > file {
                        read = 0.0;
                    }
                    25.0 * MB + (read / (64.0 * 1024.0)).floor() * 64.0 * 1024.0
                })
                .collect()
        },
    },
    Program {
        name: "log buffers under a daily load",
        leaks: false,
        // Chunks of 64 KiB are flushed by size or by time; sessions follow the hour.
        make: |n, random| {
            let day = n as f64 / between(2.5, 5.0, random);
            let phase = between(0.0, std::f64::consts::TAU, random);
            let (mut filled, mut age) = (0.0f64, 0);
            (0..n)
                .map(|i| {
                    let hour = (std::f64::consts::TAU * i as f64 / day + phase).sin();
                    filled += (30.0 + 25.0 * hour) * KB * 2.0 * random.unit();
                    age += 1;
                    if filled > 4.0 * MB || age > 120 {
                        (filled, age) = (0.0, 0);
                    }
                    let chunks = (filled / 65_536.0).ceil() * 65_536.0;
                    50.0 * MB + 6.0 * MB * hour + chunks + 0.3 * MB * random.normal()
                })
                .collect()
        },
    },
];
