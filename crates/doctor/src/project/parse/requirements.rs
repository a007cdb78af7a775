//! Python requirements: lines of a requirements file, and single PEP 508 texts.

use crate::machine::collect::normalise;
use warpsmith_compatibility::VersionRange;

/// A demand on a package, with where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) range: VersionRange,
    /// `cu121` of an index or a local version, where the file says so.
    pub(crate) cuda_index: Option<String>,
    pub(crate) has_hash: bool,
    /// `; extra == …` or another marker.
    pub(crate) conditional: bool,
}

/// An option line such as `--extra-index-url …`.
#[derive(Clone, Debug)]
pub(crate) struct IndexOption {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) option: String,
    pub(crate) url: String,
}

pub(crate) fn parse_requirements(file: &str, text: &str) -> (Vec<Requirement>, Vec<IndexOption>) {
    let mut found = Vec::new();
    let mut options = Vec::new();
    for (line, raw) in (1u32..).zip(text.lines()) {
        let body = raw.split(" #").next().unwrap_or(raw).trim();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        if body.starts_with('-') {
            let mut words = body.splitn(2, [' ', '=']);
            let option = words.next().unwrap_or("").to_owned();
            options.push(IndexOption {
                file: file.to_owned(),
                line,
                option,
                url: words.next().unwrap_or("").trim().to_owned(),
            });
        } else if let Some(mut requirement) = parse_requirement(body) {
            requirement.file = file.to_owned();
            requirement.line = line;
            found.push(requirement);
        }
    }
    let index = options.iter().find_map(|o| cuda_of_index(&o.url));
    for requirement in &mut found {
        if requirement.cuda_index.is_none() && requirement.name.starts_with("torch") {
            requirement.cuda_index = index.clone();
        }
    }
    (found, options)
}

/// `https://download.pytorch.org/whl/cu121` → `cu121`.
pub(crate) fn cuda_of_index(url: &str) -> Option<String> {
    url.trim_end_matches('/')
        .rsplit('/')
        .next()
        .filter(|leaf| {
            leaf.strip_prefix("cu")
                .is_some_and(|n| n.len() == 3 && n.bytes().all(|b| b.is_ascii_digit()))
        })
        .map(str::to_owned)
}

/// One PEP 508 text; `None` for URLs, paths and what is not a requirement.
pub(crate) fn parse_requirement(text: &str) -> Option<Requirement> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(text.len());
    let name = &text[..end];
    if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut rest = text[end..].trim_start();
    if let Some(extras) = rest.strip_prefix('[') {
        rest = extras.split_once(']')?.1.trim_start();
    }
    // `name @ url`, a path, or prose.
    if rest.starts_with(['/', ':', '@', '('])
        && !rest.starts_with("(=")
        && !rest.starts_with("(>")
        && !rest.starts_with("(<")
    {
        return None;
    }
    let conditional = rest.contains(';');
    let has_hash = rest.contains("--hash");
    let body = rest.split([';', ' ']).next().unwrap_or("");
    let body = if rest.starts_with(['<', '>', '=', '~', '!', '^', '(']) {
        rest.split(';')
            .next()
            .unwrap_or("")
            .split("--")
            .next()
            .unwrap_or("")
    } else if body.is_empty() {
        ""
    } else {
        return None;
    };
    let range = VersionRange::parse(body);
    let cuda_index = range
        .pinned()
        .and_then(|v| v.local())
        .filter(|l| l.starts_with("cu"))
        .map(str::to_owned);
    Some(Requirement {
        file: String::new(),
        line: 0,
        name: normalise(name),
        range,
        cuda_index,
        has_hash,
        conditional,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_options_and_indexes_are_read() {
        let (found, options) = parse_requirements(
            "requirements.txt",
            "# c\n--extra-index-url https://download.pytorch.org/whl/cu121\ntorch>=2.0,<2.2  # note\nnumpy\nuvicorn[standard]~=0.2; python_version>'3'\ngit+https://x/y\n./local\npkg @ https://z\n",
        );
        let names: Vec<_> = found.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["torch", "numpy", "uvicorn"]);
        assert_eq!(
            (found[0].line, found[0].cuda_index.as_deref()),
            (3, Some("cu121"))
        );
        assert!(found[2].conditional && options.len() == 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,80}") {
            let _ = parse_requirements("r", &text);
        }
    }
}
