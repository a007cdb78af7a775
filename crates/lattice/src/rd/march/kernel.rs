//! The kernel: what a thread reads, carries from plane to plane, shares and writes.

use super::assembler::{Assembler, Id, Op};
use super::cell::{Coefficients, cell};
use super::notes::{Notes, note};
use super::{March, NoteUse, ROWS, WIDTH, Way};
use warpsmith_device::VulkanFloats;

/// Four cells, each a `float32`.
type Four = [Id; 4];

/// What a thread carries from plane to plane: of each step and row, four variables.
struct Carried {
    own: Vec<[Four; ROWS as usize]>,
    below: Vec<[Four; ROWS as usize]>,
    memory: Vec<[Four; ROWS as usize]>,
}

fn four_variables(a: &mut Assembler) -> Four {
    [0; 4].map(|_| a.variable())
}

fn two_rows(a: &mut Assembler) -> [Four; ROWS as usize] {
    [0; ROWS as usize].map(|_| four_variables(a))
}

fn loaded(a: &mut Assembler, variables: &Four) -> Four {
    variables.map(|variable| a.load(a.float, variable))
}

fn stored(a: &mut Assembler, variables: &Four, values: &Four) {
    for (variable, value) in variables.iter().zip(values) {
        a.store(*variable, *value);
    }
}

/// Cells that threads of a workgroup show each other, of each step: two rows of four to a thread.
#[derive(Clone, Copy)]
struct Rows {
    march: March,
    array: Id,
    pointer: Id,
}

impl Rows {
    fn new(a: &mut Assembler, march: March) -> Self {
        // Components lie apart, so that threads side by side read words side by side.
        let (array, pointer) = a.shared(a.float, march.shared_bytes() / 4);
        Self {
            march,
            array,
            pointer,
        }
    }

    fn place(self, a: &mut Assembler, step: u32, component: u32, at: Id) -> Id {
        let cells = self.march.tile_rows() * WIDTH;
        let offset = a.u32((4 * step + component) * cells);
        let at = a.value(Op::IAdd, a.word, &[at, offset]);
        a.value(Op::AccessChain, self.pointer, &[self.array, at])
    }

    fn show(self, a: &mut Assembler, step: u32, at: Id, four: &Four) {
        for (component, value) in (0..).zip(four) {
            let place = self.place(a, step, component, at);
            a.store(place, *value);
        }
    }

    fn see(self, a: &mut Assembler, step: u32, at: Id) -> Four {
        [0, 1, 2, 3].map(|component| self.see_one(a, step, component, at))
    }

    /// The place of one number that nobody needs once all planes are done.
    fn first(self, a: &mut Assembler) -> Id {
        let zero = a.u32(0);
        a.value(Op::AccessChain, self.pointer, &[self.array, zero])
    }

    fn see_one(self, a: &mut Assembler, step: u32, component: u32, at: Id) -> Id {
        let place = self.place(a, step, component, at);
        a.load(a.float, place)
    }
}

/// The kernel.
pub(in super::super) fn words(march: March, way: Way, floats: [VulkanFloats; 2]) -> Vec<u32> {
    let mut a = Assembler::new();
    let block = a.block();
    let (five, low) = (a.u32(5), a.u32(31));
    let [lane, line] = if march.subgroups {
        a.in_subgroup()
    } else {
        let thread = a.thread();
        let lane = a.value(Op::BitwiseAnd, a.word, &[thread, low]);
        [
            lane,
            a.value(Op::ShiftRightLogical, a.word, &[thread, five]),
        ]
    };
    let group = a.group();
    let groups = read_word(&mut a, block, 56);
    let some = a.value(Op::ULessThan, a.truth, &[group, groups]);
    let rows = Rows::new(&mut a, march);
    a.when(some, |a| {
        if way.notes != NoteUse::Reads {
            return marched(a, march, way, block, [lane, line, group], rows);
        }
        let place = note(a, block, group);
        let noted = a.load_at(a.word, place);
        let nothing = a.u32(0);
        let noted = a.value(Op::ULessThan, a.truth, &[nothing, noted]);
        a.when(noted, |a| {
            marched(a, march, way, block, [lane, line, group], rows)
        });
    });
    a.finish(march.threads(), floats)
}

