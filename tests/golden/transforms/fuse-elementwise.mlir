// before
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) {
    %0 = "pd.add"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.tanh"(%0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.multiply"(%1, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %2, %3 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>
  }
}

// fuse-elementwise
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) {
    %0:2 = "pd.fusion"(%arg0, %arg1) ({
    ^bb0(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>):
      %0 = "pd.add"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
      %1 = "pd.tanh"(%0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %2 = "pd.multiply"(%1, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %3 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "pd.fusion_yield"(%2, %3) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> ()
    }) {kind = "horizontal"} : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>)
    return %0#0, %0#1 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>
  }
}

// inline-fusions
module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<3xf32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) {
    %0 = "pd.add"(%arg0, %arg1) : (!pd.vtensor<2x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.tanh"(%0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.multiply"(%1, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %3 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %2, %3 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>
  }
}
