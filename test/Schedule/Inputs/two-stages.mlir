module attributes {para.mesh = #para.mesh<["pipeline"], [2]>} {
  func.func @stage0() {
    return
  }
  func.func @stage1() {
    return
  }
}
