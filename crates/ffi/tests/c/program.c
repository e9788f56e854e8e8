/* Loads and runs the programs of the test, and checks results and errors. Arguments: a folder with the artifacts, and
   the number of cycles of the last test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scorer.h"
#include "values.h"

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, typeloom_last_error()); \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)

#define OK(call) CHECK((call) == TYPELOOM_STATUS_OK)

/* The call fails with the code, and the text of the error contains `part`. */
#define FAILS(call, code, part)                              \
  do {                                                       \
    CHECK((call) == (code));                                 \
    CHECK(strstr(typeloom_last_error(), (part)) != NULL);    \
  } while (0)

static const char *folder;

static const char *path(const char *name) {
  static char text[4096];
  snprintf(text, sizeof text, "%s/%s", folder, name);
  return text;
}

static size_t live(void) {
  size_t count = 0;
  OK(typeloom_live_handles(&count));
  return count;
}

static const float query[] = {1, 2, 3, 4, -1, -2, -3, -4};
static const float weights[] = {1, 0, 0, 1, 1, 0, 0, 1};
static const uint64_t query_dims[] = {2, 4};
static const uint64_t weights_dims[] = {4, 2};

static bb_tensor_f32_t tensor(const float *data, size_t length, const uint64_t *dims) {
  bb_tensor_f32_t made;
  made.data = data;
  made.length = length;
  made.dims = dims;
  made.rank = 2;
  made.dtype = TYPELOOM_DTYPE_F32;
  return made;
}

static void test_ports(typeloom_program program) {
  size_t count = 0;
  typeloom_port port;
  const char *digest = NULL;
  OK(typeloom_input_count(program, &count));
  CHECK(count == SCORER_INPUT_COUNT && count == 2);
  OK(typeloom_output_count(program, &count));
  CHECK(count == SCORER_OUTPUT_COUNT && count == 1);
  OK(typeloom_input(program, SCORER_INPUT_QUERY, &port));
  CHECK(strcmp(port.name, "query") == 0);
  CHECK(strcmp(port.type_text, "float[N, 4]") == 0);
  CHECK(port.wire_hash == BB_TENSOR_F32_WIRE_HASH && port.dtype == TYPELOOM_DTYPE_F32);
  CHECK(port.rank == 2 && port.dims[0] == -1 && port.dims[1] == 4 && port.has_default == 0);
  OK(typeloom_output(program, SCORER_OUTPUT_SCORES, &port));
  CHECK(strcmp(port.name, "scores") == 0 && port.rank == 2);
  OK(typeloom_program_digest(program, &digest));
  CHECK(strcmp(digest, SCORER_DIGEST) == 0);
  FAILS(typeloom_input(program, 2, &port), TYPELOOM_STATUS_BAD_INDEX, "there is no input 2: the program has 2");
  FAILS(typeloom_output(program, (size_t)-1, &port), TYPELOOM_STATUS_BAD_INDEX, "there is no output");
  FAILS(typeloom_input(program, 0, NULL), TYPELOOM_STATUS_NULL_POINTER, "`port` is null");
}

static void test_run(typeloom_program program) {
  const float expected[] = {4, 6, 0, 0};
  bb_tensor_f32_t x = tensor(query, sizeof query, query_dims);
  bb_tensor_f32_t w = tensor(weights, sizeof weights, weights_dims);
  typeloom_value inputs[2];
  typeloom_value output;
  typeloom_result result = 0;
  const bb_tensor_f32_t *scores;
  inputs[SCORER_INPUT_QUERY].wire_hash = BB_TENSOR_F32_WIRE_HASH;
  inputs[SCORER_INPUT_QUERY].value = &x;
  inputs[SCORER_INPUT_WEIGHTS].wire_hash = BB_TENSOR_F32_WIRE_HASH;
  inputs[SCORER_INPUT_WEIGHTS].value = &w;
  OK(typeloom_run(program, inputs, 2, NULL, &result));
  OK(typeloom_result_value(result, SCORER_OUTPUT_SCORES, &output));
  CHECK(output.wire_hash == BB_TENSOR_F32_WIRE_HASH);
  scores = output.value;
  CHECK(scores->length == sizeof expected && memcmp(scores->data, expected, sizeof expected) == 0);
  CHECK(scores->rank == 2 && scores->dims[0] == 2 && scores->dims[1] == 2);
  CHECK(scores->dtype == TYPELOOM_DTYPE_F32);
  FAILS(typeloom_result_value(result, 1, &output), TYPELOOM_STATUS_BAD_INDEX, "there is no result 1");
  FAILS(typeloom_program_free(result), TYPELOOM_STATUS_BAD_HANDLE, "is a result, not a program");
  FAILS(typeloom_result_free(program), TYPELOOM_STATUS_BAD_HANDLE, "is a program, not a result");
  OK(typeloom_result_free(result));
  FAILS(typeloom_result_free(result), TYPELOOM_STATUS_BAD_HANDLE, "was freed");
  FAILS(typeloom_result_value(result, 0, &output), TYPELOOM_STATUS_BAD_HANDLE, "was freed");
}

