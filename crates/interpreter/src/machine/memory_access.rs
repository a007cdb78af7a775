//! Indices, components and memory.

use super::control::Machine;
use crate::findings::Fault;
use crate::instruction::{Binary, BufferAt, Location, Space, Update};
use crate::lanes::{ALL, Cell, LANES, Mask, each, is_wide};
use crate::layout::{ARRAY_SHAPE, ARRAY_STRIDES};
use crate::memory::Column;
use warpsmith_ir::half::{round_bfloat16, round_half};
use warpsmith_ir::types::Scalar;

/// An index counted from the end if it is negative; `None` out of range.
#[inline]
fn wrapped(index: i32, size: i32) -> Option<i32> {
    let index = if index < 0 {
        i64::from(index) + i64::from(size)
    } else {
        i64::from(index)
    };
    (0..i64::from(size))
        .contains(&index)
        .then_some(index as i32)
}

impl<'p> Machine<'p> {
    pub(super) fn gather(
        &mut self,
        mask: Mask,
        ty: Scalar,
        dst: Cell,
        first: Cell,
        len: u32,
        index: Cell,
    ) {
        let indices = *self.registers.row::<u32>(index);
        for lane in each(mask) {
            let from = first.at(indices[lane].min(len.saturating_sub(1)) as usize);
            let bits = self.registers.bits(from, ty, lane);
            self.put(dst, ty, lane, bits);
        }
    }

    pub(super) fn scatter(
        &mut self,
        mask: Mask,
        ty: Scalar,
        first: Cell,
        len: u32,
        index: Cell,
        src: Cell,
    ) {
        let indices = *self.registers.row::<u32>(index);
        for lane in each(mask) {
            let to = first.at(indices[lane].min(len.saturating_sub(1)) as usize);
            let bits = self.registers.bits(src, ty, lane);
            self.put(to, ty, lane, bits);
        }
    }

    #[inline]
    pub(super) fn put(&mut self, cell: Cell, ty: Scalar, lane: usize, bits: u64) {
        if is_wide(ty) {
            self.registers.row_mut::<u64>(cell)[lane] = bits;
        } else {
            self.registers.row_mut::<u32>(cell)[lane] = bits as u32;
        }
    }

    pub(super) fn component(&mut self, mask: Mask, at: usize, dst: Cell, index: Cell, len: u32) {
        let indices = *self.registers.row::<i32>(index);
        let out = self.registers.row_mut::<i32>(dst);
        let mut bad = 0;
        for lane in each(mask) {
            match wrapped(indices[lane], len as i32) {
                Some(index) => out[lane] = index,
                None => bad |= 1 << lane,
            }
        }
        if bad != 0 {
            let detail = |_: &Self, lane: usize| format!("component {} of {len}", indices[lane]);
            self.stop(bad, at, Fault::OutOfBounds, detail);
        }
    }

    pub(crate) fn address_param(
        &mut self,
        mask: Mask,
        at: usize,
        param: u16,
        rank: u8,
        indices: [Cell; 4],
        dst: Cell,
    ) {
        let bindings = self.bindings;
        let Some(array) = &bindings.arrays[usize::from(param)] else {
            let detail = |_: &Self, _: usize| "the array was not given".to_owned();
            return self.stop(mask, at, Fault::OutOfBounds, detail);
        };
        let mut elements = [0_i32; LANES];
        let mut outside = [0_u32; LANES];
        for (axis, index) in indices[..usize::from(rank)].iter().enumerate() {
            let (size, stride) = (array.shape[axis], array.strides[axis]);
            let index = self.registers.row::<i32>(*index);
            for lane in 0..LANES {
                let i = index[lane];
                let i = i.wrapping_add(if i < 0 { size } else { 0 });
                outside[lane] |= u32::from(i.cast_unsigned() >= size.cast_unsigned());
                // Four factors below 2^31 with a product below it: nothing wraps where it counts.
                elements[lane] = elements[lane].wrapping_add(i.wrapping_mul(stride));
            }
        }
        if mask == ALL {
            *self.registers.row_mut::<i32>(dst) = elements;
        } else {
            let out = self.registers.row_mut::<i32>(dst);
            for lane in each(mask) {
                out[lane] = elements[lane];
            }
        }
        if outside == [0; LANES] {
            return;
        }
        let bad = each(mask)
            .filter(|lane| outside[*lane] != 0)
            .fold(0, |bad, lane| bad | 1 << lane);
        if bad != 0 {
            let shape = array.shape[..usize::from(rank)].to_vec();
            self.out_of_bounds(bad, at, indices, move |_| shape.clone());
        }
    }

