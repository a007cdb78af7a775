//! A slower commit from its first result to the alert: stored, suspected, measured again, told.

use std::fs;
use std::path::Path;
use std::process::Command;

use warpsmith_core::MachineIdentity;
use warpsmith_history::store::History;
use warpsmith_measure::measurement::Measurement;

use crate::program::{text, warpsmith};

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
fn what_is_no_name_of_a_commit_is_refused_and_nothing_is_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let json = r#"{"results": [{"command": "solve", "times": [1.0, 1.1, 1.2, 1.0, 1.1]}]}"#;
    fs::write(at.join("result.json"), json).expect("written");
    let long = "a".repeat(500);
    for (name, why) in [
        ("not a commit!", "because of ' '"),
        ("", "is empty"),
        ("a\nb", "because of '\\n'"),
        ("../result", "no name of a commit"),
        ("main..work", "no name of a commit"),
        (long.as_str(), "more than 200 characters"),
    ] {
        let commit = format!("--commit={name}");
        let added = warpsmith(at, &["history", "add", "result.json", &commit]);
        let said = text(&added);
        assert_eq!(added.status.code(), Some(2), "{name:?}: {said}");
        assert!(
            said.contains(why) && said.contains("--commit"),
            "{name:?}: {said}"
        );
    }
    assert!(!at.join("warpsmith-history.sqlite").exists());
    // Names of other systems than git stay.
    for name in ["abc1234", "v1.2-rc.1", "feature/x", "r4711", "main@{1}"] {
        let added = warpsmith(at, &["history", "add", "result.json", "--commit", name]);
        let good = name != "main@{1}";
        assert_eq!(added.status.success(), good, "{name}: {}", text(&added));
    }
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
    // The same program for both: the suspicion is not told on; on a busy machine it stays undecided.
    let acquitted = warpsmith(at, &["history", "confirm", "true {commit}; sh fast.sh"]);
    let code = acquitted.status.code();
    assert!(matches!(code, Some(0 | 4)), "{}", text(&acquitted));
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

/// A series of forty results with a step of 6 % at `c25`.
fn stepped(at: &Path) {
    for commit in 0..40u32 {
        let level = if commit < 25 { 1.0 } else { 1.06 };
        let drift = 1.0 + 2e-3 * f64::from(commit * 7 % 5);
        add(at, &format!("c{commit}"), commit, level * drift);
    }
}

#[test]
fn an_accepted_change_is_green_and_shown_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    stepped(at);
    let checked = warpsmith(at, &["history", "check"]);
    let said = text(&checked);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert_eq!(
        said.matches("M040").count(),
        2,
        "one finding and its hint: {said}"
    );
    let refused = warpsmith(at, &["history", "accept", "M040", "c99", "--reason", "x"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let reason = "bounds are checked now";
    let accepted = warpsmith(
        at,
        &["history", "accept", "M040", "c25", "--reason", reason],
    );
    assert!(accepted.status.success(), "{}", text(&accepted));
    let checked = warpsmith(at, &["history", "check"]);
    assert!(checked.status.success(), "{}", text(&checked));
    let page = ["history", "show", "--html", "page.html"];
    assert!(warpsmith(at, &page).status.success());
    let page = fs::read_to_string(at.join("page.html")).expect("written");
    assert!(page.contains(reason));
}

#[test]
fn only_what_is_asked_about_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    stepped(at);
    let code = |words: &[&str]| warpsmith(at, words).status.code();
    assert_eq!(code(&["history", "check", "--since", "c30"]), Some(0));
    assert_eq!(code(&["history", "check", "--since", "c20"]), Some(1));
    assert_eq!(code(&["history", "check", "--since", "nowhere"]), Some(2));
    assert_eq!(code(&["history", "check", "--name", "solve"]), Some(1));
    assert_eq!(code(&["history", "check", "--name", "other"]), Some(2));
}

