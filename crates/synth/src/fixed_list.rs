//! A list with room for so many and no more.

use std::ops::{Deref, DerefMut};

/// Never grows after it is made; copies have the same room.
#[derive(Debug)]
pub(crate) struct FixedList<T> {
    items: Vec<T>,
    room: usize,
}

impl<T: Copy> FixedList<T> {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            items: Vec::with_capacity(room),
            room,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.items.len() >= self.room
    }

    /// Adds `item`; says whether there was room.
    pub(crate) fn push(&mut self, item: T) -> bool {
        let room = !self.is_full();
        if room {
            self.items.push(item);
        }
        room
    }

    /// Takes out the item at `index`; the others keep their order.
    pub(crate) fn remove(&mut self, index: usize) {
        self.items.remove(index);
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
    }
}

impl<T: Copy> Clone for FixedList<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.room);
        copy.items.extend_from_slice(&self.items);
        copy
    }

    /// Allocates nothing where the room is the same.
    fn clone_from(&mut self, source: &Self) {
        if self.room != source.room {
            *self = source.clone();
            return;
        }
        self.items.clear();
        self.items.extend_from_slice(&source.items);
    }
}

impl<T> Deref for FixedList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for FixedList<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
