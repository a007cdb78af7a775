//! What the page shows while it plays, and what it does when the server or the machine is slow or away.

use libtest_mimic::Failed;
use serde_json::json;
use warpsmith_server::{Server, Settings};
use warpsmith_synth::{Note, Params, compose};

use crate::keeping::{CONTROLS, is, no_complaints, visit};
use crate::{expect, serve};

pub(crate) fn the_score_shows_what_sounds() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    browser.evaluate(CONTROLS)?;
    browser.evaluate("change('seed', 31); $('play').click(); 1")?;
    browser.until("player.figures.playing === true && score.sounding().length > 3")?;
    // The score that was told is the one that the seed has.
    let told: Vec<Note> = serde_json::from_value(browser.evaluate("score.notes")?)?;
    let rate = browser.evaluate("player.welcome.rate")?;
    let rate = u32::try_from(rate.as_u64().ok_or("no rate")?)?;
    let all = compose(31, &Params::default(), rate, 60 * u64::from(rate));
    expect(told.iter().all(|note| all.contains(note)), || {
        format!("{told:?}")
    })?;
    let painted = "[...$('score').getContext('2d').getImageData(0, 0, 640, 160).data].some((value) => value > 0)";
    browser.until(painted)?;
    // After a change the next bar is told again, with the other parameters.
    browser.evaluate("$('part-pads').click()")?;
    browser.until("score.notes.length > 0 && !score.notes.some((note) => note.voice === 'pad' && note.start > score.here(performance.now()) + 5 * score.rate)")?;
    // Nothing is drawn for those who want less motion, and they are told so.
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] }),
    )?;
    browser.until("$('score').hidden && $('spectrum').hidden && !$('still').hidden")?;
    browser.evaluate("window.drawn = 0; score.draw = () => { drawn++; }; 1")?;
    browser.evaluate("new Promise((done) => setTimeout(() => done(1), 1200))")?;
    is(&mut browser, "drawn", &json!(0))?;
    // The level goes on as a number.
    browser.until("$('level-text').value.endsWith('dBFS')")?;
    no_complaints(&browser)
}

pub(crate) fn the_page_opens_without_its_server() -> Result<(), Failed> {
    let (server, mut browser) = serve()?;
    let address = server.address();
    let page = format!("http://{address}/");
    browser.evaluate("navigator.serviceWorker.ready.then(() => 1)")?;
    browser.until("caches.open('warpsmith-page').then((kept) => kept.match('/playback.js')).then((file) => !!file)")?;
    drop(server);
    browser.call("Page.navigate", json!({ "url": "about:blank" }))?;
    browser.until("location.href === 'about:blank'")?;
    browser.call("Page.navigate", json!({ "url": page }))?;
    browser.until("document.getElementById('trouble')?.textContent.includes('does not answer')")?;
    is(&mut browser, "crossOriginIsolated", &json!(true))?;
    let _back = Server::start(Settings {
        listen: address,
        ..Settings::default()
    })?;
    browser.until("document.getElementById('trouble').textContent === '' && document.getElementsByName('preset').length > 3")?;
    browser.evaluate("document.getElementById('play').click()")?;
    browser.until("player.figures.playing === true")
}

pub(crate) fn the_first_buffer_is_what_was_needed_last() -> Result<(), Failed> {
    let (server, mut browser) = serve()?;
    let page = format!("http://{}/", server.address());
    for (kept, least, most) in [
        ("480", 480.0, 500.0),
        ("99999", 2_000.0, 2_020.0),
        ("\"x\"", 120.0, 140.0),
    ] {
        browser.evaluate(&format!(
            "localStorage.setItem('warpsmith-buffer', '{kept}'); 1"
        ))?;
        visit(&mut browser, &page)?;
        browser.evaluate("$('play').click()")?;
        browser.until("player.figures.playing === true")?;
        let ms = browser.evaluate("1000 * player.welcome.target / player.welcome.rate")?;
        let ms = ms.as_f64().ok_or("no target")?;
        expect((least..=most).contains(&ms), || format!("{kept}: {ms} ms"))?;
        browser.evaluate("$('play').click()")?;
        browser.until("!player.playing")?;
    }
    no_complaints(&browser)
}
