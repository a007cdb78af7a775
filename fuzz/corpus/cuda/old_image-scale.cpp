#include <torch/extension.h>
#include "THC.h"
extern THCState* state;