    fn out_of_bounds(
        &mut self,
        lanes: Mask,
        at: usize,
        indices: [Cell; 4],
        shape: impl Fn(usize) -> Vec<i32>,
    ) {
        self.stop(lanes, at, Fault::OutOfBounds, |machine, lane| {
            let shape = shape(lane);
            let seen: Vec<String> = indices[..shape.len()]
                .iter()
                .map(|cell| machine.registers.row::<i32>(*cell)[lane].to_string())
                .collect();
            format!("index [{}] of an array of shape {shape:?}", seen.join(", "))
        });
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn address(
        &mut self,
        mask: Mask,
        at: usize,
        array: Cell,
        rank: u8,
        indices: [Cell; 4],
        dst: Cell,
        buffer: Cell,
    ) {
        let mut bad = 0;
        let rank = usize::from(rank);
        for lane in each(mask) {
            let field = |n: usize| self.registers.row::<i32>(array.at(n))[lane];
            let mut element = field(1);
            let mut inside = field(0) >= 0;
            for (axis, index) in indices[..rank].iter().enumerate() {
                match wrapped(
                    self.registers.row::<i32>(*index)[lane],
                    field(ARRAY_SHAPE + axis),
                ) {
                    Some(i) => {
                        element = element.wrapping_add(i.wrapping_mul(field(ARRAY_STRIDES + axis)));
                    }
                    None => inside = false,
                }
            }
            let from = field(0);
            if inside {
                self.registers.row_mut::<i32>(dst)[lane] = element;
                self.registers.row_mut::<i32>(buffer)[lane] = from;
            } else {
                bad |= 1 << lane;
            }
        }
        if bad != 0 {
            let sizes: Vec<[i32; LANES]> = (0..rank)
                .map(|axis| *self.registers.row::<i32>(array.at(ARRAY_SHAPE + axis)))
                .collect();
            let shape = move |lane: usize| sizes.iter().map(|size| size[lane]).collect();
            self.out_of_bounds(bad, at, indices, shape);
        }
    }

    /// The numbers of an array of scalars, or their gradients, where it has some.
    pub(super) fn memory(&self, space: Space, buffer: usize) -> Option<&'p Column> {
        let bindings = self.bindings;
        let memory = match space {
            Space::Value => bindings.buffers.get(buffer),
            Space::Gradient => bindings.gradients.get(buffer).and_then(Option::as_ref),
        };
        memory?.columns.first()
    }

    /// Takes the sizes and strides after `axis` one place down; the last becomes size 0.
    fn drop_axis(&mut self, lane: usize, array: Cell, axis: usize) {
        for start in [ARRAY_SHAPE, ARRAY_STRIDES] {
            for n in axis..4 {
                let next = if n < 3 {
                    self.registers.row::<i32>(array.at(start + n + 1))[lane]
                } else {
                    0
                };
                self.registers.row_mut::<i32>(array.at(start + n))[lane] = next;
            }
        }
    }

