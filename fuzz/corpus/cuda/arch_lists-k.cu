#include <cudnn.h>
void f() { if (cudaThreadSynchronize()) return; }
