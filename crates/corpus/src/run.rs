//! A run: shard after shard, each made by the pipeline and written.
//!
//! Invariants: a shard's files are complete before the manifest names them; a run that is started again
//! goes on after the last shard that the manifest names and ends with the same bytes as one that was
//! never stopped.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use warpsmith_formats::TEMPORARY_PREFIX;

use crate::output::{Manifest, ManifestError, Settings, Tally};
use crate::pipeline::{self, Block, block_pairs, blocks};
use crate::selection::Selection;
use crate::shard::WrittenShard;
use crate::verify::{PrepareError, Verifier};

/// A run that cannot begin or go on. What was written stays valid.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The folder belongs to a run with other settings.
    #[error(
        "`{folder}` holds another run: {difference}; choose another folder, or the same settings"
    )]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        difference: String,
    },
    /// The folder holds something else.
    #[error("`{0}` is not empty and holds no manifest; choose another folder")]
    NotEmpty(PathBuf),
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file.
    #[error(
        "cannot write `{path}`: {reason}; what was written before is complete, and the same command goes on from there"
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Settings that make no sense.
    #[error("{0}")]
    Settings(String),
    /// The grammar has no more shapes under these filters.
    #[error(
        "no new shapes are left after {pairs} pairs: these categories and difficulties cannot give {count}; widen them, or allow duplicates"
    )]
    Exhausted {
        /// Pairs that were written.
        pairs: u64,
        /// Pairs that were requested.
        count: u64,
    },
    /// A level of verification.
    #[error(transparent)]
    Verify(#[from] PrepareError),
    /// Rows that could not be encoded.
    #[error("cannot encode rows: {0}")]
    Encode(String),
    /// A worker that ended by itself.
    #[error("a worker ended before its block was made")]
    WorkerLost,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Pairs of this share that are written.
    pub pairs: u64,
    /// Pairs of this share in all.
    pub of: u64,
    /// Pairs that an earlier run had written.
    pub before: u64,
    /// Drafts that this run made for its pairs.
    pub drafts: u64,
}

/// Makes a data set in `folder`, or goes on with one.
///
/// # Errors
/// Why it cannot begin or go on.
pub fn generate(
    settings: &Settings,
    part: (u64, u64),
    folder: &Path,
    verifier: &Verifier,
    progress: &mut dyn FnMut(Progress),
) -> Result<Manifest, RunError> {
    check_settings(settings, part)?;
    let manifest = open(settings, part, folder)?;
    let shards = manifest.shard_range();
    let expected = (shards.end * settings.shard_pairs).min(settings.count);
    let selection = Selection::new(
        settings.wanted(),
        settings.seed,
        settings.deduplicate,
        expected,
    );
    go_on(settings, folder, verifier, manifest, selection, progress)
}

/// Makes the shards that a manifest does not name yet.
fn go_on(
    settings: &Settings,
    folder: &Path,
    verifier: &Verifier,
    mut manifest: Manifest,
    mut selection: Selection,
    progress: &mut dyn FnMut(Progress),
) -> Result<Manifest, RunError> {
    let shards = manifest.shard_range();
    let pairs = |shards: std::ops::Range<u64>| -> u64 {
        let ranges = shards.map(|shard| settings.pairs_of(shard));
        ranges.map(|range| range.end - range.start).sum()
    };
    let of = pairs(shards.clone());
    let before = manifest.tally.pairs;
    let next = shards.start + manifest.shards_done;
    let mut drafts = 0;
    let mut report = |tally: &Tally, drafts: u64| {
        progress(Progress {
            pairs: tally.pairs,
            of,
            before,
            drafts,
        });
    };
    report(&manifest.tally, 0);
    let mut waiting: Vec<Block> = Vec::new();
    if next < shards.end && selection.deduplicates() {
        let known = 0..(next * settings.shard_pairs).min(settings.count);
        waiting.extend(blocks(known, None, 5000));
    }
    for shard in next..shards.end {
        let range = settings.pairs_of(shard);
        waiting.extend(blocks(range, Some(shard), block_pairs(&settings.verify)));
    }
    let mut record = |shard: WrittenShard| -> Result<(), RunError> {
        let tally = shard.tally;
        manifest.files.extend(shard.files);
        let asked = tally.pairs + tally.exhausted + tally.refused;
        drafts += tally.drafts;
        manifest.tally.merge(&tally);
        manifest.shards_done += 1;
        manifest.write(folder)?;
        report(&manifest.tally, drafts);
        match tally.exhausted == asked {
            true => Err(RunError::Exhausted {
                pairs: manifest.tally.pairs,
                count: settings.count,
            }),
            false => Ok(()),
        }
    };
    let workers = rayon::current_num_threads();
    pipeline::run(
        settings,
        folder,
        &waiting,
        &mut selection,
        verifier,
        workers,
        &mut record,
    )?;
    Ok(manifest)
}

