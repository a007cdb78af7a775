//! Round ticks and their labels.

use crate::digits;

/// How the labels of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// `10k`, `1M`.
    Plain,
    /// `10 µs`, `1 ms`.
    Seconds,
}

/// Steps of 1, 2 or 5 times a power of ten within the range, about five of them.
pub(super) fn linear(low: f64, high: f64) -> Vec<f64> {
    if high <= low || !(high - low).is_finite() {
        return Vec::new();
    }
    let decade = 10f64.powf(((high - low) / 5.0).log10().floor());
    let steps = [0.5, 1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    let counted = steps.map(|step| {
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        (first, step, (last - first).max(0.0) as i64 + 1)
    });
    let best = counted.iter().min_by_key(|(_, _, count)| (count - 5).abs());
    let Some((first, step, count)) = best else {
        return Vec::new();
    };
    (0..*count).map(|n| (first + n as f64) * step).collect()
}

/// Whole decades within the range, at most six of them, and 1, 2 and 5 where there is but one.
pub(super) fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    if low.is_nan() || low <= 0.0 || high <= low || !high.is_finite() {
        return Vec::new();
    }
    let (first, last) = (
        (low.log10() - 1e-9).ceil() as i32,
        (high.log10() + 1e-9).floor() as i32,
    );
    let decades = last - first + 1;
    if decades >= 2 && high / low > 10.000_01 {
        let every = if decades > 12 {
            3
        } else {
            1 + i32::from(decades > 6)
        };
        let whole = (first..=last).filter(|k| (k - first) % every == 0);
        return whole.map(|k| 10f64.powi(k)).collect();
    }
    let mantissas = (first - 2..=last + 1).flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)));
    let within: Vec<f64> = mantissas
        .filter(|v| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9))
        .collect();
    match within.len() < 2 {
        true => linear(low, high),
        false => within,
    }
}

/// The range extended to whole decades, or to 1, 2 and 5 where it is narrow.
pub(super) fn rounded_out(low: f64, high: f64) -> (f64, f64) {
    let wide = high / low > 5.0;
    let marks: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let at = |value: f64, up: bool| {
        let k = value.log10().floor() as i32;
        let near = (k - 1..=k + 1).flat_map(|k| marks.iter().map(move |m| m * 10f64.powi(k)));
        match up {
            true => near
                .filter(|v| *v >= value * (1.0 - 1e-9))
                .fold(f64::INFINITY, f64::min),
            false => near
                .filter(|v| *v <= value * (1.0 + 1e-9))
                .fold(0.0, f64::max),
        }
    };
    let (low, high) = (at(low, false), at(high, true));
    match high > low {
        true => (low, high),
        false => (low / 2.0, high * 2.0),
    }
}

/// The label of a tick.
pub(super) fn label(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => short(
            value,
            &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
        ),
        Unit::Plain => short(
            value,
            &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"), (1.0, "")],
        ),
    }
}

fn short(value: f64, units: &[(f64, &str)]) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let fitting = units
        .iter()
        .find(|(size, _)| value.abs() >= size * 0.999_999);
    let Some((size, name)) = fitting.or(units.last()) else {
        return String::new();
    };
    // `k` begins at ten thousand, and counts thousands.
    let size = if *name == "k" { 1e3 } else { *size };
    let text = digits::to_digits(value / size, 3);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{}{name}", text.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_few() {
        assert_eq!(linear(0.0, 100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear(20.0, 90.0), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(linear(0.0, 700.0), [0.0, 200.0, 400.0, 600.0]);
        for (low, high) in [
            (0.0, 30.0),
            (0.0, 1.0),
            (3.0, 4.0),
            (-5.0, 5.0),
            (0.0, 7e9),
            (0.0, 45.0),
        ] {
            let ticks = linear(low, high);
            assert!((4..=6).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            assert!(
                ticks
                    .iter()
                    .all(|t| *t >= low - 1e-9 && *t <= high * 1.000_001)
            );
        }
        assert!(linear(1.0, 1.0).is_empty() && linear(f64::NAN, 1.0).is_empty());
        assert!(linear(0.0, f64::INFINITY).is_empty());
    }

    #[test]
    fn logarithmic_ticks_are_whole_decades() {
        assert_eq!(logarithmic(0.1, 1000.0), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(logarithmic(1e-6, 1e3).len(), 5, "every second of ten");
        assert_eq!(logarithmic(1e-9, 1e9).len(), 7, "every third of nineteen");
        assert_eq!(logarithmic(1.5, 9.0), [2.0, 5.0]);
        assert_eq!(logarithmic(10e-6, 50e-6).len(), 3);
        assert_eq!(logarithmic(10.0, 100.0), [10.0, 20.0, 50.0, 100.0]);
        assert!(logarithmic(0.0, 1.0).is_empty() && logarithmic(-1.0, f64::NAN).is_empty());
    }

    #[test]
    fn ranges_end_on_round_values() {
        let (low, high) = rounded_out(3.2e-6, 8.1e-4);
        assert!((low / 1e-6 - 1.0).abs() < 1e-9 && (high / 1e-3 - 1.0).abs() < 1e-9);
        assert_eq!(rounded_out(12.0, 30.0), (10.0, 50.0));
        assert_eq!(rounded_out(10.0, 10.0), (5.0, 20.0));
    }

    #[test]
    fn labels_are_short() {
        let seconds = [1e-5, 1e-3, 2e-4, 1.0, 1e-9].map(|v| label(v, Unit::Seconds));
        assert_eq!(seconds, ["10 µs", "1 ms", "200 µs", "1 s", "1 ns"]);
        let plain = [0.1, 1000.0, 1e4, 1e5, 1e6, 2.5e9, 0.0].map(|v| label(v, Unit::Plain));
        assert_eq!(plain, ["0.1", "1000", "10k", "100k", "1M", "2.5G", "0"]);
    }
}
