#include "cc/step/model.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace rnn_ops::step {

Place::~Place() {
  delete next.load();
  delete old.load();
}

void Place::TakeNext() {
  std::unique_ptr<Workspace> taken(next.exchange(nullptr, std::memory_order_acquire));
  if (taken == nullptr) return;
  workspace.swap(taken);
  old.store(taken.release(), std::memory_order_release);
}

Model::Model(const Program& program, int threads)
    : interface_(InterfaceOf(program)),
      batch_(program.batch),
      time_(program.max_time),
      threads_(threads),
      state_elements_(program.state_elements) {
  for (const auto& state : program.states) offsets_.push_back(state->offset);
}

Model::~Model() {
  for (Place* place : {usual_.load(), others_.load()}) {
    while (place != nullptr) delete std::exchange(place, place->other);
  }
}

Status Model::Read(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                   const std::string& purpose, const Interface* like,
                   std::unique_ptr<Version>* version, std::unique_ptr<Program>* program) {
  auto made = std::make_unique<Version>();
  RNN_OPS_RETURN_IF_ERROR(ReadModelFile(bytes, size, &made->file));
  const bool is_window = made->file.version == kWindowVersion;
  if (like != nullptr && like->is_window != is_window) {
    const auto name = [](bool is_window) { return is_window ? "windows" : "a stream"; };
    return InvalidArgument("The model must be one of ", name(like->is_window),
                           ", but it is one of ", name(is_window), ".");
  }
  made->weights = std::make_shared<Weights>();
  auto first = std::make_unique<Program>(made->weights);
  const Status status = BuildProgram(made->file, batch, time, threads, first.get());
  if (!status.ok()) return Status(status.code(), purpose + ": " + status.message() + ".");
  for (auto& [name, tensor] : made->file.tensors) tensor.data = nullptr;
  *version = std::move(made);
  *program = std::move(first);
  return Status();
}

Status Model::Make(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                   std::shared_ptr<Model>* model) {
  std::unique_ptr<Version> version;
  std::unique_ptr<Program> program;
  RNN_OPS_RETURN_IF_ERROR(Read(bytes, size, batch, time, threads, "The model cannot be run",
                               nullptr, &version, &program));
  std::shared_ptr<Model> made(new Model(*program, threads));
  made->version_ = std::move(version);
  Place* place = nullptr;
  RNN_OPS_RETURN_IF_ERROR(made->AddPlace(std::move(program), /*usual=*/true, &place));
  place->lock.Release();
  *model = std::move(made);
  return Status();
}

Status Model::NewStates(States* states) const {
  constexpr size_t kAlignment = 64;
  const size_t bytes = std::max<size_t>(state_elements_ * sizeof(float), kAlignment);
  states->reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
  if (*states == nullptr) {
    return ResourceExhausted("There is not enough memory for the states of a stream, ", bytes,
                             " bytes.");
  }
  std::memset(states->get(), 0, bytes);
  return Status();
}

Status Model::NewProgram(const Version& version, const Form& form,
                         std::unique_ptr<Program>* program) const {
  auto made = std::make_unique<Program>(version.weights);
  made->last_step = form.last_step;
  const Status status = BuildProgram(version.file, batch_, form.steps, threads_, made.get());
  if (!status.ok()) {
    return Status(status.code(), StrCat("A call of ", form.steps,
                                        " steps cannot be run: ", status.message(), "."));
  }
  for (size_t k = 0; k < interface_.inputs.size(); ++k) {
    made->inputs[k]->name = interface_.inputs[k].name;
  }
  *program = std::move(made);
  return Status();
}

Status Model::NewWorkspace(int64_t number, std::unique_ptr<Program> program,
                           std::unique_ptr<Workspace>* workspace) const {
  auto made = std::make_unique<Workspace>();
  made->number = number;
  made->program = std::move(program);
  RNN_OPS_RETURN_IF_ERROR(NewStates(&made->after));
  *workspace = std::move(made);
  return Status();
}

Status Model::AddPlace(std::unique_ptr<Program> program, bool usual, Place** place) {
  auto made = std::make_unique<Place>(threads_, usual);
  RNN_OPS_RETURN_IF_ERROR(
      NewWorkspace(number_.load(std::memory_order_relaxed), std::move(program), &made->workspace));
  made->lock.Take();
  std::atomic<Place*>& list = usual ? usual_ : others_;
  made->other = list.load(std::memory_order_relaxed);
  *place = made.get();
  list.store(made.release(), std::memory_order_release);
  return Status();
}

