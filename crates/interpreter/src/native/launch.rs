//! Runs native code over a grid, on the memory of the arguments.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::code::{NativeCode, Part};
use super::memory::{Base, Region};
use super::worker::{Shared, Worker};
use crate::argument::{Argument, ArgumentError, ArrayArgument, Borrowed};
use crate::binding::{Bindings, shares_memory};
use crate::findings::Observations;
use crate::lanes::{ALL, LANES};
use crate::launch::{BLOCKS_AT_A_TIME, Interpreter, Outcome};
use crate::layout::Layout;
use warpsmith_ir::types::Type;

/// Steps of threads (a step of a block counts 64 times) below which one core is faster than several.
const WORTH_SHARING: usize = 1 << 19;

impl Interpreter<'_> {
    /// What the kernel has that only the interpreter does; nothing where it runs natively.
    pub fn interpreted_because(&self) -> Option<&'static str> {
        self.native().err()
    }

    /// As [`Interpreter::run`], at native speed: the same results and findings. A kernel that has
    /// [`Interpreter::interpreted_because`] is interpreted, and so is one whose races are looked for or that
    /// runs in thread order.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub fn run_native(
        &self,
        dim: &[usize],
        arguments: &mut [Argument],
    ) -> Result<Outcome, ArgumentError> {
        if !self.runs_natively() {
            return self.run(dim, arguments);
        }
        let borrowed: Vec<Argument<Borrowed>> = arguments.iter_mut().map(borrow).collect();
        // SAFETY: the memory is that of vectors that nobody else has while this runs.
        let mut outcome = unsafe { self.run_in_place(dim, &borrowed)? };
        if self.checks_finiteness {
            outcome.non_finite = self.non_finite(arguments);
        }
        Ok(outcome)
    }

    /// Runs the kernel on memory that somebody else owns, without a copy where it runs natively. Arrays may
    /// overlap; those that the kernel only reads are not written.
    ///
    /// # Safety
    /// Every array's bytes can be read, and written where the kernel writes to the array, until this
    /// returns; meanwhile nobody else writes them, or reads what is written.
    ///
    /// # Errors
    /// Arguments or a grid that do not fit the kernel.
    pub unsafe fn run_in_place(
        &self,
        dim: &[usize],
        arguments: &[Argument<Borrowed>],
    ) -> Result<Outcome, ArgumentError> {
        let code = match self.native() {
            Ok(code) if self.runs_natively() => code,
            _ => {
                // SAFETY: the caller's.
                return unsafe { self.run_copies(dim, arguments) };
            }
        };
        let threads = self.threads(dim)?;
        let bindings = self.bind(dim, arguments)?;
        let regions = self.regions(&bindings, arguments);
        let program = &self.plan.program;
        let ordered = program.ordered
            || shares_memory(arguments)
            || overlap(&regions)
            || !self.aligned(&bindings, &regions)
            || program.access.iter().any(|access| access.is_ordered());
        let chunks = threads.div_ceil(BLOCKS_AT_A_TIME * LANES);
        let workers = chunks.min(rayon::current_num_threads());
        let work = threads.saturating_mul(code.steps.len());
        let parallel = !ordered && workers > 1 && work >= WORTH_SHARING;
        let bases: Vec<Base> = (code.places.iter())
            .map(|place| place.base(&bindings, &regions))
            .collect();
        let shared = Shared {
            places: &code.places,
            bases: &bases,
            grouped: &code.grouped,
            indexed: &code.indexed,
            regions: &regions,
            parallel,
        };
        let next = AtomicUsize::new(0);
        let work = |worker: &mut Worker<'_>| {
            loop {
                let first = next.fetch_add(1, Relaxed) * BLOCKS_AT_A_TIME * LANES;
                if first >= threads {
                    return;
                }
                let end = (first + BLOCKS_AT_A_TIME * LANES).min(threads);
                for block in (first..end).step_by(LANES) {
                    if worker.machine.is_over() {
                        return;
                    }
                    worker.run_block(code, block, end);
                }
            }
        };
        let start = || {
            let mut worker = Worker::new(program, &bindings, shared, code);
            work(&mut worker);
            worker.machine.seen
        };
        let seen = if parallel {
            let all = Mutex::new(Observations::default());
            rayon::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| {
                        let seen = start();
                        if let Ok(mut all) = all.lock() {
                            *all = std::mem::take(&mut *all).merged(seen);
                        }
                    });
                }
            });
            all.into_inner().unwrap_or_default()
        } else {
            start()
        };
        Ok(Outcome {
            parallel,
            native: true,
            ..self.outcome(seen)
        })
    }

    /// Whether nothing about this run asks for the interpreter.
    fn runs_natively(&self) -> bool {
        !self.checks_races && !self.one_by_one && self.native().is_ok()
    }

    /// Interprets the kernel on copies of the arrays, and copies what changed back.
    ///
    /// # Safety
    /// As [`Interpreter::run_in_place`].
    unsafe fn run_copies(
        &self,
        dim: &[usize],
        arguments: &[Argument<Borrowed>],
    ) -> Result<Outcome, ArgumentError> {
        // SAFETY: the caller's.
        let mut copies: Vec<Argument> = arguments.iter().map(|it| unsafe { copy(it) }).collect();
        let before = copies.clone();
        let outcome = self.run(dim, &mut copies)?;
        for ((to, before), after) in arguments.iter().zip(&before).zip(&copies) {
            // SAFETY: the caller's; what the kernel did not write is not written.
            unsafe { write_back(to, before, after) };
        }
        Ok(outcome)
    }

    /// The memory of the arrays, in the order of their buffers.
    fn regions(&self, bindings: &Bindings, arguments: &[Argument<Borrowed>]) -> Vec<Region> {
        let mut arrays = Vec::new();
        arguments.iter().for_each(|it| list(it, &mut arrays));
        let given = bindings.given.iter().zip(arrays);
        given
            .map(|((_, ty), array)| {
                let stride = match ty {
                    Type::Array { element, .. } => Layout::of(self.module, *element).bytes,
                    _ => 0,
                };
                Region {
                    values: array.data.address,
                    gradients: array
                        .gradient
                        .map_or(std::ptr::null_mut(), |gradient| gradient.address),
                    elements: array.shape.iter().product(),
                    stride,
                }
            })
            .collect()
    }

    /// Whether every scalar of every array lies where atomic operations can reach it.
    fn aligned(&self, bindings: &Bindings, regions: &[Region]) -> bool {
        let mut arrays = bindings.given.iter().zip(regions);
        arrays.all(|((_, ty), region)| match ty {
            Type::Array { element, .. } => {
                let alignment = Layout::of(self.module, *element).alignment.max(1);
                let places = [region.values.addr(), region.gradients.addr()];
                places.iter().all(|place| place.is_multiple_of(alignment))
            }
            _ => true,
        })
    }
}

