//! Components of one element, loaded, stored or added to in one step.
//!
//! Arrays of vectors are stored component by component behind one another, and rows hold one component
//! each: a step for each component would walk over the same memory as often as there are components.
//!
//! Invariant: a group does what its steps do one after another. Where the lanes' elements do not follow one
//! another, or some lanes must be left as they are, that is what it does.

use super::cells::{Use, cells, is_pure};
use super::place::Place;
use super::step::{Body, Step};
use super::worker::Worker;
use crate::instruction::{Binary, BufferAt, Instruction, Location, Update};
use crate::lanes::{ALL, Cell, LANES};
use crate::plan::Program;
use warpsmith_ir::types::Scalar;

/// Steps `a` to before `a + b` of the grouped ones: loads.
pub(super) struct LoadAll;
/// The same: stores.
pub(super) struct StoreAll;
/// The same: sums of floats that nobody looks at.
pub(super) struct AddAll;
/// The same: exchanges.
pub(super) struct ExchangeAll;

/// The most components of a group.
pub(super) const MOST: usize = 16;

/// Instructions that are looked at for members of a group.
const FURTHEST: usize = 48;

/// What a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    Store,
    Add,
    Exchange,
}

/// A member of a group: its place, the cell that it reads and the one that it writes.
struct Member {
    kind: Kind,
    at: Location,
    source: Option<Cell>,
    result: Option<Cell>,
}

impl Member {
    fn of(instruction: &Instruction) -> Option<Self> {
        let word = |ty: Scalar| matches!(ty, Scalar::F32 | Scalar::I32 | Scalar::U32);
        let (kind, at, source, result) = match *instruction {
            Instruction::Load { ty, dst, from } if word(ty) => (Kind::Load, from, None, Some(dst)),
            Instruction::Store { ty, src, to } if word(ty) => (Kind::Store, to, Some(src), None),
            Instruction::Atomic {
                update: Update::Binary(Binary::Add),
                ty: Scalar::F32,
                src,
                at,
                observed: false,
                ..
            } => (Kind::Add, at, Some(src), None),
            Instruction::Atomic {
                update: Update::Exchange,
                ty,
                dst,
                src,
                at,
                observed: true,
            } if word(ty) => (Kind::Exchange, at, Some(src), Some(dst)),
            _ => return None,
        };
        let one_array = matches!(at.buffer, BufferAt::Param(_)) && at.offset.is_none();
        // A step that overwrites its own indices changes what the next one means.
        (one_array && result != Some(at.element)).then_some(Self {
            kind,
            at,
            source,
            result,
        })
    }

    /// Whether an instruction writes what this one reads, or uses what it writes.
    fn meets(&self, other: &Instruction, program: &Program) -> bool {
        let mut meets = false;
        cells(other, program, |cell, how| {
            let read = self.source == Some(cell) || self.at.element == cell;
            meets |= self.result == Some(cell) || (how != Use::Read && read);
        });
        meets
    }

    /// Whether this one can follow the members before it.
    fn follows(&self, before: &[Self]) -> bool {
        let Some(last) = before.last() else {
            return true;
        };
        let next = Location {
            column: last.at.column + 1,
            ..last.at
        };
        let reads_result = |other: &Self| other.result.is_some() && other.result == self.source;
        self.kind == last.kind && self.at == next && !before.iter().any(reads_result)
    }
}

/// The positions of the group that begins with the first of these instructions, and what it does; at least
/// two of them. Instructions between them that only compute are passed over: members go before them.
pub(super) fn group<'a>(
    code: impl Iterator<Item = (usize, &'a Instruction)>,
    program: &Program,
) -> Option<(Kind, Vec<usize>)> {
    let mut members: Vec<Member> = Vec::new();
    let mut positions = Vec::new();
    let mut passed: Vec<&Instruction> = Vec::new();
    for (position, instruction) in code.take(FURTHEST) {
        match Member::of(instruction) {
            Some(member) if member.follows(&members) && members.len() < MOST => {
                if passed.iter().any(|other| member.meets(other, program)) {
                    break;
                }
                members.push(member);
                positions.push(position);
            }
            None if is_pure(instruction) && !members.is_empty() => passed.push(instruction),
            _ => break,
        }
    }
    (positions.len() > 1).then(|| (members[0].kind, positions))
}

