//! The configuration files as their users meet them: what they change, and what is said about mistakes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a folder with nothing of this machine's around it.
fn run(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder.join("home"))
        .env("CUDA_VISIBLE_DEVICES", "")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a project's file and a user's file.
fn folder(project: &str, user: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".warpsmith.toml"), project).unwrap();
    let home = folder.path().join("home/.config/warpsmith");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), user).unwrap();
    folder
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(&output.stdout);
        panic!("{error}: {text}\n{}", said(output))
    })
}

/// The value and the origin of a key, as `config show` has them.
fn in_force(folder: &Path, key: &str, line: &str, variables: &[(&str, &str)]) -> (String, String) {
    let line = format!("config show --format json {line}");
    let shown = json(&run(folder, &line, variables));
    let rows = shown["body"]["settings"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == key).unwrap();
    let text = |name: &str| row[name].as_str().unwrap().to_owned();
    (text("value"), text("origin"))
}

#[test]
fn each_source_wins_over_the_one_before() {
    let place = folder("device = \"cuda:1\"\n", "device = \"cuda:2\"\n");
    let path = place.path();
    let device = |line: &str, variables: &[(&str, &str)]| in_force(path, "device", line, variables);
    let expect = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    let variable = [("WARPSMITH_DEVICE", "cuda:3")];
    assert_eq!(
        device("--device cpu", &variable),
        expect("cpu", "command_line")
    );
    assert_eq!(device("", &variable), expect("cuda:3", "variable"));
    assert_eq!(device("", &[]), expect("cuda:1", "project_file"));
    fs::remove_file(path.join(".warpsmith.toml")).unwrap();
    assert_eq!(device("", &[]), expect("cuda:2", "user_file"));
    assert_eq!(
        device("", &[("WARPSMITH_CONFIG", "")]),
        expect("auto", "default")
    );
}

#[test]
fn a_key_changes_what_a_verb_does() {
    let place = folder(
        "format = \"json\"\ndevice = \"cpu\"\n[report]\noutput = \"pages\"\n",
        "",
    );
    let devices = run(place.path(), "devices", &[]);
    assert_eq!(json(&devices)["verb"], "devices");
    let plain = run(place.path(), "devices --format human", &[]);
    assert!(String::from_utf8_lossy(&plain.stdout).starts_with("cpu "));
    // A folder that is a file stops the report before it measures.
    fs::write(place.path().join("pages"), "").unwrap();
    let report = run(place.path(), "report", &[]);
    assert!(
        said(&report).contains("`--output pages` is a file"),
        "{}",
        said(&report)
    );
    // The help shows the default that is in force.
    let help = run(place.path(), "report -h", &[]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("[default: pages]"));
}

#[test]
fn the_cache_lies_where_the_user_says() {
    let place = folder("", "cache = \"kernels\"\n");
    let (value, origin) = in_force(place.path(), "cache", "", &[]);
    assert_eq!((value.as_str(), origin.as_str()), ("kernels", "user_file"));
}

#[test]
fn mistakes_are_errors_with_line_mark_and_neighbour() {
    for (project, parts) in [
        (
            "[measure]\nbugdet = \"5s\"\n",
            &[
                ".warpsmith.toml:2:1",
                "`measure.budget`",
                "2 | bugdet",
                "^^^^^^",
            ][..],
        ),
        ("device = \"gpu\"\n", &[".warpsmith.toml:1:10", "`cuda:N`"]),
        ("[a\n", &[".warpsmith.toml:1:", "not TOML"]),
        ("cache = \"/tmp\"\n", &["your own `config.toml`"]),
        ("[audit.allow]\nDKR01 = \"x\"\n", &[":2:1", "`DKR001`"]),
    ] {
        let place = folder(project, "");
        let output = run(place.path(), "config show", &[]);
        assert_eq!(output.status.code(), Some(2), "{project}");
        for part in parts {
            assert!(said(&output).contains(part), "{part}: {}", said(&output));
        }
        // Help needs no configuration.
        assert!(run(place.path(), "bench -h", &[]).status.success());
        assert!(run(place.path(), "--version", &[]).status.success());
    }
    let place = folder("", "");
    let output = run(place.path(), "devices", &[("WARPSMITH_FORMAT", "yaml")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("`WARPSMITH_FORMAT` is `yaml`"));
}
