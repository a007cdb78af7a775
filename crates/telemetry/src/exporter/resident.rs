//! Gives the memory of the start back to the system: what runs for weeks should hold what it uses.
//!
//! Reading the command line runs through most of the program once. The pages stay resident, two
//! thirds of all, though an exporter never comes back to them.
//!
//! Invariant: only pages that nobody has written are dropped; the kernel reads them from the file
//! again when they are needed.

use std::fs;
use std::ops::Range;

/// Drops this program's code and constants from memory, and the heap's free pages; what is in use
/// comes back by itself.
pub fn give_back_start_up() {
    let program = std::env::current_exe().unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for range in read_only_parts(&maps, &program.to_string_lossy()) {
        let start = std::ptr::without_provenance_mut(range.start);
        // SAFETY: the range is a mapping of the program's own file that was never writable (see
        // `read_only_parts`), so that its pages are the file's, and reading them again, also by
        // the code that runs just now, gives the same bytes.
        unsafe { libc::madvise(start, range.len(), libc::MADV_DONTNEED) };
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers; the allocator locks itself.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// The parts of `program` in the text of `/proc/self/maps` that were never written: its code, and the
/// constants before it. What lies behind the code was relocated at the start before it was made
/// read-only, and is not in the file in that form.
fn read_only_parts(maps: &str, program: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    for line in maps.lines() {
        // address, rights, offset, device, inode, path
        let mut words = line.split_whitespace();
        let (Some(addresses), Some(rights)) = (words.next(), words.next()) else {
            continue;
        };
        if words.nth(3) != Some(program) {
            continue;
        }
        let range = addresses.split_once('-').and_then(|(start, end)| {
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some(number(start)?..number(end)?)
        });
        let Some(range) = range else { continue };
        match rights {
            "r--p" => parts.push(range),
            "r-xp" => {
                parts.push(range);
                return parts;
            }
            _ => return Vec::new(),
        }
    }
    // Without code behind them nobody knows what these are.
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-5000 r--p 00000000 fe:00 77 /usr/bin/warpsmith
5000-9000 r-xp 00004000 fe:00 77 /usr/bin/warpsmith
9000-a000 r--p 00008000 fe:00 77 /usr/bin/warpsmith
a000-b000 rw-p 00009000 fe:00 77 /usr/bin/warpsmith
b000-c000 rw-p 00000000 00:00 0 [heap]
d000-e000 r-xp 00000000 fe:00 78 /usr/lib/libc.so.6
";

    #[test]
    fn constants_and_code_are_dropped_and_relocated_data_are_not() {
        let parts = read_only_parts(MAPS, "/usr/bin/warpsmith");
        assert_eq!(parts, [0x1000..0x5000, 0x5000..0x9000]);
        assert!(read_only_parts(MAPS, "/usr/bin/other").is_empty());
        let writable = MAPS.replace("1000-5000 r--p", "1000-5000 rw-p");
        assert!(read_only_parts(&writable, "/usr/bin/warpsmith").is_empty());
        assert!(read_only_parts("garbage\n\n1-2", "/usr/bin/warpsmith").is_empty());
    }

    #[test]
    fn a_program_goes_on_after_it_with_less_memory() {
        let resident = || -> u64 {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("RssFile:"));
            line.unwrap()
                .split_whitespace()
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let before = resident();
        give_back_start_up();
        let after = resident();
        assert!(after < before, "{after} kB of {before}");
        // Constants, code that was dropped, and relocated tables are all there.
        assert_eq!(
            format!("{:?}", "x".repeat(3).parse::<u8>().is_err()),
            "true"
        );
    }
}
