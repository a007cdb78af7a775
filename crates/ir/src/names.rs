//! Interned text: Python names, field names, source lines. A [`Name`] is an index, so comparing two
//! names is comparing two integers.
//!
//! The names of all builtins come first, in the order of their table: `name.index() < BUILTINS.len()`
//! says at once whether a name is a builtin and which one. Python's keywords come next.

use crate::builtin::BUILTINS;

/// Defines the keywords with their spelling, in one order.
macro_rules! keywords {
    ($($word:ident $text:literal)*) => {
        /// A keyword of Python.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Keyword { $($word),* }

        const KEYWORDS: &[(&str, Keyword)] = &[$(($text, Keyword::$word)),*];
    };
}

keywords! {
    False "False" None "None" True "True" And "and" As "as" Assert "assert" Async "async" Await "await"
    Break "break" Class "class" Continue "continue" Def "def" Del "del" Elif "elif" Else "else"
    Except "except" Finally "finally" For "for" From "from" Global "global" If "if" Import "import"
    In "in" Is "is" Lambda "lambda" Nonlocal "nonlocal" Not "not" Or "or" Pass "pass" Raise "raise"
    Return "return" Try "try" While "while" With "with" Yield "yield"
}

/// How many names are known before any source is read.
const KNOWN: usize = BUILTINS.len() + KEYWORDS.len();

/// An interned string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    /// Position in the table of names.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The name of a builtin, by its position in the table.
    pub fn of_builtin(index: u16) -> Self {
        Self(u32::from(index))
    }

    /// The keyword that this is, if it is one.
    pub fn keyword(self) -> Option<Keyword> {
        let (_, keyword) = KEYWORDS.get(self.index().checked_sub(BUILTINS.len())?)?;
        Some(*keyword)
    }
}

/// The table of names: one buffer of text, one open-addressing index over it.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    spans: Vec<(u32, u32)>,
    slots: Vec<Slot>,
    /// Slots that user names took, to be cleared on a reset.
    taken: Vec<u32>,
    known_text: usize,
    /// Words of up to eight bytes that were met lately, as numbers, and their names: a source repeats few.
    recent: Vec<(u64, Name)>,
}

/// How many words are remembered.
const RECENT: usize = 64;

/// No word: a word of no bytes.
const NO_WORD: (u64, Name) = (0, Name(0));

/// A name in the index, with its hash: most texts that differ are told apart without looking at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    hash: u32,
    name: u32,
}

