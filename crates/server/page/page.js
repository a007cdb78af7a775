// The first tab: play, steer, watch. Everything that can be set comes from the server.

import { Player } from '/player.js';
import { showMachine } from '/machine.js';

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined;
export const ask = (path, options = {}) => fetch(path, token ? { ...options, headers: { Authorization: `Bearer ${token}` } } : options);
const KEYS = ['C', 'C#', 'D', 'D#', 'E', 'F', 'F#', 'G', 'G#', 'A', 'A#', 'B'];

let presets = [], chosen = 'focus', params = {}, pending = null;
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

async function load() {
  const answer = await ask('/api/status');
  if (answer.status === 401) { say('This server needs its token: add #token=… to the address'); return; }
  const status = await answer.json();
  presets = await (await ask('/api/presets')).json();
  for (const { name } of presets) {
    const radio = element('input', { type: 'radio', name: 'preset', value: name, checked: name === chosen });
    radio.onchange = () => { chosen = name; show(presets.find((p) => p.name === name).params); send({ preset: name, params: {} }, 0); };
    $('presets').append(element('label', {}, radio, element('span', {}, name)));
  }
  addSelect('key', KEYS);
  addSelect('mode', status.params.modes);
  for (const [name, [least, most]] of Object.entries(status.params.ranges)) addRange(name, least, most);
  for (const name of Object.keys(status.params.default.parts)) {
    const box = element('input', { type: 'checkbox', id: `part-${name}` });
    box.onchange = () => send({ params: { parts: { [name]: box.checked } } }, 0);
    $('parts').append(element('label', {}, box, name));
  }
  show(presets.find((p) => p.name === chosen).params);
  figure('device', 'Renders on', status.device);
  player.prepare();
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
    const input = $(`param-${name}`);
    if (!input || input === document.activeElement && input.type === 'range') continue;
    input.value = value;
    const output = input.parentElement.querySelector('output');
    if (output) output.value = Number(value).toFixed(input.step < 1 ? 2 : 0);
  }
}

// Changes within `wait` milliseconds travel together.
function send(change, wait) {
  const { parts, ...rest } = change.params;
  Object.assign(params, rest);
  if (parts) Object.assign(params.parts, parts);
  if (!pending) pending = { params: {} }, setTimeout(flush, wait);
  if (change.preset) pending = Object.assign(pending, { preset: change.preset, params: {} });
  Object.assign(pending.params, rest);
  if (parts) pending.params.parts = { ...pending.params.parts, ...parts };
}

function flush() {
  const change = pending;
  pending = null;
  player.control(change);
}

async function toggle() {
  trouble('');
  if (player.playing) {
    button(false);
    say('Stopped');
    await player.stop();
    return;
  }
  button(true);
  say('Connecting');
  const seed = $('seed').value === '' ? undefined : Number($('seed').value);
  try {
    await player.play({ params, seed, shared: $('shared').checked }, { token });
  } catch (error) {
    button(false);
    say('Stopped');
    trouble(error.message);
    await player.stop();
  }
}

function button(playing) {
  $('play').textContent = playing ? 'Stop' : 'Play';
  $('play').setAttribute('aria-pressed', String(playing));
}

function heard(data) {
  if (!player.playing) return;
  if (data.welcome) {
    const { seed, shared, resumed } = data.welcome;
    $('seed').placeholder = String(seed);
    if (!resumed) show(data.welcome.params);
    say(shared ? 'Playing the broadcast' : `Playing, seed ${seed}`);
    figure('device', 'Renders on', data.welcome.device);
    figure('stream', 'Stream', `${data.welcome.stream}, ${data.welcome.codec}, ${data.welcome.rate} Hz`);
  }
  if (data.message?.type === 'params') show(data.message.params);
  if (data.message?.type === 'error') trouble(data.message.finding.message);
  if (data.lost) say('Connection lost, coming back');
  if (data.figures) showFigures();
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

// Spectrum and level.
const canvas = $('spectrum'), pen = canvas.getContext('2d');
const calm = matchMedia('(prefers-reduced-motion: reduce)');
let lastDrawn = 0, lastLevel = 0;
function draw(now) {
  requestAnimationFrame(draw);
  if (now - lastDrawn < (calm.matches ? 500 : 33) || document.hidden) return;
  lastDrawn = now;
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  const { analyser, context } = player;
  if (!analyser) return;
  const bins = draw.bins ??= new Float32Array(analyser.frequencyBinCount);
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
  const wave = draw.wave ??= new Float32Array(2048);
  analyser.getFloatTimeDomainData(wave);
  const level = 10 * Math.log10(wave.reduce((sum, x) => sum + x * x, 1e-12) / wave.length);
  $('level').value = level;
  if (now - lastLevel > 250) { lastLevel = now; $('level-text').value = level < -80 ? 'silent' : `${level.toFixed(0)} dBFS`; }
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
// Space plays and stops wherever it has no other meaning.
document.addEventListener('keydown', (event) => {
  if (event.key === ' ' && event.target === document.body) { event.preventDefault(); toggle(); }
});
requestAnimationFrame(draw);
window.ready = load().catch((error) => trouble(`The server does not answer: ${error.message}`));
