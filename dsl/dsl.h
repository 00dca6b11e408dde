// The language of kernels, whole.
#pragma once

#include "tilewright/dsl/control.h"
#include "tilewright/dsl/dtypes.h"
#include "tilewright/dsl/loops.h"
#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/reduce.h"
#include "tilewright/dsl/shape_ops.h"
#include "tilewright/dsl/size.h"
#include "tilewright/dsl/tensor.h"
#include "tilewright/dsl/tile.h"
#include "tilewright/dsl/trace_fn.h"
