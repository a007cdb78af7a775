//! `scale` on a stranger's command and on figures that were measured elsewhere.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{json, warpsmith};

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = warpsmith(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_command_has_a_law_of_time_and_one_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    // dd keeps one block of n MiB: memory is a line whatever the machine does to the time.
    let output = warpsmith(
        folder.path(),
        &[
            "scale",
            "--command",
            "dd if=/dev/zero of=/dev/null bs={n}M count=1",
            "-N",
            "--sizes",
            "8,12,16,24,32,48,64,96,128",
            "--budget",
            "0.1",
            "--format",
            "json",
        ],
    );
    let report = json(&output);
    let body = &report["body"];
    assert_eq!(body["rows"].as_array().map(Vec::len), Some(9), "{body}");
    assert_eq!(body["memory"]["law"], "N", "{}", body["memory"]);
    let per_mebibyte = body["memory"]["coefficient"].as_f64().expect("a number");
    assert!(
        (per_mebibyte / 1_048_576.0 - 1.0).abs() < 0.02,
        "{per_mebibyte}"
    );
    assert!(body["scaling"]["chosen"]["law"].is_string());
    assert!(body["clock"]["reason"].is_string());
}

#[test]
fn a_size_that_fails_keeps_what_was_measured_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "scale",
        "--command",
        "test {n} -lt 60",
        "--sizes",
        "10,20,30,40,50,60,70",
        "--budget",
        "0.05",
        "--save",
        "partial.json",
    ];
    let said = refused(folder.path(), &arguments);
    assert!(said.contains("test 60 -lt 60"), "{said}");
    let saved = fs::read(folder.path().join("partial.json")).expect("written");
    let saved: Value = serde_json::from_slice(&saved).expect("JSON");
    assert_eq!(saved["body"]["rows"].as_array().map(Vec::len), Some(5));
}

#[test]
fn figures_from_elsewhere_have_their_laws() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from("n,ms,kib\n");
    for n in [100u64, 200, 400, 800, 1600, 3200, 6400, 12_800] {
        let (milliseconds, kibibytes) = (3.0 + 1e-5 * (n * n) as f64, 5000 + n);
        table += &format!("{n},{milliseconds},{kibibytes}\n");
    }
    fs::write(folder.path().join("times.csv"), &table).expect("written");
    let output = warpsmith(
        folder.path(),
        &["scale", "--from", "times.csv", "--format", "json"],
    );
    let body = &json(&output)["body"];
    assert_eq!(body["scaling"]["chosen"]["law"], "N^2", "{body}");
    assert_eq!(body["memory"]["law"], "N", "{body}");
    fs::write(folder.path().join("broken.csv"), "n,ms\n100,1\n200,fast\n").expect("written");
    let said = refused(folder.path(), &["scale", "--from", "broken.csv"]);
    assert!(said.contains("line 3") && said.contains("`fast`"), "{said}");
}

#[test]
fn sizes_that_show_nothing_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = "touch ran-{n}";
    for (sizes, said) in [
        ("1,2,3,4,5", "begin at 2"),
        ("2,4", "2 sizes cannot show a law"),
        ("2,4,4,8,16", "twice"),
        ("2,4,8,16,x", "`x`"),
        ("2,4,8,16,-3", "`-3`"),
        ("2,4,8,16,NaN", "`NaN`"),
    ] {
        let sizes = format!("--sizes={sizes}");
        let text = refused(folder.path(), &["scale", "--command", command, &sizes]);
        assert!(text.contains(said), "{sizes}: {text}");
    }
    let text = refused(
        folder.path(),
        &["scale", "--command", "true", "--sizes", "2,4,8,16,32"],
    );
    assert!(text.contains("{n}"), "{text}");
    for budget in ["NaN", "-1", "0", "inf"] {
        let budget = format!("--budget={budget}");
        let text = refused(folder.path(), &["scale", "machine/saxpy", &budget]);
        assert!(text.contains("--budget"), "{text}");
    }
    let ran = fs::read_dir(folder.path()).expect("readable").count();
    assert_eq!(ran, 0);
}
