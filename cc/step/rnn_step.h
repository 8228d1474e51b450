/* A trained model that is called step by step, from C, C++ or any language that calls C.
 *
 * A model is a file that tf_rnn_ops.keras.export(model, "model.rnn", streaming=True) writes, or
 * without streaming=True: then it is a model of windows (rnn_step_is_window). The library needs
 * neither Python nor TensorFlow: link with _tf_rnn_ops_step.so, and keep the other
 * _tf_rnn_ops_*.so files of the wheel beside it. docs/step-format.md describes the file.
 *
 * A stepper has one state for each of B streams. Each call takes the next T steps of every stream.
 * Tensors are dense, in the order of C: [B, T, ...] with the steps of a stream, [B, ...] without.
 * Steppers that rnn_step_clone makes share the weights, and cost the memory of their states.
 *
 * A stepper of a model of windows has no states. Each call gets whole windows, a row of the batch
 * each, and begins with zeros. Its tensors have no time: the steps are sizes like others.
 *
 * Functions that return int return RNN_STEP_OK or the code of an error. The sentence of the last
 * error of a thread is rnn_step_error(). A stepper may be used by one thread at a time: a function
 * that meets one of another thread returns RNN_STEP_BUSY, except rnn_step_update, rnn_step_reserve
 * and rnn_step_metadata. Several steppers run side by side, also those that share weights. A
 * process that is forked while another thread uses a stepper cannot use that stepper. */
#ifndef TF_RNN_OPS_RNN_STEP_H_
#define TF_RNN_OPS_RNN_STEP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every incompatible change of this header. */
#define RNN_STEP_VERSION 1

enum {
  RNN_STEP_OK = 0,
  RNN_STEP_INVALID = 1,   /* an argument or the model is wrong */
  RNN_STEP_BUSY = 2,      /* another thread uses the stepper */
  RNN_STEP_NO_MEMORY = 3, /* there is not enough memory */
  RNN_STEP_INTERNAL = 4   /* a fault of the library */
};

/* The types of tensors. */
enum { RNN_STEP_FLOAT32 = 0, RNN_STEP_INT32 = 1 };

typedef struct RnnStepper RnnStepper;

/* What a tensor of a stepper is. The pointers live as long as the stepper, also after an update. */
typedef struct {
  const char* name;
  int type;     /* RNN_STEP_FLOAT32 or RNN_STEP_INT32 */
  int has_time; /* whether the second size is T */
  int rank;
  const int64_t* shape; /* [rank] */
  int64_t elements;
} RnnStepTensor;

/* The RNN_STEP_VERSION of the library. */
int rnn_step_version(void);

/* The sentence of the last error of this thread. It lives until the thread's next error. */
const char* rnn_step_error(void);

/* The instruction set of the kernels: "avx512", "avx2" or "baseline"; "" without memory to load
 * them. */
const char* rnn_step_isa(void);

/* Makes a stepper, whose states are zero.
 *
 * bytes, size: the content of the file. It is not needed after the call.
 * batch: B. 0: that of the file, or 1 if any number is valid.
 * time: T, the steps of a call. 0: that of the file, or 1 if any number is valid.
 * threads: the most threads of a call, including the caller; at least 1. */
int rnn_step_new(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                 RnnStepper** stepper);

/* Makes a stepper with the same weights, and with a copy of the states. It costs the memory of the
 * states and some dozen bytes. rnn_step_update changes the weights of both. Each of them may be
 * freed first. */
int rnn_step_clone(RnnStepper* stepper, RnnStepper** clone);

/* Makes memory for this number of calls at once, in threads, of the steppers that share weights. A
 * call that runs besides more calls than ever before makes it otherwise, which takes it some
 * microseconds. A new model has memory for one call. */
int rnn_step_reserve(RnnStepper* stepper, int calls);

/* Ends a stepper, which no thread may be using. NULL is valid. Once in about 4 MiB of states, it
 * returns free memory of the process to the system, which takes some milliseconds. */
void rnn_step_free(RnnStepper* stepper);

