// The connection, off the page's thread: frames into the ring, credit back, again after a break.

const WRITTEN = 0, READ = 1, EVENTS = 2, MISSING = 3, PLAYING = 4, TARGET = 5, BREAKS = 6, TAGGED = 7, STOPPING = 8, RATIO = 9, LOWEST = 10;
const CODECS = { pcm16: 0, f32: 1, opus: 2, tag: 3 };
const OPUS = { codec: 'opus', sampleRate: 48_000, numberOfChannels: 2 };
const CREDIT_MS = 200, CREDIT_LEAST_MS = 20, TICK_MS = 10;
const MOST_TARGET_MS = 2000;

let settings, control, samples, port, socket, welcome, timer, retry = 0, over = false;
let base = 0;            // stream position of ring frame 0
let written = 0;         // frames put into the ring since the start, not wrapped
let arrived = 0;         // the same and what is still being decoded
let decoder;             // of Opus, where that is spoken
let read = 0;            // frames taken out, not wrapped
let sequence = 0, lastCredit = 0, lastArrival = 0, started = false, startedAt = 0, startedRead = 0;
let targetMs, floorMs, eventsSeen = 0, grownAt = 0;
let gaps = 0, breaks = 0, bytes = 0, reconnects = 0, renderUs = 0;
const arrivals = new Float32Array(512);
let arrivalCount = 0, longest = 0;

onmessage = ({ data }) => {
  if (data.start) begin(data.start);
  else if (data.control && socket?.readyState === 1) socket.send(JSON.stringify({ type: 'control', ...data.control }));
  else if (data.stop) stop();
  else if (data.drop) socket?.close(3000, 'dropped for a test');
};

async function begin(start) {
  settings = start;
  control = start.control ?? new Int32Array(16);
  samples = start.samples;
  port = start.port;
  if (port) port.onmessage = ({ data }) => {
    // Without shared memory: what the callback wrote, except what we write ourselves.
    for (const word of [READ, EVENTS, MISSING, PLAYING, BREAKS, LOWEST]) control[word] = data[word];
  };
  targetMs = floorMs = start.hello.prebuffer_ms;
  set(TARGET, 1);
  if (start.hello.codecs.includes('opus') && !await opusIsKnown(start.rate))
    start.hello.codecs = start.hello.codecs.filter((codec) => codec !== 'opus');
  connect();
  timer = setInterval(tick, TICK_MS);
}

async function opusIsKnown(rate) {
  if (typeof AudioDecoder === 'undefined' || rate !== OPUS.sampleRate) return false;
  try { return (await AudioDecoder.isConfigSupported(OPUS)).supported; } catch { return false; }
}

// Packets come out of the decoder in their order, a while later.
function newDecoder() {
  const made = new AudioDecoder({
    output: (data) => {
      const frames = data.numberOfFrames, block = new Float32Array(2 * frames), plane = new Float32Array(frames);
      for (let channel = 0; channel < 2; channel++) {
        data.copyTo(plane, { planeIndex: Math.min(channel, data.numberOfChannels - 1), format: 'f32-planar' });
        for (let n = 0; n < frames; n++) block[2 * n + channel] = plane[n];
      }
      data.close();
      put(frames, (to, at, from, count) => to.set(block.subarray(from, from + count), at));
    },
    error: () => { breaks++; decoder = undefined; },
  });
  made.configure(OPUS);
  return made;
}

function set(word, value) {
  Atomics.store(control, word, value);
  port?.postMessage({ words: [[word, value]] });
}

function connect() {
  const protocols = ['warpsmith-v1'];
  if (settings.token) protocols.push('bearer.' + settings.token);
  socket = new WebSocket(settings.url, protocols);
  socket.binaryType = 'arraybuffer';
  sequence = 0;
  const mine = socket;
  socket.onopen = () => {
    const hello = { type: 'hello', ...settings.hello, prebuffer_ms: Math.round(targetMs) };
    if (welcome && !welcome.shared) hello.resume = { stream: welcome.stream, key: welcome.key, next_sample: base + arrived };
    socket.send(JSON.stringify(hello));
  };
  socket.onmessage = ({ data }) => typeof data === 'string' ? text(JSON.parse(data)) : audio(data);
  socket.onclose = ({ code, reason }) => {
    if (mine !== socket || over) return;
    postMessage({ lost: { code, reason } });
    reconnects++;
    setTimeout(() => { if (!over) connect(); }, Math.min(5000, 100 * 2 ** retry++));
  };
}

function text(message) {
  if (message.type === 'welcome') {
    retry = 0;
    if (!message.resumed) { arrived = written; base = message.position - written; }
    welcome = message;
    const scale = settings.rate / message.rate;
    set(RATIO, message.shared ? Math.round(1e6 / scale) : 0);
    set(TAGGED, message.codec === 'tag' ? 1 : 0);
    set(TARGET, Math.min(message.target, Math.round(targetMs * message.rate / 1000)));
    postMessage({ welcome: message });
  } else if (message.type === 'error' && message.finding.code === 'W007') {
    // The stream is not kept any more: the same piece from its beginning.
    settings.hello.seed = welcome?.seed ?? settings.hello.seed;
    welcome = undefined;
    socket.send(JSON.stringify({ type: 'hello', ...settings.hello }));
  } else {
    postMessage({ message });
  }
}

