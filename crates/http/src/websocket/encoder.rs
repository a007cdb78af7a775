//! Frames as they are sent.

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// More of a message.
    Continuation = 0,
    /// The first or only frame of a text.
    Text = 1,
    /// The first or only frame of anything else.
    Binary = 2,
    /// The last that is said.
    Close = 8,
    /// To be answered.
    Ping = 9,
    /// The answer.
    Pong = 10,
}

/// The longest head without a mask.
pub const MOST_HEAD: usize = 10;

/// Writes the head of an unmasked, unfragmented frame; gives its length.
pub fn frame_head(opcode: Opcode, length: usize, out: &mut [u8; MOST_HEAD]) -> usize {
    out[0] = 0x80 | opcode as u8;
    if length < 126 {
        out[1] = length as u8;
        2
    } else if let Ok(short) = u16::try_from(length) {
        out[1] = 126;
        out[2..4].copy_from_slice(&short.to_be_bytes());
        4
    } else {
        out[1] = 127;
        out[2..10].copy_from_slice(&(length as u64).to_be_bytes());
        10
    }
}

/// Appends a frame as a server sends it.
pub fn plain_frame(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    let mut head = [0; MOST_HEAD];
    let length = frame_head(opcode, payload.len(), &mut head);
    out.extend_from_slice(&head[..length]);
    out.extend_from_slice(payload);
}

/// Appends a frame as a client sends it.
pub fn masked_frame(opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    let mut head = [0; MOST_HEAD];
    let length = frame_head(opcode, payload.len(), &mut head);
    head[1] |= 0x80;
    out.extend_from_slice(&head[..length]);
    out.extend_from_slice(&mask);
    let masked = payload.iter().zip(mask.iter().cycle());
    out.extend(masked.map(|(byte, mask)| byte ^ mask));
}

/// Appends a closing frame as a server sends it.
pub fn close_frame(code: u16, reason: &str, out: &mut Vec<u8>) {
    // A control frame has at most 125 bytes, and a reason is whole characters.
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    plain_frame(Opcode::Close, &payload, out);
}
