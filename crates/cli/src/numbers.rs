//! Numbers on the command line that are checked where they are read, so that the error names the
//! option.

pub(crate) use warpsmith_config::{percent, time as duration};

/// A time in seconds, with a unit or without: more than nothing, at most a week.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const WEEK: f64 = 7.0 * 86_400.0;
    let seconds = duration(text)?.as_secs_f64();
    match seconds {
        0.0 => Err("must be more than 0 seconds".to_owned()),
        _ if seconds > WEEK => Err("must be at most a week".to_owned()),
        _ => Ok(seconds),
    }
}

/// A time in seconds that may be nothing.
pub(crate) fn seconds_or_none(text: &str) -> Result<f64, String> {
    duration(text).map(|time| time.as_secs_f64())
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
        assert_eq!(seconds("0.5"), Ok(0.5));
        for bad in ["NaN", "-1", "inf", "0", "0ms", "1e9", "169h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
