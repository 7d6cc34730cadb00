// before
module {
  func.func @main(%arg0: !pd.vtensor<i1>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.constant"() {value = dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : !pd.vtensor<2x4xf32>} : () -> !pd.vtensor<2x4xf32>
    %1 = "scf.if"(%arg0) ({
      %2 = "builtin.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
      %3 = "pd.add"(%0, %2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%3) : (!pd.vtensor<2x4xf32>) -> ()
    }, {
      %4 = "func.call"(%0) {callee = @scaled} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%4) : (!pd.vtensor<2x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
  func.func @scaled(%arg0: !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : !pd.vtensor<4xf32>} : () -> !pd.vtensor<4xf32>
    %1 = "pd.multiply"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}

// externalize-constants{inline-bytes=0}
module {
  func.func @main(%arg0: !pd.vtensor<i1>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.get_parameter"() {name = "constant"} : () -> !pd.vtensor<2x4xf32>
    %1 = "scf.if"(%arg0) ({
      %2 = "builtin.get_parameter"() {name = "constant_1"} : () -> !pd.vtensor<4xf32>
      %3 = "pd.add"(%0, %2) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%3) : (!pd.vtensor<2x4xf32>) -> ()
    }, {
      %4 = "func.call"(%0) {callee = @scaled} : (!pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32>
      "scf.yield"(%4) : (!pd.vtensor<2x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
  func.func @scaled(%arg0: !pd.vtensor<2x4xf32>) -> !pd.vtensor<2x4xf32> {
    %0 = "builtin.get_parameter"() {name = "constant_1"} : () -> !pd.vtensor<4xf32>
    %1 = "pd.multiply"(%arg0, %0) : (!pd.vtensor<2x4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<2x4xf32>
    return %1 : !pd.vtensor<2x4xf32>
  }
}
// constant: [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
// constant_1: [1.0, 2.0, 3.0, 4.0]
