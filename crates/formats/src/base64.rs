//! Base 64 with the standard alphabet, over the `base64` crate.

use ::base64::Engine;
use ::base64::alphabet;
use ::base64::engine::DecodePaddingMode;
use ::base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Browsers and shells differ in whether they pad; bits that no byte needs carry nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// `bytes` as text, padded.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Appends `bytes` as text, padded; allocates only where `out` has no room left.
pub fn encode_onto(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    // The room is what base 64 takes, padding included.
    debug_assert_eq!(written.ok(), Some(out.len() - start));
}

/// The bytes that `text` stands for, padded or not; `None` where it is not base 64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    const RFC: [(&str, &str); 7] = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];

    #[test]
    fn the_examples_of_the_rfc_go_both_ways() {
        for (plain, coded) in RFC {
            assert_eq!(encode(plain.as_bytes()), coded);
            let mut out = b"before ".to_vec();
            encode_onto(plain.as_bytes(), &mut out);
            assert_eq!(out, format!("before {coded}").as_bytes());
            assert_eq!(decode(coded).unwrap(), plain.as_bytes());
            let bare = coded.trim_end_matches('=');
            assert_eq!(decode(bare).unwrap(), plain.as_bytes());
        }
    }

    #[test]
    fn what_is_not_base_64_is_refused() {
        for text in ["Y*==", "Zg==Zg==", "Z", "Zm9v\n"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
