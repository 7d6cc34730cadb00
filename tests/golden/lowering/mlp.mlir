module {
  func.func @main(%arg0: !pd.vtensor<1x8xf32>) -> !pd.vtensor<1x4xf32> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<8x4xf32>
    %1 = "pd.matmul"(%arg0, %0) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x8xf32>, !pd.vtensor<8x4xf32>) -> !pd.vtensor<1x4xf32>
    %2 = "builtin.get_parameter"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %3 = "pd.add"(%1, %2) : (!pd.vtensor<1x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x4xf32>
    %4 = "pd.relu"(%3) : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %5 = "pd.isnan"(%4) : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xi1>
    %6 = "builtin.constant"() {value = dense<0.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %7 = "builtin.constant"() {value = dense<1.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %8 = "pd.subtract"(%7, %4) : (!pd.vtensor<f32>, !pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %9 = "pd.where"(%5, %6, %8) : (!pd.vtensor<1x4xi1>, !pd.vtensor<f32>, !pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    return %9 : !pd.vtensor<1x4xf32>
  }
}
// lower-to-tx8be
module {
  func.func @main(%arg0: !pd.vtensor<1x8xf32>) -> tuple<!pd.vtensor<1x4xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<1x8xf32>) -> !pd.vtensor<1x8xf32>
    %1 = "tx8be.Constant"() {name = "w"} : () -> !pd.vtensor<8x4xf32>
    %2 = "tx8be.Constant"() {name = "b"} : () -> !pd.vtensor<4xf32>
    %3 = "tx8be.None"() : () -> none
    %4 = "tx8be.Gemm"(%0, %1, %2, %3) {activation = #tx8be<Activation relu>, op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<1x8xf32>, !pd.vtensor<8x4xf32>, !pd.vtensor<4xf32>, none) -> !pd.vtensor<1x4xf32>
    %5 = "tx8be.Ne"(%4, %4) : (!pd.vtensor<1x4xf32>, !pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %6 = "tx8be.None"() : () -> none
    %7 = "tx8be.Mul"(%4, %6) {fusion_id = 8 : i64, scalar = -1.0 : f64} : (!pd.vtensor<1x4xf32>, none) -> !pd.vtensor<1x4xf32>
    %8 = "tx8be.None"() : () -> none
    %9 = "tx8be.Add"(%7, %8) {fusion_id = 8 : i64, scalar = 1.0 : f64} : (!pd.vtensor<1x4xf32>, none) -> !pd.vtensor<1x4xf32>
    %10 = "tx8be.None"() : () -> none
    %11 = "tx8be.Select"(%5, %10, %9) {a_scalar = 0.0 : f64} : (!pd.vtensor<1x4xf32>, none, !pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %12 = "tx8be.Tuple"(%11) {input_nums = 1 : i64, layout_str = "Unknown"} : (!pd.vtensor<1x4xf32>) -> tuple<!pd.vtensor<1x4xf32>>
    %13 = "tx8be.Output"(%12) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<1x4xf32>>) -> tuple<!pd.vtensor<1x4xf32>>
    return %13 : tuple<!pd.vtensor<1x4xf32>>
  }
}
