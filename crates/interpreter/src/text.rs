//! What threads print: `print` of values, and `printf` with C's conversions.

use super::lanes::Cell;
use super::launch::Interpreter;
use warpsmith_ir::types::Scalar;

/// A part of what is printed.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The same for every thread.
    Text(String),
    /// A scalar, as its conversion says.
    Value(Cell, Scalar, Conversion),
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    letter: char,
    width: usize,
    precision: Option<usize>,
    left: bool,
    zeroes: bool,
}

impl Conversion {
    /// The shortest text that names the number.
    pub(super) const PLAIN: Self = Self {
        letter: 'g',
        width: 0,
        precision: None,
        left: false,
        zeroes: false,
    };

    /// A lane's bits as text.
    pub(super) fn write(self, ty: Scalar, bits: u64) -> String {
        let number = match ty {
            Scalar::F64 => Ok(f64::from_bits(bits)),
            Scalar::F32 | Scalar::F16 | Scalar::BF16 => Ok(f64::from(f32::from_bits(bits as u32))),
            Scalar::I64 => Err(i128::from(bits as i64)),
            Scalar::U64 => Err(i128::from(bits)),
            Scalar::U8 | Scalar::U16 | Scalar::U32 => Err(i128::from(bits as u32)),
            _ => Err(i128::from(bits as u32 as i32)),
        };
        let digits = self.precision.unwrap_or(6);
        let text = match (number, self.letter) {
            (Err(truth), 'g') if ty == Scalar::Bool => {
                if truth != 0 { "True" } else { "False" }.to_owned()
            }
            (Ok(x), 'f' | 'F') => format!("{x:.digits$}"),
            (Ok(x), 'e' | 'E') => format!("{x:.digits$e}"),
            (Ok(x), 'g') if matches!(ty, Scalar::F64) => x.to_string(),
            (Ok(x), 'g') => (x as f32).to_string(),
            (Ok(x), _) => x.to_string(),
            (Err(n), 'x') => format!("{n:x}"),
            (Err(n), 'X') => format!("{n:X}"),
            (Err(n), _) => n.to_string(),
        };
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            text + &" ".repeat(missing)
        } else if self.zeroes {
            "0".repeat(missing) + &text
        } else {
            " ".repeat(missing) + &text
        }
    }
}

impl Interpreter<'_> {
    /// Whether threads may print.
    pub fn prints(&self) -> bool {
        !self.plan.program.printed.is_empty()
    }

    /// What a thread prints at an entry of [`Program::printed`], from the bits of its values in order.
    ///
    /// [`Program::printed`]: super::scalar_form::Program::printed
    pub fn print_text(&self, entry: usize, bits: &[u64]) -> String {
        let mut bits = bits.iter();
        let pieces = self.plan.program.printed.get(entry).into_iter().flatten();
        pieces
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Value(_, ty, conversion) => {
                    conversion.write(*ty, bits.next().copied().unwrap_or(0))
                }
            })
            .collect()
    }
}

/// What stands in a format: text, and conversions of the arguments in order.
pub(super) enum Directive {
    Text(String),
    Conversion(Conversion),
}

/// The digits that come next, as a number; at most 1000, which is wider than any line.
fn number(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let mut value = 0;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        rest.next();
        value = (value * 10 + digit as usize).min(1000);
    }
    value
}

/// Reads a format; a conversion that is not known stays text.
pub(super) fn directives(format: &str) -> Vec<Directive> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let mut conversion = Conversion::PLAIN;
        while let Some(flag) = rest.next_if(|c| matches!(c, '-' | '0' | '+' | ' ' | '#')) {
            conversion.left |= flag == '-';
            conversion.zeroes |= flag == '0';
        }
        conversion.width = number(&mut rest);
        if rest.next_if_eq(&'.').is_some() {
            conversion.precision = Some(number(&mut rest));
        }
        while rest.next_if(|c| matches!(c, 'l' | 'h' | 'z')).is_some() {}
        conversion.letter = rest.next().unwrap_or('%');
        found.push(Directive::Text(std::mem::take(&mut text)));
        found.push(Directive::Conversion(conversion));
    }
    found.push(Directive::Text(text));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: &str, ty: Scalar, bits: u64) -> String {
        directives(format)
            .into_iter()
            .map(|directive| match directive {
                Directive::Text(text) => text,
                Directive::Conversion(conversion) => conversion.write(ty, bits),
            })
            .collect()
    }

    #[test]
    fn conversions_are_those_of_c() {
        let half = u64::from(0.5_f32.to_bits());
        assert_eq!(written("a %f\n", Scalar::F32, half), "a 0.500000\n");
        assert_eq!(written("%6.2f|", Scalar::F32, half), "  0.50|");
        assert_eq!(written("%-5d|", Scalar::I32, 0xffff_ffff), "-1   |");
        assert_eq!(written("%03u%%", Scalar::U32, 7), "007%");
        assert_eq!(written("%lld", Scalar::I64, u64::MAX), "-1");
    }
}
