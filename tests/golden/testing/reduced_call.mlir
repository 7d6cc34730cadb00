module {
  func.func @main(%arg0: !pd.vtensor<1x1xf32>) attributes {arg_names = ["arg0"], result_names = []} {
    "func.call"(%arg0) {callee = @f} : (!pd.vtensor<1x1xf32>) -> ()
    return
  }
  func.func @f(%arg0: !pd.vtensor<1x1xf32>) {
    %0 = "pd.exp"(%arg0) : (!pd.vtensor<1x1xf32>) -> !pd.vtensor<1x1xf32>
    return
  }
}
