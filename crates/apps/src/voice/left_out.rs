//! Files of a folder that sound like audio and are not read, and what would read them.

use std::fmt::Write as _;

use serde::Serialize;

use super::endings::Ending;
use super::sources::SoundFile;

/// Names that a line of a note has room for.
const NAMED: usize = 3;

/// A file that is left out, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LeftOut {
    file: String,
    reason: &'static str,
    fix: String,
}

fn reason(ending: Ending) -> &'static str {
    match ending {
        Ending::Raw => "it has no header",
        _ => "its format is not read",
    }
}

/// Why each file is left out.
pub(super) fn listed(files: &[&SoundFile]) -> Vec<LeftOut> {
    let listed = files.iter().map(|file| {
        let ending = Ending::of(&file.path);
        LeftOut {
            file: file.path.display().to_string(),
            reason: reason(ending),
            fix: ending.remedy(&file.path).unwrap_or_default(),
        }
    });
    listed.collect()
}

/// What is left out, a line for each reason.
pub(super) fn lines(files: &[&SoundFile]) -> Vec<String> {
    let of = |wanted: Ending| {
        let those = files.iter().copied();
        let those: Vec<&SoundFile> = those
            .filter(|file| Ending::of(&file.path) == wanted)
            .collect();
        let first = those.first()?;
        let mut line = match (wanted, those.len()) {
            (Ending::Raw, 1) => "left out 1 file without a header: ".to_owned(),
            (Ending::Raw, count) => format!("left out {count} files without a header: "),
            (_, 1) => "left out 1 file of a format that is not read: ".to_owned(),
            (_, count) => format!("left out {count} files of formats that are not read: "),
        };
        for (number, file) in those.iter().take(NAMED).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let _ = write!(line, "{comma}`{}`", file.path.display());
        }
        if those.len() > NAMED {
            let _ = write!(line, " and {} more", those.len() - NAMED);
        }
        let _ = write!(line, "; {}", wanted.remedy(&first.path)?);
        Some(line)
    };
    [Ending::Foreign, Ending::Raw]
        .into_iter()
        .filter_map(of)
        .collect()
}
