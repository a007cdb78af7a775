//! A slower commit from its first result to the alert: stored, suspected, measured again, told.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in `folder`.
fn warpsmith(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Stores a result of `commit` in hyperfine's form, at about `seconds`.
fn add(folder: &Path, commit: &str, at: u32, seconds: f64) {
    // A noise that needs no generator: thousandths that do not repeat within a history.
    let wobble = |nth: u32| 1.0 + 1e-3 * f64::from((at * 37 + nth * 11) % 13) - 6e-3;
    let times: Vec<String> = (0..20)
        .map(|nth| (seconds * wobble(nth)).to_string())
        .collect();
    let json = format!(
        r#"{{"results": [{{"command": "solve", "times": [{}]}}]}}"#,
        times.join(",")
    );
    fs::write(folder.join("result.json"), json).expect("written");
    let at = at.to_string();
    let added = warpsmith(
        folder,
        &[
            "history",
            "add",
            "result.json",
            "--commit",
            commit,
            "--at",
            &at,
        ],
    );
    assert!(added.status.success(), "{}", text(&added));
}

#[test]
fn a_slower_commit_is_suspected_confirmed_and_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Two programs: one counts to half as much again as the other.
    for (name, count) in [("fast", 2000), ("slow", 3000)] {
        let script = format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done\n");
        fs::write(at.join(format!("{name}.sh")), script).expect("written");
    }
    for commit in 0..34u32 {
        let (name, level) = if commit < 30 {
            (format!("fast.{commit}"), 1.0)
        } else {
            (format!("slow.{commit}"), 1.3)
        };
        let drift = 1.0 + 2e-3 * f64::from(commit * 7 % 5);
        add(at, &name, commit, 2.0 * level * drift);
    }
    let checked = warpsmith(at, &["history", "check"]);
    let said = text(&checked);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(said.contains("M040") && said.contains("slow.30"), "{said}");
    // `fast.29` runs fast.sh and `slow.30` runs slow.sh.
    let line = "c={commit}; sh ${c%%.*}.sh";
    let confirmed = warpsmith(at, &["history", "confirm", line]);
    let said = text(&confirmed);
    assert_eq!(confirmed.status.code(), Some(1), "{said}");
    assert!(said.contains("M042") && said.contains("SLOWER"), "{said}");
    // The same program for both: the suspicion is not told on.
    let acquitted = warpsmith(at, &["history", "confirm", "true {commit}; sh fast.sh"]);
    assert_eq!(acquitted.status.code(), Some(0), "{}", text(&acquitted));
}

#[test]
fn a_result_that_stands_out_is_asked_for_again_and_its_runs_join() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for commit in 0..20u32 {
        let drift = 1.0 + 2e-3 * f64::from(commit * 7 % 5);
        add(at, &format!("c{commit}"), commit, drift);
    }
    add(at, "odd", 20, 1.4);
    let said = text(&warpsmith(at, &["history", "check"]));
    assert!(said.contains("M041") && said.contains("odd"), "{said}");
    add(at, "odd", 21, 1.003);
    add(at, "odd", 22, 1.002);
    let checked = warpsmith(at, &["history", "check"]);
    let said = text(&checked);
    assert!(checked.status.success() && !said.contains("M041"), "{said}");
}

#[test]
fn a_result_of_few_samples_has_no_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = r#"{"results": [{"command": "solve", "times": [0.1, 0.11]}]}"#;
    fs::write(folder.path().join("few.json"), json).expect("written");
    let added = ["history", "add", "few.json", "--commit", "one"];
    assert!(warpsmith(folder.path(), &added).status.success());
    let said = text(&warpsmith(folder.path(), &["history", "show"]));
    assert!(said.contains("too few samples"), "{said}");
    assert!(said.lines().all(|line| line.len() < 200), "{said}");
}
