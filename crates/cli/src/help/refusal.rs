//! A command line that we do not take, answered in one line that says what to type instead.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use warpsmith_core::did_you_mean;

use super::GROUPS;
use crate::codes::stories;

/// What people call our verbs who know other tools.
const SYNONYMS: &[(&str, &str)] = &[
    ("analyze", "voice analyze"),
    ("autotune", "tune"),
    ("benchmark", "bench"),
    ("build", "compile"),
    ("configure", "config show"),
    ("diagnose", "check"),
    ("diff", "compare"),
    ("disassemble", "inspect"),
    ("doctor", "check"),
    ("hyperfine", "run"),
    ("info", "devices"),
    ("init", "new"),
    ("lint", "audit"),
    ("list", "bench --list"),
    ("measure", "bench"),
    ("memcheck", "verify"),
    ("metrics", "export"),
    ("monitor", "watch"),
    ("music", "synth"),
    ("nvidia-smi", "watch"),
    ("occupancy", "inspect"),
    ("optimise", "tune"),
    ("optimize", "tune"),
    ("parity", "verify"),
    ("play", "serve"),
    ("prometheus", "export"),
    ("scan", "audit"),
    ("settings", "config show"),
    ("smi", "watch"),
    ("speech", "voice"),
    ("test", "verify"),
    ("time", "run"),
    ("top", "watch"),
    ("validate", "verify"),
    ("version", "--version"),
];

/// What people type who know other tools.
const OPTION_SYNONYMS: &[(&str, &str)] = &[
    ("--colour", "--color"),
    ("--cpu", "--device cpu"),
    ("--cuda", "--device cuda"),
    ("--gpu", "--device cuda"),
    ("--json", "--format json"),
    ("--no-color", "--color never"),
    // A time-out ends what hangs; a budget ends sampling.
    ("--timeout", "--budget"),
    ("--timeout", "--limit"),
];

/// What to print instead of clap's own text, where one line says more.
pub(crate) fn refusal(error: &Error, program: &Command, words: &[String]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (path, command) = named(program, words);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = context(ContextKind::InvalidSubcommand)?;
            Some(if path.is_empty() {
                format!("{}\n", unknown_verb(typed))
            } else {
                let below = command.get_subcommands().map(Command::get_name);
                let list = format!("`warpsmith {path} -h` lists its commands");
                format!(
                    "error: `{path}` has no command `{typed}`; {}\n",
                    did_you_mean(typed, below, &list)
                )
            })
        }
        ErrorKind::UnknownArgument => {
            let typed = context(ContextKind::InvalidArg)?;
            let whose = match path.is_empty() {
                true => "`warpsmith`".to_owned(),
                false => format!("`{path}`"),
            };
            let mut space = path.clone();
            if !space.is_empty() {
                space.push(' ');
            }
            if !typed.starts_with('-') {
                return Some(format!(
                    "error: {whose} takes no argument `{typed}` here; `warpsmith {space}-h` says what it takes\n"
                ));
            }
            if let Some((option, value)) = below_zero(typed, words) {
                return Some(format!(
                    "error: `{option}` cannot be `{value}`: it is below zero\n"
                ));
            }
            let options: Vec<String> = command
                .get_arguments()
                .chain(program.get_arguments())
                .filter(|option| !option.is_hide_set())
                .filter_map(|option| Some(format!("--{}", option.get_long()?)))
                .collect();
            let has = |words: &str| {
                let option = words.split(' ').next().unwrap_or_default();
                options.iter().any(|known| known == option)
            };
            let known: Vec<String> = OPTION_SYNONYMS
                .iter()
                .filter(|(name, option)| *name == typed && has(option))
                .map(|(_, option)| format!("`{option}`"))
                .collect();
            if !known.is_empty() {
                return Some(format!(
                    "error: {whose} has no option `{typed}`; did you mean {}?\n",
                    known.join(" or ")
                ));
            }
            let list = format!("`warpsmith {space}-h` lists its options");
            let near = did_you_mean(typed, options.iter().map(String::as_str), &list);
            Some(format!("error: {whose} has no option `{typed}`; {near}\n"))
        }
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        _ => Some(format!("error: {}\n", unfit(error, &path)?)),
    }
}

