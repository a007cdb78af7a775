//! The cases of the Autobahn suite for a server, by its numbers, as far as they are about bytes and
//! not about sockets.

use warpsmith_http::websocket::{Incoming, Opcode, Role, close_frame, decode, plain_frame};

const LIMIT: usize = 1 << 20;
const MASK: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

/// A frame of a client, with any first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..126 => bytes.push(0x80 | short as u8),
        middle @ 126..=0xffff => {
            bytes.push(0x80 | 126);
            bytes.extend((middle as u16).to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    let masked = payload.iter().zip(MASK.iter().cycle());
    bytes.extend(masked.map(|(byte, mask)| byte ^ mask));
    bytes
}

const LAST: u8 = 0x80;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = LAST | 8;
const PING: u8 = LAST | 9;
const PONG: u8 = LAST | 10;

/// What comes out, and the code that the connection is closed with.
fn heard(frames: &[Vec<u8>]) -> (Vec<Incoming>, Option<u16>) {
    let bytes = frames.concat();
    let (messages, violation) = decode(Role::Server, LIMIT, &bytes);
    // The same a byte at a time: 1.1.8, 1.2.8, 2.6, 5.5, 5.8 and 6.2.4 cut frames anywhere.
    let mut decoder = warpsmith_http::websocket::Decoder::new(Role::Server, LIMIT);
    let (mut again, mut failed) = (Vec::new(), None);
    // Long frames are cut less often, to be done today.
    let piece = bytes.len() / 2_000 + 1;
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while failed.is_none() {
            match decoder.next_message() {
                Ok(Some(message)) => again.push(message),
                Ok(None) => break,
                Err(violation) => failed = Some(violation),
            }
        }
    }
    assert_eq!((&again, failed), (&messages, violation));
    (messages, violation.map(|violation| violation.code))
}

fn refused(frames: &[Vec<u8>]) -> u16 {
    heard(frames).1.expect("refused")
}

fn text(text: &str) -> Incoming {
    Incoming::Text(text.to_owned())
}

#[test]
fn case_1_lengths_in_every_form() {
    for length in [0, 1, 125, 126, 127, 128, 65_535, 65_536, 100_000] {
        let payload = vec![b'*'; length];
        let words = String::from_utf8(payload.clone()).expect("text");
        let frames = [frame(LAST | TEXT, &payload), frame(LAST | BINARY, &payload)];
        let expected = vec![Incoming::Text(words), Incoming::Binary(payload)];
        assert_eq!(heard(&frames), (expected, None), "{length}");
    }
}

#[test]
fn case_1_lengths_that_are_longer_than_they_need_to_be() {
    let longer = |head: &[u8], length: usize| {
        let mut bytes = head.to_vec();
        bytes.extend(MASK);
        bytes.resize(bytes.len() + length, 0);
        bytes
    };
    assert_eq!(refused(&[longer(&[0x82, 0xfe, 0, 125], 125)]), 1002);
    let eight = [0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    assert_eq!(refused(&[longer(&eight, 0xffff)]), 1002);
}

#[test]
fn case_2_pings_and_pongs() {
    let binary = [0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff];
    for payload in [&b""[..], b"Hello, world!", &binary, &[0xfe; 125]] {
        let expected = vec![Incoming::Ping(payload.to_vec())];
        assert_eq!(heard(&[frame(PING, payload)]), (expected, None));
    }
    // 2.5: too long; 2.7 to 2.9: pongs that nobody requested are no answer to anything.
    assert_eq!(refused(&[frame(PING, &[0xfe; 126])]), 1002);
    assert_eq!(refused(&[frame(PONG, &[0xfe; 126])]), 1002);
    let frames = [frame(PONG, b""), frame(PONG, b"x"), frame(PING, b"y")];
    let expected = vec![
        Incoming::Pong,
        Incoming::Pong,
        Incoming::Ping(b"y".to_vec()),
    ];
    assert_eq!(heard(&frames), (expected, None));
    // 2.10: ten of them, in their order.
    let pings: Vec<_> = (0..10u8).map(|nth| frame(PING, &[nth])).collect();
    let expected = (0..10u8).map(|nth| Incoming::Ping(vec![nth])).collect();
    assert_eq!(heard(&pings), (expected, None));
}

#[test]
fn case_3_reserved_bits() {
    for bits in 1..8u8 {
        let first = LAST | bits << 4;
        assert_eq!(refused(&[frame(first | TEXT, b"a")]), 1002);
        assert_eq!(refused(&[frame(first | BINARY, b"")]), 1002);
        assert_eq!(refused(&[frame(first | PING, b"")]), 1002);
        assert_eq!(refused(&[frame(first | CLOSE, b"")]), 1002);
        // What came before is heard.
        let frames = [frame(LAST | TEXT, b"a"), frame(first | TEXT, b"b")];
        assert_eq!(heard(&frames), (vec![text("a")], Some(1002)));
    }
}

#[test]
fn case_4_reserved_opcodes() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        assert_eq!(refused(&[frame(LAST | opcode, b"")]), 1002, "{opcode}");
        assert_eq!(refused(&[frame(LAST | opcode, b"x")]), 1002, "{opcode}");
        let frames = [frame(LAST | TEXT, b"a"), frame(LAST | opcode, b"x")];
        assert_eq!(heard(&frames), (vec![text("a")], Some(1002)), "{opcode}");
    }
}

