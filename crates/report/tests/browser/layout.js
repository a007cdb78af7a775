// What does not fit, measured inside the page.
(() => {
  const wide = document.documentElement.clientWidth, found = [];
  const name = e => (e.tagName + "." + (e.getAttribute("class") ?? "")).toLowerCase() + ": " + e.textContent.trim().slice(0, 50);
  const seen = e => e.checkVisibility() && !e.closest(".vh, .skip, thead");
  for (const text of document.querySelectorAll("svg text")) {
    if (!seen(text) || getComputedStyle(text).display === "none") continue;
    const t = text.getBoundingClientRect(), box = text.closest("svg").getBoundingClientRect();
    if (t.width === 0) continue;
    const out = Math.max(box.left - t.left, t.right - box.right, box.top - t.top, t.bottom - box.bottom);
    if (out > 1.5) found.push(`${out.toFixed(1)} px outside its picture: ${name(text)}`);
  }
  for (const e of document.querySelectorAll("body *")) {
    if (!seen(e) || e.closest("svg")) continue;
    const box = e.getBoundingClientRect();
    if (box.width > 0 && (box.right > wide + 1 || box.left < -1)) found.push(`${Math.round(box.right)} of ${wide} px: ${name(e)}`);
  }
  // Two labels of one picture must not cover each other.
  for (const svg of document.querySelectorAll("svg.roofline, svg.sm")) {
    const boxes = [...svg.querySelectorAll("text")].filter(t => !t.hasAttribute("transform") && getComputedStyle(t).display !== "none")
      .map(t => [t, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
    boxes.forEach(([t, a], n) => boxes.slice(0, n).forEach(([u, b]) => {
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 2 && y > 4) found.push(`covers ${u.textContent}: ${name(t)}`);
    }));
  }
  // At a desk a short word stays in one piece, except where even those are wider than the place.
  if (wide >= 1200) for (const e of document.querySelectorAll(".t:not(.crammed) tbody :is(td, th):not(.long)")) {
    if (!seen(e)) continue;
    const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let t = texts.nextNode(); t; t = texts.nextNode()) for (const word of t.data.matchAll(/(?<!\S)[a-z]{2,9}(?!\S)/gi)) {
      const range = document.createRange();
      range.setStart(t, word.index); range.setEnd(t, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
      if (lines.size > 1) found.push(`breaks ${word[0]}: ${name(e)}`);
    }
  }
  return {
    scroll: document.documentElement.scrollWidth, width: wide,
    height: document.documentElement.scrollHeight,
    bar: document.querySelector("nav.bar")?.getBoundingClientRect().top ?? 0,
    found: found.slice(0, 12),
  };
})()
