// before
module {
  func.func @main(%arg0: !pd.vtensor<1x3x6x6xf32>) -> !pd.vtensor<1x4x6x6xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x3x3x3xf32>
    %1 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %2 = "pd.conv2d"(%arg0, %0, %1) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x3x6x6xf32>, !pd.vtensor<4x3x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4x6x6xf32>
    %3 = "builtin.get_parameter"() {name = "mean"} : () -> !pd.vtensor<4xf32>
    %4 = "builtin.get_parameter"() {name = "variance"} : () -> !pd.vtensor<4xf32>
    %5 = "builtin.get_parameter"() {name = "scale"} : () -> !pd.vtensor<4xf32>
    %6 = "builtin.get_parameter"() {name = "offset"} : () -> !pd.vtensor<4xf32>
    %7 = "pd.batch_norm"(%2, %3, %4, %5, %6) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<1x4x6x6xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4x6x6xf32>
    return %7 : !pd.vtensor<1x4x6x6xf32>
  }
}

// fuse-conv-bn
module {
  func.func @main(%arg0: !pd.vtensor<1x3x6x6xf32>) -> !pd.vtensor<1x4x6x6xf32> {
    %0 = "builtin.get_parameter"() {name = "w.fused"} : () -> !pd.vtensor<4x3x3x3xf32>
    %1 = "builtin.constant"() {value = dense<[5.3342404, 0.1994618, 0.3869088, 0.6575066]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
    %2 = "pd.conv2d"(%arg0, %0, %1) {data_format = "NCHW", dilations = array<i64: 1, 1>, filter_format = "OIHW", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x3x6x6xf32>, !pd.vtensor<4x3x3x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4x6x6xf32>
    return %2 : !pd.vtensor<1x4x6x6xf32>
  }
}
