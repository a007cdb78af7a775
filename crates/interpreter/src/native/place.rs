//! Scalars in the memory of arrays: where each lane's lies.

use super::memory::{Base, Region, Stored};
use super::worker::Worker;
use crate::binding::Bindings;
use crate::instruction::{BufferAt, Location, Space};
use crate::lanes::{ALL, LANES, each};
use crate::layout::Layout;
use warpsmith_ir::types::Scalar;
use warpsmith_lanes::for_each_set;

/// Which array a place lies in.
#[derive(Clone, Copy, Debug)]
enum Array {
    Param(u16),
    /// Each lane's own, by its number in this row.
    Row(u32),
}

/// A [`Location`] of the program, with rows and bytes instead of cells and columns.
#[derive(Clone, Debug)]
pub(super) struct Place {
    array: Array,
    /// The row of the elements' numbers.
    element: u32,
    /// Where the scalar lies in an element, and how large that is.
    byte: usize,
    stride: usize,
    /// The row of what is added to the column, and the bytes of all columns from this one on.
    offset: Option<(u32, Box<[u32]>)>,
    space: Space,
    pub(super) ty: Scalar,
    /// The place's own number, and that of what is known of its elements.
    number: u32,
    known: Option<u32>,
}

/// The lanes' elements in one array.
pub(super) struct Elements {
    /// The scalar of the first element.
    pub(super) base: *mut u8,
    pub(super) stride: usize,
    numbers: *const u32,
    /// Whether the elements of all lanes, active or not, lie in the array and follow one another.
    pub(super) successive: bool,
}

impl Elements {
    /// Where a lane's scalar lies.
    #[inline(always)]
    pub(super) fn at(&self, lane: usize) -> *mut u8 {
        // SAFETY: `find` made it of a row, which nothing writes meanwhile.
        let number = unsafe { *self.numbers.add(lane) } as usize;
        self.base.wrapping_add(number * self.stride)
    }

    /// Where all lanes' lie, if all are active and name one element.
    #[inline(always)]
    pub(super) fn same(&self, worker: &Worker<'_>) -> Option<*mut u8> {
        if worker.mask != ALL || self.successive {
            return None;
        }
        // SAFETY: as above.
        let numbers = unsafe { &*self.numbers.cast::<[u32; LANES]>() };
        let others = numbers.iter().fold(0, |all, it| all | (it ^ numbers[0]));
        (others == 0).then(|| self.at(0))
    }

    /// Where the first lane's lies, if the scalars follow one another without a gap.
    #[inline(always)]
    pub(super) fn run<S: Stored>(&self) -> Option<*mut u8> {
        (self.successive && self.stride == S::BYTES).then(|| self.at(0))
    }
}

/// What a step finds at a place.
pub(super) enum Found {
    /// The active lanes' elements lie in one array, within it. Those of others are some of its elements.
    Together(Elements),
    /// The array is not there, or has no gradients.
    Nothing,
    /// Each lane's has to be looked for.
    Apart,
}

impl Place {
    /// `None` where the column is none of the element's.
    pub(super) fn new(
        at: &Location,
        ty: Scalar,
        layout: &Layout,
        (number, known): (u32, Option<u32>),
        row: impl Fn(crate::lanes::Cell) -> u32,
    ) -> Option<Self> {
        let from = layout.leaves.get(at.column as usize..)?;
        Some(Self {
            array: match at.buffer {
                BufferAt::Param(param) => Array::Param(param),
                BufferAt::Cell(cell) => Array::Row(row(cell)),
            },
            element: row(at.element),
            byte: from.first()?.byte,
            stride: layout.bytes,
            offset: at.offset.map(|cell| {
                let bytes = from.iter().map(|leaf| leaf.byte as u32);
                (row(cell), bytes.collect())
            }),
            space: at.space,
            ty,
            number,
            known: known.filter(|_| at.offset.is_none()),
        })
    }

    /// Where the scalar lies in an element.
    pub(super) fn byte(&self) -> usize {
        self.byte
    }

    /// Where the scalar of the first element lies in this launch.
    pub(super) fn base(&self, bindings: &Bindings, regions: &[Region]) -> Base {
        let region = match self.array {
            Array::Param(param) => {
                let array = bindings.arrays[usize::from(param)].as_ref();
                array.and_then(|array| regions.get(array.buffer))
            }
            Array::Row(_) => None,
        };
        // Lanes that are not active may look at the first element: of no elements there is none.
        let region = region.filter(|region| region.elements > 0);
        let memory = region.and_then(|region| self.memory(region));
        Base(memory.map_or(std::ptr::null_mut(), |memory| {
            memory.wrapping_add(self.byte)
        }))
    }

    /// Where the first lane's scalar lies and how far apart the lanes' are, if the elements of all lanes,
    /// active or not, lie in the array and follow one another.
    #[inline(always)]
    pub(super) fn run(&self, worker: &Worker<'_>) -> Option<(*mut u8, usize)> {
        let known = worker.known[self.known? as usize];
        let Base(base) = worker.shared.bases[self.number as usize];
        if !known.successive || base.is_null() {
            return None;
        }
        // SAFETY: a row of the registers.
        let first = unsafe { *worker.row::<u32>(self.element) } as usize;
        Some((base.wrapping_add(first * self.stride), self.stride))
    }

