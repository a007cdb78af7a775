//! What the page keeps and what ends by itself: links, presets, files, seeds, media keys, the timer.

use libtest_mimic::Failed;
use serde_json::{Value, json};
use warpsmith_formats::wav::WavFormat;
use warpsmith_server::{Server, Settings};
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::{Key, Params, Preset, Stream, compose};

use crate::browser::Browser;
use crate::{expect, serve, serve_with};

/// Sets a control as a listener would.
pub(crate) const CONTROLS: &str = r#"
window.$ = (id) => document.getElementById(id);
window.change = (id, value) => { $(id).value = value; $(id).dispatchEvent(new Event('input')); $(id).dispatchEvent(new Event('change')); };
window.choose = (preset) => [...document.getElementsByName('preset')].find((radio) => radio.value === preset).click();
1"#;

/// Media keys and saved files, where a page alone could not reach them.
const WATCHED: &str = r#"
window.keys = {};
navigator.mediaSession.setActionHandler = (key, act) => { keys[key] = act; };
HTMLAnchorElement.prototype.click = function () { window.saved = { name: this.download, bytes: fetch(this.href).then((answer) => answer.arrayBuffer()).then((bytes) => Array.from(new Uint8Array(bytes))) }; };
"#;

pub(crate) fn is(browser: &mut Browser, expression: &str, wanted: &Value) -> Result<(), Failed> {
    let found = browser.evaluate(expression)?;
    expect(found == *wanted, || {
        format!("{expression} is {found}, not {wanted}")
    })
}

pub(crate) fn no_complaints(browser: &Browser) -> Result<(), Failed> {
    expect(browser.complaints.is_empty(), || {
        browser.complaints.join("\n")
    })
}

/// Loads `address` as if nothing had been open; a change after `#` alone loads nothing.
pub(crate) fn visit(browser: &mut Browser, address: &str) -> Result<(), Failed> {
    browser.call("Page.navigate", json!({ "url": "about:blank" }))?;
    browser.until("location.href === 'about:blank'")?;
    browser.go(address)?;
    browser.evaluate(CONTROLS)?;
    Ok(())
}

pub(crate) fn the_broadcast_is_its_owners() -> Result<(), Failed> {
    let owner = "the-owners-own-token";
    let server = Server::start(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        owner: Some(owner.into()),
        ..Settings::default()
    })?;
    let page = format!("http://{}/", server.address());
    let mut browser = Browser::open()?;
    let bpm = "fetch('/api/status').then((answer) => answer.json()).then((status) => status.broadcast.params.bpm)";
    // A listener hears it, is refused, and sees what plays.
    visit(&mut browser, &format!("{page}#shared=1"))?;
    browser.until("$('acts').textContent.includes('Only its owner')")?;
    browser.evaluate("$('play').click()")?;
    browser.until("player.figures.playing === true && player.welcome.shared")?;
    let before = browser.evaluate(bpm)?;
    browser.evaluate("change('param-bpm', 93); 1")?;
    browser.until("$('trouble').textContent.includes('steered by its owner')")?;
    is(&mut browser, bpm, &before)?;
    is(&mut browser, "Number($('param-bpm').value)", &before)?;
    // The owner is not, and no link that is copied gives the token away.
    visit(&mut browser, &format!("{page}#owner={owner}&shared=1"))?;
    browser.until("$('acts').textContent.includes('You steer')")?;
    browser.evaluate("$('play').click()")?;
    browser.until("player.figures.playing === true && player.welcome.shared")?;
    browser.evaluate("change('param-bpm', 93); 1")?;
    browser.until(&format!("{bpm}.then((bpm) => bpm === 93)"))?;
    is(&mut browser, "$('trouble').textContent", &json!(""))?;
    browser.until(&format!("location.hash.includes('owner={owner}')"))?;
    browser.evaluate(
        "window.copied = ''; navigator.clipboard.writeText = (text) => { copied = text; return Promise.resolve(); }; $('link').click(); 1",
    )?;
    browser.until("copied.includes('shared=1')")?;
    is(&mut browser, "copied.includes('owner')", &json!(false))?;
    // Nothing that the page fetched had it in its address.
    is(
        &mut browser,
        "performance.getEntriesByType('resource').some(({ name }) => name.includes('own-token'))",
        &json!(false),
    )?;
    no_complaints(&browser)
}

pub(crate) fn a_link_plays_the_same_music() -> Result<(), Failed> {
    let told = Params {
        key: Key::above_c(6),
        bpm: 50.0,
        ..Params::preset(Preset::Sleep)
    };
    let (server, mut browser) = serve_with(told)?;
    let page = format!("http://{}/", server.address());
    is(
        &mut browser,
        "document.getElementById('param-key').value",
        &json!("F#"),
    )?;
    is(
        &mut browser,
        "document.getElementById('param-bpm').value",
        &json!("50"),
    )?;
    browser.evaluate(CONTROLS)?;
    browser.evaluate("choose('bright'); change('param-bpm', 88); $('part-kicks').click(); change('seed', 4711); 1")?;
    browser.until("location.hash.includes('bpm=88') && location.hash.includes('seed=4711')")?;
    let link = browser.evaluate("location.href")?;
    let link = link.as_str().ok_or("no address")?.to_owned();
    // What was heard last comes back, and a link does not need it.
    visit(&mut browser, &page)?;
    is(&mut browser, "$('param-bpm').value", &json!("88"))?;
    browser.evaluate("localStorage.clear()")?;
    visit(&mut browser, &page)?;
    is(&mut browser, "$('param-bpm').value", &json!("50"))?;
    visit(&mut browser, &link)?;
    is(&mut browser, "$('param-bpm').value", &json!("88"))?;
    is(
        &mut browser,
        "document.querySelector('[name=preset]:checked').value",
        &json!("bright"),
    )?;
    browser.evaluate("$('play').click()")?;
    browser.until(
        "player.figures.playing === true && $('state').textContent === 'Playing, seed 4711'",
    )?;
    let heard: Params = serde_json::from_value(browser.evaluate("player.welcome.params")?)?;
    let mut wanted = Params {
        bpm: 88.0,
        ..Params::preset(Preset::Bright)
    };
    wanted.parts.kicks = false;
    expect(heard == wanted, || format!("{heard:?}, not {wanted:?}"))?;
    // The button's text is the same link.
    browser.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }); $('link').click()")?;
    browser.until("$('kept').textContent === 'Copied'")?;
    is(&mut browser, "copied", &json!(link))?;
    no_complaints(&browser)
}

