//! The page in a real browser: it plays, at the right pitch whatever the sound card's rate, without
//! losing a sample, also over a break; and it can be used without a mouse. Skipped where there is
//! no Chromium.
//!
//! `WARPSMITH_PAGE_SECONDS=60` listens that long with the page's own small buffer and insists on no
//! underrun, `WARPSMITH_PAGE_THROTTLE=4` in a browser of a quarter of the speed; `WARPSMITH_PAGE_OUT=DIR`
//! keeps figures and pictures.

mod browser;
mod keeping;
mod watching;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use warpsmith_server::{Server, Settings};
use warpsmith_synth::{Params, Parts, Stream, StreamSettings, compose};

use browser::Browser;

/// Collects what the audio callback puts out, from inside the audio graph.
const RECORDER: &str = r#"
window.record = async (seconds) => {
  const { context, node } = player;
  const code = `registerProcessor('recorder', class extends AudioWorkletProcessor {
    process([input]) { if (input.length) this.port.postMessage([input[0].slice(), input[1].slice()]); return true; } })`;
  await context.audioWorklet.addModule('data:text/javascript,' + encodeURIComponent(code));
  const recorder = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
  const frames = Math.ceil(seconds * context.sampleRate), left = new Float32Array(frames), right = new Float32Array(frames);
  let at = 0;
  return new Promise((done) => {
    recorder.port.onmessage = ({ data: [l, r] }) => {
      if (at >= frames) return;
      const count = Math.min(l.length, frames - at);
      left.set(l.subarray(0, count), at); right.set(r.subarray(0, count), at);
      if ((at += count) === frames) { node.disconnect(recorder); done([left, right]); }
    };
    node.connect(recorder);
  });
};
// The strongest frequency between 30 and 2000 Hz, to a tenth of a semitone.
window.peak = (samples, rate) => {
  let best = [0, 0];
  for (let f = 30; f < 2000; f *= 2 ** (1 / 120)) {
    let re = 0, im = 0;
    for (let n = 0; n < samples.length; n++) {
      const w = 0.5 - 0.5 * Math.cos(2 * Math.PI * n / samples.length), a = 2 * Math.PI * f * n / rate;
      re += w * samples[n] * Math.cos(a); im += w * samples[n] * Math.sin(a);
    }
    if (re * re + im * im > best[0]) best = [re * re + im * im, f];
  }
  return best[1];
};
1"#;

/// Frames over which a change of parameters may not step: a third of a millisecond.
const CHANGE: usize = 16;

fn serve() -> Result<(Server, Browser), Failed> {
    serve_with(Params::default())
}

fn serve_with(params: Params) -> Result<(Server, Browser), Failed> {
    let listen = ([127, 0, 0, 1], 0).into();
    let server = Server::start(Settings {
        listen,
        params,
        ..Settings::default()
    })?;
    let mut browser = Browser::open()?;
    browser.go(&format!("http://{}/", server.address()))?;
    browser.evaluate(RECORDER)?;
    Ok((server, browser))
}

fn play(browser: &mut Browser, hello: Value, rate: u32) -> Result<(), Failed> {
    browser.evaluate(&format!(
        "player.play({hello}, {{ rate: {rate} }}).then(() => 1)"
    ))?;
    browser.until("player.figures.playing === true")
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what().into()) }
}

fn every_sample_is_played_once() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    let asked: Option<f64> = std::env::var("WARPSMITH_PAGE_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    if let Ok(times) = std::env::var("WARPSMITH_PAGE_THROTTLE") {
        let rate: f64 = times.parse()?;
        browser.call("Emulation.setCPUThrottlingRate", json!({ "rate": rate }))?;
    }
    // Other tests may keep this machine busy: then the page listens with a larger buffer.
    let (seconds, prebuffer_ms) = asked.map_or((4.0, 1_000), |seconds| (seconds, 120));
    play(
        &mut browser,
        json!({ "codecs": ["tag"], "prebuffer_ms": prebuffer_ms }),
        48_000,
    )?;
    let samples = 48_000.0 * seconds;
    std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
    browser.until(&format!("player.figures.position > {samples}"))?;
    let figures = browser.evaluate("player.figures")?;
    keep("figures.json", &figures.to_string())?;
    let lost = [
        &figures["breaks"],
        &figures["gaps"],
        &figures["underruns"],
        &figures["missing"],
    ];
    expect(lost.iter().all(|count| **count == 0), || {
        figures.to_string()
    })?;
    expect(browser.evaluate("crossOriginIsolated")? == true, || {
        "no shared memory".into()
    })?;
    expect(browser.complaints.is_empty(), || {
        browser.complaints.join("\n")
    })
}

