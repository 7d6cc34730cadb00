module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.Tanh"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.ChannelNorm"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
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
// group-default
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.Tanh"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%0) : (!pd.vtensor<2x4xf32>) -> ()
    }) {group_id = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.ChannelNorm"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%0) : (!pd.vtensor<2x4xf32>) -> ()
    }) {group_id = 1 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "tx8be.Group"(%2) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 0 : i64, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
      %1 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 1 : i64, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
      %2 = "tx8be.None"() : () -> none
      %3 = "tx8be.Gemm"(%arg0, %0, %1, %2) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%3) : (!pd.vtensor<2x3xf32>) -> ()
    }) {group_id = 2 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "tx8be.Group"(%3) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "tx8be.ChannelNorm"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%0) : (!pd.vtensor<2x3xf32>) -> ()
    }) {group_id = 3 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %6 : tuple<!pd.vtensor<2x3xf32>>
  }
}
// group-load-store
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.Tanh"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {group_id = 0 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {group_id = 1 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "tx8be.Group"(%2) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 0 : i64, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
      %2 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 1 : i64, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
      %3 = "tx8be.None"() : () -> none
      %4 = "tx8be.Gemm"(%0, %1, %2, %3) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
      %5 = "tx8be.StoreVar"(%4) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%5) : (!pd.vtensor<2x3xf32>) -> ()
    }) {group_id = 2 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "tx8be.Group"(%3) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x3xf32>) -> ()
    }) {group_id = 3 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %6 : tuple<!pd.vtensor<2x3xf32>>
  }
}
// group-mapping
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.Tanh"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 0 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 1 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "tx8be.Group"(%2) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 0 : i64, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
      %2 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 1 : i64, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
      %3 = "tx8be.None"() : () -> none
      %4 = "tx8be.Gemm"(%0, %1, %2, %3) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
      %5 = "tx8be.StoreVar"(%4) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%5) : (!pd.vtensor<2x3xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 2 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "tx8be.Group"(%3) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x3xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 3 : i64, group_tag = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %6 : tuple<!pd.vtensor<2x3xf32>>
  }
}
// group-barriers
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> tuple<!pd.vtensor<2x3xf32>> attributes {arg_names = ["x"], result_names = ["out0"]} {
    %0 = "tx8be.Input"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor", mem_scope = #tx8be<memscope_mode DDR>} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "tx8be.Group"(%0) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.Tanh"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 0 : i64, group_tag = 0 : i64, layer = 3 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "tx8be.Group"(%1) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, direction = true, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 1 : i64, group_tag = 0 : i64, layer = 2 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "tx8be.Group"(%2) ({
    ^bb0(%arg0: !pd.vtensor<2x4xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %1 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 0 : i64, layout_str = "NTensor", name = "w"} : () -> !pd.vtensor<4x3xf32>
      %2 = "tx8be.LoadConst"() {bypasscodegen = false, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, id = 1 : i64, layout_str = "NTensor", name = "b"} : () -> !pd.vtensor<3xf32>
      %3 = "tx8be.None"() : () -> none
      %4 = "tx8be.Gemm"(%0, %1, %2, %3) {activation = #tx8be<Activation none>, dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4x3xf32>, !pd.vtensor<3xf32>, none) -> !pd.vtensor<2x3xf32>
      %5 = "tx8be.StoreVar"(%4) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%5) : (!pd.vtensor<2x3xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 2 : i64, group_tag = 0 : i64, layer = 1 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "tx8be.Group"(%3) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>):
      %0 = "tx8be.LoadVar"(%arg0) {dev_info = #tx8be.dev_attr<{mem_layout = "Cx"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %1 = "tx8be.ChannelNorm"(%0) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, direction = false, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %2 = "tx8be.StoreVar"(%1) {dev_info = #tx8be.dev_attr<{mem_layout = "Tensor"}>, layout_str = "NTensor"} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "tx8be.Return"(%2) : (!pd.vtensor<2x3xf32>) -> ()
    }) {dev_region = #tx8be.region<{dx = 4 : i64, dy = 4 : i64}>, group_id = 3 : i64, group_tag = 0 : i64, layer = 0 : i64, need_barrier = true, pipeline_parallel = false, sp_stage_num = 1 : i64, template_id = -1 : i64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (!pd.vtensor<2x3xf32>) -> tuple<!pd.vtensor<2x3xf32>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<!pd.vtensor<2x3xf32>>) -> tuple<!pd.vtensor<2x3xf32>>
    return %6 : tuple<!pd.vtensor<2x3xf32>>
  }
}
