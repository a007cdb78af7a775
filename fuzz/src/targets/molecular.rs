//! Files of molecular dynamics: states to continue from, and trajectories.

use std::path::Path;

use warpsmith_md::{Checkpoint, read_frame};

use super::Target;
use crate::scratch;

pub(super) const CHECKPOINT: Target = Target {
    name: "md_checkpoint",
    run: |data| {
        scratch::file("state", data, |path| {
            let _ = Checkpoint::read(path);
        });
    },
    dictionary: &["WSMDCKP2"],
};

pub(super) const TRAJECTORY: Target = Target {
    name: "md_trajectory",
    run: |data| {
        let mut input = data;
        let mut line = 1;
        while let Ok(Some(_)) = read_frame(&mut input, Path::new("input.xyz"), line, None) {
            line += 1;
        }
    },
    dictionary: &[
        "Lattice=\"",
        "Properties=species:S:1:pos:R:3:velo:R:3",
        "Ar ",
        "\n",
        "1e308",
    ],
};
