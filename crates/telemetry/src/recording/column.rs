//! Columns of optional numbers as bytes: what is present, then differences in few bytes each.
//!
//! A column is coded by first differences or by differences of differences (steady time stamps),
//! whichever is shorter. Reading never trusts a length: every count is compared with the bytes that
//! are left.

/// Why a column cannot be read.
pub(super) type Damage = String;

/// Appends a number, seven bits to a byte.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7F) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A reader over bytes that runs out politely.
pub(super) struct Cursor<'bytes> {
    bytes: &'bytes [u8],
}

impl<'bytes> Cursor<'bytes> {
    pub(super) fn new(bytes: &'bytes [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'bytes [u8], Damage> {
        if length > self.bytes.len() {
            return Err(format!("{length} bytes wanted, {} left", self.bytes.len()));
        }
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return Err("a number of more than 64 bits".into());
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number without an end".into())
    }

    /// A count of things that take at least one byte each.
    pub(super) fn count(&mut self) -> Result<usize, Damage> {
        let count = self.varint()?;
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.bytes.len())
            .ok_or_else(|| format!("a count of {count} with {} bytes left", self.bytes.len()))
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn differences(values: &[i64], order: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.len());
    let (mut before, mut step) = (0i64, 0i64);
    for &value in values {
        let difference = value.wrapping_sub(before);
        let coded = if order == 2 {
            difference.wrapping_sub(step)
        } else {
            difference
        };
        put_varint(&mut out, zigzag(coded));
        (before, step) = (value, difference);
    }
    out
}

/// Appends a column; its length is known to whoever reads it.
pub(super) fn put_column(out: &mut Vec<u8>, values: &[Option<i64>]) {
    let present: Vec<i64> = values.iter().copied().flatten().collect();
    if present.len() == values.len() {
        out.push(1);
    } else {
        out.push(0);
        for eight in values.chunks(8) {
            let bits = eight.iter().enumerate().fold(0, |bits, (nth, value)| {
                bits | u8::from(value.is_some()) << nth
            });
            out.push(bits);
        }
    }
    let (first, second) = (differences(&present, 1), differences(&present, 2));
    let (order, bytes) = if second.len() < first.len() {
        (2, second)
    } else {
        (1, first)
    };
    out.push(order);
    out.extend_from_slice(&bytes);
}

/// Reads a column of `length` values.
pub(super) fn take_column(
    cursor: &mut Cursor<'_>,
    length: usize,
) -> Result<Vec<Option<i64>>, Damage> {
    let bits = match cursor.byte()? {
        1 => None,
        0 => Some(cursor.take(length.div_ceil(8))?),
        other => return Err(format!("presence {other}")),
    };
    let order = cursor.byte()?;
    if !(1..=2).contains(&order) {
        return Err(format!("difference order {order}"));
    }
    let (mut before, mut step) = (0i64, 0i64);
    // Not reserved up front: an all-present column takes at least a byte per value, so a false
    // length runs out of bytes before it runs out of memory.
    let mut values = Vec::new();
    for nth in 0..length {
        if bits.is_some_and(|bits| bits[nth / 8] >> (nth % 8) & 1 == 0) {
            values.push(None);
            continue;
        }
        let coded = unzigzag(cursor.varint()?);
        let difference = if order == 2 {
            coded.wrapping_add(step)
        } else {
            coded
        };
        before = before.wrapping_add(difference);
        step = difference;
        values.push(Some(before));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn columns_come_back_exactly(values in prop::collection::vec(any::<Option<i64>>(), 0..200)) {
            let mut bytes = Vec::new();
            put_column(&mut bytes, &values);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(take_column(&mut cursor, values.len()).unwrap(), values);
            prop_assert!(cursor.bytes.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100),
                                         length in 0usize..10_000) {
            let _ = take_column(&mut Cursor::new(&bytes), length);
            let _ = Cursor::new(&bytes).count();
        }
    }

    #[test]
    fn steady_time_stamps_take_a_byte_each() {
        let stamps: Vec<_> = (0..1000)
            .map(|n| Some(1_700_000_000_000_000 + n * 20_000))
            .collect();
        let mut bytes = Vec::new();
        put_column(&mut bytes, &stamps);
        assert!(bytes.len() < 1030, "{} bytes", bytes.len());
    }
}
