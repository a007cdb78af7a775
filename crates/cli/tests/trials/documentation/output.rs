//! Whether a program printed what a page shows, where numbers may differ.

use crate::session::page::steady;

/// Whether the lines are the same but for numbers, with or without their units.
///
/// What was `measured` may also differ in how much the samples support (`≥`, `too few`), in the
/// shape of a histogram, and in what is said about a busy machine.
pub(super) fn agrees(shown: &[&str], seen: &[&str], measured: bool) -> bool {
    if !measured {
        let plain = |lines: &[&str]| -> Vec<String> {
            lines.iter().map(|line| without_numbers(line)).collect()
        };
        return plain(shown) == plain(seen);
    }
    let plain = |lines: &[&str]| -> Vec<String> {
        let lines = steady(lines);
        lines.iter().map(|line| without_support(line)).collect()
    };
    plain(shown) == plain(seen)
}

/// A measured line without numbers, bars, bounds and gaps.
fn without_support(line: &str) -> String {
    let bars = |letter: &char| !matches!(letter, '\u{2500}'..='\u{259f}' | '≥' | '≤' | '~');
    let line: String = line.chars().filter(bars).collect();
    // What `leak` notes beside its verdict depends on when the allocator requested pages.
    let line = [" one-time ", " warm-up separated"]
        .iter()
        .fold(line.as_str(), |line, note| {
            line.split(note).next().unwrap_or_default()
        });
    let line = line.replace("too few", "0 %");
    let words = line.split_whitespace().map(|word| match word {
        "-" | "–" => "0",
        other => other,
    });
    let line = without_numbers(&words.collect::<Vec<_>>().join(" "));
    line.replace(" (# disturbed)", "")
        .replace(" (!)", "")
        .replace("| |", "||")
}

/// The line with every number, and the unit behind it, as `#`, and runs of spaces or rules as one.
fn without_numbers(line: &str) -> String {
    const UNITS: &[&str] = &[
        "ns", "µs", "ms", "s", "min", "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "Hz",
        "kHz", "B/s", "KiB/s", "MiB/s", "GiB/s", "kB/s", "MB/s", "GB/s", "TB/s", "Mflop/s",
        "Gflop/s", "Tflop/s",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let mut plain = String::new();
        let mut in_number = false;
        for letter in word.chars() {
            let digit = letter.is_ascii_digit() || (in_number && ".,".contains(letter));
            if digit && !in_number {
                plain = plain.trim_end_matches(['+', '-', '−', '±']).to_owned();
                plain.push('#');
            } else if !digit {
                plain.push(letter);
            }
            in_number = digit;
        }
        // `2e-5` is one number, and so is `1.0e0`.
        let plain = plain.replace("#e#", "#");
        let unit = |text: &str| UNITS.contains(&text.trim_end_matches([',', ';', ')']));
        match words.last_mut() {
            Some(number) if number.ends_with('#') && unit(&plain) => {
                number.push_str(plain.trim_start_matches(|c: char| c.is_alphabetic() || c == '/'));
            }
            _ => words.push(plain),
        }
    }
    words.join(" ")
}

/// Whether the comparison itself can fail: words must not pass for numbers.
pub(super) fn tells_words_apart() -> bool {
    let same = |a: &str, b: &str| agrees(&[a], &[b], false);
    let close = |a: &str, b: &str| agrees(&[a], &[b], true);
    same("median 1.20 µs ±3 %", "median 310 ns ±0.5 %")
        && same("error 1.0e-7", "error 0e0")
        && !same("verdict SLOWER", "verdict SAME")
        && !same("a", "")
        && !agrees(&["a"], &["a", "b"], false)
        && agrees(&["a"], &["a", "", "warning M004: busy", "  load: 3"], true)
        && !agrees(&["a"], &["a", "error M010: slower"], true)
        && close("x  ≥3 µs  12 (+3 disturbed)  |█  ▄|", "x  4 ms  9  |▄█|")
        && !close("x  SLOWER", "x  SAME")
}
