//! The page of a picture in a real browser: it plays, the cursor moves with the sound, and a click goes
//! there. The page and what it looks like are kept under `target/voice-pages`.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use serde_json::json;
use warpsmith_descriptors::picture::{Picture, PictureSettings};

use crate::devtools::{Browser, chromium};

const RATE: u32 = 16_000;

/// Three seconds of a gliding voice.
fn voice() -> Vec<f32> {
    (0..3 * RATE)
        .map(|n| {
            let t = n as f32 / RATE as f32;
            let phase = std::f32::consts::TAU * (150.0 * t + 20.0 * t * t);
            let sum: f32 = (1..9).map(|k| (k as f32 * phase).sin() / k as f32).sum();
            0.2 * sum * (4.0 * t).sin().max(0.0)
        })
        .collect()
}

/// Plays without sound, and says where the cursor is before and after.
const PLAYED: &str = "(async () => {
  const sound = document.querySelector('audio');
  const x = () => Number(document.getElementById('cursor').getAttribute('x1'));
  const before = x();
  sound.muted = true;
  await sound.play();
  for (let n = 0; n < 200 && sound.currentTime < 1.8; n++) await new Promise(done => setTimeout(done, 20));
  sound.pause();
  await new Promise(done => setTimeout(done, 60));
  const { left, columns, seconds } = JSON.parse(document.querySelector('.picture').dataset.axis);
  return [before, x(), left + columns * sound.currentTime / seconds, sound.currentTime];
})()";

/// Where the middle of the axis is in the window.
const MIDDLE: &str = "(() => {
  const svg = document.querySelector('svg');
  const box = svg.getBoundingClientRect();
  const { left, columns } = JSON.parse(document.querySelector('.picture').dataset.axis);
  return [box.left + (left + columns / 2) * box.width / svg.viewBox.baseVal.width, box.top + 80];
})()";

/// Where the sound is, and how long it is.
const WHERE: &str = "(async () => {
  const sound = document.querySelector('audio');
  await new Promise(done => setTimeout(done, 100));
  return [sound.currentTime, sound.duration];
})()";

fn numbers(value: &serde_json::Value) -> Result<Vec<f64>, Failed> {
    let all = value.as_array().ok_or("not a list")?;
    let numbers: Option<Vec<f64>> = all.iter().map(serde_json::Value::as_f64).collect();
    numbers.ok_or_else(|| format!("{value}").into())
}

fn plays() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-pages");
    std::fs::create_dir_all(&folder)?;
    let signal = voice();
    let picture = Picture::of(&signal, RATE, "voice.wav", &PictureSettings::default())?;
    let place = folder.join("voice.html");
    std::fs::write(&place, picture.page(&signal, RATE)?)?;
    std::fs::write(folder.join("voice.png"), picture.png()?)?;
    let mut browser = Browser::start()?;
    browser.window(1000, 900, "light", "screen")?;
    browser.open(&place.canonicalize()?, true)?;
    // A click of a mouse, without which a browser plays nothing.
    let at = numbers(&browser.value(MIDDLE)?)?;
    for kind in ["mousePressed", "mouseReleased"] {
        let click =
            json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
        browser.call("Input.dispatchMouseEvent", click)?;
    }
    let clicked = numbers(&browser.value(WHERE)?)?;
    if (clicked[0] - 1.5).abs() > 0.02 || (clicked[1] - 3.0).abs() > 0.01 {
        return Err(format!("a click into the middle: {clicked:?}").into());
    }
    let played = numbers(&browser.value(PLAYED)?)?;
    if !(played[3] >= 1.8 && played[1] > played[0] && (played[1] - played[2]).abs() < 2.0) {
        return Err(format!("cursor and sound: {played:?}").into());
    }
    browser.screenshot(&folder.join("page.png"))?;
    match browser.complaints.first() {
        Some(complaint) => Err(complaint.clone().into()),
        None => Ok(()),
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("page::plays", plays).with_ignored_flag(chromium().is_none())]
}
