// before
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x8xf32>, %arg1: !pd.vtensor<1x4x2x8xf32>, %arg2: !pd.vtensor<1x2x4x8xf32>, %arg3: !pd.vtensor<4x4xi1>) -> !pd.vtensor<1x2x4x8xf32> {
    %0 = "pd.transpose"(%arg1) {perm = [0, 2, 3, 1]} : (!pd.vtensor<1x4x2x8xf32>) -> !pd.vtensor<1x2x8x4xf32>
    %1 = "pd.matmul"(%arg0, %0) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x2x4x8xf32>, !pd.vtensor<1x2x8x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %2 = "builtin.constant"() {value = dense<2.828427> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %3 = "pd.divide"(%1, %2) : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<1x2x4x4xf32>
    %4 = "builtin.constant"() {value = dense<-3.4028235e+38> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %5 = "pd.where"(%arg3, %4, %3) : (!pd.vtensor<4x4xi1>, !pd.vtensor<f32>, !pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %6 = "pd.softmax"(%5) {axis = -1 : i64} : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %7 = "pd.isnan"(%6) : (!pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xi1>
    %8 = "builtin.constant"() {value = dense<0.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %9 = "pd.where"(%7, %8, %6) : (!pd.vtensor<1x2x4x4xi1>, !pd.vtensor<f32>, !pd.vtensor<1x2x4x4xf32>) -> !pd.vtensor<1x2x4x4xf32>
    %10 = "pd.matmul"(%9, %arg2) {transpose_x = false, transpose_y = false} : (!pd.vtensor<1x2x4x4xf32>, !pd.vtensor<1x2x4x8xf32>) -> !pd.vtensor<1x2x4x8xf32>
    return %10 : !pd.vtensor<1x2x4x8xf32>
  }
}

// recognize-attention
module {
  func.func @main(%arg0: !pd.vtensor<1x2x4x8xf32>, %arg1: !pd.vtensor<1x4x2x8xf32>, %arg2: !pd.vtensor<1x2x4x8xf32>, %arg3: !pd.vtensor<4x4xi1>) -> !pd.vtensor<1x2x4x8xf32> {
    %0 = "pd.transpose"(%arg1) {perm = array<i64: 0, 2, 1, 3>} : (!pd.vtensor<1x4x2x8xf32>) -> !pd.vtensor<1x2x4x8xf32>
    %1 = "pd.logical_not"(%arg3) : (!pd.vtensor<4x4xi1>) -> !pd.vtensor<4x4xi1>
    %2 = "pd.scaled_dot_product_attention"(%arg0, %0, %arg2, %1) {is_causal = false, masked_score = -3.4028234663852886e+38 : f64, nan_to_zero = true, scale = 0.3535533966440824 : f64} : (!pd.vtensor<1x2x4x8xf32>, !pd.vtensor<1x2x4x8xf32>, !pd.vtensor<1x2x4x8xf32>, !pd.vtensor<4x4xi1>) -> !pd.vtensor<1x2x4x8xf32>
    return %2 : !pd.vtensor<1x2x4x8xf32>
  }
}
