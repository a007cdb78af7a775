// The second tab: the server's own figures, the GPUs, and the matrix.

const $ = (id) => document.getElementById(id);
const HEADS = ['Technique', 'What', 'Priority', 'Claimed', 'Impact', 'Measured', 'Interval', 'Verdict', 'p50 ms', 'p95', 'p99', 'Allocations', 'SNR dB', 'Alias dB', 'Step dB'];
let timer, source;

export function showMachine(visible, { ask, figure, token }) {
  clearInterval(timer);
  if (!visible) return;
  $('measure').onclick = () => measure(token);
  const refresh = async () => {
    try {
      server(await (await ask('/api/metrics')).json(), figure);
      gpus(await (await ask('/api/telemetry')).json(), figure);
    } catch { figure('gone', 'Server', 'does not answer', 'server'); }
  };
  refresh();
  timer = setInterval(refresh, 1000);
}

function server(metrics, figure) {
  const most = (time) => time.p99_seconds_at_most == null ? '–' : `≤ ${(1e3 * time.p99_seconds_at_most).toFixed(2)} ms`;
  const put = (id, label, text) => figure(id, label, text, 'server');
  put('listeners', 'Listeners', `${metrics.listeners} (${metrics.broadcast_listeners} of the broadcast)`);
  put('memory', 'Memory', `${(metrics.resident_bytes / 1e6).toFixed(1)} MB`);
  put('cpu', 'Processor time', `${metrics.cpu_seconds.toFixed(1)} s in ${metrics.uptime_seconds.toFixed(0)} s`);
  put('answer', 'Credit to audio, 99 of 100', most(metrics.answer));
  put('first', 'Hello to audio, 99 of 100', most(metrics.first_audio));
  put('rendering', 'Rendering a frame, 99 of 100', most(metrics.render));
  put('all-underruns', 'Underruns of all listeners', String(metrics.totals.underruns));
  put('sent', 'Audio sent', `${(metrics.totals.sent_bytes / 1e6).toFixed(1)} MB`);
}

function gpus(board, figure) {
  const place = $('gpus');
  const reason = board.absent ?? board.inventory?.nvml_absent;
  const cards = board.inventory?.gpus ?? [];
  if (!cards.length) { place.textContent = reason ?? 'There is no GPU here: the music is rendered on the CPU.'; return; }
  cards.forEach((card, nth) => {
    const id = `gpu-${nth}`;
    if (!$(id)) {
      if (!nth) place.textContent = '';
      const list = document.createElement('dl');
      list.id = id;
      list.className = 'figures';
      place.append(list);
    }
    const { state } = board.gpus[nth];
    const show = (name, value, unit, scale = 1) => value == null ? '–' : `${(value / scale).toFixed(0)} ${unit}`;
    figure(`${id}-name`, 'GPU', card.name ?? `GPU ${nth}`, id);
    figure(`${id}-busy`, 'Busy', show('busy', state.busy_percent, '%'), id);
    figure(`${id}-power`, 'Power', show('power', state.power_mw, 'W', 1000), id);
    figure(`${id}-memory`, 'Memory in use', show('memory', state.memory_used_bytes, 'MB', 1e6), id);
    figure(`${id}-heat`, 'Temperature', show('heat', state.temperature_c, '°C'), id);
  });
}

function measure(token) {
  source?.close();
  const [head, body] = [$('matrix').tHead, $('matrix').tBodies[0]];
  head.replaceChildren(row('th', HEADS));
  body.replaceChildren();
  $('measuring').textContent = 'measuring';
  let expected = 0;
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  fetch('/api/matrix', { method: 'POST', headers }).catch(() => {});
  source = new EventSource('/api/matrix' + (token ? `?token=${encodeURIComponent(token)}` : ''));
  source.onmessage = ({ data }) => {
    const line = JSON.parse(data);
    if (line.error) { $('measuring').textContent = line.error; return; }
    if (line.rows) { expected = line.rows; return; }
    body.append(row('td', line.cells));
    $('measuring').textContent = `${body.rows.length} of ${expected}`;
  };
  const end = (text) => () => { source.close(); $('measuring').textContent = text; };
  source.addEventListener('done', end('done'));
  source.onerror = end('the connection was lost');
}

function row(tag, cells) {
  const line = document.createElement('tr');
  for (const text of cells) {
    const cell = document.createElement(tag);
    cell.textContent = text;
    line.append(cell);
  }
  return line;
}
