//! What a listener can set, with ranges; everything here is heard.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::compose::scale::Scale;
use crate::error::ParamError;

/// A pitch class, 0 = C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(u8);

const KEY_NAMES: [&str; 12] = [
    "C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B",
];

impl Key {
    /// The key `semitones` above C, octaves apart being the same.
    pub fn above_c(semitones: u8) -> Self {
        Self(semitones % 12)
    }

    /// Semitones above C.
    pub fn semitones(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(KEY_NAMES[usize::from(self.0 % 12)])
    }
}

impl FromStr for Key {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Self, ParamError> {
        let mut letters = text.chars();
        let natural = match letters.next().map(|letter| letter.to_ascii_uppercase()) {
            Some('C') => 0,
            Some('D') => 2,
            Some('E') => 4,
            Some('F') => 5,
            Some('G') => 7,
            Some('A') => 9,
            Some('B') => 11,
            _ => return Err(ParamError::unknown("key", text, &KEY_NAMES)),
        };
        let shift = match letters.as_str() {
            "" => 0,
            "#" | "♯" => 1,
            "b" | "♭" => 11,
            _ => return Err(ParamError::unknown("key", text, &KEY_NAMES)),
        };
        Ok(Self::above_c(natural + shift))
    }
}

impl TryFrom<String> for Key {
    type Error = ParamError;

    fn try_from(text: String) -> Result<Self, ParamError> {
        text.parse()
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

/// Declares an enum whose variants are words that a user types.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// What each is called.
            pub const NAMES: &'static [&'static str] = &[$($word),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $word),* })
            }
        }

        impl FromStr for $name {
            type Err = ParamError;

            fn from_str(text: &str) -> Result<Self, ParamError> {
                let lower = text.to_ascii_lowercase();
                match lower.as_str() {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(ParamError::unknown($what, text, Self::NAMES)),
                }
            }
        }
    };
}

words! {
    /// The scale that everything is drawn from.
    Mode, "mode" {
        /// Major.
        Ionian = "ionian",
        /// Minor with a raised sixth.
        Dorian = "dorian",
        /// Minor with a lowered second.
        Phrygian = "phrygian",
        /// Major with a raised fourth.
        Lydian = "lydian",
        /// Major with a lowered seventh.
        Mixolydian = "mixolydian",
        /// Natural minor.
        Aeolian = "aeolian",
        /// Minor with a raised seventh.
        HarmonicMinor = "harmonic-minor",
        /// Five notes over the chords of major.
        MajorPentatonic = "major-pentatonic",
        /// Five notes over the chords of minor.
        MinorPentatonic = "minor-pentatonic",
    }
}

words! {
    /// What a part is played on.
    #[derive(Default)]
    Patch, "kind of instrument" {
        /// The part's own: a pad for the chords, a sine for the melody and so on.
        #[default]
        Usual = "usual",
        /// A piano with felt between hammers and strings.
        Felt = "felt",
        /// A bell.
        Bell = "bell",
        /// A plucked string.
        String = "string",
    }
}

words! {
    /// A set of parameters with a name.
    Preset, "preset" {
        /// D dorian, moderate.
        Focus = "focus",
        /// C aeolian, calm.
        Meditation = "meditation",
        /// E phrygian, very calm and dark.
        Sleep = "sleep",
        /// G lydian, open.
        Bright = "bright",
        /// C ionian, a slow felt piano.
        Piano = "piano",
        /// A dorian, plucked eighths and bells.
        Pulse = "pulse",
    }
}

/// Which voices play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parts {
    /// Chords.
    pub pads: bool,
    /// Roots of the chords.
    pub bass: bool,
    /// Single notes.
    pub melody: bool,
    /// The notes of the chord in eighths.
    pub pulse: bool,
    /// Bells.
    pub bells: bool,
    /// Kicks.
    pub kicks: bool,
    /// Noise swells, and the texture.
    pub swells: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            pads: true,
            bass: true,
            melody: true,
            pulse: false,
            bells: false,
            kicks: true,
            swells: true,
        }
    }
}

