//! Mutations of seeds: the same seed number and corpus give the same inputs on every machine.

/// Numbers that parsers get wrong: limits of types, signs, and sizes next to powers of two.
const NUMBERS: [u64; 20] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    0xffff_ffff_ffff_ffff,
];

/// Texts that every language has: quotes, brackets, numbers out of range, characters of several bytes.
const TOKENS: [&str; 24] = [
    "\"",
    "'",
    "\"\"\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\\",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "#",
    "-1",
    "1e999",
    "-9223372036854775809",
    "18446744073709551616",
    "NaN",
    "é",
    "\u{1F600}",
    "\u{feff}",
    "${",
];

/// The longest input: longer than every seed, so that none is cut short by rule.
const LONGEST: usize = 96 << 10;

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, 0 where there is none.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// The next input: one of the seeds, changed a few times.
pub fn input(seeds: &[Vec<u8>], dictionary: &[&str], random: &mut Random) -> Vec<u8> {
    let mut data = random.pick(seeds).cloned().unwrap_or_default();
    // Most inputs stay close to a valid file, so that they get past its header.
    let changes = 1 << random.below(5);
    for _ in 0..changes {
        change(&mut data, seeds, dictionary, random);
    }
    data.truncate(LONGEST);
    data
}

/// A place in `data` and a length that fits there.
fn span(data: &[u8], random: &mut Random, longest: usize) -> (usize, usize) {
    let at = random.below(data.len());
    (at, random.below(longest).min(data.len() - at))
}

fn change(data: &mut Vec<u8>, seeds: &[Vec<u8>], dictionary: &[&str], random: &mut Random) {
    let length = data.len();
    match random.below(12) {
        0 => {
            if let Some(byte) = data.get_mut(random.below(length)) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = data.get_mut(random.below(length)) {
                *byte = random.next() as u8;
            }
        }
        2 => number(data, random),
        3 => data.truncate(random.below(length + 1)),
        4 => {
            let (at, count) = span(data, random, 64);
            data.drain(at..at + count);
        }
        5 => {
            let (at, count) = span(data, random, 256);
            let copy = data[at..at + count].to_vec();
            let to = random.below(length + 1);
            data.splice(to..to, copy);
        }
        6 => {
            // The beginning of this and the end of another.
            if let Some(other) = random.pick(seeds) {
                let from = random.below(other.len());
                data.truncate(random.below(length + 1));
                data.extend_from_slice(&other[from..]);
            }
        }
        7 => {
            if let Some(other) = random.pick(seeds) {
                let (from, count) = span(other, random, 512);
                let to = random.below(length + 1);
                data.splice(to..to, other[from..from + count].iter().copied());
            }
        }
        8 => insert(data, random.pick(&TOKENS).copied(), random),
        9 => insert(data, random.pick(dictionary).copied(), random),
        10 => {
            // Depth and length: what a recursive parser or a size field does not expect.
            let token = random.pick(dictionary).or(TOKENS.get(3)).copied();
            let many = token.unwrap_or("(").repeat(1 << random.below(12));
            insert(data, Some(&many), random);
        }
        _ => {
            let byte = random.next() as u8;
            let count = 1 << random.below(10);
            let to = random.below(length + 1);
            data.splice(to..to, std::iter::repeat_n(byte, count));
        }
    }
}

fn insert(data: &mut Vec<u8>, token: Option<&str>, random: &mut Random) {
    let Some(token) = token else {
        return;
    };
    let at = random.below(data.len() + 1);
    // Half of the time over what was there, so that lengths before it stay right.
    let over = if random.below(2) == 0 {
        token.len().min(data.len() - at)
    } else {
        0
    };
    data.splice(at..at + over, token.bytes());
}

/// Writes a number of two, four or eight bytes over what is there.
fn number(data: &mut [u8], random: &mut Random) {
    let width = 2 << random.below(3);
    let Some(last) = data.len().checked_sub(width) else {
        return;
    };
    let at = random.below(last + 1);
    let value = random.pick(&NUMBERS).copied().unwrap_or_default();
    let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
    let bytes = if random.below(4) == 0 {
        &big[8 - width..]
    } else {
        &little[..width]
    };
    data[at..at + width].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_inputs_and_another_seed_gives_others() {
        let seeds = [b"RIFF....WAVEfmt ".to_vec(), b"data".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..500)
                .map(|_| input(&seeds, &["fmt "], &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn an_empty_corpus_gives_inputs_too() {
        let mut random = Random::new(3);
        let made: Vec<_> = (0..500).map(|_| input(&[], &[], &mut random)).collect();
        assert!(made.iter().any(|data| !data.is_empty()));
        assert!(made.iter().all(|data| data.len() <= LONGEST));
    }
}
