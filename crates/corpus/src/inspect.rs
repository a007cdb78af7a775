//! Checks a data set: files against the manifest, rows against themselves, sources against the compiler.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::{Compiler, Options, Target, emit};
use warpsmith_core::{Finding, Severity};

use crate::fingerprint::Fingerprint;
use crate::output::{FileEntry, Manifest, ManifestError, Row, Settings, read_rows};
use crate::run::checksum;
use crate::statistics::StatisticsError;

/// What was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Files whose checksum was compared.
    pub files: u64,
    /// Rows whose hashes were computed again.
    pub rows: u64,
    /// Rows whose source was compiled again.
    pub recompiled: u64,
}

/// Checks the data set in `folder`; the source of one row of `recompile_every` is compiled again.
///
/// # Errors
/// A folder without a manifest.
pub fn inspect(
    folder: &Path,
    recompile_every: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(Inspection, Vec<Finding>), ManifestError> {
    let manifests = Manifest::read_all(folder)?;
    let mut inspection = Inspection::default();
    let mut findings = Vec::new();
    completeness(&manifests, &mut findings);
    let mut shapes: HashMap<u64, (u64, &str)> = HashMap::new();
    let files: Vec<(&Settings, &FileEntry)> = manifests
        .iter()
        .flat_map(|manifest| manifest.files.iter().map(|file| (&manifest.settings, file)))
        .collect();
    for (done, (settings, file)) in files.iter().enumerate() {
        progress(done as u64, files.len() as u64);
        let path = folder.join(&file.path);
        match checksum(&path) {
            Ok(seen) if seen == (file.bytes, file.sha256.clone()) => inspection.files += 1,
            Ok((bytes, _)) => {
                let seen = format!(
                    "{bytes} bytes, {} expected, or another checksum",
                    file.bytes
                );
                findings.push(damaged(file, seen));
                continue;
            }
            Err(error) => {
                findings.push(damaged(file, error.to_string()));
                continue;
            }
        }
        let rows = match read_rows(&path, &[]) {
            Ok(rows) => rows,
            Err(error) => {
                findings.push(damaged(file, error.to_string()));
                continue;
            }
        };
        if rows.len() as u64 != file.rows {
            findings.push(damaged(
                file,
                format!("{} rows, {} expected", rows.len(), file.rows),
            ));
        }
        inspection.rows += rows.len() as u64;
        let checked: Vec<(bool, Vec<Finding>)> = rows
            .par_iter()
            .map_init(Compiler::new, |compiler, row| {
                check_row(compiler, row, recompile_every)
            })
            .collect();
        for (recompiled, mut found) in checked {
            inspection.recompiled += u64::from(recompiled);
            findings.append(&mut found);
        }
        for row in &rows {
            let before = shapes.insert(row.hash_shape, (row.index, file.split.name()));
            if let Some((index, split)) = before {
                let (code, message) = if split != file.split.name() {
                    (
                        "S005",
                        format!(
                            "pairs {index} and {} have one shape in two splits",
                            row.index
                        ),
                    )
                } else if settings.deduplicate {
                    (
                        "S004",
                        format!("pairs {index} and {} have one shape", row.index),
                    )
                } else {
                    continue;
                };
                findings.push(
                    Finding::new(code, Severity::Error, message)
                        .because(file.path.clone(), format!("shape {:016x}", row.hash_shape)),
                );
            }
        }
    }
    progress(files.len() as u64, files.len() as u64);
    verification(&manifests, &mut findings);
    Ok((inspection, findings))
}

fn damaged(file: &FileEntry, seen: String) -> Finding {
    Finding::new(
        "S001",
        Severity::Error,
        format!("`{}` is missing or damaged", file.path),
    )
    .because("file", seen)
    .hint("copy it again, or generate the data set again into a new folder")
}

fn completeness(manifests: &[Manifest], findings: &mut Vec<Finding>) {
    let Some(first) = manifests.first() else {
        return;
    };
    let done: u64 = manifests.iter().map(|manifest| manifest.shards_done).sum();
    let all = first.settings.shards();
    if done < all {
        findings.push(
            Finding::new(
                "S002",
                Severity::Warning,
                format!("{done} of {all} shards are there"),
            )
            .because(
                "manifest",
                format!("{} of {} shares", manifests.len(), first.part.1),
            )
            .hint("run the same `warpsmith corpus generate` command again"),
        );
    }
}

/// What a manifest says about how its pairs came about, as findings.
pub fn manifest_findings(manifest: &Manifest) -> Vec<Finding> {
    let mut findings = Vec::new();
    verification(std::slice::from_ref(manifest), &mut findings);
    findings
}

/// The row of a pair; `None` where the data set has no such pair.
///
/// # Errors
/// A folder without a manifest, or a file that cannot be read.
pub fn find_row(folder: &Path, index: u64) -> Result<Option<Row>, StatisticsError> {
    for manifest in Manifest::read_all(folder)? {
        let shard = index / manifest.settings.shard_pairs.max(1);
        for file in manifest.files.iter().filter(|file| file.shard == shard) {
            let path = folder.join(&file.path);
            let known = read_rows(&path, &["index"])?;
            if let Some(place) = known.iter().position(|row| row.index == index) {
                return Ok(read_rows(&path, &[])?.into_iter().nth(place));
            }
        }
    }
    Ok(None)
}

fn verification(manifests: &[Manifest], findings: &mut Vec<Finding>) {
    for manifest in manifests {
        let tally = &manifest.tally;
        if tally.exhausted > 0 {
            findings.push(Finding::new(
                "S007",
                Severity::Warning,
                format!("{} indices gave no new shape", tally.exhausted),
            ));
        }
        if tally.refused > 0 {
            findings.push(Finding::new(
                "S008",
                Severity::Warning,
                format!("the compiler refused {} drafts", tally.refused),
            ));
        }
        for (level, counts) in &tally.levels {
            if counts.failed > 0 {
                // Differences meet kinks; a gradient that disagrees there is a note, not a fault.
                let severity = match level.as_str() {
                    "gradient" => Severity::Warning,
                    _ => Severity::Error,
                };
                let mut finding = Finding::new(
                    "S009",
                    severity,
                    format!("{} pairs failed the level `{level}`", counts.failed),
                );
                for reason in counts.reasons.iter().take(3) {
                    finding = finding.because("pair", reason.clone());
                }
                findings.push(finding);
            }
        }
    }
}

/// Checks one row; whether its source was compiled again.
fn check_row(compiler: &mut Compiler, row: &Row, recompile_every: u64) -> (bool, Vec<Finding>) {
    let mut findings = Vec::new();
    let print = Fingerprint::of(&row.python);
    let stored = (row.hash_exact, row.hash_modulo_names, row.hash_shape);
    if stored != (print.exact, print.modulo_names, print.shape) || row.minhash != print.minhash {
        findings.push(
            Finding::new(
                "S003",
                Severity::Error,
                format!("pair {} is not what its hashes say", row.index),
            )
            .because(
                "hash",
                format!(
                    "shape {:016x}, computed {:016x}",
                    row.hash_shape, print.shape
                ),
            ),
        );
    }
    if recompile_every == 0 || !row.index.is_multiple_of(recompile_every) {
        return (false, findings);
    }
    let differs = |what: &str| {
        Finding::new(
            "S006",
            Severity::Error,
            format!("pair {}: {what}", row.index),
        )
    };
    match compiler.compile(&row.python, &Options::default()) {
        Ok(module) => {
            for (target, forward, backward, name) in [
                (Target::Cuda, &row.cuda_forward, &row.cuda_backward, "CUDA"),
                (Target::Cpu, &row.cpu_forward, &row.cpu_backward, "CPU"),
            ] {
                let mut text = String::new();
                emit(&module, target, &mut text);
                let same = text
                    .strip_prefix(forward.as_str())
                    .is_some_and(|rest| rest == backward);
                if !same {
                    findings.push(differs(&format!("the compiler writes other {name} text")));
                }
            }
            compiler.recycle(module);
        }
        Err(refused) => {
            let reason = refused.first().map(|finding| finding.message.clone());
            let reason = reason.unwrap_or_default();
            findings.push(differs("the compiler refuses it").because("compiler", reason));
        }
    }
    (true, findings)
}
