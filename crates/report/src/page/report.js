"use strict";
// What only a script can do: copy, sort, unfold, and open a row with its histogram. Nothing is fetched.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const live = document.getElementById("live");

// The report as JSON, unpacked once and only when somebody asks.
let unpacked;
const report = () => unpacked ??= (async () => {
  const text = atob(document.getElementById("raw").textContent.trim());
  const bytes = Uint8Array.from(text, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
})();

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file has no clipboard in some browsers.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  live.textContent = "copied";
  if (button.classList.contains("cmd")) {
    button.classList.add("ok");
    setTimeout(() => button.classList.remove("ok"), 1400);
  } else {
    const label = button.dataset.label ??= button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = label; live.textContent = ""; }, 1400);
  }
}

// Full values, all rows, no pictures; an interval is a column of its own.
function csv(table) {
  const heads = all("thead tr > *", table);
  const rows = all("tbody > tr:not(.detail)", table);
  const quote = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const words = cell => cell.textContent.trim().replace(/\s+/g, " ");
  const columns = heads.map((head, at) => ({
    at, name: words(head), interval: rows.some(row => row.children[at].dataset.i),
  })).filter((_, at) => !heads[at].matches(".sp,.fo,.sl"));
  const first = columns.flatMap(c => c.interval ? [c.name, c.name + " interval"] : [c.name]);
  const lines = rows.map(row => columns.flatMap(c => {
    const cell = row.children[c.at], value = cell.dataset.v ?? words(cell);
    return c.interval ? [value, cell.dataset.i ?? ""] : [value];
  }));
  return [first, ...lines].map(line => line.map(quote).join(",")).join("\n") + "\n";
}

// A row and what opens below it stay together; cells without a value come last.
function sort(button) {
  const head = button.closest("th"), table = head.closest("table");
  const at = [...head.parentNode.children].indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  all("th", head.parentNode).forEach(th => th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => {
    const cell = row.children[at], text = cell.textContent.trim();
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const plain = Number(text.replaceAll(",", ""));
    return text === "–" || text === "" ? null : Number.isNaN(plain) ? text : plain;
  };
  const rows = all("tbody > tr:not(.detail)", table).map(row => ({
    row, key: key(row), detail: row.nextElementSibling?.matches(".detail") ? row.nextElementSibling : null,
  }));
  const order = (a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    const bothNumbers = typeof a.key === "number" && typeof b.key === "number";
    const less = bothNumbers ? a.key - b.key : String(a.key).localeCompare(String(b.key));
    return up ? less : -less;
  };
  rows.sort(order);
  table.tBodies[0].append(...rows.flatMap(r => r.detail ? [r.row, r.detail] : [r.row]));
  live.textContent = "sorted by " + head.textContent.trim();
}

const unitOf = seconds =>
  [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(unit => seconds >= unit[0]) ?? [1e-12, "ps"];

function ticks(low, high) {
  const rough = (high - low) / 5, decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * decade).find(k => k >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high * (1 + 1e-9); n++) found.push(n * step);
  return [found, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))];
}

