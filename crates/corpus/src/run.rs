//! A run: shard after shard, each drafted, deduplicated, compiled, verified and written.
//!
//! Invariants: a shard's files are complete before the manifest names them; a run that is started again
//! goes on after the last shard that the manifest names and ends with the same bytes as one that was
//! never stopped.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use warpsmith_compiler::Compiler;

use crate::generate::Wanted;
use crate::output::{
    FileEntry, Manifest, ManifestError, Row, Settings, Tally, write_jsonl, write_parquet,
};
use crate::record::Record;
use crate::selection::{Selected, Selection};
use crate::split::{Split, SplitRule};
use crate::verify::{Check, PrepareError, Verifier, execute};

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
        /// Pairs that were asked for.
        count: u64,
    },
    /// A level of verification.
    #[error(transparent)]
    Verify(#[from] PrepareError),
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
    let mut manifest = open(settings, part, folder)?;
    let shards = manifest.shard_range();
    let pairs_of = |shard: u64| {
        let start = shard * settings.shard_pairs;
        start..(start + settings.shard_pairs).min(settings.count)
    };
    let of: u64 = shards.clone().map(pairs_of).map(|r| r.end - r.start).sum();
    let before = manifest.tally.pairs;
    let next = shards.start + manifest.shards_done;
    let wanted = Wanted {
        categories: settings.categories.clone(),
        difficulties: settings.difficulties.clone(),
    };
    let expected = (shards.end * settings.shard_pairs).min(settings.count);
    let mut selection = Selection::new(wanted, settings.seed, settings.deduplicate, expected);
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
    if next < shards.end {
        selection.skip(0..(next * settings.shard_pairs).min(settings.count));
    }
    // A shard is written while the next one is drafted and compiled: hashing, compressing the last
    // chunks and waiting for the disk keep no core idle.
    let mut ready: Option<Prepared> = None;
    let mut failed = None;
    for shard in next..shards.end + 1 {
        let finished = ready.take();
        let more = shard < shards.end && failed.is_none();
        let (written, prepared) = rayon::join(
            || {
                finished.map(|shard| {
                    (
                        shard.tally,
                        write_shard(folder, settings, shard.shard, shard.records),
                    )
                })
            },
            || more.then(|| prepare(&mut selection, settings, shard, pairs_of(shard), verifier)),
        );
        if let Some((tally, files)) = written {
            manifest.files.extend(files?);
            let asked = tally.pairs + tally.exhausted + tally.refused;
            let exhausted = tally.exhausted == asked;
            drafts += tally.drafts;
            manifest.tally.merge(&tally);
            manifest.shards_done += 1;
            manifest.write(folder)?;
            report(&manifest.tally, drafts);
            if exhausted {
                return Err(RunError::Exhausted {
                    pairs: manifest.tally.pairs,
                    count: settings.count,
                });
            }
        }
        match prepared {
            Some(Ok(shard)) => ready = Some(shard),
            // What came before is still to be written.
            Some(Err(error)) => failed = Some(error),
            None => {}
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(manifest),
    }
}

/// A shard whose records are complete.
struct Prepared {
    shard: u64,
    records: Vec<Record>,
    tally: Tally,
}

fn prepare(
    selection: &mut Selection,
    settings: &Settings,
    shard: u64,
    range: std::ops::Range<u64>,
    verifier: &Verifier,
) -> Result<Prepared, PrepareError> {
    (selection.drafts, selection.exhausted) = (0, 0);
    let asked = range.end - range.start;
    let selected = selection.take(range);
    let mut records = compile_all(selected, &settings.split, verifier);
    verifier.check(&mut records)?;
    let mut tally = records
        .par_chunks(1000)
        .map(count)
        .collect::<Vec<Tally>>()
        .iter()
        .fold(Tally::default(), |mut all, part| {
            all.merge(part);
            all
        });
    tally.drafts = selection.drafts;
    tally.exhausted = selection.exhausted;
    tally.refused = asked - selection.exhausted - records.len() as u64;
    Ok(Prepared {
        shard,
        records,
        tally,
    })
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
    let mine = known.into_iter().find(|manifest| manifest.part == part);
    Ok(mine.unwrap_or_else(|| Manifest::new(settings.clone(), part)))
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

/// Compiles what was selected, on all cores; what the compiler refuses is left out and counted.
fn compile_all(selected: Vec<Selected>, rule: &SplitRule, verifier: &Verifier) -> Vec<Record> {
    let built: Vec<Option<Record>> = selected
        .into_par_iter()
        .with_min_len(16)
        .map_init(Compiler::new, |compiler, selected| {
            let Selected {
                origin,
                draft,
                fingerprint,
            } = selected;
            let (mut record, module) =
                Record::build(compiler, origin, draft, fingerprint, rule).ok()?;
            if verifier.executes() {
                let execution = execute(&module, origin, origin.index.is_multiple_of(8));
                record.verification.executed = execution.executed;
                record.verification.gradient = execution.gradient;
                record.verification.expected = execution.expected;
            }
            compiler.recycle(module);
            Some(record)
        })
        .collect();
    built.into_iter().flatten().collect()
}

/// What some records add to the tally.
fn count(records: &[Record]) -> Tally {
    let mut tally = Tally {
        pairs: records.len() as u64,
        ..Tally::default()
    };
    for record in records {
        add_one(&mut tally.categories, record.draft.category.name());
        *tally
            .difficulties
            .entry(record.draft.difficulty)
            .or_default() += 1;
        add_one(&mut tally.splits, record.split.name());
        for builtin in &record.features.builtins {
            add_one(&mut tally.builtins, builtin);
        }
        tally.distinct_exact.add(record.fingerprint.exact);
        tally
            .distinct_modulo_names
            .add(record.fingerprint.modulo_names);
        tally.distinct_shapes.add(record.fingerprint.shape);
        tally.distinct_minhash.add(record.fingerprint.minhash_key());
        let checks = &record.verification;
        let levels = [
            ("executed", &checks.executed),
            ("gradient", &checks.gradient),
            ("compiled", &checks.compiled),
            ("gpu", &checks.gpu),
            ("warp", &checks.warp),
        ];
        for (name, check) in levels {
            if *check == Check::NotRun {
                continue;
            }
            let counts = tally.levels.entry(name.to_owned()).or_default();
            match check {
                Check::Passed => counts.passed += 1,
                Check::Skipped(_) => counts.skipped += 1,
                Check::Failed(reason) => {
                    counts.failed += 1;
                    if counts.reasons.len() < 20 {
                        counts
                            .reasons
                            .push(format!("{}: {reason}", record.origin.index));
                    }
                }
                Check::NotRun => {}
            }
        }
    }
    tally
}

/// Counts a name, without making a `String` of one that is there.
fn add_one(counts: &mut std::collections::BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}

/// Writes a shard, one file per split that has rows.
fn write_shard(
    folder: &Path,
    settings: &Settings,
    shard: u64,
    records: Vec<Record>,
) -> Result<Vec<FileEntry>, RunError> {
    let mut by_split: [Vec<Row>; 5] = Default::default();
    for record in records {
        by_split[record.split as usize].push(Row::from(record));
    }
    let mut files = Vec::new();
    for (split, rows) in Split::ALL.into_iter().zip(by_split) {
        if rows.is_empty() {
            continue;
        }
        let name = format!(
            "data/{split}/part-{shard:05}-of-{:05}.{}",
            settings.shards(),
            settings.format
        );
        let path = folder.join(&name);
        let (bytes, sha256) = write_file(&path, &rows).map_err(|reason| RunError::Write {
            path: path.clone(),
            reason,
        })?;
        files.push(FileEntry {
            path: name,
            split,
            shard,
            rows: rows.len() as u64,
            bytes,
            sha256,
        });
    }
    Ok(files)
}

/// Writes a file under a temporary name, renames it, and gives its size and checksum.
fn write_file(path: &Path, rows: &[Row]) -> Result<(u64, String), String> {
    let parent = path.parent().ok_or("it has no folder")?;
    fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(parent)
        .map_err(|error| error.to_string())?;
    if path
        .extension()
        .is_some_and(|extension| extension == "jsonl")
    {
        write_jsonl(file.as_file_mut(), rows).map_err(|error| error.to_string())?;
    } else {
        write_parquet(file.as_file_mut(), rows).map_err(|error| error.to_string())?;
    }
    file.as_file()
        .sync_all()
        .map_err(|error| error.to_string())?;
    let digest = checksum(file.path()).map_err(|error| error.to_string())?;
    file.persist(path)
        .map_err(|error| error.error.to_string())?;
    Ok(digest)
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
    let digest: String = hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok((size, digest))
}
