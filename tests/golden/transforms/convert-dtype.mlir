// before
module {
  func.func @main(%arg0: !pd.vtensor<5x2xf32>, %arg1: !pd.vtensor<5xi64>) -> (!pd.vtensor<5x3xf64>, !pd.vtensor<i64>) {
    %0 = "builtin.get_parameter"() {name = "table"} : () -> !pd.vtensor<4x3xf32>
    %1 = "pd.embedding"(%arg1, %0) {padding_idx = -1 : i64} : (!pd.vtensor<5xi64>, !pd.vtensor<4x3xf32>) -> !pd.vtensor<5x3xf32>
    %2 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2x3xf32>
    %3 = "pd.matmul"(%arg0, %2) {transpose_x = false, transpose_y = false} : (!pd.vtensor<5x2xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<5x3xf32>
    %4 = "pd.add"(%3, %1) : (!pd.vtensor<5x3xf32>, !pd.vtensor<5x3xf32>) -> !pd.vtensor<5x3xf32>
    %5 = "builtin.constant"() {value = dense<[0.5]> : !pd.vtensor<1xf32>} : () -> !pd.vtensor<1xf32>
    %6 = "pd.multiply"(%4, %5) : (!pd.vtensor<5x3xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<5x3xf32>
    %7 = "pd.cast"(%6) {dtype = f64} : (!pd.vtensor<5x3xf32>) -> !pd.vtensor<5x3xf64>
    %8 = "pd.sum"(%arg1) {axis = array<i64>, keepdim = false} : (!pd.vtensor<5xi64>) -> !pd.vtensor<i64>
    return %7, %8 : !pd.vtensor<5x3xf64>, !pd.vtensor<i64>
  }
}

// convert-dtype{dtype=bf16}
module {
  func.func @main(%arg0: !pd.vtensor<5x2xbf16>, %arg1: !pd.vtensor<5xi32>) -> (!pd.vtensor<5x3xbf16>, !pd.vtensor<i32>) {
    %0 = "builtin.get_parameter"() {name = "table.bf16"} : () -> !pd.vtensor<4x3xbf16>
    %1 = "pd.embedding"(%arg1, %0) {padding_idx = -1 : i64} : (!pd.vtensor<5xi32>, !pd.vtensor<4x3xbf16>) -> !pd.vtensor<5x3xbf16>
    %2 = "builtin.get_parameter"() {name = "w.bf16"} : () -> !pd.vtensor<2x3xbf16>
    %3 = "pd.matmul"(%arg0, %2) {transpose_x = false, transpose_y = false} : (!pd.vtensor<5x2xbf16>, !pd.vtensor<2x3xbf16>) -> !pd.vtensor<5x3xbf16>
    %4 = "pd.add"(%3, %1) : (!pd.vtensor<5x3xbf16>, !pd.vtensor<5x3xbf16>) -> !pd.vtensor<5x3xbf16>
    %5 = "builtin.constant"() {value = dense<[0.5]> : !pd.vtensor<1xbf16>} : () -> !pd.vtensor<1xbf16>
    %6 = "pd.multiply"(%4, %5) : (!pd.vtensor<5x3xbf16>, !pd.vtensor<1xbf16>) -> !pd.vtensor<5x3xbf16>
    %7 = "pd.sum"(%arg1) {axis = array<i64>, dtype = i32, keepdim = false} : (!pd.vtensor<5xi32>) -> !pd.vtensor<i32>
    return %6, %7 : !pd.vtensor<5x3xbf16>, !pd.vtensor<i32>
  }
}