Status Model::TakeUsual(Place** place) {
  for (Place* free = first(); free != nullptr; free = free->other) {
    if (!TryUsual(free)) continue;
    *place = free;
    return Status();
  }
  const Locked changes(&changes_);
  std::unique_ptr<Program> program;
  RNN_OPS_RETURN_IF_ERROR(NewProgram(*version_, {time_, false}, &program));
  return AddPlace(std::move(program), /*usual=*/true, place);
}

Status Model::Reserve(int64_t calls) {
  const Locked changes(&changes_);
  for (const Place* place = first(); place != nullptr; place = place->other) --calls;
  for (; calls > 0; --calls) {
    std::unique_ptr<Program> program;
    RNN_OPS_RETURN_IF_ERROR(NewProgram(*version_, {time_, false}, &program));
    Place* place = nullptr;
    RNN_OPS_RETURN_IF_ERROR(AddPlace(std::move(program), /*usual=*/true, &place));
    place->lock.Release();
  }
  return Status();
}

Status Model::TakeOther(Place** place) {
  for (Place* free = others_.load(std::memory_order_acquire); free != nullptr; free = free->other) {
    if (!free->lock.Try()) continue;
    *place = free;
    return Status();
  }
  const Locked changes(&changes_);
  return AddPlace(nullptr, /*usual=*/false, place);
}

Status Model::SetForm(Place* place, const Form& form) {
  // An update does not make the programs of such places, so this one may be outdated again.
  for (;;) {
    const int64_t number = number_.load(std::memory_order_acquire);
    if (place->workspace->number != number) place->TakeNext();
    Workspace& workspace = *place->workspace;
    const Program* const program = workspace.program.get();
    if (program != nullptr && program->max_time == form.steps &&
        program->last_step == form.last_step) {
      return Status();
    }
    const Locked changes(&changes_);
    if (workspace.number != number_.load(std::memory_order_relaxed)) continue;
    workspace.program = nullptr;
    RNN_OPS_RETURN_IF_ERROR(NewProgram(*version_, form, &workspace.program));
  }
}

Status Model::Update(const void* bytes, size_t size) {
  const std::string purpose =
      StrCat("The model cannot be that of a stepper with batch_size ", batch_, " and time ", time_);
  std::unique_ptr<Version> version;
  std::unique_ptr<Program> program;
  RNN_OPS_RETURN_IF_ERROR(
      Read(bytes, size, batch_, time_, threads_, purpose, &interface_, &version, &program));
  RNN_OPS_RETURN_IF_ERROR(CheckAgree(interface_, InterfaceOf(*program)));
  for (size_t k = 0; k < interface_.inputs.size(); ++k) {
    // Errors of nodes have the names of inputs.
    program->inputs[k]->name = interface_.inputs[k].name;
  }

  const Locked updates(&updates_);
  std::vector<Place*> places;
  std::vector<std::unique_ptr<Workspace>> workspaces;
  {
    const Locked changes(&changes_);
    const int64_t number = number_.load(std::memory_order_relaxed) + 1;
    for (Place* place : {first(), others_.load(std::memory_order_relaxed)}) {
      for (; place != nullptr; place = place->other) {
        if (place->is_usual && program == nullptr) {
          RNN_OPS_RETURN_IF_ERROR(NewProgram(*version, {time_, false}, &program));
        }
        places.push_back(place);
        RNN_OPS_RETURN_IF_ERROR(NewWorkspace(number, place->is_usual ? std::move(program) : nullptr,
                                             &workspaces.emplace_back()));
      }
    }
    // Nothing fails from here on.
    for (size_t k = 0; k < places.size(); ++k) {
      delete places[k]->next.exchange(workspaces[k].release(), std::memory_order_acq_rel);
    }
    version_.swap(version);
    number_.store(number, std::memory_order_release);
  }
  for (Place* place : places) {
    for (;;) {
      if (place->lock.Try()) {
        place->TakeNext();
        place->lock.Release();
      }
      if (Workspace* const old = place->old.exchange(nullptr, std::memory_order_acquire)) {
        delete old;
        break;
      }
      if (place->lock.IsLost()) break;
      std::this_thread::sleep_for(kPause);
    }
  }
  return Status();
}

bool Model::Metadata(const char* key, std::string* text) {
  const Locked changes(&changes_);
  const ModelFile& file = version_->file;
  const auto found = key == nullptr ? file.metadata.end() : file.metadata.find(key);
  if (key != nullptr && found == file.metadata.end()) return false;
  *text = key == nullptr ? file.fingerprint : found->second;
  return true;
}

}  // namespace rnn_ops::step
