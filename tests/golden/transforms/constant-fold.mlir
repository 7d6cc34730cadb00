// before
module {
  func.func @main(%arg0: !pd.vtensor<2x6xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x6xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 1, 0>} : (!pd.vtensor<4x6xf32>) -> !pd.vtensor<6x4xf32>
    %2 = "pd.scale"(%1) {bias = 3.5 : f64, bias_after_scale = true, scale = -1.0 : f64} : (!pd.vtensor<6x4xf32>) -> !pd.vtensor<6x4xf32>
    %3 = "pd.relu"(%2) : (!pd.vtensor<6x4xf32>) -> !pd.vtensor<6x4xf32>
    %4 = "pd.matmul"(%arg0, %3) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x6xf32>, !pd.vtensor<6x4xf32>) -> !pd.vtensor<2x4xf32>
    return %4 : !pd.vtensor<2x4xf32>
  }
}

// constant-fold
module {
  func.func @main(%arg0: !pd.vtensor<2x6xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.get_parameter"() {name = "w.folded"} : () -> !pd.vtensor<6x4xf32>
    %1 = "pd.matmul"(%arg0, %0) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x6xf32>, !pd.vtensor<6x4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
