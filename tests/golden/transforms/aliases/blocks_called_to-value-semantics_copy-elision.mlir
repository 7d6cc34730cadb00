module {
  func.func @make(%arg0: !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32> {
    %0 = "pd.relu"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "builtin.to_tensor"(%0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    return %1 : !pd.tensor<2x3xf32>
  }
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "func.call"(%arg0) {callee = @make} : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "func.call"(%arg0) {callee = @make} : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %3 = "builtin.to_vtensor"(%2) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.scale"(%1) {scale = 3.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.subtract"(%4, %3) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %5 : !pd.vtensor<2x3xf32>
  }
}
