module {
  func.func @main(%arg0: !pd.tensor<1x3x4x4xf32>) -> !pd.tensor<1x2x4x4xf32> {
    %0 = "builtin.to_vtensor"(%arg0) : (!pd.tensor<1x3x4x4xf32>) -> !pd.vtensor<1x3x4x4xf32>
    %1 = "builtin.get_parameter"() {name = "w.fused"} : () -> !pd.vtensor<2x3x3x3xf32>
    %2 = "builtin.constant"() {value = dense<[-0.40824693, 0.57734644]> : !pd.vtensor<2xf32>} : () -> !pd.vtensor<2xf32>
    %3 = "pd.fused_conv2d_add_act"(%0, %1, %2) {activation = "relu", paddings = array<i64: 1, 1>} : (!pd.vtensor<1x3x4x4xf32>, !pd.vtensor<2x3x3x3xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %4 = "builtin.to_tensor"(%3) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.tensor<1x2x4x4xf32>
    return %4 : !pd.tensor<1x2x4x4xf32>
  }
}
