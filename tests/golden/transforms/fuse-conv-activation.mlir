module {
  func.func @main(%arg0: !pd.vtensor<1x3x6x6xf32>) -> !pd.vtensor<1x4x6x6xf32> {
    %0 = "pd.transpose"(%arg0) {perm = array<i64: 0, 2, 3, 1>} : (!pd.vtensor<1x3x6x6xf32>) -> !pd.vtensor<1x6x6x3xf32>
    %1 = "builtin.get_parameter"() {name = "w.fused.hwoi"} : () -> !pd.vtensor<3x3x4x3xf32>
    %2 = "builtin.constant"() {value = dense<[5.3342404, 0.1994618, 0.3869088, 0.6575066]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
    %3 = "pd.fused_conv2d_add_act"(%0, %1, %2) {activation = "relu", data_format = "NHWC", dilations = array<i64: 1, 1>, filter_format = "HWOI", groups = 1 : i64, padding_algorithm = "EXPLICIT", paddings = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (!pd.vtensor<1x6x6x3xf32>, !pd.vtensor<3x3x4x3xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<1x6x6x4xf32>
    %4 = "pd.transpose"(%3) {perm = array<i64: 0, 3, 1, 2>} : (!pd.vtensor<1x6x6x4xf32>) -> !pd.vtensor<1x4x6x6xf32>
    return %4 : !pd.vtensor<1x4x6x6xf32>
  }
}
