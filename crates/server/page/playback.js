// The audio callback: takes samples out of the ring, counts what it lacks. Nothing is allocated,
// logged or awaited in process().

// Words of the control block; socket.js and player.js use the same.
const WRITTEN = 0, READ = 1, EVENTS = 2, MISSING = 3, PLAYING = 4, TARGET = 5, BREAKS = 6, TAGGED = 7, STOPPING = 8, RATIO = 9, LOWEST = 10;
const FADE_SECONDS = 0.005;

class Playback extends AudioWorkletProcessor {
  constructor(options) {
    super();
    const { control, samples } = options.processorOptions;
    this.control = control ?? new Int32Array(16);
    this.samples = samples ?? new Float32Array(2 * options.processorOptions.frames);
    this.frames = this.samples.length / 2;
    this.gain = 1;
    this.phase = 0;          // fraction of a source frame, for the broadcast
    this.ratio = 1;
    this.last = [0, 0];
    this.tag = -1;
    this.isolated = !!control;
    this.fade = 1 / (FADE_SECONDS * sampleRate);
    this.since = 0;
    // Without shared memory samples come as messages, and the figures go back as messages.
    this.port.onmessage = ({ data: { port } }) => {
      port.onmessage = ({ data }) => this.message(data);
      this.back = port;
    };
  }

  message(data) {
    if (data.words) for (const [word, value] of data.words) this.control[word] = value;
    if (data.samples) {
      const at = (this.control[WRITTEN] >>> 0) % this.frames * 2;
      const first = Math.min(data.samples.length, this.samples.length - at);
      this.samples.set(data.samples.subarray(0, first), at);
      this.samples.set(data.samples.subarray(first), 0);
      this.control[WRITTEN] = (this.control[WRITTEN] + data.samples.length / 2) | 0;
    }
  }

  process(inputs, outputs) {
    const [left, right] = outputs[0];
    const control = this.control;
    const count = left.length;
    let depth = (Atomics.load(control, WRITTEN) - control[READ]) | 0;
    if (!control[PLAYING] && depth >= control[TARGET] && depth > 0 && !control[STOPPING]) {
      control[PLAYING] = 1;
      this.gain = this.started ? 0 : 1;  // music begins as it was made; what goes on fades in
      this.started = true;
    }
    if (control[PLAYING]) {
      if (depth < control[LOWEST]) control[LOWEST] = depth;
      if (control[RATIO] === 0) this.copy(left, right, count, depth);
      else this.stretch(left, right, count, depth);
    } else {
      this.decay(left, right, 0, count);
    }
    if (!this.isolated && (this.since += count) >= 1024) {
      this.since = 0;
      this.back?.postMessage(this.control.slice());
    }
    return true;
  }

  // The listener's own stream: every sample as it was rendered.
  copy(left, right, count, depth) {
    const { control, samples, frames } = this;
    const take = Math.min(count, depth);
    let at = (control[READ] >>> 0) % frames * 2;
    const tagged = control[TAGGED];
    for (let n = 0; n < take; n++) {
      const l = samples[at], r = samples[at + 1];
      if ((at += 2) === samples.length) at = 0;
      if (tagged) this.check(l, r);
      this.step(control[STOPPING] ? 0 : 1);
      left[n] = l * this.gain; right[n] = r * this.gain;
      this.last[0] = l; this.last[1] = r;
    }
    Atomics.store(control, READ, (control[READ] + take) | 0);
    this.lack(left, right, take, count);
  }

  // The broadcast: another clock and perhaps another rate; cubic interpolation, and half a percent
  // faster or slower to keep the buffer where it should be.
  stretch(left, right, count, depth) {
    const { control, samples, frames } = this;
    const wish = (depth - control[TARGET]) / Math.max(1, control[TARGET]);
    const trim = 1 + Math.max(-0.005, Math.min(0.005, 0.01 * wish));
    this.ratio += (control[RATIO] / 1e6 * trim - this.ratio) * (this.ratio === 1 ? 1 : 0.01);
    let read = control[READ] >>> 0, n = 0;
    for (; n < count && depth >= 4; n++) {
      const x = this.phase;
      this.step(control[STOPPING] ? 0 : 1);
      for (let c = 0; c < 2; c++) {
        const a = samples[read % frames * 2 + c], b = samples[(read + 1) % frames * 2 + c];
        const d = samples[(read + 2) % frames * 2 + c], e = samples[(read + 3) % frames * 2 + c];
        const value = b + 0.5 * x * (d - a + x * (2 * a - 5 * b + 4 * d - e + x * (3 * (b - d) + e - a)));
        (c ? right : left)[n] = value * this.gain;
        this.last[c] = value;
      }
      this.phase += this.ratio;
      const whole = Math.floor(this.phase);
      this.phase -= whole; read += whole; depth -= whole;
    }
    Atomics.store(control, READ, read | 0);
    this.lack(left, right, n, count);
  }

  // Nothing left: fade what sounded last, count, and wait for the buffer to fill.
  lack(left, right, from, count) {
    if (from === count) return;
    const control = this.control;
    if (!control[STOPPING]) { control[EVENTS]++; control[MISSING] += count - from; }
    control[PLAYING] = 0;
    this.decay(left, right, from, count);
  }

  decay(left, right, from, count) {
    if (this.started && !this.control[PLAYING] && !this.control[STOPPING] && from === 0) this.control[MISSING] += count;
    for (let n = from; n < count; n++) {
      this.step(0);
      left[n] = this.last[0] * this.gain; right[n] = this.last[1] * this.gain;
    }
  }

  step(aim) {
    if (this.gain < aim) this.gain = Math.min(aim, this.gain + this.fade);
    else if (this.gain > aim) this.gain = Math.max(aim, this.gain - this.fade);
  }

  // A tag stream's samples count: any that does not follow the one before is a break.
  check(l, r) {
    const tag = ((l * 32768) & 0xffff) | ((r * 32768) << 16);
    if (this.tag >= 0 && tag !== ((this.tag + 1) & 0x7fffffff)) this.control[BREAKS]++;
    this.tag = tag;
  }
}

registerProcessor('playback', Playback);
