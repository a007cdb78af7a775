// Notes the time and the cycle count of one multiprocessor: two of these around work give the clock
// that it ran at. Cycle counts of different multiprocessors have nothing in common, so the number
// of the multiprocessor is noted too.

typedef unsigned long long u64;

extern "C" __global__ void clock_stamp(u64* stamps, u64 stamps_length, u64 slot) {
  if (threadIdx.x != 0 || blockIdx.x != 0 || slot >= stamps_length / 3) return;
  u64 first, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
  now = first;
  // The timer ticks in steps of 32 ns to 1 us, the cycle count is taken right after a step: the
  // quotient is then as exact as the cycle count.
  for (int look = 0; look < 1024 && now == first; ++look) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  }
  u64 cycles = clock64();
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  stamps[3 * slot] = now;
  stamps[3 * slot + 1] = cycles;
  stamps[3 * slot + 2] = multiprocessor;
}
