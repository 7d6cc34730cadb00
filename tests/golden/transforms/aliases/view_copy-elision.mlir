module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 1, 0>} : (!pd.tensor<2x3xf32>) -> !pd.tensor<3x2xf32>
    %2 = "pd.slice"(%1) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.tensor<3x2xf32>) -> !pd.tensor<3xf32>
    %3 = "pd.relu_"(%2) : (!pd.tensor<3xf32>) -> !pd.tensor<3xf32>
    %4 = "pd.scale_"(%0) {scale = 2.0 : f64} : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %5 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "builtin.to_vtensor"(%2) : (!pd.tensor<3xf32>) -> !pd.vtensor<3xf32>
    return %5, %6 : !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>
  }
}
