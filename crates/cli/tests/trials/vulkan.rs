//! The program on a Vulkan device, such as Mesa's for the CPU; ignored where there is none.

use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

fn warpsmith(line: &str) -> Result<Output, Failed> {
    let folder = tempfile::tempdir()?;
    Ok(Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .env("WARPSMITH_STATE_DIR", folder.path().join(".state"))
        .env("WARPSMITH_BACKGROUND", "off")
        .output()?)
}

pub(crate) fn trials() -> Vec<Trial> {
    let there = warpsmith("bench machine/launch --device vulkan --samples 1 --no-check")
        .is_ok_and(|output| output.status.success());
    let trials = [Trial::test(
        "a_group_is_measured_without_what_cannot_run",
        group,
    )];
    trials
        .map(|trial| trial.with_ignored_flag(!there))
        .into_iter()
        .collect()
}

/// `machine/launch` runs on Vulkan, `training/gelu` does not.
fn group() -> Result<(), Failed> {
    let both = "bench training/gelu machine/launch --device vulkan --samples 3 --no-check";
    let both = warpsmith(both)?;
    let (out, err) = (
        String::from_utf8_lossy(&both.stdout),
        String::from_utf8_lossy(&both.stderr),
    );
    assert!(both.status.success(), "{out}{err}");
    assert!(err.contains("`training/gelu` cannot run here"), "{err}");
    assert!(out.contains("machine/launch"), "{out}");
    let neither = "bench training/gelu training/softmax --device vulkan --samples 3 --no-check";
    assert!(!warpsmith(neither)?.status.success());
    Ok(())
}
