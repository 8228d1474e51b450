// A model and its streams: weights that all calls share, and the memory of the calls.
//
// Note [Calls]
// A stream has its states only. The memory of a call is a workspace: a program and memory for the
// states after the call, which the call exchanges with that of the stream. A model has as many
// workspaces as calls have run at once, each in a place. A call takes a place with one atomic
// operation, and otherwise neither locks nor allocates nor frees, unless it finds no free place.
//
// Note [Updates]
// An update makes a workspace of the new weights for each place, and puts them next to those in
// use. Then it increments the number of the weights. A call that finds a workspace with another
// number in its place takes the new one. So the first call after the increment has the new weights,
// and so has each later one, of all streams. No call waits. The update replaces the workspaces of
// the places that are free, waits for the calls that run, and frees the old workspaces.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/step/interface.h"
#include "cc/step/lock.h"
#include "cc/step/model_file.h"
#include "cc/step/program.h"
#include "cc/step/workers.h"

namespace rnn_ops::step {

// Memory of all states of a stream: see State::offset.
struct FreeStates {
  void operator()(float* states) const { std::free(states); }
};
using States = std::unique_ptr<float, FreeStates>;

// The steps of a call, and whether its outputs have the last step only.
struct Form {
  int64_t steps;
  bool last_step;
};

struct Workspace {
  int64_t number;                    // that of the weights
  std::unique_ptr<Program> program;  // null until a call of another form than the usual one
  States after;
};

// A place for a workspace.
struct Place {
  explicit Place(int threads, bool usual) : is_usual(usual), workers(threads - 1) {}
  ~Place();
  // Takes the workspace of an update, if there is one. The caller has the lock.
  void TakeNext();

  const bool is_usual;  // whether it is for calls of T steps with all of their outputs
  Lock lock;
  std::unique_ptr<Workspace> workspace;  // of the owner of the lock
  std::atomic<Workspace*> next{nullptr};
  std::atomic<Workspace*> old{nullptr};  // for the update to free
  Team caller{1, nullptr};               // the team of a call with one thread
  Workers workers;                       // of other calls
  Place* other = nullptr;                // the next one in the list of the model
};

class Model {
 public:
  // 0 as B or T: that of the file, or 1.
  static Status Make(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                     std::shared_ptr<Model>* model);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Interface& interface() const { return interface_; }
  int64_t batch() const { return batch_; }
  int64_t time() const { return time_; }
  int threads() const { return threads_; }
  // That of the state in the memory of a stream.
  int64_t offset(int state) const { return offsets_[state]; }
  int64_t state_elements() const { return state_elements_; }

  Status NewStates(States* states) const;

  // Takes a place for a usual call, if it is free.
  bool TryUsual(Place* place) const {
    if (!place->lock.Try()) return false;
    if (place->workspace->number != number_.load(std::memory_order_acquire)) place->TakeNext();
    return true;
  }
  // Takes any place for a usual call.
  Status TakeUsual(Place** place);
  // Takes a place for another call, and gives it a program of the call's form.
  Status TakeOther(Place** place);
  Status SetForm(Place* place, const Form& form);
  Place* first() const { return usual_.load(std::memory_order_acquire); }
  // Makes places for this number of usual calls at once.
  Status Reserve(int64_t calls);

  Status Update(const void* bytes, size_t size);
  // The text of a key, or the fingerprint without a key. Returns false if there is none.
  bool Metadata(const char* key, std::string* text);

 private:
  // An update exchanges it.
  struct Version {
    ModelFile file;  // without the data of the tensors
    std::shared_ptr<Weights> weights;
  };

  Model(const Program& program, int threads);
  // Reads a file. `like`: the interface of the model that it must be a version of, or null.
  static Status Read(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                     const std::string& purpose, const Interface* like,
                     std::unique_ptr<Version>* version, std::unique_ptr<Program>* program);
  Status NewProgram(const Version& version, const Form& form,
                    std::unique_ptr<Program>* program) const;
  Status NewWorkspace(int64_t number, std::unique_ptr<Program> program,
                      std::unique_ptr<Workspace>* workspace) const;
  // Adds a place, whose lock the caller has. The caller has changes_.
  Status AddPlace(std::unique_ptr<Program> program, bool usual, Place** place);

  const Interface interface_;
  const int64_t batch_, time_;
  const int threads_;
  std::vector<int64_t> offsets_;
  const int64_t state_elements_;

  Lock updates_;  // one at a time
  Lock changes_;  // of the lists and of version_: for a short time
  std::atomic<int64_t> number_{0};
  std::unique_ptr<Version> version_;
  // Lists, whose places live as long as the model.
  std::atomic<Place*> usual_{nullptr};
  std::atomic<Place*> others_{nullptr};
};

}  // namespace rnn_ops::step
