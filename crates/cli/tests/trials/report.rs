//! Real reports of this machine: made within their time, whole, compared with each other, and written
//! as far as they are when Ctrl-C comes or a GPU is lost. How the page looks is tried in the `report` crate.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

fn report(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(["report", "--device", "cpu", "--out", "here"])
        .current_dir(folder);
    command
}

/// A GPU of the fake driver that falls off the bus after two seconds.
const LOST: &str = r#"{"gpus": [{"xids": [[2.02, 79]]}],
    "faults": [{"call": "*", "from_s": 2.03, "code": 15}]}"#;

fn losing_a_gpu(command: &mut Command, folder: &Path) -> Result<(), Failed> {
    let program = std::env::current_exe()?;
    fs::write(folder.join("lost.json"), LOST)?;
    command
        .env(
            "WARPSMITH_NVML_LIBRARY",
            program.with_file_name("libwarpsmith_fake_nvml.so"),
        )
        .env("FAKE_NVML_SCENARIO", folder.join("lost.json"));
    Ok(())
}

fn document(folder: &Path) -> Result<Value, Failed> {
    let text = fs::read(folder.join("here/report.json"))?;
    Ok(serde_json::from_slice(&text)?)
}

/// What is never printed, on the page or in the text.
const FORBIDDEN: [&str; 6] = ["NaN", "± 0.00 %", "0.00 ps", "-0 %", " inf ", "∞"];

fn views_are_clean(folder: &Path) -> Result<(), Failed> {
    let page = fs::read_to_string(folder.join("here/report.html"))?;
    if page.len() > 2_000_000 {
        return Err(format!("the page has {} bytes", page.len()).into());
    }
    // The raw numbers are compressed and may hold any letters.
    let markup = page.split("id=\"raw\"").next().unwrap_or(&page);
    let text = fs::read_to_string(folder.join("here/report.md"))?;
    for word in FORBIDDEN {
        if markup.contains(word) || text.contains(word) {
            return Err(format!("a view prints `{word}`").into());
        }
    }
    Ok(())
}

/// The second report of the machine compares itself with the first, and a GPU is lost meanwhile.
fn reports_are_whole_and_compare() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let made = report(folder.path()).output()?;
    if made.status.code() != Some(0) {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    let lines = said.lines().count();
    if lines > 10 || !said.contains("here/report.html") {
        return Err(format!("{lines} lines on the terminal:\n{said}").into());
    }
    let first = document(folder.path())?;
    let body = &first["body"];
    for run in body["sections"].as_array().ok_or("no sections")? {
        if run["status"].get("failed").is_some() {
            return Err(format!("{} failed: {}", run["id"], run["status"]).into());
        }
    }
    let chapters = body["chapters"].as_array().map_or(0, Vec::len);
    let numbers = body["numbers"].as_array().map_or(0, Vec::len);
    if (chapters, numbers) != (5, 5) {
        return Err(format!("{chapters} chapters and {numbers} numbers").into());
    }
    views_are_clean(folder.path())?;
    fs::rename(
        folder.path().join("here/report.json"),
        folder.path().join("old.json"),
    )?;
    let mut again = report(folder.path());
    losing_a_gpu(&mut again, folder.path())?;
    let made = again.args(["--compare", "old.json", "--quiet"]).output()?;
    if made.status.code() != Some(0) || made.stdout != b"here/report.html\n" {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    views_are_clean(folder.path())?;
    let second = document(folder.path())?;
    let changes = &second["body"]["chapters"][0];
    let when = body["subject"]["started"].as_str().ok_or("no date")?;
    let titled = changes["title"]
        .as_str()
        .is_some_and(|title| title.contains(when));
    if changes["id"] != "changes" || !titled {
        return Err(format!("the first chapter is {}", changes["title"]).into());
    }
    let headline = second["body"]["verdict"]["headline"].as_str().unwrap_or("");
    if second["body"]["verdict"]["state"] != "lost" || !headline.contains("fell off the bus") {
        return Err(format!("a GPU was lost, and the verdict is: {headline}").into());
    }
    Ok(())
}

fn ctrl_c_writes_what_was_measured() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let child = report(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    std::thread::sleep(Duration::from_secs(3));
    let pid = child.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status()?;
    let ended = child.wait_with_output()?;
    if ended.status.code() != Some(130) {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(format!("{}: {said}", ended.status).into());
    }
    let report = document(folder.path())?;
    let sections = report["body"]["sections"].as_array().ok_or("no sections")?;
    let interrupted = sections
        .iter()
        .filter(|run| run["status"] == "interrupted")
        .count();
    if interrupted == 0 || interrupted == sections.len() {
        return Err(format!("{interrupted} of {} sections", sections.len()).into());
    }
    views_are_clean(folder.path())
}

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test(
            "reports are whole, compare, and say that a GPU was lost",
            reports_are_whole_and_compare,
        ),
        Trial::test(
            "Ctrl-C writes what was measured",
            ctrl_c_writes_what_was_measured,
        ),
    ]
}
