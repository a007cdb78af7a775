//! Files as users have them: whole, cut short, lying, and not audio at all.

use std::io::Write;
use std::path::Path;

use warpsmith_voice::{Audio, ChannelChoice, VoiceError, check_finite};

fn wav() -> (Audio, Vec<u8>) {
    let audio = Audio {
        sample_rate: 44_100,
        channels: vec![
            (0..1000).map(|n| (n as f32 * 0.05).sin() * 0.5).collect(),
            (0..1000).map(|n| (n as f32 * 0.03).cos() * 0.25).collect(),
        ],
    };
    let mut bytes = Vec::new();
    audio.write_wav(&mut bytes).unwrap();
    (audio, bytes)
}

fn read(bytes: &[u8]) -> Result<Audio, VoiceError> {
    let mut file = tempfile::Builder::new().suffix(".wav").tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Audio::read(file.path())
}

#[test]
fn what_was_written_is_read_back_exactly() {
    let (audio, bytes) = wav();
    assert_eq!(read(&bytes).unwrap(), audio);
    let piped = Audio::read_stream(Path::new("-"), &mut &bytes[..]).unwrap();
    assert_eq!(piped, audio);
}

#[test]
fn channels_mix_only_when_asked() {
    let (audio, _) = wav();
    assert_eq!(
        audio.signal(ChannelChoice::One(1)).unwrap(),
        audio.channels[1]
    );
    let mixed = audio.signal(ChannelChoice::Mix).unwrap();
    assert_eq!(
        mixed[10],
        (audio.channels[0][10] + audio.channels[1][10]) * 0.5
    );
    let error = audio.signal(ChannelChoice::One(2)).unwrap_err();
    assert!(error.to_string().contains("2 channels"), "{error}");
}

#[test]
fn a_file_cut_short_is_an_error_with_its_name_and_place() {
    let (_, bytes) = wav();
    let error = read(&bytes[..bytes.len() - 400]).unwrap_err().to_string();
    assert!(
        error.contains(".wav") && error.contains("near byte"),
        "{error}"
    );
}

#[test]
fn what_is_not_audio_is_an_error() {
    for bytes in [
        &b""[..],
        b"RIFF",
        b"RIFF\xff\xff\xff\xffWAVE",
        &[0; 5000],
        b"hello, world",
    ] {
        assert!(read(bytes).is_err());
    }
    let error = Audio::read(Path::new("no/such/file.wav")).unwrap_err();
    assert!(matches!(error, VoiceError::Io { .. }));
}

#[test]
fn damaged_files_decode_or_fail_but_never_panic() {
    let (_, bytes) = wav();
    let mut seed = 7u64;
    for round in 0..2000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + round % 8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Headers are where lies hurt: most damage goes to the first hundred bytes.
            let reach = if round % 4 == 0 { damaged.len() } else { 100 };
            damaged[(seed >> 33) as usize % reach] = (seed >> 24) as u8;
        }
        damaged.truncate(damaged.len() - (seed as usize >> 7) % 200);
        let _ = Audio::read_stream(Path::new("damaged.wav"), &mut &damaged[..]);
    }
}

#[test]
fn a_bad_sample_is_named() {
    let mut signal = vec![0.5f32; 10_000];
    check_finite(&signal).unwrap();
    signal[5000] = f32::NAN;
    signal[6000] = f32::INFINITY;
    let error = check_finite(&signal).unwrap_err();
    assert!(error.to_string().contains("sample 5000 is NaN"), "{error}");
}
