// Spins for a known time: what device timers are held against. With zero nanoseconds it is an empty
// kernel, by which their own cost is measured.

typedef unsigned long long u64;

extern "C" __global__ void spin(u64 nanoseconds) {
  if (nanoseconds == 0) return;
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