fn a_break_is_not_heard() -> Result<(), Failed> {
    let (server, mut browser) = serve()?;
    play(
        &mut browser,
        json!({ "codecs": ["tag"], "prebuffer_ms": 2_000 }),
        48_000,
    )?;
    browser.until("player.figures.position > 24000")?;
    browser.evaluate("player.drop()")?;
    browser.until("player.figures.reconnects === 1 && player.welcome.resumed")?;
    let position = browser.evaluate("player.figures.received")?;
    browser.until(&format!("player.figures.position > {position} + 48000"))?;
    let figures = browser.evaluate("player.figures")?;
    let lost = [&figures["breaks"], &figures["gaps"], &figures["underruns"]];
    expect(lost.iter().all(|count| **count == 0), || {
        figures.to_string()
    })?;
    expect(server.metrics()["totals"]["resumed"] == 1, || {
        server.metrics().to_string()
    })
}

fn the_pitch_is_right_at_every_rate() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    let silent = Parts {
        bass: true,
        ..Parts::NONE
    };
    let params = Params {
        parts: silent,
        space: 0.0,
        ..Params::default()
    };
    for rate in [44_100, 48_000, 96_000] {
        play(
            &mut browser,
            json!({ "seed": 11, "params": params, "prebuffer_ms": 1_000 }),
            rate,
        )?;
        expect(
            browser.evaluate("player.context.sampleRate")? == rate,
            || format!("no context at {rate}"),
        )?;
        expect(browser.evaluate("player.welcome.rate")? == rate, || {
            format!("not rendered at {rate}")
        })?;
        // The middle of the first bar: one bass note.
        let heard = browser.evaluate("record(2).then(([left]) => peak(left.subarray(left.length / 2), player.context.sampleRate))")?;
        let heard = heard.as_f64().ok_or("no pitch")?;
        let notes = compose(11, &params, rate, 2 * u64::from(rate));
        let note = notes.first().ok_or("no note")?;
        let expected = note.frequency();
        expect((heard / expected - 1.0).abs() < 0.01, || {
            format!("{heard} Hz at {rate}, expected {expected}")
        })?;
        browser.evaluate("player.stop().then(() => player.figures = {})")?;
    }
    Ok(())
}

fn parameters_change_without_a_click() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    play(
        &mut browser,
        json!({ "seed": 8, "prebuffer_ms": 1_000, "preset": "bright" }),
        48_000,
    )?;
    browser.evaluate("window.recording = record(5); 1")?;
    browser.until("player.figures.position > 24000")?;
    let change = json!({ "params": { "brightness": 0.1, "volume": 0.4, "space": 0.9 } });
    browser.evaluate(&format!("player.control({change})"))?;
    browser.until("player.boundary !== undefined")?;
    let at = browser
        .evaluate("player.boundary")?
        .as_u64()
        .ok_or("no boundary")? as usize;
    let recorded = browser.evaluate(
        "recording.then(([left, right]) => Array.from(left, (l, n) => [Math.round(l * 32768), Math.round(right[n] * 32768)]).flat())",
    )?;
    let recorded: Vec<i16> = serde_json::from_value(recorded)?;
    let underruns = browser.evaluate("player.figures.underruns")?;
    expect(underruns == 0, || format!("{underruns} underruns"))?;
    // What was played is what the stream renders, to the bit, over the change.
    let params = Params::preset(warpsmith_synth::Preset::Bright);
    let mut stream = Stream::with_settings(8, params, StreamSettings::default())?;
    let mut expected = vec![0i16; 2 * at];
    stream.render_into(&mut expected);
    stream.set_params(Params {
        brightness: 0.1,
        volume: 0.4,
        space: 0.9,
        ..params
    })?;
    let mut after = vec![0i16; 2 * 400_000];
    stream.render_into(&mut after);
    expected.extend(after);
    let begin = recorded.iter().position(|sample| *sample != 0).unwrap_or(0) & !1;
    let window = &recorded[begin + 9_600..begin + 9_600 + 512];
    let found = expected
        .windows(512)
        .position(|piece| piece == window)
        .ok_or("not the stream's samples")?;
    let from = found - 9_600;
    expect(
        from < 2 * at && from + recorded.len() - begin > 2 * at + 48_000,
        || format!("the change at {at} was not recorded ({from})"),
    )?;
    let same = recorded[begin..]
        .iter()
        .zip(&expected[from..])
        .all(|(a, b)| a == b);
    expect(same, || "other samples than the stream's".into())?;
    // Where the change begins, what was played leaves the same stream without the change; it must
    // not jump away from it. Later the two are different music, and a slope is no step.
    let mut unchanged = vec![0i16; 2 * (at + CHANGE)];
    Stream::with_settings(8, params, StreamSettings::default())?.render_into(&mut unchanged);
    let apart = |index: usize| {
        let played = recorded[begin + index - from];
        i32::from(played) - i32::from(unchanged[index])
    };
    expect((2 * at - 2..2 * at).all(|index| apart(index) == 0), || {
        "it changed before the boundary".into()
    })?;
    let step = (2 * at..2 * (at + CHANGE))
        .map(|index| (apart(index) - apart(index - 2)).unsigned_abs())
        .max()
        .unwrap_or(0);
    let db = 20.0 * (f64::from(step.max(1)) / 32_768.0).log10();
    keep("step_db.json", &format!("{db:.1}"))?;
    expect(db < -60.0, || format!("a step of {db:.1} dB at the change"))
}

