//! Numbers in print: as many digits as their interval allows, a prefix that people read, and never a
//! `NaN`, a negative zero or an interval of nothing.
//!
//! Minus is U+2212 and times is U+00D7. What is not finite is a dash without a unit.

use std::fmt;

/// What is printed where there is no number.
pub const NOTHING: &str = "–";

/// A number as printed, with the unit that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The digits.
    pub text: String,
    /// The unit with its prefix; may be empty.
    pub unit: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit.is_empty() {
            true => f.write_str(&self.text),
            false => write!(f, "{} {}", self.text, self.unit),
        }
    }
}

/// What a number measures; decides its unit and how the unit is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A span of time: `9.47 µs`.
    Seconds,
    /// A size in memory, by powers of 1024: `527 MiB`.
    Bytes,
    /// A data rate, by powers of 1000: `4.31 TB/s`.
    BytesPerSecond,
    /// `65.2 Tflop/s`.
    FlopPerSecond,
    /// `1.98 GHz`.
    Hertz,
    /// `135 W`.
    Watts,
    /// Without a unit; large ones get a prefix behind them: `5.70 k`.
    Plain,
}

const BYTES: [(f64, &str); 6] = [
    (1125899906842624.0, "PiB"),
    (1099511627776.0, "TiB"),
    (1073741824.0, "GiB"),
    (1048576.0, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];

const PREFIXES: [(f64, &str); 10] = [
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
];

impl Quantity {
    /// The unit of a value in base units.
    pub fn base(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::FlopPerSecond => "flop/s",
            Self::Hertz => "Hz",
            Self::Watts => "W",
            Self::Plain => "",
        }
    }

    /// Sizes and names of its units, the largest first.
    fn units(self) -> Vec<(f64, String)> {
        let scaled = |range: &[(f64, &str)]| {
            range
                .iter()
                .map(|(size, prefix)| (*size, format!("{prefix}{}", self.base())))
                .collect()
        };
        match self {
            Self::Bytes => BYTES.map(|(size, name)| (size, name.to_owned())).to_vec(),
            // Nobody says kiloseconds; a rate below one is a rate, not a milli-rate.
            Self::Seconds => scaled(&PREFIXES[5..]),
            Self::Watts => scaled(&PREFIXES[3..7]),
            Self::BytesPerSecond | Self::FlopPerSecond | Self::Hertz | Self::Plain => {
                scaled(&PREFIXES[..6])
            }
        }
    }

    /// The unit in which `value` lies in [1, 1000) once it is rounded to `digits` digits.
    fn unit_of(self, value: f64, digits: usize) -> (f64, String) {
        let units = self.units();
        let rounded = round_to(value.abs(), digits);
        let found = units.iter().find(|(size, _)| rounded >= *size * 0.999_999);
        found.or(units.last()).cloned().unwrap_or_default()
    }
}

/// Significant digits that a value with this relative half width deserves.
pub fn significant(relative_half_width: Option<f64>) -> usize {
    match relative_half_width {
        Some(half) if half.is_nan() || half >= 0.1 => 2,
        _ => 3,
    }
}

/// `value`, in base units, with its unit. `relative_half_width` is that of its interval; `None` is an
/// exact value, an infinite one is a value without an interval.
pub fn quantity(value: f64, of: Quantity, relative_half_width: Option<f64>) -> Shown {
    if !value.is_finite() {
        return Shown {
            text: NOTHING.to_owned(),
            unit: String::new(),
        };
    }
    // Far below the smallest unit there is nothing to read.
    let smallest = of.units().last().map_or(1.0, |(size, _)| *size);
    if value.abs() < smallest * 1e-6 {
        return Shown {
            text: "0".to_owned(),
            unit: of.base().to_owned(),
        };
    }
    let digits = significant(relative_half_width);
    let (size, unit) = of.unit_of(value, digits);
    let whole = size == 1.0 && of == Quantity::Bytes;
    let text = match whole {
        true => format!("{:.0}", value),
        false => to_digits(value / size, digits),
    };
    Shown {
        text: with_minus(&text),
        unit,
    }
}

/// `seconds` with its unit.
pub fn seconds(seconds: f64, relative_half_width: Option<f64>) -> Shown {
    quantity(seconds, Quantity::Seconds, relative_half_width)
}

/// A range, in the unit of its upper end where that suits both: `8.79 to 11.1 µs`.
pub fn span(low: f64, high: f64, of: Quantity) -> String {
    if !low.is_finite() || !high.is_finite() {
        return NOTHING.to_owned();
    }
    let (low_end, high_end) = (quantity(low, of, None), quantity(high, of, None));
    let (size, _) = of.unit_of(high, 3);
    if low_end.unit == high_end.unit || low == 0.0 {
        return format!("{} to {high_end}", low_end.text);
    }
    match low / size >= 0.1 {
        true => format!("{} to {high_end}", to_digits(low / size, 3)),
        false => format!("{low_end} to {high_end}"),
    }
}