function audio(data) {
  const now = performance.now();
  const head = new DataView(data, 0, 32);
  if (head.getUint32(0, true) !== 0x314d5357) return;
  const kind = head.getUint8(4), codec = head.getUint8(5);
  if (head.getUint32(12, true) !== sequence) gaps++;
  sequence = (head.getUint32(12, true) + 1) >>> 0;
  const first = head.getUint32(16, true) + head.getUint32(20, true) * 2 ** 32;
  const frames = head.getUint32(24, true);
  bytes += data.byteLength;
  if (kind === 2) return postMessage({ boundary: first });
  if (kind === 1) { base += frames; breaks++; return; }
  if (first !== base + arrived) { breaks++; base = first - arrived; }
  arrived += frames;
  renderUs = head.getUint32(28, true) || renderUs;
  if (lastArrival && started) {
    const late = Math.max(0, now - lastArrival - 1000 * frames / welcome.rate);
    arrivals[arrivalCount++ % arrivals.length] = late;
    longest = Math.max(longest * 0.9995, late);
  }
  lastArrival = now;
  if (codec === CODECS.opus) {
    decoder ??= newDecoder();
    decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: 1e6 * first / welcome.rate, data: new Uint8Array(data, 32) }));
    return;
  }
  put(frames, (to, at, from, count) => decode(data, codec, to, at, from, count));
}

// Puts frames into the ring; `copy` writes so many samples of them.
function put(frames, copy) {
  const size = settings.frames;
  if (port) {
    const block = new Float32Array(2 * frames);
    copy(block, 0, 0, 2 * frames);
    port.postMessage({ samples: block }, [block.buffer]);
  } else {
    const at = written % size, fits = Math.min(frames, size - at);
    copy(samples, 2 * at, 0, 2 * fits);
    copy(samples, 0, 2 * fits, 2 * (frames - fits));
  }
  written += frames;
  Atomics.store(control, WRITTEN, written | 0);
}

function decode(data, codec, to, at, from, count) {
  if (codec === CODECS.f32) { to.set(new Float32Array(data, 32 + 4 * from, count), at); return; }
  const source = new Int16Array(data, 32 + 2 * from, count);
  for (let n = 0; n < count; n++) to[at + n] = source[n] / 32768;
}

function tick() {
  read += (Atomics.load(control, READ) - (read | 0)) | 0;
  const now = performance.now();
  if (!started && control[PLAYING]) {
    started = true;
    startedAt = now; startedRead = read;
    control[LOWEST] = 0x7fffffff;
    postMessage({ started: true });
  }
  adapt(now);
  if (!welcome || socket.readyState !== 1) return;
  const depth = written - read;
  const target = control[TARGET];
  const due = now - lastCredit >= CREDIT_MS || depth < 0.9 * target;
  if (due && now - lastCredit >= CREDIT_LEAST_MS) {
    lastCredit = now;
    socket.send(JSON.stringify({
      type: 'credit', played: base + read, depth, underrun: control[EVENTS],
      underrun_frames: control[MISSING], target_ms: Math.round(targetMs),
    }));
  }
}

// The buffer grows by half on every underrun, and shrinks by a percent every ten seconds towards
// what the slowest arrivals need.
function adapt(now) {
  if (control[EVENTS] !== eventsSeen) {
    eventsSeen = control[EVENTS];
    targetMs = Math.min(MOST_TARGET_MS, targetMs * 1.5);
    grownAt = now;
    retarget();
  } else if (targetMs > floorMs && now - grownAt > 10_000) {
    grownAt = now;
    targetMs = Math.min(targetMs, Math.max(floorMs, 2 * longest + 40, targetMs * 0.99));
    retarget();
  }
}

function retarget() {
  if (welcome) set(TARGET, Math.round(targetMs * welcome.rate / 1000));
}

setInterval(() => {
  if (!settings || !welcome || over) return;
  const late = Array.from(arrivals.subarray(0, Math.min(arrivalCount, arrivals.length))).sort((a, b) => a - b);
  const seconds = (performance.now() - startedAt) / 1000;
  const drift = started && seconds > 5 ? ((read - startedRead) / welcome.rate / seconds - 1) * 1e6 : null;
  const lowest = control[LOWEST];
  postMessage({ figures: {
    depthMs: 1000 * (written - read) / welcome.rate, targetMs, lowestMs: lowest > 0x7ffffff0 ? null : 1000 * lowest / welcome.rate,
    jitterMs: late.length ? late[Math.floor(0.99 * (late.length - 1))] : null,
    underruns: control[EVENTS], missing: control[MISSING], gaps, breaks: breaks + control[BREAKS],
    drift, renderUs, bytes, reconnects, position: base + read, received: base + written, playing: !!control[PLAYING],
  } });
}, 250);

function stop() {
  over = true;
  set(STOPPING, 1);
  clearInterval(timer);
  if (socket?.readyState === 1) socket.send('{"type":"bye"}');
  socket?.close(1000);
}
