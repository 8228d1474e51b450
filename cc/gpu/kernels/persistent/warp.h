// The functions of the warp, the block and the grid for persistent kernels. On the host they are
// those of tests/cc/gpu/fibers.h, where each thread of the grid is a fiber.
#pragma once

#include "cc/gpu/kernels/elements.h"

namespace rnn_ops::gpu::elementwise {

typedef unsigned Word;
struct alignas(16) Words {
  Word at[4];
};
struct alignas(16) Floats {
  float at[4];
};

#ifdef __CUDACC__

#define RNN_OPS_UNROLL _Pragma("unroll")

// Volatile, so that what is computed from it does not occupy registers between the steps.
RNN_OPS_DEVICE int ThreadOfBlock() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
RNN_OPS_DEVICE int BlockOfGrid() { return blockIdx.x; }
RNN_OPS_DEVICE int BlocksOfGrid() { return gridDim.x; }
RNN_OPS_DEVICE void BlockBarrier() { __syncthreads(); }
// A barrier. The result is whether the value was true in some thread.
RNN_OPS_DEVICE bool BlockBarrierOr(bool value) { return __syncthreads_or(value); }
RNN_OPS_DEVICE float* SharedMemory() {
  extern __shared__ __align__(16) float memory[];
  return memory;
}

// Reads of what other blocks wrote: from L2, because no multiprocessor's L1 sees them.
RNN_OPS_DEVICE Words LoadExchanged(const Word* from) {
  Words v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])
               : "l"(from));
  return v;
}
RNN_OPS_DEVICE float LoadExchanged(const float* from) {
  float v;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(from));
  return v;
}
RNN_OPS_DEVICE void StoreExchanged(unsigned short value, unsigned short* to) {
  asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"(to), "h"(value) : "memory");
}
RNN_OPS_DEVICE void StoreExchanged(Word value, Word* to) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
RNN_OPS_DEVICE unsigned LoadAcquire(const unsigned* from) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}
RNN_OPS_DEVICE void AddRelease(unsigned* to) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(to) : "memory");
}
// Host memory that the host may read at any time.
RNN_OPS_DEVICE void StoreForHost(unsigned value, unsigned* to) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// d += a b for a tile of 16 rows and 8 columns, as PTX's mma.sync lays it out in a warp.
RNN_OPS_DEVICE void MultiplyBFloat16(float* d, const Word* a, Word b0, Word b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
RNN_OPS_DEVICE void MultiplyHalf(float* d, const Word* a, Word b0, Word b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
RNN_OPS_DEVICE void MultiplyTf32(float* d, const Word* a, Word b0, Word b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// On the host, the products are computed here, for all lanes at once.
RNN_OPS_DEVICE void FinishProducts() {}

RNN_OPS_DEVICE Word RoundToTf32(float x) {
  Word bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

#else

#define RNN_OPS_UNROLL

int ThreadOfBlock();
int BlockOfGrid();
int BlocksOfGrid();
void BlockBarrier();
bool BlockBarrierOr(bool value);
float* SharedMemory();
Words LoadExchanged(const Word* from);
float LoadExchanged(const float* from);
void StoreExchanged(unsigned short value, unsigned short* to);
void StoreExchanged(Word value, Word* to);
unsigned LoadAcquire(const unsigned* from);
void AddRelease(unsigned* to);
void StoreForHost(unsigned value, unsigned* to);
void MultiplyBFloat16(float* d, const Word* a, Word b0, Word b1);
void MultiplyHalf(float* d, const Word* a, Word b0, Word b1);
void MultiplyTf32(float* d, const Word* a, Word b0, Word b1);
void FinishProducts();
inline Word RoundToTf32(float x) {
  const Word bits = BitsOf(x);
  return x != x ? bits : (bits + 0x1000u) & 0xffffe000u;
}

#endif

// The position of a thread in the tiles of mma.sync.
struct Lane {
  int warp, group, quad;
  RNN_OPS_DEVICE Lane()
      : warp(ThreadOfBlock() / 32), group(ThreadOfBlock() % 32 / 4), quad(ThreadOfBlock() % 4) {}
};

// Waits until `counter` has reached `count`. The result is whether the block is lost, in all of its
// threads: it has given up, now or before, because some block of the grid does not run. A lost
// block neither stores nor announces anything for the others, so that none takes it for a result.
RNN_OPS_DEVICE bool IsLost(const unsigned* counter, unsigned count, unsigned max_spins,
                           bool gave_up) {
  if (ThreadOfBlock() == 0 && !gave_up) {
    unsigned spins = 0;
    while ((int)(LoadAcquire(counter) - count) < 0 && !gave_up) gave_up = ++spins > max_spins;
  }
  return BlockBarrierOr(gave_up);
}

// Announces what all threads of the block have stored.
RNN_OPS_DEVICE void Announce(unsigned* counter, bool lost) {
  BlockBarrier();
  if (ThreadOfBlock() == 0 && !lost) AddRelease(counter);
}

// 0, which the compiler does not know; see Float32Operand. `number` is less than 2^30.
RNN_OPS_DEVICE Word UnknownZero(int number) { return (Word)number >> 30; }

}  // namespace rnn_ops::gpu::elementwise
