module {
  func.func @main(%arg0: !pd.tensor<1x3x4x4xf32>) -> !pd.tensor<1x2x4x4xf32> {
    %0 = "builtin.to_vtensor"(%arg0) : (!pd.tensor<1x3x4x4xf32>) -> !pd.vtensor<1x3x4x4xf32>
    %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2x3x3x3xf32>
    %2 = "builtin.get_parameter"() {name = "mean"} : () -> !pd.vtensor<2xf32>
    %3 = "builtin.get_parameter"() {name = "variance"} : () -> !pd.vtensor<2xf32>
    %4 = "pd.conv2d"(%0, %1) {paddings = array<i64: 1, 1>} : (!pd.vtensor<1x3x4x4xf32>, !pd.vtensor<2x3x3x3xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %5 = "pd.batch_norm"(%4, %2, %3) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %6 = "builtin.to_tensor"(%5) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    %7 = "pd.relu_"(%6) : (!pd.tensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    return %7 : !pd.tensor<1x2x4x4xf32>
  }
}
