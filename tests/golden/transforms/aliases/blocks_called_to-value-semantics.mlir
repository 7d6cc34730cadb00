module {
  func.func @make(%arg0: !pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.relu"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "builtin.to_tensor"(%2) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    return %3 : !pd.tensor<2x3xf32>
  }
  func.func @main(%arg0: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32> {
    %0 = "func.call"(%arg0) {callee = @make} : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "func.call"(%arg0) {callee = @make} : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %2 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.scale"(%2) {scale = 3.0 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %4 = "builtin.to_tensor"(%3) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %5 = "builtin.to_vtensor"(%4) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "builtin.to_vtensor"(%1) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %7 = "pd.subtract"(%5, %6) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %8 = "builtin.to_tensor"(%7) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %9 = "builtin.to_vtensor"(%8) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %9 : !pd.vtensor<2x3xf32>
  }
}
