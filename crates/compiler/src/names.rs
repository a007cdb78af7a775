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
        pub(crate) enum Keyword { $($word),* }

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

    /// The keyword that this is, if it is one.
    pub(crate) fn keyword(self) -> Option<Keyword> {
        let (_, keyword) = KEYWORDS.get(self.index().checked_sub(BUILTINS.len())?)?;
        Some(*keyword)
    }
}

/// The table of names: one buffer of text, one open-addressing index over it.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    spans: Vec<(u32, u32)>,
    slots: Vec<u32>,
    /// Slots that user names took, to be cleared on a reset.
    taken: Vec<u32>,
    known_text: usize,
}

const EMPTY: u32 = u32::MAX;

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
    pub(crate) fn empty() -> Self {
        Self {
            text: String::new(),
            spans: Vec::new(),
            slots: Vec::new(),
            taken: Vec::new(),
            known_text: 0,
        }
    }

    /// Forgets everything but builtins and keywords, keeping the memory.
    pub(crate) fn reset(&mut self) {
        if self.slots.is_empty() {
            *self = Self::new();
            return;
        }
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
        let mut at = hash(text) & mask;
        loop {
            match self.slots[at] {
                EMPTY => {
                    let name = self.push(text);
                    self.slots[at] = name.0;
                    self.taken.push(at as u32);
                    return name;
                }
                found if self.get(Name(found)) == text => return Name(found),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Looks `text` up without entering it.
    pub fn find(&self, text: &str) -> Option<Name> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash(text) & mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                found if self.get(Name(found)) == text => return Some(Name(found)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Enters `text` without looking for an equal one: for texts that are compared with nothing.
    pub(crate) fn push(&mut self, text: &str) -> Name {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.spans.push((start, self.text.len() as u32));
        Name(self.spans.len() as u32 - 1)
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
        let mut entered: Vec<u32> = self
            .slots
            .iter()
            .copied()
            .filter(|slot| *slot != EMPTY)
            .collect();
        entered.sort_unstable();
        for index in entered {
            let mut at = hash(self.get(Name(index))) & mask;
            while slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            slots[at] = index;
            if index as usize >= KNOWN {
                self.taken.push(at as u32);
            }
        }
        self.slots = slots;
    }
}

fn hash(text: &str) -> usize {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (state ^ (state >> 29)) as usize
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
