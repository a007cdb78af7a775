// Holds a stream for a while, so that what is queued behind it starts without waiting for the host.
// It ends by itself: a host that fails to queue in time costs a sample, not a hang.
//
// With zero nanoseconds it is an empty kernel, and with one thread a spin of known length: what
// device timers are calibrated with.

typedef unsigned long long u64;

extern "C" __global__ void hold_stream(u64 nanoseconds) {
  if (nanoseconds == 0) return;
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
