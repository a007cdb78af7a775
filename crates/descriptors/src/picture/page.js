const sound = document.querySelector("audio");
const svg = document.querySelector("svg");
const time = document.getElementById("time");
const { left, columns, seconds, height } = JSON.parse(svg.parentNode.dataset.axis);
const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
for (const [name, value] of Object.entries({ id: "cursor", y1: 0, y2: height, stroke: "#d00000", "stroke-width": 1.5 }))
  cursor.setAttribute(name, value);
svg.append(cursor);
function show() {
  const x = left + columns * Math.min(1, sound.currentTime / seconds);
  cursor.setAttribute("x1", x);
  cursor.setAttribute("x2", x);
  time.textContent = sound.currentTime.toFixed(2) + " s";
}
function follow() {
  show();
  if (!sound.paused) requestAnimationFrame(follow);
}
sound.addEventListener("play", follow);
for (const event of ["timeupdate", "seeked", "loadedmetadata"]) sound.addEventListener(event, show);
svg.addEventListener("click", (event) => {
  const box = svg.getBoundingClientRect();
  const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
  sound.currentTime = Math.max(0, Math.min(seconds, (x - left) / columns * seconds));
});
show();
