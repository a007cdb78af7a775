//! Sorts of tiles: the interpreter's bitonic network, on copies in memory of the thread's own.

use super::super::emitter::{Emitted, Emitter};
use super::super::opcode::Op;
use super::super::writer::{Id, Kind};
use super::{Room, Seen};
use warpsmith_interpreter::scalar_form::Space;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

/// Pairs of an iteration.
const MOST_TOGETHER: usize = 4;

impl Emitter<'_> {
    /// Sorts keys, the least first, and values along with them.
    pub(super) fn tile_sort(
        &mut self,
        keys: &Seen<'_>,
        values: &Seen<'_>,
        room: (Id, Id),
    ) -> Emitted {
        let mut scalars = keys.tile.scalars.clone();
        scalars.extend(&values.tile.scalars);
        scalars.push(Scalar::I32);
        // A key, its values, and whether there is one.
        let room = self.room_of(room, scalars);
        let count = keys.tile.count();
        let size = count.next_power_of_two();
        let grounds = [keys, values].map(|seen| self.ground(seen, Space::Value));
        let columns: Vec<(usize, usize)> = (0..2)
            .flat_map(|which| {
                let leaves = grounds[which].tile.scalars.len();
                (0..leaves).map(move |leaf| (which, leaf))
            })
            .collect();
        let one = self.w.u32(1);
        self.each_below(count, |e, n| {
            for (column, (which, leaf)) in columns.iter().enumerate() {
                let offset = e.offset_of(grounds[*which].tile, n);
                let value = e.load_leaf(&grounds[*which], offset, *leaf);
                e.put_in(&room, n, column, value);
            }
            e.put_in(&room, n, columns.len(), one);
            Ok(())
        })?;
        // The rest was zeroed with the room; a sort that is repeated in a loop finds what it left there.
        let zero = self.w.u32(0);
        self.each_below(size - count, |e, n| {
            let behind = e.w.u32(count as u32);
            let n = e.w.value(Op::IAdd, Kind::U32, &[n, behind]);
            e.put_in(&room, n, columns.len(), zero);
            Ok(())
        })?;
        self.network(&room, size)?;
        self.each_below(count, |e, n| {
            for (column, (which, leaf)) in columns.iter().enumerate() {
                let value = e.take_from(&room, n, column);
                let offset = e.offset_of(grounds[*which].tile, n);
                e.store_leaf(&grounds[*which], offset, *leaf, value);
            }
            Ok(())
        })
    }

    fn network(&mut self, room: &Room, size: usize) -> Emitted {
        let [run, step] = [0; 2].map(|_| self.w.variable(Kind::U32));
        let (zero, one, two) = (self.w.u32(0), self.w.u32(1), self.w.u32(2));
        let whole = self.w.u32(size as u32);
        // Several pairs at a time: Mesa's software driver counts iterations.
        let pairs = size / 2;
        let together = pairs.clamp(1, MOST_TOGETHER);
        let (rounds, together) = (pairs / together, together as u32);
        self.w.act(Op::Store, &[run, two]);
        let mut outcome = Ok(());
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[run]);
                e.w.value(Op::ULessThanEqual, Kind::Bool, &[now, whole])
            },
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[run]);
                let half = e.w.value(Op::ShiftRightLogical, Kind::U32, &[now, one]);
                e.w.act(Op::Store, &[step, half]);
                e.repeat(
                    |e| {
                        let now = e.w.value(Op::Load, Kind::U32, &[step]);
                        e.w.value(Op::INotEqual, Kind::Bool, &[now, zero])
                    },
                    |e| {
                        let now = e.w.value(Op::Load, Kind::U32, &[step]);
                        let length = e.w.value(Op::Load, Kind::U32, &[run]);
                        outcome = e.each_below(rounds, |e, round| {
                            for n in 0..together {
                                let (many, n) = (e.w.u32(together), e.w.u32(n));
                                let first = e.w.value(Op::IMul, Kind::U32, &[round, many]);
                                let pair = e.w.value(Op::IAdd, Kind::U32, &[first, n]);
                                e.exchange(room, pair, now, length);
                            }
                            Ok(())
                        });
                        let next = e.w.value(Op::ShiftRightLogical, Kind::U32, &[now, one]);
                        e.w.act(Op::Store, &[step, next]);
                    },
                );
                let next = e.w.value(Op::ShiftLeftLogical, Kind::U32, &[now, one]);
                e.w.act(Op::Store, &[run, next]);
            },
        );
        outcome
    }

    /// Swaps the elements of a pair, which are a step apart, where they are in the wrong order.
    fn exchange(&mut self, room: &Room, pair: Id, step: Id, run: Id) {
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        let mask = self.w.value(Op::ISub, Kind::U32, &[step, one]);
        let inner = self.w.value(Op::BitwiseAnd, Kind::U32, &[pair, mask]);
        let outer = self.w.value(Op::ISub, Kind::U32, &[pair, inner]);
        let outer = self.w.value(Op::ShiftLeftLogical, Kind::U32, &[outer, one]);
        let i = self.w.value(Op::BitwiseOr, Kind::U32, &[outer, inner]);
        let other = self.w.value(Op::BitwiseXor, Kind::U32, &[i, step]);
        let part = self.w.value(Op::BitwiseAnd, Kind::U32, &[i, run]);
        let rises = self.w.value(Op::IEqual, Kind::Bool, &[part, zero]);
        let low = self.select(Kind::U32, rises, other, i);
        let high = self.select(Kind::U32, rises, i, other);
        let last = room.scalars.len() - 1;
        let [low_is, high_is] = [low, high].map(|at| {
            let flag = self.take_from(room, at, last);
            self.w.value(Op::INotEqual, Kind::Bool, &[flag, zero])
        });
        let [a, b] = [low, high].map(|at| self.take_from(room, at, 0));
        let less = self.compare(Comparison::Less, room.scalars[0], a, b);
        // What is behind the last key comes last.
        let missing = self.w.value(Op::LogicalNot, Kind::Bool, &[high_is]);
        let before = self.w.value(Op::LogicalOr, Kind::Bool, &[missing, less]);
        let swaps = self.w.value(Op::LogicalAnd, Kind::Bool, &[low_is, before]);
        let merge = self.open_plain(swaps);
        for column in 0..room.scalars.len() {
            let [mine, others] = [i, other].map(|at| self.take_from(room, at, column));
            self.put_in(room, i, column, others);
            self.put_in(room, other, column, mine);
        }
        self.close_plain(merge);
    }
}
