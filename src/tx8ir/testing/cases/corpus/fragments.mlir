// attention
module {
  func.func @main(%arg0: !pd.vtensor<1x2x3x2xf32>, %arg1: !pd.vtensor<1x2x3x2xf32>, %arg2: !pd.vtensor<1x2x3x2xf32>) -> !pd.vtensor<1x2x3x2xf32> {
    %0 = "pd.transpose"(%arg1) {perm = array<i64: 0, 1, 3, 2>} : (!pd.vtensor<1x2x3x2xf32>) -> !pd.vtensor<1x2x2x3xf32>
    %1 = "pd.matmul"(%arg0, %0) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x2x3x2xf32>, !pd.vtensor<1x2x2x3xf32>) -> !pd.vtensor<1x2x3x3xf32>
    %2 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.7071067811865475 : f64} : () -> !pd.vtensor<f32>
    %3 = "pd.multiply"(%1, %2) : (!pd.vtensor<1x2x3x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x2x3x3xf32>
    %4 = "pd.softmax"(%3) {axis = -1 : i64} : (!pd.vtensor<1x2x3x3xf32>) -> !pd.vtensor<1x2x3x3xf32>
    %5 = "pd.matmul"(%4, %arg2) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x2x3x3xf32>, !pd.vtensor<1x2x3x2xf32>) -> !pd.vtensor<1x2x3x2xf32>
    return %5 : !pd.vtensor<1x2x3x2xf32>
  }
}
// -----
// layer_norm
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<4xf32>, %arg2: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.mean"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %1 = "pd.subtract"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "pd.square"(%1) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "pd.mean"(%2) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %4 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0e-05 : f64} : () -> !pd.vtensor<f32>
    %5 = "pd.add"(%3, %4) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %6 = "pd.sqrt"(%5) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %7 = "pd.divide"(%1, %6) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %8 = "pd.multiply"(%7, %arg1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    %9 = "pd.add"(%8, %arg2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %9 : !pd.vtensor<2x4xf32>
  }
}
// -----
// rms_norm
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.square"(%arg0) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "pd.mean"(%0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %2 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0e-06 : f64} : () -> !pd.vtensor<f32>
    %3 = "pd.add"(%1, %2) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %4 = "pd.rsqrt"(%3) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.multiply"(%arg0, %4) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %6 = "pd.multiply"(%5, %arg1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %6 : !pd.vtensor<2x4xf32>
  }
}
// -----
// gelu_with_erf
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.4142135623730951 : f64} : () -> !pd.vtensor<f32>
    %1 = "pd.divide"(%arg0, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.erf"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
    %4 = "pd.add"(%2, %3) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.multiply"(%arg0, %4) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.5 : f64} : () -> !pd.vtensor<f32>
    %7 = "pd.multiply"(%5, %6) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    return %7 : !pd.vtensor<2x3xf32>
  }
}
// -----
// gelu_with_tanh
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.pow"(%arg0) {y = 3.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.044715 : f64} : () -> !pd.vtensor<f32>
    %2 = "pd.multiply"(%0, %1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.add"(%arg0, %2) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.7978845608028654 : f64} : () -> !pd.vtensor<f32>
    %5 = "pd.multiply"(%3, %4) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.tanh"(%5) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %7 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.5 : f64} : () -> !pd.vtensor<f32>
    %8 = "pd.multiply"(%arg0, %7) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %9 = "pd.full"() {dtype = f32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
    %10 = "pd.add"(%6, %9) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
    %11 = "pd.multiply"(%8, %10) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %11 : !pd.vtensor<2x3xf32>
  }
}
// -----
// silu
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.sigmoid"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.multiply"(%arg0, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %1 : !pd.vtensor<2x3xf32>
  }
}
// -----
// safe_softmax
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.max"(%arg0) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %1 = "pd.subtract"(%arg0, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.exp"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.sum"(%2) {axis = array<i64: -1>, keepdim = true} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x1xf32>
    %4 = "pd.divide"(%2, %3) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x3xf32>
    return %4 : !pd.vtensor<2x3xf32>
  }
}
// -----
// convolution_with_batch_norm
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x4xf32>, %arg1: !pd.vtensor<3x2x3x3xf32>, %arg2: !pd.vtensor<3xf32>, %arg3: !pd.vtensor<3xf32>, %arg4: !pd.vtensor<3xf32>, %arg5: !pd.vtensor<3xf32>) -> !pd.vtensor<1x3x4x4xf32> {
    %0 = "pd.conv2d"(%arg0, %arg1) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<3x2x3x3xf32>) -> !pd.vtensor<1x3x4x4xf32>
    %1 = "pd.batch_norm"(%0, %arg2, %arg3, %arg4, %arg5) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<1x3x4x4xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<1x3x4x4xf32>
    %2 = "pd.relu"(%1) : (!pd.vtensor<1x3x4x4xf32>) -> !pd.vtensor<1x3x4x4xf32>
    return %2 : !pd.vtensor<1x3x4x4xf32>
  }
}
// -----
// residual_block
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x4xf32>, %arg1: !pd.vtensor<2x2x1x1xf32>) -> !pd.vtensor<1x2x4x4xf32> {
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %1 = "pd.conv2d"(%0, %arg1) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<2x2x1x1xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %2 = "pd.add"(%1, %arg0) : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %3 = "pd.relu"(%2) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    return %3 : !pd.vtensor<1x2x4x4xf32>
  }
}
// -----
// pooling_head
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x4xf32>, %arg1: !pd.vtensor<2x3xf32>, %arg2: !pd.vtensor<3xf32>) -> !pd.vtensor<1x3xf32> {
    %0 = "pd.mean"(%arg0) {axis = array<i64: 2, 3>, keepdim = true} : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x1x1xf32>
    %1 = "pd.flatten"(%0) {start_axis = 1 : i64, stop_axis = 3 : i64} : (!pd.vtensor<1x2x1x1xf32>) -> !pd.vtensor<1x2xf32>
    %2 = "pd.matmul"(%1, %arg1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x2xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<1x3xf32>
    %3 = "pd.add"(%2, %arg2) : (!pd.vtensor<1x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<1x3xf32>
    %4 = "pd.softmax"(%3) {axis = -1 : i64} : (!pd.vtensor<1x3xf32>) -> !pd.vtensor<1x3xf32>
    return %4 : !pd.vtensor<1x3xf32>
  }
}
// -----
// max_pool
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x2x2xf32> {
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %1 = "pd.pool2d"(%0) {adaptive = false, ceil_mode = false, data_format = "NCHW", exclusive = true, global_pooling = false, kernel_size = array<i64: 3, 3>, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, pooling_type = "max", strides = array<i64: 2, 2>} : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x2x2xf32>
    return %1 : !pd.vtensor<1x2x2x2xf32>
  }
}
// -----
// rotary_embedding
module {
  func.func @main(%arg0: !pd.vtensor<1x3x4xf32>, %arg1: !pd.vtensor<3x4xf32>, %arg2: !pd.vtensor<3x4xf32>) -> !pd.vtensor<1x3x4xf32> {
    %0:2 = "pd.split"(%arg0) {axis = -1 : i64, sections = array<i64: 2, 2>} : (!pd.vtensor<1x3x4xf32>) -> (!pd.vtensor<1x3x2xf32>, !pd.vtensor<1x3x2xf32>)
    %1 = "pd.scale"(%0#1) {bias = 0.0 : f64, bias_after_scale = true, scale = -1.0 : f64} : (!pd.vtensor<1x3x2xf32>) -> !pd.vtensor<1x3x2xf32>
    %2 = "pd.concat"(%1, %0#0) {axis = -1 : i64} : (!pd.vtensor<1x3x2xf32>, !pd.vtensor<1x3x2xf32>) -> !pd.vtensor<1x3x4xf32>
    %3 = "pd.multiply"(%arg0, %arg1) : (!pd.vtensor<1x3x4xf32>, !pd.vtensor<3x4xf32>) -> !pd.vtensor<1x3x4xf32>
    %4 = "pd.multiply"(%2, %arg2) : (!pd.vtensor<1x3x4xf32>, !pd.vtensor<3x4xf32>) -> !pd.vtensor<1x3x4xf32>
    %5 = "pd.add"(%3, %4) : (!pd.vtensor<1x3x4xf32>, !pd.vtensor<1x3x4xf32>) -> !pd.vtensor<1x3x4xf32>
    return %5 : !pd.vtensor<1x3x4xf32>
  }
}
// -----
// linear
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3x4xf32>, %arg2: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.matmul"(%arg0, %arg1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "pd.add"(%0, %arg2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "pd.relu"(%1) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %2 : !pd.vtensor<2x4xf32>
  }
}
// -----
// heads
module {
  func.func @main(%arg0: !pd.vtensor<2x3x4xf32>) -> !pd.vtensor<2x2x3x2xf32> {
    %0 = "pd.reshape"(%arg0) {shape = array<i64: 2, 3, 2, 2>} : (!pd.vtensor<2x3x4xf32>) -> !pd.vtensor<2x3x2x2xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<2x3x2x2xf32>) -> !pd.vtensor<2x2x3x2xf32>
    return %1 : !pd.vtensor<2x2x3x2xf32>
  }
}
// -----
// positions
module {
  func.func @main(%arg0: !pd.vtensor<3x2xf32>, %arg1: !pd.vtensor<2xi32>, %arg2: !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32> {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.maximum"(%arg1, %0) : (!pd.vtensor<2xi32>, !pd.vtensor<i32>) -> !pd.vtensor<2xi32>
    %2 = "pd.full"() {dtype = i32, shape = array<i64>, value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %3 = "pd.minimum"(%1, %2) : (!pd.vtensor<2xi32>, !pd.vtensor<i32>) -> !pd.vtensor<2xi32>
    %4 = "pd.gather"(%arg0, %3) {axis = 0 : i64} : (!pd.vtensor<3x2xf32>, !pd.vtensor<2xi32>) -> !pd.vtensor<2x2xf32>
    %5 = "pd.add"(%4, %arg2) : (!pd.vtensor<2x2xf32>, !pd.vtensor<2x2xf32>) -> !pd.vtensor<2x2xf32>
    return %5 : !pd.vtensor<2x2xf32>
  }
}
// -----
// masked
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.full"() {dtype = f32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<f32>
    %1 = "pd.equal"(%arg1, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xi1>
    %2 = "pd.full"() {dtype = f32, shape = array<i64: 2, 3>, value = -1000000000.0 : f64} : () -> !pd.vtensor<2x3xf32>
    %3 = "pd.where"(%1, %2, %arg0) : (!pd.vtensor<2x3xi1>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %3 : !pd.vtensor<2x3xf32>
  }
}
