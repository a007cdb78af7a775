//! Whole data sets: written, stopped, resumed, shared out, damaged, read by others.
//!
//! The program is also the child that one of the tests kills: with `WARPSMITH_CORPUS_CHILD` set it
//! generates into that folder and does nothing else.

#![allow(
    clippy::print_stderr,
    reason = "the child of a test says why it failed"
)]

mod oracles;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use warpsmith_compiler::{Compiler, Options};
use warpsmith_corpus::{
    Category, Compression, Keep, Level, Manifest, Row, RunError, Settings, Tools, Verifier, Wanted,
    generate, inspect, read_rows, rejected, wrong_code,
};
use warpsmith_device::VulkanDevice;

const CHILD: &str = "WARPSMITH_CORPUS_CHILD";

fn small() -> Settings {
    Settings {
        seed: 11,
        count: 1200,
        shard_pairs: 150,
        ..Settings::default()
    }
}

fn main() {
    if let Some(folder) = std::env::var_os(CHILD) {
        let verifier = Verifier::default();
        let done = generate(&small(), (0, 1), Path::new(&folder), &verifier, &mut |_| {});
        if let Err(error) = &done {
            eprintln!("{error}");
        }
        std::process::exit(i32::from(done.is_err()));
    }
    let arguments = Arguments::from_args();
    let mut trials = vec![
        Trial::test("the_number_of_threads_does_not_show", threads_do_not_show),
        Trial::test(
            "shares_make_the_same_files_as_the_whole",
            shares_make_the_whole,
        ),
        Trial::test("a_killed_run_resumes_to_the_same_bytes", killed_and_resumed),
        Trial::test("a_full_disk_leaves_what_was_written_valid", full_disk),
        Trial::test("rows_are_read_back_from_both_formats", rows_are_read_back),
        Trial::test("what_cannot_be_done_is_said", refusals),
        Trial::test("damage_is_found", damage_is_found),
        Trial::test("pairs_run_and_stay_finite", pairs_execute),
        Trial::test("what_is_kept_of_a_run_is_whole", kept_values),
        Trial::test("mistakes_are_mistakes", mistakes),
        Trial::test("sets_without_a_column_of_vulkan_are_read", older_sets),
        Trial::test("vulkan_has_a_column_of_its_own", vulkan_column)
            .with_ignored_flag(no_vulkan_device()),
    ];
    trials.extend(oracles::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

/// Makes a data set; its files by name.
fn make(settings: &Settings, part: (u64, u64), folder: &Path) -> Result<Manifest, RunError> {
    generate(settings, part, folder, &Verifier::default(), &mut |_| {})
}

/// Every file below a folder, by name, except those that begin with a dot.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let hidden = path
                .file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if path.is_dir() {
                waiting.push(path);
            } else if !hidden {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                found.insert(name, fs::read(path).expect("readable"));
            }
        }
    }
    found
}

fn same(a: &Path, b: &Path) -> Result<(), Failed> {
    let (a, b) = (contents(a), contents(b));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    if names(&a) != names(&b) {
        return Err(format!("{:?} and {:?}", names(&a), names(&b)).into());
    }
    match a.iter().find(|(name, bytes)| b[*name] != **bytes) {
        Some((name, _)) => Err(format!("{} differs", name.display()).into()),
        None => Ok(()),
    }
}

fn threads_do_not_show() -> Result<(), Failed> {
    for compression in Compression::ALL {
        let folder = tempfile::tempdir()?;
        let settings = Settings {
            compression,
            ..small()
        };
        // Nine workers write several shards at a time.
        for threads in [1, 3, 9] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()?;
            let out = folder.path().join(threads.to_string());
            pool.install(|| make(&settings, (0, 1), &out))?;
        }
        same(&folder.path().join("1"), &folder.path().join("3"))?;
        same(&folder.path().join("1"), &folder.path().join("9"))?;
    }
    Ok(())
}

