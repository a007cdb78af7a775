//! Files as users have them: whole, cut short, lying, and not audio at all.

mod containers;

use std::io::Write;
use std::path::Path;

use warpsmith_signal::{Audio, ChannelChoice, PcmFormat, SignalError, check_finite};

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

fn read(bytes: &[u8]) -> Result<Audio, SignalError> {
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
fn a_long_file_takes_the_memory_of_its_samples() {
    let samples: Vec<f32> = (0..100_003).map(|n| (n % 77) as f32 / 128.0).collect();
    let audio = Audio {
        sample_rate: 16_000,
        channels: vec![samples],
    };
    let mut bytes = Vec::new();
    audio.write_wav(&mut bytes).unwrap();
    let found = read(&bytes).unwrap();
    assert_eq!(found, audio);
    // It grew by doubling, to 131,072.
    assert_eq!(found.channels[0].capacity(), 100_003);
    let place = found.channels[0].as_ptr();
    let signal = found.into_signal(ChannelChoice::Mix).unwrap();
    assert_eq!((signal.as_ptr(), signal.len()), (place, 100_003));
}

#[cfg(unix)]
#[test]
fn a_named_pipe_loses_nothing_to_the_question_how_long_it_is() {
    use std::process::Command;

    let (audio, bytes) = wav();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.wav");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(Audio::plain_size(&path), None);
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::write(path, bytes).unwrap()
    });
    assert_eq!(Audio::read(&path).unwrap(), audio);
    writer.join().unwrap();
}

