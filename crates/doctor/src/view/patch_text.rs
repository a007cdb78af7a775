//! Patches as a unified diff that `git apply` takes.

use std::fmt::Write;

use crate::project::Patch;

/// All patches as one diff.
pub fn unified_diff(patches: &[Patch]) -> String {
    let mut out = String::new();
    for patch in patches {
        let before = patch.before.as_deref().unwrap_or("");
        let old: Vec<&str> = before.lines().collect();
        let new: Vec<&str> = patch.after.lines().collect();
        let from = if patch.before.is_some() {
            format!("a/{}", patch.file)
        } else {
            "/dev/null".to_owned()
        };
        let _ = writeln!(out, "--- {from}\n+++ b/{}", patch.file);
        // Edits are local: one hunk from the first to the last changed line, with context.
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail = old[head..]
            .iter()
            .rev()
            .zip(new[head..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let start = head.saturating_sub(3);
        let context = tail.min(3);
        let (old_end, new_end) = (old.len() - tail + context, new.len() - tail + context);
        let place =
            |start: usize, n: usize| format!("{},{n}", if n == 0 { start } else { start + 1 });
        let _ = writeln!(
            out,
            "@@ -{} +{} @@",
            place(start, old_end - start),
            place(start, new_end - start)
        );
        for line in &old[start..head] {
            let _ = writeln!(out, " {line}");
        }
        for line in &old[head..old.len() - tail] {
            let _ = writeln!(out, "-{line}");
        }
        for line in &new[head..new.len() - tail] {
            let _ = writeln!(out, "+{line}");
        }
        for line in &old[old.len() - tail..old_end] {
            let _ = writeln!(out, " {line}");
        }
    }
    out
}
