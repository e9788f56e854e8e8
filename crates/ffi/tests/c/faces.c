/* Loads each model whose path is a line of standard input, and prints the status and the text of the error. */
#include <stdio.h>
#include <string.h>

#include "typeloom.h"

int main(void) {
  char path[4096];
  while (fgets(path, sizeof path, stdin) != NULL) {
    typeloom_program program = 0;
    int status;
    path[strcspn(path, "\n")] = 0;
    status = (int)typeloom_load_file(path, &program);
    printf("%d\n%s\n--\n", status, status == 0 ? "" : typeloom_last_error());
    if (status == 0) typeloom_program_free(program);
  }
  return 0;
}
