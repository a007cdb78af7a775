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
            let known = OPTION_SYNONYMS.iter().find(|(name, _)| *name == typed);
            if let Some((_, option)) = known {
                return Some(format!(
                    "error: {whose} has no option `{typed}`; did you mean `{option}`?\n"
                ));
            }
            let options: Vec<String> = command
                .get_arguments()
                .chain(program.get_arguments())
                .filter(|option| !option.is_hide_set())
                .filter_map(|option| Some(format!("--{}", option.get_long()?)))
                .collect();
            let list = format!("`warpsmith {space}-h` lists its options");
            let near = did_you_mean(typed, options.iter().map(String::as_str), &list);
            Some(format!("error: {whose} has no option `{typed}`; {near}\n"))
        }
        _ => None,
    }
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
            ("devices cpu", "`devices` takes no argument `cpu` here"),
            (
                "--bogus",
                "`warpsmith` has no option `--bogus`; `warpsmith -h` lists",
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
