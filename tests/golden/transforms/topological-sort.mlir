// before
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %y: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %dead = "pd.exp"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %a = "pd.tanh"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %b = "pd.relu"(%x) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %seen = "builtin.to_vtensor"(%y) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %c = "pd.abs"(%b) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %w = "pd.relu_"(%y) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %d = "pd.add"(%c, %seen) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %e = "pd.add"(%d, %a) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %e : !pd.vtensor<2xf32>
  }
}

// topological-sort
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.to_vtensor"(%arg1) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %1 = "pd.relu_"(%arg1) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %2 = "pd.relu"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.abs"(%2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %4 = "pd.add"(%3, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.tanh"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %6 = "pd.add"(%4, %5) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %7 = "pd.exp"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %6 : !pd.vtensor<2xf32>
  }
}
