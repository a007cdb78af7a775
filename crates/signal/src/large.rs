//! Memory for long signals and large results: taken once, and in large pages where the system has them.
//!
//! The first touch of a page costs a microsecond or two, more than it takes to read sound into it or to write
//! features there. Linux has pages of 2 MiB beside those of 4 KiB and gives them to memory that is marked.

/// Bytes from which on there is a large page in a stretch of memory, wherever it starts.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// An empty vector with room for `count` values; where memory has no such room, without.
pub fn with_room<T>(count: usize) -> Vec<T> {
    let mut values = Vec::new();
    if values.try_reserve_exact(count).is_ok() {
        prefer_large_pages(&mut values);
    }
    values
}

/// `count` zeros.
pub fn zeros<T: Clone + Default>(count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    prefer_large_pages(&mut values);
    values
}

#[cfg(target_os = "linux")]
fn prefer_large_pages<T>(values: &mut Vec<T>) {
    const PAGE: usize = 4096;
    let bytes = values.capacity() * size_of::<T>();
    if bytes < LARGE {
        return;
    }
    let first = values.as_mut_ptr();
    let skipped = first.addr().next_multiple_of(PAGE) - first.addr();
    // Machines with larger pages refuse it, and systems without large ones; both go on as they were.
    // SAFETY: the stretch lies inside the vector's own memory, and the advice changes nothing of what is there.
    unsafe {
        libc::madvise(
            first.byte_add(skipped).cast(),
            (bytes - skipped) / PAGE * PAGE,
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages<T>(_: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_there_and_zeros_are_zeros() {
        let mut values = with_room::<f32>(3 << 20);
        assert!(values.is_empty() && values.capacity() >= 3 << 20);
        values.resize(3 << 20, 1.0);
        assert!(values.iter().all(|value| *value == 1.0));
        assert!(
            zeros::<[f32; 2]>(2 << 20)
                .iter()
                .all(|pair| *pair == [0.0; 2])
        );
        assert_eq!(with_room::<f64>(usize::MAX).capacity(), 0);
        assert_eq!(with_room::<f32>(0).capacity(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_memory_is_marked_for_large_pages() {
        use std::fs::read_to_string;
        use std::path::Path;

        // Some systems are built without large pages, others do not say what is marked.
        let files = [
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/proc/self/smaps",
        ];
        if !files.iter().all(|file| Path::new(file).exists()) {
            return;
        }
        let values = zeros::<f32>(16 << 20);
        let middle = values[values.len() / 2..].as_ptr().addr();
        let maps = read_to_string("/proc/self/smaps").unwrap();
        let mut here = false;
        let flags = maps.lines().find(|line| {
            let range = line.split_whitespace().next().unwrap_or_default();
            if let Some((from, to)) = range.split_once('-')
                && let (Ok(from), Ok(to)) = (
                    usize::from_str_radix(from, 16),
                    usize::from_str_radix(to, 16),
                )
            {
                here = (from..to).contains(&middle);
            }
            here && line.starts_with("VmFlags:")
        });
        assert!(flags.unwrap().split_whitespace().any(|flag| flag == "hg"));
    }
}