fn git(at: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(words)
        .current_dir(at)
        .output()
        .expect("git starts");
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository whose `run.sh` counts further from commit `slow` on; returns the commits.
fn repository(at: &Path, commits: usize, slow: usize) -> Vec<String> {
    git(at, &["init", "-q", "-b", "main"]);
    let commit = |nth: usize| {
        let count = if nth < slow { 3000 } else { 6000 };
        let script = format!("# {nth}\ni=0; while [ $i -lt {count} ]; do i=$((i+1)); done\n");
        fs::write(at.join("run.sh"), script).expect("written");
        git(at, &["add", "run.sh"]);
        git(at, &["commit", "-q", "-m", &format!("change {nth}")]);
        git(at, &["rev-parse", "HEAD"])
    };
    (0..commits).map(commit).collect()
}

#[test]
fn the_commit_that_is_checked_out_is_the_default_and_bisect_finds_the_slow_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let commits = repository(at, 12, 7);
    let json = r#"{"results": [{"command": "long line", "times": [0.1, 0.11]}]}"#;
    fs::write(at.join("result.json"), json).expect("written");
    let added = warpsmith(at, &["history", "add", "result.json", "--name", "solver"]);
    assert!(added.status.success(), "{}", text(&added));
    assert!(text(&added).contains(&commits[11]), "{}", text(&added));
    let shown = text(&warpsmith(at, &["history", "show"]));
    assert!(shown.contains("solver on "), "{shown}");
    let found = warpsmith(
        at,
        &[
            "history",
            "bisect",
            "--good",
            &commits[0],
            "--budget",
            "3",
            "--build",
            "git show {commit}:run.sh > {commit}.sh",
            "sh {commit}.sh",
        ],
    );
    let said = text(&found);
    assert_eq!(found.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("{} is the first", commits[7])),
        "{said}"
    );
    let built = fs::read_dir(at)
        .expect("listed")
        .filter(|entry| {
            let name = entry.as_ref().expect("entry").file_name();
            name.len() == 43
        })
        .count();
    // Both ends and four halvings of eleven commits; one more where a reading was open.
    assert!((5..=7).contains(&built), "{built}: {said}");
}

#[cfg(unix)]
#[test]
fn the_gates_of_both_services_run() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/ci");
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    repository(at, 1, 1);
    std::os::unix::fs::symlink(&deploy, at.join("ci")).expect("linked");
    // The text of each service's own file, as its runner would give it to the shell.
    let action = fs::read_to_string(deploy.join("github/action.yml")).expect("read");
    let (_, after) = action.split_once("run: |\n").expect("a script");
    let github: Vec<&str> = after
        .lines()
        .map_while(|line| line.strip_prefix("        "))
        .collect();
    let github = github.join("\n");
    let gitlab = fs::read_to_string(deploy.join("gitlab.yml")).expect("read");
    let (_, after) = gitlab.split_once("script:\n    - ").expect("a script");
    let gitlab = after
        .lines()
        .next()
        .expect("a line")
        .replace("deploy/ci", "ci");
    let program = env!("CARGO_BIN_EXE_warpsmith");
    // The program, but for a gate that cannot decide.
    let undecided = at.join("undecided.sh");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *\" check \"*) exit 4;; esac\nexec '{program}' \"$@\"\n"
    );
    fs::write(&undecided, script).expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&undecided, executable).expect("executable");
    // GitHub's step passes with a warning; GitLab's file says that a 4 is allowed.
    for (line, when_undecided) in [(github, 0), (gitlab, 4)] {
        let gate_of = |program: &Path, command: &str| {
            Command::new("sh")
                .args(["-e", "-c", &line])
                .current_dir(at)
                .env("GITHUB_ACTION_PATH", deploy.join("github"))
                .env("NAME", "solver")
                .env("COMMAND", command)
                .env("WARPSMITH", program)
                .env("WARPSMITH_PAGE", "page.html")
                .output()
                .expect("the shell starts")
        };
        let gate = |command: &str| gate_of(Path::new(program), command);
        let passed = gate("sh run.sh");
        assert!(passed.status.success(), "{line}: {}", text(&passed));
        assert!(at.join("page.html").exists());
        assert_eq!(gate("exit 3").status.code(), Some(2), "{line}");
        let open = gate_of(&undecided, "sh run.sh");
        assert_eq!(open.status.code(), Some(when_undecided), "{line}");
        let warned = text(&open).contains("::warning::solver: undecided");
        assert_eq!(warned, when_undecided == 0, "{}", text(&open));
    }
}

#[test]
fn a_gate_refuses_a_history_of_another_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let another = MachineIdentity {
        cpu: "another machine".to_owned(),
        ..warpsmith_device::machine_identity()
    };
    let history = History::open(&at.join("warpsmith-history.sqlite")).expect("opened");
    let result = Measurement::imported("solve", vec![0.1, 0.11, 0.1, 0.12, 0.1]);
    history
        .add(&result, &another, "aaaaaaa", 1)
        .expect("stored");
    drop(history);
    let judged = warpsmith(at, &["history", "check"]);
    let said = text(&judged);
    assert_eq!(judged.status.code(), Some(2), "{said}");
    assert!(said.contains("another machine"), "{said}");
    // Nothing is lost: who wants to look can.
    let shown = warpsmith(at, &["history", "show", "--all-machines"]);
    assert!(text(&shown).contains("aaaaaaa"), "{}", text(&shown));
}
