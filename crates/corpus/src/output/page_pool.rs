//! Memory of pages, from those that are written to those that are filled next: what a page has once
//! touched is not given back to the system and taken again for every shard.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::long_text::PAGE_BYTES;

/// What a page has room for: it is closed by the row that takes it past its size.
const ROOM: usize = PAGE_BYTES + PAGE_BYTES / 4;

/// Empty pages that all workers of a run share, so that there are never more than were full at once.
#[derive(Debug, Default)]
pub(crate) struct PagePool(Mutex<Vec<Vec<u8>>>);

impl PagePool {
    /// An empty page.
    pub(super) fn take(&self) -> Vec<u8> {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(ROOM))
    }

    /// Takes a page back.
    pub(super) fn give(&self, mut page: Vec<u8>) {
        page.clear();
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(page);
    }

    /// Takes the memory of bytes that were written, if they are a page that nobody reads any more.
    pub(super) fn give_bytes(&self, bytes: Bytes) {
        match bytes.try_into_mut() {
            Ok(page) if page.capacity() >= ROOM => self.give(page.into()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_comes_back_with_its_memory() {
        let pool = PagePool::default();
        pool.give_bytes(Bytes::from(b"a header".to_vec()));
        let mut page = pool.take();
        assert!(page.capacity() >= ROOM, "a header became a page");
        page.extend_from_slice(b"some text");
        let place = page.as_ptr();
        let written = Bytes::from(page);
        let reader = written.clone();
        pool.give_bytes(written);
        let other = pool.take();
        assert_ne!(other.as_ptr(), place, "a page that is read was taken");
        pool.give_bytes(reader);
        let again = pool.take();
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }
}
