// Music that ends by itself: a fade of a minute and a half, then silence.

const FADE_SECONDS = 90;

export class SleepTimer {
  constructor(player, { say, end }) {
    Object.assign(this, { player, say, end, endsAt: null });
    setInterval(() => this.look(), 1000);
  }

  /// Ends after so many minutes from now; never with 0.
  set(minutes) {
    this.endsAt = minutes > 0 ? Date.now() + 60_000 * minutes : null;
    if (this.fading) { this.fading = false; this.player.fade(1, 1); }
    this.look();
  }

  look() {
    if (this.endsAt === null || !this.player.playing) return this.say('');
    const left = (this.endsAt - Date.now()) / 1000;
    if (left <= 0) {
      this.endsAt = null;
      this.fading = false;
      this.say('');
      return this.end();
    }
    if (left <= FADE_SECONDS && !this.fading) { this.fading = true; this.player.fade(0, left); }
    this.say(left < 60 ? 'ends in less than a minute' : `ends in ${Math.ceil(left / 60)} min`);
  }
}
