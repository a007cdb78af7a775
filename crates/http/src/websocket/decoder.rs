//! Messages out of whatever pieces the socket gives.
//!
//! Invariants: a message longer than the limit is refused before its bytes are kept; what is not
//! allowed by RFC 6455 is refused with the closing code that it asks for; never a panic.

use super::Opcode;

/// Who we are: servers insist on masks, clients on their absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads what clients send.
    Server,
    /// Reads what servers send.
    Client,
}

/// A message, or a control frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// Text, which is known to be UTF-8.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
    /// To be answered with the same bytes.
    Ping(Vec<u8>),
    /// An answer to a ping, or a sign of life.
    Pong,
    /// With the peer's code; 1005 where it gave none.
    Close(u16),
}

/// What the peer did wrong, with the code to close with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The closing code.
    pub code: u16,
    /// What it was, as the reason to close with.
    pub what: &'static str,
}

const fn violation(code: u16, what: &'static str) -> Violation {
    Violation { code, what }
}

/// Reads frames and puts messages together.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    /// Longest message.
    limit: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are done with.
    taken: usize,
    message: Option<Begun>,
}

/// A message of which frames are still to come.
#[derive(Debug)]
struct Begun {
    text: bool,
    bytes: Vec<u8>,
    /// Bytes of text that are known to be UTF-8.
    valid: usize,
}

/// A frame's head.
struct Head {
    last: bool,
    opcode: Opcode,
    mask: Option<[u8; 4]>,
    head_bytes: usize,
    length: usize,
}

impl Decoder {
    /// A decoder of messages of at most `limit` bytes.
    pub fn new(role: Role, limit: usize) -> Self {
        Self {
            role,
            limit,
            buffer: Vec::new(),
            taken: 0,
            message: None,
        }
    }

    /// Takes bytes from the socket.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, if all of it is here.
    pub fn next_message(&mut self) -> Result<Option<Incoming>, Violation> {
        loop {
            let Some(head) = self.head()? else {
                return Ok(None);
            };
            let begin = self.taken + head.head_bytes;
            let Some(payload) = self.buffer.get(begin..begin + head.length) else {
                return Ok(None);
            };
            let mut payload = payload.to_vec();
            if let Some(mask) = head.mask {
                unmask(&mut payload, mask);
            }
            self.taken = begin + head.length;
            if let Some(message) = self.take(&head, payload)? {
                return Ok(Some(message));
            }
        }
    }

