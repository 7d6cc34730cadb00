module {
  func.func @main(%arg0: !pd.vtensor<1x6x6x4xf32>) -> tuple<!pd.vtensor<1x5xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {layout_str = "NHWC", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %1 = "tx8be.Constant"() {layout_str = "HWOI", name = "w0"} : () -> !pd.vtensor<3x3x8x4xf32>
    %2 = "tx8be.Constant"() {layout_str = "NTensor", name = "b1"} : () -> !pd.vtensor<8xf32>
    %3 = "tx8be.Constant"() {layout_str = "HWOI", name = "w1"} : () -> !pd.vtensor<3x3x8x8xf32>
    %4 = "tx8be.Constant"() {layout_str = "NTensor", name = "w2"} : () -> !pd.vtensor<8x5xf32>
    %5 = "tx8be.Constant"() {layout_str = "NTensor", name = "b2"} : () -> !pd.vtensor<5xf32>
    %6 = "tx8be.None"() : () -> none
    %7 = "tx8be.None"() : () -> none
    %8 = "tx8be.Conv"(%0, %1, %6, %7) {activation = #tx8be<Activation none>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x6x6x4xf32>, !pd.vtensor<3x3x8x4xf32>, none, none) -> !pd.vtensor<1x4x4x8xf32>
    %9 = "tx8be.Add"(%8, %8) {layout_str = "NHWC"} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<1x4x4x8xf32>) -> !pd.vtensor<1x4x4x8xf32>
    %10 = "tx8be.None"() : () -> none
    %11 = "tx8be.Conv"(%9, %3, %2, %10) {activation = #tx8be<Activation none>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<3x3x8x8xf32>, !pd.vtensor<8xf32>, none) -> !pd.vtensor<1x2x2x8xf32>
    %12 = "tx8be.Reduce"(%11) {axes = array<i64: 1, 2>, function = #tx8be<ReduceFunction avg>, keepdim = true, layout_str = "NHWC"} : (!pd.vtensor<1x2x2x8xf32>) -> !pd.vtensor<1x1x1x8xf32>
    %13 = "tx8be.Reshape"(%12) {layout_str = "Tensor"} : (!pd.vtensor<1x1x1x8xf32>) -> !pd.vtensor<1x8xf32>
    %14 = "tx8be.None"() : () -> none
    %15 = "tx8be.Gemm"(%13, %4, %5, %14) {activation = #tx8be<Activation none>, layout_str = "Tensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<1x8xf32>, !pd.vtensor<8x5xf32>, !pd.vtensor<5xf32>, none) -> !pd.vtensor<1x5xf32>
    %16 = "tx8be.Tuple"(%15) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<1x5xf32>) -> tuple<!pd.vtensor<1x5xf32>>
    %17 = "tx8be.Output"(%16) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<1x5xf32>>) -> tuple<!pd.vtensor<1x5xf32>>
    return %17 : tuple<!pd.vtensor<1x5xf32>>
  }
}
// layout-align{mode=greedy}
module {
  func.func @main(%arg0: !pd.vtensor<1x6x6x4xf32>) -> tuple<!pd.vtensor<1x5xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "NTensor"}>, layout_str = "NHWC", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, direction = true, layout_str = "NHWC"} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %2 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "HWOI", name = "w0"} : () -> !pd.vtensor<3x3x8x4xf32>
    %3 = "tx8be.ChannelNorm"(%2) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "HWOI"} : (!pd.vtensor<3x3x8x4xf32>) -> !pd.vtensor<3x3x8x4xf32>
    %4 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", name = "b1"} : () -> !pd.vtensor<8xf32>
    %5 = "tx8be.ChannelNorm"(%4) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<8xf32>) -> !pd.vtensor<8xf32>
    %6 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "HWOI", name = "w1"} : () -> !pd.vtensor<3x3x8x8xf32>
    %7 = "tx8be.ChannelNorm"(%6) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "HWOI"} : (!pd.vtensor<3x3x8x8xf32>) -> !pd.vtensor<3x3x8x8xf32>
    %8 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", name = "w2"} : () -> !pd.vtensor<8x5xf32>
    %9 = "tx8be.ChannelNorm"(%8) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<8x5xf32>) -> !pd.vtensor<8x5xf32>
    %10 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", name = "b2"} : () -> !pd.vtensor<5xf32>
    %11 = "tx8be.ChannelNorm"(%10) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<5xf32>) -> !pd.vtensor<5xf32>
    %12 = "tx8be.None"() : () -> none
    %13 = "tx8be.None"() : () -> none
    %14 = "tx8be.Conv"(%1, %3, %12, %13) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x6x6x4xf32>, !pd.vtensor<3x3x8x4xf32>, none, none) -> !pd.vtensor<1x4x4x8xf32>
    %15 = "tx8be.Add"(%14, %14) {dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, layout_str = "NHWC"} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<1x4x4x8xf32>) -> !pd.vtensor<1x4x4x8xf32>
    %16 = "tx8be.None"() : () -> none
    %17 = "tx8be.Conv"(%15, %7, %5, %16) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<3x3x8x8xf32>, !pd.vtensor<8xf32>, none) -> !pd.vtensor<1x2x2x8xf32>
    %18 = "tx8be.Reduce"(%17) {axes = array<i64: 1, 2>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, function = #tx8be<ReduceFunction avg>, keepdim = true, layout_str = "NHWC"} : (!pd.vtensor<1x2x2x8xf32>) -> !pd.vtensor<1x1x1x8xf32>
    %19 = "tx8be.Reshape"(%18) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "Tensor"} : (!pd.vtensor<1x1x1x8xf32>) -> !pd.vtensor<1x8xf32>
    %20 = "tx8be.None"() : () -> none
    %21 = "tx8be.Gemm"(%19, %9, %11, %20) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "Tensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<1x8xf32>, !pd.vtensor<8x5xf32>, !pd.vtensor<5xf32>, none) -> !pd.vtensor<1x5xf32>
    %22 = "tx8be.ChannelNorm"(%21) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "Tensor"} : (!pd.vtensor<1x5xf32>) -> !pd.vtensor<1x5xf32>
    %23 = "tx8be.Tuple"(%22) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<1x5xf32>) -> tuple<!pd.vtensor<1x5xf32>>
    %24 = "tx8be.Output"(%23) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<1x5xf32>>) -> tuple<!pd.vtensor<1x5xf32>>
    return %24 : tuple<!pd.vtensor<1x5xf32>>
  }
}
// layout-optimize
module {
  func.func @main(%arg0: !pd.vtensor<1x6x6x4xf32>) -> tuple<!pd.vtensor<1x5xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "NTensor"}>, layout_str = "NHWC", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, direction = true, layout_str = "NHWC"} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %2 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "HWOI", name = "w0"} : () -> !pd.vtensor<3x3x8x4xf32>
    %3 = "tx8be.ChannelNorm"(%2) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "HWOI"} : (!pd.vtensor<3x3x8x4xf32>) -> !pd.vtensor<3x3x8x4xf32>
    %4 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", name = "b1"} : () -> !pd.vtensor<8xf32>
    %5 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "HWOI", name = "w1"} : () -> !pd.vtensor<3x3x8x8xf32>
    %6 = "tx8be.ChannelNorm"(%5) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "HWOI"} : (!pd.vtensor<3x3x8x8xf32>) -> !pd.vtensor<3x3x8x8xf32>
    %7 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", name = "w2"} : () -> !pd.vtensor<8x5xf32>
    %8 = "tx8be.ChannelNorm"(%7) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<8x5xf32>) -> !pd.vtensor<8x5xf32>
    %9 = "tx8be.Constant"() {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", name = "b2"} : () -> !pd.vtensor<5xf32>
    %10 = "tx8be.None"() : () -> none
    %11 = "tx8be.None"() : () -> none
    %12 = "tx8be.Conv"(%1, %3, %10, %11) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x6x6x4xf32>, !pd.vtensor<3x3x8x4xf32>, none, none) -> !pd.vtensor<1x4x4x8xf32>
    %13 = "tx8be.Add"(%12, %12) {dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, layout_str = "NHWC"} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<1x4x4x8xf32>) -> !pd.vtensor<1x4x4x8xf32>
    %14 = "tx8be.None"() : () -> none
    %15 = "tx8be.Conv"(%13, %6, %4, %14) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout_str = "NHWC", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x4x4x8xf32>, !pd.vtensor<3x3x8x8xf32>, !pd.vtensor<8xf32>, none) -> !pd.vtensor<1x2x2x8xf32>
    %16 = "tx8be.Reduce"(%15) {axes = array<i64: 1, 2>, dev_info = #tx8be.dev_attr<{mem_layout = "NCx"}>, function = #tx8be<ReduceFunction avg>, keepdim = true, layout_str = "NHWC"} : (!pd.vtensor<1x2x2x8xf32>) -> !pd.vtensor<1x1x1x8xf32>
    %17 = "tx8be.Reshape"(%16) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "Tensor"} : (!pd.vtensor<1x1x1x8xf32>) -> !pd.vtensor<1x8xf32>
    %18 = "tx8be.None"() : () -> none
    %19 = "tx8be.Gemm"(%17, %8, %9, %18) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "Tensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<1x8xf32>, !pd.vtensor<8x5xf32>, !pd.vtensor<5xf32>, none) -> !pd.vtensor<1x5xf32>
    %20 = "tx8be.ChannelNorm"(%19) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "Tensor"} : (!pd.vtensor<1x5xf32>) -> !pd.vtensor<1x5xf32>
    %21 = "tx8be.Tuple"(%20) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<1x5xf32>) -> tuple<!pd.vtensor<1x5xf32>>
    %22 = "tx8be.Output"(%21) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<1x5xf32>>) -> tuple<!pd.vtensor<1x5xf32>>
    return %22 : tuple<!pd.vtensor<1x5xf32>>
  }
}
