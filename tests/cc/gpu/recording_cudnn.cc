#include "tests/cc/gpu/recording_cudnn.h"

#include "tests/cc/gpu/fake_cudnn.h"

namespace rnn_ops::gpu::fake {
namespace {

Recording* recording = nullptr;

}  // namespace

Recording::Recording() {
  recording = this;
  const CudnnApi real = FakeCudnn();
#define WRAP(result, name_, parameters)                             \
  {                                                                 \
    using Function = Recorded<k##name_, decltype(CudnnApi::name_)>; \
    Function::real = real.name_;                                    \
    Function::name = #name_;                                        \
    api_.name_ = &Function::Call;                                   \
  }
  RNN_OPS_CUDNN_FUNCTIONS(WRAP)
#undef WRAP
}

Recording::~Recording() { recording = nullptr; }

Recording* Recording::current() { return recording; }

bool Recording::Note(const std::string& name) {
  calls_.push_back(name);
  if (remaining_ < 0) return false;
  return remaining_-- == 0;
}

Hook Recording::hook() {
  return [this](const char* name) {
    return Note(name) ? Internal("the operation ", name, " fails on purpose") : Status();
  };
}

}  // namespace rnn_ops::gpu::fake
