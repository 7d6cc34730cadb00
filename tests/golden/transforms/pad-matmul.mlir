// before
module {
  func.func @main(%arg0: !pd.vtensor<2x12x60xf32>, %arg1: !pd.vtensor<60x10xf32>) -> !pd.vtensor<2x12x10xf32> {
    %0 = "pd.matmul"(%arg0, %arg1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x12x60xf32>, !pd.vtensor<60x10xf32>) -> !pd.vtensor<2x12x10xf32>
    return %0 : !pd.vtensor<2x12x10xf32>
  }
}

// pad-matmul
module {
  func.func @main(%arg0: !pd.vtensor<2x12x60xf32>, %arg1: !pd.vtensor<60x10xf32>) -> !pd.vtensor<2x12x10xf32> {
    %0 = "pd.pad"(%arg0) {pad_value = 0.0 : f64, paddings = array<i64: 0, 0, 0, 4, 0, 4>} : (!pd.vtensor<2x12x60xf32>) -> !pd.vtensor<2x16x64xf32>
    %1 = "pd.pad"(%arg1) {pad_value = 0.0 : f64, paddings = array<i64: 0, 4, 0, 0>} : (!pd.vtensor<60x10xf32>) -> !pd.vtensor<64x10xf32>
    %2 = "pd.matmul"(%0, %1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x16x64xf32>, !pd.vtensor<64x10xf32>) -> !pd.vtensor<2x16x10xf32>
    %3 = "pd.slice"(%2) {axes = array<i64: 1>, decrease_axis = array<i64>, ends = array<i64: 12>, starts = array<i64: 0>} : (!pd.vtensor<2x16x10xf32>) -> !pd.vtensor<2x12x10xf32>
    return %3 : !pd.vtensor<2x12x10xf32>
  }
}
