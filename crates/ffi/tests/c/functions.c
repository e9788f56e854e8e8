/* Uses all public functions of a program through its header. Compiles as C and as C++. Argument: the folder of the
   program. */
#include <stdio.h>
#include <string.h>

#include "library.h"

#define OK(call)                                                                                    \
  do {                                                                                              \
    if ((call) != TYPELOOM_STATUS_OK) {                                                             \
      fprintf(stderr, "line %d: %s\n", __LINE__, typeloom_last_error());                            \
      return 1;                                                                                     \
    }                                                                                               \
  } while (0)

/* Prints a program: its digest, and whether each port has the name and index of the header. */
static int print_ports(const char *name, typeloom_program program, const char *digest, size_t inputs, size_t outputs) {
  const char *found = NULL;
  size_t index, count = 0;
  typeloom_port port;
  OK(typeloom_program_digest(program, &found));
  printf("%s: the digest is %s\n", name, strcmp(found, digest) == 0 ? "equal" : "different");
  OK(typeloom_input_count(program, &count));
  if (count != inputs) return 2;
  for (index = 0; index < inputs; index++) {
    OK(typeloom_input(program, index, &port));
    printf("  input %lu: %s, %s\n", (unsigned long)index, port.name, port.type_text);
  }
  OK(typeloom_output_count(program, &count));
  if (count != outputs) return 2;
  for (index = 0; index < outputs; index++) {
    OK(typeloom_output(program, index, &port));
    printf("  output %lu: %s, %s\n", (unsigned long)index, port.name, port.type_text);
  }
  return 0;
}

int main(int count, char **arguments) {
  static const double base[] = {1.5, 2.5, -3.5};
  static const double factor[] = {4};
  static const uint64_t dims[] = {3}, one[] = {1};
  bb_tensor_f64_t x, k;
  typeloom_value inputs[LIBRARY_RE_SCALE_INPUT_COUNT], output;
  typeloom_program library, scale, again;
  typeloom_result result;
  const bb_tensor_f64_t *scaled;
  char path[4096];
  int failed;
  if (count != 2) return 2;
  snprintf(path, sizeof path, "%s/library.onnx", arguments[1]);
  OK(typeloom_load_file(path, &library));
  OK(typeloom_program_function(library, LIBRARY_RE_SCALE_FUNCTION, &scale));
  OK(typeloom_program_function(library, LIBRARY_RE_SCALE_FUNCTION, &again));
  if (again == scale) return 2;
  failed = print_ports("library", library, LIBRARY_DIGEST, LIBRARY_INPUT_COUNT, LIBRARY_OUTPUT_COUNT);
  if (failed) return failed;
  failed = print_ports(LIBRARY_RE_SCALE_FUNCTION, scale, LIBRARY_RE_SCALE_DIGEST, LIBRARY_RE_SCALE_INPUT_COUNT,
                       LIBRARY_RE_SCALE_OUTPUT_COUNT);
  if (failed) return failed;

  /* Unknown functions, and functions of a function. */
  if (typeloom_program_function(library, "helper", &again) != TYPELOOM_STATUS_BAD_ARGUMENT) return 3;
  printf("%s\n", typeloom_last_error());
  if (typeloom_program_function(scale, LIBRARY_RE_SCALE_FUNCTION, &again) != TYPELOOM_STATUS_BAD_ARGUMENT) return 3;
  printf("%s\n", typeloom_last_error());
  if (typeloom_program_function(library, NULL, &again) != TYPELOOM_STATUS_NULL_POINTER) return 3;

  /* A function outlives the program from which it comes. */
  OK(typeloom_program_free(library));
  if (typeloom_program_function(library, LIBRARY_RE_SCALE_FUNCTION, &library) != TYPELOOM_STATUS_BAD_HANDLE) return 3;
  x.data = base;
  x.length = sizeof base;
  x.dims = dims;
  x.rank = 1;
  x.dtype = TYPELOOM_DTYPE_F64;
  k = x;
  k.data = factor;
  k.length = sizeof factor;
  k.dims = one;
  inputs[LIBRARY_RE_SCALE_INPUT_BASE_X].wire_hash = BB_TENSOR_F64_WIRE_HASH;
  inputs[LIBRARY_RE_SCALE_INPUT_BASE_X].value = &x;
  inputs[LIBRARY_RE_SCALE_INPUT_FACTOR].wire_hash = BB_TENSOR_F64_WIRE_HASH;
  inputs[LIBRARY_RE_SCALE_INPUT_FACTOR].value = &k;
  OK(typeloom_run(scale, inputs, LIBRARY_RE_SCALE_INPUT_COUNT, NULL, &result));
  OK(typeloom_result_value(result, LIBRARY_RE_SCALE_OUTPUT_SCALED, &output));
  if (output.wire_hash != BB_TENSOR_F64_WIRE_HASH) return 3;
  scaled = (const bb_tensor_f64_t *)output.value;
  printf("%g %g %g\n", scaled->data[0], scaled->data[1], scaled->data[2]);
  OK(typeloom_result_free(result));
  OK(typeloom_program_free(scale));
  OK(typeloom_program_free(again));
  return 0;
}
