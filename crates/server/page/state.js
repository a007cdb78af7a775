// What plays as part of the address, so that a link plays the same music, and what played last.
// Secrets stay where they are: they are never written into a link that is copied from here.

const STORE = 'warpsmith-listen', OWN = 'warpsmith-presets', BUFFER = 'warpsmith-buffer';
const START_MS = 120, MOST_START_MS = 2000;
const WORDS = ['key', 'mode'];

/// What an address says: `#preset=sleep&seed=7&bpm=50&parts.kicks=false`.
export function readAddress(hash = location.hash) {
  const words = new URLSearchParams(hash.slice(1)), state = { params: {} };
  for (const [name, text] of words) {
    if (name === 'token' || name === 'owner') continue;
    else if (name === 'seed') { if (/^\d{1,16}$/.test(text)) state.seed = Number(text); }
    else if (name === 'preset') state.preset = text;
    else if (name === 'shared') state.shared = text === '1';
    else if (name === 'scale') state.params.scale = text.split(',').map(Number);
    else if (name.startsWith('parts.')) (state.params.parts ??= {})[name.slice(6)] = text === 'true';
    else if (name.startsWith('instruments.')) (state.params.instruments ??= {})[name.slice(12)] = text;
    else if (WORDS.includes(name)) state.params[name] = text;
    else if (text !== '' && Number.isFinite(Number(text))) state.params[name] = Number(text);
  }
  const said = state.preset !== undefined || state.seed !== undefined || state.shared !== undefined || Object.keys(state.params).length > 0;
  return said ? state : null;
}

/// The same as text: what differs from the preset.
export function writeAddress({ preset, seed, shared, params }, base) {
  const words = new URLSearchParams();
  if (preset) words.set('preset', preset);
  if (shared) words.set('shared', '1');
  else if (seed !== undefined) words.set('seed', seed);
  for (const [name, value] of Object.entries(params)) {
    if (name === 'parts' || name === 'instruments') { for (const [part, set] of Object.entries(value)) if (set !== base?.[name]?.[part]) words.set(`${name}.${part}`, set); }
    else if (Array.isArray(value)) words.set(name, value.join(','));
    else if (value !== null && value !== base?.[name]) words.set(name, typeof value === 'number' ? Number(value.toFixed(4)) : value);
  }
  return words.toString();
}

// A browser may keep nothing for us, or refuse to say.
function stored(name, otherwise) { try { return JSON.parse(localStorage.getItem(name)) ?? otherwise; } catch { return otherwise; } }
function store(name, value) { try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* kept for this visit alone */ } }

export const lastState = () => stored(STORE, null);
export const keepState = (state) => store(STORE, state);
/// Milliseconds to buffer before the first sound: what this browser needed last time, or the usual.
export function lastBuffer() {
  const kept = Number(stored(BUFFER, START_MS));
  return Math.round(Math.min(MOST_START_MS, Math.max(START_MS, Number.isFinite(kept) ? kept : START_MS)));
}
export function keepBuffer(ms) { if (Number.isFinite(ms) && Math.round(ms) !== lastBuffer()) store(BUFFER, Math.round(ms)); }
export const ownPresets = () => stored(OWN, []);
/// Keeps a preset under its name, in place of another of this name; the newest thirty.
export function keepPreset(name, params) {
  const others = ownPresets().filter((preset) => preset.name !== name);
  store(OWN, [...others, { name, params }].slice(-30));
}
