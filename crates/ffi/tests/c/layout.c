/* Prints the layouts of the structures, and fails if a leaf's structure differs from typeloom_tensor. */
#include <stdio.h>

#include "scorer.h"

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define OFFSET(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(type, field))
#define SAME(type)                                                                                      \
  if (sizeof(type) != sizeof(typeloom_tensor) || offsetof(type, data) != offsetof(typeloom_tensor, data) || \
      offsetof(type, length) != offsetof(typeloom_tensor, length) ||                                   \
      offsetof(type, dims) != offsetof(typeloom_tensor, dims) ||                                       \
      offsetof(type, rank) != offsetof(typeloom_tensor, rank) ||                                       \
      offsetof(type, dtype) != offsetof(typeloom_tensor, dtype))                                       \
  return 1

int main(void) {
  SAME(bb_tensor_f32_t);
  SAME(bb_tensor_u8_t);
  SAME(bb_tensor_complex128_t);
  SAME(bb_tensor_string_t);
  SAME(bb_tensor_int4_t);
  SIZE(typeloom_status);
  SIZE(typeloom_tensor);
  OFFSET(typeloom_tensor, data);
  OFFSET(typeloom_tensor, length);
  OFFSET(typeloom_tensor, dims);
  OFFSET(typeloom_tensor, rank);
  OFFSET(typeloom_tensor, dtype);
  SIZE(typeloom_bytes);
  OFFSET(typeloom_bytes, length);
  SIZE(typeloom_list);
  OFFSET(typeloom_list, count);
  SIZE(typeloom_value);
  OFFSET(typeloom_value, value);
  SIZE(typeloom_field);
  OFFSET(typeloom_field, value);
  SIZE(typeloom_fields);
  OFFSET(typeloom_fields, count);
  SIZE(typeloom_limits);
  OFFSET(typeloom_limits, steps);
  OFFSET(typeloom_limits, memory);
  SIZE(typeloom_port);
  OFFSET(typeloom_port, type_text);
  OFFSET(typeloom_port, wire_hash);
  OFFSET(typeloom_port, dims);
  OFFSET(typeloom_port, rank);
  OFFSET(typeloom_port, dtype);
  OFFSET(typeloom_port, has_default);
  return 0;
}
