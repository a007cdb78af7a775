//! The composition as a MIDI file: a track for the whole, and one for each part, with its name.
//!
//! Keys are whole semitones: a scale in cents is rounded to the nearest.

use crate::compose::composer::COMPOSITION_VERSION;
use crate::note::{Note, Voice};
use crate::params::{Mode, Params, Patch};

/// Ticks to a quarter note.
const TICKS: u16 = 480;
/// Channel of drums, as General MIDI has it.
const DRUMS: u8 = 9;

/// A part of the score.
struct Part {
    voice: Voice,
    name: &'static str,
    channel: u8,
    program: u8,
    /// The key that stands for a voice without pitch.
    key: Option<u8>,
}

const PARTS: [Part; 7] = [
    Part {
        voice: Voice::Lead,
        name: "Melody",
        channel: 2,
        program: 79,
        key: None,
    },
    Part {
        voice: Voice::Pad,
        name: "Pads",
        channel: 0,
        program: 89,
        key: None,
    },
    Part {
        voice: Voice::Bass,
        name: "Bass",
        channel: 1,
        program: 38,
        key: None,
    },
    Part {
        voice: Voice::Pulse,
        name: "Pulse",
        channel: 4,
        program: 46,
        key: None,
    },
    Part {
        voice: Voice::Bell,
        name: "Bells",
        channel: 5,
        program: 14,
        key: None,
    },
    Part {
        voice: Voice::Swell,
        name: "Swells",
        channel: 3,
        program: 122,
        key: Some(60),
    },
    Part {
        voice: Voice::Kick,
        name: "Kicks",
        channel: DRUMS,
        program: 0,
        key: Some(36),
    },
];

/// The sound of General MIDI that is nearest to what a part is played on.
fn program(part: &Part, params: &Params) -> u8 {
    let instruments = &params.instruments;
    let patch = match part.voice {
        Voice::Pad => instruments.pads,
        Voice::Bass => instruments.bass,
        Voice::Lead => instruments.melody,
        Voice::Pulse => instruments.pulse,
        Voice::Bell => instruments.bells,
        Voice::Kick | Voice::Swell => Patch::Usual,
    };
    match patch {
        Patch::Usual => part.program,
        Patch::Felt => 0,
        Patch::Bell => 14,
        Patch::String => 46,
    }
}

/// A number in groups of seven bits, most significant first.
fn put_length(value: u32, out: &mut Vec<u8>) {
    for group in (0..5).rev() {
        let rest = value >> (7 * group);
        if rest > 0 || group == 0 {
            out.push((rest & 0x7f) as u8 | if group > 0 { 0x80 } else { 0 });
        }
    }
}

/// An event that is no sound, at the time of the one before it.
fn put_meta(kind: u8, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0xff, kind]);
    put_length(data.len() as u32, out);
    out.extend_from_slice(data);
}

fn put_track(mut events: Vec<u8>, file: &mut Vec<u8>) {
    put_meta(0x2f, &[], &mut events);
    file.extend_from_slice(b"MTrk");
    file.extend_from_slice(&(events.len() as u32).to_be_bytes());
    file.extend(events);
}

/// Sharps, or flats below zero, and 1 for minor; none for a scale that notation has no sign for.
fn key_signature(params: &Params) -> Option<[u8; 2]> {
    if params.scale.is_some() {
        return None;
    }
    // Semitones from the major scale with the same notes up to the mode's root.
    let (above, minor) = match params.mode {
        Mode::Ionian | Mode::MajorPentatonic => (0, 0),
        Mode::Dorian => (2, 1),
        Mode::Phrygian => (4, 1),
        Mode::Lydian => (5, 0),
        Mode::Mixolydian => (7, 0),
        Mode::Aeolian | Mode::HarmonicMinor | Mode::MinorPentatonic => (9, 1),
    };
    let major = (params.key.semitones() + 12 - above) % 12;
    // Each fifth up is a sharp; from six on, the flats of the other way round are fewer.
    let sharps = i8::try_from(7 * u32::from(major) % 12).unwrap_or(0);
    let sharps = if sharps > 6 { sharps - 12 } else { sharps };
    Some([sharps.cast_unsigned(), minor])
}

/// The whole: version and seed, tempo, four quarters, key.
fn conductor(params: &Params, seed: u64) -> Vec<u8> {
    let mut track = Vec::new();
    let text = format!("warpsmith, composition {COMPOSITION_VERSION}, seed {seed}");
    put_meta(0x03, b"Conductor", &mut track);
    put_meta(0x01, text.as_bytes(), &mut track);
    let micros = (60e6 / f64::from(params.bpm)) as u32;
    put_meta(0x51, &micros.to_be_bytes()[1..], &mut track);
    put_meta(0x58, &[4, 2, 24, 8], &mut track);
    if let Some(signature) = key_signature(params) {
        put_meta(0x59, &signature, &mut track);
    }
    track
}

