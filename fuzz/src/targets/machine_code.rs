//! Files with GPU code: ELF with fat binaries, and wheels that hold them.

use warpsmith_doctor::{coverage_of_elf, coverage_of_wheel};

use super::Target;
use crate::scratch;

pub(super) const ELF: Target = Target {
    name: "elf",
    run: |data| {
        let _ = coverage_of_elf(&data.to_vec());
    },
    dictionary: &[
        "\u{7f}ELF",
        ".nv_fatbin",
        "__nv_relfatbin",
        ".shstrtab",
        ".target sm_90",
        ".version 8.0",
    ],
};

pub(super) const WHEEL: Target = Target {
    name: "wheel",
    run: |data| {
        scratch::file("a-1-py3-none-any.whl", data, |path| {
            let _ = coverage_of_wheel(path);
        });
    },
    dictionary: &[
        "PK\u{3}\u{4}",
        "PK\u{1}\u{2}",
        "PK\u{5}\u{6}",
        "PK\u{6}\u{6}",
        "a.so",
    ],
};
