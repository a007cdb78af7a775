//! A binary search in a sorted array.

use super::emitter::Emitter;
use super::memory::stored;
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{ARRAY_SHAPE, ARRAY_STRIDES};
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

impl Emitter<'_> {
    /// The first element from `begin` to `end` that is not less than `value`, or the last of them.
    pub(super) fn lower_bound(
        &mut self,
        ty: Scalar,
        dst: Cell,
        array: Cell,
        (begin, end): (Cell, Cell),
        value: Cell,
    ) {
        let [buffer, base, size, stride] =
            [0, 1, ARRAY_SHAPE, ARRAY_STRIDES].map(|n| self.read(array.at(n), Kind::U32));
        let (begin, end) = (self.read(begin, Kind::U32), self.read(end, Kind::U32));
        let value = self.get(value, ty);
        let (zero, one) = (self.w.u32(0), self.w.u32(1));
        let smaller = self.w.value(Op::SLessThan, Kind::Bool, &[end, size]);
        let stop = self.select(Kind::U32, smaller, end, size);
        let least = self.w.u32(i32::MIN as u32);
        let lowest = self.w.value(Op::IEqual, Kind::Bool, &[stop, least]);
        let last = self.w.value(Op::ISub, Kind::U32, &[stop, one]);
        let last = self.select(Kind::U32, lowest, least, last);
        let negative = self.w.value(Op::SLessThan, Kind::Bool, &[begin, zero]);
        let first = self.select(Kind::U32, negative, zero, begin);
        // A thread with a fault looks nowhere.
        let alive = self.alive();
        let last = self.select(Kind::U32, alive, last, first);
        let given = self
            .w
            .value(Op::SGreaterThanEqual, Kind::Bool, &[buffer, zero]);
        let buffer = self.select(Kind::U32, given, buffer, zero);
        let memory = self.buffer_address(buffer, 0);
        let (low, high) = (self.w.variable(Kind::U32), self.w.variable(Kind::U32));
        self.w.act(Op::Store, &[low, first]);
        self.w.act(Op::Store, &[high, last]);
        self.repeat(
            |e| {
                let [from, to] = [low, high].map(|end| e.w.value(Op::Load, Kind::U32, &[end]));
                e.w.value(Op::SLessThan, Kind::Bool, &[from, to])
            },
            |e| {
                let [from, to] = [low, high].map(|end| e.w.value(Op::Load, Kind::U32, &[end]));
                let span = e.w.value(Op::ISub, Kind::U32, &[to, from]);
                let half = e.w.value(Op::ShiftRightLogical, Kind::U32, &[span, one]);
                let middle = e.w.value(Op::IAdd, Kind::U32, &[from, half]);
                let found = e.element_at(ty, memory, (base, stride), middle);
                let less = e.compare(Comparison::Less, ty, found, value);
                let after = e.w.value(Op::IAdd, Kind::U32, &[middle, one]);
                let from = e.select(Kind::U32, less, after, from);
                let to = e.select(Kind::U32, less, to, middle);
                e.w.act(Op::Store, &[low, from]);
                e.w.act(Op::Store, &[high, to]);
            },
        );
        let place = self.w.value(Op::Load, Kind::U32, &[low]);
        self.write(dst, Kind::U32, place);
    }

    /// The scalar at a position of a row that begins at element `base`.
    fn element_at(&mut self, ty: Scalar, memory: Id, (base, stride): (Id, Id), at: Id) -> Id {
        let step = self.w.value(Op::IMul, Kind::U32, &[at, stride]);
        let element = self.w.value(Op::IAdd, Kind::U32, &[base, step]);
        let element = self.w.value(Op::UConvert, Kind::U64, &[element]);
        let width = self.w.u64(u64::from(stored(ty).bytes()));
        let offset = self.w.value(Op::IMul, Kind::U64, &[element, width]);
        let address = self.w.value(Op::IAdd, Kind::U64, &[memory, offset]);
        let raw = self.load_at(stored(ty), address);
        self.stored_value(ty, raw)
    }
}
