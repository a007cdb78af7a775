//! The program with its help: groups of verbs, a short form for `-h` and a long one for `--help`.

use clap::builder::StyledStr;
use clap::{ColorChoice, Command, CommandFactory};

use super::groups;
use crate::arguments::Arguments;

/// How the program's own help is laid out; the groups stand where clap puts text before the help.
const LAYOUT: &str = "{about}\n\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";

/// What stands below the short help of every verb.
const COMMON: &str = "Every command also takes --device, --format, --color, --quiet and --verbose.";

/// What the long help of the program ends with.
const CONTRACT: &str = "\
Exit codes: 0 fine, 1 done and what was found is not fine, 2 could not be done, 3 not possible on this \
machine, 4 undecided: what was seen does not settle it.
Data goes to stdout, everything else to stderr.
`warpsmith COMMAND --help` has examples; `warpsmith` alone says what to try first here.";

/// The command line that we take, with its help.
pub(crate) fn program() -> Command {
    let program = Arguments::command();
    let (short, long) = (groups::short(&program), groups::long(&program));
    program
        .help_template(LAYOUT)
        .before_help(short)
        .before_long_help(long)
        .after_help(
            "Every command also takes --device, --format, --color, --quiet and --verbose.\n\
             `warpsmith COMMAND -h` lists options; `warpsmith --help` lists every command.",
        )
        .after_long_help(CONTRACT)
        .mut_subcommands(|verb| with_pointer(verb, "warpsmith"))
}

/// The short help of a command and of those below it says where the rest stands.
fn with_pointer(command: Command, above: &str) -> Command {
    let name = format!("{above} {}", command.get_name());
    let pointer = format!("{COMMON}\n`{name} --help` has details and examples.");
    // Where there is no long text, clap would repeat the pointer in the long help.
    let long = command.get_after_long_help().cloned();
    command
        .after_help(pointer)
        .after_long_help(long.unwrap_or_else(|| StyledStr::from("")))
        .mut_subcommands(|below| with_pointer(below, &name))
}

/// What `--color` on the command line means for the help, which is printed before it is parsed;
/// `configured` where there is none.
pub(crate) fn color_of(words: &[String], configured: Option<&str>) -> ColorChoice {
    let mut words = words.iter();
    let mut chosen = configured;
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if word == "--color" {
            chosen = words.next().map(String::as_str);
        } else if let Some(value) = word.strip_prefix("--color=") {
            chosen = Some(value);
        }
    }
    match chosen {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the short help on a terminal of 80 columns.
    fn short_lines(command: &Command) -> usize {
        let help = command.clone().term_width(80).render_help().to_string();
        help.trim_end().lines().count()
    }

    fn walk(command: &Command, name: &str, check: &mut dyn FnMut(&str, &Command)) {
        check(name, command);
        for below in command.get_subcommands() {
            walk(below, &format!("{name} {}", below.get_name()), check);
        }
    }

    /// As a user meets it: with what `build` adds.
    fn built() -> Command {
        let mut program = program();
        program.build();
        program
    }

    #[test]
    fn the_short_help_of_the_program_fits_40_lines() {
        let program = built();
        let lines = short_lines(&program);
        assert!(
            lines <= 40,
            "{lines} lines\n{}",
            program.clone().render_help()
        );
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen() {
        let mut long = Vec::new();
        walk(&built(), "warpsmith", &mut |name, command| {
            let lines = short_lines(command);
            if lines > 50 && !command.is_hide_set() {
                long.push(format!("{name}: {lines} lines"));
            }
        });
        assert!(long.is_empty(), "{}", long.join("\n"));
    }

    #[test]
    fn the_long_help_has_the_examples_and_the_short_one_says_so() {
        let mut bench = built().find_subcommand("bench").unwrap().clone();
        let short = bench.render_help().to_string();
        let long = bench.render_long_help().to_string();
        assert!(!short.contains("Examples:") && short.contains("`warpsmith bench --help`"));
        assert!(long.contains("Examples:") && !long.contains("has details and examples"));
    }

    #[test]
    fn color_is_known_before_the_rest_is_parsed() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            color_of(&words, None)
        };
        assert_eq!(of("bench --color never -h"), ColorChoice::Never);
        assert_eq!(of("--color=always"), ColorChoice::Always);
        assert_eq!(of("run -- x --color never"), ColorChoice::Auto);
        assert_eq!(color_of(&[], Some("never")), ColorChoice::Never);
    }
}
