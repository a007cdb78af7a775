//! Every key, with its meaning: the one list that the files, the command and the documentation follow.

use crate::document::Owner;
use crate::quantity::{percent, time};

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `auto`, `cpu`, `cuda`, `cuda:N`, `vulkan` or `vulkan:N`.
    Device,
    /// `10s`, `500ms`, `2m`, `1h`, or a number of seconds; more than nothing.
    Time,
    /// A number from 0 to 100.
    Percent,
    /// A path; `~/` is the home folder, a relative one begins at the folder of the file.
    Path,
    /// A name without a folder in it or above it: written below the current folder.
    Below,
}

impl Kind {
    /// What a value of this kind looks like, for the documentation.
    pub fn words(self) -> String {
        match self {
            Self::Choice(words) => words
                .iter()
                .map(|word| format!("`\"{word}\"`"))
                .collect::<Vec<_>>()
                .join(", "),
            Self::Device => {
                "`\"auto\"`, `\"cpu\"`, `\"cuda\"`, `\"cuda:N\"`, `\"vulkan\"`, `\"vulkan:N\"`"
                    .to_owned()
            }
            Self::Time => "a time: `\"10s\"`, `\"500ms\"`, `\"2m\"`, or seconds".to_owned(),
            Self::Percent => "a number from 0 to 100".to_owned(),
            Self::Path => "a path; `~/` is your home folder".to_owned(),
            Self::Below => "a path below the current folder".to_owned(),
        }
    }

    /// Why `text` is no value of this kind.
    pub(crate) fn problem(self, text: &str) -> Option<String> {
        match self {
            Self::Choice(words) if words.contains(&text) => None,
            Self::Choice(words) => Some(format!("must be one of {}", words.join(", "))),
            Self::Device => {
                let numbered = ["cuda:", "vulkan:"].iter().any(|prefix| {
                    let index = text.strip_prefix(prefix).map(str::parse::<usize>);
                    matches!(index, Some(Ok(_)))
                });
                let known = matches!(text, "auto" | "cpu" | "cuda" | "vulkan") || numbered;
                (!known).then(|| {
                    "must be `auto`, `cpu`, `cuda`, `cuda:N`, `vulkan` or `vulkan:N`".to_owned()
                })
            }
            Self::Time => match time(text) {
                Ok(time) if time.is_zero() => Some("must be more than 0 seconds".to_owned()),
                Ok(time) if time.as_secs() > 7 * 86_400 => {
                    Some("must be at most a week".to_owned())
                }
                Ok(_) => None,
                Err(problem) => Some(problem),
            },
            Self::Percent => percent(text).err(),
            Self::Path => text.is_empty().then(|| "must name a folder".to_owned()),
            Self::Below => {
                let inside = std::path::Path::new(text)
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                (text.is_empty() || !inside)
                    .then(|| "must be a path below the current folder, without `..`".to_owned())
            }
        }
    }
}

/// A key of the files.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `measure.budget`: the table and the name.
    pub name: &'static str,
    /// The option whose default it is, without the dashes; none where there is no option.
    pub option: Option<&'static str>,
    /// The one verb that the option must belong to; every verb where none is named.
    pub verb: Option<&'static str>,
    /// The variable that wins over the files.
    pub variable: Option<&'static str>,
    /// What a value looks like.
    pub kind: Kind,
    /// What holds where nobody says anything.
    pub default: &'static str,
    /// Whose file may have it; both where none is named.
    pub only: Option<Owner>,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// Every key that has one value; `[audit]` has lists of its own.
pub const KEYS: &[Key] = &[
    Key {
        name: "device",
        option: Some("device"),
        verb: None,
        variable: Some("WARPSMITH_DEVICE"),
        kind: Kind::Device,
        default: "auto",
        only: None,
        help: "where to run",
    },
    Key {
        name: "format",
        option: Some("format"),
        verb: None,
        variable: Some("WARPSMITH_FORMAT"),
        kind: Kind::Choice(&["human", "json"]),
        default: "human",
        only: None,
        help: "how to print results",
    },
    Key {
        name: "color",
        option: Some("color"),
        verb: None,
        variable: Some("WARPSMITH_COLOR"),
        kind: Kind::Choice(&["auto", "always", "never"]),
        default: "auto",
        only: None,
        help: "when to use colour; `auto` is on a terminal, unless `NO_COLOR` is set",
    },
    Key {
        name: "cache",
        option: None,
        verb: None,
        variable: Some("WARPSMITH_CACHE_DIR"),
        kind: Kind::Path,
        default: "~/.cache/warpsmith",
        only: Some(Owner::User),
        help: "folder for compiled kernels",
    },
    Key {
        name: "measure.budget",
        option: Some("budget"),
        verb: None,
        variable: None,
        kind: Kind::Time,
        default: "10s",
        only: None,
        help: "time that a measurement or a comparison may take",
    },
    Key {
        name: "measure.target",
        option: Some("target"),
        verb: None,
        variable: None,
        kind: Kind::Percent,
        default: "0.5 (`bench`), 1 (`run`)",
        only: None,
        help: "stop when the interval of the median is this narrow",
    },
    Key {
        name: "measure.margin",
        option: Some("margin"),
        verb: None,
        variable: None,
        kind: Kind::Percent,
        default: "1",
        only: None,
        help: "differences up to this much do not matter",
    },
    Key {
        name: "measure.limit",
        option: Some("limit"),
        verb: None,
        variable: None,
        kind: Kind::Time,
        default: "20s (a launch), 10m (a command)",
        only: None,
        help: "end a single run that takes longer than this",
    },
    Key {
        name: "report.output",
        option: Some("output"),
        verb: Some("report"),
        variable: None,
        kind: Kind::Below,
        default: "report",
        only: None,
        help: "folder that `report` writes to",
    },
    Key {
        name: "telemetry.interval",
        option: Some("interval"),
        verb: None,
        variable: None,
        kind: Kind::Time,
        default: "100ms",
        only: None,
        help: "time between samples of power, clocks and use",
    },
];

/// Names of the tables that hold keys or lists.
pub(crate) const TABLES: &[&str] = &["audit", "measure", "report", "telemetry"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_tell_values_from_what_is_none() {
        for (kind, good, bad) in [
            (Kind::Device, "cuda:3", "gpu"),
            (Kind::Device, "auto", "cuda:-1"),
            (Kind::Time, "500ms", "0s"),
            (Kind::Time, "1h", "400h"),
            (Kind::Percent, "2.5", "250"),
            (Kind::Choice(&["a", "b"]), "b", "c"),
            (Kind::Path, "/tmp", ""),
            (Kind::Below, "out/report", "../report"),
            (Kind::Below, "report", "/etc"),
        ] {
            assert_eq!(kind.problem(good), None, "{good}");
            assert!(kind.problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn names_are_unique_and_their_tables_known() {
        let mut names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
        for (table, _) in names.iter().filter_map(|name| name.split_once('.')) {
            assert!(TABLES.contains(&table), "{table}");
        }
    }
}
