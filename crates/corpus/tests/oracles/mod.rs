//! Against others: NVRTC, Warp, and the `datasets` library, each where it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::Compiler;
use warpsmith_corpus::{
    Compression, Keep, Level, Settings, Tools, Verifier, Wanted, WarpOracle, card, generate,
    read_rows, rejected, statistics,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The NVRTC that `cargo xtask test` unpacks.
fn nvrtc() -> Option<PathBuf> {
    let wheel = root().join("target/wheels/nvidia-cuda-nvrtc-cu12-12.9.86");
    let library = wheel.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    library.is_file().then_some(library)
}

fn ptxas() -> Option<PathBuf> {
    let wheel = root().join("target/wheels/nvidia-cuda-nvcc-cu12-12.9.86");
    let program = wheel.join("nvidia/cuda_nvcc/bin/ptxas");
    program.is_file().then_some(program)
}

/// A Python with `package`, set up in `target/oracle`.
fn python(package: &str) -> Option<PathBuf> {
    let python = root()
        .join("target/oracle")
        .join(package)
        .join("bin/python");
    let import = format!("import {package}");
    let there = python.is_file()
        && Command::new(&python)
            .args(["-c", &import])
            .output()
            .is_ok_and(|output| output.status.success());
    there.then_some(python)
}

/// Whether `cargo xtask test --full` runs, which sets up the oracles.
fn full() -> bool {
    std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1")
}

/// The trials; those that cannot run here, and those for the full tests alone, count as ignored.
pub(crate) fn trials() -> Vec<Trial> {
    let oracle = |package| full().then(|| python(package)).flatten();
    let (warp, datasets) = (oracle("warp"), oracle("datasets"));
    let (without_nvrtc, without_warp) = (nvrtc().is_none(), warp.is_none());
    let (without_datasets, again) = (datasets.is_none(), warp.clone());
    vec![
        Trial::test("nvrtc_compiles_every_category", || compiled(nvrtc()))
            .with_ignored_flag(without_nvrtc),
        Trial::test("warp_writes_the_same_bytes", || same_as_warp(warp))
            .with_ignored_flag(without_warp),
        Trial::test("warp_rejects_what_is_rejected", || rejected_by_warp(again))
            .with_ignored_flag(without_warp),
        Trial::test("the_datasets_library_reads_the_card_and_the_files", || {
            read_by_datasets(datasets)
        })
        .with_ignored_flag(without_datasets),
    ]
}

fn verified(count: u64, level: Level, tools: &Tools) -> Result<(u64, u64, Vec<String>), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        seed: 21,
        count,
        verify: vec![Level::Text, level],
        warp_every: 1,
        ..Settings::default()
    };
    let verifier = Verifier::new(&settings.verify, tools, 1)?;
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let counts = &manifest.tally.levels[level.name()];
    Ok((counts.passed, counts.failed, counts.reasons.clone()))
}

