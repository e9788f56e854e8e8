/*
 The version of the interface. It changes when a program that was compiled with an older header no longer
 works.
 */
#define TYPELOOM_ABI_VERSION 1

/*
 The result of a call. The text of an error is returned by typeloom_last_error.
 */
typedef enum {
  /*
   The call succeeded.
   */
  TYPELOOM_STATUS_OK = 0,
  /*
   A required pointer is null.
   */
  TYPELOOM_STATUS_NULL_POINTER = 1,
  /*
   A handle is 0, was freed, was never returned, or is of the other kind.
   */
  TYPELOOM_STATUS_BAD_HANDLE = 2,
  /*
   The index of a port or of a result is too large.
   */
  TYPELOOM_STATUS_BAD_INDEX = 3,
  /*
   Another argument is not usable: a misaligned pointer, a count that is out of range, text that is not
   UTF-8.
   */
  TYPELOOM_STATUS_BAD_ARGUMENT = 4,
  /*
   A value is inconsistent: its length, element type, shape or wire hash do not agree.
   */
  TYPELOOM_STATUS_BAD_VALUE = 5,
  /*
   A value is not of the type of its port, or a required input is missing.
   */
  TYPELOOM_STATUS_WRONG_TYPE = 6,
  /*
   A file cannot be read.
   */
  TYPELOOM_STATUS_FILE = 7,
  /*
   The bytes are not a model or an artifact.
   */
  TYPELOOM_STATUS_MALFORMED = 8,
  /*
   The program has type errors, or its interface or a stamp of a node is not the recorded one.
   */
  TYPELOOM_STATUS_ILL_TYPED = 9,
  /*
   A slot of the program needs a component that the C interface does not provide.
   */
  TYPELOOM_STATUS_COMPONENT = 10,
  /*
   The run failed.
   */
  TYPELOOM_STATUS_RUN = 11,
  /*
   The value has no representation in C, for example a sequence.
   */
  TYPELOOM_STATUS_UNSUPPORTED = 12,
  /*
   The library panicked. The handles stay valid.
   */
  TYPELOOM_STATUS_PANIC = 13,
} typeloom_status;

/*
 A loaded program. 0 is not a program.
 */
typedef uint64_t typeloom_program;

/*
 An input or output of a program. Everything it points to belongs to the program.
 */
typedef struct {
  /*
   The name, in UTF-8. A zero byte in it is written as a backslash and the digit 0.
   */
  const char *name;
  /*
   The type in the notation of models, for example float[N, 4].
   */
  const char *type_text;
  /*
   The wire hash of the leaf of the type tree; 0 if the type is not a leaf.
   */
  uint64_t wire_hash;
  /*
   The extents of the axes; -1 for those that a call chooses. Null if the rank is unknown, 0, or does not
   apply.
   */
  const int64_t *dims;
  /*
   The number of axes; -1 if it is unknown or does not apply.
   */
  int32_t rank;
  /*
   The element type, TYPELOOM_DTYPE_...; 0 if it is unknown or does not apply.
   */
  int32_t dtype;
  /*
   1 if an input has a default and may be left out, otherwise 0.
   */
  int32_t has_default;
} typeloom_port;

/*
 A value: the wire hash of its leaf of the type tree, and a pointer to the structure of that leaf. Both are
 0 for an input that is left out.
 */
typedef struct {
  /*
   The wire hash of a leaf.
   */
  uint64_t wire_hash;
  /*
   The structure that the header declares for the leaf.
   */
  const void *value;
} typeloom_value;

/*
 Limits of one run; 0 is the default.
 */
typedef struct {
  /*
   The maximum number of iterations of all loops together.
   */
  uint64_t iterations;
  /*
   The maximum number of nodes and iterations that are executed.
   */
  uint64_t steps;
  /*
   The maximum number of bytes of all tensors of the process during the run.
   */
  size_t memory;
} typeloom_limits;

/*
 The results of a run. 0 is not a result.
 */
typedef uint64_t typeloom_result;

/*
 A tensor. `data` are `length` bytes: the elements in row-major order, in little-endian order and without
 gaps; elements of fewer than 8 bits share bytes, the first one in the lowest bits. A tensor of n strings
 is n + 1 offsets (64 bits each, starting at 0), followed by the text of all strings.

 An input is borrowed during the call. A tensor of a result belongs to the result.
 */
