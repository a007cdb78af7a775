//! What a receiver's answer means for the batch that it answers.

use std::time::Duration;

use warpsmith_http::client::{Page, ReadError};

use crate::exporter::protobuf::{Field, fields};

/// Longest remark of a receiver that is passed on.
const WORDS: usize = 200;
/// A receiver may not ask for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was taken; where the receiver left values out, why.
    Taken(Option<String>),
    /// It will never be taken.
    Refused(String),
    /// It may be taken later; after this long, where the receiver said so.
    Later(String, Option<Duration>),
}

/// The protocol says which statuses are worth another attempt.
pub(super) fn verdict(answer: Result<Page, ReadError>) -> Verdict {
    let page = match answer {
        Ok(page) => page,
        Err(error) => return Verdict::Later(error.to_string(), None),
    };
    let said = |number| match words(&page.body, number) {
        Some(words) => format!("status {}: {words}", page.status),
        None => format!("status {}", page.status),
    };
    match page.status {
        200..=299 => Verdict::Taken(left_out(&page.body)),
        429 | 502..=504 => {
            let pause = page.retry_after.map(|pause| pause.min(LONGEST_PAUSE));
            Verdict::Later(said(2), pause)
        }
        401 | 403 => Verdict::Refused(format!(
            "{} (hint: `--otlp-header authorization=…`)",
            said(2)
        )),
        404 | 405 => Verdict::Refused(format!(
            "{} (hint: the whole path of the receiver belongs into the address; \
             without one it is `/v1/metrics`)",
            said(2)
        )),
        _ => Verdict::Refused(said(2)),
    }
}

/// `ExportMetricsServiceResponse.partial_success`, where values were rejected or something is said.
fn left_out(body: &[u8]) -> Option<String> {
    for field in fields(body) {
        if let Field::Bytes(1, partial) = field? {
            let rejected = fields(partial).find_map(|field| match field? {
                Field::Number(1, rejected) => Some(rejected),
                _ => None,
            });
            let words = words(partial, 2);
            return match (rejected.unwrap_or(0), words) {
                (0, words) => words,
                (rejected, words) => Some(format!(
                    "{rejected} values rejected{}",
                    words.map_or_else(String::new, |words| format!(": {words}"))
                )),
            };
        }
    }
    None
}

/// A text of a message, as one line that can be printed.
fn words(message: &[u8], number: u64) -> Option<String> {
    let text = fields(message).find_map(|field| match field? {
        Field::Bytes(known, text) if known == number => std::str::from_utf8(text).ok(),
        _ => None,
    })?;
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(WORDS)
        .collect();
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::protobuf::Writer;

    fn answered(status: u16, body: Writer) -> Verdict {
        verdict(Ok(Page {
            status,
            retry_after: Some(Duration::from_secs(100_000)),
            body: body.into_bytes().into(),
            took: Duration::ZERO,
        }))
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for status in [429, 502, 503, 504] {
            let Verdict::Later(_, pause) = answered(status, Writer::default()) else {
                panic!("{status}")
            };
            assert_eq!(pause, Some(LONGEST_PAUSE), "no receiver stops us for a day");
        }
        for status in [301, 400, 401, 404, 413, 500, 501] {
            let refused = answered(status, Writer::default());
            assert!(matches!(refused, Verdict::Refused(_)), "{status}");
        }
        let hung = verdict(Err(ReadError::TooSlow("connecting")));
        assert!(matches!(hung, Verdict::Later(_, None)));
    }

    #[test]
    fn the_receivers_words_are_passed_on_in_one_line() {
        let mut status = Writer::default();
        status.number(1, 3);
        status.text(2, "bad\n\u{1b}[31mdata");
        assert_eq!(
            answered(400, status),
            Verdict::Refused("status 400: bad  [31mdata".to_owned())
        );
        assert_eq!(answered(200, Writer::default()), Verdict::Taken(None));
        let mut partial = Writer::default();
        partial.number(1, 7);
        partial.text(2, "too old");
        let mut answer = Writer::default();
        answer.message(1, &partial);
        assert_eq!(
            answered(200, answer),
            Verdict::Taken(Some("7 values rejected: too old".to_owned()))
        );
        let garbage = Page {
            status: 200,
            retry_after: None,
            body: vec![0xff; 40].into(),
            took: Duration::ZERO,
        };
        assert_eq!(verdict(Ok(garbage)), Verdict::Taken(None));
    }
}