fn it_can_be_used_by_keyboard_and_on_a_phone() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    browser.evaluate("document.getElementById('play').focus()")?;
    browser.press(" ", 32, " ")?;
    browser.until("player.figures.playing === true && document.getElementById('state').textContent.startsWith('Playing')")?;
    expect(
        browser.evaluate("document.getElementById('play').getAttribute('aria-pressed')")? == "true",
        || "not pressed".into(),
    )?;
    let first_sound = browser.evaluate("player.figures.firstSoundMs")?;
    keep("first_sound_ms.json", &first_sound.to_string())?;
    browser.until("document.getElementById('figure-buffer') !== null")?;
    // A slider by its arrow keys reaches the server.
    browser.evaluate("document.getElementById('param-intensity').focus(); player.seen = new Promise((done) => { const on = player.on; player.on = (data) => { on(data); if (data.message?.type === 'params') done(data.message.params.intensity); }; }); 1")?;
    let before = browser.evaluate("Number(document.getElementById('param-intensity').value)")?;
    browser.press("ArrowRight", 39, "")?;
    let after = browser.evaluate("player.seen")?;
    expect(after.as_f64() > before.as_f64(), || {
        format!("{before} to {after}")
    })?;
    for (name, width, height) in [("desktop", 1280, 900), ("phone", 390, 844)] {
        browser.resize(width, height)?;
        let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")?;
        expect(wide.as_i64() <= Some(0), || {
            format!("{wide} pixels too wide on a {name}")
        })?;
        keep_picture(&mut browser, name)?;
    }
    everything_has_a_name(&mut browser)?;
    browser.evaluate("document.getElementById('tab-listen').focus()")?;
    browser.press("ArrowRight", 39, "")?;
    expect(
        browser.evaluate("document.activeElement.id")? == "tab-machine",
        || "arrows do not change tabs".into(),
    )?;
    browser.until("document.getElementById('server').children.length > 3")?;
    browser.evaluate("document.getElementById('measure').click()")?;
    // It is measured while nothing else wants the processor, and other tests do.
    browser.until_within(
        std::time::Duration::from_secs(600),
        "document.querySelectorAll('#matrix tbody tr').length > 2",
    )?;
    everything_has_a_name(&mut browser)?;
    keep_picture(&mut browser, "machine")?;
    browser.evaluate(
        "document.getElementById('tab-listen').click(); document.getElementById('play').click()",
    )?;
    browser
        .until("!player.playing && document.getElementById('state').textContent === 'Stopped'")?;
    expect(browser.complaints.is_empty(), || {
        browser.complaints.join("\n")
    })
}

/// Whatever can be used says what it is, to those who cannot see it.
fn everything_has_a_name(browser: &mut Browser) -> Result<(), Failed> {
    let tree = browser.call("Accessibility.getFullAXTree", json!({}))?;
    let nodes = tree["nodes"].as_array().ok_or("no tree")?;
    let used = [
        "button",
        "slider",
        "checkbox",
        "radio",
        "combobox",
        "spinbutton",
        "tab",
        "image",
        "meter",
        "table",
        "region",
    ];
    let mut count = 0;
    for node in nodes.iter().filter(|node| node["ignored"] != true) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if used.contains(&role) && role != "table" {
            count += 1;
            expect(
                node["name"]["value"]
                    .as_str()
                    .is_some_and(|name| !name.trim().is_empty()),
                || format!("a {role} without a name: {node}"),
            )?;
        }
    }
    expect(count > 3, || format!("only {count} controls"))
}

