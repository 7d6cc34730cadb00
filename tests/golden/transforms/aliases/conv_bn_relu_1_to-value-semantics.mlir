module {
  func.func @main(%arg0: !pd.tensor<1x3x4x4xf32>) -> !pd.tensor<1x2x4x4xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2x3x3x3xf32>
    %1 = "builtin.get_parameter"() {name = "mean"} : () -> !pd.vtensor<2xf32>
    %2 = "builtin.get_parameter"() {name = "variance"} : () -> !pd.vtensor<2xf32>
    %3 = "builtin.to_vtensor"(%arg0) : (!pd.tensor<1x3x4x4xf32>) -> !pd.vtensor<1x3x4x4xf32>
    %4 = "pd.conv2d"(%3, %0) {paddings = array<i64: 1, 1>} : (!pd.vtensor<1x3x4x4xf32>, !pd.vtensor<2x3x3x3xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %5 = "builtin.to_tensor"(%4) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    %6 = "builtin.to_vtensor"(%5) : (!pd.tensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %7 = "pd.batch_norm"(%6, %1, %2) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %8 = "builtin.to_tensor"(%7) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    %9 = "builtin.to_vtensor"(%8) : (!pd.tensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %10 = "pd.relu"(%9) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %11 = "builtin.to_tensor"(%10) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    return %11 : !pd.tensor<1x2x4x4xf32>
  }
}
