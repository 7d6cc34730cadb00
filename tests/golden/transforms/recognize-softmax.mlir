// before
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) {
    %0 = "pd.max"(%arg0) {axis = [-1], keepdim = false} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.unsqueeze"(%0) {axis = [1]} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2x1xf32>
    %2 = "pd.subtract"(%arg0, %1) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %3 = "pd.exp"(%2) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %4 = "pd.sum"(%3) {axis = [1], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x1xf32>
    %5 = "pd.divide"(%3, %4) : (!pd.vtensor<2x4xf32>, !pd.vtensor<2x1xf32>) -> !pd.vtensor<2x4xf32>
    %6 = "pd.exp"(%5) : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %7 = "pd.sum"(%6) {axis = [0], keepdim = true} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<1x4xf32>
    %8 = "pd.reciprocal"(%7) : (!pd.vtensor<1x4xf32>) -> !pd.vtensor<1x4xf32>
    %9 = "pd.multiply"(%8, %6) : (!pd.vtensor<1x4xf32>, !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %5, %9 : !pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>
  }
}

// recognize-softmax
module {
  func.func @main(%arg0: !pd.vtensor<2x4xf32>) -> (!pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>) {
    %0 = "pd.softmax"(%arg0) {axis = 1 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    %1 = "pd.softmax"(%0) {axis = 0 : i64} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
    return %0, %1 : !pd.vtensor<2x4xf32>, !pd.vtensor<2x4xf32>
  }
}
