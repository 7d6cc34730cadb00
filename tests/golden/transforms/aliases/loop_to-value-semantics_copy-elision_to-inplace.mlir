module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<1xi1>) -> !pd.vtensor<2xf32> {
    %0 = "pd.full"() {shape = array<i64: 1>, value = 0.0 : f64} : () -> !pd.vtensor<1xf32>
    %1 = "pd.full"() {shape = array<i64: 1>, value = 3.0 : f64} : () -> !pd.vtensor<1xf32>
    %2:2 = "scf.while"(%0, %arg0) ({
    ^bb0(%arg2: !pd.vtensor<1xf32>, %arg3: !pd.vtensor<2xf32>):
      %3 = "pd.less_than"(%arg2, %1) : (!pd.vtensor<1xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<1xi1>
      "scf.condition"(%3, %arg2, %arg3) : (!pd.vtensor<1xi1>, !pd.vtensor<1xf32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg4: !pd.vtensor<1xf32>, %arg5: !pd.vtensor<2xf32>):
      %4 = "pd.scale"(%arg4) {bias = 1.0 : f64} : (!pd.vtensor<1xf32>) -> !pd.vtensor<1xf32>
      %5 = "scf.if"(%arg1) ({
        %6 = "pd.add"(%arg5, %arg4) : (!pd.vtensor<2xf32>, !pd.vtensor<1xf32>) -> !pd.vtensor<2xf32>
        "scf.yield"(%6) : (!pd.vtensor<2xf32>) -> ()
      }, {
        "scf.yield"(%arg5) : (!pd.vtensor<2xf32>) -> ()
      }) : (!pd.vtensor<1xi1>) -> !pd.vtensor<2xf32>
      "scf.yield"(%4, %5) : (!pd.vtensor<1xf32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<1xf32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<1xf32>, !pd.vtensor<2xf32>)
    return %2#1 : !pd.vtensor<2xf32>
  }
}
