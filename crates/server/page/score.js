// The score that is playing: notes as bars, time to the right, pitch upwards, and a line where the sound is.

const PAST_SECONDS = 8, AHEAD_SECONDS = 3, LOWEST = 30, HIGHEST = 96;
const STRENGTH = { pad: 0.35, bass: 0.5, lead: 1, pulse: 0.7, bell: 0.9, kick: 0.6, swell: 0.2 };

export class Score {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext('2d');
    this.begin(48_000);
  }

  /// Other music begins.
  begin(rate) {
    this.rate = rate;
    this.notes = [];
    this.position = 0;
    this.since = performance.now();
    this.moving = false;
  }

  /// The notes of a bar; what was told from there on before does not hold any more.
  told({ from, notes }) {
    this.notes = this.notes.filter((note) => note.start < from).concat(notes);
  }

  /// Where the sound card is.
  at({ position, playing }) {
    this.position = position;
    this.since = performance.now();
    this.moving = playing;
    const gone = position - PAST_SECONDS * this.rate;
    this.notes = this.notes.filter((note) => note.start + note.length > gone);
  }

  /// Notes that sound now.
  sounding(now = performance.now()) {
    const here = this.here(now);
    return this.notes.filter((note) => note.start <= here && here < note.start + note.length);
  }

  here(now) { return this.position + (this.moving ? (now - this.since) / 1000 * this.rate : 0); }

  draw(now, playing) {
    const { canvas: { width, height }, pen } = this;
    pen.clearRect(0, 0, width, height);
    if (!playing) return;
    const here = this.here(now), from = here - PAST_SECONDS * this.rate;
    const scale = width / ((PAST_SECONDS + AHEAD_SECONDS) * this.rate);
    const row = height / (HIGHEST - LOWEST + 1);
    pen.fillStyle = getComputedStyle(this.canvas).getPropertyValue('--accent');
    for (const { voice, start, length, pitch, velocity } of this.notes) {
      const x = (start - from) * scale, wide = Math.max(3, length * scale);
      if (x > width || x + wide < 0) continue;
      // Kicks and swells have no pitch: they lie at the bottom.
      const high = voice === 'kick' || voice === 'swell' ? LOWEST : Math.max(LOWEST, Math.min(HIGHEST, pitch));
      const sounds = start <= here && here < start + length;
      pen.globalAlpha = Math.min(1, STRENGTH[voice] * (sounds ? 1 : 0.55) * (0.5 + velocity));
      pen.fillRect(x, height - (high - LOWEST + 1) * row, wide, Math.max(2, row * 1.4));
    }
    pen.globalAlpha = 1;
    pen.fillRect(PAST_SECONDS * this.rate * scale, 0, 1.5, height);
  }
}