const EMPTY: Slot = Slot {
    hash: 0,
    name: u32::MAX,
};

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    /// A table that holds the names of the builtins.
    pub fn new() -> Self {
        let mut names = Self {
            text: String::with_capacity(16 << 10),
            spans: Vec::with_capacity(2048),
            slots: vec![EMPTY; 4096],
            taken: Vec::new(),
            known_text: 0,
            recent: vec![NO_WORD; RECENT],
        };
        for builtin in &BUILTINS {
            names.intern(builtin.name);
        }
        for (text, _) in KEYWORDS {
            names.intern(text);
        }
        names.known_text = names.text.len();
        names.taken.clear();
        names
    }

    /// A table with nothing in it, not even memory; [`Names::reset`] fills it.
    pub fn empty() -> Self {
        Self {
            text: String::new(),
            spans: Vec::new(),
            slots: Vec::new(),
            taken: Vec::new(),
            known_text: 0,
            recent: Vec::new(),
        }
    }

    /// Forgets everything but builtins and keywords, keeping the memory.
    pub fn reset(&mut self) {
        if self.slots.is_empty() {
            *self = Self::new();
            return;
        }
        self.recent.fill(NO_WORD);
        self.text.truncate(self.known_text);
        self.spans.truncate(KNOWN);
        // Entries that came later never displaced one of the first, so clearing them leaves
        // every probe chain of those whole.
        for slot in self.taken.drain(..) {
            self.slots[slot as usize] = EMPTY;
        }
    }

    /// The name of `text`, entered if it is new.
    pub fn intern(&mut self, text: &str) -> Name {
        if self.spans.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let hash = hash(text);
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => {
                    let name = self.push(text);
                    self.slots[at] = Slot { hash, name: name.0 };
                    self.taken.push(at as u32);
                    return name;
                }
                found if found.hash == hash && self.bytes(found.name) == text.as_bytes() => {
                    return Name(found.name);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The name of the word `text[start..end]`, which has no byte that is 0.
    pub fn intern_word(&mut self, text: &str, start: usize, end: usize) -> Name {
        let length = end - start;
        let eight = text
            .as_bytes()
            .get(start..)
            .and_then(|rest| rest.first_chunk());
        let (Some(eight), 1..=8) = (eight, length) else {
            return self.intern(&text[start..end]);
        };
        let word = u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * length));
        let at = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        match self.recent.get(at) {
            Some((same, name)) if *same == word => *name,
            _ => {
                let name = self.intern(&text[start..end]);
                if let Some(place) = self.recent.get_mut(at) {
                    *place = (word, name);
                }
                name
            }
        }
    }

    /// Enters all names into another table; its names, by the positions of these.
    pub fn entered_into(&self, other: &mut Self) -> Vec<Name> {
        let known = (0..KNOWN as u32).map(Name);
        let met = (KNOWN as u32..self.spans.len() as u32).map(Name);
        known
            .chain(met.map(|name| other.intern(self.get(name))))
            .collect()
    }

    /// Looks `text` up without entering it.
    pub fn find(&self, text: &str) -> Option<Name> {
        let mask = self.slots.len().checked_sub(1)?;
        let hash = hash(text);
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                found if found.hash == hash && self.bytes(found.name) == text.as_bytes() => {
                    return Some(Name(found.name));
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Enters `text` without looking for an equal one: for texts that are compared with nothing.
    pub fn push(&mut self, text: &str) -> Name {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.spans.push((start, self.text.len() as u32));
        Name(self.spans.len() as u32 - 1)
    }

    /// The bytes of a name, without a look at where characters begin.
    fn bytes(&self, name: u32) -> &[u8] {
        let (start, end) = self.spans[name as usize];
        &self.text.as_bytes()[start as usize..end as usize]
    }

    /// The text of a name.
    pub fn get(&self, name: Name) -> &str {
        let (start, end) = self.spans[name.index()];
        &self.text[start as usize..end as usize]
    }

    fn grow(&mut self) {
        let mask = (self.slots.len() * 2).max(64) - 1;
        self.taken.clear();
        let mut slots = vec![EMPTY; mask + 1];
        // In order of entry, which keeps the builtins first in their probe chains.
        let mut entered: Vec<Slot> = self
            .slots
            .iter()
            .copied()
            .filter(|slot| *slot != EMPTY)
            .collect();
        entered.sort_unstable_by_key(|slot| slot.name);
        for slot in entered {
            let mut at = slot.hash as usize & mask;
            while slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            slots[at] = slot;
            if slot.name as usize >= KNOWN {
                self.taken.push(at as u32);
            }
        }
        self.slots = slots;
    }
}

/// Eight bytes at a time; names are short.
fn hash(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut state = bytes.len() as u64;
    let mut mix = |word: u64| {
        state = (state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    };
    // First and last bytes overlap where a name is no multiple of a word.
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    match (bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes) {
        (Some(last), ..) => {
            for word in bytes.as_chunks::<8>().0 {
                mix(u64::from_le_bytes(*word));
            }
            mix(u64::from_le_bytes(*last));
        }
        (None, Some(first), _) => {
            let last = bytes.last_chunk().map_or(0, half);
            mix(half(first) << 32 | last);
        }
        (None, None, [first, .., last]) => {
            let middle = bytes[bytes.len() / 2];
            mix(u64::from(*first) << 16 | u64::from(middle) << 8 | u64::from(*last));
        }
        (None, None, _) => mix(bytes.first().map_or(0, |byte| u64::from(*byte))),
    }
    (state >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_name_and_builtins_come_first() {
        let mut names = Names::new();
        let first = names.intern("velocity");
        assert_eq!(names.intern("velocity"), first);
        assert!(first.index() >= BUILTINS.len());
        assert_eq!(BUILTINS[names.intern("sin").index()].name, "sin");
        assert_eq!(names.intern("while").keyword(), Some(Keyword::While));
        assert_eq!(first.keyword(), None);
        assert_eq!(names.intern("sin").keyword(), None);
    }

    #[test]
    fn a_word_has_the_name_of_its_text_before_and_after_a_reset() {
        let source = "wp.sin(a, ab, velocity, velocities, velocity) + a ";
        let mut names = Names::new();
        for _ in 0..2 {
            names.reset();
            names.intern("shift the numbers of new names");
            let mut start = 0;
            for word in source.split_inclusive(|c: char| !c.is_alphanumeric()) {
                let end = start + word.len() - 1;
                if end > start {
                    let name = names.intern_word(source, start, end);
                    assert_eq!(names.get(name), &source[start..end]);
                    assert_eq!(names.find(&source[start..end]), Some(name));
                }
                start += word.len();
            }
        }
    }

    #[test]
    fn a_reset_forgets_user_names_and_keeps_builtins() {
        let mut names = Names::new();
        for i in 0..5000 {
            names.intern(&format!("user_{i}"));
        }
        names.reset();
        assert!(names.find("user_17").is_none());
        for builtin in &BUILTINS {
            assert!(names.find(builtin.name).is_some(), "{}", builtin.name);
        }
    }
}