pub(crate) fn presets_and_files_are_kept() -> Result<(), Failed> {
    let (server, mut browser) = serve()?;
    let page = format!("http://{}/", server.address());
    let watch = json!({ "source": WATCHED });
    browser.call("Page.addScriptToEvaluateOnNewDocument", watch)?;
    visit(&mut browser, &page)?;
    browser.evaluate("choose('sleep'); change('param-bpm', 44); $('save-preset').click(); 1")?;
    is(
        &mut browser,
        "$('kept').textContent",
        &json!("Give the preset a name"),
    )?;
    browser.evaluate("$('preset-name').value = 'sleep'; $('save-preset').click(); 1")?;
    is(
        &mut browser,
        "$('kept').textContent",
        &json!("The server has a preset called sleep"),
    )?;
    browser.evaluate(
        "$('preset-name').value = 'my <night>'; $('save-preset').click(); choose('bright'); 1",
    )?;
    visit(&mut browser, &page)?;
    browser.evaluate("choose('my <night>'); change('seed', 12); 1")?;
    is(&mut browser, "$('param-bpm').value", &json!("44"))?;
    let params = Params {
        bpm: 44.0,
        ..Params::preset(Preset::Sleep)
    };
    let notes = compose(12, &params, 48_000, 480_000);
    let midi = midi_file(&notes, &params, 12, 48_000);
    expect(
        saved(&mut browser, "save-midi", "warpsmith-12.mid")? == midi,
        || "other notes than the piece's".into(),
    )?;
    let mut samples = vec![0i16; 2 * 480_000];
    Stream::new(12, params)?.render_into(&mut samples);
    let mut wav = WavFormat::pcm16(48_000, 2).head(480_000);
    wav.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    expect(
        saved(&mut browser, "save-wav", "warpsmith-12.wav")? == wav,
        || "other samples than the piece's".into(),
    )?;
    no_complaints(&browser)
}

/// The bytes of a file that a button saves.
fn saved(browser: &mut Browser, button: &str, name: &str) -> Result<Vec<u8>, Failed> {
    browser.evaluate(&format!("window.saved = null; $('{button}').click()"))?;
    browser.until("saved !== null")?;
    is(browser, "saved.name", &json!(name))?;
    Ok(serde_json::from_value(browser.evaluate("saved.bytes")?)?)
}

pub(crate) fn seed_keys_and_timer_act() -> Result<(), Failed> {
    let (server, mut browser) = serve()?;
    let watch = json!({ "source": WATCHED });
    browser.call("Page.addScriptToEvaluateOnNewDocument", watch)?;
    visit(&mut browser, &format!("http://{}/", server.address()))?;
    browser.evaluate("change('seed', 5); keys.play(); 1")?;
    browser.until("player.playing && $('state').textContent === 'Playing, seed 5'")?;
    is(
        &mut browser,
        "navigator.mediaSession.metadata.title",
        &json!("Seed 5"),
    )?;
    browser.evaluate("change('seed', 6); 1")?;
    browser.until("player.playing && $('state').textContent === 'Playing, seed 6'")?;
    browser.evaluate("$('shared').click()")?;
    browser.until("player.playing && $('state').textContent === 'Playing the broadcast'")?;
    is(&mut browser, "$('seed').disabled", &json!(true))?;
    browser.evaluate("$('save-midi').click()")?;
    is(
        &mut browser,
        "$('kept').textContent",
        &json!("The broadcast has no beginning to save from"),
    )?;
    browser.evaluate("keys.pause(); 1")?;
    browser.until("!player.playing && $('state').textContent === 'Stopped'")?;
    is(
        &mut browser,
        "navigator.mediaSession.playbackState",
        &json!("paused"),
    )?;
    browser.evaluate("keys.play(); 1")?;
    browser.until("player.playing && $('state').textContent === 'Playing the broadcast'")?;
    browser.evaluate("change('timer', '15'); 1")?;
    browser.until("$('timer-text').textContent === 'ends in 15 min'")?;
    is(&mut browser, "player.fader.gain.value", &json!(1))?;
    // Four seconds before the end.
    browser.evaluate("window.now = Date.now; Date.now = () => now.call(Date) + 896_000; 1")?;
    browser.until("player.fader === null || player.fader.gain.value < 0.5")?;
    browser.until(
        "!player.playing && $('state').textContent === 'Stopped' && $('timer').value === '0'",
    )?;
    no_complaints(&browser)
}