/// Keeps something for whoever requested it.
fn keep(name: &str, text: &str) -> Result<(), Failed> {
    if let Ok(folder) = std::env::var("WARPSMITH_PAGE_OUT") {
        std::fs::write(format!("{folder}/{name}"), text)?;
    }
    Ok(())
}

fn keep_picture(browser: &mut Browser, name: &str) -> Result<(), Failed> {
    let picture = browser.screenshot()?;
    keep(&format!("{name}.png.base64"), &picture)
}

/// A second of what is heard is louder than `least` and not clipped.
fn expect_level_above(least: f64, browser: &mut Browser) -> Result<(), Failed> {
    let level = browser.evaluate("record(1).then(([left]) => Math.sqrt(left.reduce((sum, x) => sum + x * x, 0) / left.length))")?;
    expect(
        level
            .as_f64()
            .is_some_and(|level| level > least && level < 1.0),
        || format!("a level of {level}"),
    )
}

fn the_broadcast_plays_at_another_rate() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    play(
        &mut browser,
        json!({ "shared": true, "prebuffer_ms": 500 }),
        44_100,
    )?;
    expect(browser.evaluate("player.welcome.rate")? == 48_000, || {
        "the broadcast has a rate of its own".into()
    })?;
    browser.until("player.figures.position > 96000")?;
    expect_level_above(1e-4, &mut browser)?;
    let figures = browser.evaluate("player.figures")?;
    expect(figures["breaks"] == 0, || figures.to_string())
}

#[cfg(feature = "opus")]
fn packets_are_decoded_and_played() -> Result<(), Failed> {
    let (_server, mut browser) = serve()?;
    play(
        &mut browser,
        json!({ "codecs": ["opus", "pcm16"], "seed": 8, "prebuffer_ms": 500 }),
        48_000,
    )?;
    expect(browser.evaluate("player.welcome.codec")? == "opus", || {
        "the browser does not decode Opus".into()
    })?;
    browser.until("player.figures.position > 96000")?;
    expect_level_above(1e-3, &mut browser)?;
    browser.evaluate("player.drop()")?;
    browser.until("player.figures.reconnects === 1 && player.welcome.resumed")?;
    let position = browser.evaluate("player.figures.received")?;
    browser.until(&format!("player.figures.position > {position} + 24000"))?;
    let figures = browser.evaluate("player.figures")?;
    expect(figures["breaks"] == 0 && figures["gaps"] == 0, || {
        figures.to_string()
    })?;
    // A tenth of what the samples would be.
    let (bytes, samples) = (figures["bytes"].as_f64(), figures["received"].as_f64());
    expect(bytes < samples.map(|samples| 0.4 * samples), || {
        figures.to_string()
    })
}

type Test = fn() -> Result<(), Failed>;

fn main() {
    let mut arguments = Arguments::from_args();
    // One page at a time: each needs a core.
    arguments.test_threads = Some(1);
    let missing = browser::chromium().is_none();
    let trials: &[(&str, Test)] = &[
        ("every sample is played once", every_sample_is_played_once),
        ("a break is not heard", a_break_is_not_heard),
        (
            "the pitch is right at every rate",
            the_pitch_is_right_at_every_rate,
        ),
        (
            "parameters change without a click",
            parameters_change_without_a_click,
        ),
        (
            "it can be used by keyboard and on a phone",
            it_can_be_used_by_keyboard_and_on_a_phone,
        ),
        (
            "the broadcast plays at another rate",
            the_broadcast_plays_at_another_rate,
        ),
        (
            "the broadcast is steered by its owner's page and by no other",
            keeping::the_broadcast_is_its_owners,
        ),
        (
            "the page begins as its server was told, and a link plays the same music",
            keeping::a_link_plays_the_same_music,
        ),
        (
            "presets and files of what plays are kept",
            keeping::presets_and_files_are_kept,
        ),
        (
            "another seed, media keys and the sleep timer act at once",
            keeping::seed_keys_and_timer_act,
        ),
        (
            "the score shows what sounds, and stands still where less motion is wanted",
            watching::the_score_shows_what_sounds,
        ),
        (
            "the page opens without its server and goes on when it is back",
            watching::the_page_opens_without_its_server,
        ),
        (
            "a browser that needed a larger buffer starts with it",
            watching::the_first_buffer_is_what_was_needed_last,
        ),
        #[cfg(feature = "opus")]
        (
            "packets are decoded and played",
            packets_are_decoded_and_played,
        ),
    ];
    let trials = trials.iter().map(|(name, run)| {
        let name = if missing {
            format!("{name} (skipped: no chromium)")
        } else {
            (*name).to_owned()
        };
        Trial::test(name, *run).with_ignored_flag(missing)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
