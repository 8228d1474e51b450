#include "tests/cc/gpu/fibers.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "cc/gpu/kernels/persistent/warp.h"

namespace rnn_ops::gpu::fake {
namespace {

using elementwise::BitsOf;
using elementwise::FloatFromBits;
using elementwise::Word;

constexpr int kLanes = 32;
constexpr size_t kStackBytes = size_t{64} << 10;

[[noreturn]] void Broken(const char* rule) {
  std::fprintf(stderr, "a kernel on fibers: %s\n", rule);
  std::abort();
}

enum class Factors { kBFloat16, kHalf, kTf32 };

// A product of a lane, computed when all lanes of its warp have reached FinishProducts().
struct Product {
  Factors factors;
  float* d;
  Word a[4], b[2];
};

struct Fiber {
  ucontext_t context;
  int block = 0, thread = 0;
  bool waits = false, ended = false;
  std::vector<Product> products;
};

struct Warp {
  int arrived = 0;
};

struct Block {
  std::vector<float> shared;
  std::vector<Warp> warps;
  int arrived = 0;
  bool any = false, result = false;  // of BlockBarrierOr
};

// One grid at a time, in one thread.
struct Scheduler {
  const FiberGrid& grid;
  const std::function<void()>& body;
  std::vector<Block> blocks;
  std::vector<Fiber> fibers;
  ucontext_t main = {};
  Fiber* current = nullptr;

  Scheduler(const FiberGrid& g, const std::function<void()>& b) : grid(g), body(b) {}

  Fiber& At(int block, int thread) { return fibers[block * grid.threads + thread]; }

  void Yield() { swapcontext(&current->context, &main); }
  void Wait() {
    current->waits = true;
    Yield();
  }
  void Wake(int block, int first, int count) {
    for (int t = first; t < first + count; ++t) At(block, t).waits = false;
  }
};

thread_local Scheduler* scheduler = nullptr;

void Start() {
  scheduler->body();
  scheduler->current->ended = true;
  scheduler->Yield();
}

float Element(Factors factors, Word word, int half) {
  if (factors == Factors::kTf32) return FloatFromBits(word & 0xffffe000u);
  const auto bits = static_cast<unsigned short>(half == 0 ? word : word >> 16);
  if (factors == Factors::kHalf) return elementwise::WidenHalf(bits);
  return FloatFromBits(static_cast<Word>(bits) << 16);
}

// d += a b for the k-th product of the lanes of a warp. The lanes hold the elements in the layout
// of PTX's mma.sync.
void MultiplyWarp(const Fiber* lanes, size_t k) {
  const Factors factors = lanes[0].products[k].factors;
  const int each = factors == Factors::kTf32 ? 1 : 2;  // elements of a word
  const int inner = 8 * each;
  float a[16][16], b[8][16];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Product& product = lanes[lane].products[k];
    const int group = lane / 4, quad = lane % 4;
    for (int e = 0; e < each; ++e) {
      for (int word = 0; word < 4; ++word) {
        a[group + word % 2 * 8][(word / 2 * 4 + quad) * each + e] =
            Element(factors, product.a[word], e);
      }
      for (int word = 0; word < 2; ++word) {
        b[group][(word * 4 + quad) * each + e] = Element(factors, product.b[word], e);
      }
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    float* const d = lanes[lane].products[k].d;
    for (int e = 0; e < 4; ++e) {
      const float* const row = a[lane / 4 + 8 * (e / 2)];
      const float* const column = b[lane % 4 * 2 + e % 2];
      for (int i = 0; i < inner; ++i) d[e] += row[i] * column[i];
    }
  }
}

void Enqueue(Factors factors, float* d, const Word* a, Word b0, Word b1) {
  Product product = {factors, d, {}, {b0, b1}};
  std::memcpy(product.a, a, sizeof(product.a));
  scheduler->current->products.push_back(product);
}

void RunWarp(Fiber* lanes) {
  const size_t count = lanes[0].products.size();
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lanes[lane].products.size() != count) Broken("the lanes of a warp compute other products");
  }
  for (size_t k = 0; k < count; ++k) MultiplyWarp(lanes, k);
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane].products.clear();
}

// Runs the fibers of a block in turn until each waits, spins or has ended. False: all have ended.
bool RunBlock(Scheduler* s, int block, std::mt19937_64* random) {
  bool runs = false, progress = true;
  for (int turn = 0; progress && turn < 8; ++turn) {
    progress = false;
    const int first = static_cast<int>((*random)() % s->grid.threads);
    for (int k = 0; k < s->grid.threads; ++k) {
      Fiber& fiber = s->At(block, (first + k) % s->grid.threads);
      if (fiber.ended) continue;
      runs = true;
      if (fiber.waits) continue;
      s->current = &fiber;
      swapcontext(&s->main, &fiber.context);
      progress = true;
    }
  }
  return runs;
}