/// The rows of a group's steps, and where its first scalar lies if all lanes' elements follow one another
/// and the components do too.
#[inline(always)]
fn together<'p>(worker: &Worker<'p>, step: &Step) -> (&'p [Step], Option<(*mut u32, usize)>) {
    let steps = &worker.shared.grouped[step.a as usize..][..step.b as usize];
    let place: &Place = &worker.shared.places[steps[0].b as usize];
    let found = place
        .run(worker)
        .map(|(from, stride)| (from.cast::<u32>(), stride));
    // Elements of words, as wide as words: numbers of words are exact.
    let found = found.filter(|(_, stride)| stride.is_multiple_of(4));
    (steps, found.map(|(from, stride)| (from, stride / 4)))
}

/// Does the steps one by one.
#[inline(always)]
unsafe fn one_by_one(worker: &mut Worker<'_>, steps: &[Step]) {
    for step in steps {
        // SAFETY: the caller's: they are steps of the same code.
        unsafe { (step.run)(worker, step) };
    }
}

/// Calls `f` with the word in memory and the lane's in the row, for all components and lanes: `N` of them at a
/// time, as that is what lies together.
#[inline(always)]
fn for_each_word<const N: usize>(
    memory: *mut u32,
    stride: usize,
    rows: &[*mut u32],
    f: impl Fn(*mut u32, *mut u32),
) {
    let rows: [*mut u32; N] = std::array::from_fn(|n| rows[n]);
    for lane in 0..LANES {
        let element = memory.wrapping_add(lane * stride);
        for (component, row) in rows.iter().enumerate() {
            f(element.wrapping_add(component), row.wrapping_add(lane));
        }
    }
}

/// [`for_each_word`] for any number of rows.
#[inline(always)]
fn for_all_words(
    memory: *mut u32,
    stride: usize,
    rows: &[*mut u32],
    f: impl Fn(*mut u32, *mut u32) + Copy,
) {
    let mut first = 0;
    while first < rows.len() {
        let (memory, rows) = (memory.wrapping_add(first), &rows[first..]);
        first += match rows.len() {
            1 => {
                for_each_word::<1>(memory, stride, rows, f);
                1
            }
            2 => {
                for_each_word::<2>(memory, stride, rows, f);
                2
            }
            4 => {
                for_each_word::<4>(memory, stride, rows, f);
                4
            }
            _ => {
                for_each_word::<3>(memory, stride, rows, f);
                3
            }
        };
    }
}

/// The rows that the steps of a group name, by what is asked of each.
#[inline(always)]
fn rows(worker: &Worker<'_>, steps: &[Step], of: impl Fn(&Step) -> u32) -> [*mut u32; MOST] {
    let mut rows = [std::ptr::null_mut(); MOST];
    for (row, step) in rows.iter_mut().zip(steps) {
        *row = worker.row(of(step));
    }
    rows
}

impl Body for LoadAll {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (steps, found) = together(worker, step);
        let whole = worker.mask == ALL || steps.iter().all(|step| step.local);
        let Some((from, stride)) = found.filter(|_| whole) else {
            // SAFETY: the caller's.
            return unsafe { one_by_one(worker, steps) };
        };
        let out = rows(worker, steps, |step| step.dst);
        // SAFETY: `run` says that the elements of all lanes lie in the array; the others are rows.
        for_all_words(from, stride, &out[..steps.len()], |word, lane| unsafe {
            *lane = word.read_unaligned();
        });
    }
}