#[test]
fn channels_come_out_in_their_own_memory() {
    let (audio, _) = wav();
    for choice in [
        ChannelChoice::One(0),
        ChannelChoice::One(1),
        ChannelChoice::Mix,
    ] {
        let signal = audio.signal(choice).unwrap();
        assert_eq!(audio.clone().into_signal(choice).unwrap(), signal);
    }
    let error = audio.into_signal(ChannelChoice::One(2)).unwrap_err();
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
    assert!(matches!(error, SignalError::Io { .. }));
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

/// A WAV header that says what it is told to, with `data` behind it.
fn header(
    format: u16,
    channels: u16,
    rate: u32,
    bits: u16,
    block: u16,
    declared: u32,
    data: &[u8],
) -> Vec<u8> {
    let mut bytes = b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0".to_vec();
    bytes.extend(format.to_le_bytes());
    bytes.extend(channels.to_le_bytes());
    bytes.extend(rate.to_le_bytes());
    bytes.extend(rate.wrapping_mul(u32::from(block)).to_le_bytes());
    bytes.extend(block.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(declared.to_le_bytes());
    bytes.extend(data);
    bytes
}

/// As [`header`], with the most significant byte first.
fn big_endian_header(format: u16, channels: u16, bits: u16, block: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFX\x7f\xff\xff\xffWAVEJUNK\0\0\0\x03abc\0fmt \0\0\0\x10".to_vec();
    bytes.extend(format.to_be_bytes());
    bytes.extend(channels.to_be_bytes());
    bytes.extend(8_000u32.to_be_bytes());
    bytes.extend((8_000 * u32::from(block)).to_be_bytes());
    bytes.extend(block.to_be_bytes());
    bytes.extend(bits.to_be_bytes());
    bytes.extend(b"data");
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn samples_of_any_width_lie_at_the_top_of_their_bytes_in_either_order() {
    for bits in 1..=64u16 {
        let width = usize::from(bits.div_ceil(8));
        // Three quarters below zero and half above it, in as many bits as there are.
        for (fraction, expected) in [(-0.75f64, -0.75f32), (0.5, 0.5)] {
            let coarse = (fraction * 2f64.powi(i32::from(bits) - 1)).floor();
            let expected = if bits < 3 {
                (coarse / 2f64.powi(i32::from(bits) - 1)) as f32
            } else {
                expected
            };
            let at_top = (coarse as i64) << (8 * width as u32 - u32::from(bits));
            let mut sample = at_top.to_le_bytes()[..width].to_vec();
            if width == 1 {
                sample[0] ^= 0x80;
            }
            let little = header(
                1,
                2,
                8_000,
                bits,
                2 * width as u16,
                2 * width as u32,
                &[&sample[..]; 2].concat(),
            );
            let audio = read(&little).unwrap();
            assert_eq!(audio.channels, [[expected]; 2], "{bits} bits");
            sample.reverse();
            let big = big_endian_header(1, 2, bits, 2 * width as u16, &[&sample[..]; 2].concat());
            assert_eq!(read(&big).unwrap().channels, [[expected]; 2], "{bits} bits");
        }
    }
    let floats = [0.25f32, -0.5].map(f32::to_be_bytes).concat();
    let plain = big_endian_header(3, 2, 32, 8, &floats);
    let audio = read(&plain).unwrap();
    // The same under a header that names its coding at length.
    let (before, after) = plain.split_at(48);
    let mut named = before.to_vec();
    named[24..34].copy_from_slice(&[b'f', b'm', b't', b' ', 0, 0, 0, 40, 0xFF, 0xFE]);
    named.extend([0, 22, 0, 32, 0, 0, 0, 3]);
    named.extend([
        0, 0, 0, 3, 0, 0, 0, 0x10, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71,
    ]);
    named.extend(after);
    assert_eq!(read(&named).unwrap(), audio);
    assert_eq!(
        (audio.sample_rate, audio.channels),
        (8_000, vec![vec![0.25], vec![-0.5]])
    );
}

#[test]
fn a_wave_whose_samples_are_not_read_says_how_they_lie() {
    let data = [0; 48];
    for (format, bits, block, reason) in [
        (
            1,
            24,
            8,
            "WAV, 24 bits on 2 channels in frames of 8 bytes instead of 6",
        ),
        (1, 72, 18, "WAV, whole numbers of 72 bits"),
        (3, 24, 6, "WAV, floats of 24 bits"),
        (7, 16, 4, "WAV, μ-law of 16 bits"),
    ] {
        let error = read(&header(format, 2, 8_000, bits, block, 48, &data)).unwrap_err();
        let said = error.to_string();
        assert!(
            said.ends_with(&format!("no decoder for this coding: {reason}")),
            "{said}"
        );
        assert!(
            error.is_of_unknown_kind() && !error.is_of_damage(),
            "{said}"
        );
    }
    // The bytes of a second say what the frames have.
    let mut bytes = header(1, 2, 8_000, 24, 6, 48, &data);
    bytes[32] = 4;
    assert_eq!(read(&bytes).unwrap().frames(), 8);
}

#[test]
fn a_wave_that_never_learned_its_length_is_read_to_the_end() {
    let data = [64u8; 3000];
    let bytes = header(1, 1, 8_000, 16, 2, 0, &data);
    assert_eq!(read(&bytes).unwrap().frames(), 0);
    let piped = Audio::read_stream(Path::new("-"), &mut &bytes[..]).unwrap();
    assert_eq!(piped.frames(), 1500);
    let mut file = tempfile::Builder::new().suffix(".wav").tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let mut salvaged = 0;
    Audio::each_piece_salvaged(file.path(), &mut |piece| {
        salvaged += piece.frames();
        Ok(())
    })
    .unwrap();
    assert_eq!(salvaged, 1500);
}

/// A pipe through which bytes come a few at a time.
struct Trickle {
    bytes: std::vec::IntoIter<u8>,
    given: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl std::io::Read for Trickle {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = to.len().min(7).min(self.bytes.len());
        to[..count].copy_from_slice(&self.bytes.as_slice()[..count]);
        self.bytes.by_ref().take(count).for_each(drop);
        self.given
            .fetch_add(count, std::sync::atomic::Ordering::Relaxed);
        Ok(count)
    }
}

#[test]
fn plain_samples_of_every_header_come_through_pipes_as_they_arrive() {
    let (_, big, expected) = sixteen_bits();
    let mut files = plain_files().to_vec();
    let rifx = big_endian_header(1, 1, 16, 2, &big);
    let head = rifx.len() - big.len();
    files.push(("rifx", rifx, head));
    for (name, bytes, head) in files {
        let given = std::sync::Arc::default();
        let pipe = Trickle {
            bytes: bytes.into_iter(),
            given: std::sync::Arc::clone(&given),
        };
        let mut found = Vec::new();
        Audio::each_piece(Path::new("-"), pipe, &mut |piece| {
            found.extend_from_slice(&piece.channels[0]);
            let waiting = given.load(std::sync::atomic::Ordering::Relaxed) - head - 2 * found.len();
            assert!(waiting < 2, "{name}: {waiting} bytes wait to be shown");
            Ok(())
        })
        .unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn headers_that_lie_are_errors_or_what_they_say_and_never_more_than_is_there() {
    let data = [7u8; 4096];
    for format in [0u16, 1, 2, 3, 6, 7, 0x11, 0x55, 0xfffe, 0xffff] {
        for channels in [0u16, 1, 2, 6, 255, 0xffff] {
            for rate in [0u32, 1, 8_000, 192_000, u32::MAX] {
                for (bits, block) in [
                    (0u16, 0u16),
                    (8, 1),
                    (16, 4),
                    (24, 3),
                    (32, 4),
                    (64, 8),
                    (13, 7),
                ] {
                    for declared in [0u32, 1, 4096, 5000, u32::MAX] {
                        let bytes = header(format, channels, rate, bits, block, declared, &data);
                        if let Ok(audio) = Audio::read_stream(Path::new("lie.wav"), &mut &bytes[..])
                        {
                            let samples = audio.channels.iter().map(Vec::len).sum::<usize>();
                            assert!(samples <= 4 * data.len(), "{samples} samples");
                            assert!(audio.sample_rate > 0, "{format} {channels} {rate}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn other_containers_cut_anywhere_decode_or_fail() {
    // Just enough of each format's opening for its reader to begin.
    let openings: [&[u8]; 7] = [
        b"fLaC\0\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x42\xf0\0\0\x27\x10",
        b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\x1e\x01vorbis\0\0\0\0\x02D\xac\0\0",
        b"ID3\x04\0\0\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\xff\xfb\x90\x64",
        b"FORM\0\0\x10\0AIFFCOMM\0\0\0\x12\0\x01\0\0\x04\0\0\x10\x40\x0e\xac\x44\0\0\0\0\0\0SSND",
        b"\0\0\0\x20ftypM4A \0\0\0\0M4A mp42isom\0\0\0\0\0\0\x10\0moov",
        b"caff\0\x01\0\0desc\0\0\0\0\0\0\0\x20\x40\xe5\x88\x80\0\0\0\0lpcm",
        b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\0\x10\0\0\0\0\0\0\0\x10\0\0",
    ];
    let mut seed = 11u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize
    };
    for round in 0..2800 {
        let mut bytes = openings[round % openings.len()].to_vec();
        bytes.extend((0..next() % 600).map(|n| ((n * 37) ^ (round * 11)) as u8));
        for _ in 0..next() % 6 {
            let at = next() % bytes.len();
            bytes[at] = next() as u8;
        }
        bytes.truncate(1 + next() % bytes.len());
        let _ = Audio::read_stream(Path::new("cut"), &mut &bytes[..]);
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

/// The samples of 16 bits in both byte orders, and what they mean.
fn sixteen_bits() -> (Vec<u8>, Vec<u8>, Vec<f32>) {
    let samples: Vec<i16> = (0..20_000)
        .map(|n| (n * 37 % 65_536 - 32_768) as i16)
        .collect();
    (
        samples.iter().flat_map(|x| x.to_le_bytes()).collect(),
        samples.iter().flat_map(|x| x.to_be_bytes()).collect(),
        samples.iter().map(|x| f32::from(*x) / 32_768.0).collect(),
    )
}

/// The format chunk of mono samples of 16 bits at 16 kHz.
fn format_chunk() -> Vec<u8> {
    let mut bytes = vec![1, 0, 1, 0];
    bytes.extend(16_000u32.to_le_bytes());
    bytes.extend(32_000u32.to_le_bytes());
    bytes.extend([2, 0, 16, 0]);
    bytes
}

/// A whole file of each kind that has a header of its own.
fn plain_files() -> [(&'static str, Vec<u8>, usize); 3] {
    let (little, big, _) = sixteen_bits();
    let mut au = b".snd".to_vec();
    for word in [28, big.len() as u32, 3, 16_000, 1, 0] {
        au.extend(word.to_be_bytes());
    }
    let au_head = au.len();
    au.extend(&big);
    let mut rf64 = b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0".to_vec();
    rf64.extend((little.len() as u64 + 80).to_le_bytes());
    rf64.extend((little.len() as u64).to_le_bytes());
    rf64.extend(20_000u64.to_le_bytes());
    rf64.extend([0; 4]);
    rf64.extend(b"junk\x03\0\0\0abc\0fmt \x10\0\0\0");
    rf64.extend(format_chunk());
    rf64.extend(b"data\xff\xff\xff\xff");
    let rf64_head = rf64.len();
    rf64.extend(&little);
    let chunk = [
        0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1, 0, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A,
    ];
    let mut w64 = b"riff".to_vec();
    w64.extend([
        0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0, 0,
    ]);
    w64.extend((little.len() as u64 + 104).to_le_bytes());
    w64.extend(b"wave");
    w64.extend(chunk);
    w64.extend(b"fmt ");
    w64.extend(chunk);
    w64.extend(40u64.to_le_bytes());
    w64.extend(format_chunk());
    w64.extend(b"data");
    w64.extend(chunk);
    w64.extend((little.len() as u64 + 24).to_le_bytes());
    let w64_head = w64.len();
    w64.extend(&little);
    [
        ("au", au, au_head),
        ("rf64", rf64, rf64_head),
        ("w64", w64, w64_head),
    ]
}

#[test]
fn au_rf64_and_wave64_are_read_and_their_ends_are_checked() {
    let (_, _, expected) = sixteen_bits();
    for (name, bytes, head) in plain_files() {
        let audio = read(&bytes).unwrap();
        assert_eq!(
            (audio.sample_rate, audio.channels.len()),
            (16_000, 1),
            "{name}"
        );
        assert_eq!(audio.channels[0], expected, "{name}");
        let cut = read(&bytes[..head + 1001]).unwrap_err();
        assert!(
            matches!(
                cut,
                SignalError::CutShort {
                    declared: 20_000,
                    found: 500,
                    ..
                }
            ),
            "{name}: {cut}"
        );
        for end in 0..head {
            assert!(read(&bytes[..end]).is_err(), "{name} cut in its header");
        }
    }
}

#[test]
fn what_is_there_of_a_file_that_ends_early_can_be_salvaged() {
    let (audio, wav) = wav();
    let mut cases = vec![(
        "wav",
        wav[..wav.len() - 400].to_vec(),
        audio.channels[0][..950].to_vec(),
    )];
    let (_, _, expected) = sixteen_bits();
    for (name, bytes, head) in plain_files() {
        cases.push((
            name,
            bytes[..head + 1001].to_vec(),
            expected[..500].to_vec(),
        ));
    }
    for (name, bytes, expected) in cases {
        let mut file = tempfile::Builder::new().suffix(".wav").tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut found = Vec::new();
        Audio::each_piece_salvaged(file.path(), &mut |piece| {
            found.extend_from_slice(&piece.channels[0]);
            Ok(())
        })
        .unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn samples_without_a_header_are_what_the_caller_says() {
    let (_, big, expected) = sixteen_bits();
    let format: PcmFormat = "s16be,16000,2".parse().unwrap();
    let mut stereo = vec![Vec::new(); 2];
    Audio::each_piece_of_raw(Path::new("raw"), &mut &big[..], format, &mut |piece| {
        for (all, piece) in stereo.iter_mut().zip(&piece.channels) {
            all.extend_from_slice(piece);
        }
        Ok(())
    })
    .unwrap();
    let every_second = |first: usize| expected.iter().copied().skip(first).step_by(2);
    assert!(stereo[0].iter().copied().eq(every_second(0)));
    assert!(stereo[1].iter().copied().eq(every_second(1)));
    let odd = Audio::each_piece_of_raw(Path::new("raw"), &mut &big[..7], format, &mut |_| Ok(()));
    assert!(matches!(odd, Err(SignalError::CutShort { .. })));
}