    /// The head at the front, checked; `None` while it is not all here.
    fn head(&self) -> Result<Option<Head>, Violation> {
        let bytes = &self.buffer[self.taken..];
        let &[first, second, ..] = bytes else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(violation(1002, "reserved bits are set"));
        }
        let opcode = match first & 15 {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return Err(violation(1002, "an unknown opcode")),
        };
        let (last, masked) = (first & 0x80 != 0, second & 0x80 != 0);
        if masked != (self.role == Role::Server) {
            return Err(violation(
                1002,
                "a mask where none belongs, or none where one does",
            ));
        }
        let (length, mut head_bytes) = match second & 0x7f {
            126 => match bytes.get(2..4) {
                Some(&[a, b]) => (u64::from(u16::from_be_bytes([a, b])), 4),
                _ => return Ok(None),
            },
            127 => match bytes.get(2..).and_then(|rest| rest.first_chunk::<8>()) {
                Some(long) => (u64::from_be_bytes(*long), 10),
                None => return Ok(None),
            },
            short => (u64::from(short), 2),
        };
        let shortest = match length {
            0..126 => 2,
            126..=0xffff => 4,
            _ => 10,
        };
        if head_bytes != shortest {
            return Err(violation(1002, "a length in a longer form than it needs"));
        }
        let control = matches!(opcode, Opcode::Close | Opcode::Ping | Opcode::Pong);
        if control && (length > 125 || !last) {
            return Err(violation(1002, "a control frame that is long or in parts"));
        }
        let begun = self.message.as_ref().map_or(0, |begun| begun.bytes.len());
        let room = (self.limit - begun.min(self.limit)) as u64;
        if !control && length > room {
            return Err(violation(1009, "the message is too long"));
        }
        let mask = match masked {
            false => None,
            true => match bytes
                .get(head_bytes..)
                .and_then(|rest| rest.first_chunk::<4>())
            {
                Some(mask) => {
                    head_bytes += 4;
                    Some(*mask)
                }
                None => return Ok(None),
            },
        };
        Ok(Some(Head {
            last,
            opcode,
            mask,
            head_bytes,
            // At most the limit, or 125.
            length: length as usize,
        }))
    }

    /// A whole frame; gives a message where it completes one.
    fn take(&mut self, head: &Head, payload: Vec<u8>) -> Result<Option<Incoming>, Violation> {
        let text = match (head.opcode, &self.message) {
            (Opcode::Ping, _) => return Ok(Some(Incoming::Ping(payload))),
            (Opcode::Pong, _) => return Ok(Some(Incoming::Pong)),
            (Opcode::Close, _) => return close(&payload).map(Some),
            (Opcode::Continuation, None) => {
                return Err(violation(1002, "the rest of a message that never began"));
            }
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(violation(1002, "a message inside another"));
            }
            (Opcode::Continuation, Some(begun)) => begun.text,
            (opcode, None) => opcode == Opcode::Text,
        };
        let mut begun = match self.message.take() {
            None => Begun {
                text,
                bytes: payload,
                valid: 0,
            },
            Some(mut begun) => {
                begun.bytes.extend_from_slice(&payload);
                begun
            }
        };
        if text {
            begun.valid = valid_up_to(&begun.bytes, begun.valid, head.last)?;
        }
        if !head.last {
            self.message = Some(begun);
            return Ok(None);
        }
        if !text {
            return Ok(Some(Incoming::Binary(begun.bytes)));
        }
        match String::from_utf8(begun.bytes) {
            Ok(text) => Ok(Some(Incoming::Text(text))),
            Err(_) => Err(NOT_UTF8),
        }
    }
}

const NOT_UTF8: Violation = violation(1007, "text that is not UTF-8");

/// How much of `bytes` is text, where `known` bytes are. What cannot become text any more is
/// refused at once; a character that is cut may go on in the next frame.
fn valid_up_to(bytes: &[u8], known: usize, last: bool) -> Result<usize, Violation> {
    match std::str::from_utf8(&bytes[known..]) {
        Ok(_) => Ok(bytes.len()),
        Err(error) if error.error_len().is_none() && !last => Ok(known + error.valid_up_to()),
        Err(_) => Err(NOT_UTF8),
    }
}

/// Everything that `bytes` hold, in order, and what is wrong with them, if anything is.
pub fn decode(role: Role, limit: usize, bytes: &[u8]) -> (Vec<Incoming>, Option<Violation>) {
    let mut decoder = Decoder::new(role, limit);
    decoder.push(bytes);
    let mut messages = Vec::new();
    loop {
        match decoder.next_message() {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, None),
            Err(violation) => return (messages, Some(violation)),
        }
    }
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

