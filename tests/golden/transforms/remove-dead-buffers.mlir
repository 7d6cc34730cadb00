// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %1 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %2 = "scf.if"(%arg1) ({
      %3 = "pd.exp"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %4 = "pd.add_"(%0, %3) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
      %5 = "pd.add_"(%1, %3) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"(%arg0) : (!pd.vtensor<2xf32>) -> ()
    }, {
      %6 = "pd.assign_"(%0, %1) : (!pd.tensor<2xf32>, !pd.tensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"(%arg0) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    "func.call"(%1) {callee = @twice} : (!pd.tensor<2xf32>) -> ()
    %7 = "builtin.to_vtensor"(%1) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    return %7 : !pd.vtensor<2xf32>
  }
  func.func @twice(%arg0: !pd.tensor<2xf32>) {
    %0 = "pd.add"(%arg0, %arg0) : (!pd.tensor<2xf32>, !pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %1 = "pd.relu_"(%0) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %2 = "pd.scale_"(%arg0) {bias = 0.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    return
  }
}

// remove-dead-buffers
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %1 = "scf.if"(%arg1) ({
      %2 = "pd.exp"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %3 = "pd.add_"(%0, %2) : (!pd.tensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
      "scf.yield"(%arg0) : (!pd.vtensor<2xf32>) -> ()
    }, {
      "scf.yield"(%arg0) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    "func.call"(%0) {callee = @twice} : (!pd.tensor<2xf32>) -> ()
    %4 = "builtin.to_vtensor"(%0) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    return %4 : !pd.vtensor<2xf32>
  }
  func.func @twice(%arg0: !pd.tensor<2xf32>) {
    %0 = "pd.scale_"(%arg0) {bias = 0.0 : f64, bias_after_scale = true, scale = 2.0 : f64} : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    return
  }
}
