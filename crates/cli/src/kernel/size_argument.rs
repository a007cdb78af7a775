//! A size of a case on the command line: `rows=64,cols=1000`.

use warpsmith_case::Scope;

pub(crate) fn parse(text: &str) -> Result<Scope, String> {
    text.split(',')
        .map(|part| {
            let pair = part.split_once('=');
            let pair = pair.and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
            pair.ok_or_else(|| format!("`{part}` is not `name=number`"))
        })
        .collect()
}