    #[inline(always)]
    fn memory(&self, region: &Region) -> Option<*mut u8> {
        let memory = match self.space {
            Space::Value => region.values,
            Space::Gradient => region.gradients,
        };
        (!memory.is_null()).then_some(memory)
    }

    /// The region of every active lane, if it is one.
    #[inline(always)]
    fn region<'p>(&self, worker: &Worker<'p>) -> Result<Option<&'p Region>, ()> {
        let regions = worker.shared.regions;
        match self.array {
            Array::Param(param) => {
                let array = &worker.machine.bindings.arrays[usize::from(param)];
                Ok(array.as_ref().and_then(|array| regions.get(array.buffer)))
            }
            Array::Row(row) => {
                let numbers = worker.row::<u32>(row);
                let Some(first) = each(worker.mask).next() else {
                    return Ok(None);
                };
                let mut others = 0;
                // SAFETY: a row has that many lanes.
                unsafe {
                    let number = *numbers.add(first);
                    for lane in 0..LANES {
                        others |= (*numbers.add(lane) ^ number) & worker.spread[lane];
                    }
                    if others != 0 {
                        return Err(());
                    }
                    Ok(regions.get(number as usize))
                }
            }
        }
    }

    /// The elements of the active lanes.
    #[inline(always)]
    pub(super) fn find(&self, worker: &mut Worker<'_>) -> Found {
        let Some(number) = self.known else {
            return find_in(worker.set, self, worker);
        };
        let known = worker.known[number as usize];
        let Base(base) = worker.shared.bases[self.number as usize];
        if base.is_null() {
            return Found::Nothing;
        }
        if worker.mask & !known.within != 0 {
            return find_in(worker.set, self, worker);
        }
        let mut numbers: *const u32 = worker.row::<u32>(self.element);
        if known.within != ALL {
            for lane in 0..LANES {
                // SAFETY: a row has that many lanes.
                worker.numbers[lane] = unsafe { *numbers.add(lane) } & worker.spread[lane];
            }
            numbers = worker.numbers.as_ptr();
        }
        Found::Together(Elements {
            base,
            stride: self.stride,
            numbers,
            successive: known.successive,
        })
    }

    /// Where one lane's scalar lies, if it does.
    pub(super) fn of_lane(&self, worker: &Worker<'_>, lane: usize) -> Option<*mut u8> {
        let number = match self.array {
            Array::Param(param) => {
                worker.machine.bindings.arrays[usize::from(param)]
                    .as_ref()?
                    .buffer
            }
            // SAFETY: a row of the registers, and one of its lanes.
            Array::Row(row) => unsafe { *worker.row::<u32>(row).add(lane) as usize },
        };
        let region = worker.shared.regions.get(number)?;
        let memory = self.memory(region)?;
        // SAFETY: as above.
        let element = unsafe { *worker.row::<u32>(self.element).add(lane) } as usize;
        let byte = match &self.offset {
            None => self.byte,
            Some((row, bytes)) => {
                // SAFETY: as above.
                let offset = unsafe { *worker.row::<u32>(*row).add(lane) };
                *bytes.get(offset as usize)? as usize
            }
        };
        (element < region.elements).then(|| memory.wrapping_add(element * self.stride + byte))
    }
}

for_each_set! {
    /// [`Place::find`], compiled for an instruction set.
    fn find_in = find(place: &Place, worker: &mut Worker<'_>) -> Found
}

#[inline(always)]
fn find(place: &Place, worker: &mut Worker<'_>) -> Found {
    if place.offset.is_some() {
        return Found::Apart;
    }
    let Ok(region) = place.region(worker) else {
        return Found::Apart;
    };
    let Some((region, memory)) = region.and_then(|it| Some((it, place.memory(it)?))) else {
        return Found::Nothing;
    };
    let (base, stride) = (memory.wrapping_add(place.byte), place.stride);
    let mut row: *const u32 = worker.row::<u32>(place.element);
    // SAFETY: a row has that many lanes.
    let mut numbers = unsafe { *row.cast::<[u32; LANES]>() };
    if worker.mask == ALL {
        let mut gaps = 0;
        for lane in 0..LANES {
            gaps |= numbers[lane] ^ numbers[0].wrapping_add(lane as u32);
        }
        if gaps == 0 && numbers[0] as usize + LANES <= region.elements {
            return Found::Together(Elements {
                base,
                stride,
                numbers: row,
                successive: true,
            });
        }
    } else {
        for lane in 0..LANES {
            numbers[lane] &= worker.spread[lane];
        }
        worker.numbers = numbers;
        row = worker.numbers.as_ptr();
    }
    let largest = numbers.iter().fold(0, |most, number| most.max(*number));
    if largest as usize >= region.elements {
        return Found::Apart;
    }
    Found::Together(Elements {
        base,
        stride,
        numbers: row,
        successive: false,
    })
}
