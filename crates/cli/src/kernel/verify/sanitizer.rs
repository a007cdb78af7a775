//! One check again under compute-sanitizer, which names the line of a fault.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use warpsmith_core::Span;

/// A watched run takes longer than this only where it hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// What memcheck says about the command, and the line that it names; `None` where there is no
/// sanitizer, or nothing to say.
pub(super) fn look(command: impl FnOnce() -> Result<Command>) -> Option<(String, Option<Span>)> {
    read(&log("memcheck", command().ok()?)?)
}

/// What racecheck says: `None` where there is no sanitizer, otherwise the first race, if there is one.
pub(super) fn races(
    command: impl FnOnce() -> Result<Command>,
) -> Option<Option<(String, Option<Span>)>> {
    Some(read_race(&log("racecheck", command().ok()?)?))
}

fn log(tool: &str, watched: Command) -> Option<String> {
    let mut child = Command::new(find()?)
        .args(["--tool", tool, "--print-limit", "1"])
        .arg(watched.get_program())
        .args(watched.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let out = child.stdout.take()?;
    let reader = std::thread::spawn(move || std::io::read_to_string(out).unwrap_or_default());
    let begun = Instant::now();
    while begun.elapsed() < LIMIT && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = child.kill();
    let _ = child.wait();
    reader.join().ok()
}

fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let toolkit = env::var_os("CUDA_HOME").map_or("/usr/local/cuda".into(), PathBuf::from);
    env::split_paths(&path)
        .chain([toolkit.join("bin"), toolkit.join("compute-sanitizer")])
        .map(|folder| folder.join("compute-sanitizer"))
        .find(|file| file.is_file())
}

/// The first error of a log, in a line, and the place in the user's file.
fn read(log: &str) -> Option<(String, Option<Span>)> {
    let mut lines = log
        .lines()
        .filter_map(|line| line.strip_prefix("========="))
        .map(str::trim);
    let is_error = |line: &&str| {
        ["Invalid ", "Misaligned ", "Address ", "Illegal "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let what = lines.find(is_error)?;
    let mut words = vec![what.to_owned()];
    let mut span = None;
    for line in lines.take(3) {
        if line.starts_with("at ") || line.starts_with("by thread") || line.starts_with("Address") {
            words.push(line.to_owned());
        }
        span = place(line).or(span);
    }
    Some((words.join(", "), span))
}

/// The first race of a log, in a line, and the place of its first access.
fn read_race(log: &str) -> Option<(String, Option<Span>)> {
    let mut lines = log
        .lines()
        .filter_map(|line| line.strip_prefix("========="))
        .map(str::trim)
        .skip_while(|line| !line.contains("Race reported between"));
    let first = lines.next()?;
    let first = first.split_once(": ").map_or(first, |(_, rest)| rest);
    let mut words = first.to_owned();
    for line in lines.take_while(|line| line.starts_with("and ")).take(2) {
        words.push(' ');
        words.push_str(line);
    }
    Some((words, place(first)))
}

/// `… in file.cu:12`.
fn place(line: &str) -> Option<Span> {
    let (file, number) = line.rsplit_once(" in ")?.1.rsplit_once(':')?;
    let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Span::line(file, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_and_its_line_are_read() {
        let log = "========= COMPUTE-SANITIZER\n{\"check\":1}\n========= Invalid __global__ write of size 4 bytes\n\
                   =========     at add(float *, int)+0x90 in /home/u/add.cu:7\n\
                   =========     by thread (3,0,0) in block (1,0,0)\n\
                   =========     Address 0x7f0 is out of bounds\n========= ERROR SUMMARY: 1 error\n";
        let (words, span) = read(log).unwrap();
        assert!(
            words.starts_with("Invalid __global__ write of size 4 bytes, at add"),
            "{words}"
        );
        let span = span.unwrap();
        assert_eq!((span.file.as_str(), span.line), ("/home/u/add.cu", 7));
        assert!(read("========= ERROR SUMMARY: 0 errors").is_none());
    }

    #[test]
    fn the_first_race_is_read() {
        let log = "========= COMPUTE-SANITIZER\n========= Error: Race reported between Write access at sum(float *, int)+0x1f0 in /home/u/sum.cu:9\n\
                   =========     and Read access at sum(float *, int)+0x2a0 in /home/u/sum.cu:11 [496 hazards]\n=========\n\
                   ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
        let (words, span) = read_race(log).unwrap();
        assert!(
            words.starts_with("Race reported between Write access")
                && words.ends_with("[496 hazards]")
        );
        assert_eq!(span.unwrap().line, 9);
        assert!(read_race("========= RACECHECK SUMMARY: 0 hazards displayed").is_none());
    }
}
