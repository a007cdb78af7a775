//! Four ways in which two sources can be the same: byte for byte, up to names, up to names and
//! constants, and nearly.
//!
//! A source is read as tokens. Comments and doc strings are left out of all but the exact hash, so that
//! a kernel does not become new by being described differently. Names are what the program itself
//! introduces; `wp.sin`, `float`, keywords and the components of vectors stay as they are.

use warpsmith_lanes::{InstructionSet, for_each_set};

use crate::random::mix;

/// Buckets of a MinHash signature.
pub const MINHASH_BUCKETS: usize = 16;

/// The hashes of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Of the bytes.
    pub exact: u64,
    /// Of the tokens, names replaced by the order in which they first occur.
    pub modulo_names: u64,
    /// Of the tokens, names and literals replaced: the shape of the syntax tree.
    pub shape: u64,
    /// A signature whose equal buckets estimate how much two texts overlap.
    pub minhash: [u32; MINHASH_BUCKETS],
    /// Tokens, line ends and indentation left out.
    pub tokens: u32,
}

/// A running 64-bit hash; two multiplications a word.
#[derive(Clone, Copy)]
struct Hasher(u64);

impl Hasher {
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64 ^ word.rotate_left(31);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn finish(self) -> u64 {
        mix(self.0)
    }
}

/// The hash of `bytes[at..end]`, the same as [`hash_bytes`] gives: short words are one load.
fn hash_part(bytes: &[u8], at: usize, end: usize) -> u64 {
    let length = end - at;
    match bytes[at..].first_chunk::<8>() {
        Some(eight) if (1..8).contains(&length) => {
            let word = u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length));
            let mut hasher = Hasher(START);
            hasher.word(word ^ ((length as u64) << 56));
            hasher.finish()
        }
        _ => hash_bytes(&bytes[at..end]),
    }
}

/// What a running hash begins with.
const START: u64 = 0x6a09_e667_f3bc_c908;

/// A 64-bit hash of bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = Hasher(START);
    hasher.bytes(bytes);
    hasher.finish()
}

/// Words that are part of the language rather than of the program.
fn is_language_word(word: &[u8]) -> bool {
    matches!(
        word,
        b"and"
            | b"as"
            | b"bool"
            | b"break"
            | b"class"
            | b"continue"
            | b"def"
            | b"dtype"
            | b"elif"
            | b"else"
            | b"False"
            | b"float"
            | b"for"
            | b"if"
            | b"import"
            | b"in"
            | b"int"
            | b"len"
            | b"abs"
            | b"max"
            | b"min"
            | b"ndim"
            | b"not"
            | b"or"
            | b"pass"
            | b"print"
            | b"range"
            | b"return"
            | b"round"
            | b"shape"
            | b"True"
            | b"warp"
            | b"while"
            | b"wp"
    )
}

/// The words of one source and what each stands for: itself, or the order of its first occurrence.
struct Words {
    /// Hash and meaning, open addressing; a hash of 0 marks an empty slot.
    slots: Vec<(u64, u64)>,
    len: usize,
    names: u64,
}

impl Words {
    fn new() -> Self {
        Self {
            // A kilobyte, which the allocator keeps at hand; most programs have fewer words.
            slots: vec![(0, 0); 64],
            len: 0,
            names: 0,
        }
    }

    /// What a word stands for, whether it is a name or part of the language.
    fn meaning(&mut self, word: &[u8], hash: u64) -> u64 {
        let hash = hash.max(1);
        let at = self.find(hash);
        if self.slots[at].0 == hash {
            return self.slots[at].1;
        }
        let meaning = if is_language_word(word) {
            hash
        } else {
            self.names += 1;
            NAME | (self.names - 1)
        };
        self.slots[at] = (hash, meaning);
        self.len += 1;
        if self.len * 4 > self.slots.len() * 3 {
            let larger = vec![(0, 0); self.slots.len() * 2];
            for (hash, meaning) in std::mem::replace(&mut self.slots, larger) {
                if hash != 0 {
                    let at = self.find(hash);
                    self.slots[at] = (hash, meaning);
                }
            }
        }
        meaning
    }

    /// Where a hash is, or belongs.
    fn find(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].0 != 0 && self.slots[at].0 != hash {
            at = (at + 1) & mask;
        }
        at
    }
}

const NAME: u64 = 1 << 60;
const NUMBER: u64 = 2 << 60;
const TEXT: u64 = 3 << 60;
const INDENT: u64 = 4 << 60;

