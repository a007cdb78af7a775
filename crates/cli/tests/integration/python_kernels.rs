//! Kernels of Python files that import modules of their project: one of several, with a case, and with a mistake.

use std::path::Path;
use std::process::{Command, Output};

const SHAPES: &str = "import warp as wp\n\nSCALE = wp.constant(3.0)\n";
const KERNELS: &str = "import warp as wp
from .shapes import SCALE


@wp.kernel
def grow(y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = SCALE * y[i]


@wp.kernel
def count(y: wp.array(dtype=int)):
    y[wp.tid()] += 1
";

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("mine");
    std::fs::create_dir(&package).unwrap();
    for (name, text) in [("__init__", ""), ("shapes", SHAPES), ("kernels", KERNELS)] {
        std::fs::write(package.join(format!("{name}.py")), text).unwrap();
    }
    folder
}

fn warpsmith(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("WARPSMITH_STATE_DIR", folder.join(".state"));
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

#[test]
fn one_kernel_of_a_file_is_verified() {
    let folder = project();
    let line = "verify mine/kernels.py --device cpu --seed 5";
    let all = said(&warpsmith(folder.path(), line));
    assert!(all.contains("grow") && all.contains("count"), "{all}");
    let one = warpsmith(folder.path(), &format!("{line} --kernel grow"));
    let text = said(&one);
    assert!(one.status.success(), "{text}");
    assert!(text.contains("grow") && !text.contains("count"), "{text}");
    let unknown = said(&warpsmith(
        folder.path(),
        &format!("{line} --kernel shrink"),
    ));
    assert!(
        unknown.contains("has no kernel `shrink`; it has grow, count"),
        "{unknown}"
    );
    let sized = said(&warpsmith(
        folder.path(),
        &format!("{line} --kernel grow --size n=4"),
    ));
    assert!(
        sized.contains("`--kernel` also with a `.py` file"),
        "{sized}"
    );
}

#[test]
fn a_case_of_a_kernel_finds_its_project() {
    let folder = project();
    let new = warpsmith(folder.path(), "new mine/kernels.py --kernel grow");
    assert!(new.status.success(), "{}", said(&new));
    let path = folder.path().join("mine/kernels.toml");
    let case = std::fs::read_to_string(&path).unwrap();
    assert!(case.contains("kernel = \"grow\""), "{case}");
    let verified = said(&warpsmith(
        folder.path(),
        "verify mine/kernels.toml --device cpu",
    ));
    assert!(!verified.contains("K023"), "{verified}");
}

#[test]
fn a_mistake_is_shown_with_its_line() {
    let folder = project();
    std::fs::write(folder.path().join("mine/broken.py"), "def f(:\n    pass\n").unwrap();
    for line in ["verify mine/broken.py --device cpu", "new mine/broken.py"] {
        let output = warpsmith(folder.path(), line);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.starts_with("error K001") || text.starts_with("error[K001]"),
            "{text}"
        );
        assert!(text.contains("def f(:"), "{text}");
    }
}

#[test]
fn a_source_is_not_overwritten_with_its_own_text() {
    let folder = project();
    let source = folder.path().join("mine/kernels.py");
    std::fs::hard_link(&source, folder.path().join("other.py")).unwrap();
    for line in [
        "compile mine/kernels.py --kernel grow -o mine/kernels.py",
        "compile mine/kernels.py --kernel grow -o other.py",
        "exec mine/kernels.py --kernel grow --dim 2 --arg y=ones:2:f32 --out y=@mine/kernels.py",
        "new mine/kernels.py --kernel grow --force -o mine/kernels.py",
    ] {
        let output = warpsmith(folder.path(), line);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains("would be overwritten"), "{line}: {text}");
        assert_eq!(std::fs::read_to_string(&source).unwrap(), KERNELS);
    }
}

#[test]
fn a_file_that_is_not_utf_8_leaves_the_others_of_its_project() {
    let folder = project();
    let file = |name: &str, text: &[u8]| {
        std::fs::write(folder.path().join("mine").join(name), text).unwrap();
    };
    file("broken.py", b"import warp as wp\n# caf\xe9, a kernel\n");
    let kernel =
        "import warp as wp\n\n@wp.kernel\ndef one(y: wp.array(dtype=float)):\n    y[0] = 1.0\n";
    let latin = [
        "# -*- coding: latin-1 -*-\n# caf".as_bytes(),
        b"\xe9\n",
        kernel.as_bytes(),
    ];
    file("latin.py", &latin.concat());
    let output = warpsmith(folder.path(), "compile mine --format json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let compiled = said(&output);
    assert_eq!(output.status.code(), Some(1), "{compiled}");
    assert!(
        compiled.contains("\"compiled\":3") || compiled.contains("\"compiled\": 3"),
        "{report}"
    );
    assert!(
        compiled.contains("broken.py`: line 2 is not UTF-8"),
        "{compiled}"
    );
}

#[test]
fn kernels_without_a_case_are_timed_and_compared() {
    let folder = project();
    let run = |line: &str| warpsmith(folder.path(), line);
    let timed = run("bench mine/kernels.py --device cpu --samples 3 --format json");
    assert!(timed.status.success(), "{}", said(&timed));
    let text = said(&timed);
    for name in ["grow n=1000", "count n=1048576"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(text.contains("`warpsmith new mine/kernels.py`"), "{text}");
    let several = run("compare mine/kernels.py mine/kernels.py --device cpu");
    assert_eq!(several.status.code(), Some(2));
    assert!(said(&several).contains("several kernels (count, grow)"));
    let one = KERNELS.split("@wp.kernel\ndef count").next().unwrap();
    std::fs::write(folder.path().join("mine/one.py"), one).unwrap();
    let compared = run("compare mine/one.py mine/one.py --device cpu --budget 1");
    let text = said(&compared);
    assert!(matches!(compared.status.code(), Some(0 | 4)), "{text}");
    assert!(text.contains("n=65536"), "{text}");
}
