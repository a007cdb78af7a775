//! Quantities with units, printed the way people read them.
//!
//! Bytes are binary (KiB, MiB) because memory is; rates are decimal (GB/s) because datasheets are.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);
    };
}

quantity!(/// A number of bytes.
    Bytes, u64);
quantity!(/// A data rate.
    BytesPerSecond, f64);
quantity!(/// A span of time.
    Seconds, f64);
quantity!(/// A frequency.
    Hertz, f64);
quantity!(/// Floating-point operations (a count, not a rate).
    Flops, u64);

/// Prints `value` scaled to the largest unit that keeps it at or above one, with three or more
/// significant figures. `units` are `(size, name)` in falling order of size.
fn scaled(f: &mut fmt::Formatter<'_>, value: f64, units: &[(f64, &str)]) -> fmt::Result {
    let (size, name) = units
        .iter()
        .copied()
        .find(|(size, _)| value.abs() >= *size)
        .unwrap_or(units[units.len() - 1]);
    let shown = value / size;
    let digits = match shown.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    f.pad(&format!("{shown:.digits$} {name}"))
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [
            ((1u64 << 40) as f64, "TiB"),
            ((1u64 << 30) as f64, "GiB"),
            ((1u64 << 20) as f64, "MiB"),
            ((1u64 << 10) as f64, "KiB"),
        ];
        if self.0 < 1 << 10 {
            return f.pad(&format!("{} B", self.0));
        }
        scaled(f, self.0 as f64, &UNITS)
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 5] = [
            (1e12, "TB/s"),
            (1e9, "GB/s"),
            (1e6, "MB/s"),
            (1e3, "kB/s"),
            (1.0, "B/s"),
        ];
        scaled(f, self.0, &UNITS)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 5] = [
            (1.0, "s"),
            (1e-3, "ms"),
            (1e-6, "µs"),
            (1e-9, "ns"),
            (1e-12, "ps"),
        ];
        scaled(f, self.0, &UNITS)
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")];
        scaled(f, self.0, &UNITS)
    }
}

impl fmt::Display for Flops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [
            (1e12, "Tflop"),
            (1e9, "Gflop"),
            (1e6, "Mflop"),
            (1.0, "flop"),
        ];
        scaled(f, self.0 as f64, &UNITS)
    }
}

impl Bytes {
    /// The rate at which these bytes moved in `elapsed`.
    pub fn per(self, elapsed: Seconds) -> BytesPerSecond {
        BytesPerSecond(self.0 as f64 / elapsed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_pick_the_unit_that_people_read() {
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(60 << 20).to_string(), "60.0 MiB");
        assert_eq!(BytesPerSecond(4.3e12).to_string(), "4.30 TB/s");
        assert_eq!(Seconds(12.71e-6).to_string(), "12.7 µs");
        assert_eq!(Seconds(3.2e-11).to_string(), "32.0 ps");
        assert_eq!(Hertz(1.98e9).to_string(), "1.98 GHz");
        assert_eq!(Flops(2_000_000).to_string(), "2.00 Mflop");
    }

    #[test]
    fn quantities_align_in_tables() {
        assert_eq!(
            format!("{:>9}|{:<9}|", Seconds(0.5), Bytes(512)),
            "   500 ms|512 B    |"
        );
    }
}
