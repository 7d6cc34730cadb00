// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<1x4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.constant"() {value = dense<2.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %1 = "pd.elementwise_pow"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
    %2 = "pd.mean"(%1) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %3 = "builtin.constant"() {value = dense<1.0e-06> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %4 = "pd.add"(%2, %3) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.sqrt"(%4) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %6 = "pd.reciprocal"(%5) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %7 = "pd.multiply"(%arg0, %6) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %8 = "pd.multiply"(%arg1, %7) : (!pd.vtensor<1x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %8 : !pd.vtensor<2x4xf32>
  }
}

// recognize-rms-norm
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<1x4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.reshape"(%arg1) {shape = array<i64: 4>} : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.rms_norm"(%arg0, %0) {begin_norm_axis = 1 : i64, epsilon = 9.999999974752427e-07 : f64} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
