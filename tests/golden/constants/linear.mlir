module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
    %3 = "tx8be.ChannelNorm"(%2) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<4x3xf32>) -> !pd.vtensor<4x3xf32>
    %4 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
    %5 = "tx8be.Softmax"(%1) {axis = -1 : i64, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %6 = "tx8be.None"() : () -> none
    %7 = "tx8be.Gemm"(%5, %3, %4, %6) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
    %8 = "tx8be.ChannelNorm"(%7) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %9 = "tx8be.Tuple"(%8) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %10 = "tx8be.Output"(%9) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %10 : tuple<!pd.vtensor<2x3xf32>>
  }
}
// load-constants
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Softmax"(%1) {axis = -1 : i64, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "tx8be.None"() : () -> none
    %4 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 0 : i64, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
    %5 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 1 : i64, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
    %6 = "tx8be.Gemm"(%2, %4, %5, %3) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
    %7 = "tx8be.ChannelNorm"(%6) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %8 = "tx8be.Tuple"(%7) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %9 = "tx8be.Output"(%8) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %9 : tuple<!pd.vtensor<2x3xf32>>
  }
}