#[test]
fn case_5_fragments() {
    // 5.1, 5.2: control frames in parts.
    assert_eq!(refused(&[frame(9, b"a"), frame(LAST, b"b")]), 1002);
    assert_eq!(refused(&[frame(10, b"a"), frame(LAST, b"b")]), 1002);
    assert_eq!(refused(&[frame(8, b""), frame(LAST, b"")]), 1002);
    // 5.3 to 5.8: two parts, with and without a ping between them.
    let expected = (vec![text("ab")], None);
    assert_eq!(heard(&[frame(TEXT, b"a"), frame(LAST, b"b")]), expected);
    let frames = [frame(TEXT, b"a"), frame(PING, b"!"), frame(LAST, b"b")];
    let expected = vec![Incoming::Ping(b"!".to_vec()), text("ab")];
    assert_eq!(heard(&frames), (expected, None));
    // 5.9 to 5.14: the rest of nothing.
    for first in [LAST, 0] {
        let frames = [frame(first, b"x"), frame(LAST | TEXT, b"a")];
        assert_eq!(heard(&frames), (vec![], Some(1002)));
    }
    // 5.15: the rest of a message that was complete.
    let frames = [frame(TEXT, b"a"), frame(LAST, b"b"), frame(0, b"c")];
    assert_eq!(heard(&frames), (vec![text("ab")], Some(1002)));
    // 5.18: a message inside another.
    assert_eq!(
        refused(&[frame(TEXT, b"a"), frame(LAST | TEXT, b"b")]),
        1002
    );
    assert_eq!(refused(&[frame(BINARY, b""), frame(BINARY, b"")]), 1002);
    // 5.19: five parts with pings after the second and the fourth.
    let frames = [
        frame(TEXT, b"1"),
        frame(0, b"2"),
        frame(PING, b"x"),
        frame(0, b"3"),
        frame(0, b"4"),
        frame(PING, b"y"),
        frame(LAST, b"5"),
    ];
    let ping = |payload: &[u8]| Incoming::Ping(payload.to_vec());
    let expected = vec![ping(b"x"), ping(b"y"), text("12345")];
    assert_eq!(heard(&frames), (expected, None));
    // Empty parts, and a binary message.
    let frames = [frame(BINARY, b""), frame(0, b""), frame(LAST, b"")];
    assert_eq!(heard(&frames), (vec![Incoming::Binary(vec![])], None));
}

#[test]
fn case_6_text_is_utf8_in_any_parts() {
    let words = "Hello-µ@ßöäüàá-UTF-8!! κόσμε 𝄞 \u{10ffff} \u{0}";
    let bytes = words.as_bytes();
    let whole = (vec![text(words)], None);
    assert_eq!(heard(&[frame(LAST | TEXT, bytes)]), whole);
    for cut in 0..=bytes.len() {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(heard(&[frame(TEXT, first), frame(LAST, second)]), whole);
    }
    let singly: Vec<_> = bytes
        .iter()
        .enumerate()
        .map(|(nth, byte)| frame(if nth == 0 { TEXT } else { 0 }, &[*byte]))
        .chain([frame(LAST, b"")])
        .collect();
    assert_eq!(heard(&singly), whole);
}

