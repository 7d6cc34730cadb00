// before
module {
  func.func @main(%arg0: !pd.vtensor<1x8x8x3xf32>, %arg1: !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32> {
    %0 = "pd.conv2d"(%arg0, %arg1) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, padding_algorithm = "SAME", paddings = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (!pd.vtensor<1x8x8x3xf32>, !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32>
    %1 = "pd.pool2d"(%0) {adaptive = false, ceil_mode = false, data_format = "NHWC", exclusive = true, global_pooling = false, kernel_size = array<i64: 2, 2>, padding_algorithm = "SAME", paddings = array<i64: 0, 0>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x4x4xf32>) -> !pd.vtensor<1x4x4x4xf32>
    return %1 : !pd.vtensor<1x4x4x4xf32>
  }
}

// legalize-conv-padding{symmetric=true}
module {
  func.func @main(%arg0: !pd.vtensor<1x8x8x3xf32>, %arg1: !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32> {
    %0 = "pd.pad"(%arg0) {pad_value = 0.0 : f64, paddings = array<i64: 0, 0, 0, 1, 0, 1, 0, 0>} : (!pd.vtensor<1x8x8x3xf32>) -> !pd.vtensor<1x9x9x3xf32>
    %1 = "pd.conv2d"(%0, %arg1) {data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (!pd.vtensor<1x9x9x3xf32>, !pd.vtensor<3x3x4x3xf32>) -> !pd.vtensor<1x4x4x4xf32>
    %2 = "pd.pad"(%1) {pad_value = 0xFFF0000000000000 : f64, paddings = array<i64: 0, 0, 0, 1, 0, 1, 0, 0>} : (!pd.vtensor<1x4x4x4xf32>) -> !pd.vtensor<1x5x5x4xf32>
    %3 = "pd.pool2d"(%2) {adaptive = false, ceil_mode = false, data_format = "NHWC", exclusive = true, global_pooling = false, kernel_size = array<i64: 2, 2>, padding_algorithm = "EXPLICIT", paddings = array<i64: 0, 0>, pooling_type = "max", strides = array<i64: 1, 1>} : (!pd.vtensor<1x5x5x4xf32>) -> !pd.vtensor<1x4x4x4xf32>
    return %3 : !pd.vtensor<1x4x4x4xf32>
  }
}
