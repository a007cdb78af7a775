//! Credentials by their known prefixes, with enough characters behind them to be one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A place where a secret seems to stand.
#[derive(Clone, Debug)]
pub(crate) struct SecretPlace {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) what: &'static str,
}

/// Prefix, characters that must follow, what it is.
const PREFIXES: [(&str, usize, &str); 8] = [
    ("AKIA", 16, "an AWS access key"),
    ("ghp_", 36, "a GitHub token"),
    ("github_pat_", 30, "a GitHub token"),
    ("hf_", 34, "a Hugging Face token"),
    ("sk-ant-", 30, "an API key"),
    ("xoxb-", 24, "a Slack token"),
    ("glpat-", 20, "a GitLab token"),
    ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
];

/// One pass for all of them; none begins inside another.
static FINDER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(PREFIXES.map(|(prefix, ..)| prefix)).ok());

pub(crate) fn find_secrets(path: &str, text: &str) -> Vec<SecretPlace> {
    let mut found = Vec::new();
    let Some(finder) = FINDER.as_ref() else {
        return found;
    };
    for hit in finder.find_iter(text) {
        let (prefix, length, what) = PREFIXES[hit.pattern().as_usize()];
        let before = text[..hit.start()].chars().next_back();
        let tail: String = text[hit.end()..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            .take(200)
            .collect();
        let varied = tail.chars().collect::<BTreeSet<_>>().len() >= length.min(10);
        let alphabet = match prefix {
            "AKIA" => tail
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()),
            // Letters and digits alone, as many as there are: a name of the program has words.
            "ghp_" | "hf_" => {
                tail.len() == length && tail.chars().all(|c| c.is_ascii_alphanumeric())
            }
            _ => true,
        };
        // A signed address names the key that signed it, without its secret.
        let signed = ["X-Amz-Credential=", "AWSAccessKeyId="]
            .iter()
            .any(|name| text[..hit.start()].ends_with(name));
        let mixed = length == 0 || tail.chars().any(|c| c.is_ascii_digit());
        let lower = tail.to_ascii_lowercase();
        let example = lower.contains("example") || lower.contains("xxxx");
        if tail.len() >= length
            && varied
            && alphabet
            && mixed
            && !example
            && !signed
            && (what != "a private key" || has_key_body(&text[hit.end()..]))
            && !before.is_some_and(|c| c.is_ascii_alphanumeric())
        {
            let newlines = memchr::memchr_iter(b'\n', &text.as_bytes()[..hit.start()]).count();
            found.push(SecretPlace {
                file: path.to_owned(),
                line: u32::try_from(newlines + 1).unwrap_or(1),
                what,
            });
        }
        if found.len() >= 20 {
            break;
        }
    }
    found
}

/// Whether a line of Base64 follows: code that looks for keys, and templates, name the marker alone.
fn has_key_body(rest: &str) -> bool {
    // Room for the headers of an encrypted key before its first line of 64 characters.
    let near: String = rest.chars().take(400).collect();
    let body = near.split("-----END").next().unwrap_or("");
    body.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
        .any(|run| run.chars().collect::<BTreeSet<_>>().len() >= 10 && run.len() >= 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_is_found_and_a_placeholder_is_not() {
        // Put together here, so that no scanner takes this file for a leak.
        let token = format!(
            "a = 1\nkey = \"{}_{}\"\n",
            "ghp", "aB3dE5gH7jK9mN1pQ3sT5vX7zB9dF1hJ3lN5"
        );
        let found = find_secrets("a.py", &token);
        assert_eq!((found.len(), found[0].line), (1, 2));
        let placeholder = format!("{}_{}", "ghp", "x".repeat(40));
        assert!(find_secrets("a.py", &placeholder).is_empty());
        let name = format!(
            "{}_{}",
            "hf", "transformers_package_matches_runtime_environment"
        );
        assert!(find_secrets("a.py", &name).is_empty());
    }

    #[test]
    fn a_private_key_has_a_body() {
        let marker = format!("-----{} RSA PRIVATE KEY-----", "BEGIN");
        let end = format!("-----{} RSA PRIVATE KEY-----", "END");
        let body = "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun";
        let found = |text: &str| find_secrets("a", text).len();
        assert_eq!(found(&format!("{marker}\n{body}\n{end}\n")), 1);
        assert_eq!(found(&format!("k = \"{marker}\\n{body}\\n\"")), 1);
        let encrypted = format!("{marker}\nProc-Type: 4,ENCRYPTED\n\n{body}\n{end}\n");
        assert_eq!(found(&encrypted), 1);
        assert_eq!(
            found(&format!("MARKERS = (b\"{marker}\", b\"other\")\n")),
            0
        );
        assert_eq!(
            found(&format!("# {marker}\n# YourPrivateKey\n# {end}\n")),
            0
        );
        assert_eq!(found(&format!("{marker}{}", "é".repeat(300))), 0);
    }

    #[test]
    fn a_signed_address_has_no_secret() {
        let key = format!("AKIA{}", "7Q2W3E4R5T6Y1U8I");
        let found = |text: String| find_secrets("f", &text).len();
        assert_eq!(found(format!("key = {key}\n")), 1);
        let address = "https://a.s3.amazonaws.com/b?X-Amz-Credential=";
        assert_eq!(
            found(format!("{address}{key}%2F20251011&X-Amz-Expires=300")),
            0
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(AKIA|ghp_|hf_|-----BEGIN RSA PRIVATE KEY|[A-Z0-9]{8}|\n|\\PC){0,40}") {
            let _ = find_secrets("f", &text);
        }
    }
}
