// before
module {
  func.func @main(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used_by_used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_used(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %arg0 : !pd.vtensor<4xf32>
  }
  func.func @unused(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @ping(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @pong} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @pong(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @ping} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func public @offered(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used_by_offered} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_offered(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %arg0 : !pd.vtensor<4xf32>
  }
}

// remove-unused-functions
module {
  func.func @main(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used_by_used} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_used(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %arg0 : !pd.vtensor<4xf32>
  }
  func.func public @offered(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "func.call"(%arg0) {callee = @used_by_offered} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %0 : !pd.vtensor<4xf32>
  }
  func.func @used_by_offered(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %arg0 : !pd.vtensor<4xf32>
  }
}
