//! Pictures of a voice that starts and ends at known times.

use super::colour::{PITCH, SPEECH, WAVE};
use super::*;

const RATE: u32 = 16_000;

/// Two seconds of hiss, a voice of 200 Hz in the middle of them.
fn voice() -> Vec<f32> {
    let mut state = 1u32;
    (0..2 * RATE)
        .map(|n| {
            let phase = std::f32::consts::TAU * 200.0 * n as f32 / RATE as f32;
            let on = (8000..24_000).contains(&n);
            let sum: f32 = (1..8).map(|k| (k as f32 * phase).sin() / k as f32).sum();
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let hiss = (state >> 8) as f32 / 16_777_216.0 - 0.5;
            if on {
                0.2 * sum + 0.002 * hiss
            } else {
                0.002 * hiss
            }
        })
        .collect()
}

fn picture(settings: &PictureSettings) -> Picture {
    Picture::of(&voice(), RATE, "a <b>", settings).unwrap()
}

fn columns_with(picture: &Picture, colour: colour::Colour) -> Vec<usize> {
    let pixels = picture.pixels();
    let (left, columns) = picture.axis;
    (0..columns)
        .filter(|column| {
            let mut rows = pixels.chunks_exact(picture.width);
            rows.any(|row| row[left + column] == colour)
        })
        .collect()
}

#[test]
fn lanes_show_the_voice_where_it_is() {
    let settings = PictureSettings {
        width: Some(800),
        ..PictureSettings::default()
    };
    let picture = picture(&settings);
    let edges = |colour| {
        let columns = columns_with(&picture, colour);
        (columns[0], columns[columns.len() - 1])
    };
    // The voice is from 200 to 600 of 800 pixels; speech begins a little before it and ends after.
    let (first, last) = edges(PITCH);
    assert!(
        (180..=225).contains(&first) && (575..=640).contains(&last),
        "{first} to {last}"
    );
    let (first, last) = edges(SPEECH);
    assert!(
        (100..=205).contains(&first) && (595..=700).contains(&last),
        "{first} to {last}"
    );
    assert_eq!(columns_with(&picture, WAVE).len(), 800);
    let (width, height) = picture.size();
    assert_eq!(picture.pixels().len(), width * height);
    assert!(picture.png().unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn the_spectrogram_is_brightest_at_the_pitch_and_dark_where_nothing_is() {
    let settings = PictureSettings {
        lanes: vec![Lane::Spectrogram],
        width: Some(400),
        height: 100,
        scale: FrequencyScale::Linear,
        highest_hz: Some(2000.0),
        ..PictureSettings::default()
    };
    let lanes = Lanes::of(&voice(), RATE, 400, &settings).unwrap();
    let at = |hertz: f64, column: usize| {
        let row = ((1.0 - hertz / 2000.0) * 100.0) as usize;
        lanes.levels[row * 400 + column]
    };
    assert!(at(200.0, 200) > 0.95, "{}", at(200.0, 200));
    assert!(at(200.0, 200) > at(1900.0, 200) + 0.3);
    assert!(at(200.0, 200) > at(200.0, 40) + 0.4);
    // A full-scale sine is at 0 dB.
    let sine: Vec<f32> = (0..RATE)
        .map(|n| (std::f32::consts::TAU * 1000.0 * n as f32 / RATE as f32).sin())
        .collect();
    let lanes = Lanes::of(&sine, RATE, 400, &settings).unwrap();
    assert!(lanes.loudest_db.abs() < 0.5, "{}", lanes.loudest_db);
}

#[test]
fn svg_and_page_are_whole_and_escape_titles() {
    let picture = picture(&PictureSettings::default());
    let svg = picture.svg().unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("a &lt;b&gt;") && !svg.contains("<b>"));
    for label in [
        ">1 kHz<", ">-40<", ">dBFS<", ">200 Hz<", ">1.5<", ">speech<",
    ] {
        assert!(svg.contains(label), "{label}");
    }
    let page = picture.page(&voice(), RATE).unwrap();
    assert!(page.contains("<audio controls") && page.contains("data:audio/wav;base64,UklGR"));
    let namespaces = page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(page.matches("://").count(), namespaces);
}

#[test]
fn silence_nothing_and_long_recordings_have_pictures() {
    let settings = PictureSettings {
        width: Some(150),
        height: 60,
        ..PictureSettings::default()
    };
    for samples in [0, 1, 700, 16_000 * 45] {
        let drawn = Picture::of(&vec![0.0; samples], RATE, "quiet", &settings).unwrap();
        assert!(drawn.png().is_ok() && drawn.svg().is_ok(), "{samples}");
    }
}

#[test]
fn hostile_settings_are_refused_by_name() {
    let fine = PictureSettings::default();
    let all = [
        PictureSettings {
            width: Some(5),
            ..fine.clone()
        },
        PictureSettings {
            width: Some(usize::MAX),
            ..fine.clone()
        },
        PictureSettings {
            height: 0,
            ..fine.clone()
        },
        PictureSettings {
            lanes: vec![],
            ..fine.clone()
        },
        PictureSettings {
            range_db: f32::NAN,
            ..fine.clone()
        },
        PictureSettings {
            highest_hz: Some(f64::NAN),
            ..fine.clone()
        },
        PictureSettings {
            highest_hz: Some(9000.0),
            ..fine
        },
    ];
    for settings in all {
        assert!(
            Picture::of(&[0.0; 99], RATE, "x", &settings).is_err(),
            "{settings:?}"
        );
    }
}
