/* Runs a .rnn file call by call and prints the outputs: step MODEL.rnn [CALLS]
 *
 * Each call reads the numbers of all inputs from the standard input, as text, until the end of the
 * text. With CALLS, that number of calls gets made-up inputs instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rnn_step.h"

enum { kMostTensors = 16 };

static void fail(const char* what) {
  fprintf(stderr, "step: %s\n", what);
  exit(1);
}

static void check(int code) {
  if (code == RNN_STEP_NO_MEMORY) fail("there is not enough memory");
  if (code != RNN_STEP_OK) fail(rnn_step_error());
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) fail("there is not enough memory");
  return memory;
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail("the model cannot be opened");
  const long end = ftell(file);
  if (end < 0) fail("the model cannot be read");
  *size = (size_t)end;
  void* bytes = allocate(*size);
  rewind(file);
  if (fread(bytes, 1, *size, file) != *size) fail("the model cannot be read");
  fclose(file);
  return bytes;
}

/* Fills an input. Returns 0 at the end of the text. */
static int fill(RnnStepTensor tensor, void* data, int made_up, long call) {
  for (int64_t i = 0; i < tensor.elements; ++i) {
    double number = tensor.type == RNN_STEP_INT32 ? 0.0 : sin((double)(call * tensor.elements + i));
    if (!made_up && scanf("%lf", &number) != 1) {
      if (i > 0 || !feof(stdin)) fail("the input is not a whole number of calls");
      return 0;
    }
    if (tensor.type == RNN_STEP_INT32) {
      ((int32_t*)data)[i] = (int32_t)number;
    } else {
      ((float*)data)[i] = (float)number;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) fail("usage: step MODEL.rnn [CALLS]");
  if (rnn_step_version() != RNN_STEP_VERSION) fail("the header and the library differ in version");
  const long calls = argc == 3 ? strtol(argv[2], NULL, 10) : -1;

  size_t size = 0;
  void* bytes = read_file(argv[1], &size);
  RnnStepper* stepper = NULL;
  check(rnn_step_new(bytes, size, /*batch=*/0, /*time=*/0, /*threads=*/1, &stepper));
  free(bytes); /* the stepper has copied the weights */

  const int num_inputs = rnn_step_num_inputs(stepper), num_outputs = rnn_step_num_outputs(stepper);
  if (num_inputs > kMostTensors || num_outputs > kMostTensors)
    fail("the model has too many tensors");
  void* inputs[kMostTensors];
  float* outputs[kMostTensors];
  for (int k = 0; k < num_inputs; ++k)
    inputs[k] = allocate(4 * (size_t)rnn_step_input(stepper, k).elements);
  for (int k = 0; k < num_outputs; ++k)
    outputs[k] = allocate(4 * (size_t)rnn_step_output(stepper, k).elements);

  /* The stepper keeps the states from call to call. */
  for (long call = 0; calls < 0 || call < calls; ++call) {
    int more = 1;
    for (int k = 0; k < num_inputs && more; ++k) {
      more = fill(rnn_step_input(stepper, k), inputs[k], calls >= 0, call);
      if (!more && k > 0) fail("the input is not a whole number of calls");
    }
    if (!more) break;
    check(rnn_step_call(stepper, (const void* const*)inputs, outputs));
    for (int k = 0; k < num_outputs; ++k) {
      const RnnStepTensor output = rnn_step_output(stepper, k);
      printf("%s", output.name);
      for (int64_t i = 0; i < output.elements; ++i) printf(" %.9g", outputs[k][i]);
      printf("\n");
    }
  }

  for (int k = 0; k < num_inputs; ++k) free(inputs[k]);
  for (int k = 0; k < num_outputs; ++k) free(outputs[k]);
  rnn_step_free(stepper);
  return 0;
}
