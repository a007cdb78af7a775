//! Which threads touched each scalar of memory, to tell whether their order can show in the results.
//!
//! Two threads race where both touch a scalar, at least one writes, and the order decides what is left
//! or read: a plain write against any other access, or an atomic update whose old value is looked at.
//! A write of what is already there changes nothing, so it races only with a later write of something
//! else. Sums of floating-point numbers in another order differ by rounding, which is not a race.

use super::findings::Fault;

/// No thread.
const NONE: u32 = 0;
/// Several threads.
const MANY: u32 = u32::MAX;

/// Who touched one scalar: nobody, one thread (its number plus one), or several.
#[derive(Clone, Copy, Debug, Default)]
struct Touches {
    writer: u32,
    reader: u32,
    updater: u32,
}

/// What a thread does to a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    /// A plain store; whether it leaves the scalar as it was.
    Write {
        unchanged: bool,
    },
    /// Read and replaced in two steps.
    Replace {
        unchanged: bool,
    },
    /// An atomic update; whether the old value is looked at.
    Update {
        observed: bool,
    },
}

/// The touches of one launch, by buffer, column and element.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    columns: Vec<Vec<Vec<Touches>>>,
}

fn others(who: u32, thread: u32) -> bool {
    who != NONE && who != thread
}

fn join(who: &mut u32, thread: u32) {
    *who = if others(*who, thread) { MANY } else { thread };
}

impl Touched {
    /// Notes what a thread does; gives the fault if another thread's doing makes it a race.
    pub(super) fn note(
        &mut self,
        (buffer, column, element): (usize, usize, usize),
        thread: usize,
        touch: Touch,
    ) -> Option<Fault> {
        if self.columns.len() <= buffer {
            self.columns.resize(buffer + 1, Vec::new());
        }
        let columns = &mut self.columns[buffer];
        if columns.len() <= column {
            columns.resize(column + 1, Vec::new());
        }
        let elements = &mut columns[column];
        if elements.len() <= element {
            elements.resize((element + 1).next_power_of_two(), Touches::default());
        }
        let touches = &mut elements[element];
        let thread = u32::try_from(thread + 1).unwrap_or(MANY - 1);
        let written = others(touches.writer, thread);
        let read = others(touches.reader, thread);
        let updated = others(touches.updater, thread);
        let races = match touch {
            Touch::Read => written || updated,
            Touch::Write { unchanged } => !unchanged && (written || read) || updated,
            Touch::Replace { unchanged } => written || updated || read && !unchanged,
            Touch::Update { observed } => written || read || observed && updated,
        };
        match touch {
            Touch::Read => join(&mut touches.reader, thread),
            Touch::Write { .. } => join(&mut touches.writer, thread),
            Touch::Replace { .. } => {
                join(&mut touches.reader, thread);
                join(&mut touches.writer, thread);
            }
            Touch::Update { .. } => join(&mut touches.updater, thread),
        }
        races.then_some(match touch {
            Touch::Write { .. } if written => Fault::RacingStores,
            Touch::Update { observed: true } if updated => Fault::ObservedOrder,
            _ => Fault::RacingAccess,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: (usize, usize, usize) = (0, 0, 5);
    const STORE: Touch = Touch::Write { unchanged: false };

    fn after(touches: &[(usize, Touch)]) -> Option<Fault> {
        let mut touched = Touched::default();
        touches
            .iter()
            .filter_map(|(thread, touch)| touched.note(PLACE, *thread, *touch))
            .last()
    }

    #[test]
    fn different_stores_race_and_equal_ones_do_not() {
        let same = Touch::Write { unchanged: true };
        assert_eq!(after(&[(0, STORE), (1, STORE)]), Some(Fault::RacingStores));
        assert_eq!(after(&[(0, STORE), (1, same)]), None);
        assert_eq!(after(&[(0, same), (1, STORE)]), Some(Fault::RacingStores));
        assert_eq!(after(&[(3, STORE), (3, Touch::Read), (3, STORE)]), None);
    }

    #[test]
    fn reading_what_another_thread_writes_is_a_race_either_way_round() {
        assert_eq!(
            after(&[(0, STORE), (1, Touch::Read)]),
            Some(Fault::RacingAccess)
        );
        assert_eq!(
            after(&[(0, Touch::Read), (1, STORE)]),
            Some(Fault::RacingAccess)
        );
        assert_eq!(after(&[(0, Touch::Read), (1, Touch::Read)]), None);
    }

    #[test]
    fn atomic_updates_race_where_somebody_looks() {
        let (blind, seeing) = (
            Touch::Update { observed: false },
            Touch::Update { observed: true },
        );
        assert_eq!(after(&[(0, blind), (1, blind)]), None);
        assert_eq!(
            after(&[(0, seeing), (1, seeing)]),
            Some(Fault::ObservedOrder)
        );
        assert_eq!(
            after(&[(0, blind), (1, Touch::Read)]),
            Some(Fault::RacingAccess)
        );
    }
}
