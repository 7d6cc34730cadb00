// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "func.call"(%arg0) {callee = @twice} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %1 = "func.call"(%0, %arg1) {callee = @choose} : (!pd.vtensor<2xf32>, !pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    %2 = "scf.if"(%arg1) ({
      %3 = "func.call"(%1) {callee = @twice} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%3) : (!pd.vtensor<2xf32>) -> ()
    }, {
      "scf.yield"(%1) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    return %1, %2 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
  func.func @twice(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "pd.add"(%arg0, %arg0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %0 : !pd.vtensor<2xf32>
  }
  func.func @choose(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2xf32> {
    "cf.cond_br"(%arg1, %arg0)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 0, 1>} : (!pd.vtensor<i1>, !pd.vtensor<2xf32>) -> ()
  ^bb1:
    %0 = "func.call"(%arg0) {callee = @twice} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %0 : !pd.vtensor<2xf32>
  ^bb2(%arg2: !pd.vtensor<2xf32>):
    %1 = "pd.relu"(%arg2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %1 : !pd.vtensor<2xf32>
  }
}

// inline
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "pd.add"(%arg0, %arg0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    "cf.cond_br"(%arg1, %0)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 0, 1>} : (!pd.vtensor<i1>, !pd.vtensor<2xf32>) -> ()
  ^bb1:
    %1 = "pd.add"(%0, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    "cf.br"(%1)[^bb3] : (!pd.vtensor<2xf32>) -> ()
  ^bb2(%arg2: !pd.vtensor<2xf32>):
    %2 = "pd.relu"(%arg2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    "cf.br"(%2)[^bb3] : (!pd.vtensor<2xf32>) -> ()
  ^bb3(%arg3: !pd.vtensor<2xf32>):
    %3 = "scf.if"(%arg1) ({
      %4 = "pd.add"(%arg3, %arg3) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%4) : (!pd.vtensor<2xf32>) -> ()
    }, {
      "scf.yield"(%arg3) : (!pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xf32>
    return %arg3, %3 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
  func.func @twice(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "pd.add"(%arg0, %arg0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %0 : !pd.vtensor<2xf32>
  }
}