impl Fingerprint {
    /// Reads a source.
    pub fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut words = Words::new();
        let mut modulo_names = Hasher(0x243f_6a88_85a3_08d3);
        let mut shape = Hasher(0x1319_8a2e_0370_7344);
        let mut minhash = [u32::MAX; MINHASH_BUCKETS];
        let mut window = [0_u64; 4];
        let mut tokens = 0;
        let mut at = 0;
        let mut line_start = true;
        while at < bytes.len() {
            let byte = bytes[at];
            if line_start {
                let spaces = bytes[at..].iter().take_while(|b| **b == b' ').count();
                at += spaces;
                line_start = false;
                if at < bytes.len() && bytes[at] != b'\n' && bytes[at] != b'#' {
                    if bytes[at..].starts_with(b"\"\"\"") {
                        at = skip_doc_string(bytes, at);
                        continue;
                    }
                    modulo_names.word(INDENT | spaces as u64);
                    shape.word(INDENT | spaces as u64);
                }
                continue;
            }
            let (end, kept, bare) = match byte {
                b'\n' => {
                    line_start = true;
                    at += 1;
                    continue;
                }
                b' ' => {
                    at += 1;
                    continue;
                }
                b'#' => {
                    at += bytes[at..].iter().take_while(|b| **b != b'\n').count();
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let end = at + word_length(&bytes[at..]);
                    let word = &bytes[at..end];
                    let after_dot = at > 0 && bytes[at - 1] == b'.';
                    let of_warp = after_dot && at >= 3 && &bytes[at - 3..at] == b"wp.";
                    let component = after_dot && word.len() == 1;
                    let hash = hash_part(bytes, at, end);
                    let meaning = match of_warp || component {
                        true => hash,
                        false => words.meaning(word, hash),
                    };
                    (end, meaning, meaning)
                }
                b'0'..=b'9' => {
                    let end = at + number_length(&bytes[at..]);
                    (end, hash_part(bytes, at, end), NUMBER)
                }
                b'"' | b'\'' => {
                    let end = skip_string(bytes, at);
                    (end, hash_bytes(&bytes[at..end]), TEXT)
                }
                symbol => (at + 1, u64::from(symbol), u64::from(symbol)),
            };
            modulo_names.word(kept);
            shape.word(bare);
            tokens += 1;
            window.rotate_left(1);
            window[3] = kept;
            if tokens >= 4 {
                // Four products that wait for nothing but their word.
                let part = |n: usize, by: u64, turn| window[n].wrapping_mul(by).rotate_left(turn);
                let hash = mix(part(0, 0x9e37_79b9_7f4a_7c15, 0)
                    ^ part(1, 0xbf58_476d_1ce4_e5b9, 17)
                    ^ part(2, 0x94d0_49bb_1331_11eb, 31)
                    ^ part(3, 0xd6e8_feb8_6659_fd93, 47));
                // One permutation: the high bits choose the bucket, the low ones compete in it.
                let bucket = (hash >> 60) as usize;
                minhash[bucket] = minhash[bucket].min(hash as u32);
            }
            at = end;
        }
        Self {
            exact: hash_bytes(bytes),
            modulo_names: modulo_names.finish(),
            shape: shape.finish(),
            minhash,
            tokens,
        }
    }

    /// The signature as one number, for counting distinct ones.
    pub fn minhash_key(&self) -> u64 {
        let mut hasher = Hasher(7);
        self.minhash
            .iter()
            .for_each(|bucket| hasher.word(u64::from(*bucket)));
        hasher.finish()
    }
}

/// Bytes of words and, beyond those, of numbers.
static PARTS: [u8; 256] = {
    let mut parts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let part = byte as u8;
        if part.is_ascii_alphanumeric() || part == b'_' {
            parts[byte] = 1;
        } else if part == b'.' {
            parts[byte] = 2;
        }
        byte += 1;
    }
    parts
};

fn word_length(bytes: &[u8]) -> usize {
    let part = |b: &&u8| PARTS[usize::from(**b)] == 1;
    bytes.iter().take_while(part).count()
}

fn number_length(bytes: &[u8]) -> usize {
    let part = |b: &&u8| PARTS[usize::from(**b)] != 0;
    bytes.iter().take_while(part).count()
}

fn skip_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