int64_t rnn_step_batch(const RnnStepper* stepper); /* B */
int64_t rnn_step_time(const RnnStepper* stepper);  /* T; of windows: the steps of a window */
/* 1 for a model of windows, otherwise 0. */
int rnn_step_is_window(const RnnStepper* stepper);
int rnn_step_num_inputs(const RnnStepper* stepper);
int rnn_step_num_outputs(const RnnStepper* stepper);
int rnn_step_num_states(const RnnStepper* stepper);

/* Tensor k, from 0; a name of NULL if there is none. */
RnnStepTensor rnn_step_input(const RnnStepper* stepper, int k);
RnnStepTensor rnn_step_output(const RnnStepper* stepper, int k);
RnnStepTensor rnn_step_state(const RnnStepper* stepper, int k);

/* Runs the next T steps.
 *
 * inputs: a pointer for each input. outputs: a pointer for each output; their memory overlaps no
 * other. After an error the states are those before the call, and the outputs are undefined.
 *
 * Real time: with one thread (`threads` of rnn_step_new is 1) a call allocates and frees no memory,
 * waits for no lock and makes no system call, from the first call on. The same holds for
 * rnn_step_reset, rnn_step_get_state and rnn_step_set_state. Exceptions: an error may allocate its
 * sentence, and a call may make memory that rnn_step_reserve would have made. */
int rnn_step_call(RnnStepper* stepper, const void* const* inputs, float* const* outputs);

/* What differs from rnn_step_call in a call. Zeros: nothing. */
typedef struct {
  /* The steps of the call, up to T, such as those of a last block; 0: T. The second size of the
   * inputs and outputs with time is this number. For a model of windows only 0 or T. */
  int64_t steps;
  /* 1: only the last step of each output with time, [B, ...]. 0 for a model of windows. */
  int last_step;
  /* [B], 1 for each row that is idle: its states stay, and its outputs are zeros. Its inputs are
   * checked as those of other rows. NULL: no row. */
  const uint8_t* idle;
} RnnStepOptions;

/* Runs the next steps as rnn_step_call. The first call with other steps, or with last_step, makes
 * memory for them. */
int rnn_step_call_with(RnnStepper* stepper, const RnnStepOptions* options,
                       const void* const* inputs, float* const* outputs);

/* Takes over another model, such as one with the weights of further training, for the stepper and
 * all that share its weights. The states keep their values.
 *
 * bytes, size: the content of its file, which is not needed after the function. It must run with B
 * and T of the stepper. Its inputs, outputs and states must agree with those of the stepper in
 * number, type and shape, in the same order. Their names may differ; those of the stepper stay.
 *
 * Any thread may update a stepper while others use it and its clones. No call is rejected, none
 * waits, and no step is lost: a call that runs ends with the old model, and all later ones of all
 * steppers use the new model. The update waits for the calls that run, and frees the old weights.
 * Updates of several threads take turns. After an error nothing has changed. */
int rnn_step_update(RnnStepper* stepper, const void* bytes, size_t size);

/* Begins new streams: sets the states of `count` rows of the batch to zero, of all with NULL. */
int rnn_step_reset(RnnStepper* stepper, const int64_t* rows, int64_t count);

/* Copies state k from or to the stepper. */
int rnn_step_get_state(RnnStepper* stepper, int k, float* to);
int rnn_step_set_state(RnnStepper* stepper, int k, const float* from);

/* Copies all states from or to the stepper, between the same two calls: a pointer for each state.
 * A state whose pointer is NULL is not copied. */
int rnn_step_get_states(RnnStepper* stepper, float* const* to);
int rnn_step_set_states(RnnStepper* stepper, const float* const* from);

/* The same for one row of the batch: elements / B numbers of each state. */
int rnn_step_get_row(RnnStepper* stepper, int64_t row, float* const* to);
int rnn_step_set_row(RnnStepper* stepper, int64_t row, const float* const* from);

/* The text of a key in the file's metadata, or NULL; with NULL as the key, the fingerprint of the
 * model, or "" if its file has none. The text lives until the next call of this function in this
 * thread. */
const char* rnn_step_metadata(const RnnStepper* stepper, const char* key);

#ifdef __cplusplus
}
#endif

#endif /* TF_RNN_OPS_RNN_STEP_H_ */
