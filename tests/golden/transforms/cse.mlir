// before
module {
  func.func @main(%x: !pd.vtensor<2xf32>, %s: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
    %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
    %2 = "pd.add"(%x, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.add"(%1, %x) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %4 = "builtin.to_vtensor"(%s) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.relu_"(%s) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %6 = "builtin.to_vtensor"(%s) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %7 = "pd.subtract"(%4, %6) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %8 = "pd.exp"(%7) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %9 = "pd.multiply"(%2, %3) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %9 : !pd.vtensor<2xf32>
  }
}

// cse
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.tensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
    %1 = "pd.add"(%arg0, %0) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %2 = "builtin.to_vtensor"(%arg1) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.relu_"(%arg1) : (!pd.tensor<2xf32>) -> !pd.tensor<2xf32>
    %4 = "builtin.to_vtensor"(%arg1) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.subtract"(%2, %4) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %6 = "pd.exp"(%5) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %7 = "pd.multiply"(%1, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    return %7 : !pd.vtensor<2xf32>
  }
}
