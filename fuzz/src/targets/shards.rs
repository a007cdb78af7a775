//! Data sets: shards and manifests.

use warpsmith_corpus::{Manifest, read_rows};

use super::Target;
use crate::scratch;

pub(super) const ROWS: Target = Target {
    name: "corpus_shard",
    run: |data| {
        scratch::file("shard.parquet", data, |path| {
            let _ = read_rows(path, &["id", "source"]);
        });
    },
    dictionary: &["PAR1", "schema", "source"],
};

pub(super) const MANIFEST: Target = Target {
    name: "corpus_manifest",
    run: |data| {
        scratch::file("manifest.json", data, |path| {
            let _ = Manifest::read(path);
        });
    },
    dictionary: &[
        "\"files\":",
        "\"settings\":",
        "\"rows\":",
        "\"sha256\":",
        "null",
        "[]",
        "{}",
    ],
};
