//! Quantities as options and keys spell them.

use std::time::Duration;

/// Reads `90`, `60s`, `500ms`, `2m`, `1h`; a number alone is seconds.
pub fn time(text: &str) -> Result<Duration, String> {
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

/// Reads a share in percent, 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number"))?;
    // NaN is in no range.
    match (0.0..=100.0).contains(&number) {
        true => Ok(number),
        false => Err("must be from 0 to 100 percent".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("1.5s", 1.5),
            ("250ms", 0.25),
            ("2m", 120.0),
            ("1h", 3600.0),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "s", "5 s", "5d", "-1", "1e999", "abc"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        assert_eq!(percent("1.5"), Ok(1.5));
        for bad in ["NaN", "-1", "inf", "101", "x", ""] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
