// before
module {
  func.func @main(%arg0: !pd.vtensor<2x10xbf16>, %arg1: !pd.vtensor<10x6xbf16>) -> !pd.vtensor<4x6xbf16> {
    %0 = "pd.matmul"(%arg0, %arg1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x10xbf16>, !pd.vtensor<10x6xbf16>) -> !pd.vtensor<2x6xbf16>
    %1:4 = "pd.split"(%0) {axis = 1 : i64, sections = array<i64: 1, 2, 2, 1>} : (!pd.vtensor<2x6xbf16>) -> (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>)
    %2 = "pd.concat"(%1#3, %1#2, %1#1, %1#0) {axis = 1 : i64} : (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>) -> !pd.vtensor<2x6xbf16>
    %3 = "pd.concat"(%2, %0) {axis = 0 : i64} : (!pd.vtensor<2x6xbf16>, !pd.vtensor<2x6xbf16>) -> !pd.vtensor<4x6xbf16>
    return %3 : !pd.vtensor<4x6xbf16>
  }
}

// split-large-ops{max-operands=3,max-channels=8}
module {
  func.func @main(%arg0: !pd.vtensor<2x10xbf16>, %arg1: !pd.vtensor<10x6xbf16>) -> !pd.vtensor<4x6xbf16> {
    %0 = "pd.cast"(%arg0) {dtype = f32} : (!pd.vtensor<2x10xbf16>) -> !pd.vtensor<2x10xf32>
    %1 = "pd.cast"(%arg1) {dtype = f32} : (!pd.vtensor<10x6xbf16>) -> !pd.vtensor<10x6xf32>
    %2 = "pd.slice"(%0) {axes = array<i64: 1>, decrease_axis = array<i64>, ends = array<i64: 5>, starts = array<i64: 0>} : (!pd.vtensor<2x10xf32>) -> !pd.vtensor<2x5xf32>
    %3 = "pd.slice"(%1) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 5>, starts = array<i64: 0>} : (!pd.vtensor<10x6xf32>) -> !pd.vtensor<5x6xf32>
    %4 = "pd.matmul"(%2, %3) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x5xf32>, !pd.vtensor<5x6xf32>) -> !pd.vtensor<2x6xf32>
    %5 = "pd.slice"(%0) {axes = array<i64: 1>, decrease_axis = array<i64>, ends = array<i64: 10>, starts = array<i64: 5>} : (!pd.vtensor<2x10xf32>) -> !pd.vtensor<2x5xf32>
    %6 = "pd.slice"(%1) {axes = array<i64: 0>, decrease_axis = array<i64>, ends = array<i64: 10>, starts = array<i64: 5>} : (!pd.vtensor<10x6xf32>) -> !pd.vtensor<5x6xf32>
    %7 = "pd.matmul"(%5, %6) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x5xf32>, !pd.vtensor<5x6xf32>) -> !pd.vtensor<2x6xf32>
    %8 = "pd.add"(%4, %7) : (!pd.vtensor<2x6xf32>, !pd.vtensor<2x6xf32>) -> !pd.vtensor<2x6xf32>
    %9 = "pd.cast"(%8) {dtype = bf16} : (!pd.vtensor<2x6xf32>) -> !pd.vtensor<2x6xbf16>
    %10:2 = "pd.split"(%9) {axis = 1 : i64, sections = array<i64: 3, 3>} : (!pd.vtensor<2x6xbf16>) -> (!pd.vtensor<2x3xbf16>, !pd.vtensor<2x3xbf16>)
    %11:2 = "pd.split"(%10#0) {axis = 1 : i64, sections = array<i64: 1, 2>} : (!pd.vtensor<2x3xbf16>) -> (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>)
    %12:2 = "pd.split"(%10#1) {axis = 1 : i64, sections = array<i64: 2, 1>} : (!pd.vtensor<2x3xbf16>) -> (!pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>)
    %13 = "pd.concat"(%12#1, %12#0) {axis = 1 : i64} : (!pd.vtensor<2x1xbf16>, !pd.vtensor<2x2xbf16>) -> !pd.vtensor<2x3xbf16>
    %14 = "pd.concat"(%11#1, %11#0) {axis = 1 : i64} : (!pd.vtensor<2x2xbf16>, !pd.vtensor<2x1xbf16>) -> !pd.vtensor<2x3xbf16>
    %15 = "pd.concat"(%13, %14) {axis = 1 : i64} : (!pd.vtensor<2x3xbf16>, !pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x6xbf16>
    %16 = "pd.concat"(%15, %9) {axis = 0 : i64} : (!pd.vtensor<2x6xbf16>, !pd.vtensor<2x6xbf16>) -> !pd.vtensor<4x6xbf16>
    return %16 : !pd.vtensor<4x6xbf16>
  }
}
