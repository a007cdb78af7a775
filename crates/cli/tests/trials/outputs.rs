//! The files that users name: devices, pipes and links stay what they are, `-` is the standard output,
//! and nobody's recording is lost.
//!
//! Device nodes are made in a temporary folder of the test's own, which takes root and a file system
//! that opens them; without these the trials are ignored.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use libtest_mimic::{Failed, Trial};
use tempfile::{TempDir, tempdir};

type Outcome = Result<(), Failed>;

pub(crate) fn trials() -> Vec<Trial> {
    let node = make_device(tempdir().unwrap().path());
    let opens = node && {
        let folder = tempdir().unwrap();
        make_device(folder.path());
        let device = folder.path().join("device");
        File::options().write(true).open(device).is_ok()
    };
    let trial = |name: &str, run: fn() -> Outcome| Trial::test(name, run);
    vec![
        trial("a_device_stays_a_device", device_stays).with_ignored_flag(!node),
        trial("a_device_takes_what_is_written", device_takes).with_ignored_flag(!opens),
        trial("a_fifo_takes_what_is_written_and_stays", fifo),
        trial("a_link_stays_and_its_target_is_written", link),
        trial("a_file_keeps_its_mode_and_a_new_one_is_ordinary", modes),
        trial("a_dash_is_the_standard_output", dash),
        trial("a_reader_of_a_dash_may_leave", reader_leaves),
        trial("a_dash_and_a_json_report_do_not_mix", dash_and_json),
        trial("the_same_file_twice_is_refused_before_any_work", same_twice),
        trial("inputs_of_one_name_are_refused_before_any_work", same_name),
        trial("a_recording_is_replaced_only_by_force", recording),
        trial("an_unfinished_recording_is_kept_too", unfinished_recording),
        trial("music_is_replaced_only_by_force", music),
        trial("sounds_are_replaced_only_by_force", sounds),
        trial("data_is_replaced_only_by_force", data),
        trial("a_data_set_is_replaced_only_by_force", data_set),
    ]
}

