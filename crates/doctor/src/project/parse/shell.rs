//! Shell commands as lists of words: enough for `RUN` lines and CI steps, no grammar of bash.

/// Splits a script into commands at `&&`, `||`, `;`, `|`, `&` and newlines, and each command into
/// words. Quotes group and are removed; `\` followed by a newline joins lines.
pub(crate) fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = script.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(c) = characters.next() {
        if let Some(open) = quote {
            match c {
                _ if c == open => quote = None,
                '\\' if open == '"' => word.get_or_insert_default().extend(characters.next()),
                _ => word.get_or_insert_default().push(c),
            }
            continue;
        }
        match c {
            '\'' | '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '#' if word.is_none() => {
                // A comment to the end of the line.
                while characters.peek().is_some_and(|c| *c != '\n') {
                    characters.next();
                }
            }
            '\n' | ';' | '|' | '&' => {
                words.extend(word.take());
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                }
                // `curl … | sh`: the reader has to see that a pipe stood here.
                if c == '|' && characters.peek() != Some(&'|') {
                    words.push("|".to_owned());
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if !words.is_empty() {
        commands.push(words);
    }
    commands
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_split_and_quotes_removed() {
        let found =
            commands("apt-get update && apt-get install -y \\\n  'a b' c; curl x | sh # no");
        assert_eq!(found[1], ["apt-get", "install", "-y", "a b", "c"]);
        assert_eq!(found[3], ["|", "sh"]);
    }

    proptest! {
        #[test]
        fn any_script_is_split_without_a_panic(text in "\\PC{0,120}") {
            let _ = commands(&text);
        }
    }
}