/* One change of valid inputs in each call. */
static void test_bad_inputs(typeloom_program program) {
  static const int64_t integers[8] = {0};
  static const uint64_t wrong_dims[] = {2, 5};
  static const uint64_t huge_dims[] = {UINT64_MAX, UINT64_MAX};
  static const float ten[10] = {0};
  bb_tensor_f32_t x = tensor(query, sizeof query, query_dims);
  bb_tensor_f32_t w = tensor(weights, sizeof weights, weights_dims);
  bb_tensor_f32_t other;
  bb_tensor_i64_t wide;
  typeloom_value inputs[2];
  typeloom_limits limits = {0, 1, 0};
  typeloom_result result = 77;
  size_t before = live();
  inputs[0].wire_hash = inputs[1].wire_hash = BB_TENSOR_F32_WIRE_HASH;
  inputs[0].value = &x;
  inputs[1].value = &w;
#define RUN() typeloom_run(program, inputs, 2, NULL, &result)
  FAILS(typeloom_run(program, inputs, 1, NULL, &result), TYPELOOM_STATUS_BAD_ARGUMENT, "has 2 inputs, and 1 value is given");
  FAILS(typeloom_run(program, NULL, 2, NULL, &result), TYPELOOM_STATUS_NULL_POINTER, "`inputs` is null");
  FAILS(typeloom_run(program, inputs, 2, NULL, NULL), TYPELOOM_STATUS_NULL_POINTER, "`result` is null");
  FAILS(typeloom_run(program, (const typeloom_value *)(const void *)((const char *)inputs + 1), 2, NULL, &result),
        TYPELOOM_STATUS_BAD_ARGUMENT, "not aligned");
  FAILS(typeloom_run(0, inputs, 2, NULL, &result), TYPELOOM_STATUS_BAD_HANDLE, "handle 0");
  FAILS(typeloom_run(1000000000, inputs, 2, NULL, &result), TYPELOOM_STATUS_BAD_HANDLE, "never returned");
  FAILS(typeloom_run(program, inputs, 2, &limits, &result), TYPELOOM_STATUS_RUN, "");

  x.length -= 1;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "input `query`: float[2, 4] takes 32 bytes, and the length is 31");
  x.length += 2;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "the length is 33");
  x.length -= 1;
  x.dtype = TYPELOOM_DTYPE_I32;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "element type is int32");
  x.dtype = -5;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "number -5");
  x.dtype = TYPELOOM_DTYPE_F32;
  x.rank = UINT32_MAX;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "the maximum is 64");
  x.rank = 2;
  x.dims = NULL;
  FAILS(RUN(), TYPELOOM_STATUS_NULL_POINTER, "`dims` is null");
  x.dims = huge_dims;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "");
  x.dims = query_dims;
  x.data = NULL;
  FAILS(RUN(), TYPELOOM_STATUS_NULL_POINTER, "`data` is null");
  x.data = query;

  inputs[0].value = NULL;
  FAILS(RUN(), TYPELOOM_STATUS_NULL_POINTER, "`value` is null");
  inputs[0].wire_hash = 0;
  FAILS(RUN(), TYPELOOM_STATUS_WRONG_TYPE, "query");
  inputs[0].value = &x;
  inputs[0].wire_hash = 0x7777;
  FAILS(RUN(), TYPELOOM_STATUS_BAD_VALUE, "no type has the wire hash 0x7777");
  wide.data = integers;
  wide.length = sizeof integers;
  wide.dims = query_dims;
  wide.rank = 2;
  wide.dtype = TYPELOOM_DTYPE_I64;
  inputs[0].wire_hash = BB_TENSOR_I64_WIRE_HASH;
  inputs[0].value = &wide;
  FAILS(RUN(), TYPELOOM_STATUS_WRONG_TYPE, "int64[2, 4] is not float[N, 4]");
  other = tensor(ten, sizeof ten, wrong_dims);
  inputs[0].wire_hash = BB_TENSOR_F32_WIRE_HASH;
  inputs[0].value = &other;
  FAILS(RUN(), TYPELOOM_STATUS_WRONG_TYPE, "float[2, 5] is not float[N, 4]");
