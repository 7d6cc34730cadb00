// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4x5x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "scf.if"(%arg1) ({
      %1 = "pd.mean"(%arg0) {axis = array<i64: 1, 2>, keepdim = false} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%1) : (!pd.vtensor<2x3xf32>) -> ()
    }, {
      %2 = "pd.max"(%arg0) {axis = array<i64: 0, 1, 2>, keepdim = true} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<1x1x1x3xf32>
      %3 = "pd.min"(%2) {axis = array<i64>, keepdim = false} : (!pd.vtensor<1x1x1x3xf32>) -> !pd.vtensor<f32>
      %4 = "pd.expand"(%3) {shape = array<i64: 2, 3>} : (!pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%4) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf32>
    return %0 : !pd.vtensor<2x3xf32>
  }
}

// canonicalize-reductions
module {
  func.func @main(%arg0: !pd.vtensor<2x4x5x3xf32>, %arg1: !pd.vtensor<i1>) -> !pd.vtensor<2x3xf32> {
    %0 = "scf.if"(%arg1) ({
      %1 = "pd.transpose"(%arg0) {perm = array<i64: 1, 2, 0, 3>} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<4x5x2x3xf32>
      %2 = "pd.reshape"(%1) {shape = array<i64: 20, 6>} : (!pd.vtensor<4x5x2x3xf32>) -> !pd.vtensor<20x6xf32>
      %3 = "pd.mean"(%2) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<20x6xf32>) -> !pd.vtensor<6xf32>
      %4 = "pd.reshape"(%3) {shape = array<i64: 2, 3>} : (!pd.vtensor<6xf32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%4) : (!pd.vtensor<2x3xf32>) -> ()
    }, {
      %5 = "pd.reshape"(%arg0) {shape = array<i64: 40, 3>} : (!pd.vtensor<2x4x5x3xf32>) -> !pd.vtensor<40x3xf32>
      %6 = "pd.max"(%5) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<40x3xf32>) -> !pd.vtensor<3xf32>
      %7 = "pd.reshape"(%6) {shape = array<i64: 1, 1, 1, 3>} : (!pd.vtensor<3xf32>) -> !pd.vtensor<1x1x1x3xf32>
      %8 = "pd.reshape"(%7) {shape = array<i64: 1, 3>} : (!pd.vtensor<1x1x1x3xf32>) -> !pd.vtensor<1x3xf32>
      %9 = "pd.min"(%8) {axis = array<i64: 1>, keepdim = false} : (!pd.vtensor<1x3xf32>) -> !pd.vtensor<1xf32>
      %10 = "pd.reshape"(%9) {shape = array<i64>} : (!pd.vtensor<1xf32>) -> !pd.vtensor<f32>
      %11 = "pd.expand"(%10) {shape = array<i64: 2, 3>} : (!pd.vtensor<f32>) -> !pd.vtensor<2x3xf32>
      "scf.yield"(%11) : (!pd.vtensor<2x3xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x3xf32>
    return %0 : !pd.vtensor<2x3xf32>
  }
}
