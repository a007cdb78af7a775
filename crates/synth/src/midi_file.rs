//! The composition as a MIDI file: one track, a channel to a voice.

use crate::note::{Note, Voice};

/// Ticks to a quarter note.
const TICKS: f64 = 480.0;
/// Channel of drums, as General MIDI has it.
const DRUMS: u8 = 9;

/// Channel, program and, where the voice has no pitch, the key that stands for it.
fn place(voice: Voice) -> (u8, u8, Option<u8>) {
    match voice {
        Voice::Pad => (0, 89, None),
        Voice::Bass => (1, 38, None),
        Voice::Lead => (2, 79, None),
        Voice::Swell => (3, 122, Some(60)),
        Voice::Kick => (DRUMS, 0, Some(36)),
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

/// The bytes of a MIDI file (format 0) with these notes at one tempo.
pub fn midi_file(notes: &[Note], bpm: f32, sample_rate: u32) -> Vec<u8> {
    let ticks = |samples: u64| {
        (samples as f64 / f64::from(sample_rate) * f64::from(bpm) / 60.0 * TICKS).round() as u64
    };
    // Time, then ends before beginnings, so that a repeated key is let go first.
    let mut events: Vec<(u64, u8, [u8; 3])> = Vec::with_capacity(2 * notes.len());
    for note in notes {
        let (channel, _, fixed) = place(note.voice);
        let key = fixed.unwrap_or(note.pitch.round().clamp(0.0, 127.0) as u8);
        let velocity = (note.velocity * 127.0).round().clamp(1.0, 127.0) as u8;
        let end = note.start + u64::from(note.length);
        events.push((ticks(note.start), 1, [0x90 | channel, key, velocity]));
        events.push((
            ticks(end).max(ticks(note.start) + 1),
            0,
            [0x80 | channel, key, 0],
        ));
    }
    events.sort_by_key(|event| (event.0, event.1));
    let micros = (60e6 / f64::from(bpm)) as u32;
    let mut track = vec![0, 0xff, 0x51, 3];
    track.extend_from_slice(&micros.to_be_bytes()[1..]);
    for voice in [Voice::Pad, Voice::Bass, Voice::Lead, Voice::Swell] {
        let (channel, program, _) = place(voice);
        track.extend_from_slice(&[0, 0xc0 | channel, program]);
    }
    let mut now = 0;
    for (time, _, bytes) in events {
        put_length(u32::try_from(time - now).unwrap_or(u32::MAX), &mut track);
        track.extend_from_slice(&bytes);
        now = time;
    }
    track.extend_from_slice(&[0, 0xff, 0x2f, 0]);
    let mut file = b"MThd\0\0\0\x06\0\0\0\x01".to_vec();
    file.extend_from_slice(&(TICKS as u16).to_be_bytes());
    file.extend_from_slice(b"MTrk");
    file.extend_from_slice(&(track.len() as u32).to_be_bytes());
    file.extend(track);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

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
        };
        let file = midi_file(&[note], 60.0, 44_100);
        assert_eq!(&file[..4], b"MThd");
        let on = [0x83, 0x60, 0x92, 69, 64];
        let off = [0x81, 0x70, 0x82, 69, 0];
        let at = |needle: &[u8]| file.windows(needle.len()).position(|w| w == needle);
        assert!(at(&on).unwrap() < at(&off).unwrap());
        assert!(file.ends_with(&[0, 0xff, 0x2f, 0]));
    }
}
