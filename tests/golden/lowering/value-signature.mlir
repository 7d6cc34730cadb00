// before
module {
  func.func @main(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> attributes {arg_names = ["x"], result_names = ["y"]} {
    %0 = "pd.feed"() {col = 0 : i64, name = "scale"} : () -> !pd.vtensor<2x8xf32>
    %1 = "pd.feed"() {col = 1 : i64, name = "state"} : () -> !pd.tensor<2x8xf32>
    %2 = "pd.add_"(%1, %0) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "pd.fetch"(%2) {col = 0 : i64, name = "early"} : (!pd.tensor<2x8xf32>) -> ()
    %3 = "pd.relu_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %4 = "pd.multiply_"(%1, %3) : (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %5 = "pd.feed"() {col = 1 : i64, name = "state"} : () -> !pd.vtensor<2x8xf32>
    "pd.fetch"(%5) {col = 1 : i64, name = "late"} : (!pd.vtensor<2x8xf32>) -> ()
    return %3 : !pd.tensor<2x8xf32>
  }
}

// value-signature
module {
  func.func @main(%arg0: !pd.vtensor<2x8xf32>, %arg1: !pd.vtensor<2x8xf32>, %arg2: !pd.vtensor<2x8xf32>) -> (!pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>) attributes {arg_names = ["x", "scale", "state"], result_names = ["y", "early", "late"]} {
    %0 = "builtin.to_tensor"(%arg2) : (!pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %1 = "builtin.to_tensor"(%arg0) : (!pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %2 = "pd.add_"(%0, %arg1) : (!pd.tensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %3 = "builtin.to_vtensor"(%2) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %4 = "pd.relu_"(%1) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %5 = "pd.multiply_"(%0, %4) : (!pd.tensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %6 = "builtin.to_vtensor"(%0) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    %7 = "builtin.to_vtensor"(%4) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %7, %3, %6 : !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>
  }
}
