// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4x3xf32>, %arg1: !pd.vtensor<3xf32>, %arg2: !pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32> {
    %0 = "pd.multiply"(%arg0, %arg1) : (!pd.vtensor<2x4x3xf32>, !pd.vtensor<3xf32>) -> !pd.vtensor<2x4x3xf32>
    %1 = "scf.if"(%arg2) ({
      %2 = "pd.full"() {dtype = f32, shape = [], value = 0.5 : f64} : () -> !pd.vtensor<f32>
      %3 = "pd.add"(%2, %0) : (!pd.vtensor<f32>, !pd.vtensor<2x4x3xf32>) -> !pd.vtensor<2x4x3xf32>
      "scf.yield"(%3) : (!pd.vtensor<2x4x3xf32>) -> ()
    }, {
      "scf.yield"(%0) : (!pd.vtensor<2x4x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32>
    return %1 : !pd.vtensor<2x4x3xf32>
  }
}

// materialize-broadcast
module {
  func.func @main(%arg0: !pd.vtensor<2x4x3xf32>, %arg1: !pd.vtensor<3xf32>, %arg2: !pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32> {
    %0 = "pd.expand"(%arg1) {shape = array<i64: 2, 4, 3>} : (!pd.vtensor<3xf32>) -> !pd.vtensor<2x4x3xf32>
    %1 = "pd.multiply"(%arg0, %0) : (!pd.vtensor<2x4x3xf32>, !pd.vtensor<2x4x3xf32>) -> !pd.vtensor<2x4x3xf32>
    %2 = "scf.if"(%arg2) ({
      %3 = "pd.full"() {dtype = f32, shape = [], value = 0.5 : f64} : () -> !pd.vtensor<f32>
      %4 = "pd.expand"(%3) {shape = array<i64: 2, 4, 3>} : (!pd.vtensor<f32>) -> !pd.vtensor<2x4x3xf32>
      %5 = "pd.add"(%4, %1) : (!pd.vtensor<2x4x3xf32>, !pd.vtensor<2x4x3xf32>) -> !pd.vtensor<2x4x3xf32>
      "scf.yield"(%5) : (!pd.vtensor<2x4x3xf32>) -> ()
    }, {
      "scf.yield"(%1) : (!pd.vtensor<2x4x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4x3xf32>
    return %2 : !pd.vtensor<2x4x3xf32>
  }
}
