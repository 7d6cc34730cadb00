// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> (!pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %2 = "pd.less_than"(%1, %0) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %3 = "scf.if"(%2) ({
      "scf.yield"(%0) : (!pd.vtensor<i32>) -> ()
    }, {
      "scf.yield"(%1) : (!pd.vtensor<i32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<i32>
    %4:2 = "scf.while"(%3, %arg0) ({
    ^bb0(%arg2: !pd.vtensor<i32>, %arg3: !pd.vtensor<2xf32>):
      "scf.condition"(%arg1, %arg2, %arg3) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg4: !pd.vtensor<i32>, %arg5: !pd.vtensor<2xf32>):
      %5 = "pd.subtract"(%arg4, %0) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %6 = "pd.multiply"(%5, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %7 = "pd.relu"(%arg5) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%6, %7) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    "cf.cond_br"(%arg1, %4#0, %1)[^bb1, ^bb1] {operandSegmentSizes = array<i32: 1, 1, 1>} : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<i32>) -> ()
  ^bb1(%arg6: !pd.vtensor<i32>):
    %8 = "func.call"(%arg6) {callee = @next} : (!pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %arg6, %8, %4#0, %4#1 : !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
  func.func @next(%arg0: !pd.vtensor<i32>) -> !pd.vtensor<i32> {
    %0 = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.add"(%arg0, %0) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %1 : !pd.vtensor<i32>
  }
}

// sccp
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>, %arg1: !pd.vtensor<i1>) -> (!pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %2 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %3:2 = "scf.while"(%1, %arg0) ({
    ^bb0(%arg2: !pd.vtensor<i32>, %arg3: !pd.vtensor<2xf32>):
      %4 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
      "scf.condition"(%arg1, %4, %arg3) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg4: !pd.vtensor<i32>, %arg5: !pd.vtensor<2xf32>):
      %5 = "builtin.constant"() {value = dense<2> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
      %6 = "pd.relu"(%arg5) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%5, %6) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    "cf.cond_br"(%arg1, %2, %0)[^bb1, ^bb1] {operandSegmentSizes = array<i32: 1, 1, 1>} : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<i32>) -> ()
  ^bb1(%arg6: !pd.vtensor<i32>):
    %7 = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %8 = "builtin.constant"() {value = dense<3> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %9 = "func.call"(%7) {callee = @next} : (!pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %7, %8, %2, %3#1 : !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
  func.func @next(%arg0: !pd.vtensor<i32>) -> !pd.vtensor<i32> {
    %0 = "builtin.constant"() {value = dense<3> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    return %0 : !pd.vtensor<i32>
  }
}