#undef RUN
  CHECK(result == 77);
  CHECK(live() == before);
}

static void test_bad_programs(void) {
  typeloom_program program = 77;
  FAILS(typeloom_load_bytes(NULL, 5, &program), TYPELOOM_STATUS_NULL_POINTER, "`bytes` is null");
  FAILS(typeloom_load_bytes("hello", 5, &program), TYPELOOM_STATUS_MALFORMED, "");
  FAILS(typeloom_load_bytes("hello", (size_t)-1, &program), TYPELOOM_STATUS_BAD_ARGUMENT, "more than memory can hold");
  FAILS(typeloom_load_bytes(NULL, 0, &program), TYPELOOM_STATUS_MALFORMED, "");
  FAILS(typeloom_load_bytes("hello", 5, NULL), TYPELOOM_STATUS_NULL_POINTER, "`program` is null");
  FAILS(typeloom_load_file(NULL, &program), TYPELOOM_STATUS_NULL_POINTER, "`path` is null");
  FAILS(typeloom_load_file(path("missing"), &program), TYPELOOM_STATUS_FILE, "missing");
  FAILS(typeloom_load_file("\xff", &program), TYPELOOM_STATUS_BAD_ARGUMENT, "not UTF-8");
  FAILS(typeloom_load_file(folder, &program), TYPELOOM_STATUS_FILE, "not a regular file");
  FAILS(typeloom_load_file(path("ill_typed.onnx"), &program), TYPELOOM_STATUS_ILL_TYPED, "element-type-mismatch");
  FAILS(typeloom_load_file(path("indexed.onnx"), &program), TYPELOOM_STATUS_COMPONENT, "slot `store` needs");
  FAILS(typeloom_program_free(0), TYPELOOM_STATUS_BAD_HANDLE, "handle 0 is not a program");
  CHECK(program == 77);
  CHECK(live() == 0);
}

/* Leaves that are not tensors go through a program unchanged. */
static void test_values(void) {
  typeloom_program program = 0;
  typeloom_result result = 0;
  bb_f32_t scale = 0.5f;
  bb_peer_id_t peers[2] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"bc", 2}};
  bb_peer_id_vec_t view = {peers, 2};
  typeloom_value inputs[VALUES_INPUT_COUNT];
  typeloom_value output;
  const bb_peer_id_vec_t *returned;
  const bb_composite_t *both;
  OK(typeloom_load_file(path("values.onnx"), &program));
  inputs[VALUES_INPUT_SCALE].wire_hash = BB_F32_WIRE_HASH;
  inputs[VALUES_INPUT_SCALE].value = &scale;
  inputs[VALUES_INPUT_PEERS].wire_hash = BB_PEER_ID_VEC_WIRE_HASH;
  inputs[VALUES_INPUT_PEERS].value = &view;
  OK(typeloom_run(program, inputs, VALUES_INPUT_COUNT, NULL, &result));
  OK(typeloom_result_value(result, VALUES_OUTPUT_SAME_SCALE, &output));
  CHECK(output.wire_hash == BB_F32_WIRE_HASH && *(const bb_f32_t *)output.value == 0.5f);
  OK(typeloom_result_value(result, VALUES_OUTPUT_SAME_PEERS, &output));
  CHECK(output.wire_hash == BB_PEER_ID_VEC_WIRE_HASH);
  returned = output.value;
  CHECK(returned->count == 2 && returned->items[1].length == 2 && memcmp(returned->items[1].data, "bc", 2) == 0);
  OK(typeloom_result_value(result, VALUES_OUTPUT_BOTH, &output));
  CHECK(output.wire_hash == BB_COMPOSITE_WIRE_HASH);
  both = output.value;
  CHECK(both->count == 2 && both->items[0].name.length == 5 && memcmp(both->items[0].name.data, "scale", 5) == 0);
  CHECK(both->items[0].value.wire_hash == BB_F32_WIRE_HASH);
  CHECK(both->items[1].value.wire_hash == BB_PEER_ID_VEC_WIRE_HASH);
  view.items = NULL;
  FAILS(typeloom_run(program, inputs, VALUES_INPUT_COUNT, NULL, &result), TYPELOOM_STATUS_NULL_POINTER, "`items` is null");
  OK(typeloom_program_free(program));
  /* Results outlive their program. */
  CHECK(both->items[0].name.data[0] == 's');
  OK(typeloom_result_free(result));
}