// Memory for stacks. It is kept for the next grid, whose pages are then there already.
__attribute__((noinline)) char* Stacks(size_t bytes) {
  static thread_local char* stacks = nullptr;
  static thread_local size_t size = 0;
  if (bytes <= size) return stacks;
  if (stacks != nullptr) munmap(stacks, size);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) Broken("no memory for stacks");
  stacks = static_cast<char*>(memory), size = bytes;
  return stacks;
}

void MakeFibers(Scheduler* s) {
  s->blocks.resize(s->grid.blocks);
  for (Block& block : s->blocks) {
    block.shared.assign(s->grid.shared_bytes / sizeof(float), NAN);
    block.warps.resize(s->grid.threads / kLanes);
  }
  s->fibers.resize(size_t{1} * s->grid.blocks * s->grid.threads);
  char* const stacks = Stacks(s->fibers.size() * kStackBytes);
  for (size_t k = 0; k < s->fibers.size(); ++k) {
    Fiber& fiber = s->fibers[k];
    fiber.block = static_cast<int>(k) / s->grid.threads;
    fiber.thread = static_cast<int>(k) % s->grid.threads;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks + k * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, Start, 0);
  }
}

}  // namespace

void RunFibers(const FiberGrid& grid, const std::function<void()>& thread) {
  Scheduler s(grid, thread);
  scheduler = &s;
  MakeFibers(&s);
  std::mt19937_64 random(grid.seed);
  std::vector<int> alive;
  for (int block = 0; block < grid.blocks; ++block) {
    if (block != grid.block_that_hangs) alive.push_back(block);
  }
  while (!alive.empty()) {
    // Half of the turns go to the first few blocks of the list, so that the others lag.
    const size_t range = random() % 2 == 0 ? alive.size() : std::min<size_t>(alive.size(), 2);
    const size_t k = random() % range;
    if (!RunBlock(&s, alive[k], &random)) alive.erase(alive.begin() + static_cast<long>(k));
    if (!alive.empty() && random() % 16 == 0) std::swap(alive[0], alive[random() % alive.size()]);
  }
  if (grid.runs_late) {
    while (RunBlock(&s, grid.block_that_hangs, &random)) {
    }
  }
  for (const Block& block : s.blocks) {
    if (block.arrived != 0) Broken("some threads of a block ended before a barrier");
  }
  scheduler = nullptr;
}

}  // namespace rnn_ops::gpu::fake

// ---- The functions of warp.h ----

namespace rnn_ops::gpu::elementwise {

using fake::Broken;
using fake::Factors;
using fake::scheduler;

int ThreadOfBlock() { return scheduler->current->thread; }
int BlockOfGrid() { return scheduler->current->block; }
int BlocksOfGrid() { return scheduler->grid.blocks; }

void BlockBarrier() { BlockBarrierOr(false); }

bool BlockBarrierOr(bool value) {
  fake::Scheduler& s = *scheduler;
  const int number = s.current->block;
  fake::Block& block = s.blocks[number];
  if (!s.current->products.empty()) Broken("products are not finished at a barrier");
  block.any = block.any || value;
  if (++block.arrived < s.grid.threads) {
    s.Wait();
  } else {
    block.result = block.any;
    block.arrived = 0, block.any = false;
    s.Wake(number, 0, s.grid.threads);
  }
  return block.result;
}

float* SharedMemory() { return scheduler->blocks[scheduler->current->block].shared.data(); }

Words LoadExchanged(const Word* from) {
  Words v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
float LoadExchanged(const float* from) { return *from; }
void StoreExchanged(unsigned short value, unsigned short* to) { *to = value; }
void StoreExchanged(Word value, Word* to) { *to = value; }
unsigned LoadAcquire(const unsigned* from) {
  scheduler->Yield();
  return *from;
}
void AddRelease(unsigned* to) { ++*to; }
void StoreForHost(unsigned value, unsigned* to) { *to = value; }

void MultiplyBFloat16(float* d, const Word* a, Word b0, Word b1) {
  fake::Enqueue(Factors::kBFloat16, d, a, b0, b1);
}
void MultiplyHalf(float* d, const Word* a, Word b0, Word b1) {
  fake::Enqueue(Factors::kHalf, d, a, b0, b1);
}
void MultiplyTf32(float* d, const Word* a, Word b0, Word b1) {
  fake::Enqueue(Factors::kTf32, d, a, b0, b1);
}

void FinishProducts() {
  fake::Scheduler& s = *scheduler;
  const int block = s.current->block, warp = s.current->thread / fake::kLanes;
  fake::Warp& state = s.blocks[block].warps[warp];
  if (++state.arrived < fake::kLanes) {
    s.Wait();
    return;
  }
  state.arrived = 0;
  fake::RunWarp(&s.At(block, warp * fake::kLanes));
  s.Wake(block, warp * fake::kLanes, fake::kLanes);
}

}  // namespace rnn_ops::gpu::elementwise