typedef struct {
  /*
   The elements; it may be null if `length` is 0.
   */
  const void *data;
  /*
   The number of bytes.
   */
  size_t length;
  /*
   The extents of the axes; it may be null if `rank` is 0.
   */
  const uint64_t *dims;
  /*
   The number of axes.
   */
  uint32_t rank;
  /*
   The element type, TYPELOOM_DTYPE_...
   */
  int32_t dtype;
} typeloom_tensor;

/*
 Bytes. Those of an input are borrowed during the call, those of a result belong to the result.
 */
typedef struct {
  /*
   The bytes; it may be null if `length` is 0.
   */
  const uint8_t *data;
  /*
   The number of bytes.
   */
  size_t length;
} typeloom_bytes;

/*
 A list of byte strings, for example of peers. Ownership is that of typeloom_bytes.
 */
typedef struct {
  /*
   The items; it may be null if `count` is 0.
   */
  const typeloom_bytes *items;
  /*
   The number of items.
   */
  size_t count;
} typeloom_list;

/*
 A named part of a composite value.
 */
typedef struct {
  /*
   The name, in UTF-8.
   */
  typeloom_bytes name;
  /*
   The value.
   */
  typeloom_value value;
} typeloom_field;

/*
 The parts of a composite value. Ownership is that of typeloom_bytes.
 */
typedef struct {
  /*
   The parts; it may be null if `count` is 0.
   */
  const typeloom_field *items;
  /*
   The number of parts.
   */
  size_t count;
} typeloom_fields;

/*
 Writes the version of the library's interface. It is compatible with a header if it equals
 TYPELOOM_ABI_VERSION.
 */
typeloom_status typeloom_abi_version(uint32_t *version);

/*
 The text of the last error in this thread, never null; empty if there was none. It is valid until the next
 error in this thread.
 */
const char *typeloom_last_error(void);

/*
 Loads an artifact or an ONNX model from memory. The bytes are not used after the call. Slots for backends
 are bound to the embedded backend. The program is freed by typeloom_program_free.
 */
typeloom_status typeloom_load_bytes(const void *bytes,
                                    size_t length,
                                    typeloom_program *program);

/*
 As typeloom_load_bytes, from a file. The path is in UTF-8 and ends in a zero byte. Tensors in other files
 are not read.
 */
typeloom_status typeloom_load_file(const char *path,
                                   typeloom_program *program);

/*
 Frees a program. Its ports and their names become invalid; results of its runs stay valid.
 */
typeloom_status typeloom_program_free(typeloom_program program);

/*
 Writes the digest of the program's interface in hexadecimal. It belongs to the program. The header of an
 equal program has the same text as ..._DIGEST.
 */
typeloom_status typeloom_program_digest(typeloom_program program,
                                        const char **digest);

/*
 Writes a public function of a program, by its name, which is in the header as ..._FUNCTION. The function
 is a program of its own with ports of its own: it is freed by typeloom_program_free, before or after the
 first program.
 */
typeloom_status typeloom_program_function(typeloom_program program,
                                          const char *name,
                                          typeloom_program *function);

/*
 Writes the number of inputs.
 */
typeloom_status typeloom_input_count(typeloom_program program, size_t *count);

/*
 Writes the number of outputs.
 */
typeloom_status typeloom_output_count(typeloom_program program, size_t *count);

/*
 Writes the description of an input.
 */
typeloom_status typeloom_input(typeloom_program program, size_t index, typeloom_port *description);

/*
 Writes the description of an output.
 */
typeloom_status typeloom_output(typeloom_program program, size_t index, typeloom_port *description);

/*
 Runs a program on one value for each input, in the order of the inputs. A value of zeros leaves out an
 input with a default. Limits may be null. The inputs are not used after the call. The results are freed by
 typeloom_result_free. Several threads can run one program at a time.
 */
typeloom_status typeloom_run(typeloom_program program,
                             const typeloom_value *inputs,
                             size_t count,
                             const typeloom_limits *limits,
                             typeloom_result *result);

/*
 Writes the value of an output. The memory behind its pointers belongs to the result.
 */
typeloom_status typeloom_result_value(typeloom_result result, size_t index, typeloom_value *value);

/*
 Frees the results of a run, and all that their values point to.
 */
typeloom_status typeloom_result_free(typeloom_result result);

/*
 Writes the number of programs and results that are not freed.
 */
typeloom_status typeloom_live_handles(size_t *count);
