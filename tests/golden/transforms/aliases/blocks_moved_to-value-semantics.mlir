module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %1 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.tanh"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "builtin.to_tensor"(%2) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %4:2 = "scf.if"(%arg1) ({
      %5 = "pd.relu"(%1) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %6 = "builtin.to_tensor"(%5) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      "scf.yield"(%6, %6) : (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>) -> ()
    }, {
      "scf.yield"(%3, %0) : (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> (!pd.tensor<2x3xf32>, !pd.tensor<2x3xf32>)
    %7 = "scf.while"(%4#0) ({
    ^bb0(%arg2: !pd.tensor<2x3xf32>):
      %8 = "builtin.to_vtensor"(%arg2) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %9 = "pd.scale"(%8) {scale = 0.5 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %10 = "builtin.to_tensor"(%9) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      %11 = "pd.full"() {shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
      %12 = "builtin.to_vtensor"(%10) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %13 = "pd.slice"(%12) {axes = array<i64: 0, 1>, decrease_axis = array<i64: 0, 1>, ends = array<i64: 1, 1>, starts = array<i64: 0, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<f32>
      %14 = "pd.greater_than"(%13, %11) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      %15 = "builtin.to_tensor"(%14) : (!pd.vtensor<i1>) -> !pd.tensor<i1>
      "scf.condition"(%15, %10) : (!pd.tensor<i1>, !pd.tensor<2x3xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.tensor<2x3xf32>):
      %16 = "builtin.to_vtensor"(%arg3) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %17 = "pd.add"(%16, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %18 = "builtin.to_tensor"(%17) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      %19 = "builtin.to_vtensor"(%18) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %20 = "pd.tanh"(%19) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %21 = "builtin.to_tensor"(%20) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
      "scf.yield"(%21) : (!pd.tensor<2x3xf32>) -> ()
    }) : (!pd.tensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %22 = "builtin.to_vtensor"(%7) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %23 = "pd.relu"(%22) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %24 = "builtin.to_tensor"(%23) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %25 = "builtin.to_vtensor"(%24) : (!pd.tensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %25 : !pd.vtensor<2x3xf32>
  }
}
