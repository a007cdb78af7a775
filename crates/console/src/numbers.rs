//! Numbers on the command line that are checked where they are read, so that the error names the
//! option.

pub use warpsmith_config::{percent, time as duration};

/// A time in seconds, with a unit or without: more than nothing, at most a week.
pub fn seconds(text: &str) -> Result<f64, String> {
    const WEEK: f64 = 7.0 * 86_400.0;
    let seconds = duration(text)?.as_secs_f64();
    match seconds {
        0.0 => Err("must be more than 0 seconds".to_owned()),
        _ if seconds > WEEK => Err("must be at most a week".to_owned()),
        _ => Ok(seconds),
    }
}

/// A time in seconds that may be nothing.
pub fn seconds_or_none(text: &str) -> Result<f64, String> {
    duration(text).map(|time| time.as_secs_f64())
}

/// How often something is done: at least once, and not for ever.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count @ 1..=100_000_000) => Ok(count),
        _ => Err("must be a whole number from 1 to 100000000".to_owned()),
    }
}

/// How often something is done that need not be done: none, or a few.
pub fn few(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count @ 0..=100_000) => Ok(count),
        _ => Err("must be a whole number from 0 to 100000".to_owned()),
    }
}

/// One share of several: `i/n`.
pub fn share(text: &str) -> Result<(u64, u64), String> {
    let parsed = text
        .split_once('/')
        .and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match parsed {
        Some((part, parts)) if part < parts => Ok((part, parts)),
        _ => Err("write it `i/n`, with i from 0 and below n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_time_only_where_it_may_be() {
        assert_eq!(seconds_or_none("0"), Ok(0.0));
        assert!(seconds("0").is_err() && seconds_or_none("-1").is_err());
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        assert_eq!(count("5"), Ok(5));
        for bad in ["0", "-1", "1.5", "NaN", "99999999999999999999"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("0.5"), Ok(0.5));
        for bad in ["NaN", "-1", "inf", "0", "0ms", "1e9", "169h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
