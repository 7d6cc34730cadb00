module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    "cf.cond_br"(%arg1)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^bb1:
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    "cf.br"(%0)[^bb3] : (!pd.vtensor<2x3xf32>) -> ()
  ^bb2:
    %1 = "pd.slice"(%arg0) {axes = array<i64: 0>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<1x3xf32>
    %2 = "pd.scale"(%1) {scale = 2.0 : f64} : (!pd.vtensor<1x3xf32>) -> !pd.vtensor<1x3xf32>
    %3 = "pd.set_value"(%arg0, %2) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<1x3xf32>) -> !pd.vtensor<2x3xf32>
    "cf.br"(%3)[^bb3] : (!pd.vtensor<2x3xf32>) -> ()
  ^bb3(%arg2: !pd.vtensor<2x3xf32>):
    %4 = "pd.slice"(%arg2) {axes = array<i64: 0>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<1x3xf32>
    %5 = "pd.tanh"(%4) : (!pd.vtensor<1x3xf32>) -> !pd.vtensor<1x3xf32>
    %6 = "pd.set_value"(%arg2, %5) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 1>, starts = array<i64: 0>} : (!pd.vtensor<2x3xf32>, !pd.vtensor<1x3xf32>) -> !pd.vtensor<2x3xf32>
    return %6 : !pd.vtensor<2x3xf32>
  }
}