impl Body for StoreAll {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (steps, found) = together(worker, step);
        let Some((to, stride)) = found.filter(|_| worker.mask == ALL) else {
            // SAFETY: the caller's.
            return unsafe { one_by_one(worker, steps) };
        };
        let source = rows(worker, steps, |step| step.a);
        // SAFETY: as above.
        for_all_words(to, stride, &source[..steps.len()], |word, lane| unsafe {
            word.write_unaligned(*lane);
        });
    }
}

impl Body for AddAll {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (steps, found) = together(worker, step);
        let Some((at, stride)) = found.filter(|_| worker.mask == ALL) else {
            // SAFETY: the caller's.
            return unsafe { one_by_one(worker, steps) };
        };
        let source = rows(worker, steps, |step| step.a);
        // SAFETY: as above.
        for_all_words(at, stride, &source[..steps.len()], |word, lane| unsafe {
            let sum = f32::from_bits(word.read_unaligned()) + f32::from_bits(*lane);
            word.write_unaligned(sum.to_bits());
        });
    }
}

impl Body for ExchangeAll {
    #[inline(always)]
    unsafe fn run(worker: &mut Worker<'_>, step: &Step) {
        let (steps, found) = together(worker, step);
        let Some((at, stride)) = found.filter(|_| worker.mask == ALL) else {
            // SAFETY: the caller's.
            return unsafe { one_by_one(worker, steps) };
        };
        let (source, out) = (
            rows(worker, steps, |step| step.a),
            rows(worker, steps, |step| step.dst),
        );
        for (n, (source, out)) in source.iter().zip(out).take(steps.len()).enumerate() {
            for lane in 0..LANES {
                let word = at.wrapping_add(lane * stride + n);
                // SAFETY: as above.
                unsafe {
                    let given = *source.wrapping_add(lane);
                    *out.wrapping_add(lane) = word.read_unaligned();
                    word.write_unaligned(given);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};

    use crate::{Argument, ArrayArgument, Interpreter, random_arguments};

    /// Elements in order, out of order, under a condition, of an array that another step writes, and beyond
    /// the end.
    const SOURCE: &str = "import warp as wp

@wp.kernel
def mixed(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    n = p.shape[0]
    a = p[i] + p[(i + 5) % n] + p[i]
    if a[0] > 0.5:
        q[i] = wp.cross(a, p[(i * 7) % n]) + q[i]
        m[i] = m[i] * m[i]
    else:
        wp.atomic_add(q, i // 2, a)
    p[i] = a
    q[i - 1] = p[i + 1] * a[1]
";

    #[test]
    fn groups_do_what_the_interpreter_does() {
        let module = compile(SOURCE, &Options::default()).unwrap();
        for kernel in [Interpreter::forward(&module), Interpreter::adjoint(&module)] {
            let kernel = kernel.unwrap();
            for threads in [1, 63, 64, 500] {
                let mut arguments = random_arguments(&module, &[threads], 7).unwrap();
                let (outcome, difference) = kernel.run_both(&[threads], &mut arguments).unwrap();
                assert!(outcome.native && difference.is_none(), "{difference:?}");
            }
        }
    }

    #[test]
    fn arrays_without_elements_are_not_looked_at() {
        let source = "import warp as wp\n\n@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), \
            q: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n    q[i] = p[i] * 2.0\n";
        let module = compile(source, &Options::default()).unwrap();
        for kernel in [Interpreter::forward(&module), Interpreter::adjoint(&module)] {
            let mut arguments = random_arguments(&module, &[100], 1).unwrap();
            arguments[0] = Argument::Array(ArrayArgument {
                shape: vec![0],
                data: Vec::new(),
                gradient: Some(Vec::new()),
            });
            let (outcome, difference) = kernel.unwrap().run_both(&[100], &mut arguments).unwrap();
            assert!(!outcome.findings.is_empty() && difference.is_none());
        }
    }
}
