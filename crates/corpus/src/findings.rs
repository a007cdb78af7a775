//! The codes of conclusions about data sets.

use warpsmith_core::CodeDoc;

const fn doc(
    code: &'static str,
    title: &'static str,
    explanation: &'static str,
    fix: &'static str,
) -> CodeDoc {
    CodeDoc {
        code,
        title,
        explanation,
        fix,
    }
}

/// What each code means.
pub const CODES: &[CodeDoc] = &[
    doc(
        "S001",
        "a file of the data set is missing or damaged",
        "The manifest names every file with its size and SHA-256; this one is not there, or its bytes are \
         others.",
        "delete the file and its manifest's last entries by running `warpsmith corpus generate` into a new \
         folder, or copy the file again",
    ),
    doc(
        "S002",
        "a data set is not complete",
        "The manifests account for fewer shards than the settings ask for, or shares are missing.",
        "run the same `warpsmith corpus generate` command again: it goes on where it stopped",
    ),
    doc(
        "S003",
        "a row does not hold what its hashes say",
        "The hashes of the Python source were computed again and differ from those in the row.",
        "the file was changed after it was written; generate it again",
    ),
    doc(
        "S004",
        "two rows have the same shape",
        "The data set was deduplicated by the shape of the syntax tree, and yet two rows share one.",
        "generate it again; report it if it happens again",
    ),
    doc(
        "S005",
        "a shape is in two splits",
        "Splits follow from the shape, so that nothing of the test is in the training part.",
        "generate the data set again with one set of split rules",
    ),
    doc(
        "S006",
        "the compiler writes other text than the row holds",
        "The Python source was compiled again and its CUDA or CPU text differs from the row's.",
        "the row was made by another version of the compiler: generate again, or check with that version",
    ),
    doc(
        "S007",
        "fewer pairs than were asked for",
        "For some indices every draft had a shape that was there before.",
        "widen `--categories` or `--difficulty`, or ask for fewer pairs",
    ),
    doc(
        "S008",
        "the compiler refused drafts",
        "The generator writes programs that are correct by construction; a refused one is a fault of ours \
         and was left out.",
        "report the seed and the index",
    ),
    doc(
        "S009",
        "pairs failed a level of verification",
        "They are in the data set, and their column says what was seen.",
        "filter on the level's column, or look at one with `warpsmith corpus show`",
    ),
];
