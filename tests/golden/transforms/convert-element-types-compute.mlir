// before
module {
  func.func @main(%arg0: !pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16> {
    %0 = "pd.exp"(%arg0) : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16>
    %1 = "pd.exp"(%0) : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16>
    %2 = "pd.tanh"(%1) : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16>
    return %2 : !pd.vtensor<2x3xbf16>
  }
}

// convert-element-types{replace=[],compute=["pd.exp:bf16:f32"]}
module {
  func.func @main(%arg0: !pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16> {
    %0 = "pd.cast"(%arg0) {dtype = f32} : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xf32>
    %1 = "pd.exp"(%0) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %2 = "pd.cast"(%1) {dtype = bf16} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xbf16>
    %3 = "pd.cast"(%2) {dtype = f32} : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xf32>
    %4 = "pd.exp"(%3) : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xf32>
    %5 = "pd.cast"(%4) {dtype = bf16} : (!pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xbf16>
    %6 = "pd.tanh"(%5) : (!pd.vtensor<2x3xbf16>) -> !pd.vtensor<2x3xbf16>
    return %6 : !pd.vtensor<2x3xbf16>
  }
}
