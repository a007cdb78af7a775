//! The pieces that chapters are made of.

use serde::{Deserialize, Serialize};

use super::{Figure, State, Table};

/// A piece of a chapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// A heading with a muted note behind it.
    Heading {
        /// In a few words.
        title: String,
        /// What it shows and over what; may be empty.
        note: String,
    },
    /// A paragraph.
    Text(String),
    /// Lines as they stand in a file or on a terminal.
    Lines(String),
    /// Tags in a row: `✓ build 100`.
    Tags(Vec<Tag>),
    /// A tag, a sentence, and a command that would tell more.
    Remark {
        /// The tag.
        tag: Tag,
        /// The sentence; may be empty.
        text: String,
        /// May be absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// A table.
    Table(Table),
    /// A picture.
    Figure(Figure),
    /// Side by side where there is room, with shares of the width.
    Columns(Vec<(u32, Vec<Block>)>),
    /// Something to listen to.
    Sound(Sound),
}

/// A few words with a judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tag {
    /// How it is shown; absent for a plain grey word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The words.
    pub text: String,
    /// A number or word to be stressed behind them; may be empty.
    pub strong: String,
}

/// A recording inside the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sound {
    /// What one hears.
    pub caption: String,
    /// The WAV file; only the page carries it.
    #[serde(skip)]
    pub wav: Vec<u8>,
}

/// Something folded away; its line says what is inside and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// What is inside.
    pub title: String,
    /// How it came out: `41 of 41 agree`.
    pub note: String,
    /// The content.
    pub blocks: Vec<Block>,
}