/// Whether two arrays, or one's values and another's gradients, share memory.
fn overlap(regions: &[Region]) -> bool {
    let mut spans: Vec<(usize, usize)> = regions
        .iter()
        .flat_map(|region| [region.values, region.gradients].map(|from| (from, region.bytes())))
        .filter(|(from, bytes)| !from.is_null() && *bytes > 0)
        .map(|(from, bytes)| (from.addr(), from.addr() + bytes))
        .collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

impl Worker<'_> {
    /// Runs the threads of one block, none from `end` on.
    fn run_block(&mut self, code: &NativeCode, first: usize, end: usize) {
        let count = (end - first).min(LANES);
        let lanes = if count == LANES {
            ALL
        } else {
            (1 << count) - 1
        };
        self.machine.begin(first, lanes);
        let mut executed = 0;
        let mut at = 0;
        while let Some(part) = code.parts.get(at) {
            match *part {
                Part::Straight(first, end) => {
                    self.refresh();
                    for step in &code.steps[first as usize..end as usize] {
                        // SAFETY: the steps are this program's, compiled for a set that was detected.
                        unsafe { (step.run)(self, step) };
                    }
                    executed += u64::from(end - first);
                    at += 1;
                }
                Part::Machine(position) => {
                    let next = self.machine.step(position as usize);
                    executed += 1;
                    at = code.part_at[next] as usize;
                }
            }
        }
        self.machine.seen.lane_instructions += executed * count as u64;
    }
}