/// The bytes of a MIDI file (format 1) with these notes at the tempo of `params`.
pub fn midi_file(notes: &[Note], params: &Params, seed: u64, sample_rate: u32) -> Vec<u8> {
    let ticks_a_second = f64::from(params.bpm) / 60.0 * f64::from(TICKS);
    let ticks =
        |samples: u64| (samples as f64 / f64::from(sample_rate) * ticks_a_second).round() as u64;
    let mut file = b"MThd\0\0\0\x06\0\x01".to_vec();
    file.extend_from_slice(&(PARTS.len() as u16 + 1).to_be_bytes());
    file.extend_from_slice(&TICKS.to_be_bytes());
    put_track(conductor(params, seed), &mut file);
    for part in &PARTS {
        // Time, then ends before beginnings, so that a repeated key is let go first.
        let mut events: Vec<(u64, u8, [u8; 3])> = Vec::new();
        for note in notes.iter().filter(|note| note.voice == part.voice) {
            let key = part
                .key
                .unwrap_or(note.pitch.round().clamp(0.0, 127.0) as u8);
            let velocity = (note.velocity * 127.0).round().clamp(1.0, 127.0) as u8;
            let (on, off) = (0x90 | part.channel, 0x80 | part.channel);
            let begins = ticks(note.start);
            let ends = ticks(note.start + u64::from(note.length)).max(begins + 1);
            events.push((begins, 1, [on, key, velocity]));
            events.push((ends, 0, [off, key, 0]));
        }
        events.sort_by_key(|event| (event.0, event.1));
        let mut track = Vec::new();
        put_meta(0x03, part.name.as_bytes(), &mut track);
        if part.channel != DRUMS {
            let program = program(part, params);
            track.extend_from_slice(&[0, 0xc0 | part.channel, program]);
        }
        let mut now = 0;
        for (time, _, bytes) in events {
            put_length(u32::try_from(time - now).unwrap_or(u32::MAX), &mut track);
            track.extend_from_slice(&bytes);
            now = time;
        }
        put_track(track, &mut file);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::composer::compose;
    use crate::params::Key;

    #[test]
    fn lengths_are_variable() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x81, 0]),
            (0x0fff_ffff, &[0xff, 0xff, 0xff, 0x7f]),
        ] {
            let mut out = Vec::new();
            put_length(value, &mut out);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_note_begins_and_ends_on_its_ticks() {
        let note = Note {
            voice: Voice::Lead,
            start: 44_100,
            length: 22_050,
            pitch: 69.0,
            velocity: 0.5,
            pan: 0.0,
            seed: 0,
            patch: Patch::Usual,
        };
        let params = Params {
            bpm: 60.0,
            ..Params::default()
        };
        let file = midi_file(&[note], &params, 7, 44_100);
        assert_eq!(&file[..12], b"MThd\0\0\0\x06\0\x01\0\x08");
        let on = [0x83, 0x60, 0x92, 69, 64];
        let off = [0x81, 0x70, 0x82, 69, 0];
        let at = |needle: &[u8]| file.windows(needle.len()).position(|w| w == needle);
        assert!(at(&on).unwrap() < at(&off).unwrap());
        assert!(at(b"\xff\x58\x04\x04\x02\x18\x08").is_some());
        assert!(at(b"\x06Melody").is_some());
        assert!(file.ends_with(&[0, 0xff, 0x2f, 0]));
    }

    #[test]
    fn tracks_are_as_long_as_they_say_and_hold_every_note() {
        let params = Params::default();
        let notes = compose(3, &params, 8_000, 8_000 * 300);
        let file = midi_file(&notes, &params, 3, 8_000);
        let (mut at, mut tracks) = (14, 0);
        while at < file.len() {
            assert_eq!(&file[at..at + 4], b"MTrk");
            let length: [u8; 4] = file[at + 4..at + 8].try_into().unwrap();
            at += 8 + u32::from_be_bytes(length) as usize;
            assert_eq!(&file[at - 3..at], &[0xff, 0x2f, 0]);
            tracks += 1;
        }
        assert_eq!((at, tracks), (file.len(), 8));
    }

    #[test]
    fn signatures_are_those_of_the_scales() {
        let signature = |key, mode| {
            key_signature(&Params {
                key: Key::above_c(key),
                mode,
                ..Params::default()
            })
            .unwrap()
        };
        // D dorian has no sign, E phrygian none, G lydian two sharps, C aeolian three flats.
        assert_eq!(signature(2, Mode::Dorian), [0, 1]);
        assert_eq!(signature(4, Mode::Phrygian), [0, 1]);
        assert_eq!(signature(7, Mode::Lydian), [2, 0]);
        assert_eq!(signature(0, Mode::Aeolian), [253, 1]);
        assert_eq!(signature(6, Mode::Ionian), [6, 0]);
    }
}