pub(super) fn address(a: &mut Assembler, base: Id, bytes: u64) -> Id {
    let bytes = a.u64(bytes);
    a.value(Op::IAdd, a.wide, &[base, bytes])
}

fn read_word(a: &mut Assembler, block: Id, at: u64) -> Id {
    let address = address(a, block, at);
    a.load_at(a.word, address)
}

fn marched(
    a: &mut Assembler,
    march: March,
    way: Way,
    block: Id,
    [lane, line, group]: [Id; 3],
    shared: Rows,
) {
    let March { steps, .. } = march;
    let tile_rows = march.tile_rows();
    let (word, wide, truth) = (a.word, a.wide, a.truth);
    let arrays = [0, 8, 16, 24].map(|at| {
        let at = address(a, block, at);
        a.load_at(wide, at)
    });
    let [row, ny, nz, chunk, across, down] =
        [32, 36, 40, 44, 48, 52].map(|at| read_word(a, block, at));
    let [centre, diffusion, reaction, damped, threshold] = [60, 64, 68, 72, 76].map(|at| {
        let at = address(a, block, at);
        a.load_at(a.float, at)
    });
    let rule = Coefficients {
        centre,
        diffusion,
        reaction,
        damped,
        threshold,
    };
    let add = |a: &mut Assembler, x: Id, y: u32| {
        let y = a.u32(y);
        a.value(Op::IAdd, word, &[x, y])
    };
    let times = |a: &mut Assembler, x: Id, y: u32| {
        let y = a.u32(y);
        a.value(Op::IMul, word, &[x, y])
    };
    let least = |a: &mut Assembler, x: Id, y: Id| {
        let less = a.value(Op::SLessThan, truth, &[x, y]);
        a.select(word, less, x, y)
    };
    let most = |a: &mut Assembler, x: Id, y: Id| {
        let less = a.value(Op::SLessThan, truth, &[x, y]);
        a.select(word, less, y, x)
    };
    // Where the thread is.
    let low = a.u32(31);
    let tile_x = a.value(Op::UMod, word, &[group, across]);
    let rest = a.value(Op::UDiv, word, &[group, across]);
    let tile_y = a.value(Op::UMod, word, &[rest, down]);
    let tile_z = a.value(Op::UDiv, word, &[rest, down]);
    let x = times(a, tile_x, WIDTH - 2);
    let x = a.value(Op::IAdd, word, &[x, lane]);
    let x = add(a, x, u32::MAX);
    let tile_row = times(a, line, ROWS);
    let y = times(a, tile_y, tile_rows - 2 * steps);
    let y = a.value(Op::IAdd, word, &[y, tile_row]);
    let y = add(a, y, steps.wrapping_neg());
    let first = a.value(Op::IMul, word, &[tile_z, chunk]);
    let last = a.value(Op::IAdd, word, &[first, chunk]);
    let last = least(a, last, nz);
    let in_row = a.value(Op::ULessThan, truth, &[x, row]);
    // The outermost lanes write nothing.
    let inner = add(a, lane, u32::MAX);
    let thirty = a.u32(WIDTH - 2);
    let inner = a.value(Op::ULessThan, truth, &[inner, thirty]);
    let rows = [0, 1].map(|r| {
        let y = add(a, y, r);
        let inside = a.value(Op::ULessThan, truth, &[y, ny]);
        let inside = a.value(Op::LogicalAnd, truth, &[inside, in_row]);
        let place = add(a, tile_row, r.wrapping_sub(steps));
        let kept = a.u32(tile_rows - 2 * steps);
        let written = a.value(Op::ULessThan, truth, &[place, kept]);
        let written = a.value(Op::LogicalAnd, truth, &[written, inner]);
        let written = a.value(Op::LogicalAnd, truth, &[written, inside]);
        let offset = a.value(Op::IMul, word, &[y, row]);
        let offset = a.value(Op::IAdd, word, &[offset, x]);
        let offset = a.value(Op::UConvert, wide, &[offset]);
        let sixteen = a.u64(16);
        let offset = a.value(Op::IMul, wide, &[offset, sixteen]);
        (inside, written, offset)
    });
    let plane = a.value(Op::IMul, word, &[row, ny]);
    let plane = a.value(Op::UConvert, wide, &[plane]);
    let sixteen = a.u64(16);
    let plane = a.value(Op::IMul, wide, &[plane, sixteen]);
    // Where its cells and their neighbours lie in shared memory, of each component of each step.
    let zero = a.u32(0);
    let in_shared = |a: &mut Assembler, line: Id, lane: Id| {
        let line = times(a, line, WIDTH);
        a.value(Op::IAdd, word, &[line, lane])
    };
    let before = add(a, lane, u32::MAX);
    let before = most(a, before, zero);
    let behind = add(a, lane, 1);
    let behind = least(a, behind, low);
    let beside = [0, 1].map(|r| {
        let line = add(a, tile_row, r);
        [lane, before, behind].map(|lane| in_shared(a, line, lane))
    });
    let front = add(a, tile_row, u32::MAX);
    let front = most(a, front, zero);
    let front = in_shared(a, front, lane);
    let back = add(a, tile_row, ROWS);
    let end = a.u32(tile_rows - 1);
    let back = least(a, back, end);
    let back = in_shared(a, back, lane);
    let nothing = a.f32(0.0);
    // Nobody depends on what lies there at first; it has to be numbers.
    for step in 0..steps {
        for beside in &beside {
            shared.show(a, step, beside[0], &[nothing; 4]);
        }
    }
    a.barrier();
    let carried = Carried {
        own: (0..steps).map(|_| two_rows(a)).collect(),
        below: (0..steps).map(|_| two_rows(a)).collect(),
        memory: (0..steps).map(|_| two_rows(a)).collect(),
    };
    let (ahead, ahead_memory) = (two_rows(a), two_rows(a));
    let at_plane = |a: &mut Assembler, z: Id| {
        let z = a.value(Op::UConvert, wide, &[z]);
        a.value(Op::IMul, wide, &[z, plane])
    };
    let fetch = |a: &mut Assembler, t: Id| {
        let earlier = add(a, t, u32::MAX);
        let sources = [(arrays[0], t, &ahead), (arrays[1], earlier, &ahead_memory)];
        for (array, z, into) in sources {
            let here = a.value(Op::ULessThan, truth, &[z, nz]);
            let start = at_plane(a, z);
            let start = a.value(Op::IAdd, wide, &[array, start]);
            for ((inside, _, offset), into) in rows.iter().zip(into) {
                stored(a, into, &[nothing; 4]);
                let there = a.value(Op::LogicalAnd, truth, &[here, *inside]);
                a.when(there, |a| {
                    let at = a.value(Op::IAdd, wide, &[start, *offset]);
                    let four = a.load_at(a.floats4, at);
                    let four =
                        [0, 1, 2, 3].map(|n| a.value(Op::CompositeExtract, a.float, &[four, n]));
                    stored(a, into, &four);
                });
            }
        }
    };
    let notes = (way.notes == NoteUse::Writes).then(|| Notes::new(a));
    let start = add(a, first, steps.wrapping_neg());
    let end = add(a, last, steps - 1);
    fetch(a, start);
    a.each(start, end, |a, t| {
        let mut fresh = ahead.each_ref().map(|four| loaded(a, four));
        let mut old = ahead_memory.each_ref().map(|four| loaded(a, four));
        if let Some(notes) = &notes {
            notes.medium(a, fresh.as_flattened());
            notes.memory(a, old.as_flattened());
        }
        let more = a.value(Op::SLessThan, truth, &[t, end]);
        let next_plane = add(a, t, 1);
        a.when(more, |a| fetch(a, next_plane));
        for step in 0..steps {
            let s = step as usize;
            let z = add(a, t, (step + 1).wrapping_neg());
            let in_lattice = a.value(Op::ULessThan, truth, &[z, nz]);
            let own = carried.own[s].each_ref().map(|four| loaded(a, four));
            let below = carried.below[s].each_ref().map(|four| loaded(a, four));
            let mut next = [[0; 4]; ROWS as usize];
            let mut next_memory = next;
            for r in 0..ROWS as usize {
                let (y0, y1) = match r {
                    0 => (shared.see(a, step, front), own[1]),
                    _ => (own[0], shared.see(a, step, back)),
                };
                let [left, right] = if march.subgroups {
                    let left = a.of_thread_before(own[r][3]);
                    [left, a.of_thread_behind(own[r][0])]
                } else {
                    let left = shared.see_one(a, step, 3, beside[r][1]);
                    [left, shared.see_one(a, step, 0, beside[r][2])]
                };
                let line = [left, own[r][0], own[r][1], own[r][2], own[r][3], right];
                let counts = a.value(Op::LogicalAnd, truth, &[in_lattice, rows[r].0]);
                for c in 0..4 {
                    let around = [line[c], line[c + 2], y0[c], y1[c], below[r][c], fresh[r][c]];
                    let now = (own[r][c], old[r][c]);
                    let [value, memory] = cell(a, way, &rule, now, around, counts);
                    next[r][c] = a.select(a.float, counts, value, nothing);
                    next_memory[r][c] = memory;
                }
            }
            for r in 0..ROWS as usize {
                stored(a, &carried.below[s][r], &own[r]);
                stored(a, &carried.own[s][r], &fresh[r]);
                // The memory that a step leaves behind is what the next starts from, one plane later.
                old[r] = loaded(a, &carried.memory[s][r]);
                stored(a, &carried.memory[s][r], &next_memory[r]);
            }
            fresh = next;
            // What the last step leaves is seen by those who read it.
            if let Some(notes) = &notes
                && step + 1 < steps
            {
                notes.medium(a, fresh.as_flattened());
            }
        }
        // Everybody has read what is written next.
        a.barrier();
        for (step, own) in (0..).zip(&carried.own) {
            for (own, beside) in own.iter().zip(&beside) {
                let own = loaded(a, own);
                shared.show(a, step, beside[0], &own);
            }
        }
        a.barrier();
        let z = add(a, t, steps.wrapping_neg());
        let from = a.value(Op::SGreaterThanEqual, truth, &[z, first]);
        let upto = a.value(Op::SLessThan, truth, &[z, last]);
        let kept = a.value(Op::LogicalAnd, truth, &[from, upto]);
        let start = at_plane(a, z);
        for (r, (_, written, offset)) in rows.iter().enumerate() {
            let written = a.value(Op::LogicalAnd, truth, &[kept, *written]);
            a.when(written, |a| {
                let memory = loaded(a, &carried.memory[steps as usize - 1][r]);
                let at = a.value(Op::IAdd, wide, &[start, *offset]);
                for (array, values) in [(arrays[2], fresh[r]), (arrays[3], memory)] {
                    let at = a.value(Op::IAdd, wide, &[array, at]);
                    let four = a.value(Op::CompositeConstruct, a.floats4, &values);
                    a.store_at(a.floats4, at, four);
                }
            });
        }
    });
    if let Some(notes) = &notes {
        let note = note(a, block, group);
        let shared = shared.first(a);
        notes.write(a, note, shared, [lane, line]);
    }
}
