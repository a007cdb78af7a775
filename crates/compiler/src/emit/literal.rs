//! Constants as C++ writes them, which is as Python prints them.

use std::fmt::Write;

use crate::ir::{Constant, Module, Number};
use crate::types::{Scalar, Type};

/// Appends a constant.
pub(super) fn constant(module: &Module, constant: Constant, out: &mut String) {
    match constant {
        Constant::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Constant::Number(number) => plain(number, out),
        Constant::Typed(scalar, number) => {
            plain(number, out);
            if let Number::Int(_) = number {
                out.push_str(match scalar {
                    Scalar::U64 => "ull",
                    Scalar::I64 => "ll",
                    Scalar::U32 => "u",
                    _ => "",
                });
            }
        }
        Constant::Str(text) => string(module.names.get(text), out),
        Constant::Compound { ty, start, len } => {
            let scalar = match module.types.get(ty) {
                Type::Vector { scalar, .. }
                | Type::Matrix { scalar, .. }
                | Type::Quat(scalar)
                | Type::Transform(scalar) => scalar,
                _ => return,
            };
            let _ = write!(out, "wp::initializer_array<{len},{}>{{", scalar.spelling());
            let elements = &module.elements[start as usize..][..len as usize];
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                match *element {
                    Number::Int(value) if scalar == Scalar::Bool => {
                        out.push_str(if value != 0 { "true" } else { "false" });
                    }
                    Number::Int(value) => {
                        let _ = write!(out, "{value}");
                    }
                    Number::Float(value) => python_float(value, out),
                }
            }
            out.push('}');
        }
    }
}

fn plain(number: Number, out: &mut String) {
    match number {
        Number::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Number::Float(value) if value == f64::INFINITY => out.push_str("INFINITY"),
        Number::Float(value) if value == f64::NEG_INFINITY => out.push_str("-INFINITY"),
        Number::Float(value) if value.is_nan() => out.push_str("NAN"),
        Number::Float(value) => python_float(value, out),
    }
}

/// Appends a float as Python's `repr` prints it: the shortest digits that read back as the same number,
/// with an exponent where that is below -4 or at least 16.
pub(crate) fn python_float(value: f64, out: &mut String) {
    if !value.is_finite() {
        out.push_str(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    // Small numbers with few digits are by far the most common.
    if value == value.trunc() && value.abs() < 1e15 {
        if value.is_sign_negative() {
            out.push('-');
        }
        let _ = write!(out, "{}.0", value.abs() as u64);
        return;
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    out.push_str(sign);
    if !(-4..16).contains(&exponent) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let _ = write!(
            out,
            "e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        );
    } else if exponent < 0 {
        out.push_str("0.");
        for _ in 1..-exponent {
            out.push('0');
        }
        out.push_str(&digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.push_str(&digits);
            for _ in digits.len()..whole {
                out.push('0');
            }
            out.push_str(".0");
        } else {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    }
}

/// Appends a string literal escaped as Python's `unicode-escape` does.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                let code = c as u32;
                let _ = if code < 0x100 {
                    write!(out, "\\x{code:02x}")
                } else if code < 0x1_0000 {
                    write!(out, "\\u{code:04x}")
                } else {
                    write!(out, "\\U{code:08x}")
                };
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repr(value: f64) -> String {
        let mut out = String::new();
        python_float(value, &mut out);
        out
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, expected) in [
            (1e-5, "1e-05"),
            (1e20, "1e+20"),
            (300_000.0, "300000.0"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (0.1, "0.1"),
            (-1.5e20, "-1.5e+20"),
            (0.000_1, "0.0001"),
            (1.25, "1.25"),
            (-0.0, "-0.0"),
            (std::f64::consts::PI, "3.141592653589793"),
            (123_456_789.125, "123456789.125"),
            (2.5e-7, "2.5e-07"),
            (1e100, "1e+100"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
        ] {
            assert_eq!(repr(value), expected);
        }
    }
}
