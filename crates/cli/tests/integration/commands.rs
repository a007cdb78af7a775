//! Commands of strangers: that fail half-way, sleep, have parameters, or are interrupted.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::program::{json, text, warpsmith};

#[test]
fn sleep_is_judged_by_wall_time_and_the_answer_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |budget: &str| {
        warpsmith(
            folder.path(),
            &[
                "compare",
                "--command",
                "sleep 0.01",
                "--command",
                "sleep 0.03",
                "--budget",
                budget,
                "--markdown",
                "table.md",
                "--format",
                "json",
                "-n",
                "short",
                "-n",
                "long",
            ],
        )
    };
    // Where others take the core away, a few runs decide nothing, and more of them do.
    let mut budgets = ["3", "10", "30"].into_iter();
    let (output, report) = loop {
        let output = compare(budgets.next().expect("30 s decide"));
        let report = json(&output);
        if report["body"][0]["evaluation"]["verdict"] != "UNDECIDED" {
            break (output, report);
        }
    };
    let row = &report["body"][0];
    assert_eq!(row["evaluation"]["verdict"], "SLOWER", "{row}");
    assert_eq!(row["clock"], "wall", "{row}");
    assert!(row["reason"].is_string(), "{row}");
    assert_eq!(output.status.code(), Some(1));
    let table = fs::read_to_string(folder.path().join("table.md")).expect("written");
    assert!(
        table.contains("| `long` |") && table.contains("SLOWER"),
        "{table}"
    );
}

#[test]
fn parameters_make_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = warpsmith(
        folder.path(),
        &[
            "compare",
            "--command",
            "test {n} -gt 0",
            "-P",
            "n",
            "1",
            "3",
            "--budget",
            "0.5",
            "--format",
            "json",
        ],
    );
    let report = json(&output);
    let names: Vec<&str> = report["body"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["test 2 -gt 0", "test 3 -gt 0"]);
    let refused = warpsmith(
        folder.path(),
        &["compare", "--command", "true", "-P", "n", "1", "3"],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("no command has `{n}`"));
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    // The seventh run fails; the first warms up, and the second is looked into.
    let script = "echo >> count; test $(wc -l < count) -lt 9";
    let output = warpsmith(
        folder.path(),
        &[
            "run",
            "--runs",
            "20",
            "--save",
            "kept.json",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("failed") && said.contains("exit status: 1"),
        "{said}"
    );
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("kept.json")).expect("kept"))
            .expect("JSON");
    let samples = kept["body"]["measurement"]["seconds"]
        .as_array()
        .expect("samples");
    assert!((4..=8).contains(&samples.len()), "{}", samples.len());
}

#[cfg(target_os = "linux")]
#[test]
fn peak_memory_is_the_commands_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let peak = |words: &[&str]| {
        let mut arguments = vec![
            "run",
            "--runs",
            "3",
            "--no-telemetry",
            "--format",
            "json",
            "--",
        ];
        arguments.extend(words);
        json(&warpsmith(folder.path(), &arguments))["body"]["peak_bytes"].as_f64()
    };
    let time = |words: &[&str]| -> Option<f64> {
        let output = Command::new("/usr/bin/time")
            .arg("-f")
            .arg("%M")
            .args(words)
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(1024.0 * said.trim().parse::<f64>().ok()?)
    };
    for words in [
        &["true"][..],
        &["dd", "if=/dev/zero", "of=/dev/null", "bs=40M", "count=1"],
    ] {
        let ours = peak(words).expect("ptrace is permitted here");
        assert!(ours < 64e6, "{ours}");
        if let Some(theirs) = time(words) {
            // What GNU time prints is counted in batches of 32 pages for each core, so that it is
            // short by up to two of them here; ours has the page tables beside it.
            let short = 2.0 * 131_072.0;
            assert!(
                (0.95 * theirs..1.05 * theirs + short).contains(&ours),
                "{words:?}: {ours} and {theirs}"
            );
        }
    }
}

#[test]
fn an_interruption_leaves_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args([
            "run",
            "--runs",
            "100000",
            "--no-telemetry",
            "--save",
            "part.json",
            "--",
        ])
        .args(["sh", "-c", "echo >> count; sleep 0.01"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let count = folder.path().join("count");
    let lines = || fs::read_to_string(&count).map_or(0, |text| text.lines().count());
    while lines() < 15 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = child.id().to_string();
    let killed = Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .expect("kill runs");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    let part = fs::read_to_string(folder.path().join("part.json")).expect("saved");
    let part: Value = serde_json::from_str(&part).expect("JSON");
    let samples = part["body"]["measurement"]["seconds"]
        .as_array()
        .expect("samples");
    assert!(samples.len() >= 5, "{}", samples.len());
}

#[test]
fn absurd_options_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let two = ["--command", "true", "--command", "true"];
    let run = ["--", "true"];
    let none: [&str; 0] = [];
    let saxpy = ["machine/saxpy"];
    let table: &[(&str, &[&str], &[&str])] = &[
        ("compare", &["--margin", "--budget", "--limit"], &two),
        ("run", &["--target", "--budget", "--limit"], &run),
        ("bench", &["--target", "--budget", "--limit"], &saxpy),
        ("scale", &["--budget"], &saxpy),
        ("ablate", &["--margin"], &saxpy),
        ("leak", &["--step-time", "--duration"], &run),
        ("selftest", &["--margin", "--effect", "--budget"], &none),
    ];
    let counts: &[(&str, &[&str], &[&str])] = &[
        ("compare", &["--warm-up"], &two),
        ("run", &["--runs", "--warm-up"], &run),
        ("bench", &["--samples", "--steps", "--rounds"], &saxpy),
        ("leak", &["--steps", "--tolerate", "--grain"], &saxpy),
        ("selftest", &["--pairs", "--load"], &none),
    ];
    let numbers = ["NaN", "-1", "inf", "1e300", "x", ""];
    let wholes = ["NaN", "-1", "inf", "99999999999999999999"];
    let all = table
        .iter()
        .map(|row| (row, &numbers[..]))
        .chain(counts.iter().map(|row| (row, &wholes[..])));
    for ((verb, options, rest), values) in all {
        for option in *options {
            for value in values {
                let given = format!("{option}={value}");
                let mut arguments = vec![*verb, given.as_str()];
                arguments.extend(*rest);
                let output = warpsmith(folder.path(), &arguments);
                assert_eq!(output.status.code(), Some(2), "{arguments:?}");
                assert!(
                    text(&output).contains(option),
                    "{arguments:?}: {}",
                    text(&output)
                );
            }
        }
    }
}

