// The first tab: play, steer, watch. Everything that can be set comes from the server.

import { Player } from '/player.js';
import { showMachine } from '/machine.js';
import { Score } from '/score.js';
import { SleepTimer } from '/sleep_timer.js';
import { keepBuffer, keepPreset, keepState, lastBuffer, lastState, ownPresets, readAddress, writeAddress } from '/state.js';

const $ = (id) => document.getElementById(id);
// Secrets come behind `#`, which browsers never send: the token of a listener, and that of the broadcast's owner.
const secret = (name) => new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined;
const token = secret('token'), owner = secret('owner');
export const ask = (path, options = {}) => fetch(path, token ? { ...options, headers: { Authorization: `Bearer ${token}` } } : options);
const KEYS = ['C', 'C#', 'D', 'D#', 'E', 'F', 'F#', 'G', 'G#', 'A', 'A#', 'B'];

let presets = [], chosen = '', params = {}, served = {}, pending = null, everybody = true, told = null;
const player = new Player(heard);
window.player = player;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) name in made ? (made[name] = value) : made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function say(text) { $('state').textContent = text; }
function trouble(text) { $('trouble').textContent = text; }

// What the server says of itself and its presets. A page that was opened without its server waits for it.
async function reach() {
  for (;;) {
    try {
      const answer = await ask('/api/status');
      if (answer.status === 401) { say('This server needs its token: add #token=… to the address'); return null; }
      const reached = [await answer.json(), await (await ask('/api/presets')).json()];
      trouble('');
      return reached;
    } catch (error) {
      say('Waiting for the server');
      trouble(`The server does not answer: ${error.message}. This page tries again by itself.`);
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

async function load() {
  const reached = await reach();
  if (!reached) return;
  const [status, list] = reached;
  presets = list;
  say('Stopped');
  for (const own of ownPresets()) presets.push({ ...own, own: true });
  presets.forEach(addPreset);
  addSelect('key', KEYS);
  addSelect('mode', status.params.modes);
  for (const [name, [least, most]] of Object.entries(status.params.ranges)) addRange(name, least, most);
  for (const name of Object.keys(status.params.default.parts)) {
    const box = element('input', { type: 'checkbox', id: `part-${name}` });
    box.onchange = () => send({ params: { parts: { [name]: box.checked } } }, 0);
    $('parts').append(element('label', {}, box, name));
  }
  for (const name of Object.keys(status.params.default.instruments)) {
    const select = element('select', { id: `instrument-${name}` }, ...status.params.instruments.map((value) => element('option', { value }, value)));
    select.onchange = () => send({ params: { instruments: { [name]: select.value } } }, 0);
    $('instruments').append(element('label', {}, name, select));
  }
  served = status.params.default;
  everybody = status.broadcast.steered_by_all;
  open(readAddress() ?? lastVisit() ?? {});
  figure('device', 'Renders on', status.device);
  player.prepare();
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// What played last, unless the server was started with something else since then.
function lastVisit() {
  const last = lastState();
  return last && same(last.served, served) ? last : null;
}

// A link, what played last, or what the server was started with.
function open(state) {
  const preset = presets.find(({ name }) => name === state.preset);
  const base = preset?.params ?? served;
  chosen = preset?.name ?? presets.find((each) => same(each.params, base))?.name ?? '';
  const { parts, instruments, ...rest } = state.params ?? {};
  const known = Object.fromEntries(Object.entries(rest).filter(([name]) => name in base));
  show({ ...base, ...known, parts: { ...base.parts, ...parts }, instruments: { ...base.instruments, ...instruments } });
  if (state.seed !== undefined) $('seed').value = state.seed;
  $('shared').checked = !!state.shared;
  for (const radio of document.getElementsByName('preset')) radio.checked = radio.value === chosen;
  steerable();
}

function addPreset({ name, own }) {
  const radio = element('input', { type: 'radio', name: 'preset', value: name, checked: name === chosen });
  radio.onchange = () => {
    chosen = name;
    const wanted = presets.find((p) => p.name === name).params;
    show(wanted);
    // The server knows its own presets by name; this browser's travel as what they say.
    send(own ? { params: wanted } : { preset: name, params: {} }, 0);
  };
  $('presets').append(element('label', {}, radio, element('span', {}, name)));
}

// What plays now, for the address and for the next visit.
function remember() {
  const seed = player.playing ? player.welcome?.seed : $('seed').value === '' ? undefined : Number($('seed').value);
  const state = { preset: chosen, seed, shared: $('shared').checked, params };
  keepState({ ...state, served });
  const base = presets.find(({ name }) => name === chosen);
  const words = writeAddress(state, base?.own ? undefined : base?.params);
  const secrets = Object.entries({ token, owner }).filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value)}&`);
  history.replaceState(null, '', `#${secrets.join('')}${words}`);
  return words;
}

// The broadcast is its owner's, or everybody's: whoever steers it does so for all.
function steerable() {
  $('acts').textContent = $('shared').checked
    ? everybody || owner ? 'You steer the broadcast for everybody who hears it.' : 'Only its owner steers the broadcast: open this page with #owner=… to do so.'
    : 'Filter, space and volume act at once; tempo, key, scale and notes with the next chord.';
  $('seed').disabled = $('shared').checked;
}

function addSelect(name, values) {
  const select = element('select', { id: `param-${name}` }, ...values.map((value) => element('option', { value }, value)));
  select.onchange = () => send({ params: { [name]: select.value } }, 0);
  $('params').append(element('label', {}, name, select, element('span')));
}

function addRange(name, least, most) {
  const step = most > 2 ? 1 : 0.01;
  const range = element('input', { type: 'range', id: `param-${name}`, min: least, max: most, step });
  const output = element('output', { htmlFor: range.id });
  range.oninput = () => {
    output.value = Number(range.value).toFixed(step < 1 ? 2 : 0);
    // While it moves, a few times a second; the server glides.
    send({ params: { [name]: Number(range.value) } }, 80);
  };
  $('params').append(element('label', {}, name, range, output));
}

function show(wanted) {
  params = structuredClone(wanted);
  for (const [name, value] of Object.entries(params)) {
    if (name === 'parts') { for (const [part, on] of Object.entries(value)) $(`part-${part}`).checked = on; continue; }
    if (name === 'instruments') { for (const [part, patch] of Object.entries(value)) $(`instrument-${part}`).value = patch; continue; }
    const input = $(`param-${name}`);
    if (!input || input === document.activeElement && input.type === 'range') continue;
    input.value = value;
    const output = input.parentElement.querySelector('output');
    if (output) output.value = Number(value).toFixed(input.step < 1 ? 2 : 0);
  }
}

// Changes within `wait` milliseconds travel together.
function send(change, wait) {
  const { parts, instruments, ...rest } = change.params;
  Object.assign(params, rest);
  if (parts) Object.assign(params.parts, parts);
  if (instruments) Object.assign(params.instruments, instruments);
  if (!pending) pending = { params: {} }, setTimeout(flush, wait);
  if (change.preset) pending = Object.assign(pending, { preset: change.preset, params: {} });
  Object.assign(pending.params, rest);
  if (parts) pending.params.parts = { ...pending.params.parts, ...parts };
  if (instruments) pending.params.instruments = { ...pending.params.instruments, ...instruments };
}

function flush() {
  const change = pending;
  pending = null;
  player.control(owner && $('shared').checked ? { ...change, owner } : change);
  remember();
}

// Another seed, or the broadcast, is another stream: it begins at once.
async function restart() {
  steerable();
  if (!player.playing) { remember(); return; }
  say('Changing to other music');
  await player.stop();
  await toggle();
}

function button(playing) {
  $('play').textContent = playing ? 'Stop' : 'Play';
  $('play').setAttribute('aria-pressed', String(playing));
}

async function toggle() {
  trouble('');
  if (player.playing) {
    button(false);
    say('Stopped');
    if ('mediaSession' in navigator) navigator.mediaSession.playbackState = 'paused';
    await player.stop();
    return;
  }
  button(true);
  say('Connecting');
  const seed = $('seed').value === '' ? undefined : Number($('seed').value);
  try {
    await player.play({ params, seed, shared: $('shared').checked, score: true, prebuffer_ms: lastBuffer() }, { token });
  } catch (error) {
    button(false);
    say('Stopped');
    trouble(error.message);
    await player.stop();
  }
}

function heard(data) {
  if (!player.playing) return;
  if (data.welcome) {
    const { seed, shared, resumed } = data.welcome;
    if (!resumed) score.begin(data.welcome.rate);
    $('seed').placeholder = String(seed);
    told = data.welcome.params;
    if (!resumed) show(told);
    say(shared ? 'Playing the broadcast' : `Playing, seed ${seed}`);
    figure('device', 'Renders on', data.welcome.device);
    remember();
    announce(shared ? 'Broadcast' : `Seed ${seed}`);
    figure('stream', 'Stream', `${data.welcome.stream}, ${data.welcome.codec}, ${data.welcome.rate} Hz`);
  }
  if (data.message?.type === 'params') show(told = data.message.params);
  if (data.message?.type === 'score') score.told(data.message);
  if (data.message?.type === 'error') {
    const { code, message } = data.message.finding;
    trouble(message);
    // Controls that were refused show what plays.
    if (code === 'W008' && told) show(told);
  }
  if (data.lost) say('Connection lost, coming back');
  if (data.figures) { showFigures(); score.at(data.figures); keepBuffer(data.figures.targetMs); }
}

// Title and keys of the lock screen, the keyboard and the headphones.
function announce(title) {
  if (!('mediaSession' in navigator)) return;
  navigator.mediaSession.metadata = new MediaMetadata({ title, artist: 'Warpsmith', album: chosen || 'own settings' });
  navigator.mediaSession.playbackState = 'playing';
}
function mediaKeys() {
  if (!('mediaSession' in navigator)) return;
  for (const [key, plays] of [['play', true], ['pause', false], ['stop', false]])
    navigator.mediaSession.setActionHandler(key, () => { if (player.playing !== plays) toggle(); });
}

function kept(text) { $('kept').textContent = text; }

async function copyLink() {
  const link = `${location.origin}${location.pathname}#${remember()}`;
  try { await navigator.clipboard.writeText(link); kept('Copied'); } catch { kept(link); }
}

// What plays, from its first note to where it is now, as a file.
async function saveFile(path, name) {
  if ($('shared').checked) return kept('The broadcast has no beginning to save from');
  const seed = player.welcome?.seed ?? Number($('seed').value || 1);
  const rate = player.welcome?.rate ?? 48_000;
  const seconds = Math.min(3600, Math.max(10, (player.figures.position ?? 0) / rate));
  kept('Rendering');
  const answer = await ask(path, { method: 'POST', body: JSON.stringify({ seed, seconds, params, rate }) });
  if (!answer.ok) return kept((await answer.json()).finding?.message ?? `The server said ${answer.status}`);
  const link = element('a', { href: URL.createObjectURL(await answer.blob()), download: `warpsmith-${seed}.${name}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  kept(`Saved ${Math.round(seconds)} s with the settings of now`);
}

function saveOwn() {
  const name = $('preset-name').value.trim();
  if (!name) { kept('Give the preset a name'); $('preset-name').focus(); return; }
  if (presets.some((preset) => preset.name === name && !preset.own)) return kept(`The server has a preset called ${name}`);
  keepPreset(name, params);
  const there = presets.find((preset) => preset.name === name);
  if (there) there.params = structuredClone(params);
  else { presets.push({ name, params: structuredClone(params), own: true }); addPreset({ name, own: true }); }
  kept(`Kept as ${name} in this browser`);
}

const rows = new Map();
export function figure(id, label, text, list = 'figures') {
  let row = rows.get(list + id);
  if (!row) {
    row = element('dd', { id: `figure-${id}` });
    rows.set(list + id, row);
    $(list).append(element('div', {}, element('dt', {}, label), row));
  }
  if (row.textContent !== text) row.textContent = text;
}

function showFigures() {
  const f = player.figures;
  const ms = (value) => value == null ? '–' : `${value.toFixed(0)} ms`;
  figure('buffer', 'Buffer', `${ms(f.depthMs)} of ${ms(f.targetMs)}`);
  figure('lowest', 'Lowest buffer', ms(f.lowestMs));
  figure('jitter', 'Jitter, 99 of 100', ms(f.jitterMs));
  figure('underruns', 'Underruns', `${f.underruns} (${f.missing} samples)`);
  figure('gaps', 'Gaps / breaks', `${f.gaps} / ${f.breaks}`);
  figure('first', 'First sound', ms(f.firstSoundMs));
  figure('drift', 'Clock drift', f.drift == null ? '–' : `${f.drift.toFixed(0)} ppm`);
  figure('render', 'Server render', `${f.renderUs} µs a frame`);
  figure('bytes', 'Received', `${(f.bytes / 1e6).toFixed(1)} MB`);
  figure('reconnects', 'Reconnects', String(f.reconnects));
}

// Spectrum, score and level. Where less motion is wanted nothing is drawn at all; the level, a number,
// goes on.
const canvas = $('spectrum'), pen = canvas.getContext('2d'), score = window.score = new Score($('score'));
const calm = matchMedia('(prefers-reduced-motion: reduce)');
let still;
function stand() {
  still = calm.matches;
  $('still').hidden = !still;
  canvas.hidden = $('score').hidden = still;
}
stand();
let lastDrawn = 0, lastLevel = 0;
function draw(now) {
  requestAnimationFrame(draw);
  if (now - lastDrawn < (calm.matches ? 500 : 33) || document.hidden) return;
  lastDrawn = now;
  if (still !== calm.matches) stand();
  const { analyser } = player;
  if (analyser) level(analyser, now);
  if (still) return;
  score.draw(now, player.playing);
  spectrum();
}

function level(analyser, now) {
  const wave = level.wave ??= new Float32Array(2048);
  analyser.getFloatTimeDomainData(wave);
  const db = 10 * Math.log10(wave.reduce((sum, x) => sum + x * x, 1e-12) / wave.length);
  $('level').value = db;
  if (now - lastLevel > 250) { lastLevel = now; $('level-text').value = db < -80 ? 'silent' : `${db.toFixed(0)} dBFS`; }
}

function spectrum() {
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  const { analyser, context } = player;
  if (!analyser) return;
  const bins = spectrum.bins ??= new Float32Array(analyser.frequencyBinCount);
  analyser.getFloatFrequencyData(bins);
  pen.fillStyle = getComputedStyle(canvas).getPropertyValue('--accent');
  const bars = 80, low = 40, high = 16000, span = Math.log(high / low);
  const bin = (f) => f * 2 * bins.length / context.sampleRate;
  for (let bar = 0; bar < bars; bar++) {
    const from = Math.floor(bin(low * Math.exp(span * bar / bars))), to = Math.ceil(bin(low * Math.exp(span * (bar + 1) / bars)));
    let most = -120;
    for (let n = from; n < to && n < bins.length; n++) most = Math.max(most, bins[n]);
    const tall = Math.max(0, Math.min(1, (most + 110) / 90)) * height;
    pen.fillRect(bar * width / bars, height - tall, width / bars - 1.5, tall);
  }
}

// Tabs, by mouse and by arrow keys.
const tabs = [...document.querySelectorAll('[role=tab]')];
function choose(tab) {
  for (const each of tabs) {
    const on = each === tab;
    each.setAttribute('aria-selected', String(on));
    each.tabIndex = on ? 0 : -1;
    $(each.getAttribute('aria-controls')).hidden = !on;
  }
  showMachine(tab.id === 'tab-machine', { ask, figure, token });
}
for (const tab of tabs) {
  tab.onclick = () => choose(tab);
  tab.onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  };
}

$('play').onclick = toggle;
$('seed').onchange = restart;
$('shared').onchange = restart;
$('link').onclick = copyLink;
$('save-wav').onclick = () => saveFile('/api/render', 'wav');
$('save-midi').onclick = () => saveFile('/api/midi', 'mid');
$('save-preset').onclick = saveOwn;
const timer = new SleepTimer(player, { say: (text) => { if ($('timer-text').textContent !== text) $('timer-text').textContent = text; }, end: () => { $('timer').value = '0'; if (player.playing) toggle(); } });
$('timer').onchange = () => timer.set(Number($('timer').value));
mediaKeys();
// Space plays and stops wherever it has no other meaning.
document.addEventListener('keydown', (event) => {
  if (event.key === ' ' && event.target === document.body) { event.preventDefault(); toggle(); }
});
requestAnimationFrame(draw);
if ('serviceWorker' in navigator && isSecureContext) navigator.serviceWorker.register('/offline.js').catch(() => {});
window.ready = load().catch((error) => trouble(`The page cannot be shown: ${error.message}`));