    pub(super) fn view_index(&mut self, mask: Mask, at: usize, array: Cell, axis: u8, index: Cell) {
        let axis = usize::from(axis);
        let mut bad = 0;
        let sizes = *self.registers.row::<i32>(array.at(ARRAY_SHAPE + axis));
        for lane in each(mask) {
            let i = self.registers.row::<i32>(index)[lane];
            let Some(i) = wrapped(i, sizes[lane]) else {
                bad |= 1 << lane;
                continue;
            };
            let stride = self.registers.row::<i32>(array.at(ARRAY_STRIDES + axis))[lane];
            let base = &mut self.registers.row_mut::<i32>(array.at(1))[lane];
            *base = base.wrapping_add(i.wrapping_mul(stride));
            self.drop_axis(lane, array, axis);
        }
        if bad != 0 {
            self.out_of_bounds(bad, at, [index; 4], move |lane| vec![sizes[lane]]);
        }
    }

    pub(super) fn view_slice(&mut self, mask: Mask, array: Cell, axis: u8, slice: Cell) {
        let axis = usize::from(axis);
        for lane in each(mask) {
            let [start, stop, step] =
                [0, 1, 2].map(|n| i64::from(self.registers.row::<i32>(slice.at(n))[lane]));
            let size = i64::from(self.registers.row::<i32>(array.at(ARRAY_SHAPE + axis))[lane]);
            let (low, high) = if step < 0 { (-1, size - 1) } else { (0, size) };
            let bound = |bound: i64| {
                let bound = if bound < -size {
                    low
                } else if bound < 0 {
                    bound + size
                } else {
                    bound
                };
                bound.clamp(low.min(high), high)
            };
            // What the source leaves out are the ends, in the direction of the step.
            let first = match (start == i64::from(i32::MAX), step < 0) {
                (false, _) => bound(start),
                (true, true) => size - 1,
                (true, false) => 0,
            };
            let end = match (stop == i64::from(i32::MIN), step < 0) {
                (false, _) => bound(stop),
                (true, true) => -1,
                (true, false) => size,
            };
            let span = if step < 0 { first - end } else { end - first };
            let len = if span > 0 && step != 0 {
                (span + step.abs() - 1) / step.abs()
            } else {
                0
            };
            let stride = i64::from(self.registers.row::<i32>(array.at(ARRAY_STRIDES + axis))[lane]);
            let base = &mut self.registers.row_mut::<i32>(array.at(1))[lane];
            *base = (i64::from(*base) + first * stride) as i32;
            self.registers.row_mut::<i32>(array.at(ARRAY_SHAPE + axis))[lane] = len as i32;
            self.registers
                .row_mut::<i32>(array.at(ARRAY_STRIDES + axis))[lane] = (stride * step) as i32;
        }
    }

    /// The column that a lane's location lies in, and the element; `None` where there is no gradient.
    #[inline]
    pub(super) fn column(&self, at: Location, lane: usize) -> Option<(&'p Column, usize)> {
        let bindings = self.bindings;
        let buffer = match at.buffer {
            BufferAt::Param(param) => bindings.arrays[usize::from(param)].as_ref()?.buffer,
            BufferAt::Cell(cell) => usize::try_from(self.registers.row::<i32>(cell)[lane]).ok()?,
        };
        let memory = match at.space {
            Space::Value => bindings.buffers.get(buffer)?,
            Space::Gradient => bindings.gradients.get(buffer)?.as_ref()?,
        };
        let offset = at
            .offset
            .map_or(0, |cell| self.registers.row::<u32>(cell)[lane]);
        let column = memory.columns.get((at.column + offset) as usize)?;
        let element = self.registers.row::<i32>(at.element)[lane];
        Some((column, usize::try_from(element).ok()?))
    }

