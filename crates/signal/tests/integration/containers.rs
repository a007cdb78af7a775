//! Small files of coded sound (`golden/make.sh`), beside the tone that they were made of.

use std::path::{Path, PathBuf};

use warpsmith_signal::Audio;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn tone(seconds: f64, rate: u32) -> Vec<f32> {
    let samples = (seconds * f64::from(rate)).round() as usize;
    let sample = |n: usize| {
        let t = n as f64 / f64::from(rate);
        (0.4 * (std::f64::consts::TAU * (300.0 * t + 1500.0 * t * t)).sin()) as f32
    };
    (0..samples).map(sample).collect()
}

/// How far the difference lies below the signal, dB.
fn distance(found: &[f32], expected: &[f32]) -> f64 {
    let power = |x: f32| f64::from(x).powi(2);
    let signal: f64 = expected.iter().map(|x| power(*x)).sum();
    let noise: f64 = found.iter().zip(expected).map(|(x, y)| power(x - y)).sum();
    10.0 * (signal / noise).log10()
}

#[test]
fn what_encoders_put_around_a_recording_is_left_out() {
    // A sample too many at the start, and the end of the tone (1200 Hz) would be at 10 dB.
    for (name, rate, decibels) in [
        ("tone.opus", 48_000, 20.0),
        ("tone.mp3", 44_100, 20.0),
        ("tone.m4a", 44_100, 20.0),
    ] {
        let audio = Audio::read(&golden(name)).unwrap();
        let expected = tone(0.3, rate);
        assert_eq!(
            (audio.sample_rate, audio.channels.len(), audio.frames()),
            (rate, 1, expected.len()),
            "{name}"
        );
        let found = distance(&audio.channels[0], &expected);
        assert!(found > decibels, "{name}: {found:.1} dB");
    }
}

#[test]
fn a_file_that_is_no_audio_says_why_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("take 1.ogg");
    let ogg = std::fs::read(golden("chained.ogg")).unwrap();
    for (bytes, reason) in [
        (&b""[..], "it is empty"),
        (
            b"a letter to you, not a sound",
            "no format that is read here begins like it",
        ),
        (&ogg[..60], "it ends inside its header"),
        (
            b"\0\0\0\x1cftypM4A \0\0\x02\0M4A isomiso2\0\0\0\x40mdat",
            "it begins as MP4, and the index is missing",
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = Audio::read(&path).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains(&format!("not a known audio file: {reason}")),
            "{said}"
        );
        // Where a known kind is looked for is no place in the file.
        assert_eq!(
            said.contains("at its first byte: "),
            !reason.starts_with("it ends"),
            "{said}"
        );
        assert!(!error.is_of_damage(), "{said}");
    }
}

#[test]
fn streams_of_a_chain_follow_each_other() {
    for (name, rate) in [("chained.opus", 48_000), ("chained.ogg", 44_100)] {
        let audio = Audio::read(&golden(name)).unwrap();
        let first = tone(0.3, rate);
        let expected = [&first[..], &tone(0.2, rate)].concat();
        assert_eq!(audio.frames(), expected.len(), "{name}");
        for (found, expected) in [
            (&audio.channels[0][..first.len()], &first[..]),
            (&audio.channels[0][first.len()..], &expected[first.len()..]),
        ] {
            let found = distance(found, expected);
            assert!(found > 10.0, "{name}: {found:.1} dB");
        }
        // From a pipe, too, where nobody can look at the end first.
        let bytes = std::fs::read(golden(name)).unwrap();
        let mut piped = Vec::new();
        let source = std::io::Cursor::new(bytes);
        Audio::each_piece(Path::new("-"), source, &mut |piece| {
            piped.extend_from_slice(&piece.channels[0]);
            Ok(())
        })
        .unwrap();
        assert_eq!(piped, audio.channels[0], "{name}");
    }
}

