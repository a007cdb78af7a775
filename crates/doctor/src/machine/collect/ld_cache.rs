//! `/etc/ld.so.cache`: which library the loader finds by default.
//!
//! The new format: magic `glibc-ld.so.cache1.1`, count at +20, 24-byte entries from +48 (flags, key
//! offset, value offset, …); offsets count from the start of the header. An old-format table may
//! stand before it.

use warpsmith_compatibility::le;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";

/// (name, path) of each entry whose name passes `keep`; `None` where the file is not a cache.
pub(crate) fn parse_ld_cache(
    bytes: &[u8],
    keep: impl Fn(&str) -> bool,
) -> Option<Vec<(String, String)>> {
    let start = memchr::memmem::find(bytes, MAGIC)?;
    let table = &bytes[start..];
    // A cache of a large system has some thousand entries.
    let count = usize::try_from(le::<4>(table, 20)).ok()?.min(1 << 17);
    let text = |at: u64| -> Option<&str> {
        let tail = table.get(usize::try_from(at).ok()?..)?;
        let end = memchr::memchr(0, &tail[..tail.len().min(4096)])?;
        std::str::from_utf8(&tail[..end]).ok()
    };
    let mut found = Vec::new();
    for n in 0..count {
        let at = 48 + n * 24;
        if at + 24 > table.len() {
            break;
        }
        let (Some(name), Some(path)) = (text(le::<4>(table, at + 4)), text(le::<4>(table, at + 8)))
        else {
            continue;
        };
        if keep(name) {
            found.push((name.to_owned(), path.to_owned()));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn cache(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut strings = Vec::new();
        let mut rows = Vec::new();
        let base = 48 + entries.len() * 24;
        for (name, path) in entries {
            let mut put = |text: &str| {
                let at = u32::try_from(base + strings.len()).unwrap();
                strings.extend_from_slice(text.as_bytes());
                strings.push(0);
                at
            };
            let (key, value) = (put(name), put(path));
            rows.extend_from_slice(&0x0303u32.to_le_bytes());
            rows.extend_from_slice(&key.to_le_bytes());
            rows.extend_from_slice(&value.to_le_bytes());
            rows.extend_from_slice(&[0; 12]);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&u32::try_from(entries.len()).unwrap().to_le_bytes());
        bytes.resize(48, 0);
        bytes.extend(rows);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn entries_are_found_by_name() {
        let bytes = cache(&[
            ("libc.so.6", "/lib/libc.so.6"),
            ("libcuda.so.1", "/usr/lib/libcuda.so.1"),
        ]);
        let found = parse_ld_cache(&bytes, |name| name.starts_with("libcuda")).unwrap();
        assert_eq!(
            found,
            [(
                "libcuda.so.1".to_owned(),
                "/usr/lib/libcuda.so.1".to_owned()
            )]
        );
        assert!(parse_ld_cache(b"nothing", |_| true).is_none());
    }

    proptest! {
        #[test]
        fn damaged_caches_are_read_without_a_panic(at in 0usize..200, byte in any::<u8>(), cut in 0usize..200) {
            let mut bytes = cache(&[("libcuda.so.1", "/a"), ("libcudart.so.12", "/b")]);
            let n = bytes.len();
            bytes[at % n] = byte;
            bytes.truncate(n - cut % n);
            let _ = parse_ld_cache(&bytes, |_| true);
        }
    }
}
