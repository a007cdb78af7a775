// Holds a stream until the host says go, so that what is queued behind it starts without waiting
// for the host. It ends by itself after a while: a host that fails to queue in time costs a
// sample, not a hang.

typedef unsigned long long u64;

extern "C" __global__ void hold_stream(const unsigned* released, u64 released_length,
                                       unsigned ticket, u64 nanoseconds) {
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    // The host writes while this runs: every look must reach its memory.
    if (released_length > 0) {
      unsigned seen = *(volatile const unsigned*)released;
      if ((int)(seen - ticket) >= 0) return;
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
