// A player: sound card, audio callback and connection. Tells what happens through `on`.

const RING_SECONDS = 4;
const WORDS = 16;
// Samples as they are on this machine; packets, where server and browser know them, over a network.
const FAR = !['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
const newWorker = () => new Worker('/socket.js', { name: 'socket' });

export class Player {
  constructor(on = () => {}) {
    this.on = on;
    this.figures = {};
    this.welcome = null;
    // Started before it is needed: that is a good part of the time to the first sound.
    this.spare = newWorker();
    this.prepared = null;
  }

  /// Makes the sound card's context, asleep, and loads the audio callback into it: playing then only
  /// has to wake it. Without a place for sound there is nothing to prepare.
  prepare(rate) {
    if (this.prepared || this.context || typeof AudioWorkletNode === 'undefined' || !isSecureContext) return;
    // The device's own rate, unless a test asks for one; the server renders at it.
    const context = new AudioContext({ latencyHint: 'playback', ...(rate ? { sampleRate: rate } : {}) });
    context.suspend();
    const loaded = context.audioWorklet.addModule('/playback.js');
    loaded.catch(() => {});  // whoever plays hears of it
    this.prepared = { rate, context, loaded };
  }

  /// What was prepared for this rate, or the same made now.
  take(rate) {
    if (this.prepared && this.prepared.rate !== rate) {
      this.prepared.context.close();
      this.prepared = null;
    }
    this.prepare(rate);
    const { prepared } = this;
    this.prepared = null;
    return prepared;
  }

  get playing() { return !!this.context; }

  /// Starts to play; `hello` is what to ask for, without rate.
  async play(hello, { token, rate } = {}) {
    const asked = performance.now();
    if (typeof AudioWorkletNode === 'undefined' || !isSecureContext)
      throw new Error('Sound needs a secure page: open it as https or on localhost.');
    const { context, loaded } = this.take(rate);
    this.context = context;
    // The card wakes up while samples travel, and while the gesture that requested it still counts.
    const awake = context.resume();
    const frames = RING_SECONDS * Math.max(48_000, context.sampleRate);
    const shared = globalThis.crossOriginIsolated ? {
      control: new Int32Array(new SharedArrayBuffer(4 * WORDS)),
      samples: new Float32Array(new SharedArrayBuffer(8 * frames)),
    } : {};
    const channel = shared.control ? null : new MessageChannel();
    // Samples travel while the audio callback is being loaded.
    const worker = this.worker = this.spare ?? newWorker();
    this.spare = null;
    worker.onmessage = ({ data }) => this.heard(data, asked);
    worker.postMessage({ start: {
      url: location.origin.replace(/^http/, 'ws') + '/ws', token, rate: context.sampleRate, frames, ...shared, port: channel?.port2,
      hello: { channels: 2, codecs: FAR ? ['opus', 'pcm16'] : ['pcm16'], frame_ms: 20, prebuffer_ms: 120, ...hello, rate: context.sampleRate },
    } }, channel ? [channel.port2] : []);
    await loaded;
    if (this.context !== context) return;  // stopped meanwhile
    this.node = new AudioWorkletNode(context, 'playback', {
      numberOfInputs: 0, outputChannelCount: [2],
      processorOptions: { ...shared, frames },
    });
    if (channel) this.node.port.postMessage({ port: channel.port1 }, [channel.port1]);
    this.analyser = new AnalyserNode(context, { fftSize: 4096, smoothingTimeConstant: 0.7 });
    this.fader = new GainNode(context);
    this.node.connect(this.analyser).connect(this.fader).connect(context.destination);
    await awake;
  }

  heard(data, asked) {
    if (data.figures) this.figures = { ...this.figures, ...data.figures };
    if (data.welcome) this.welcome = data.welcome;
    if (data.started) this.figures.firstSoundMs = performance.now() - asked;
    if (data.boundary !== undefined) this.boundary = data.boundary;
    this.on(data);
  }

  /// Other parameters for what is playing.
  control(change) { this.worker?.postMessage({ control: change }); }

  /// Fades to this loudness, 0 to 1, over so many seconds.
  fade(to, seconds) {
    if (!this.fader) return;
    const { gain } = this.fader, now = this.context.currentTime;
    gain.cancelScheduledValues(now);
    gain.setValueAtTime(gain.value, now);
    gain.linearRampToValueAtTime(to, now + seconds);
  }

  /// Breaks the connection, as a network would; the player comes back by itself.
  drop() { this.worker?.postMessage({ drop: true }); }

  async stop() {
    const { context, worker } = this;
    this.context = this.worker = this.node = this.analyser = this.fader = null;
    if (!context) return;
    worker.postMessage({ stop: true });
    // Time for the fade and the farewell.
    await new Promise((done) => setTimeout(done, 60));
    worker.terminate();
    this.spare ??= newWorker();
    await context.close();
    this.prepare();
  }
}