fn close(payload: &[u8]) -> Result<Incoming, Violation> {
    match payload {
        [] => Ok(Incoming::Close(1005)),
        [a, b, reason @ ..] => {
            let code = u16::from_be_bytes([*a, *b]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(violation(1002, "a closing frame that says nothing known"));
            }
            if std::str::from_utf8(reason).is_err() {
                return Err(NOT_UTF8);
            }
            Ok(Incoming::Close(code))
        }
        [_] => Err(violation(1002, "half a closing code")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{masked_frame, plain_frame};
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn server() -> Decoder {
        Decoder::new(Role::Server, 1000)
    }

    fn all(decoder: &mut Decoder) -> Result<Vec<Incoming>, Violation> {
        let mut messages = Vec::new();
        while let Some(message) = decoder.next_message()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn fragments_with_a_ping_between_them_are_one_message() {
        let mut bytes = vec![0x01, 0x83, 0, 0, 0, 0];
        bytes.extend(b"abc");
        masked_frame(Opcode::Ping, b"?", MASK, &mut bytes);
        bytes.extend([0x80, 0x82, 0, 0, 0, 0]);
        bytes.extend(b"de");
        let mut decoder = server();
        decoder.push(&bytes);
        let expected = vec![
            Incoming::Ping(b"?".to_vec()),
            Incoming::Text("abcde".into()),
        ];
        assert_eq!(all(&mut decoder), Ok(expected));
    }

    #[test]
    fn oversized_messages_are_refused_by_their_head_alone() {
        for head in [
            vec![0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            vec![0x82, 0xfe, 0x03, 0xe9],
        ] {
            let mut decoder = server();
            decoder.push(&head);
            assert_eq!(all(&mut decoder).unwrap_err().code, 1009);
        }
        // In parts, too.
        let mut bytes = vec![0x02, 0xfe, 0x03, 0x00, 0, 0, 0, 0];
        bytes.resize(8 + 0x300, 0);
        bytes.extend([0x80, 0xfe, 0x03, 0x00]);
        let mut decoder = server();
        decoder.push(&bytes);
        assert_eq!(all(&mut decoder).unwrap_err().code, 1009);
    }

    #[test]
    fn what_the_rfc_forbids_is_refused_with_its_code() {
        for (bytes, code) in [
            (vec![0xc1, 0x80], 1002),                         // a reserved bit
            (vec![0x83, 0x80], 1002),                         // an unknown opcode
            (vec![0x81, 0x01, b'a'], 1002),                   // no mask
            (vec![0x80, 0x80, 0, 0, 0, 0], 1002),             // nothing to continue
            (vec![0x09, 0x80], 1002),                         // a ping in parts
            (vec![0x89, 0xfe], 1002), // a long ping: known by its second byte
            (vec![0x81, 0x81, 0, 0, 0, 0, 0xff], 1007), // no UTF-8
            (vec![0x88, 0x81, 0, 0, 0, 0, 0], 1002), // half a code
            (vec![0x88, 0x82, 0, 0, 0, 0, 0x03, 0xed], 1002), // 1005 is never sent
        ] {
            let mut decoder = server();
            decoder.push(&bytes);
            // A length that is still to come cannot be judged.
            decoder.push(&[0x7f; 2]);
            assert_eq!(all(&mut decoder).unwrap_err().code, code, "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn messages_survive_any_cutting(
            messages in prop::collection::vec((any::<bool>(), prop::collection::vec(32u8..127, 0..400)), 1..8),
            cuts in prop::collection::vec(1usize..200, 1..50),
            mask: [u8; 4],
            role in prop::sample::select(vec![Role::Server, Role::Client]),
        ) {
            let mut bytes = Vec::new();
            let mut expected = Vec::new();
            for (text, payload) in messages {
                let opcode = if text { Opcode::Text } else { Opcode::Binary };
                match role {
                    Role::Server => masked_frame(opcode, &payload, mask, &mut bytes),
                    Role::Client => plain_frame(opcode, &payload, &mut bytes),
                }
                expected.push(if text { Incoming::Text(String::from_utf8(payload).unwrap()) } else { Incoming::Binary(payload) });
            }
            let mut decoder = Decoder::new(role, 1000);
            let mut seen = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                decoder.push(piece);
                seen.extend(all(&mut decoder).unwrap());
                rest = after;
            }
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_never_pile_up(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)
        ) {
            let mut decoder = server();
            for piece in pieces {
                decoder.push(&piece);
                if all(&mut decoder).is_err() { break; }
                // A frame that may still be completed, and a message that has begun.
                prop_assert!(decoder.buffer.len() - decoder.taken <= 1000 + 14);
                prop_assert!(decoder.message.as_ref().is_none_or(|begun| begun.bytes.len() <= 1000));
            }
        }
    }
}
