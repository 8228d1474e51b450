#include "cc/gpu/stream_timer.h"

namespace rnn_ops {
namespace gpu {
namespace {

class Event {
 public:
  explicit Event(const DriverApi& driver) : driver_(driver) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) driver_.EventDestroy(event_);
  }

  Status Create() {
    constexpr unsigned kTimed = 0;  // CU_EVENT_DEFAULT
    RNN_OPS_RETURN_IF_CUDA_ERROR(driver_, EventCreate(&event_, kTimed));
    return Status();
  }
  CUevent get() const { return event_; }

 private:
  const DriverApi& driver_;
  CUevent event_ = nullptr;
};

}  // namespace

Status TimeOnStream(const DriverApi& driver, void* stream, const std::function<Status()>& work,
                    double* seconds) {
  Event start(driver), end(driver);
  RNN_OPS_RETURN_IF_ERROR(start.Create());
  RNN_OPS_RETURN_IF_ERROR(end.Create());
  const CUstream on = static_cast<CUstream>(stream);
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, EventRecord(start.get(), on));
  const Status status = work();
  // Also after a failure: what was enqueued may use memory that the caller frees.
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, EventRecord(end.get(), on));
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, EventSynchronize(end.get()));
  RNN_OPS_RETURN_IF_ERROR(status);
  float milliseconds = 0;
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, EventElapsedTime(&milliseconds, start.get(), end.get()));
  *seconds = milliseconds / 1e3;
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
