//! Numbers on the command line that are checked where they are read, so that the error names the
//! option.

use std::time::Duration;

/// A share in percent: 0 to 100.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    // NaN is in no range.
    match (0.0..=100.0).contains(&number) {
        true => Ok(number),
        false => Err("must be from 0 to 100 percent".to_owned()),
    }
}

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

/// Reads `90`, `60s`, `500ms`, `2m`, `1h`; a number alone is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a time: write `60s` or `2m`"))?;
    let scale = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!("`{unit}` is not a unit of time: use ms, s, m or h"));
        }
    };
    Duration::try_from_secs_f64(number * scale).map_err(|_| format!("`{text}` is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_quantity_is_refused() {
        assert_eq!(percent("1.5"), Ok(1.5));
        for bad in ["NaN", "-1", "inf", "101", "x", ""] {
            assert!(percent(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("0.5"), Ok(0.5));
        for bad in ["NaN", "-1", "inf", "0", "0ms", "1e9", "169h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("1.5s", 1.5),
            ("250ms", 0.25),
            ("2m", 120.0),
            ("1h", 3600.0),
        ] {
            assert_eq!(
                duration(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in ["", "s", "5 s", "5d", "-1", "1e999", "abc"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
