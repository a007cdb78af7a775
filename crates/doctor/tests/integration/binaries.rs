//! Libraries and wheels: what they contain is read, and damaged ones do no harm.

use std::io::Write;
use std::path::Path;

use crate::support::{elf, gpu_library};
use proptest::prelude::*;
use warpsmith_doctor::{Capability, Runs, coverage_of_elf, coverage_of_wheel, will_it_run};

fn sms(coverage: &warpsmith_doctor::Coverage) -> (Vec<u32>, Vec<u32>) {
    let list = |set: &std::collections::BTreeSet<warpsmith_doctor::Target>| {
        set.iter().map(|t| t.capability.sm()).collect()
    };
    (list(&coverage.cubins), list(&coverage.ptx))
}

/// A ZIP archive with one stored and one deflated member of each library.
fn wheel(path: &Path, members: &[(&str, &[u8], bool)]) {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes, deflate) in members {
        let packed = if *deflate {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes.to_vec()
        };
        let method: u16 = if *deflate { 8 } else { 0 };
        let at = file.len() as u32;
        let mut fields = Vec::new();
        fields.extend_from_slice(&[20, 0, 0, 0]);
        fields.extend_from_slice(&method.to_le_bytes());
        fields.extend_from_slice(&[0; 8]);
        fields.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        fields.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        fields.extend_from_slice(&(name.len() as u16).to_le_bytes());
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&fields);
        file.extend_from_slice(&[0, 0]);
        file.extend_from_slice(name.as_bytes());
        file.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&fields);
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let start = file.len() as u32;
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&(members.len() as u16).to_le_bytes());
    file.extend_from_slice(&(members.len() as u16).to_le_bytes());
    file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    file.extend_from_slice(&start.to_le_bytes());
    file.extend_from_slice(&[0, 0]);
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_library_says_what_it_contains() {
    let bytes = gpu_library(&[75, 80, 90], &[90]);
    let coverage = coverage_of_elf(&bytes).unwrap();
    assert_eq!(sms(&coverage), (vec![75, 80, 90], vec![90]));
    assert!(coverage_of_elf(&elf(&[(".text", 1, b"code")])).is_none());
    assert!(coverage_of_elf(&b"#!/bin/sh".to_vec()).is_none());
}

/// Flags as the fat-binary library of CUDA 12.9 writes them for `sm_100`, `sm_100a` and `sm_100f`.
#[test]
fn code_for_one_part_or_one_family_is_told_apart() {
    let flags_at = 64 + 16 + 40;
    for (flags, name, runs_on_its_sibling) in [
        (0x0100_0011_u64, "sm_100", true),
        (0x0110_0011, "sm_100a", false),
        (0x0120_0011, "sm_100f", true),
    ] {
        let mut bytes = gpu_library(&[100], &[]);
        bytes[flags_at..flags_at + 8].copy_from_slice(&flags.to_le_bytes());
        let coverage = coverage_of_elf(&bytes).unwrap();
        assert_eq!(coverage.describe(), format!("{name}, no PTX"));
        let sibling = coverage.runs_on(Capability::from_sm(103));
        assert_eq!(
            matches!(sibling, Runs::Native(_)),
            runs_on_its_sibling,
            "{name}"
        );
    }
}

#[test]
fn a_wheel_is_read_without_unpacking_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-1.0-cp312-linux_x86_64.whl");
    // Longer than the reader's buffer, so that a container is met across its edge; sections of GPU
    // code start at multiples of eight, as this length keeps them.
    let filler = vec![0u8; 150_000];
    let large = elf(&[
        (".rodata", 1, &filler),
        (".nv_fatbin", 1, &fatbin_of(&gpu_library(&[80, 86], &[86]))),
    ]);
    wheel(
        &path,
        &[
            ("x/a.so", &gpu_library(&[70], &[]), false),
            ("x/b.cpython-312.so", &large, true),
            ("x/__init__.py", b"pass", true),
        ],
    );
    let found = coverage_of_wheel(&path).unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|(name, c)| (name.as_str(), sms(c)))
        .collect();
    assert_eq!(
        names,
        [
            ("x/a.so", (vec![70], vec![])),
            ("x/b.cpython-312.so", (vec![80, 86], vec![86]))
        ]
    );
    let answers = will_it_run(&path, "RTX 5090").unwrap();
    assert!(matches!(answers[0].runs, Runs::No(_)) && matches!(answers[1].runs, Runs::Jit(_)));
    assert!(will_it_run(&path, "Radeon").is_err());
    std::fs::write(&path, b"not a wheel").unwrap();
    assert!(coverage_of_wheel(&path).is_err());
}

/// The section of a library that `gpu_library` made: behind the 64-byte header.
fn fatbin_of(library: &[u8]) -> Vec<u8> {
    let size = u64::from_le_bytes(library[72..80].try_into().unwrap());
    library[64..80 + usize::try_from(size).unwrap()].to_vec()
}

proptest! {
    #[test]
    fn damaged_libraries_are_read_without_a_panic(
        edits in proptest::collection::vec((0usize..2000, any::<u8>()), 0..12), cut in 0usize..2000
    ) {
        let mut bytes = gpu_library(&[75, 80, 90], &[90]);
        let n = bytes.len();
        for (at, byte) in edits {
            bytes[at % n] = byte;
        }
        bytes.truncate(n - cut % n);
        let _ = coverage_of_elf(&bytes);
    }

    #[test]
    fn damaged_wheels_are_read_without_a_panic(
        edits in proptest::collection::vec((0usize..4000, any::<u8>()), 0..8), cut in 0usize..400
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.whl");
        wheel(&path, &[("a.so", &gpu_library(&[80], &[]), true), ("b.so", &gpu_library(&[90], &[]), false)]);
        let mut bytes = std::fs::read(&path).unwrap();
        let n = bytes.len();
        for (at, byte) in edits {
            bytes[at % n] = byte;
        }
        bytes.truncate(n - cut % n);
        std::fs::write(&path, bytes).unwrap();
        let _ = coverage_of_wheel(&path);
    }
}
