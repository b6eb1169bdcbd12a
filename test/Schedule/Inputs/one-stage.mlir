module attributes {para.mesh = #para.mesh<["pipeline"], [1]>} {
  func.func @stage0() {
    return
  }
}
