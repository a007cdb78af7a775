//! Patches as a unified diff that `git apply` takes.
//!
//! Lines are compared with their ends, so that carriage returns and a last line without a newline
//! stay what they are.

use std::fmt::Write;

use crate::project::Patch;

const CONTEXT: usize = 3;

/// Edits are local: a text that differs in more lines than this is replaced as a whole.
const EDIT_LIMIT: usize = 4000;

/// A line of a diff: its places in the old and the new text, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Keep(usize, usize),
    Remove(usize),
    Add(usize),
}

/// All patches as one diff.
pub fn unified_diff(patches: &[Patch]) -> String {
    let mut out = String::new();
    for patch in patches {
        let before = patch.before.as_deref().unwrap_or("");
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = patch.after.split_inclusive('\n').collect();
        let from = match patch.before {
            Some(_) => quoted("a/", &patch.file),
            None => "/dev/null".to_owned(),
        };
        let _ = writeln!(out, "--- {from}\n+++ {}", quoted("b/", &patch.file));
        let steps = compare(&old, &new);
        for hunk in hunks(&steps) {
            write_hunk(&mut out, &steps, hunk, &old, &new);
        }
    }
    out
}

/// Lines that a patch takes out, and the text that comes in their place.
pub(super) struct Replacement {
    /// The first line that goes, from 1; without any, the line that the text comes before.
    pub(super) line: usize,
    pub(super) removed: usize,
    pub(super) text: String,
}

/// What a patch does to a file that is there, from its start to its end.
pub(super) fn replacements(patch: &Patch) -> Vec<Replacement> {
    let Some(before) = &patch.before else {
        return Vec::new();
    };
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = patch.after.split_inclusive('\n').collect();
    let mut found: Vec<Replacement> = Vec::new();
    let (mut line, mut open) = (1, false);
    for step in compare(&old, &new) {
        if let Step::Keep(..) = step {
            (line, open) = (line + 1, false);
            continue;
        }
        if !open {
            found.push(Replacement {
                line,
                removed: 0,
                text: String::new(),
            });
            open = true;
        }
        if let Some(last) = found.last_mut() {
            match step {
                Step::Add(at) => last.text += new[at],
                _ => last.removed += 1,
            }
        }
        line += usize::from(matches!(step, Step::Remove(_)));
    }
    found
}

/// Ranges of steps: changes with their context, joined where the contexts meet.
fn hunks(steps: &[Step]) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        if matches!(step, Step::Keep(..)) {
            continue;
        }
        let start = n.saturating_sub(CONTEXT);
        let end = (n + 1 + CONTEXT).min(steps.len());
        match found.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => found.push(start..end),
        }
    }
    found
}

