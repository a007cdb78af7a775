//! Which versions of glibc an ELF file needs, from its table of version needs.

use anyhow::{Context, Result, bail};

/// The newest glibc that a file needs.
#[derive(Debug, PartialEq)]
pub(super) struct Needed {
    pub(super) version: (u32, u32),
    /// The names of the needs of that version, as `libm.so.6 GLIBC_2.35`.
    pub(super) symbols: Vec<String>,
}

const DYNAMIC: u32 = 6;
const VERSION_NEEDS: u32 = 0x6fff_fffe;

/// Reads a 64-bit little-endian file.
pub(super) fn glibc_needed(bytes: &[u8]) -> Result<Needed> {
    if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("this is not a 64-bit little-endian ELF file");
    }
    let sections = sections(bytes)?;
    let needs = sections
        .iter()
        .find(|section| section.kind == VERSION_NEEDS);
    let Some(needs) = needs else {
        if !sections.iter().any(|section| section.kind == DYNAMIC) {
            // A static program needs none.
            return Ok(Needed {
                version: (0, 0),
                symbols: Vec::new(),
            });
        }
        bail!("it has no table of version needs");
    };
    let strings = sections
        .get(needs.link)
        .context("the table names no section of strings")?;
    let name = |offset: u32| -> Result<String> {
        let start = strings.offset + offset as usize;
        let rest = bytes.get(start..).context("a name lies outside the file")?;
        let end = rest
            .iter()
            .position(|byte| *byte == 0)
            .context("a name has no end")?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let mut found: Vec<((u32, u32), String)> = Vec::new();
    let mut at = needs.offset;
    for _ in 0..needs.info {
        let library = name(word(bytes, at + 4)?)?;
        let mut need = at + word(bytes, at + 8)? as usize;
        for _ in 0..half(bytes, at + 2)? {
            let version = name(word(bytes, need + 8)?)?;
            if let Some(numbers) = version.strip_prefix("GLIBC_").and_then(numbers) {
                found.push((numbers, format!("{library} {version}")));
            }
            need += word(bytes, need + 12)? as usize;
        }
        at += word(bytes, at + 12)? as usize;
    }
    let newest = found
        .iter()
        .map(|(version, _)| *version)
        .max()
        .unwrap_or((0, 0));
    found.retain(|(version, _)| *version == newest);
    Ok(Needed {
        version: newest,
        symbols: found.into_iter().map(|(_, name)| name).collect(),
    })
}

/// `2.28` of `2.28` and `2.2.5`; `None` for `PRIVATE` and its like.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

struct Section {
    kind: u32,
    offset: usize,
    link: usize,
    info: u32,
}

fn sections(bytes: &[u8]) -> Result<Vec<Section>> {
    let table = usize::try_from(long(bytes, 0x28)?)?;
    let size = usize::from(half(bytes, 0x3a)?);
    let count = usize::from(half(bytes, 0x3c)?);
    (0..count)
        .map(|nth| {
            let at = table + nth * size;
            Ok(Section {
                kind: word(bytes, at + 4)?,
                offset: usize::try_from(long(bytes, at + 0x18)?)?,
                link: word(bytes, at + 0x28)? as usize,
                info: word(bytes, at + 0x2c)?,
            })
        })
        .collect()
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let end = at.checked_add(N).context("an offset overflows")?;
    let part = bytes.get(at..end).context("the file ends too early")?;
    Ok(part.try_into()?)
}

fn half(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(part(bytes, at)?))
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(part(bytes, at)?))
}

fn long(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(part(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_needs_a_glibc_that_exists() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needed = glibc_needed(&own).unwrap();
        assert!(
            needed.version >= (2, 2) && needed.version < (3, 0),
            "{needed:?}"
        );
        assert!(needed.symbols[0].contains("GLIBC_2."), "{needed:?}");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(glibc_needed(b"#!/bin/sh\n").is_err());
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(glibc_needed(&own[..200]).is_err());
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(numbers("2.2.5"), Some((2, 2)));
        assert!(numbers("2.4") < numbers("2.28"));
        assert_eq!(numbers("PRIVATE"), None);
    }
}
