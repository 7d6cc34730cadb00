// before
module {
  func.func @main(%arg0: !pd.vtensor<1x16x64xf32>, %arg1: !pd.vtensor<1x16x64xf32>) -> !pd.vtensor<4x16x16xf32> {
    %0 = "pd.reshape"(%arg0) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %2 = "pd.reshape"(%arg1) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %3 = "pd.transpose"(%2) {perm = array<i64: 0, 2, 3, 1>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %4 = "pd.reshape"(%1) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %5 = "pd.reshape"(%3) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %6 = "pd.matmul"(%4, %5) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x16x16xf32>, !pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %7 = "pd.transpose"(%6) {perm = array<i64: 0, 2, 1>} : (!pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    return %7 : !pd.vtensor<4x16x16xf32>
  }
}

// fold-transpose-into-matmul
module {
  func.func @main(%arg0: !pd.vtensor<1x16x64xf32>, %arg1: !pd.vtensor<1x16x64xf32>) -> !pd.vtensor<4x16x16xf32> {
    %0 = "pd.reshape"(%arg0) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %1 = "pd.transpose"(%0) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %2 = "pd.reshape"(%arg1) {shape = array<i64: 1, 16, 4, 16>} : (!pd.vtensor<1x16x64xf32>) -> !pd.vtensor<1x16x4x16xf32>
    %3 = "pd.transpose"(%2) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x16x4x16xf32>) -> !pd.vtensor<1x4x16x16xf32>
    %4 = "pd.reshape"(%1) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %5 = "pd.reshape"(%3) {shape = array<i64: 4, 16, 16>} : (!pd.vtensor<1x4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    %6 = "pd.matmul"(%5, %4) {transpose_x = false, transpose_y = true} : (!pd.vtensor<4x16x16xf32>, !pd.vtensor<4x16x16xf32>) -> !pd.vtensor<4x16x16xf32>
    return %6 : !pd.vtensor<4x16x16xf32>
  }
}