fn check_settings(settings: &Settings, (part, parts): (u64, u64)) -> Result<(), RunError> {
    let wrong = |text: &str| Err(RunError::Settings(text.to_owned()));
    if settings.count == 0 || settings.shard_pairs == 0 {
        return wrong("a data set needs at least one pair");
    }
    if settings.categories.is_empty() {
        return wrong("no category is chosen");
    }
    let levels = &settings.difficulties;
    if levels.is_empty() || levels.iter().any(|level| !(1..=5).contains(level)) {
        return wrong("difficulties are 1 to 5");
    }
    if part >= parts {
        return wrong("a share is written `i/n` with i below n, counted from 0");
    }
    Ok(())
}

/// The manifest of an earlier run with the same settings, or a new one.
fn open(settings: &Settings, part: (u64, u64), folder: &Path) -> Result<Manifest, RunError> {
    let cannot = |error: std::io::Error| RunError::Write {
        path: folder.to_owned(),
        reason: error.to_string(),
    };
    fs::create_dir_all(folder).map_err(cannot)?;
    let known = match Manifest::read_all(folder) {
        Ok(known) => known,
        Err(ManifestError::Missing(_)) => {
            // Shares of one data set are started at about the same time, each with its own manifest;
            // `data` may be there already.
            let mut entries = fs::read_dir(folder).map_err(cannot)?;
            let foreign = entries.any(|entry| {
                let name = entry.map(|entry| entry.file_name());
                name.is_ok_and(|name| {
                    let name = name.to_string_lossy();
                    name != "data" && !name.starts_with('.')
                })
            });
            if foreign {
                return Err(RunError::NotEmpty(folder.to_owned()));
            }
            Vec::new()
        }
        Err(error) => return Err(error.into()),
    };
    for manifest in &known {
        if manifest.settings != *settings || manifest.part.1 != part.1 {
            return Err(RunError::OtherRun {
                folder: folder.to_owned(),
                difference: difference(manifest, settings, part),
            });
        }
    }
    if part.1 == 1 {
        remove_unfinished(folder);
    }
    let mine = known.into_iter().find(|manifest| manifest.part == part);
    Ok(mine.unwrap_or_else(|| Manifest::new(settings.clone(), part)))
}