impl Parts {
    /// What each is called.
    pub const NAMES: &'static [&'static str] = &[
        "pads", "bass", "melody", "pulse", "bells", "kicks", "swells",
    ];

    /// All silent.
    pub const NONE: Self = Self {
        pads: false,
        bass: false,
        melody: false,
        pulse: false,
        bells: false,
        kicks: false,
        swells: false,
    };

    /// Whether the part of that name plays, to be changed.
    pub fn of_mut(&mut self, name: &str) -> Result<&mut bool, ParamError> {
        Ok(match name {
            "pads" => &mut self.pads,
            "bass" => &mut self.bass,
            "melody" => &mut self.melody,
            "pulse" => &mut self.pulse,
            "bells" => &mut self.bells,
            "kicks" => &mut self.kicks,
            "swells" => &mut self.swells,
            _ => return Err(ParamError::unknown("part", name, Self::NAMES)),
        })
    }
}

/// What the pitched parts are played on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Instruments {
    /// Of the chords.
    pub pads: Patch,
    /// Of the roots.
    pub bass: Patch,
    /// Of the melody.
    pub melody: Patch,
    /// Of the pulse; a plucked string usually.
    pub pulse: Patch,
    /// Of the bells.
    pub bells: Patch,
}

impl Instruments {
    /// The parts that have one.
    pub const PARTS: &'static [&'static str] = &["pads", "bass", "melody", "pulse", "bells"];

    /// What the part of that name is played on, to be changed.
    pub fn of_mut(&mut self, part: &str) -> Result<&mut Patch, ParamError> {
        Ok(match part {
            "pads" => &mut self.pads,
            "bass" => &mut self.bass,
            "melody" => &mut self.melody,
            "pulse" => &mut self.pulse,
            "bells" => &mut self.bells,
            _ => {
                return Err(ParamError::unknown(
                    "part with an instrument",
                    part,
                    Self::PARTS,
                ));
            }
        })
    }
}

/// What a listener can set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Root of the scale.
    pub key: Key,
    /// The scale.
    pub mode: Mode,
    /// A scale of the listener's own in cents, instead of the mode's.
    pub scale: Option<Scale>,
    /// Beats per minute, 40 to 120.
    pub bpm: f32,
    /// 0 to 1: notes, octaves, loudness, percussion, brightness.
    pub intensity: f32,
    /// 0 to 1: how far the melody leaves the chord.
    pub complexity: f32,
    /// 0 to 1: how freely chords follow each other.
    pub variety: f32,
    /// 0 to 1: how many notes a chord has.
    pub density: f32,
    /// 0 to 1: cutoff of the pads' filter.
    pub brightness: f32,
    /// 0 to 1: delay and reverb.
    pub space: f32,
    /// 0 to 1: loudness of everything.
    pub volume: f32,
    /// Decibels that make a preset as loud as it should be at the usual volume.
    pub trim: f32,
    /// 0 to 1: a bed of soft noise.
    pub texture: f32,
    /// Which voices play.
    pub parts: Parts,
    /// What they play on.
    pub instruments: Instruments,
}

impl Default for Params {
    fn default() -> Self {
        Self::preset(Preset::Focus)
    }
}

impl Preset {
    /// Integrated loudness at the usual volume, LUFS.
    pub fn loudness(self) -> f64 {
        match self {
            Self::Sleep => -24.0,
            Self::Focus | Self::Meditation => -18.0,
            // What is struck has higher peaks for its loudness: these stay clear of the limiter.
            Self::Piano => -20.0,
            Self::Pulse => -17.0,
            Self::Bright => -16.0,
        }
    }
}

