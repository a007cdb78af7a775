//! The instruction loop.

use super::control::Machine;
use crate::arithmetic;
use crate::findings::Fault;
use crate::instruction::{Binary, Instruction, Update};
use crate::lanes::{ALL, Cell, LANES, Mask, each, is_wide};
use crate::text::Piece;

impl Machine<'_> {
    /// Runs the threads `first_thread..end`, at most [`LANES`] of them.
    pub(crate) fn run_block(&mut self, first_thread: usize, end: usize) {
        let count = (end - first_thread).min(LANES);
        let lanes = if count == LANES {
            ALL
        } else {
            (1 << count) - 1
        };
        self.begin(first_thread, lanes);
        let mut at = 0;
        let mut executed = 0;
        while at < self.program.code.len() {
            executed += 1;
            at = self.step(at);
        }
        self.seen.lane_instructions += executed * count as u64;
    }

    /// Executes the instruction at a position of the program, and gives that of the next one.
    #[inline]
    pub(crate) fn step(&mut self, at: usize) -> usize {
        let mask = self.active();
        match self.program.code[at] {
            Instruction::Binary { op, ty, dst, a, b } => {
                if matches!(op, Binary::Div | Binary::Mod | Binary::FloorDiv) && !ty.is_float() {
                    let zero = arithmetic::zero_divisors(&self.registers, mask, ty, b);
                    if zero != 0 {
                        self.stop(zero, at, Fault::ZeroDivisor, |_, _| {
                            "the divisor is 0".to_owned()
                        });
                    }
                }
                let mask = self.active();
                arithmetic::binary(&mut self.registers, mask, op, ty, (dst, a, b));
            }
            Instruction::Unary { op, ty, dst, a } => {
                arithmetic::unary(&mut self.registers, mask, op, ty, dst, a);
            }
            Instruction::MulAdd { ty, dst, a, b, c } => {
                arithmetic::mul_add(&mut self.registers, mask, is_wide(ty), dst, (a, b, c));
            }
            Instruction::Classify { class, ty, dst, a } => {
                arithmetic::classify(&mut self.registers, mask, class, ty, dst, a);
            }
            Instruction::Compare { op, ty, dst, a, b } => {
                arithmetic::compare(&mut self.registers, mask, op, ty, (dst, a, b));
            }
            Instruction::Select {
                ty,
                dst,
                cond,
                a,
                b,
            } => {
                arithmetic::select(&mut self.registers, mask, is_wide(ty), dst, cond, (a, b));
            }
            Instruction::Move { ty, dst, src } => {
                arithmetic::copy(&mut self.registers, mask, is_wide(ty), dst, src);
            }
            Instruction::Cast { from, to, dst, src } => {
                arithmetic::cast(&mut self.registers, mask, from, to, dst, src);
            }
            Instruction::Zero { first, count } => self.registers.zero(first, count),
            Instruction::Tid { dst, axis, rank } => self.coordinate(dst, axis, rank),
            Instruction::Gather {
                ty,
                dst,
                first,
                len,
                index,
            } => {
                self.gather(mask, ty, dst, first, len, index);
            }
            Instruction::Scatter {
                ty,
                first,
                len,
                index,
                src,
            } => {
                self.scatter(mask, ty, first, len, index, src);
            }
            Instruction::Component { dst, index, len } => self.component(mask, at, dst, index, len),
            Instruction::AddressParam {
                param,
                rank,
                indices,
                dst,
            } => {
                self.address_param(mask, at, param, rank, indices, dst);
            }
            Instruction::Address {
                array,
                rank,
                indices,
                dst,
                buffer,
            } => {
                self.address(mask, at, array, rank, indices, dst, buffer);
            }
            Instruction::ViewIndex { array, axis, index } => {
                self.view_index(mask, at, array, axis, index);
            }
            Instruction::ViewSlice { array, axis, slice } => {
                self.view_slice(mask, array, axis, slice);
            }
            Instruction::Load { ty, dst, from } => {
                if self.watch.is_some() {
                    self.watch_load(mask, at, from);
                }
                self.load(mask, ty, dst, from);
            }
            Instruction::Store { ty, src, to } => {
                if self.watch.is_some() {
                    self.watched_store(mask, at, ty, src, to);
                } else {
                    self.store(mask, ty, src, to);
                }
            }
            Instruction::Atomic {
                update,
                ty,
                dst,
                src,
                at: place,
                observed,
            } => {
                if self.watch.is_some() {
                    self.watch_atomic(mask, at, update, observed, place);
                }
                self.atomic(mask, (update, ty), (dst, src), place, observed);
            }
            Instruction::CompareExchange {
                ty,
                dst,
                expected,
                src,
                at: place,
            } => {
                if self.watch.is_some() {
                    self.watch_atomic(mask, at, Update::Exchange, true, place);
                }
                self.compare_exchange(mask, ty, dst, expected, src, place);
            }
            Instruction::ReverseRange { range } => self.reverse_range(mask, range),
            Instruction::RangeTest { dst, range } => self.range_test(mask, dst, range),
            Instruction::Mark { variable } => self.marks[variable as usize] |= mask,
            Instruction::CheckMarked { variable } => {
                self.check(mask & !self.marks[variable as usize], at, variable);
            }
            Instruction::MarkChosen {
                variable,
                cond,
                from,
            } => {
                let truth = self.registers.truth(cond);
                let [first, second] =
                    from.map(|mark| mark.map_or(ALL, |mark| self.marks[mark as usize]));
                let has_value = truth & first | !truth & second;
                let marks = &mut self.marks[variable as usize];
                *marks = *marks & !mask | has_value & mask;
            }
            Instruction::Expect {
                cond,
                message,
                stops,
            } => {
                let failed = mask & !self.registers.truth(cond);
                let fault = Fault::Expectation(message);
                let detail = |_: &Self, _: usize| "the condition is false".to_owned();
                if failed != 0 && stops {
                    self.stop(failed, at, fault, detail);
                } else if failed != 0 {
                    self.report(failed, at, fault, detail);
                }
            }
            Instruction::Print { entry } => self.print(mask, entry),
            Instruction::Factor {
                kind,
                ty,
                dst,
                src,
                backward,
            } => self.factor(mask, kind, ty, (dst, src), backward),
            Instruction::Noise {
                noise,
                dst,
                src,
                backward,
            } => self.noise(mask, noise, dst, src, backward),
            Instruction::Ask { question, dst, src } => self.ask(mask, at, question, dst, src),
            Instruction::Poisson { dst, state, rate } => self.poisson(mask, dst, state, rate),
            Instruction::Dense { entry } => self.dense(mask, at, entry),
            Instruction::Tile { entry } => self.tile(mask, at, entry),
            Instruction::Reinterpret { entry, dst, src } => {
                self.reinterpret(mask, entry, dst, src);
            }
            Instruction::LowerBound {
                ty,
                dst,
                array,
                begin,
                end,
                value,
            } => self.lower_bound(mask, ty, dst, array, (begin, end), value),
            Instruction::Allocate { entry, array } => self.allocate(mask, entry, array),
            Instruction::If {
                cond,
                negated,
                end,
                skips,
            } => {
                let truth = self.registers.truth(cond);
                self.open_branch(if negated { !truth } else { truth });
                if skips && self.active() == 0 {
                    return end as usize;
                }
            }
            Instruction::EndIf => self.close_branch(),
            Instruction::Loop => self.open_loop(),
            Instruction::LoopTest { cond, exit } => {
                let done = mask & !self.registers.truth(cond);
                self.leave_loop(0, done);
                if self.active() == 0 {
                    return exit as usize;
                }
            }
            Instruction::LoopNext { head } => {
                if self.next_iteration() {
                    let most = self.bindings.most_iterations;
                    if self.iterations > most {
                        let lanes = self.active();
                        let detail = |_: &Self, _: usize| format!("{most} iterations made");
                        self.stop(lanes, at, Fault::Endless, detail);
                    } else {
                        self.stop_if_late(at);
                        // Without a lane there is nothing to go on with.
                        if self.active() != 0 {
                            return head as usize;
                        }
                    }
                }
            }
            Instruction::LoopExit => self.close_loop(),
            Instruction::Break { depth } => self.leave_loop(depth as usize, mask),
            Instruction::Continue { depth } => self.continue_loop(depth as usize, mask),
            Instruction::Enter => self.open_function(),
            Instruction::Leave => self.close_function(),
            Instruction::Return => self.give_back(),
            Instruction::ReturnTo { label } => self.wait_for(label as usize),
            Instruction::Label { label } => self.arrive(label as usize),
        }
        at + 1
    }

    fn check(&mut self, lanes: Mask, at: usize, variable: u32) {
        if lanes != 0 {
            let detail = |_: &Self, _: usize| "no assignment ran before".to_owned();
            self.stop(lanes, at, Fault::Unassigned(variable), detail);
        }
    }

    fn coordinate(&mut self, dst: Cell, axis: u8, rank: u8) {
        let first = self.first_thread;
        let dim = &self.bindings.dim;
        let row = self.registers.row_mut::<i32>(dst);
        if rank == 1 {
            for (lane, value) in row.iter_mut().enumerate() {
                *value = (first + lane) as i32;
            }
            return;
        }
        let size = |axis: usize| dim.get(axis).copied().unwrap_or(1).max(1);
        let inner: usize = (usize::from(axis) + 1..usize::from(rank))
            .map(size)
            .product();
        for (lane, value) in row.iter_mut().enumerate() {
            let outer = (first + lane) / inner;
            *value = if axis == 0 {
                outer as i32
            } else {
                (outer % size(usize::from(axis))) as i32
            };
        }
    }

    fn reverse_range(&mut self, mask: Mask, range: Cell) {
        for lane in each(mask) {
            let [next, end, step] = [0, 1, 2].map(|n| self.registers.row::<i32>(range.at(n))[lane]);
            let (next, end, step) = (i64::from(next), i64::from(end), i64::from(step));
            let span = if step > 0 { end - next } else { next - end };
            let count = if span > 0 {
                (span + step.abs() - 1) / step.abs().max(1)
            } else {
                0
            };
            let turned = [next + (count - 1) * step, next - step, -step];
            for (n, value) in turned.into_iter().enumerate() {
                self.registers.row_mut::<i32>(range.at(n))[lane] = value as i32;
            }
        }
    }

    fn range_test(&mut self, mask: Mask, dst: Cell, range: Cell) {
        let [next, end, step] = [0, 1, 2].map(|n| *self.registers.row::<i32>(range.at(n)));
        let out = self.registers.row_mut::<i32>(dst);
        for lane in each(mask) {
            let more = if step[lane] > 0 {
                next[lane] < end[lane]
            } else {
                next[lane] > end[lane]
            };
            out[lane] = i32::from(more);
        }
    }

    fn print(&mut self, mask: Mask, entry: u32) {
        let program = self.program;
        for lane in each(mask) {
            let text = program.printed[entry as usize]
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Value(cell, ty, conversion) => {
                        conversion.write(*ty, self.registers.bits(*cell, *ty, lane))
                    }
                })
                .collect();
            self.seen.printed.push((self.first_thread + lane, text));
        }
    }
}
