// before
module {
  func.func @main(%arg0: !pd.vtensor<4x4xf32>) -> !pd.vtensor<2x8xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x4xf32>
    %1 = "pd.matmul"(%arg0, %0) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x4xf32>, !pd.vtensor<4x4xf32>) -> !pd.vtensor<4x4xf32>
    %2 = "builtin.constant"() {value = dense<[1.0, -3.4e+38, 0.1, 0.5]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
    %3 = "pd.add"(%1, %2) : (!pd.vtensor<4x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4x4xf32>
    %4 = "pd.relu"(%3) : (!pd.vtensor<4x4xf32>) -> !pd.vtensor<4x4xf32>
    %5 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<4x4xf32>
    %6 = "pd.matmul"(%4, %5) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x4xf32>, !pd.vtensor<4x4xf32>) -> !pd.vtensor<4x4xf32>
    %7 = "pd.reshape"(%6) {shape = array<i64: 2, 8>} : (!pd.vtensor<4x4xf32>) -> !pd.vtensor<2x8xf32>
    %8 = "pd.softmax"(%7) {axis = -1 : i64} : (!pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %8 : !pd.vtensor<2x8xf32>
  }
}

// auto-mixed-precision
module {
  func.func @main(%arg0: !pd.vtensor<4x4xf32>) -> !pd.vtensor<2x8xf32> {
    %0 = "pd.cast"(%arg0) {dtype = bf16} : (!pd.vtensor<4x4xf32>) -> !pd.vtensor<4x4xbf16>
    %1 = "builtin.get_parameter"() {name = "w.bf16"} : () -> !pd.vtensor<4x4xbf16>
    %2 = "pd.matmul"(%0, %1) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x4xbf16>, !pd.vtensor<4x4xbf16>) -> !pd.vtensor<4x4xbf16>
    %3 = "builtin.constant"() {value = dense<[1.0, -3.38953e+38, 0.100098, 0.5]> : !pd.vtensor<4xbf16>} : () -> !pd.vtensor<4xbf16>
    %4 = "pd.add"(%2, %3) : (!pd.vtensor<4x4xbf16>, !pd.vtensor<4xbf16>) -> !pd.vtensor<4x4xbf16>
    %5 = "pd.relu"(%4) : (!pd.vtensor<4x4xbf16>) -> !pd.vtensor<4x4xbf16>
    %6 = "builtin.get_parameter"() {name = "w.bf16"} : () -> !pd.vtensor<4x4xbf16>
    %7 = "pd.matmul"(%5, %6) {transpose_x = false, transpose_y = false} : (!pd.vtensor<4x4xbf16>, !pd.vtensor<4x4xbf16>) -> !pd.vtensor<4x4xbf16>
    %8 = "pd.reshape"(%7) {shape = array<i64: 2, 8>} : (!pd.vtensor<4x4xbf16>) -> !pd.vtensor<2x8xbf16>
    %9 = "pd.cast"(%8) {dtype = f32} : (!pd.vtensor<2x8xbf16>) -> !pd.vtensor<2x8xf32>
    %10 = "pd.softmax"(%9) {axis = -1 : i64} : (!pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %10 : !pd.vtensor<2x8xf32>
  }
}
