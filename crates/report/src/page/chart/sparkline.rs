//! A small line over time or size, on its own scale.

use super::plane::polyline;

/// The line from its least to its largest value, with a dot at its end.
pub(crate) fn sparkline(values: &[f64]) -> String {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let (Some(last), true) = (finite.last(), finite.len() > 1) else {
        return String::new();
    };
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let y = |value: f64| match high > low {
        true => 15.0 - (value - low) / (high - low) * 12.0,
        false => 9.0,
    };
    let step = 76.0 / (finite.len() - 1) as f64;
    let points: Vec<(f64, f64)> = finite
        .iter()
        .enumerate()
        .map(|(at, value)| (4.0 + at as f64 * step, y(*value)))
        .collect();
    let direction = match last.total_cmp(&finite[0]) {
        std::cmp::Ordering::Greater => "rises",
        std::cmp::Ordering::Less => "falls",
        std::cmp::Ordering::Equal => "ends where it began",
    };
    format!(
        r#"<svg class="spark" viewBox="0 0 84 18" role="img" aria-label="{} values, {direction}"><polyline class="gl thin" points="{}"/><circle class="gd" cx="80" cy="{:.1}" r="2.4"/></svg>"#,
        finite.len(),
        polyline(&points),
        y(*last)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_needs_two_numbers() {
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[1.0, f64::NAN]), "");
        assert!(sparkline(&[1.0, 1.0]).contains("ends where it began"));
        assert!(sparkline(&[1.0, 2.0]).contains("4.0,15.0 80.0,3.0"));
    }
}