#[test]
fn matroska_ends_within_a_packet_of_the_recording() {
    for (name, rate) in [("tone.webm", 48_000), ("tone.mka", 44_100)] {
        let audio = Audio::read(&golden(name)).unwrap();
        let expected = tone(0.3, rate);
        assert_eq!((audio.sample_rate, audio.channels.len()), (rate, 1));
        let beyond = audio.frames() - expected.len();
        assert!(beyond < 1024, "{name}: {beyond} samples more");
        let found = distance(&audio.channels[0], &expected);
        assert!(found > 20.0, "{name}: {found:.1} dB");
    }
}

#[test]
fn six_channels_of_opus_are_in_their_places() {
    let audio = Audio::read(&golden("surround.opus")).unwrap();
    assert_eq!((audio.channels.len(), audio.frames()), (6, 14_400));
    // The order of Vorbis: left, centre, right, back left, back right, deep.
    let expected = tone(0.3, 48_000);
    for (channel, gain) in audio.channels.iter().zip([1.0, 0.5, -1.0, 0.25, -0.5]) {
        let expected: Vec<f32> = expected.iter().map(|x| x * gain).collect();
        let found = distance(channel, &expected);
        assert!(found > 10.0, "{gain}: {found:.1} dB");
    }
}

#[test]
fn coded_files_that_end_early_are_errors_and_can_be_salvaged() {
    for (name, kept, least) in [
        ("chained.opus", 2_900, 14_400),
        ("chained.ogg", 6_000, 13_230),
        ("tone.mp3", 2_200, 8_000),
    ] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let mut file = tempfile::Builder::new().suffix(name).tempfile().unwrap();
        std::io::Write::write_all(&mut file, &bytes[..kept]).unwrap();
        let error = Audio::read(file.path()).map(|audio| audio.frames());
        assert!(error.is_err(), "{name}: {error:?}");
        let mut salvaged = 0;
        let read = Audio::each_piece_salvaged(file.path(), &mut |piece| {
            salvaged += piece.frames();
            Ok(())
        });
        assert!(read.is_ok(), "{name}: {read:?}");
        assert!(salvaged >= least, "{name}: {salvaged}");
    }
}

#[test]
fn damaged_coded_files_decode_or_fail() {
    let mut seed = 3u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for name in [
        "chained.opus",
        "surround.opus",
        "chained.ogg",
        "tone.webm",
        "tone.mka",
        "tone.mp3",
        "tone.m4a",
    ] {
        let whole = std::fs::read(golden(name)).unwrap();
        for round in 0..60 {
            let mut bytes = whole.clone();
            // Headers are at the start.
            let reach = if round % 2 == 0 { bytes.len() } else { 900 };
            for _ in 0..1 + round % 5 {
                bytes[next(reach)] = next(256) as u8;
            }
            let read = Audio::read_stream(Path::new(name), &mut &bytes[..]);
            if let Ok(audio) = read {
                assert!(audio.frames() < 200_000, "{name}: {}", audio.frames());
            }
        }
    }
}

/// A WAV file of 16 bits and one channel whose header says a rate and so many bytes of samples.
fn short_wav(rate: u32, samples: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + samples.len() as u32).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(rate.to_le_bytes());
    bytes.extend((2 * rate).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend((samples.len() as u32).to_le_bytes());
    bytes.extend(samples);
    bytes
}

#[test]
fn a_byte_after_the_last_frame_is_no_missing_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.wav");
    std::fs::write(&path, short_wav(8000, &[0, 64, 0, 32, 9])).unwrap();
    let audio = Audio::read(&path).unwrap();
    assert_eq!(audio.channels, [[0.5, 0.25]]);
    std::fs::write(&path, &short_wav(8000, &[0; 100])[..90]).unwrap();
    assert!(Audio::read(&path).unwrap_err().is_of_damage());
}

#[test]
fn a_rate_that_cannot_be_is_no_damage_that_can_be_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("still.wav");
    for rate in [0, u32::MAX / 2] {
        std::fs::write(&path, short_wav(rate, &[0; 100])).unwrap();
        let error = Audio::read(&path).unwrap_err();
        assert!(error.to_string().contains("rates go from 1"), "{error}");
        assert!(!error.is_of_damage() && !error.is_of_unknown_kind());
    }
}
