module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.tanh"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "builtin.to_tensor"(%2) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %4:2 = "scf.if"(%arg1) ({
      %5 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %6 = "pd.relu"(%5) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %7 = "builtin.to_tensor"(%6) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      "scf.yield"(%7, %7) : (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>) -> ()
    }, {
      "scf.yield"(%3, %0) : (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>)
    %8 = "scf.while"(%4#0) ({
    ^bb0(%arg2: !pd.tensor<2x3xf32>):
      %9 = "builtin.to_vtensor"(%arg2) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %10 = "pd.scale"(%9) {scale = 0.5 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %11 = "builtin.to_tensor"(%10) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      %12 = "pd.full"() {shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
      %13 = "builtin.to_vtensor"(%11) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %14 = "pd.slice"(%13) {axes = array<i64: 0, 1>, decrease_axis = array<i64: 0, 1>, ends = array<i64: 1, 1>, starts = array<i64: 0, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<f32>
      %15 = "pd.greater_than"(%14, %12) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      %16 = "builtin.to_tensor"(%15) : (!pd.vtensor<i1>) -> !pd.tensor<i1>
      "scf.condition"(%16, %11) : (!pd.tensor<i1>, !pd.tensor<2x3xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.tensor<2x3xf32>):
      %17 = "builtin.to_vtensor"(%arg3) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %18 = "pd.add"(%17, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %19 = "builtin.to_tensor"(%18) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      %20 = "builtin.to_vtensor"(%19) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %21 = "pd.tanh"(%20) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %22 = "builtin.to_tensor"(%21) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      "scf.yield"(%22) : (!pd.tensor<2x3xf32>) -> ()
    }) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %23 = "builtin.to_vtensor"(%8) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %24 = "pd.relu"(%23) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %25 = "builtin.to_tensor"(%24) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %26 = "builtin.to_vtensor"(%25) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %26 : !pd.vtensor<2x3xf32>
  }
}
