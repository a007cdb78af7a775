//! The text under construction.
//!
//! Most of what is written is a few bytes long: a variable, a number, a separator. These come from tables
//! of entries of one size, so that each is a fixed-size copy and not a call.

use std::fmt;

/// A line that is copied without a look at its length.
const SHORT_LINE: usize = 64;

/// How many numbers the tables hold.
const TABLED: usize = 1000;

/// `prefix` and each number below [`TABLED`], padded to eight bytes; the last byte is the length.
const fn numbered(prefix: &[u8; 4], with_prefix: bool) -> [[u8; 8]; TABLED] {
    let mut table = [[b' '; 8]; TABLED];
    let mut value = 0;
    while value < TABLED {
        let mut at = 0;
        if with_prefix {
            while at < 4 {
                table[value][at] = prefix[at];
                at += 1;
            }
        }
        if value >= 100 {
            table[value][at] = b'0' + (value / 100) as u8;
            at += 1;
        }
        if value >= 10 {
            table[value][at] = b'0' + (value / 10 % 10) as u8;
            at += 1;
        }
        table[value][at] = b'0' + (value % 10) as u8;
        at += 1;
        table[value][7] = at as u8;
        value += 1;
    }
    table
}

static NUMBERS: [[u8; 8]; TABLED] = numbered(b"    ", false);
static PRIMALS: [[u8; 8]; TABLED] = numbered(b"var_", true);
static DUALS: [[u8; 8]; TABLED] = numbered(b"adj_", true);

/// Text that grows at its end.
///
/// Invariant: the bytes are UTF-8 after every method. Whole strings and ASCII are appended; what is taken
/// off again within a method was appended by it.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Goes on after `text`.
    pub(super) fn after(text: String) -> Self {
        Self {
            bytes: text.into_bytes(),
        }
    }

    pub(super) fn into_string(self) -> String {
        // SAFETY: the type's invariant; every method below that touches `bytes` keeps it.
        unsafe { String::from_utf8_unchecked(self.bytes) }
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    // Inlined so that the copy of a literal is a few stores.
    #[inline(always)]
    pub(super) fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a name or a type: text that is short, and not known where it is written. Two copies of
    /// one size, which overlap, rather than a call.
    #[inline]
    pub(super) fn push_short(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if let (8..=16, Some(first), Some(last)) = (
            bytes.len(),
            bytes.first_chunk::<8>(),
            bytes.last_chunk::<8>(),
        ) {
            self.ends(bytes.len(), first, last);
        } else if let (17..=32, Some(first), Some(last)) = (
            bytes.len(),
            bytes.first_chunk::<16>(),
            bytes.last_chunk::<16>(),
        ) {
            self.ends(bytes.len(), first, last);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Appends a text of `len` bytes by its first and last ones.
    #[inline(always)]
    fn ends<const N: usize>(&mut self, len: usize, first: &[u8; N], last: &[u8; N]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(first);
        self.bytes.truncate(start + len - N);
        self.bytes.extend_from_slice(last);
    }

    /// Appends texts one after the other.
    pub(super) fn parts(&mut self, parts: &[&str]) {
        for part in parts {
            self.push_short(part);
        }
    }

    /// Appends an ASCII character.
    pub(super) fn push_ascii(&mut self, byte: u8) {
        debug_assert!(byte.is_ascii());
        self.bytes.push(byte & 0x7f);
    }

    /// Appends once more what stands between two positions, which both begin a line.
    pub(super) fn repeat(&mut self, from: usize, to: usize) {
        self.bytes.extend_from_within(from..to);
    }

    /// Appends lines that stand one level further in, which are ASCII up to their indentation.
    pub(super) fn lines_further_out(&mut self, lines: &str) {
        const LEVEL: usize = 4;
        let bytes = lines.as_bytes();
        self.bytes.reserve(bytes.len());
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let begin = at + LEVEL;
            at = end + 1;
            // Most lines are short: a copy of one size, cut off behind them, rather than a call.
            match bytes.get(begin..begin + SHORT_LINE) {
                Some(chunk) if at - begin <= SHORT_LINE => {
                    let length = self.bytes.len() + at - begin;
                    self.bytes.extend_from_slice(chunk);
                    self.bytes.truncate(length);
                }
                _ => self.bytes.extend_from_slice(&bytes[begin..at]),
            }
        }
    }

    #[inline]
    fn entry(&mut self, entry: [u8; 8]) {
        let len = self.bytes.len() + usize::from(entry[7]);
        self.bytes.extend_from_slice(&entry);
        self.bytes.truncate(len);
    }

    /// Appends a number in decimal.
    #[inline]
    pub(super) fn number(&mut self, value: u32) {
        match NUMBERS.get(value as usize) {
            Some(entry) => self.entry(*entry),
            None => self.long_number(value),
        }
    }

    #[cold]
    fn long_number(&mut self, value: u32) {
        self.number(value / 1000);
        let last = 1000 + value % 1000;
        for digit in [last / 100 % 10, last / 10 % 10, last % 10] {
            self.push_ascii(b'0' + digit as u8);
        }
    }

    /// Appends `var_` and a number.
    #[inline]
    pub(super) fn primal(&mut self, value: u32) {
        match PRIMALS.get(value as usize) {
            Some(entry) => self.entry(*entry),
            None => {
                self.push_str("var_");
                self.long_number(value);
            }
        }
    }

    /// Appends `adj_` and a number.
    #[inline]
    pub(super) fn dual(&mut self, value: u32) {
        match DUALS.get(value as usize) {
            Some(entry) => self.entry(*entry),
            None => {
                self.push_str("adj_");
                self.long_number(value);
            }
        }
    }

    /// Appends spaces.
    #[inline]
    pub(super) fn spaces(&mut self, count: usize) {
        let len = self.bytes.len() + count;
        if count <= 32 {
            self.bytes.extend_from_slice(&[b' '; 32]);
            self.bytes.truncate(len);
        } else {
            self.bytes.resize(len, b' ');
        }
    }
}

impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_whole_at_any_length() {
        let text = "wp::mat_t<4, 4, wp::float32> and more";
        for length in 0..=text.len() {
            let mut buffer = Buffer::after("x".to_owned());
            buffer.push_short(&text[..length]);
            assert_eq!(buffer.into_string(), format!("x{}", &text[..length]));
        }
    }

    #[test]
    fn numbers_are_decimal_on_both_sides_of_the_tables_end() {
        for value in [
            0,
            7,
            10,
            99,
            100,
            999,
            1000,
            1001,
            98_765,
            1_000_000,
            u32::MAX,
        ] {
            let mut buffer = Buffer::after(String::new());
            buffer.number(value);
            buffer.primal(value);
            buffer.dual(value);
            buffer.spaces(40);
            let expected = format!("{value}var_{value}adj_{value}{}", " ".repeat(40));
            assert_eq!(buffer.into_string(), expected);
        }
    }
}
