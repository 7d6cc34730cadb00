module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<1xi1>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    %1 = "pd.full"() {shape = array<i64: 1>, value = 0.0 : f64} : () -> !pd.vtensor<1xf32>
    %2 = "pd.full"() {shape = array<i64: 1>, value = 3.0 : f64} : () -> !pd.vtensor<1xf32>
    %3:2 = "scf.while"(%1, %0) ({
    ^bb0(%arg2: !pd.vtensor<1xf32>, %arg3: !pd.tensor<2xf32>):
      %4 = "pd.less_than"(%arg2, %2) : (!pd.vtensor<1xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<1xi1>
      "scf.condition"(%4, %arg2, %arg3) : (!pd.vtensor<1xi1>, !pd.vtensor<1xf32>, !pd.tensor<2xf32>) -> ()
    }, {
    ^bb0(%arg4: !pd.vtensor<1xf32>, %arg5: !pd.tensor<2xf32>):
      %5 = "pd.scale"(%arg4) {bias = 1.0 : f64} : (!pd.vtensor<1xf32>) -> !pd.vtensor<1xf32>
      "scf.if"(%arg1) ({
        %6 = "pd.add_"(%arg5, %arg4) : (!pd.tensor<2xf32>, !pd.vtensor<1xf32>) -> !pd.tensor<2xf32>
        "scf.yield"() : () -> ()
      }, {
      }) : (!pd.vtensor<1xi1>) -> ()
      "scf.yield"(%5, %arg5) : (!pd.vtensor<1xf32>, !pd.tensor<2xf32>) -> ()
    }) : (!pd.vtensor<1xf32>, !pd.tensor<2xf32>) -> (!pd.vtensor<1xf32>, !pd.tensor<2xf32>)
    %7 = "builtin.to_vtensor"(%0) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    return %7 : !pd.vtensor<2xf32>
  }
}
