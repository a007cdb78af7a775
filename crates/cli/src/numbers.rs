//! Numbers on the command line that are checked where they are read, so that the error names the
//! option.

/// A share in percent: 0 to 100.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    within(text, 0.0, 100.0, "percent")
}

/// A time in seconds: more than nothing, at most a week.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const WEEK: f64 = 7.0 * 86_400.0;
    match within(text, 0.0, WEEK, "seconds")? {
        0.0 => Err("must be more than 0 seconds".to_owned()),
        seconds => Ok(seconds),
    }
}

fn within(text: &str, least: f64, most: f64, unit: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    // NaN is in no range.
    match (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("must be from {least} to {most} {unit}")),
    }
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
        for bad in ["NaN", "-1", "inf", "0", "1e9"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
