// All of Tilewright: the language of kernels, kernels as functions, arrays and devices.
#pragma once

#include "tilewright/autotune/kernel.h"
#include "tilewright/autotune/registry.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/dsl/dsl.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/device.h"
#include "tilewright/runtime/stream.h"
#include "tilewright/runtime/view.h"
