//! Drawn mazes, and the journal that gives a borrowed file its bytes back.

use warpsmith_lattice::bfs::parse_map;
use warpsmith_lattice::catalytic::{journal_path, restore};

use super::{Target, text};
use crate::scratch;

pub(super) const MAZE: Target = Target {
    name: "maze",
    run: |data| {
        text(data, |map| {
            let _ = parse_map(map);
        });
    },
    dictionary: &["#", ".", "S", "G", "\n\n", " "],
};

pub(super) const JOURNAL: Target = Target {
    name: "journal",
    run: |data| {
        let borrowed = vec![7; 4096];
        scratch::file("borrowed", &borrowed, |path| {
            std::fs::write(journal_path(path), data).expect("a temporary file can be written");
            let _ = restore(path);
            let _ = std::fs::remove_file(journal_path(path));
        });
    },
    dictionary: &["WSMJRN01"],
};
