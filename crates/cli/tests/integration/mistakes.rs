//! A file where a folder is meant, a folder where a file is meant, and what is not there: every verb
//! that takes one answers in a line that says what to type.

use std::fs;
use std::process::{Command, Stdio};

/// What is typed in a folder that holds `folder/`, `file` and `case.toml`, and what the answer has.
const TABLE: &[(&str, &str)] = &[
    // A folder where a file is meant.
    ("new folder", "`folder` is a folder; name a file in it"),
    (
        "compile --batch folder -o out",
        "`folder` is a folder; name a file in it",
    ),
    (
        "verify folder",
        "`folder` is a folder; name a case, a kernel's file or a workload",
    ),
    (
        "bench folder",
        "`folder` is a folder; name a case, a kernel's file or a workload",
    ),
    (
        "leak folder",
        "`folder` is a folder; name a case, a kernel's file or a workload",
    ),
    (
        "leak --from folder",
        "`folder` is a folder; name a file in it",
    ),
    ("tune folder", "`folder` is a folder; name a file in it"),
    ("inspect folder", "`folder` is a folder; name a file in it"),
    (
        "exec folder --dim 1",
        "`folder` is a folder; name a file in it",
    ),
    (
        "run --stdin folder -- true",
        "`folder` is a folder; name a file in it",
    ),
    (
        "scale --from folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "profile --read folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "compare folder folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "baseline --from folder",
        "`folder` is a folder; name a file in it",
    ),
    ("replay folder", "`folder` is a folder; name a file in it"),
    (
        "export --from folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "export --web-config folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "health --web-config folder",
        "`folder` is a folder; name a file in it",
    ),
    ("check --from folder", "`folder` is not a captured machine"),
    (
        "check --file folder --gpu sm_90",
        "`folder` is a folder; name a file in it",
    ),
    (
        "wisdom import folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "history add folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "history show --file folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "report --compare folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "audit . --baseline folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "serve --token-file folder",
        "`folder` is a folder; name a file in it",
    ),
    ("voice analyze folder", "there is no audio file in `folder`"),
    ("voice pitch folder", "there is no audio file in `folder`"),
    (
        "voice convert folder --output a.wav",
        "there is no audio file in `folder`",
    ),
    (
        "voice vad file --weights folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "md run --input folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "md run --restart folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "lattice xor folder --key-hex 5a --output out",
        "`folder` is a folder; name a file in it",
    ),
    (
        "lattice xor file --key folder --output out",
        "`folder` is a folder; name a file in it",
    ),
    (
        "lattice bfs --map folder",
        "`folder` is a folder; name a file in it",
    ),
    (
        "lattice catalytic --borrow folder",
        "`folder` is a folder; name a file in it",
    ),
    // An output that is a folder.
    (
        "record folder",
        "cannot write `folder`: it is a folder; name a file in it",
    ),
    (
        "synth render --output folder",
        "cannot write `folder`: it is a folder; name a file in it",
    ),
    (
        "md run --output folder",
        "cannot write `folder`: it is a folder; name a file in it",
    ),
    (
        "lattice xor file --key-hex 5a --output none/out",
        "the folder `none` does not exist; create it with `mkdir -p none`",
    ),
    // A file where a folder is meant.
    ("audit file", "`file` is a file; name a folder"),
    (
        "report --output file",
        "`--output file` is a file; name a folder",
    ),
    ("corpus verify file", "`file` is a file; name a folder"),
    ("corpus stats file", "`file` is a file; name a folder"),
    ("corpus card file", "`file` is a file; name a folder"),
    ("corpus show file 1", "`file` is a file; name a folder"),
    (
        "corpus generate --count 1 --output file",
        "`--output file` is a file; name a folder",
    ),
    (
        "corpus mistakes --count 1 --output file",
        "`--output file` is a file; name a folder",
    ),
    ("manual --man file", "`--man file` is a file; name a folder"),
    // What is not there.
    ("replay nowhere", "there is no file `nowhere`"),
    ("verify csae.toml", "did you mean `case.toml`?"),
    (
        "compare csae.toml case.toml",
        "there is no file `csae.toml`; did you mean `case.toml`?",
    ),
    ("voice mel nowhere.wav", "there is no file `nowhere.wav`"),
    ("check --from nowhere", "there is no file `nowhere`"),
    ("audit nowhere", "there is no folder `nowhere`"),
    ("corpus stats nowhere", "there is no folder `nowhere`"),
    // What has no effect where many kernels become lines.
    (
        "compile --batch file --emit hip -o out",
        "`--emit hip` has no effect: compile one file at a time",
    ),
    (
        "compile folder --adjoint --emit spirv",
        "`--emit spirv` has no effect: compile one file at a time",
    ),
    // What does not exist in the program.
    (
        "frobnicate",
        "there is no command `frobnicate`; `warpsmith -h` lists the commands",
    ),
    (
        "folder",
        "`folder` is not a command; `warpsmith audit folder` audits the project",
    ),
    ("explain BLD999", "no finding has the code `BLD999`"),
    ("bench machine/saxpi", "did you mean `machine/saxpy`?"),
    ("voice pitch", "`warpsmith voice pitch` needs `<FILE>...`"),
    (
        "devices --format xml",
        "`--format <FORMAT>` cannot be `xml`; use human, json",
    ),
];

#[test]
fn every_verb_says_in_one_line_what_to_type_instead() {
    let place = tempfile::tempdir().expect("a folder");
    fs::create_dir(place.path().join("folder")).expect("made");
    fs::write(place.path().join("file"), "x").expect("written");
    fs::write(place.path().join("case.toml"), "").expect("written");
    let mut wrong = Vec::new();
    for (line, answer) in TABLE {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args(line.split(' '))
            .current_dir(place.path())
            .env("WARPSMITH_BACKGROUND", "off")
            .env("WARPSMITH_CONFIG", "")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let fine = said.contains(answer)
            && said.starts_with("error: ")
            && said.lines().count() == 1
            && output.stdout.is_empty()
            && output.status.code() == Some(2);
        if !fine {
            let out = String::from_utf8_lossy(&output.stdout);
            wrong.push(format!(
                "$ warpsmith {line}\n{out}{said}[{:?}]",
                output.status.code()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// clap takes `{n}` for a line break.
#[test]
fn help_shows_the_size_in_braces() {
    for option in ["-h", "--help"] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args(["scale", option])
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("with `{n}` where the size goes"), "{said}");
        assert!(!said.contains('\x1b'), "{said}");
    }
}