/// Makes a node of the null device; `false` where that is not allowed.
fn make_device(folder: &Path) -> bool {
    let mut command = Command::new("mknod");
    command.arg(folder.join("device")).args(["c", "1", "3"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs the program in `folder`.
fn warpsmith(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("WARPSMITH_STATE_DIR", folder.join(".state"))
        .env("WARPSMITH_BACKGROUND", "off")
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn succeeds(folder: &Path, line: &str) -> Output {
    let output = warpsmith(folder, line);
    assert!(output.status.success(), "{line}: {}", told(&output));
    output
}

/// What a refusal says.
#[track_caller]
fn refused(folder: &Path, line: &str) -> String {
    let output = warpsmith(folder, line);
    assert!(!output.status.success(), "{line}: {output:?}");
    told(&output)
}

/// Refused without `--force`, which names it; the file is as it was. Replaced with it.
#[track_caller]
fn replaced_only_by_force(folder: &Path, line: &str, file: &str) {
    let path = folder.join(file);
    fs::write(&path, "somebody's work").unwrap();
    let text = refused(folder, line);
    assert!(text.contains(&format!("`{file}`")), "{text}");
    assert!(text.contains("it exists; `--force` replaces it"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), b"somebody's work", "{line}");
    succeeds(folder, &format!("{line} --force"));
    assert_ne!(fs::read(&path).unwrap(), b"somebody's work", "{line}");
}

/// A picture of a small lattice, to be followed by its file.
const PICTURE: &str = "lattice rd --size 8x8 --steps 1 --device cpu --quiet --slice";
/// A twentieth of a second of music, to be followed by its file.
const MUSIC: &str = "synth render --seconds 0.05 --rate 8000 --output";
const MUSIC_BYTES: usize = 44 + 400 * 4;

fn device_stays() -> Outcome {
    let folder = tempdir()?;
    make_device(folder.path());
    // Whether it can be opened is up to the file system.
    warpsmith(folder.path(), &format!("{PICTURE} device"));
    warpsmith(folder.path(), &format!("{MUSIC} device --force"));
    let facts = fs::symlink_metadata(folder.path().join("device"))?;
    assert!(facts.file_type().is_char_device());
    Ok(())
}

fn device_takes() -> Outcome {
    let folder = tempdir()?;
    make_device(folder.path());
    succeeds(folder.path(), &format!("{PICTURE} device"));
    succeeds(folder.path(), &format!("{MUSIC} device"));
    succeeds(folder.path(), "record device --duration 50ms");
    let facts = fs::symlink_metadata(folder.path().join("device"))?;
    assert!(facts.file_type().is_char_device());
    assert!(!folder.path().join("device.partial").exists());
    Ok(())
}

fn fifo() -> Outcome {
    let folder = tempdir()?;
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status()?.success());
    for (line, start) in [(PICTURE, &b"\x89PNG"[..]), (MUSIC, b"RIFF")] {
        let reader = {
            let pipe = pipe.clone();
            thread::spawn(move || fs::read(pipe))
        };
        succeeds(folder.path(), &format!("{line} pipe"));
        assert!(reader.join().unwrap()?.starts_with(start));
        assert!(fs::symlink_metadata(&pipe)?.file_type().is_fifo());
    }
    Ok(())
}

fn link() -> Outcome {
    let folder = tempdir()?;
    symlink("target.png", folder.path().join("link"))?;
    for _ in 0..2 {
        succeeds(folder.path(), &format!("{PICTURE} link"));
        assert!(fs::symlink_metadata(folder.path().join("link"))?.is_symlink());
        assert!(fs::read(folder.path().join("target.png"))?.starts_with(b"\x89PNG"));
    }
    Ok(())
}

fn modes() -> Outcome {
    let folder = tempdir()?;
    let mode = |name: &str| fs::metadata(folder.path().join(name)).map(|facts| facts.permissions());
    File::create(folder.path().join("ordinary"))?;
    succeeds(folder.path(), &format!("{PICTURE} new.png"));
    assert_eq!(mode("new.png")?, mode("ordinary")?);
    for kept in [0o600, 0o640, 0o755] {
        fs::set_permissions(folder.path().join("new.png"), Permissions::from_mode(kept))?;
        succeeds(folder.path(), &format!("{PICTURE} new.png"));
        assert_eq!(mode("new.png")?.mode() & 0o7777, kept);
    }
    Ok(())
}

fn dash() -> Outcome {
    let folder = tempdir()?;
    let output = succeeds(folder.path(), &format!("{MUSIC} -"));
    assert!(output.stdout.starts_with(b"RIFF"));
    assert_eq!(output.stdout.len(), MUSIC_BYTES);
    assert!(
        told(&output).contains("-: 0.1 s at 8000 Hz"),
        "{}",
        told(&output)
    );
    let output = succeeds(folder.path(), &format!("{PICTURE} /dev/stdout"));
    assert!(output.stdout.starts_with(b"\x89PNG") && output.stdout.ends_with(b"\xae\x42\x60\x82"));
    // Its exit code is about the machine.
    let output = warpsmith(folder.path(), "check --facts -");
    serde_json::from_slice::<serde_json::Value>(&output.stdout)?;
    assert!(!folder.path().join("-").exists());
    Ok(())
}

fn reader_leaves() -> Outcome {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["synth", "render", "--seconds", "120", "--output", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    assert!(output.status.success(), "{}", told(&output));
    Ok(())
}

fn dash_and_json() -> Outcome {
    let folder = tempdir()?;
    let text = refused(folder.path(), &format!("{MUSIC} - --format json"));
    assert!(
        text.contains("`--output` and `--format json` both write `-`"),
        "{text}"
    );
    Ok(())
}

fn same_twice() -> Outcome {
    let folder = tempdir()?;
    for line in [
        "run --csv out --save ./out -- touch worked",
        "run --html out --csv out -- touch worked",
        "synth render --output out --midi ./out",
        "check --json out --facts out",
        "md run --output out --checkpoint out",
    ] {
        let text = refused(folder.path(), line);
        assert!(text.contains("both write `"), "{line}: {text}");
        assert!(!folder.path().join("worked").exists(), "{line}");
        assert!(!folder.path().join("out").exists(), "{line}");
    }
    Ok(())
}

/// A folder with a sound in `a/take.wav` and one in `b/take.wav`.
fn two_takes() -> Result<TempDir, Failed> {
    let folder = tempdir()?;
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name))?;
        succeeds(folder.path(), &format!("{MUSIC} {name}/take.wav"));
    }
    Ok(folder)
}

fn same_name() -> Outcome {
    let folder = two_takes()?;
    for verb in ["pitch", "convert"] {
        let line = format!("voice {verb} a/take.wav b/take.wav --output out");
        let text = refused(folder.path(), &line);
        assert!(
            text.contains("`a/take.wav` and `b/take.wav` both write `out/take"),
            "{text}"
        );
        assert!(!folder.path().join("out").exists(), "{line}");
    }
    Ok(())
}

fn recording() -> Outcome {
    let folder = tempdir()?;
    replaced_only_by_force(
        folder.path(),
        "record run.wsrec --duration 50ms",
        "run.wsrec",
    );
    assert!(!folder.path().join("run.wsrec.partial").exists());
    Ok(())
}

fn unfinished_recording() -> Outcome {
    let folder = tempdir()?;
    let partial = folder.path().join("run.wsrec.partial");
    fs::write(&partial, "an hour's samples")?;
    let text = refused(folder.path(), "record run.wsrec --duration 50ms");
    assert!(text.contains("cannot write `run.wsrec.partial`"), "{text}");
    assert_eq!(fs::read(&partial)?, b"an hour's samples");
    Ok(())
}

fn music() -> Outcome {
    let folder = tempdir()?;
    replaced_only_by_force(folder.path(), &format!("{MUSIC} a.wav"), "a.wav");
    let line = format!("{MUSIC} b.wav --midi b.mid");
    fs::write(folder.path().join("b.mid"), "somebody's notes")?;
    assert!(refused(folder.path(), &line).contains("`b.mid`"));
    assert!(!folder.path().join("b.wav").exists());
    Ok(())
}

fn sounds() -> Outcome {
    let folder = two_takes()?;
    let line = "voice convert a/take.wav --output c.wav";
    replaced_only_by_force(folder.path(), line, "c.wav");
    Ok(())
}

fn data() -> Outcome {
    let folder = tempdir()?;
    fs::write(folder.path().join("data"), "data")?;
    let line = "lattice xor data --key-hex 5a --device cpu --output changed";
    replaced_only_by_force(folder.path(), line, "changed");
    let line = "md run --atoms 500 --steps 1 --device cpu --output frames.xyz";
    replaced_only_by_force(folder.path(), line, "frames.xyz");
    fs::create_dir(folder.path().join("mistakes"))?;
    let line = "corpus mistakes --count 2 --out mistakes";
    replaced_only_by_force(folder.path(), line, "mistakes/rejected.jsonl");
    Ok(())
}

fn data_set() -> Outcome {
    let folder = tempdir()?;
    let generate = "corpus generate --count 10 --shard-pairs 5 --as jsonl --out pairs";
    succeeds(folder.path(), generate);
    let manifest = folder.path().join("pairs/manifest.json");
    fs::write(folder.path().join("pairs/mine.txt"), "notes")?;
    let before = fs::read(&manifest)?;
    let other = generate.replace("--count 10", "--count 4");
    assert!(refused(folder.path(), &other).contains("`--force` replaces it"));
    assert_eq!(fs::read(&manifest)?, before);
    succeeds(folder.path(), &format!("{other} --force"));
    assert_ne!(fs::read(&manifest)?, before);
    assert_eq!(fs::read(folder.path().join("pairs/mine.txt"))?, b"notes");
    succeeds(folder.path(), "corpus verify pairs");
    Ok(())
}
