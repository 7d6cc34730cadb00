// before
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "builtin.constant"() {value = dense<0> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %1 = "builtin.constant"() {value = dense<1> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %2 = "builtin.constant"() {value = dense<5> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %3:2 = "scf.while"(%0, %arg0) ({
    ^bb0(%arg1: !pd.vtensor<i32>, %arg2: !pd.vtensor<2xf32>):
      %4 = "pd.less_than"(%arg1, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      %5 = "pd.abs"(%arg2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.condition"(%4, %arg1, %5) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.vtensor<i32>, %arg4: !pd.vtensor<2xf32>):
      %6 = "pd.add"(%arg3, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %7 = "pd.exp"(%arg4) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%6, %7) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    return %3#0, %3#1 : !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
}

// unroll{factor=2 max-trips=4}
module {
  func.func @main(%arg0: !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>) {
    %0 = "builtin.constant"() {value = dense<0> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %1 = "builtin.constant"() {value = dense<1> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %2 = "builtin.constant"() {value = dense<5> : !pd.vtensor<i32>} : () -> !pd.vtensor<i32>
    %3 = "pd.less_than"(%0, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    %4 = "pd.abs"(%arg0) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %5 = "pd.add"(%0, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    %6 = "pd.exp"(%4) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
    %7:2 = "scf.while"(%5, %6) ({
    ^bb0(%arg1: !pd.vtensor<i32>, %arg2: !pd.vtensor<2xf32>):
      %8 = "pd.less_than"(%arg1, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      %9 = "pd.abs"(%arg2) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.condition"(%8, %arg1, %9) : (!pd.vtensor<i1>, !pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }, {
    ^bb0(%arg3: !pd.vtensor<i32>, %arg4: !pd.vtensor<2xf32>):
      %10 = "pd.add"(%arg3, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %11 = "pd.exp"(%arg4) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %12 = "pd.less_than"(%10, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      %13 = "pd.abs"(%11) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      %14 = "pd.add"(%10, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      %15 = "pd.exp"(%13) : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
      "scf.yield"(%14, %15) : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> ()
    }) {unrolled = 2 : i64} : (!pd.vtensor<i32>, !pd.vtensor<2xf32>) -> (!pd.vtensor<i32>, !pd.vtensor<2xf32>)
    return %7#0, %7#1 : !pd.vtensor<i32>, !pd.vtensor<2xf32>
  }
}
