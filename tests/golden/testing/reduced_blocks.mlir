module {
  func.func @main(%arg0: !pd.vtensor<i1>, %arg1: !pd.vtensor<1xf32>) attributes {arg_names = ["arg0", "arg1"], result_names = []} {
    "cf.cond_br"(%arg0)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^bb1:
    %0 = "pd.exp"(%arg1) : (!pd.vtensor<1xf32>) -> !pd.vtensor<1xf32>
    "cf.br"()[^bb2] : () -> ()
  ^bb2:
    return
  }
}
