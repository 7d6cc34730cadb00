// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<2xf32>, %arg2: !pd.vtensor<i1>, %arg3: !pd.vtensor<i1>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i1, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i1>
    %1:3 = "scf.if"(%arg2) ({
      %2 = "pd.relu"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%2, %arg1, %2) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
    }, {
      %3 = "pd.abs"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%3, %arg1, %arg0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>)
    "cf.cond_br"(%arg3, %1#0, %1#1)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 1, 1>} : (!pd.vtensor<i1>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
  ^bb1(%arg4: !pd.vtensor<2xf32>):
    "cf.cond_br"(%0, %arg4)[^bb3, ^bb4] {operandSegmentSizes = array<i32: 1, 1, 0>} : (!pd.vtensor<i1>, !pd.vtensor<2xf32>) -> ()
  ^bb2(%arg5: !pd.vtensor<2xf32>):
    "cf.br"(%arg5)[^bb3] : (!pd.vtensor<2xf32>) -> ()
  ^bb3(%arg6: !pd.vtensor<2xf32>):
    %4 = "pd.add"(%arg6, %arg1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    "cf.br"(%4, %arg1)[^bb5] : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
  ^bb4:
    "cf.br"(%arg0, %arg1)[^bb5] : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> ()
  ^bb5(%arg7: !pd.vtensor<2xf32>, %arg8: !pd.vtensor<2xf32>):
    return %arg7, %arg8 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
}

// simplify-control-flow
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<2xf32>, %arg2: !pd.vtensor<i1>, %arg3: !pd.vtensor<i1>) -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i1, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i1>
    %1 = "pd.relu"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %2 = "pd.abs"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.where"(%arg2, %1, %2) : (!pd.vtensor<i1>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %4 = "pd.where"(%arg3, %3, %arg1) : (!pd.vtensor<i1>, !pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.add"(%4, %arg1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %5, %arg1 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
  }
}
