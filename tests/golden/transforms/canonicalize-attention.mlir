// before
module {
  func.func @main(%arg0: !pd.vtensor<1x16x64xf32>, %arg1: !pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x4x16x16xf32> {
    %0 = "builtin.constant"() {value = dense<0.5> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %1 = "pd.reshape"(%arg1) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %2 = "pd.transpose"(%1) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %3 = "pd.reshape"(%2) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %4 = "pd.transpose"(%3) {perm = array<i64: 0, 2, 1>} : (!pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %5 = "pd.reshape"(%4) {shape = array<i64: 1, 4, 16, 16>} : (!pd.vtensor<4x16x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %6 = "pd.multiply"(%5, %0) : (!pd.vtensor<1x4x16x16xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x4x16x16xf32>
    %7 = "pd.reshape"(%arg0) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %8 = "pd.transpose"(%7) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %9 = "pd.multiply"(%8, %0) : (!pd.vtensor<1x4x16x16xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x4x16x16xf32>
    %10 = "pd.matmul"(%9, %6) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x4x16x16xf32>, !pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %11 = "pd.softmax"(%10) {axis = -1 : i64} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    return %11 : !pd.vtensor<1x4x16x16xf32>
  }
}

// canonicalize,fold-transpose-into-matmul
module {
  func.func @main(%arg0: !pd.vtensor<1x16x64xf32>, %arg1: !pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x4x16x16xf32> {
    %0 = "builtin.constant"() {value = dense<0.5> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %1 = "pd.reshape"(%arg1) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %2 = "pd.multiply"(%1, %0) : (!pd.vtensor<1x16x4x16xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x16x4x16xf32>
    %3 = "pd.transpose"(%2) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %4 = "pd.reshape"(%arg0) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %5 = "pd.multiply"(%4, %0) : (!pd.vtensor<1x16x4x16xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x16x4x16xf32>
    %6 = "pd.transpose"(%5) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %7 = "pd.matmul"(%6, %3) {transpose_x = false, transpose_y = true} : (!pd.vtensor<1x4x16x16xf32>, !pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %8 = "pd.softmax"(%7) {axis = -1 : i64} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    return %8 : !pd.vtensor<1x4x16x16xf32>
  }
}