    /// The one column that every lane's location lies in, if the program knows it.
    #[inline]
    fn shared_column(&self, at: Location) -> Option<&'p Column> {
        let BufferAt::Param(param) = at.buffer else {
            return None;
        };
        if at.offset.is_some() {
            return None;
        }
        let bindings = self.bindings;
        let buffer = bindings.arrays[usize::from(param)].as_ref()?.buffer;
        let memory = match at.space {
            Space::Value => bindings.buffers.get(buffer)?,
            Space::Gradient => bindings.gradients.get(buffer)?.as_ref()?,
        };
        memory.columns.get(at.column as usize)
    }

    pub(super) fn load(&mut self, mask: Mask, ty: Scalar, dst: Cell, from: Location) {
        use std::sync::atomic::Ordering::Relaxed;
        if let Some(Column::Narrow(words)) = self.shared_column(from) {
            let elements = self.registers.row::<i32>(from.element);
            let mut values = [0_u32; LANES];
            let mut fetch = |lane: usize| {
                if let Some(word) = words.get(elements[lane] as usize) {
                    values[lane] = word.load(Relaxed);
                }
            };
            if mask == ALL {
                (0..LANES).for_each(&mut fetch);
                *self.registers.row_mut::<u32>(dst) = values;
            } else {
                each(mask).for_each(&mut fetch);
                let out = self.registers.row_mut::<u32>(dst);
                for lane in each(mask) {
                    out[lane] = values[lane];
                }
            }
            return;
        }
        if let Some(Column::Wide(words)) = self.shared_column(from) {
            let elements = *self.registers.row::<i32>(from.element);
            let out = self.registers.row_mut::<u64>(dst);
            for lane in each(mask) {
                let word = words.get(elements[lane] as usize);
                out[lane] = word.map_or(0, |word| word.load(Relaxed));
            }
            return;
        }
        for lane in each(mask) {
            let bits = self
                .column(from, lane)
                .and_then(|(column, element)| column.get(element));
            self.put(dst, ty, lane, bits.unwrap_or(0));
        }
    }

    pub(super) fn store(&mut self, mask: Mask, ty: Scalar, src: Cell, to: Location) {
        use std::sync::atomic::Ordering::Relaxed;
        if let Some(Column::Narrow(words)) = self.shared_column(to) {
            let elements = self.registers.row::<i32>(to.element);
            let values = self.registers.row::<u32>(src);
            let put = |lane: usize| {
                if let Some(word) = words.get(elements[lane] as usize) {
                    word.store(values[lane], Relaxed);
                }
            };
            if mask == ALL {
                (0..LANES).for_each(put);
            } else {
                each(mask).for_each(put);
            }
            return;
        }
        if let Some(column) = self.shared_column(to) {
            let elements = self.registers.row::<i32>(to.element);
            for lane in each(mask) {
                column.set(elements[lane] as usize, self.registers.bits(src, ty, lane));
            }
            return;
        }
        for lane in each(mask) {
            if let Some((column, element)) = self.column(to, lane) {
                column.set(element, self.registers.bits(src, ty, lane));
            }
        }
    }

    /// Lanes update memory in thread order; each gets the value before.
    pub(super) fn atomic(
        &mut self,
        mask: Mask,
        (update, ty): (Update, Scalar),
        (dst, src): (Cell, Cell),
        at: Location,
        observed: bool,
    ) {
        if !self.bindings.shared && self.update_alone(mask, (update, ty), (dst, src), at, observed)
        {
            return;
        }
        for lane in each(mask) {
            let value = self.registers.bits(src, ty, lane);
            let old = self.column(at, lane).map_or(0, |(column, element)| {
                column.update(element, |old| updated(update, ty, old, value))
            });
            self.put(dst, ty, lane, old);
        }
    }

    /// Updates memory that no other worker uses: most of what an adjoint does. False where the lanes do
    /// not share a column.
    fn update_alone(
        &mut self,
        mask: Mask,
        (update, ty): (Update, Scalar),
        (dst, src): (Cell, Cell),
        at: Location,
        observed: bool,
    ) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        let adds = update == Update::Binary(Binary::Add) && !observed;
        match self.shared_column(at) {
            Some(Column::Narrow(words)) if adds && ty == Scalar::F32 => {
                let elements = self.registers.row::<u32>(at.element);
                let values = self.registers.row::<f32>(src);
                let add = |lane: usize| {
                    if let Some(word) = words.get(elements[lane] as usize) {
                        let sum = f32::from_bits(word.load(Relaxed)) + values[lane];
                        word.store(sum.to_bits(), Relaxed);
                    }
                };
                if mask == ALL {
                    (0..LANES).for_each(add);
                } else {
                    each(mask).for_each(add);
                }
            }
            Some(Column::Wide(words)) if adds && ty == Scalar::F64 => {
                let elements = self.registers.row::<u32>(at.element);
                let values = self.registers.row::<f64>(src);
                for lane in each(mask) {
                    if let Some(word) = words.get(elements[lane] as usize) {
                        let sum = f64::from_bits(word.load(Relaxed)) + values[lane];
                        word.store(sum.to_bits(), Relaxed);
                    }
                }
            }
            Some(column) => {
                let elements = *self.registers.row::<u32>(at.element);
                for lane in each(mask) {
                    let element = elements[lane] as usize;
                    let old = column.get(element).unwrap_or(0);
                    let value = self.registers.bits(src, ty, lane);
                    column.set(element, updated(update, ty, old, value));
                    if observed {
                        self.put(dst, ty, lane, old);
                    }
                }
            }
            None => {
                let absent = matches!(at.buffer, BufferAt::Param(_)) && at.offset.is_none();
                if absent && observed {
                    for lane in each(mask) {
                        self.put(dst, ty, lane, 0);
                    }
                }
                // Without an array or its gradients there is nothing to update.
                return absent;
            }
        }
        true
    }

    pub(super) fn compare_exchange(
        &mut self,
        mask: Mask,
        ty: Scalar,
        dst: Cell,
        expected: Cell,
        src: Cell,
        at: Location,
    ) {
        for lane in each(mask) {
            let value = self.registers.bits(src, ty, lane);
            let expected = self.registers.bits(expected, ty, lane);
            let same = |old: u64| match ty {
                Scalar::F32 => f32::from_bits(old as u32) == f32::from_bits(expected as u32),
                Scalar::F64 => f64::from_bits(old) == f64::from_bits(expected),
                _ => old == expected,
            };
            let old = self.column(at, lane).map_or(0, |(column, element)| {
                column.update(element, |old| if same(old) { value } else { old })
            });
            self.put(dst, ty, lane, old);
        }
    }
}

