//! The wire format of protobuf, as far as it is needed: numbered fields, one after the other.

/// A field with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// A text, a message or packed numbers.
    Bytes(u64, &'a [u8]),
    /// A number of up to 64 bits.
    Number(u64, u64),
    /// A number of a fixed width, which nothing here needs.
    Fixed,
}

/// The fields of a message; `None` where it ends too early, and nothing behind that.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Option<Field<'_>>> {
    let mut rest = Some(message);
    std::iter::from_fn(move || {
        let message = rest.filter(|message| !message.is_empty())?;
        let read = field(message);
        rest = read.map(|(_, behind)| behind);
        Some(read.map(|(field, _)| field))
    })
}

fn field(message: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let (tag, behind) = number(message)?;
    match tag & 7 {
        0 => {
            let (value, behind) = number(behind)?;
            Some((Field::Number(tag >> 3, value), behind))
        }
        1 => Some((Field::Fixed, behind.get(8..)?)),
        2 => {
            let (length, behind) = number(behind)?;
            let (inside, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
            Some((Field::Bytes(tag >> 3, inside), behind))
        }
        5 => Some((Field::Fixed, behind.get(4..)?)),
        // Groups, which nobody writes any more.
        _ => None,
    }
}

/// A number in groups of seven bits, the lowest first.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    // Ten groups hold 64 bits.
    for (nth, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * nth as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[nth + 1..]));
        }
    }
    None
}

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, number: u64, bytes: &[u8]) {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text; the format has no difference between an empty one and none.
    pub(super) fn text(&mut self, number: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(number, text.as_bytes());
        }
    }

    /// A message.
    pub(super) fn message(&mut self, number: u64, message: &Self) {
        self.bytes(number, &message.0);
    }

    /// A number of any size.
    pub(super) fn number(&mut self, number: u64, value: u64) {
        self.varint(number << 3);
        self.varint(value);
    }

    /// Eight bytes: a `fixed64`, or the bits of a `double`.
    pub(super) fn fixed(&mut self, number: u64, value: u64) {
        self.varint(number << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// The fields of another message, behind these.
    pub(super) fn append(&mut self, fields: Self) {
        self.0.extend(fields.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_field_is_read_or_skipped() {
        let message = [
            &[0x08, 0x96, 0x01][..],         // 1: the number 150
            &[0x12, 0x02, b'h', b'i'],       // 2: a text
            &[0x19, 1, 2, 3, 4, 5, 6, 7, 8], // 3: eight bytes
            &[0x25, 1, 2, 3, 4],             // 4: four bytes
            &[0xfa, 0x01, 0x00],             // 31: an empty text
        ]
        .concat();
        let read: Option<Vec<_>> = fields(&message).collect();
        assert_eq!(
            read,
            Some(vec![
                Field::Number(1, 150),
                Field::Bytes(2, b"hi"),
                Field::Fixed,
                Field::Fixed,
                Field::Bytes(31, b"")
            ])
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let mut message = Writer::default();
        message.number(1, 300);
        message.text(2, "");
        message.text(2, "é");
        message.fixed(3, 1.5f64.to_bits());
        let long = Writer(vec![0x08; 200]);
        message.message(16, &long);
        let bytes = message.into_bytes();
        let read: Option<Vec<_>> = fields(&bytes).collect();
        assert_eq!(
            read,
            Some(vec![
                Field::Number(1, 300),
                Field::Bytes(2, "é".as_bytes()),
                Field::Fixed,
                Field::Bytes(16, &long.0)
            ])
        );
    }

    #[test]
    fn what_ends_too_early_ends() {
        for message in [
            &[0x08][..],
            &[0x12, 5, 1],
            &[0x19, 1],
            &[0x0b],
            &[0xff; 11],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ] {
            assert_eq!(fields(message).collect::<Vec<_>>(), [None], "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_end(bytes: Vec<u8>) {
            prop_assert!(fields(&bytes).count() <= bytes.len());
        }
    }
}
