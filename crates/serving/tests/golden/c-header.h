/* Interface of `my model`, written by `typeloom describe --as c-header`. */
/* Not expressed: N: the same number in 3 axes (inputs.x.shape[0], inputs.text * / "\u{a}.shape[1], outputs.y.shape[0]). */
/* Not expressed: outputs.z.shape[0] is 2*N. */
/* Not expressed: the model needs N <= 64. */
#ifndef MY_MODEL_INTERFACE_H
#define MY_MODEL_INTERFACE_H

#include <stdint.h>

#define MY_MODEL_INPUT_COUNT 4

/* input `x`: float[N, 3] */
#define MY_MODEL_INPUT_X_NAME "x"
#define MY_MODEL_INPUT_X_DTYPE 1 /* float, as in ONNX */
#define MY_MODEL_INPUT_X_RANK 2
#define MY_MODEL_INPUT_X_EXTENTS {-1, 3}
#define MY_MODEL_INPUT_X_OPTIONAL 0
typedef struct my_model_input_x {
  const float *data;
  int64_t n; /* N */
} my_model_input_x;
/* The number of elements. */
static inline int64_t my_model_count_input_x(const my_model_input_x *tensor) {
  return (int64_t)((uint64_t)tensor->n * (uint64_t)3);
}

/* input `scale`: float[3], optional: `data` is a null pointer if it is omitted */
#define MY_MODEL_INPUT_SCALE_NAME "scale"
#define MY_MODEL_INPUT_SCALE_DTYPE 1 /* float, as in ONNX */
#define MY_MODEL_INPUT_SCALE_RANK 1
#define MY_MODEL_INPUT_SCALE_EXTENTS {3}
#define MY_MODEL_INPUT_SCALE_OPTIONAL 1
typedef struct my_model_input_scale {
  const float *data;
} my_model_input_scale;
/* The number of elements. */
static inline int64_t my_model_count_input_scale(const my_model_input_scale *tensor) {
  (void)tensor;
  return (int64_t)((uint64_t)3);
}

/* input `text * / "\u{a}`: string[K, N] */
#define MY_MODEL_INPUT_TEXT_NAME "text */ \"\012"
#define MY_MODEL_INPUT_TEXT_DTYPE 8 /* string, as in ONNX */
#define MY_MODEL_INPUT_TEXT_RANK 2
#define MY_MODEL_INPUT_TEXT_EXTENTS {-1, -1}
#define MY_MODEL_INPUT_TEXT_OPTIONAL 0
typedef struct my_model_input_text {
  const char *const *data; /* UTF-8, each with a zero byte at its end */
  int64_t k; /* K */
  int64_t n; /* N */
} my_model_input_text;
/* The number of elements. */
static inline int64_t my_model_count_input_text(const my_model_input_text *tensor) {
  return (int64_t)((uint64_t)tensor->k * (uint64_t)tensor->n);
}

/* input `flag`: bool */
#define MY_MODEL_INPUT_FLAG_NAME "flag"
#define MY_MODEL_INPUT_FLAG_DTYPE 9 /* bool, as in ONNX */
#define MY_MODEL_INPUT_FLAG_RANK 0
#define MY_MODEL_INPUT_FLAG_OPTIONAL 0
typedef struct my_model_input_flag {
  const uint8_t *data;
} my_model_input_flag;
/* The number of elements. */
static inline int64_t my_model_count_input_flag(const my_model_input_flag *tensor) {
  (void)tensor;
  return 1;
}

typedef struct my_model_inputs {
  my_model_input_x x;
  my_model_input_scale scale;
  my_model_input_text text;
  my_model_input_flag flag;
} my_model_inputs;

#define MY_MODEL_OUTPUT_COUNT 2

/* output `y`: float[N, ?] */
#define MY_MODEL_OUTPUT_Y_NAME "y"
#define MY_MODEL_OUTPUT_Y_DTYPE 1 /* float, as in ONNX */
#define MY_MODEL_OUTPUT_Y_RANK 2
#define MY_MODEL_OUTPUT_Y_EXTENTS {-1, -1}
#define MY_MODEL_OUTPUT_Y_OPTIONAL 0
typedef struct my_model_output_y {
  float *data;
  int64_t n; /* N */
  int64_t axis_1; /* ? */
} my_model_output_y;
/* The number of elements. */
static inline int64_t my_model_count_output_y(const my_model_output_y *tensor) {
  return (int64_t)((uint64_t)tensor->n * (uint64_t)tensor->axis_1);
}

/* output `z`: int64[2*N] */
#define MY_MODEL_OUTPUT_Z_NAME "z"
#define MY_MODEL_OUTPUT_Z_DTYPE 7 /* int64, as in ONNX */
#define MY_MODEL_OUTPUT_Z_RANK 1
#define MY_MODEL_OUTPUT_Z_EXTENTS {-1}
#define MY_MODEL_OUTPUT_Z_OPTIONAL 0
typedef struct my_model_output_z {
  int64_t *data;
  int64_t axis_0; /* 2*N */
} my_model_output_z;
/* The number of elements. */
static inline int64_t my_model_count_output_z(const my_model_output_z *tensor) {
  return (int64_t)((uint64_t)tensor->axis_0);
}

typedef struct my_model_outputs {
  my_model_output_y y;
  my_model_output_z z;
} my_model_outputs;

#endif