fn skip_doc_string(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 3..];
    let length = rest.windows(3).position(|part| part == b"\"\"\"");
    length.map_or(bytes.len(), |length| start + 6 + length)
}

/// Tokens of C++ text: words, numbers and single symbols.
pub fn token_count(text: &str) -> u32 {
    token_count_with(InstructionSet::widest(), text)
}

for_each_set! {
    fn token_count_with = token_count_of(text: &str) -> u32
}

#[inline(always)]
fn token_count_of(text: &str) -> u32 {
    let is_word = |byte: u8| {
        (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10 || byte == b'_'
    };
    let bytes = text.as_bytes();
    let Some((first, rest)) = bytes.split_first() else {
        return 0;
    };
    let mut count = u32::from(!first.is_ascii_whitespace());
    // A byte begins a token if it is a symbol, or part of a word and the byte before is not. Sums of at
    // most 128 fit a byte, which lets the compiler use whole vector registers.
    for (before, after) in bytes.chunks(128).zip(rest.chunks(128)) {
        let pairs = before.iter().zip(after);
        let begins = pairs.fold(0_u8, |sum, (before, after)| {
            let space =
                (*after == b' ') | (*after == b'\n') | (*after == b'\t') | (*after == b'\r');
            let word = is_word(*after);
            sum + u8::from((!word & !space) | (word & !is_word(*before)))
        });
        count += u32::from(begins);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "import warp as wp\n\n\n@wp.kernel\ndef scale(x: wp.array(dtype=float), k: float):\n    \"\"\"Scale.\"\"\"\n    i = wp.tid()\n    x[i] = wp.sin(x[i]) * 2.5 + k\n";

    #[test]
    fn names_constants_and_comments_count_where_they_should() {
        let base = Fingerprint::of(KERNEL);
        let renamed = Fingerprint::of(
            &KERNEL
                .replace("scale", "shrink")
                .replace("k:", "kk:")
                .replace("+ k", "+ kk"),
        );
        assert_ne!(base.exact, renamed.exact);
        assert_eq!(base.modulo_names, renamed.modulo_names);
        let other_number = Fingerprint::of(&KERNEL.replace("2.5", "7.25"));
        assert_ne!(base.modulo_names, other_number.modulo_names);
        assert_eq!(base.shape, other_number.shape);
        let described = Fingerprint::of(&KERNEL.replace("Scale.", "Makes it larger.  # really"));
        assert_eq!(
            (base.shape, base.modulo_names),
            (described.shape, described.modulo_names)
        );
    }

    #[test]
    fn other_structure_is_another_shape() {
        let base = Fingerprint::of(KERNEL);
        for (from, to) in [
            ("wp.sin", "wp.cos"),
            ("* 2.5", "- 2.5"),
            ("dtype=float", "dtype=int"),
            ("+ k", "+ x[i]"),
        ] {
            assert_ne!(
                base.shape,
                Fingerprint::of(&KERNEL.replace(from, to)).shape,
                "{to}"
            );
        }
        let swapped = KERNEL.replace("+ k", "+ i");
        assert_ne!(base.shape, Fingerprint::of(&swapped).shape);
    }

    #[test]
    fn near_texts_share_buckets() {
        let base = Fingerprint::of(KERNEL).minhash;
        let near = Fingerprint::of(&KERNEL.replace("2.5", "2.75")).minhash;
        let same = base.iter().zip(&near).filter(|(a, b)| a == b).count();
        assert!(same > MINHASH_BUCKETS / 2, "{same}");
    }

    #[test]
    fn tokens_are_words_and_symbols() {
        assert_eq!(token_count(""), 0);
        assert_eq!(token_count("wp::add(a, b_2);\n  x"), 11);
        let long = "wp::add(a, b_2);\n  x ".repeat(40);
        assert_eq!(token_count(&long), 440);
    }

    #[test]
    fn a_part_has_the_hash_of_its_bytes() {
        let bytes = b"positions + wp.vec3(0.5)";
        for at in 0..bytes.len() {
            for end in at..=bytes.len() {
                let (part, whole) = (hash_part(bytes, at, end), hash_bytes(&bytes[at..end]));
                assert_eq!(part, whole, "{at}..{end}");
            }
        }
    }

    #[test]
    fn any_text_can_be_read() {
        for text in ["", "\"", "\"\"\"", "#", "'\\", "é = 1\n", "0x", "    "] {
            Fingerprint::of(text);
        }
    }
}
