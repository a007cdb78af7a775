//! A command line as words, for runs without a shell.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_blanks_and_shell_characters() {
        let words = split(r#"./x 'a  b' "c \"d\" $" e\ f '' g"h"i"#).unwrap();
        assert_eq!(words, ["./x", "a  b", "c \"d\" $", "e f", "", "ghi"]);
    }

    #[test]
    fn what_needs_a_shell_or_does_not_end_is_refused() {
        assert_eq!(split("a | b").unwrap_err(), "`|` needs a shell");
        assert_eq!(split("a 'b").unwrap_err(), "' is not closed");
        assert_eq!(split("  ").unwrap_err(), "the line is empty");
        assert!(split("a \\").is_err());
    }
}