#[test]
fn case_6_text_that_is_not_utf8_is_refused() {
    let invalid: [&[u8]; 12] = [
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited", // 6.3.1
        b"\xf4\x90\x80\x80",                                               // above U+10FFFF
        b"\xf8\x88\x80\x80\x80",                                           // five bytes
        b"\x80",
        b"\xbf",
        b"\xc0\xaf",         // overlong
        b"\xe0\x80\xaf",     // overlong
        b"\xf0\x80\x80\xaf", // overlong
        b"\xed\xa0\x80",     // a surrogate
        b"\xed\xbf\xbf",
        b"\xfe",
        b"\xff",
    ];
    for bytes in invalid {
        assert_eq!(refused(&[frame(LAST | TEXT, bytes)]), 1007, "{bytes:x?}");
        // As binary it is nobody's business.
        let binary = vec![Incoming::Binary(bytes.to_vec())];
        assert_eq!(heard(&[frame(LAST | BINARY, bytes)]), (binary, None));
        // 6.4: refused by the part that is wrong, not by the last one.
        let frames = [frame(TEXT, "κόσμε".as_bytes()), frame(0, bytes)];
        assert_eq!(refused(&frames), 1007, "{bytes:x?}");
    }
    // A character that is cut: nothing is wrong with it until the message ends.
    for cut in [&b"\xce"[..], b"\xe1\xbd", b"\xf0\x9d\x84"] {
        assert_eq!(heard(&[frame(TEXT, cut)]), (vec![], None));
        assert_eq!(refused(&[frame(TEXT, cut), frame(LAST, b"")]), 1007);
        assert_eq!(refused(&[frame(LAST | TEXT, cut)]), 1007);
    }
}

#[test]
fn case_7_closing() {
    let closed = |code: u16| (vec![Incoming::Close(code)], None);
    // 7.3: nothing, half a code, a code, with a reason, with one that is too long.
    assert_eq!(heard(&[frame(CLOSE, b"")]), closed(1005));
    assert_eq!(refused(&[frame(CLOSE, b"a")]), 1002);
    let with = |code: u16, reason: &[u8]| {
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend(reason);
        frame(CLOSE, &payload)
    };
    assert_eq!(heard(&[with(1000, b"")]), closed(1000));
    assert_eq!(heard(&[with(1000, b"Hello World!")]), closed(1000));
    assert_eq!(heard(&[with(1000, &[b'*'; 123])]), closed(1000));
    assert_eq!(refused(&[with(1000, &[b'*'; 124])]), 1002);
    // 7.5: a reason that is not text.
    assert_eq!(refused(&[with(1000, b"\xce\xba\xed\xa0\x80")]), 1007);
    // 7.7 and 7.9: codes that may be sent, and those that may not.
    for code in [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
    ] {
        assert_eq!(heard(&[with(code, b"")]), closed(code));
    }
    for code in [
        0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535,
    ] {
        assert_eq!(refused(&[with(code, b"")]), 1002, "{code}");
    }
    // 7.1.5: in the middle of a message.
    let frames = [frame(TEXT, b"a"), with(1000, b"")];
    assert_eq!(heard(&frames), closed(1000));
}

#[test]
fn case_9_messages_above_the_limit_are_refused_by_their_head() {
    let (messages, violation) = decode(Role::Server, 100, &frame(LAST | TEXT, &[b'a'; 100]));
    assert_eq!((messages.len(), violation), (1, None));
    let code = |bytes: &[u8]| decode(Role::Server, 100, bytes).1.expect("refused").code;
    assert_eq!(code(&[0x81, 0x80 | 101]), 1009);
    assert_eq!(code(&[0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]), 1009);
    let parts = [frame(TEXT, &[b'a'; 60]), frame(LAST, &[b'a'; 41])].concat();
    assert_eq!(code(&parts), 1009);
    // A ping between parts has room of its own.
    let parts = [frame(TEXT, &[b'a'; 100]), frame(PING, &[0; 125])].concat();
    assert_eq!(decode(Role::Server, 100, &parts).1, None);
}

#[test]
fn masks_are_what_clients_have_and_servers_do_not() {
    let mut plain = Vec::new();
    plain_frame(Opcode::Text, b"a", &mut plain);
    let masked = frame(LAST | TEXT, b"a");
    assert_eq!(decode(Role::Client, LIMIT, &plain).0, [text("a")]);
    assert_eq!(decode(Role::Server, LIMIT, &masked).0, [text("a")]);
    for (role, bytes) in [(Role::Server, &plain), (Role::Client, &masked)] {
        assert_eq!(decode(role, LIMIT, bytes).1.expect("refused").code, 1002);
    }
}

#[test]
fn closing_frames_fit_whatever_the_reason() {
    for reason in ["", "short", &"ü".repeat(100), &"𝄞".repeat(40)] {
        let mut bytes = Vec::new();
        close_frame(1008, reason, &mut bytes);
        assert!(bytes.len() <= 127);
        let expected = (vec![Incoming::Close(1008)], None);
        assert_eq!(decode(Role::Client, LIMIT, &bytes), expected);
    }
}
