//! The wire format of protobuf, as far as it is needed: numbered fields, one after the other.

/// A field with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// A text, a message or packed numbers.
    Bytes(u64, &'a [u8]),
    /// A number of any width.
    Number,
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
        0 => Some((Field::Number, number(behind)?.1)),
        1 => Some((Field::Number, behind.get(8..)?)),
        2 => {
            let (length, behind) = number(behind)?;
            let (inside, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
            Some((Field::Bytes(tag >> 3, inside), behind))
        }
        5 => Some((Field::Number, behind.get(4..)?)),
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
                Field::Number,
                Field::Bytes(2, b"hi"),
                Field::Number,
                Field::Number,
                Field::Bytes(31, b"")
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