fn shares_make_the_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (whole, shared) = (folder.path().join("whole"), folder.path().join("shared"));
    make(&small(), (0, 1), &whole)?;
    // Out of order, as on a cluster.
    for part in [2, 0, 1] {
        make(&small(), (part, 3), &shared)?;
    }
    let data = |folder: &Path| contents(&folder.join("data"));
    if data(&whole) != data(&shared) {
        return Err("the shares' files are not the whole's".into());
    }
    let (inspection, findings) = inspect(&shared, 10, &mut |_, _| {})?;
    if !findings.is_empty() || inspection.rows != 1200 {
        return Err(format!("{inspection:?} {findings:?}").into());
    }
    Ok(())
}

fn killed_and_resumed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    make(&small(), (0, 1), &whole)?;
    let mut stopped = 0;
    // Later and later, until a run gets through; every kill is at some other place.
    for round in 1..200_u64 {
        let mut child = Command::new(std::env::current_exe()?)
            .env(CHILD, &killed)
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(Duration::from_millis(30 + 17 * round));
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                return Err("a run that went on failed".into());
            }
            break;
        }
        child.kill()?;
        child.wait()?;
        stopped += 1;
    }
    if stopped == 0 {
        return Err("no run was killed, so nothing was tested".into());
    }
    same(&whole, &killed)
}

/// A file system that takes no more, played by a limit on the size of files: some shards are there, then
/// writing fails, then there is room again.
fn full_disk() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (whole, full) = (folder.path().join("whole"), folder.path().join("full"));
    make(&small(), (0, 1), &whole)?;
    let mut child = Command::new(std::env::current_exe()?)
        .env(CHILD, &full)
        .spawn()?;
    let shards_done = || Manifest::read(&full.join("manifest.json")).map_or(0, |m| m.shards_done);
    while shards_done() < 2 && child.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    let before = shards_done();
    if before >= small().shards() {
        return Err("the run was over before it could be stopped".into());
    }
    // Ignored, the signal of the limit becomes an error of the write.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\""])
        .arg(std::env::current_exe()?)
        .env(CHILD, &full)
        .output()?;
    let said = String::from_utf8_lossy(&limited.stderr);
    if limited.status.code() != Some(1) || !said.contains("what was written before is complete") {
        return Err(format!("{:?}: {said}", limited.status).into());
    }
    let (_, findings) = inspect(&full, 10, &mut |_, _| {})?;
    let codes: Vec<&str> = findings.iter().map(|finding| &*finding.code).collect();
    if codes != ["S002"] || shards_done() < before {
        return Err(format!("{codes:?}, {} shards", shards_done()).into());
    }
    make(&small(), (0, 1), &full)?;
    same(&whole, &full)?;
    let left = || -> std::io::Result<usize> {
        let splits = fs::read_dir(full.join("data"))?;
        let mut count = 0;
        for split in splits {
            let hidden = |entry: &fs::DirEntry| {
                let name = entry.file_name();
                name.to_string_lossy().starts_with('.')
            };
            count += fs::read_dir(split?.path())?
                .filter(|entry| entry.as_ref().is_ok_and(hidden))
                .count();
        }
        Ok(count)
    };
    match left()? {
        0 => Ok(()),
        files => Err(format!("{files} unfinished files were left behind").into()),
    }
}

fn rows_are_read_back() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut read: Vec<Vec<Row>> = Vec::new();
    let mut sizes = Vec::new();
    for (format, compression) in [
        ("parquet", Compression::Zstd),
        ("parquet", Compression::None),
        ("jsonl", Compression::None),
    ] {
        let settings = Settings {
            count: 200,
            format: format.to_owned(),
            compression,
            ..small()
        };
        let out = folder.path().join(format!("{format}-{compression}"));
        let manifest = make(&settings, (0, 1), &out)?;
        let mut rows = Vec::new();
        for file in &manifest.files {
            rows.extend(read_rows(&out.join(&file.path), &[])?);
        }
        rows.sort_by_key(|row| row.index);
        read.push(rows);
        sizes.push(manifest.files.iter().map(|file| file.bytes).sum::<u64>());
        let (_, findings) = inspect(&out, 10, &mut |_, _| {})?;
        if !findings.is_empty() {
            return Err(format!("{format}, {compression}: {findings:?}").into());
        }
    }
    if read[0] != read[1] || read[0] != read[2] || read[0].len() != 200 {
        return Err("the formats hold other rows".into());
    }
    let texts = |row: &Row| row.python.len() + row.cuda_forward.len() + row.cpu_backward.len();
    let text_bytes: usize = read[0].iter().map(texts).sum();
    if sizes[0] * 3 > sizes[1] || sizes[1] < text_bytes as u64 {
        return Err(format!("{sizes:?} bytes of {text_bytes} bytes of text").into());
    }
    let row = &read[0][7];
    if row.index != 7 || row.builtins.is_empty() || row.minhash.len() != 16 {
        return Err(format!("{row:?}").into());
    }
    Ok(())
}

