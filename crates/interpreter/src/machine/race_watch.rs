//! Notes who touches which memory while races are looked for.

use super::control::Machine;
use crate::instruction::{BufferAt, Location, Space, Update};
use crate::lanes::{Cell, Mask, each};
use crate::races::Touch;
use warpsmith_ir::types::Scalar;

impl Machine<'_> {
    /// Buffer, column and element of a lane's location; `None` where there is no memory behind it.
    fn place(&self, at: Location, lane: usize) -> Option<(usize, usize, usize)> {
        let buffer = match at.buffer {
            BufferAt::Param(param) => self.bindings.arrays[usize::from(param)].as_ref()?.buffer,
            BufferAt::Cell(cell) => usize::try_from(self.registers.row::<i32>(cell)[lane]).ok()?,
        };
        // Each lane has its own part of these.
        if buffer >= self.bindings.first_own {
            return None;
        }
        let offset = at
            .offset
            .map_or(0, |cell| self.registers.row::<u32>(cell)[lane]);
        let element = self.registers.row::<i32>(at.element)[lane];
        let place = (
            buffer,
            (at.column + offset) as usize,
            usize::try_from(element).ok()?,
        );
        self.column(at, lane).map(|_| place)
    }

    fn note(&mut self, lane: usize, position: usize, at: Location, touch: Touch) {
        if let Some(place) = self.place(at, lane) {
            self.note_place(lane, position, place, at.space, touch);
        }
    }

    /// Notes that a lane touches a buffer's column and element.
    pub(super) fn note_place(
        &mut self,
        lane: usize,
        position: usize,
        place: (usize, usize, usize),
        space: Space,
        touch: Touch,
    ) {
        let thread = self.first_thread + lane;
        let Some(watch) = &mut self.watch else { return };
        let touched = match space {
            Space::Value => &mut watch.values,
            Space::Gradient => &mut watch.gradients,
        };
        if let Some(fault) = touched.note(place, thread, touch) {
            let space = match space {
                Space::Value => "",
                Space::Gradient => " of the gradients",
            };
            self.report(1 << lane, position, fault, |_, _| {
                format!("element {}{space}", place.2)
            });
        }
    }

    pub(super) fn watch_load(&mut self, mask: Mask, position: usize, from: Location) {
        self.note_lanes(mask, position, from, Touch::Read);
    }

    /// Notes that lanes touch a location: its buffer and column are looked up once where they share them.
    fn note_lanes(&mut self, mask: Mask, position: usize, at: Location, touch: Touch) {
        let shared = match at.buffer {
            BufferAt::Param(_) if at.offset.is_none() => {
                each(mask).find_map(|lane| self.place(at, lane))
            }
            _ => None,
        };
        let Some((buffer, column, _)) = shared else {
            for lane in each(mask) {
                self.note(lane, position, at, touch);
            }
            return;
        };
        let elements = *self.registers.row::<i32>(at.element);
        for lane in each(mask) {
            if let Ok(element) = usize::try_from(elements[lane]) {
                let place = (buffer, column, element);
                self.note_place(lane, position, place, at.space, touch);
            }
        }
    }

    /// Stores lane by lane, so that a lane sees whether an earlier one left the same value.
    pub(super) fn watched_store(
        &mut self,
        mask: Mask,
        position: usize,
        ty: Scalar,
        src: Cell,
        to: Location,
    ) {
        for lane in each(mask) {
            let bits = self.registers.bits(src, ty, lane);
            let old = self
                .column(to, lane)
                .and_then(|(column, element)| column.get(element));
            let unchanged = old == Some(bits);
            self.note(lane, position, to, Touch::Write { unchanged });
            if let Some((column, element)) = self.column(to, lane) {
                column.set(element, bits);
            }
        }
    }

    pub(super) fn watch_atomic(
        &mut self,
        mask: Mask,
        position: usize,
        update: Update,
        observed: bool,
        at: Location,
    ) {
        // The adjoint of a store takes the gradient and zeroes it, which compiled code does in two
        // steps; an exchange of values is atomic and leaves whichever came last.
        let touch = match (update, at.space) {
            (Update::Exchange, Space::Gradient) => Touch::Replace { unchanged: false },
            (Update::Exchange, Space::Value) => Touch::Update { observed: true },
            (Update::Binary(_), _) => Touch::Update { observed },
        };
        self.note_lanes(mask, position, at, touch);
    }
}