/// The option whose value was taken for one: `-3` of `--budget -3s`.
fn below_zero<'a>(typed: &str, words: &'a [String]) -> Option<(&'a str, &'a str)> {
    typed
        .strip_prefix('-')?
        .chars()
        .next()?
        .is_ascii_digit()
        .then_some(())?;
    words
        .windows(2)
        .find(|pair| pair[0].starts_with("--") && pair[1].starts_with(typed))
        .map(|pair| (pair[0].as_str(), pair[1].as_str()))
}

/// What is wrong with the options and arguments of a command that exists.
fn unfit(error: &Error, path: &str) -> Option<String> {
    let list = |kind| match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    };
    let argument = list(ContextKind::InvalidArg);
    let command = format!("warpsmith {path}");
    let command = command.trim_end();
    let first = argument.first().map(String::as_str).unwrap_or_default();
    let value = list(ContextKind::InvalidValue).pop().unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let needed: Vec<String> = argument.iter().map(|word| format!("`{word}`")).collect();
            let needed = needed.join(" and ");
            format!("`{command}` needs {needed}; `{command} --help` has examples")
        }
        ErrorKind::MissingSubcommand => {
            format!("`{command}` needs a command; `{command} -h` lists its commands")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("`{first}` needs a value; `{command} -h` says which")
        }
        ErrorKind::InvalidValue => {
            let possible = list(ContextKind::ValidValue);
            let all = match possible.is_empty() {
                true => format!("`{command} -h` says what it takes"),
                false => format!("use {}", possible.join(", ")),
            };
            let near = did_you_mean(&value, possible.iter().map(String::as_str), &all);
            format!("`{first}` cannot be `{value}`; {near}")
        }
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error)?.to_string();
            let name = first.split([' ', '=']).next().unwrap_or_default();
            let quoted = reason.contains(&format!("`{value}`"));
            match (quoted, name.starts_with('-')) {
                // The reason alone says which argument it is about.
                (true, false) => reason,
                (true, true) => format!("`{name}`: {reason}"),
                (false, _) => format!("`{name}` cannot be `{value}`: {reason}"),
            }
        }
        ErrorKind::ArgumentConflict if argument.len() == 1 => {
            let others = list(ContextKind::PriorArg);
            match others.iter().find(|other| *other != first) {
                Some(other) => {
                    format!("`{first}` cannot be used with `{other}`; leave out one of them")
                }
                None => format!("`{first}` was given twice; it is taken once"),
            }
        }
        // clap's first paragraph without its advice, as one line.
        _ => {
            let text = error.to_string();
            let said = text.split("\n\n").next().unwrap_or_default();
            let said = said.trim_start_matches("error: ").replace('\n', " ");
            format!("{said}; `{command} -h` lists options")
        }
    })
}

/// The command that `words` name: its path, and itself.
fn named<'a>(program: &'a Command, words: &[String]) -> (String, &'a Command) {
    let mut path = Vec::new();
    let mut command = program;
    for word in words {
        if let Some(below) = command.find_subcommand(word) {
            path.push(below.get_name());
            command = below;
        }
    }
    (path.join(" "), command)
}

fn unknown_verb(typed: &str) -> String {
    let known = SYNONYMS.iter().find(|(name, _)| *name == typed);
    if let Some((_, verb)) = known {
        return format!("error: there is no command `{typed}`; did you mean `warpsmith {verb}`?");
    }
    if stories().any(|story| story.code.eq_ignore_ascii_case(typed)) {
        return format!("error: `{typed}` is a finding; `warpsmith explain {typed}` explains it");
    }
    let path = Path::new(typed);
    if path.exists() {
        return format!(
            "error: `{typed}` is not a command; {}",
            for_file(typed, path)
        );
    }
    let verbs = GROUPS.iter().flat_map(super::groups::Group::verbs);
    let near = did_you_mean(typed, verbs, "`warpsmith -h` lists the commands");
    format!("error: there is no command `{typed}`; {near}")
}

