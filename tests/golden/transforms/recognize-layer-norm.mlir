// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<1x4xf32>, %arg2: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.mean"(%arg0) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %1 = "pd.subtract"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %2 = "pd.pow"(%1) {y = 2.0 : f64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "pd.mean"(%2) {axis = [-1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %4 = "builtin.constant"() {value = dense<1.0e-05> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %5 = "pd.add"(%3, %4) : (!pd.vtensor<2x1xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x1xf32>
    %6 = "pd.sqrt"(%5) : (!pd.vtensor<2x1xf32>) -> !pd.vtensor<2x1xf32>
    %7 = "pd.divide"(%1, %6) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %8 = "pd.multiply"(%7, %arg1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<1x4xf32>) -> !pd.vtensor<2x4xf32>
    %9 = "pd.add"(%arg2, %8) : (!pd.vtensor<4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %9 : !pd.vtensor<2x4xf32>
  }
}

// recognize-layer-norm
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<1x4xf32>, %arg2: !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.reshape"(%arg1) {shape = array<i64: 4>} : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.layer_norm"(%arg0, %0, %arg2) {begin_norm_axis = 1 : i64, epsilon = 9.999999747378752e-06 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
