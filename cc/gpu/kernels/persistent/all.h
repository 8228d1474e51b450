// The persistent kernels and their cells.
#pragma once

#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/persistent/persistent_backward.h"
#include "cc/gpu/kernels/persistent/persistent_forward.h"