fn refusals() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("set");
    make(
        &Settings {
            count: 50,
            ..small()
        },
        (0, 1),
        &out,
    )?;
    let other = Settings {
        seed: 12,
        count: 50,
        ..small()
    };
    match make(&other, (0, 1), &out) {
        Err(RunError::OtherRun { difference, .. })
            if difference.contains("its `seed` is 11, not 12") => {}
        other => return Err(format!("{other:?}").into()),
    }
    fs::write(folder.path().join("notes.txt"), "mine")?;
    match make(&small(), (0, 1), folder.path()) {
        Err(RunError::NotEmpty(_)) => {}
        other => return Err(format!("{other:?}").into()),
    }
    match make(
        &Settings {
            difficulties: vec![6],
            ..small()
        },
        (0, 1),
        &out,
    ) {
        Err(RunError::Settings(text)) if text.contains("1 to 5") => {}
        other => return Err(format!("{other:?}").into()),
    }
    // Nothing can be written below a file.
    let blocked = folder.path().join("notes.txt").join("set");
    match make(&small(), (0, 1), &blocked) {
        Err(RunError::Write { .. }) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn damage_is_found() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        count: 300,
        ..small()
    };
    let manifest = make(&settings, (0, 1), folder.path())?;
    let file = folder.path().join(&manifest.files[0].path);
    let mut bytes = fs::read(&file)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x20;
    fs::write(&file, &bytes)?;
    fs::remove_file(folder.path().join(&manifest.files[1].path))?;
    let (_, findings) = inspect(folder.path(), 0, &mut |_, _| {})?;
    let codes: Vec<&str> = findings.iter().map(|finding| &*finding.code).collect();
    if codes != ["S001", "S001"] {
        return Err(format!("{codes:?}").into());
    }
    // A damaged file is not read as if it were whole, nor does it end the program.
    let _ = read_rows(&file, &[]);
    fs::write(&file, &bytes[..middle])?;
    match read_rows(&file, &[]) {
        Err(_) => Ok(()),
        Ok(_) => Err("half a file was read".into()),
    }
}

fn pairs_execute() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        count: 360,
        verify: vec![Level::Text, Level::Executed],
        categories: Category::ALL.to_vec(),
        ..small()
    };
    let verifier = Verifier::new(&settings.verify, &Tools::default(), 1)?;
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let executed = &manifest.tally.levels["executed"];
    if executed.failed > 0 {
        return Err(executed.reasons.join("\n").into());
    }
    if executed.passed < 300 {
        return Err(format!("only {} pairs were executed", executed.passed).into());
    }
    let gradient = &manifest.tally.levels["gradient"];
    if gradient.failed > 0 || gradient.passed < 15 {
        return Err(format!("{gradient:?}").into());
    }
    Ok(())
}

/// Whether no kernel runs on Vulkan here, which is said.
fn no_vulkan_device() -> bool {
    let device = VulkanDevice::open(0);
    if let Err(error) = &device {
        eprintln!("no Vulkan device: {error}");
    }
    device.is_err()
}

fn vulkan_column() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        count: 12,
        verify: vec![Level::Text, Level::Executed, Level::Vulkan],
        ..small()
    };
    let verifier = Verifier::new(&settings.verify, &Tools::default(), 1)?;
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let levels = &manifest.tally.levels;
    let checked = &levels["vulkan"];
    if checked.failed > 0 || checked.passed < 6 || levels.contains_key("gpu") {
        return Err(format!("{levels:?}").into());
    }
    for file in &manifest.files {
        for row in read_rows(&folder.path().join(&file.path), &[])? {
            if row.gpu != "not run" || row.vulkan == "not run" {
                return Err(format!("gpu: {}, vulkan: {}", row.gpu, row.vulkan).into());
            }
        }
    }
    Ok(())
}