function draw(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Sixty bins from the least to P99; a second mode shows, a stray sample does not flatten it.
function histogram(samples, name, place) {
  const sorted = [...samples].sort((a, b) => a - b);
  const low = sorted[0], high = sorted[Math.ceil(sorted.length * 0.99) - 1];
  const [size, unit] = unitOf(low), width = 620, height = 110, bins = Array(60).fill(0);
  const span = high - low || low || 1;
  for (const value of sorted) if (value <= high) bins[Math.min(59, Math.floor((value - low) / span * 60))]++;
  const most = Math.max(...bins);
  const text = value => (value / size).toPrecision(3) + " " + unit;
  const svg = draw("svg", {
    viewBox: `0 0 ${width} ${height + 30}`, class: "hist", role: "img",
    "aria-label": `histogram of ${name}: ${text(low)} to ${text(high)}`,
  }, place);
  bins.forEach((count, at) => count && draw("rect", {
    x: at * width / 60 + 0.5, width: width / 60 - 1,
    y: height - count / most * height, height: count / most * height,
  }, svg));
  draw("line", { class: "ax", x1: 0, x2: width, y1: height, y2: height }, svg);
  const [marks, decimals] = ticks(low / size, (low + span) / size);
  for (const mark of marks) {
    const x = (mark * size - low) / span * width;
    draw("line", { class: "ax", x1: x, x2: x, y1: height, y2: height + 4 }, svg);
    if (x < width - 60) {
      draw("text", { x: Math.max(x, 18), y: height + 18, "text-anchor": "middle" }, svg, mark.toFixed(decimals));
    }
  }
  draw("text", { x: width, y: height + 18, "text-anchor": "end" }, svg, unit);
}

// The samples behind a row, by their pointer into the report's raw numbers.
async function fill(place, name) {
  place.dataset.filled = "yes";
  const note = document.createElement("p");
  place.append(note);
  let around, samples;
  const path = place.dataset.samples.split("/").slice(1).map(p => p.replaceAll("~1", "/").replaceAll("~0", "~"));
  try {
    samples = (await report()).body.raw;
    for (const part of path) { around = samples; samples = samples?.[part]; }
  } catch {
    note.textContent = "this browser cannot unpack the samples";
    return;
  }
  if (!Array.isArray(samples)) {
    note.textContent = "the samples are not in this page";
    return;
  }
  const count = around?.[path.at(-1) + "_count"] ?? samples.length;
  const scale = Number(place.dataset.scale), seconds = samples.map(s => s * scale).filter(s => s >= 0);
  const counted = count.toLocaleString("en") + (count === 1 ? " sample" : " samples");
  const one = s => { const [size, unit] = unitOf(s); return (s / size).toPrecision(3) + " " + unit; };
  if (seconds.length < 30) {
    note.textContent = counted + ", too few for a histogram: " + seconds.map(one).join(", ");
    return;
  }
  note.textContent = counted + (count > seconds.length ? `, ${seconds.length.toLocaleString("en")} of them drawn` : "");
  histogram(seconds, name, place);
}

function openRow(button) {
  const open = button.getAttribute("aria-expanded") !== "true";
  const row = document.getElementById(button.getAttribute("aria-controls"));
  button.setAttribute("aria-expanded", open);
  row.hidden = !open;
  const place = row.querySelector("[data-samples]");
  if (open && place && !place.dataset.filled) fill(place, button.textContent.trim());
}

function showAll(button) {
  const on = document.getElementById(button.dataset.all).classList.toggle("all");
  const more = button.dataset.more ??= button.textContent;
  button.setAttribute("aria-expanded", on);
  button.textContent = on ? button.dataset.less : more;
}

function unfold(button) {
  const folds = all("details"), open = folds.some(fold => !fold.open);
  folds.forEach(fold => { fold.open = open; });
  button.setAttribute("aria-expanded", open);
  button.textContent = open ? "fold all" : "unfold all";
}

document.addEventListener("click", async event => {
  const button = event.target.closest("button");
  if (!button) return;
  const { csv: table, json, all: rows, fold, sort: sorts } = button.dataset;
  if (button.classList.contains("cmd")) copy(button.textContent, button);
  else if (button.classList.contains("rowb")) openRow(button);
  else if (table) copy(csv(document.getElementById(table)), button);
  else if (json !== undefined) copy(JSON.stringify(await report(), null, 1), button);
  else if (rows) showAll(button);
  else if (fold !== undefined) unfold(button);
  else if (sorts !== undefined) sort(button);
});

// Dates are UTC; the reader's own time is a hover away.
for (const date of all("[data-unix]")) date.title = new Date(date.dataset.unix * 1000).toLocaleString();

let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details").filter(fold => !fold.open);
  folded.forEach(fold => { fold.open = true; });
});
addEventListener("afterprint", () => folded.forEach(fold => { fold.open = false; }));
