//! Constants as C++ writes them, which is as Python prints them.

use std::fmt::Write;

use super::buffer::Buffer;
use warpsmith_ir::types::{Scalar, StructId, Type};
use warpsmith_ir::{Constant, Module, Number};

/// Appends a constant.
pub(super) fn constant(module: &Module, constant: Constant, out: &mut Buffer) {
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
        Constant::Compound { ty, start, .. } if let Type::Struct(id) = module.types.get(ty) => {
            instance(module, id, start, out);
        }
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
                    Number::Int(value) => integer(value, out),
                    Number::Float(value) => python_float(value, out),
                }
            }
            out.push_ascii(b'}');
        }
    }
}

/// Appends an instance of a struct: a value for each field, of its type.
fn instance(module: &Module, id: StructId, start: u32, out: &mut Buffer) {
    let def = module.types.struct_def(id);
    out.parts(&[module.names.get(def.native), "("]);
    let mut at = start;
    for (n, field) in def.fields.iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        out.parts(&[module.types.spelling(field.ty), "("]);
        let number = module.elements[at as usize];
        match module.types.get(field.ty) {
            Type::Scalar(Scalar::Bool) => {
                out.push_str(if number == Number::Int(0) {
                    "false"
                } else {
                    "true"
                });
                at += 1;
            }
            Type::Scalar(scalar) => {
                constant(module, Constant::Typed(scalar, number), out);
                at += 1;
            }
            Type::Struct(inner) => {
                instance(module, inner, at, out);
                at += module.types.numbers_of(field.ty).unwrap_or(0);
            }
            kind => {
                let len = match kind {
                    Type::Vector { length, .. } => length,
                    Type::Matrix { rows, cols, .. } => rows * cols,
                    Type::Transform(_) => 7,
                    _ => 4,
                };
                let ty = field.ty;
                let start = at;
                constant(module, Constant::Compound { ty, start, len }, out);
                at += len;
            }
        }
        out.push_ascii(b')');
    }
    out.push_ascii(b')');
}

fn plain(number: Number, out: &mut Buffer) {
    match number {
        Number::Int(value) => integer(value, out),
        Number::Float(value) if value == f64::INFINITY => out.push_str("INFINITY"),
        Number::Float(value) if value == f64::NEG_INFINITY => out.push_str("-INFINITY"),
        Number::Float(value) if value.is_nan() => out.push_str("NAN"),
        Number::Float(value) => python_float(value, out),
    }
}

fn integer(value: i128, out: &mut Buffer) {
    match u32::try_from(value) {
        Ok(small) => out.number(small),
        Err(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

/// Appends a float as Python's `repr` prints it: the shortest digits that read back as the same number,
/// with an exponent where that is below -4 or at least 16.
/// Of two shortest texts that are equally far from a number the one whose last digit is even, as Python has it. The
/// standard library takes the larger.
fn even_of_two(value: f64, shortest: String) -> String {
    let digits = shortest.bytes().take_while(|byte| *byte != b'e');
    let count = digits.filter(u8::is_ascii_digit).count();
    // With fewer digits a text is the number itself.
    if count < 15 {
        return shortest;
    }
    let (here, further) = (format!("{value:.count$e}"), format!("{value:.60e}"));
    let (mantissa, exponent) = here.split_once('e').unwrap_or((&here, "0"));
    let rest = further.get(mantissa.len()..).unwrap_or("");
    let is_exact = further.starts_with(mantissa)
        && rest
            .bytes()
            .take_while(|byte| *byte != b'e')
            .all(|byte| byte == b'0');
    let Some(cut) = mantissa.strip_suffix('5').filter(|_| is_exact) else {
        return shortest;
    };
    let lower = format!("{cut}e{exponent}");
    let is_even = cut.bytes().last().is_some_and(|digit| digit % 2 == 0);
    match is_even && lower.parse() == Ok(value) {
        true => lower,
        false => shortest,
    }
}

fn python_float(value: f64, out: &mut Buffer) {
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
    // Numbers with few digits are by far the most common. If dividing the digits by a power of ten gives
    // the number back, they are its shortest ones, since fewer would have done at the power before.
    let magnitude = value.abs();
    if magnitude < 1e5 && (magnitude >= 1e-4 || magnitude == 0.0) {
        for (places, scale) in [(1, 10_u32), (2, 100), (3, 1000), (4, 10_000)] {
            let digits = (magnitude * f64::from(scale)).round();
            if digits / f64::from(scale) == magnitude {
                if value.is_sign_negative() {
                    out.push_ascii(b'-');
                }
                let digits = digits as u32;
                out.number(digits / scale);
                out.push_ascii(b'.');
                let fraction = digits % scale;
                for place in (0..places).rev() {
                    out.push_ascii(b'0' + (fraction / 10_u32.pow(place) % 10) as u8);
                }
                return;
            }
        }
    }
    let scientific = even_of_two(value, format!("{value:e}"));
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
            out.push_ascii(b'.');
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
            out.push_ascii(b'0');
        }
        out.push_str(&digits);
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            out.push_str(&digits);
            for _ in digits.len()..whole {
                out.push_ascii(b'0');
            }
            out.push_str(".0");
        } else {
            out.push_str(&digits[..whole]);
            out.push_ascii(b'.');
            out.push_str(&digits[whole..]);
        }
    }
}

/// Appends a string literal escaped as Python's `unicode-escape` does.
fn string(text: &str, out: &mut Buffer) {
    out.push_ascii(b'"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push_ascii(c as u8),
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
    out.push_ascii(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repr(value: f64) -> String {
        let mut out = Buffer::after(String::new());
        python_float(value, &mut out);
        out.into_string()
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
            (0.25, "0.25"),
            (-12.375, "-12.375"),
            (0.0001, "0.0001"),
            (0.00015, "0.00015"),
            (99999.9999, "99999.9999"),
            (1.0000000000000002, "1.0000000000000002"),
            (0.10000000149011612, "0.10000000149011612"),
            (300.05, "300.05"),
            // Halfway between two texts of sixteen digits: the even one.
            (0.611_000_061_035_156_2, "0.6110000610351562"),
            (-0.611_000_061_035_156_2, "-0.6110000610351562"),
            (0.0, "0.0"),
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
