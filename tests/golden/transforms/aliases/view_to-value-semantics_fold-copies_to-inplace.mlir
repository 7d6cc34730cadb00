module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) {
    %0 = "pd.transpose"(%arg0) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %1 = "pd.slice"(%0) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    %2 = "pd.relu"(%1) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    %3 = "pd.transpose"(%arg0) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %4 = "pd.set_value"(%3, %2) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<3x2xf32>
    %5 = "pd.transpose"(%4) {perm = array<i64: 1, 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.scale"(%5) {scale = 2.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %7 = "pd.transpose"(%6) {perm = array<i64: 1, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<3x2xf32>
    %8 = "pd.slice"(%7) {axes = array<i64: 1>, decrease_axis = array<i64: 1>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<3x2xf32>) -> !pd.vtensor<3xf32>
    return %6, %8 : !pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>
  }
}