/// What can be done with a file or folder that stands where a verb should.
fn for_file(typed: &str, path: &Path) -> String {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let (verb, does) = match ending.unwrap_or_default() {
        _ if path.is_dir() => ("audit", "audits the project"),
        "cu" | "cuh" => ("new", "writes a case for its kernel"),
        "py" => ("compile", "compiles its kernel"),
        "toml" => ("verify", "checks the kernel of the case"),
        "ptx" => ("bench", "measures its kernel"),
        "wsrec" => ("replay", "shows the recording"),
        "wav" | "flac" | "mp3" | "ogg" | "m4a" | "aiff" => ("voice analyze", "analyses the sound"),
        "sqlite" | "csv" => ("profile --read", "reads a profiler's export"),
        "json" => ("history add", "keeps the results"),
        _ => return "`warpsmith -h` lists the commands".to_owned(),
    };
    format!("`warpsmith {verb} {typed}` {does}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help::program;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = program()
            .try_get_matches_from(std::iter::once("warpsmith".to_owned()).chain(words.clone()))
            .expect_err(line);
        refusal(&error, &program(), &words).unwrap_or_else(|| error.to_string())
    }

    #[test]
    fn what_is_mistyped_is_answered_with_what_to_type() {
        for (line, answer) in [
            (
                "benhc",
                "there is no command `benhc`; did you mean `bench`?",
            ),
            ("doctor", "did you mean `warpsmith check`?"),
            ("bld014", "`warpsmith explain bld014` explains it"),
            ("spelunk", "`warpsmith -h` lists the commands"),
            (
                "voice ptich",
                "`voice` has no command `ptich`; did you mean `pitch`",
            ),
            (
                "bench machine/saxpy --smaples 3",
                "`bench` has no option `--smaples`; did you mean `--samples`?",
            ),
            ("devices --dvice cpu", "did you mean `--device`?"),
            ("devices --json", "did you mean `--format json`?"),
            (
                "run --timeout 1s -- true",
                "`run` has no option `--timeout`; did you mean `--budget` or `--limit`?",
            ),
            (
                "run --budget -3s -- true",
                "`--budget` cannot be `-3s`: it is below zero",
            ),
            (
                "leak --budget 1s",
                "`leak` has no option `--budget`; `warpsmith leak -h` lists",
            ),
            ("devices cpu", "`devices` takes no argument `cpu` here"),
            (
                "--bogus",
                "`warpsmith` has no option `--bogus`; `warpsmith -h` lists",
            ),
            (
                "exec",
                "`warpsmith exec` needs `--dim <N[,M…]>` and `<FILE>`; `warpsmith exec --help` has examples",
            ),
            ("voice pitch", "`warpsmith voice pitch` needs `<FILE>...`;"),
            (
                "devices --format xml",
                "`--format <FORMAT>` cannot be `xml`; use human, json",
            ),
            ("devices --format jsno", "did you mean `json`?"),
            ("completions powershel", "did you mean `powershell`?"),
            (
                "devices --device gpu",
                "error: `--device`: `gpu` is not a device; use `auto`, `cpu`, `cuda`, `cuda:N`, `vulkan` \
                 or `vulkan:N`",
            ),
            (
                "bench --budget soon",
                "error: `--budget`: `soon` is not a time: write `60s` or `2m`",
            ),
            (
                "compare --command",
                "`--command <LINE>` needs a value; `warpsmith compare -h` says which",
            ),
            (
                "replay nowhere.wsrec",
                "error: there is no file `nowhere.wsrec`",
            ),
            (
                "leak --from nowhere.txt",
                "error: `--from`: there is no file `nowhere.txt`",
            ),
            (
                "voice mel src",
                "error: there is no audio file in `src` (names end in .aac, ",
            ),
            (
                "devices --format json --format human",
                "`--format <FORMAT>` was given twice; it is taken once",
            ),
            (
                "compare a b --workload machine/saxpy",
                "there is no file `a`",
            ),
        ] {
            let said = said(line);
            assert!(said.contains(answer), "{line}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }

    #[test]
    fn synonyms_lead_to_commands_that_exist_and_hide_none() {
        for (name, verb) in SYNONYMS {
            assert!(program().find_subcommand(name).is_none(), "{name}");
            if verb.starts_with('-') {
                continue;
            }
            let first = verb.split(' ').next().unwrap();
            assert!(program().find_subcommand(first).is_some(), "{verb}");
        }
        assert!(SYNONYMS.is_sorted());
    }

    #[test]
    fn a_file_or_folder_leads_to_the_verb_that_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(for_file("x", folder.path()).contains("audit"));
        assert!(for_file("k.cu", Path::new("k.cu")).contains("warpsmith new k.cu"));
        assert!(for_file("k", Path::new("k")).contains("warpsmith -h"));
    }
}