/* A model that is not compiled, from memory. */
static void test_model(void) {
  static char bytes[1 << 16];
  typeloom_program program = 0;
  typeloom_port port;
  FILE *file = fopen(path("plain.onnx"), "rb");
  size_t length;
  CHECK(file != NULL);
  length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  OK(typeloom_load_bytes(bytes, length, &program));
  OK(typeloom_input(program, 1, &port));
  CHECK(port.has_default == 1 && strcmp(port.type_text, "float") == 0 && port.rank == 0 && port.dims == NULL);
  {
    const float x = -3.0f;
    const uint64_t dims[] = {1};
    bb_tensor_f32_t t = tensor(&x, sizeof x, dims);
    typeloom_value inputs[2] = {{BB_TENSOR_F32_WIRE_HASH, NULL}, {0, NULL}};
    typeloom_value output;
    typeloom_result result = 0;
    t.rank = 1;
    inputs[0].value = &t;
    OK(typeloom_run(program, inputs, 2, NULL, &result));
    OK(typeloom_result_value(result, 0, &output));
    CHECK(*((const bb_tensor_f32_t *)output.value)->data == -6.0f);
    OK(typeloom_result_free(result));
  }
  OK(typeloom_program_free(program));
}

/* Pages of memory in use; -1 if the system does not tell. */
static long pages(void) {
  long total = 0, resident = -1;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file != NULL) {
    if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = -1;
    fclose(file);
  }
  return resident;
}

static void test_cycles(long cycles) {
  static char bytes[1 << 16];
  bb_tensor_f32_t x = tensor(query, sizeof query, query_dims);
  bb_tensor_f32_t w = tensor(weights, sizeof weights, weights_dims);
  typeloom_value inputs[2];
  FILE *file = fopen(path("scorer.onnx"), "rb");
  size_t length;
  long cycle, before = -1;
  CHECK(file != NULL);
  length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  inputs[0].wire_hash = inputs[1].wire_hash = BB_TENSOR_F32_WIRE_HASH;
  inputs[0].value = &x;
  inputs[1].value = &w;
  for (cycle = 0; cycle < cycles; cycle++) {
    typeloom_program program = 0;
    typeloom_result result = 0;
    typeloom_value output;
    OK(typeloom_load_bytes(bytes, length, &program));
    OK(typeloom_run(program, inputs, 2, NULL, &result));
    OK(typeloom_result_value(result, 0, &output));
    CHECK(((const bb_tensor_f32_t *)output.value)->data[0] == 4.0f);
    CHECK(live() == 2);
    OK(typeloom_result_free(result));
    OK(typeloom_program_free(program));
    CHECK(live() == 0);
    if (cycle == cycles / 10) before = pages();
  }
  /* A leak of one small program in each cycle would take more. */
  CHECK(before < 0 || pages() - before < cycles / 5 + 100);
}

int main(int count, char **arguments) {
  typeloom_program program = 0;
  uint32_t version = 0;
  CHECK(count == 3);
  folder = arguments[1];
  OK(typeloom_abi_version(&version));
  CHECK(version == TYPELOOM_ABI_VERSION);
  CHECK(strcmp(typeloom_last_error(), "") == 0);
  test_bad_programs();
  OK(typeloom_load_file(path("scorer.onnx"), &program));
  test_ports(program);
  test_run(program);
  test_bad_inputs(program);
  OK(typeloom_program_free(program));
  FAILS(typeloom_program_free(program), TYPELOOM_STATUS_BAD_HANDLE, "the program of handle");
  test_values();
  test_model();
  CHECK(live() == 0);
  test_cycles(atol(arguments[2]));
  puts("ok");
  return 0;
}
