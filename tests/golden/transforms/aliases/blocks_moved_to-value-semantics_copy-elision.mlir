module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "pd.tanh"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %1:2 = "scf.if"(%arg1) ({
      %2 = "pd.relu"(%arg0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%2, %2) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> ()
    }, {
      "scf.yield"(%0, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>)
    %3 = "scf.while"(%1#0) ({
    ^bb0(%arg2: !pd.vtensor<2x3xf32>):
      %4 = "pd.scale"(%arg2) {scale = 0.5 : f64} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %5 = "pd.full"() {shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<f32>
      %6 = "pd.slice"(%4) {axes = array<i64: 0, 1>, decrease_axis = array<i64: 0, 1>, ends = array<i64: 1, 1>, starts = array<i64: 0, 0>} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<f32>
      %7 = "pd.greater_than"(%6, %5) : (!pd.vtensor<f32>, !pd.vtensor<f32>) -> !pd.vtensor<i1>
      "scf.condition"(%7, %4) : (!pd.vtensor<i1>, !pd.vtensor<2x3xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.vtensor<2x3xf32>):
      %8 = "pd.add"(%arg3, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      %9 = "pd.tanh"(%8) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%9) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %10 = "pd.relu"(%3) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    return %10 : !pd.vtensor<2x3xf32>
  }
}
