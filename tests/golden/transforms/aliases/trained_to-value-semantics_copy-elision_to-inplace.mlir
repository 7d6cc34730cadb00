module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.tensor<2xf32>
    %1 = "pd.full"() {shape = array<i64: 1>, value = 0.5 : f64} : () -> !pd.vtensor<1xf32>
    %2 = "builtin.to_vtensor"(%0) : (!pd.tensor<2xf32>) -> !pd.vtensor<2xf32>
    %3 = "pd.relu"(%2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %4 = "pd.sgd_"(%0, %1, %arg0) : (!pd.tensor<2xf32>, !pd.vtensor<1xf32>, !pd.vtensor<2xf32>) -> !pd.tensor<2xf32>
    return %3 : !pd.vtensor<2xf32>
  }
}