/// The value after an update.
pub(crate) fn updated(update: Update, ty: Scalar, old: u64, value: u64) -> u64 {
    let Update::Binary(op) = update else {
        return value;
    };
    let float = |x: f32, y: f32| match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Min => x.min(y),
        _ => x.max(y),
    };
    let narrow = || float(f32::from_bits(old as u32), f32::from_bits(value as u32));
    match ty {
        Scalar::F32 => u64::from(narrow().to_bits()),
        Scalar::F16 => u64::from(round_half(narrow()).to_bits()),
        Scalar::BF16 => u64::from(round_bfloat16(narrow()).to_bits()),
        Scalar::F64 => {
            let (x, y) = (f64::from_bits(old), f64::from_bits(value));
            match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Min => x.min(y),
                _ => x.max(y),
            }
            .to_bits()
        }
        _ => {
            let signed = matches!(ty, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
            let less = match (signed, is_wide(ty)) {
                (true, true) => (value as i64) < (old as i64),
                (true, false) => (value as i32) < (old as i32),
                (false, _) => value < old,
            };
            let bits = match op {
                Binary::Add => old.wrapping_add(value),
                Binary::Sub => old.wrapping_sub(value),
                Binary::And => old & value,
                Binary::Or => old | value,
                Binary::Xor => old ^ value,
                Binary::Min => {
                    if less {
                        value
                    } else {
                        old
                    }
                }
                _ => {
                    if less {
                        old
                    } else {
                        value
                    }
                }
            };
            match ty {
                Scalar::I8 => u64::from(i32::from(bits as i8) as u32),
                Scalar::I16 => u64::from(i32::from(bits as i16) as u32),
                Scalar::U8 => u64::from(bits as u8),
                Scalar::U16 => u64::from(bits as u16),
                _ => bits,
            }
        }
    }
}