/// Removes the data set that `folder` holds where it was made with other settings, so that
/// [`generate`] can begin there with `settings`, in one share. Nothing is removed but the files that
/// the manifests name, the manifests and the card.
///
/// # Errors
/// A manifest that cannot be read, or a file that cannot be removed.
pub fn discard_other(settings: &Settings, folder: &Path) -> Result<(), RunError> {
    let remove = |path: PathBuf| match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RunError::Write {
            path,
            reason: error.to_string(),
        }),
        _ => Ok(()),
    };
    if !folder.exists() {
        return Ok(());
    }
    let known = match Manifest::read_all(folder) {
        Ok(known) => known,
        Err(ManifestError::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let same = |manifest: &Manifest| manifest.settings == *settings && manifest.part.1 == 1;
    if known.iter().all(same) {
        return Ok(());
    }
    for manifest in &known {
        for file in &manifest.files {
            remove(folder.join(&file.path))?;
        }
    }
    // Killed before this, the old manifests still say what is to be replaced.
    Manifest::new(settings.clone(), (0, 1)).write(folder)?;
    for manifest in known.iter().filter(|manifest| manifest.part != (0, 1)) {
        remove(Manifest::path(folder, manifest.part))?;
    }
    remove(folder.join("README.md"))
}

/// Removes the files that a killed run had not finished. Only where there are no other shares, whose
/// unfinished files may be growing at this moment.
fn remove_unfinished(folder: &Path) {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    for split in entries(&folder.join("data")) {
        for file in entries(&split.path()) {
            if file
                .file_name()
                .to_string_lossy()
                .starts_with(TEMPORARY_PREFIX)
            {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// The first setting that is not the same.
fn difference(manifest: &Manifest, settings: &Settings, part: (u64, u64)) -> String {
    if manifest.part.1 != part.1 {
        return format!("it is divided by {}, not by {}", manifest.part.1, part.1);
    }
    let value = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (theirs, ours) = (value(&manifest.settings), value(settings));
    let fields = theirs.as_object().into_iter().flatten();
    for (name, theirs) in fields {
        let ours = &ours[name.as_str()];
        if ours != theirs {
            return format!("its `{name}` is {theirs}, not {ours}");
        }
    }
    "its settings differ".to_owned()
}

/// A file's size and SHA-256.
pub(crate) fn checksum(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
    Ok((size, hexadecimal(hasher)))
}

/// A SHA-256 as it is written in manifests.
pub(crate) fn hexadecimal(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::inspect;
    use crate::selection::{MOST_ATTEMPTS, write_draft};

    /// A grammar that runs dry, played by shapes that are all taken from some index on.
    #[test]
    fn a_count_that_cannot_be_reached_is_said_and_what_was_written_is_valid() {
        let settings = Settings {
            seed: 6,
            count: 60,
            shard_pairs: 20,
            ..Settings::default()
        };
        let taken = |from: u64| {
            let wanted = settings.wanted();
            let mut selection = Selection::new(wanted.clone(), settings.seed, true, 60);
            for index in from..settings.count {
                let shapes = (0..MOST_ATTEMPTS)
                    .map(|attempt| write_draft(&wanted, settings.seed, index, attempt))
                    .map(|draft| draft.fingerprint.shape);
                selection.take_shapes(shapes);
            }
            selection
        };
        let run = |folder: &Path, selection: Selection| {
            let manifest = open(&settings, (0, 1), folder).unwrap();
            let verifier = Verifier::default();
            go_on(
                &settings,
                folder,
                &verifier,
                manifest,
                selection,
                &mut |_| {},
            )
        };
        let codes = |folder: &Path| -> (u64, Vec<String>) {
            let (inspection, findings) = inspect(folder, 10, &mut |_, _| {}).unwrap();
            let codes = findings.into_iter().map(|finding| finding.code.to_string());
            (inspection.rows, codes.collect())
        };
        // Half of the second shard and all of the third have nothing left.
        let folder = tempfile::tempdir().unwrap();
        match run(folder.path(), taken(30)) {
            Err(RunError::Exhausted { pairs, count: 60 }) => assert!((25..=30).contains(&pairs)),
            other => panic!("{other:?}"),
        }
        let (rows, found) = codes(folder.path());
        assert!((25..=30).contains(&rows), "{rows}");
        assert_eq!(found, ["S007"]);
        // A few indices without a pair are a finding, and no reason to stop.
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), taken(55)).unwrap();
        let (rows, found) = codes(folder.path());
        assert!((50..=55).contains(&rows), "{rows}");
        assert_eq!(found, ["S007"]);
    }
}
