module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) {
    %0 = "pd.transpose"(%arg0) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %1 = "pd.slice"(%0) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    %2 = "pd.relu"(%1) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %3 = "pd.set_value"(%0, %2) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<3x2xf32>
    %4 = "pd.transpose"(%3) {perm = array<i64: 1, 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.scale"(%4) {scale = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.transpose"(%5) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %7 = "pd.slice"(%6) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    return %5, %7 : !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>
  }
}
