module {
  func.func @main(%arg0: !pd.vtensor<2x3xf32>, %arg1: !pd.vtensor<i32>) -> (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.full"() {dtype = i32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<i32>
    "cf.br"(%0, %arg0, %arg0)[^bb1] : (!pd.vtensor<i32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> ()
  ^bb1(%arg2: !pd.vtensor<i32>, %arg3: !pd.vtensor<2x3xf32>, %arg4: !pd.vtensor<2x3xf32>):
    %2 = "pd.less_than"(%arg2, %arg1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    "cf.cond_br"(%2)[^bb2, ^bb3] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^bb2:
    %3 = "builtin.to_tensor"(%arg3) : (!pd.vtensor<2x3xf32>) -> !pd.tensor<2x3xf32>
    %4 = "pd.add"(%arg3, %arg0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.relu"(%arg4) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %6 = "pd.add"(%arg2, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    "cf.br"(%6, %4, %5)[^bb1] : (!pd.vtensor<i32>, !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>) -> ()
  ^bb3:
    return %arg3, %arg3 : !pd.vtensor<2x3xf32>, !pd.vtensor<2x3xf32>
  }
}
