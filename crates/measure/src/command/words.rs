//! A command line as words, for runs without a shell, and as what a shell would be replaced by.

use std::borrow::Cow;

/// Splits `line` at blanks; quotes and backslashes keep blanks, as in a shell. `Err` says what is
/// not closed, or which character would need a shell.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None | Some('"'), '\\') => {
                let escaped = characters.next().ok_or("a backslash ends the line")?;
                word.get_or_insert_default().push(escaped);
            }
            (Some(_), character) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`') => {
                return Err(format!("`{character}` needs a shell"));
            }
            (None, character) => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("{open} is not closed"));
    }
    words.extend(word);
    match words.is_empty() {
        true => Err("the line is empty".to_owned()),
        false => Ok(words),
    }
}

/// What a line for `sh -c` is run as. A shell that only waits for one program is replaced by it
/// (`exec`): nothing about the program changes, and its time in the queue for a core can be read,
/// which tells computing from waiting. Everything else stays as it is.
pub(super) fn replaced_by_its_program(words: &[String]) -> Cow<'_, [String]> {
    match words {
        [shell, flag, line] if shell == "sh" && flag == "-c" && is_one_program(line) => {
            Cow::Owned(vec![shell.clone(), flag.clone(), format!("exec {line}")])
        }
        words => Cow::Borrowed(words),
    }
}

/// Words that a shell understands itself; `exec` would look for programs of these names.
const OF_THE_SHELL: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue",
    "declare", "do", "done", "echo", "elif", "else", "esac", "eval", "exec", "exit", "export",
    "false", "fc", "fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "kill",
    "let", "local", "printf", "pwd", "read", "readonly", "return", "select", "set", "shift",
    "source", "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit",
    "umask", "unalias", "unset", "until", "wait", "while",
];

/// Whether `line` starts one program and does nothing else: its first word is plain and no word of
/// the shell, and nothing outside of quotes separates commands.
fn is_one_program(line: &str) -> bool {
    let line = line.trim();
    let first = line.split_whitespace().next().unwrap_or_default();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-".contains(letter);
    if first.is_empty() || !first.chars().all(plain) || OF_THE_SHELL.contains(&first) {
        return false;
    }
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') if letters.next().is_none() => return false,
            (None | Some('"'), '`') => return false,
            (Some(_), _) | (None, '\\') => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '&' | ';' | '(' | ')' | '\n' | '#' | '{' | '}' | '!') => return false,
            (None, _) => {}
        }
    }
    quote.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks_and_shell_characters() {
        let words = split(r#"./x 'a  b' "c \"d\" $" e\ f '' g"h"i"#).unwrap();
        assert_eq!(words, ["./x", "a  b", "c \"d\" $", "e f", "", "ghi"]);
    }

    #[test]
    fn a_shell_that_only_waits_is_replaced() {
        for line in [
            "jq -n '[range(5)]|add'",
            "sort -n < file > out",
            "./x \"$HOME/a b\" *.txt",
            "/usr/bin/rg -c 'a;b' .",
        ] {
            assert!(is_one_program(line), "{line}");
        }
        for line in [
            "a | b", "a; b", "a && b", "a &", "echo x", "cd x", "FOO=1 a", "$X a", "a `b`",
            "a $(b)", "if a", "(a)", "a 'b", "", "exec a", "! a", "a \\", "{ a", "a # b", "a\nb",
        ] {
            assert!(!is_one_program(line), "{line:?}");
        }
        let words = ["sh", "-c", "sort x"].map(str::to_owned);
        assert_eq!(replaced_by_its_program(&words)[2], "exec sort x");
        let others = ["bash", "-c", "sort x"].map(str::to_owned);
        assert_eq!(*replaced_by_its_program(&others), others);
    }

    #[test]
    fn what_needs_a_shell_or_does_not_end_is_refused() {
        assert_eq!(split("a | b").unwrap_err(), "`|` needs a shell");
        assert_eq!(split("a 'b").unwrap_err(), "' is not closed");
        assert_eq!(split("  ").unwrap_err(), "the line is empty");
        assert!(split("a \\").is_err());
    }
}
