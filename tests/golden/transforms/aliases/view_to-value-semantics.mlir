module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.transpose"(%1) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %3 = "pd.slice"(%2) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    %4 = "pd.relu"(%3) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %5 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.transpose"(%5) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %7 = "pd.set_value"(%6, %4) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<3x2xf32>
    %8 = "pd.transpose"(%7) {perm = array<i64: 1, 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<2x3xf32>
    %9 = "builtin.to_tensor"(%8) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %10 = "builtin.to_vtensor"(%9) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %11 = "pd.scale"(%10) {scale = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %12 = "builtin.to_tensor"(%11) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %13 = "builtin.to_vtensor"(%12) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %14 = "builtin.to_vtensor"(%12) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %15 = "pd.transpose"(%14) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %16 = "pd.slice"(%15) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    return %13, %16 : !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>
  }
}