fn older_sets() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        count: 4,
        format: "jsonl".to_owned(),
        ..small()
    };
    let verifier = Verifier::default();
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let path = folder.path().join(&manifest.files[0].path);
    let text = fs::read_to_string(&path)?;
    fs::write(&path, text.replace(r#""vulkan":"not run","#, ""))?;
    if fs::read_to_string(&path)?.len() == text.len() {
        return Err("no column was taken out".into());
    }
    for row in read_rows(&path, &[])? {
        if row.vulkan != "not run" {
            return Err(format!("vulkan: {}", row.vulkan).into());
        }
    }
    Ok(())
}

fn kept_values() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        count: 36,
        verify: vec![Level::Text, Level::Executed],
        keep: vec![Keep::Inputs, Keep::Outputs, Keep::Gradients],
        ..small()
    };
    let verifier = Verifier::new(&settings.verify, &Tools::default(), 1)?;
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let mut seen = 0;
    for file in &manifest.files {
        for row in read_rows(&folder.path().join(&file.path), &[])? {
            if row.executed != "passed" {
                continue;
            }
            let inputs: Value = serde_json::from_str(&row.inputs)?;
            let expected: Value = serde_json::from_str(&row.expected)?;
            let gradients: Value = serde_json::from_str(&row.gradients)?;
            let arguments = inputs["arguments"].as_object().ok_or("no arguments")?;
            if arguments.len() != row.parameters as usize || inputs["dim"] != expected["dim"] {
                return Err(format!("pair {}: {}", row.index, row.inputs).into());
            }
            let changed = expected["changed"].as_object().ok_or("no results")?;
            for (name, values) in changed {
                // As many numbers as the array had before.
                let before = arguments[name]["values"].as_array().map(Vec::len);
                if before != values.as_array().map(Vec::len) {
                    return Err(format!("pair {}: `{name}` is not whole", row.index).into());
                }
            }
            let given = gradients["given"].as_object().ok_or("no seeds")?;
            let left = gradients["left"].as_object().ok_or("no gradients")?;
            if !given.keys().eq(left.keys()) {
                return Err(format!("pair {}: {}", row.index, row.gradients).into());
            }
            seen += 1;
        }
    }
    match seen {
        0..30 => Err(format!("only {seen} pairs were run").into()),
        _ => Ok(()),
    }
}

/// Rejected programs are rejected and their repairs are not; wrong code is CUDA text that computes
/// something else.
fn mistakes() -> Result<(), Failed> {
    let mut compiler = Compiler::new();
    let wanted = Wanted::default();
    let (mut rejected_count, mut faults, mut wrong_count) = (0, BTreeMap::new(), 0);
    for index in 0..120 {
        if let Some(bad) = rejected(&mut compiler, &wanted, 4, index) {
            let options = Options::default();
            if compiler.compile(&bad.python, &options).is_ok() {
                return Err(format!("pair {index} is accepted:\n{}", bad.python).into());
            }
            let repaired = compiler.compile(&bad.repaired, &options);
            let module = repaired.map_err(|_| format!("pair {index} is not repaired"))?;
            compiler.recycle(module);
            if bad.code.is_empty() || bad.line == 0 || bad.diagnostic.is_empty() {
                return Err(format!("{bad:?}").into());
            }
            *faults.entry(bad.fault).or_insert(0) += 1;
            rejected_count += 1;
        }
        if let Some(bad) = wrong_code(&mut compiler, &wanted, 4, index) {
            if bad.cuda == bad.wrong_cuda || bad.expected == bad.wrong {
                return Err(format!("pair {index}: nothing is wrong: {}", bad.exchange).into());
            }
            wrong_count += 1;
        }
    }
    // Among these an exchange makes a loop endless, which is no reason to wait.
    for index in 100..150 {
        wrong_code(&mut compiler, &wanted, 0, index);
    }
    if rejected_count < 100 || faults.len() < 8 || wrong_count < 60 {
        return Err(format!("{rejected_count} rejected, {wrong_count} wrong, {faults:?}").into());
    }
    Ok(())
}
