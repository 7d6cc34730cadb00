// before
module {
  func.func @main(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "builtin.constant"() {value = dense<true> : !pd.vtensor<i1>} : () -> !pd.vtensor<i1>
    %1 = "scf.if"(%0) ({
      %2 = "func.call"(%x) {callee = @squared} : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
      "scf.yield"(%2) : (!pd.tensor<2x8xf32>) -> ()
    }, {
      "scf.yield"(%x) : (!pd.tensor<2x8xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.tensor<2x8xf32>
    "cf.cond_br"(%0)[^one, ^other] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^one:
    %3 = "pd.relu_"(%1) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^other:
    %4 = "pd.tanh_"(%1) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^end:
    return %1 : !pd.tensor<2x8xf32>
  }
  func.func @squared(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "pd.square_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    return %0 : !pd.tensor<2x8xf32>
  }
}

// prepared
module {
  func.func @main(%arg0: !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32> {
    %0 = "pd.fusion"(%arg0) ({
    ^bb0(%arg0: !pd.vtensor<2x8xf32>):
      %0 = "pd.square"(%arg0) : (!pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
      %1 = "pd.relu"(%0) : (!pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
      "pd.fusion_yield"(%1) : (!pd.vtensor<2x8xf32>) -> ()
    }) {kind = "vertical"} : (!pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %0 : !pd.vtensor<2x8xf32>
  }
}
