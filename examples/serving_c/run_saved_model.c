// Runs a SavedModel in a process without Python, with kernels loaded by TF_LoadLibrary.
//
//   run_saved_model LIBRARY MODEL_DIR OUTPUT NAME=DIM,DIM,...[:VALUE] ...
//
// LIBRARY is _tf_rnn_ops_stock.tf*.so for a model with TensorFlow's own ops, _tf_rnn_ops.tf*.so for
// one with ours. OUTPUT and NAME are names of tensors in the graph, such as serving_default_x:0 and
// StatefulPartitionedCall:0; `saved_model_cli show` prints them. Every input is filled with VALUE
// (1 unless given): float32, or int32 with the suffix i, as in lengths:0=2:5i. Prints the shape and
// the elements of the float32 output, one a line.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kMaxInputs = 8, kMaxDims = 8 };

static void die(const char* what, const char* why) {
  fprintf(stderr, "run_saved_model: %s: %s\n", what, why);
  exit(1);
}

static void check(const TF_Status* status, const char* what) {
  if (TF_GetCode(status) != TF_OK) die(what, TF_Message(status));
}

// Finds the tensor that "operation:index" names, with index 0 if it is left out.
static TF_Output find_output(TF_Graph* graph, const char* name) {
  char operation[512];
  if (strlen(name) >= sizeof(operation)) die(name, "the name is too long");
  strcpy(operation, name);
  TF_Output output = {NULL, 0};
  char* colon = strchr(operation, ':');
  if (colon != NULL) {
    *colon = '\0';
    output.index = atoi(colon + 1);
  }
  output.oper = TF_GraphOperationByName(graph, operation);
  if (output.oper == NULL) die(name, "the graph has no such operation");
  if (output.index < 0 || output.index >= TF_OperationNumOutputs(output.oper)) {
    die(name, "the operation has no such output");
  }
  return output;
}

// Makes the tensor that "DIM,DIM,...[:VALUE[i]]" describes.
static TF_Tensor* make_tensor(const char* text) {
  int64_t dims[kMaxDims];
  int num_dims = 0;
  int64_t count = 1;
  char* at = (char*)text;
  while (*at != '\0' && *at != ':') {
    if (num_dims == kMaxDims) die(text, "too many dimensions");
    char* end = at;
    dims[num_dims] = strtoll(at, &end, 10);
    if (end == at || dims[num_dims] < 0) die(text, "expected DIM,DIM,...[:VALUE]");
    count *= dims[num_dims++];
    at = *end == ',' ? end + 1 : end;
  }
  double value = 1;
  int is_int = 0;
  if (*at == ':') {
    char* end = at + 1;
    value = strtod(at + 1, &end);
    is_int = *end == 'i';
  }
  const TF_DataType type = is_int ? TF_INT32 : TF_FLOAT;
  TF_Tensor* tensor = TF_AllocateTensor(type, dims, num_dims, count * TF_DataTypeSize(type));
  if (tensor == NULL) die(text, "the tensor cannot be allocated");
  for (int64_t i = 0; i < count; ++i) {
    if (is_int) {
      ((int32_t*)TF_TensorData(tensor))[i] = (int32_t)value;
    } else {
      ((float*)TF_TensorData(tensor))[i] = (float)value;
    }
  }
  return tensor;
}

static void print_tensor(const TF_Tensor* tensor) {
  if (TF_TensorType(tensor) != TF_FLOAT) die("output", "it is not of type float32");
  int64_t count = 1;
  printf("shape");
  for (int d = 0; d < TF_NumDims(tensor); ++d) {
    printf(" %lld", (long long)TF_Dim(tensor, d));
    count *= TF_Dim(tensor, d);
  }
  printf("\n");
  const float* data = TF_TensorData(tensor);
  for (int64_t i = 0; i < count; ++i) printf("%.9g\n", data[i]);
}

int main(int argc, char** argv) {
  if (argc < 5 || argc > 4 + kMaxInputs) {
    die("usage", "run_saved_model LIBRARY MODEL_DIR OUTPUT NAME=DIM,DIM,...[:VALUE] ...");
  }
  const char* library_path = argv[1];
  const char* model_dir = argv[2];
  TF_Status* status = TF_NewStatus();

  // The kernels register themselves as the library is loaded: before the session is made.
  TF_Library* library = TF_LoadLibrary(library_path, status);
  check(status, library_path);

  // The ConfigProto {allow_soft_placement: true, inter_op_parallelism_threads: -1}: nodes written
  // for a GPU run on the CPU, and the graph on this thread, which a short one is faster on.
  const uint8_t config[] = {0x38, 0x01, 0x28, 0xff, 0xff, 0xff, 0xff,
                            0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, config, sizeof(config), status);
  check(status, "TF_SetConfig");

  const char* tags[] = {"serve"};
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session =
      TF_LoadSessionFromSavedModel(options, /*run_options=*/NULL, model_dir, tags,
                                   /*ntags=*/1, graph, /*meta_graph_def=*/NULL, status);
  check(status, model_dir);

  const TF_Output output = find_output(graph, argv[3]);
  TF_Output inputs[kMaxInputs];
  TF_Tensor* values[kMaxInputs];
  const int num_inputs = argc - 4;
  for (int i = 0; i < num_inputs; ++i) {
    char* equals = strchr(argv[4 + i], '=');
    if (equals == NULL) die(argv[4 + i], "expected NAME=DIM,DIM,...[:VALUE]");
    *equals = '\0';
    inputs[i] = find_output(graph, argv[4 + i]);
    values[i] = make_tensor(equals + 1);
  }

  TF_Tensor* result = NULL;
  TF_SessionRun(session, /*run_options=*/NULL, inputs, values, num_inputs, &output, &result,
                /*noutputs=*/1, /*target_opers=*/NULL, /*ntargets=*/0, /*run_metadata=*/NULL,
                status);
  check(status, "TF_SessionRun");
  print_tensor(result);

  TF_DeleteTensor(result);
  for (int i = 0; i < num_inputs; ++i) TF_DeleteTensor(values[i]);
  TF_CloseSession(session, status);
  check(status, "TF_CloseSession");
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(status);
  return 0;
}
