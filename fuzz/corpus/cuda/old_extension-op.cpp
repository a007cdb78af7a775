#include <torch/extension.h>
#include <THC/THC.h>
void f(at::Tensor x) { AT_CHECK(x.is_cuda()); }