/// The same argument, with the memory of its arrays where it lies.
fn borrow(argument: &mut Argument) -> Argument<Borrowed> {
    let memory = |bytes: &mut Vec<u8>| Borrowed {
        address: bytes.as_mut_ptr(),
        bytes: bytes.len(),
    };
    match argument {
        Argument::Value(numbers) => Argument::Value(numbers.clone()),
        Argument::Array(array) => Argument::Array(ArrayArgument {
            shape: array.shape.clone(),
            data: memory(&mut array.data),
            gradient: array.gradient.as_mut().map(memory),
        }),
        Argument::Struct(fields) => Argument::Struct(fields.iter_mut().map(borrow).collect()),
        Argument::Same(position) => Argument::Same(*position),
        Argument::Absent => Argument::Absent,
    }
}

/// # Safety
/// The arrays' bytes can be read.
unsafe fn copy(argument: &Argument<Borrowed>) -> Argument {
    // SAFETY: the caller's.
    let bytes = |memory: &Borrowed| unsafe {
        match memory.bytes {
            0 => Vec::new(),
            bytes => std::slice::from_raw_parts(memory.address, bytes).to_vec(),
        }
    };
    match argument {
        Argument::Value(numbers) => Argument::Value(numbers.clone()),
        Argument::Array(array) => Argument::Array(ArrayArgument {
            shape: array.shape.clone(),
            data: bytes(&array.data),
            gradient: array.gradient.as_ref().map(bytes),
        }),
        Argument::Struct(fields) => {
            // SAFETY: the caller's.
            Argument::Struct(fields.iter().map(|field| unsafe { copy(field) }).collect())
        }
        Argument::Same(position) => Argument::Same(*position),
        Argument::Absent => Argument::Absent,
    }
}

/// # Safety
/// The bytes of arrays that differ can be written.
unsafe fn write_back(to: &Argument<Borrowed>, before: &Argument, after: &Argument) {
    // SAFETY: the caller's; a copy has as many bytes as what it was made of.
    let write = |to: &Borrowed, before: &[u8], after: &[u8]| unsafe {
        if before != after {
            std::ptr::copy_nonoverlapping(after.as_ptr(), to.address, to.bytes);
        }
    };
    match (to, before, after) {
        (Argument::Array(to), Argument::Array(before), Argument::Array(after)) => {
            write(&to.data, &before.data, &after.data);
            if let (Some(to), Some(before), Some(after)) =
                (&to.gradient, &before.gradient, &after.gradient)
            {
                write(to, before, after);
            }
        }
        (Argument::Struct(to), Argument::Struct(before), Argument::Struct(after)) => {
            for ((to, before), after) in to.iter().zip(before).zip(after) {
                // SAFETY: the caller's.
                unsafe { write_back(to, before, after) };
            }
        }
        _ => {}
    }
}

/// The arrays of an argument, in the order of their buffers.
fn list<'a>(argument: &'a Argument<Borrowed>, arrays: &mut Vec<&'a ArrayArgument<Borrowed>>) {
    match argument {
        Argument::Array(array) => arrays.push(array),
        Argument::Struct(fields) => fields.iter().for_each(|field| list(field, arrays)),
        Argument::Value(_) | Argument::Same(_) | Argument::Absent => {}
    }
}
