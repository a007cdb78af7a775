// Keeps the page's own files, so that it opens without its server; music always comes from the server.

const KEPT = 'warpsmith-page';
const FILES = ['/', '/style.css', '/page.js', '/state.js', '/score.js', '/sleep_timer.js', '/machine.js', '/player.js', '/socket.js', '/playback.js', '/icon.svg', '/manifest.webmanifest'];

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(KEPT).then((kept) => kept.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

// The server's file where it answers, which is kept from then on; else what was kept.
self.addEventListener('fetch', (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== 'GET' || origin !== location.origin || !FILES.includes(pathname)) return;
  event.respondWith((async () => {
    const kept = await caches.open(KEPT);
    try {
      const answer = await fetch(event.request);
      if (answer.ok) await kept.put(pathname, answer.clone());
      return answer;
    } catch (error) {
      const there = await kept.match(pathname);
      if (there) return there;
      throw error;
    }
  })());
});
