module {
  func.func @main(%arg0: !pd.vtensor<i1>) attributes {arg_names = ["arg2"], result_names = []} {
    "scf.while"() ({
      "scf.condition"(%arg0) : (!pd.vtensor<i1>) -> ()
    }, {
      "scf.yield"() : () -> ()
    }) : () -> ()
    return
  }
}
