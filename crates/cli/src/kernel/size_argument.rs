//! A size of a case on the command line: `rows=64,cols=1000`.

use warpsmith_case::Scope;

/// Reads it; the size of a case without dimensions is empty.
pub(crate) fn parse(text: &str) -> Result<Scope, String> {
    if text.is_empty() {
        return Ok(Scope::new());
    }
    text.split(',')
        .map(|part| {
            let pair = part.split_once('=');
            let pair = pair.and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
            pair.ok_or_else(|| format!("`{part}` is not `name=number`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_have_names_and_numbers() {
        let size = parse("rows=64,cols=1000").unwrap();
        assert_eq!((size["rows"], size["cols"]), (64, 1000));
        assert_eq!(parse("").unwrap(), Scope::new());
        assert_eq!(parse("rows").unwrap_err(), "`rows` is not `name=number`");
        assert!(parse("rows=x").is_err());
    }
}
