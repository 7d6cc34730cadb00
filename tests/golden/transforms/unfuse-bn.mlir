// before
module {
  func.func @main(%arg0: !pd.vtensor<2x3x4x5xf32>) -> !pd.vtensor<2x3x4x5xf32> {
    %0 = "builtin.get_parameter"() {name = "mean"} : () -> !pd.vtensor<3xf32>
    %1 = "builtin.get_parameter"() {name = "variance"} : () -> !pd.vtensor<3xf32>
    %2 = "builtin.get_parameter"() {name = "scale"} : () -> !pd.vtensor<3xf32>
    %3 = "builtin.get_parameter"() {name = "offset"} : () -> !pd.vtensor<3xf32>
    %4 = "pd.batch_norm"(%arg0, %0, %1, %2, %3) {data_format = "NCHW", epsilon = 1.0e-05 : f64, is_test = true, momentum = 0.9 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, use_global_stats = false} : (!pd.vtensor<2x3x4x5xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3x4x5xf32>
    return %4 : !pd.vtensor<2x3x4x5xf32>
  }
}

// unfuse-bn
module {
  func.func @main(%arg0: !pd.vtensor<2x3x4x5xf32>) -> !pd.vtensor<2x3x4x5xf32> {
    %0 = "builtin.constant"() {value = dense<[[[-0.30359617]], [[0.63097894]], [[0.264052]]]> : !pd.vtensor<3x1x1xf32>} : () -> !pd.vtensor<3x1x1xf32>
    %1 = "builtin.constant"() {value = dense<[[[-0.49642694]], [[1.3074107]], [[-0.2014863]]]> : !pd.vtensor<3x1x1xf32>} : () -> !pd.vtensor<3x1x1xf32>
    %2 = "pd.multiply"(%arg0, %0) : (!pd.vtensor<2x3x4x5xf32>, !pd.vtensor<3x1x1xf32>) -> !pd.vtensor<2x3x4x5xf32>
    %3 = "pd.add"(%2, %1) : (!pd.vtensor<2x3x4x5xf32>, !pd.vtensor<3x1x1xf32>) -> !pd.vtensor<2x3x4x5xf32>
    return %3 : !pd.vtensor<2x3x4x5xf32>
  }
}