fn write_hunk(
    out: &mut String,
    steps: &[Step],
    hunk: std::ops::Range<usize>,
    old: &[&str],
    new: &[&str],
) {
    let olds = |part: &[Step]| part.iter().filter(|s| !matches!(s, Step::Add(_))).count();
    let news = |part: &[Step]| {
        part.iter()
            .filter(|s| !matches!(s, Step::Remove(_)))
            .count()
    };
    let (ahead, inside) = (&steps[..hunk.start], &steps[hunk]);
    // An empty side is named by the line before it.
    let place =
        |before: usize, n: usize| format!("{},{n}", if n == 0 { before } else { before + 1 });
    let _ = writeln!(
        out,
        "@@ -{} +{} @@",
        place(olds(ahead), olds(inside)),
        place(news(ahead), news(inside))
    );
    for step in inside {
        let (mark, line) = match step {
            Step::Keep(at, _) => (' ', old[*at]),
            Step::Remove(at) => ('-', old[*at]),
            Step::Add(at) => ('+', new[*at]),
        };
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The shortest way from the old lines to the new ones (Myers, 1986).
fn compare(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut steps: Vec<Step> = (0..head).map(|n| Step::Keep(n, n)).collect();
    match trace(a, b) {
        Some(trace) => steps.extend(walk_back(&trace, a.len(), b.len(), head)),
        None => {
            steps.extend((0..a.len()).map(|n| Step::Remove(head + n)));
            steps.extend((0..b.len()).map(|n| Step::Add(head + n)));
        }
    }
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    steps.extend((0..tail).map(|n| Step::Keep(old_end + n, new_end + n)));
    steps
}

/// The furthest old line on every diagonal after 0, 1, 2… edits; `None` beyond the limit.
fn trace(a: &[&str], b: &[&str]) -> Option<Vec<Vec<usize>>> {
    let (n, m) = (a.len(), b.len());
    let most = n + m;
    let mut furthest = vec![0usize; 2 * most + 3];
    let middle = most + 1;
    let mut rounds = Vec::new();
    for edits in 0..=most {
        if edits > EDIT_LIMIT {
            return None;
        }
        rounds.push(furthest[middle - edits..=middle + edits].to_vec());
        // Diagonal k = x - y, written as an offset from -edits.
        for offset in (0..=2 * edits).step_by(2) {
            let at = middle + offset - edits;
            let down = offset == 0 || (offset != 2 * edits && furthest[at - 1] < furthest[at + 1]);
            let mut x = if down {
                furthest[at + 1]
            } else {
                furthest[at - 1] + 1
            };
            // Beyond the last new line there is nothing on this diagonal.
            let Some(mut y) = (x + edits).checked_sub(offset) else {
                continue;
            };
            while x < n && y < m && a[x] == b[y] {
                x += 1;
                y += 1;
            }
            furthest[at] = x;
            if x >= n && y >= m {
                return Some(rounds);
            }
        }
    }
    None
}

/// The steps of a trace, read from its end.
fn walk_back(rounds: &[Vec<usize>], n: usize, m: usize, head: usize) -> Vec<Step> {
    let (mut x, mut y) = (n, m);
    let mut steps = Vec::new();
    for (edits, before) in rounds.iter().enumerate().rev() {
        // `before[i]` is the furthest of diagonal i - edits, before this round.
        let furthest = |offset: usize| before.get(offset).copied().unwrap_or(0);
        let offset = x + edits - y;
        let (from_x, from_y) = if edits == 0 {
            (0, 0)
        } else {
            let down =
                offset == 0 || (offset != 2 * edits && furthest(offset - 1) < furthest(offset + 1));
            let from = if down {
                furthest(offset + 1)
            } else {
                furthest(offset - 1)
            };
            let diagonal = if down { offset + 1 } else { offset - 1 };
            (from, from + edits - diagonal)
        };
        while x > from_x && y > from_y {
            (x, y) = (x - 1, y - 1);
            steps.push(Step::Keep(head + x, head + y));
        }
        if x > from_x {
            x -= 1;
            steps.push(Step::Remove(head + x));
        } else if y > from_y {
            y -= 1;
            steps.push(Step::Add(head + y));
        }
    }
    steps.reverse();
    steps
}

/// A path as `git apply` reads it: quoted as in C where it has quotes or control characters.
fn quoted(side: &str, path: &str) -> String {
    let odd = |c: char| c.is_control() || c == '"' || c == '\\';
    if !path.contains(odd) {
        return format!("{side}{path}");
    }
    let mut text = format!("\"{side}");
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text += &format!("\\{:03o}", u32::from(c)),
            c => text.push(c),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(steps: &[Step], old: &[&str], new: &[&str]) -> (String, String) {
        let (mut left, mut right) = (String::new(), String::new());
        for step in steps {
            match step {
                Step::Keep(a, b) => {
                    left += old[*a];
                    right += new[*b];
                    assert_eq!(old[*a], new[*b]);
                }
                Step::Remove(a) => left += old[*a],
                Step::Add(b) => right += new[*b],
            }
        }
        (left, right)
    }

    #[test]
    fn two_edits_far_apart_are_two_hunks_and_ends_are_kept() {
        let before: String = (0..30).map(|n| format!("line {n}\r\n")).collect();
        let after = before
            .replace("line 3\r", "LINE 3\r")
            .replace("line 25\r", "a\r\nline 25\r");
        let patch = Patch {
            file: "f".into(),
            before: Some(before.trim_end().to_owned()),
            after: after.trim_end().to_owned(),
            codes: Vec::new(),
        };
        let diff = unified_diff(&[patch]);
        assert_eq!(diff.matches("@@ -").count(), 2);
        assert!(diff.contains("-line 3\r\n+LINE 3\r\n"), "{diff}");
        assert!(diff.contains("@@ -23,6 +23,7 @@"), "{diff}");
    }

    #[test]
    fn replacements_make_the_new_text_of_the_old_one() {
        let before = "a\nb\nc\nd\ne";
        for after in ["x\na\nB\nc\nd\ne", "a\nd\ne\nf", "", "a\nb\nc\nd\ne2"] {
            let patch = Patch {
                file: "f".into(),
                before: Some(before.into()),
                after: after.into(),
                codes: Vec::new(),
            };
            let mut lines: Vec<&str> = before.split_inclusive('\n').collect();
            let list = replacements(&patch);
            for one in list.iter().rev() {
                let from = one.line - 1;
                lines.splice(from..from + one.removed, [one.text.as_str()]);
            }
            assert_eq!(lines.concat(), after);
        }
    }

    proptest! {
        #[test]
        fn the_steps_are_the_old_text_and_the_new_one(
            old in prop::collection::vec("[a-c]\n", 0..12),
            new in prop::collection::vec("[a-c]\n", 0..12)
        ) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let steps = compare(&old, &new);
            let (left, right) = apply(&steps, &old, &new);
            prop_assert_eq!(left, old.concat());
            prop_assert_eq!(right, new.concat());
        }
    }
}