fn compiled(nvrtc: Option<PathBuf>) -> Result<(), Failed> {
    let tools = Tools {
        nvrtc,
        ptxas: ptxas(),
        architectures: vec![80, 90],
        python: None,
    };
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        seed: 21,
        count: 54,
        verify: vec![Level::Text, Level::Compiled],
        keep: vec![Keep::Ptx, Keep::Sass],
        ..Settings::default()
    };
    let verifier = Verifier::new(&settings.verify, &tools, 1)?;
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let counts = &manifest.tally.levels["compiled"];
    if counts.failed > 0 || counts.passed < 48 {
        return Err(format!("{counts:?}").into());
    }
    let mut first = true;
    for file in &manifest.files {
        for row in read_rows(&folder.path().join(&file.path), &[])? {
            if row.compiled != "passed" {
                continue;
            }
            let kernel = format!("{}_HASH_cuda_kernel_", row.kernel_name);
            let entry = |pass: &str| format!(".visible .entry {kernel}{pass}(");
            if !["forward", "backward"]
                .iter()
                .all(|pass| row.ptx.contains(&entry(pass)))
                || row.ptx.matches(".visible .entry").count() != 2
            {
                return Err(format!("pair {}: {}", row.index, row.ptx).into());
            }
            let Some(ptxas) = &tools.ptxas else {
                continue;
            };
            let costs: serde_json::Value = serde_json::from_str(&row.sass)?;
            for pass in ["forward", "backward"] {
                let cost = &costs[pass];
                let total = cost["instructions"].as_u64().unwrap_or(0);
                let other = cost["histogram"]["other"].as_u64().unwrap_or(0);
                if cost["registers"].as_u64().unwrap_or(0) < 8
                    || cost["histogram"]["EXIT"].as_u64().unwrap_or(0) < 1
                    || total < 10
                    || other * 20 > total
                {
                    return Err(format!("pair {}: {}", row.index, row.sass).into());
                }
            }
            // The PTX of one pair stands by itself.
            if std::mem::take(&mut first) {
                let path = folder.path().join("one.ptx");
                std::fs::write(&path, &row.ptx)?;
                let output = Command::new(ptxas)
                    .args(["-arch=sm_80", "-o", "/dev/null"])
                    .arg(&path)
                    .output()?;
                if !output.status.success() {
                    return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
                }
            }
        }
    }
    Ok(())
}

/// `WARPSMITH_WARP_PAIRS` pairs, 90 unless it is set.
fn same_as_warp(python: Option<PathBuf>) -> Result<(), Failed> {
    let count = std::env::var("WARPSMITH_WARP_PAIRS").ok();
    let count = count.and_then(|text| text.parse().ok()).unwrap_or(90);
    let tools = Tools {
        python,
        ..Tools::default()
    };
    let (passed, failed, reasons) = verified(count, Level::Warp, &tools)?;
    if failed > 0 || passed != count {
        return Err(format!("{passed} of {count} identical:\n{}", reasons.join("\n")).into());
    }
    Ok(())
}

/// The compiler's refusals are Warp's, and Warp's message is kept.
fn rejected_by_warp(python: Option<PathBuf>) -> Result<(), Failed> {
    let python = python.ok_or("no Python with `warp`")?;
    let mut oracle = WarpOracle::start(&python)?;
    let mut compiler = Compiler::new();
    let mut faults = BTreeSet::new();
    for index in 0..90 {
        let Some(bad) = rejected(&mut compiler, &Wanted::default(), 0, index) else {
            continue;
        };
        let (fault, source) = (bad.fault.clone(), bad.python.clone());
        match bad.asking(&mut oracle)? {
            Some(_) => faults.insert(fault),
            None => return Err(format!("Warp accepts pair {index} ({fault}):\n{source}").into()),
        };
    }
    match faults.len() {
        0..10 => Err(format!("{faults:?}").into()),
        _ => Ok(()),
    }
}

fn read_by_datasets(python: Option<PathBuf>) -> Result<(), Failed> {
    let python = python.ok_or("no Python with `datasets`")?;
    Compression::ALL
        .into_iter()
        .try_for_each(|compression| read_compressed(&python, compression))
}

fn read_compressed(python: &Path, compression: Compression) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let settings = Settings {
        seed: 3,
        count: 2000,
        shard_pairs: 500,
        compression,
        ..Settings::default()
    };
    let verifier = Verifier::default();
    generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let statistics = statistics(folder.path())?;
    std::fs::write(folder.path().join("README.md"), card(&statistics))?;
    let output = Command::new(python)
        .arg("-c")
        .arg(include_str!("read_datasets.py"))
        .arg(folder.path())
        .env("HF_DATASETS_OFFLINE", "1")
        .env("HF_HOME", folder.path().join(".cache"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let expected = format!("rows 2000 splits {}", statistics.splits.len());
    match said.contains(&expected) {
        true => Ok(()),
        false => Err(format!("{said}, expected {expected}").into()),
    }
}
