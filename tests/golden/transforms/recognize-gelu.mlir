// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.constant"() {value = dense<1.4142135> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %1 = "builtin.constant"() {value = dense<1.0> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %2 = "builtin.constant"() {value = dense<0.5> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
    %3 = "pd.divide"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
    %4 = "pd.erf"(%3) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %5 = "pd.add"(%4, %1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
    %6 = "pd.multiply"(%arg0, %5) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %7 = "pd.multiply"(%6, %2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
    %8 = "scf.if"(%arg1) ({
      %9 = "builtin.constant"() {value = dense<0.044715> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
      %10 = "builtin.constant"() {value = dense<0.7978846> : !pd.vtensor<f32>} : () -> !pd.vtensor<f32>
      %11 = "pd.multiply"(%7, %2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
      %12 = "pd.pow"(%7) {y = 3.0 : f64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %13 = "pd.multiply"(%12, %9) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
      %14 = "pd.add"(%7, %13) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %15 = "pd.multiply"(%14, %10) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
      %16 = "pd.tanh"(%15) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      %17 = "pd.add"(%16, %1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x4xf32>
      %18 = "pd.multiply"(%11, %17) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%18) : (!pd.vtensor<2x4xf32>) -> ()
    }, {
      "scf.yield"(%7) : (!pd.vtensor<2x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4xf32>
    return %8 : !pd.vtensor<2x4xf32>
  }
}

// recognize-gelu
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x4xf32> {
    %0 = "pd.gelu"(%arg0) {approximate = false} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "scf.if"(%arg1) ({
      %2 = "pd.gelu"(%0) {approximate = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%2) : (!pd.vtensor<2x4xf32>) -> ()
    }, {
      "scf.yield"(%0) : (!pd.vtensor<2x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