#[test]
fn a_command_that_forks_and_one_that_prints_without_end_are_measured_and_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let forks = "for i in 1 2 3 4 5 6 7 8; do (sleep 0.01) & done; wait";
    let output = warpsmith(
        folder.path(),
        &[
            "run", "--runs", "2", "--format", "json", "--", "sh", "-c", forks,
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let output = warpsmith(
        folder.path(),
        &["run", "--limit", "0.5", "--warm-up", "0", "--", "yes"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output).contains("was ended after 0.5 s"),
        "{}",
        text(&output)
    );
    // Both streams, and no line ever ends.
    let endless = "while :; do printf xxxxxxxxxxxxxxxx; printf xxxxxxxxxxxxxxxx >&2; done";
    let output = warpsmith(
        folder.path(),
        &[
            "leak",
            "--step-by",
            "lines",
            "--seconds",
            "0.5",
            "--",
            "sh",
            "-c",
            endless,
        ],
    );
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("before its first step"),
        "{}",
        text(&output)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_a_command_leaves_behind_is_told_and_left() {
    let folder = tempfile::tempdir().expect("a folder");
    // The shell waits until the daemon has left its session.
    let script = "setsid sh -c 'echo $$ > daemon.pid; exec sleep 1000' >/dev/null 2>&1 & \
                  while ! test -s daemon.pid; do sleep 0.01; done";
    let output = warpsmith(
        folder.path(),
        &[
            "run",
            "--runs",
            "1",
            "--warm-up",
            "0",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    let pid = fs::read_to_string(folder.path().join("daemon.pid")).expect("written");
    let ended = Command::new("kill").arg(pid.trim()).status();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        ended.expect("kill runs").success(),
        "a daemon is not ours to end"
    );
    assert!(text(&output).contains("left running"), "{}", text(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_is_counted_and_the_user_is_told_that_it_runs_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display();
    let line = format!(
        "mkfifo {at}/up 2>/dev/null; (setsid sh -c 'echo $$ >> {at}/pids; echo > {at}/up; exec sleep 60' \
         >/dev/null 2>&1 &); read word < {at}/up"
    );
    let output = warpsmith(
        folder.path(),
        &["run", "--runs", "2", "-w", "0", "--", "sh", "-c", &line],
    );
    let pids = fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
    for pid in pids.lines() {
        let _ = Command::new("kill").arg(pid).status();
    }
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    assert!(
        said.contains("processes were left running by the command"),
        "{said}"
    );
}

#[test]
fn a_run_that_prints_without_end_is_ended_by_its_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["yes", "yes >&2"] {
        let words = [
            "run", "-w", "0", "--limit", "300ms", "--", "sh", "-c", command,
        ];
        let output = warpsmith(folder.path(), &words);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("was ended after 0.3 s on run 1"), "{said}");
    }
}

#[test]
fn a_watched_command_that_dies_at_once_is_named_with_its_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["leak", "--step-time", "10s", "--", "sh", "-c", "exit 7"];
    let output = warpsmith(folder.path(), &words);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("`sh -c exit 7` ended (exit status: 7)"),
        "{said}"
    );
}

#[test]
fn a_binding_that_no_file_of_a_folder_has_a_use_for_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let factory = "import warp as wp\n\ndef make(size: int):\n    @wp.kernel\n    def k(x: wp.array(dtype=int)):\n        x[0] = size\n    return k\n";
    fs::write(folder.path().join("a.py"), factory).expect("written");
    fs::write(
        folder.path().join("b.py"),
        "import warp as wp\n# no kernel\n",
    )
    .expect("written");
    let compile = |bindings: &[&str]| {
        let mut words = vec!["compile", ".", "--format", "json"];
        words.extend(bindings.iter().flat_map(|binding| ["--bind", binding]));
        let output = warpsmith(folder.path(), &words);
        (output.status.code(), json(&output)["body"].clone())
    };
    let (code, body) = compile(&["make.size=4"]);
    assert_eq!(code, Some(0), "{body}");
    assert_eq!(body["compiled"], 1);
    let (code, body) = compile(&["make.size=4", "make.sise=4"]);
    assert_eq!(code, Some(1), "{body}");
    assert_eq!(body["compiled"], 1);
    assert_eq!(body["unused_bindings"], serde_json::json!(["make.sise"]));
}