/// A ratio: `2.42×`, `23.8×`, `238×`.
pub fn ratio(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{}×", decimals(ratio, ratio_decimals(ratio))),
        false => NOTHING.to_owned(),
    }
}

/// The interval of `ratio`, with the decimals of the ratio: `[2.39, 2.46]`.
pub fn ratio_interval(ratio: f64, low: f64, high: f64) -> String {
    if ![ratio, low, high].iter().all(|x| x.is_finite()) {
        return String::new();
    }
    let places = ratio_decimals(ratio);
    format!("[{}, {}]", decimals(low, places), decimals(high, places))
}

fn ratio_decimals(ratio: f64) -> usize {
    match ratio.abs() {
        r if r >= 99.95 => 0,
        r if r >= 9.995 => 1,
        _ => 2,
    }
}

/// A share: `90 %`, `3.4 %`, `0.05 %`.
pub fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{} %", percent_number(share * 100.0)),
        false => NOTHING.to_owned(),
    }
}

/// A change, with its sign: `+3.4 %`, `−12 %`, `0 %`.
pub fn change(share: f64) -> String {
    let text = percent(share);
    match share > 0.0 && text != "0 %" && text != NOTHING {
        true => format!("+{text}"),
        false => text,
    }
}

/// The interval about a median: `± 0.05 %`. One that is narrower than a step of the clock, whose share
/// of the median is `relative_step`, is `1 tick`.
pub fn within(relative_half_width: f64, relative_step: Option<f64>) -> String {
    let half = relative_half_width.abs();
    if !half.is_finite() {
        return NOTHING.to_owned();
    }
    if relative_step.is_some_and(|step| half < step) {
        return "1 tick".to_owned();
    }
    match percent_number(half * 100.0) {
        number if number == "0" => "± < 0.01 %".to_owned(),
        number => format!("± {number} %"),
    }
}

fn percent_number(hundredths: f64) -> String {
    let places = match hundredths.abs() {
        p if p >= 9.95 => 0,
        p if p >= 0.995 => 1,
        _ => 2,
    };
    let text = decimals(hundredths, places);
    match text
        .trim_start_matches('−')
        .chars()
        .all(|c| matches!(c, '0' | '.'))
    {
        true => "0".to_owned(),
        false => text.strip_suffix(".0").map(str::to_owned).unwrap_or(text),
    }
}

/// A counter, in full: `31,031`.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// How long something took, as people say it: `0.7 s`, `43 s`, `5 min 1 s`, `1 h 2 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOTHING.to_owned();
    }
    if seconds < 9.95 {
        let text = format!("{:.1}", seconds.abs());
        return format!("{} s", text.strip_suffix(".0").unwrap_or(&text));
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A bound that the samples give: `≥ 12.4`.
pub fn at_least(text: &str) -> String {
    format!("≥ {text}")
}

/// `value` with so many significant digits and no unit; thousands are separated.
pub fn to_digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let rounded = round_to(value, digits);
    let places = digits as i32 - 1 - magnitude(rounded);
    decimals(rounded, usize::try_from(places.clamp(0, 12)).unwrap_or(0))
}

/// `value` with so many decimals; thousands are separated, zero has no sign.
pub fn decimals(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let unsigned = text.trim_start_matches('-');
    match unsigned.chars().all(|c| matches!(c, '0' | '.')) || unsigned.len() == text.len() {
        true => grouped(unsigned),
        false => format!("−{}", grouped(unsigned)),
    }
}

fn magnitude(value: f64) -> i32 {
    match value == 0.0 {
        true => 0,
        // The nudge keeps 1000 from becoming 2.999… on the way through the logarithm.
        false => (value.abs().log10() + 1e-9).floor() as i32,
    }
}

fn round_to(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = magnitude(value) - digits as i32 + 1;
    // A power of ten above one is exact; dividing by it keeps 4.31 from becoming 4.3100000000000005.
    match exponent >= 0 {
        true => (value / 10f64.powi(exponent)).round() * 10f64.powi(exponent),
        false => (value * 10f64.powi(-exponent)).round() / 10f64.powi(-exponent),
    }
}

fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut out = String::with_capacity(number.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

fn with_minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds_text(value: f64, half: f64) -> String {
        seconds(value, Some(half)).to_string()
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(seconds_text(9.4731e-6, 0.02), "9.47 µs");
        assert_eq!(seconds_text(9.4731e-6, 0.1), "9.5 µs");
        assert_eq!(seconds_text(127.4e-6, 0.3), "130 µs");
        assert_eq!(seconds_text(9.4731e-6, f64::NAN), "9.5 µs");
        assert_eq!(seconds_text(9.4731e-6, f64::INFINITY), "9.5 µs");
    }

    #[test]
    fn a_prefix_keeps_the_value_between_one_and_a_thousand() {
        let rate = |value| quantity(value, Quantity::BytesPerSecond, None).to_string();
        assert_eq!(rate(4.3119e12), "4.31 TB/s");
        assert_eq!(rate(999.6e9), "1.00 TB/s", "rounding crosses the prefix");
        assert_eq!(rate(999.4e9), "999 GB/s");
        assert_eq!(rate(0.25), "0.250 B/s");
        assert_eq!(seconds_text(0.9999, 0.0), "1.00 s");
        assert_eq!(seconds_text(0.001, 0.0), "1.00 ms");
        assert_eq!(seconds_text(3.2e-11, 0.0), "32.0 ps");
        assert_eq!(seconds_text(3725.0, 0.0), "3,730 s");
        let bytes = |value| quantity(value, Quantity::Bytes, None).to_string();
        assert_eq!(bytes(527.0 * 1048576.0), "527 MiB");
        assert_eq!(bytes(1000.0), "1000 B");
        assert_eq!(quantity(135.4, Quantity::Watts, None).to_string(), "135 W");
        assert_eq!(
            quantity(1.98e9, Quantity::Hertz, None).to_string(),
            "1.98 GHz"
        );
        let flops = quantity(65.16e12, Quantity::FlopPerSecond, None);
        assert_eq!((&*flops.text, &*flops.unit), ("65.2", "Tflop/s"));
    }

    #[test]
    fn ratios_and_their_intervals_share_decimals() {
        assert_eq!(ratio(2.4178), "2.42×");
        assert_eq!(ratio(9.996), "10.0×");
        assert_eq!(ratio(23.84), "23.8×");
        assert_eq!(ratio(1246.3), "1,246×");
        assert_eq!(ratio_interval(23.84, 9.0, 31.26), "[9.0, 31.3]");
        assert_eq!(ratio_interval(2.42, 2.39, 2.464), "[2.39, 2.46]");
        assert_eq!(ratio_interval(f64::NAN, 1.0, 2.0), "");
    }

    #[test]
    fn shares_have_a_space_and_no_negative_zero() {
        assert_eq!(percent(0.897), "90 %");
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(0.0005), "0.05 %");
        assert_eq!(percent(-0.00001), "0 %");
        assert_eq!(percent(1.006), "101 %");
        assert_eq!(percent(5.38), "538 %");
        assert_eq!(change(0.034), "+3.4 %");
        assert_eq!(change(-0.1201), "−12 %");
        assert_eq!(change(1e-9), "0 %");
        assert_eq!(change(-1e-9), "0 %");
    }

    #[test]
    fn an_interval_is_never_nothing() {
        assert_eq!(within(0.0005, None), "± 0.05 %");
        assert_eq!(within(0.0, None), "± < 0.01 %");
        assert_eq!(within(0.001, Some(0.002)), "1 tick");
        assert_eq!(within(0.123, Some(0.002)), "± 12 %");
        assert_eq!(within(f64::INFINITY, None), NOTHING);
    }

    #[test]
    fn counters_are_in_full() {
        assert_eq!(count(31_031), "31,031");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(count(0), "0");
    }

    #[test]
    fn spans_share_the_unit_of_their_upper_end() {
        assert_eq!(span(8.79e-6, 11.1e-6, Quantity::Seconds), "8.79 to 11.1 µs");
        assert_eq!(span(0.42e-3, 1.2e-3, Quantity::Seconds), "0.420 to 1.20 ms");
        assert_eq!(span(0.0, 1.2e-3, Quantity::Seconds), "0 to 1.20 ms");
        assert_eq!(span(0.4e-6, 1.2e-3, Quantity::Seconds), "400 ns to 1.20 ms");
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        assert_eq!(duration(301.2), "5 min 1 s");
        assert_eq!(duration(0.72), "0.7 s");
        assert_eq!(duration(60.0), "1 min");
        assert_eq!(duration(59.6), "1 min");
        assert_eq!(duration(3725.0), "1 h 2 min");
        assert_eq!(duration(f64::NAN), NOTHING);
    }

    #[test]
    fn nothing_forbidden_is_ever_printed() {
        let hostile = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            1e-300,
            -1e-300,
            1e300,
            f64::MIN_POSITIVE,
            -3.0,
        ];
        let mut texts = Vec::new();
        for a in hostile {
            for of in [
                Quantity::Seconds,
                Quantity::Bytes,
                Quantity::Watts,
                Quantity::Plain,
            ] {
                texts.push(quantity(a, of, None).to_string());
                texts.push(quantity(a, of, Some(a)).to_string());
                texts.push(span(a, 1.0, of));
            }
            texts.extend([
                ratio(a),
                percent(a),
                change(a),
                within(a, None),
                duration(a),
            ]);
            texts.push(ratio_interval(1.0, a, 2.0));
        }
        for text in &texts {
            for bad in ["NaN", "inf", "-", "−0 %", "± 0.00 %", "± 0 %", "0.00 ps"] {
                assert!(!text.contains(bad), "`{text}` has `{bad}`");
            }
        }
    }
}
