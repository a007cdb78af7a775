//! The program on a Vulkan device, such as Mesa's for the CPU; ignored where there is none.

use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

const SAXPY: &str = "import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
    if i == 3:
        wp.printf(\"%d: %.3f\", i, y[i])
";

const GIVEN: &str = "--arg x=random:1000:f32:7 --arg y=ones:1000:f32 --arg a=2.5";

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("WARPSMITH_STATE_DIR", folder.join(".state"))
        .env("WARPSMITH_BACKGROUND", "off");
    command
}

fn warpsmith(line: &str) -> Result<Output, Failed> {
    let folder = tempfile::tempdir()?;
    Ok(command(folder.path(), line).output()?)
}

/// Both streams, for what is printed when a trial fails.
fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{:?}\n{out}{err}", output.status.code())
}

pub(crate) fn trials() -> Vec<Trial> {
    let there = warpsmith("bench machine/launch --device vulkan --samples 1 --no-check")
        .is_ok_and(|output| output.status.success());
    let on_a_device = [
        Trial::test("a_group_is_measured_without_what_cannot_run", group),
        Trial::test("exec_leaves_and_prints_what_the_cpu_does", exec),
        Trial::test("exec_names_the_line_that_leaves_an_array", outside),
        Trial::test("verify_compares_a_file_with_the_interpreter", verify),
        Trial::test("scale_fits_a_law", scale),
        Trial::test("a_deep_check_runs_a_kernel", deep_check),
    ];
    let without = Trial::test("no_driver_is_not_possible_here", no_driver);
    let on_a_device = on_a_device.map(|trial| trial.with_ignored_flag(!there));
    on_a_device.into_iter().chain([without]).collect()
}

fn exec() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("saxpy.py"), SAXPY)?;
    let mut ran = Vec::new();
    for device in ["cpu", "vulkan"] {
        let line =
            format!("exec saxpy.py --device {device} --dim 1000 {GIVEN} --out y=@{device}.npy");
        let output = command(folder.path(), &line).output()?;
        assert!(output.status.success(), "{}", said(&output));
        let file = std::fs::read(folder.path().join(format!("{device}.npy")))?;
        ran.push((output.stdout, file));
    }
    assert!(ran[0].0.starts_with(b"3: "), "it prints");
    assert!(ran[0] == ran[1], "the CPU and Vulkan differ");
    let adjoint = format!(
        "exec saxpy.py --device vulkan --dim 1000 {GIVEN} --adjoint --grad y=ones --format json"
    );
    let output = command(folder.path(), &adjoint).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let arrays = &report["body"]["arrays"];
    assert_eq!(arrays[0]["first_gradients"][0], "2.5", "{}", said(&output));
    Ok(())
}

fn outside() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("saxpy.py"), SAXPY)?;
    let line = format!("exec saxpy.py --device vulkan --dim 1001 {GIVEN}");
    let output = command(folder.path(), &line).output()?;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("K101") && err.contains("saxpy.py:7"), "{err}");
    Ok(())
}

fn verify() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("saxpy.py"), SAXPY)?;
    let line = "verify saxpy.py --device vulkan --seed 7";
    let output = command(folder.path(), line).output()?;
    assert!(output.status.success(), "{}", said(&output));
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        out.contains("1 of 1 compiled kernels agree forward, 1 backward"),
        "{out}"
    );
    Ok(())
}

fn scale() -> Result<(), Failed> {
    let line =
        "scale machine/saxpy --device vulkan --sizes 1K,4K,16K,64K,256K,1M,2M,4M --format json";
    let output = warpsmith(line)?;
    // Undecided is an answer too: the machine may be busy.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 4)), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let rows = report["body"]["rows"].as_array().map_or(0, Vec::len);
    assert_eq!(rows, 8, "{}", said(&output));
    Ok(())
}

fn deep_check() -> Result<(), Failed> {
    let output = warpsmith("check --deep --format json")?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let findings = report["findings"].as_array().ok_or("no findings")?;
    let of = |code: &str| findings.iter().filter(|f| f["code"] == code).count();
    assert!(of("D004") >= 1, "{}", said(&output));
    Ok(())
}

/// The loader finds no driver, or there is no loader: the machine cannot do it, and the hint says what to
/// install.
fn no_driver() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("saxpy.py"), SAXPY)?;
    let lines = [
        format!("exec saxpy.py --device vulkan --dim 1000 {GIVEN}"),
        "verify saxpy.py --device vulkan".to_owned(),
        "bench machine/saxpy --device vulkan".to_owned(),
    ];
    for line in lines {
        let output = command(folder.path(), &line)
            .envs(["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, "/dev/null")))
            .output()?;
        assert_eq!(output.status.code(), Some(3), "{line}: {}", said(&output));
        let err = String::from_utf8_lossy(&output.stderr);
        let cause = "`/dev/null` is not a file of a manifest's size";
        assert!(
            err.contains(cause) && err.contains("VK_DRIVER_FILES"),
            "{line}: {err}"
        );
    }
    Ok(())
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