impl Params {
    /// Ranges by name, as users see them.
    pub const RANGES: &'static [(&'static str, f32, f32)] = &[
        ("bpm", 40.0, 120.0),
        ("intensity", 0.0, 1.0),
        ("complexity", 0.0, 1.0),
        ("variety", 0.0, 1.0),
        ("density", 0.0, 1.0),
        ("brightness", 0.0, 1.0),
        ("space", 0.0, 1.0),
        ("volume", 0.0, 1.0),
        ("trim", -40.0, 20.0),
        ("texture", 0.0, 1.0),
    ];

    /// The parameters of a preset.
    pub fn preset(preset: Preset) -> Self {
        let (key, mode, bpm, intensity) = match preset {
            Preset::Focus => (2, Mode::Dorian, 60.0, 0.5),
            Preset::Meditation => (0, Mode::Aeolian, 60.0, 0.3),
            Preset::Sleep => (4, Mode::Phrygian, 60.0, 0.2),
            Preset::Bright => (7, Mode::Lydian, 70.0, 0.6),
            Preset::Piano => (0, Mode::Ionian, 56.0, 0.4),
            Preset::Pulse => (9, Mode::Dorian, 84.0, 0.5),
        };
        let (brightness, space) = match preset {
            Preset::Focus => (0.5, 0.4),
            Preset::Meditation => (0.4, 0.6),
            Preset::Sleep => (0.2, 0.7),
            Preset::Bright => (0.8, 0.4),
            Preset::Piano => (0.8, 0.5),
            Preset::Pulse => (0.5, 0.45),
        };
        // What ten minutes of seeds 1 to 3 need to be as loud as `Preset::loudness` says.
        let trim = match preset {
            Preset::Focus => -7.1,
            Preset::Meditation => -5.7,
            Preset::Sleep => -10.6,
            Preset::Bright => -5.6,
            Preset::Piano => -2.8,
            Preset::Pulse => -5.0,
        };
        let (mut parts, mut instruments) = (Parts::default(), Instruments::default());
        match preset {
            Preset::Piano => {
                (parts.pulse, parts.kicks) = (true, false);
                let felt = Patch::Felt;
                (instruments.pads, instruments.bass) = (felt, felt);
                (instruments.melody, instruments.pulse) = (felt, felt);
            }
            Preset::Pulse => {
                (parts.pulse, parts.bells) = (true, true);
                instruments.melody = Patch::Bell;
            }
            _ => (),
        }
        Self {
            key: Key::above_c(key),
            mode,
            scale: None,
            bpm,
            intensity,
            complexity: 0.5,
            variety: 0.5,
            density: 0.5,
            brightness,
            space,
            volume: 0.8,
            trim,
            texture: if preset == Preset::Pulse { 0.3 } else { 0.0 },
            parts,
            instruments,
        }
    }

    /// The values behind [`Params::RANGES`], in that order.
    pub fn numbers(&self) -> [f32; 10] {
        [
            self.bpm,
            self.intensity,
            self.complexity,
            self.variety,
            self.density,
            self.brightness,
            self.space,
            self.volume,
            self.trim,
            self.texture,
        ]
    }

    /// The same, to be changed.
    pub fn numbers_mut(&mut self) -> [&mut f32; 10] {
        [
            &mut self.bpm,
            &mut self.intensity,
            &mut self.complexity,
            &mut self.variety,
            &mut self.density,
            &mut self.brightness,
            &mut self.space,
            &mut self.volume,
            &mut self.trim,
            &mut self.texture,
        ]
    }

    /// Whether every number is inside its range.
    pub fn validate(&self) -> Result<(), ParamError> {
        for (&(name, least, most), value) in Self::RANGES.iter().zip(self.numbers()) {
            // A NaN is outside every range.
            if !(least..=most).contains(&value) {
                return Err(ParamError::OutOfRange {
                    name,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_both_spellings() {
        for (text, semitones) in [
            ("C", 0),
            ("c#", 1),
            ("Db", 1),
            ("Cb", 11),
            ("B", 11),
            ("B#", 0),
        ] {
            assert_eq!(
                text.parse::<Key>().unwrap().semitones(),
                semitones,
                "{text}"
            );
        }
        for wrong in ["", "H", "C##", "Cm", "♭"] {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_outside_their_range_are_refused_by_name() {
        let mut params = Params {
            bpm: f32::NAN,
            ..Params::default()
        };
        assert!(params.validate().unwrap_err().to_string().contains("bpm"));
        params.bpm = 40.0;
        params.space = 1.01;
        let message = params.validate().unwrap_err().to_string();
        assert!(
            message.contains("`space`") && message.contains("0 to 1"),
            "{message}"
        );
        for preset in Preset::ALL {
            Params::preset(*preset).validate().unwrap();
        }
    }

    #[test]
    fn params_survive_json_and_unknown_fields_do_not() {
        let params = Params::preset(Preset::Bright);
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params);
        assert!(serde_json::from_str::<Params>(r#"{"tempo": 3}"#).is_err());
        assert!(serde_json::from_str::<Params>(r#"{"key": "H"}"#).is_err());
    }
}
