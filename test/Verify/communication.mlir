// RUN: para-opt %s --para-verify-communication --split-input-file --verify-diagnostics
// Intent: programs in which a rank would wait for ever are refused; the last one is fine.

// Stage 1 has no program.
// expected-error @+1 {{has no scheduled program of stage 1}}
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// Stage 1 has no schedule.
// expected-error @+1 {{has no scheduled program of stage 1}}
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
  func.func @stage1(%x: tensor<4xf32>) {
    return
  }
}

// -----

// The ranks of the pipeline run other programs.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{communicates over the axis 'pipeline', whose ranks do not run this program}}
    %0 = para.all_reduce sum %x ["pipeline"] : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// One axis twice.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{communicates over the axis 'data', whose ranks do not run this program}}
    %0 = para.all_reduce sum %x ["data", "data"] : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// An axis that the mesh does not have.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{communicates over the axis 'tensor', which the mesh does not have}}
    %0 = para.all_reduce sum %x ["tensor"] : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// Nobody to combine with.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{is a collective without axes}}
    %0 = para.all_reduce sum %x [] : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// A message to itself.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{names stage 0 as its peer}}
    para.send %x to 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// A message to stage 2 of two.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{names stage 2 as its peer}}
    para.send %x to 2 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// One tag for two messages.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    // expected-error @+1 {{uses tag 0 twice}}
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// Sent and not received.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{is received by no op of stage 1}}
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
}

// -----

// Received and not sent.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{is sent by no op of stage 0}}
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// Another type.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{receives 'tensor<5xf32>' where 'tensor<4xf32>' is sent, or in another phase}}
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<5xf32>
    return
  }
}

// -----

// Another phase.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase backward>, 0]]} {
    // expected-error @+1 {{receives 'tensor<4xf32>' where 'tensor<4xf32>' is sent, or in another phase}}
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase backward>} : tensor<4xf32>
    return
  }
}

// -----

// Both wait before they send.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    // expected-error @+1 {{of microbatch 0 on stage 0 waits for ever for stage 1}}
    %1 = para.recv from 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    para.send %x to 1 tag 1 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.recv from 0 tag 1 {para.phase = #para<phase forward>} : tensor<4xf32>
    para.send %x to 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// The second microbatch is sent and never received.
// expected-error @+1 {{sends messages that nobody receives}}
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// Both send before they wait, and combine over data.
module attributes {para.mesh = #para.mesh<["pipeline", "data"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    %0 = para.all_reduce sum %x ["data"] : tensor<4xf32> -> tensor<4xf32>
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    %1 = para.recv from 1 tag 1 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0]]} {
    para.send %x to 0 tag 1 {para.phase = #para<phase forward>} : tensor<4xf32>
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// More messages under way than there are microbatches.
module attributes {para.mesh = #para.mesh<["pipeline", "microbatch"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    // expected-error @+1 {{has a depth that is no number of microbatches}}
    para.send %x to 1 tag 0 {depth = 3 : i64, para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1]]} {
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    return
  }
}

// -----

// The second message overtakes the first's buffer while its receiver waits for the answer to both: one is too few, two are enough.
module attributes {para.mesh = #para.mesh<["pipeline", "microbatch"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1]]} {
    // expected-error @+1 {{of microbatch 0 on stage 0 waits for ever for stage 1}}
    para.send %x to 1 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    para.send %x to 1 tag 1 {para.phase = #para<phase backward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase backward>, 0], [#para<phase forward>, 0], [#para<phase backward>, 1], [#para<phase forward>, 1]]} {
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    %2 = para.recv from 0 tag 1 {para.phase = #para<phase backward>} : tensor<4xf32>
    return
  }
}

// -----

module attributes {para.mesh = #para.mesh<["pipeline", "microbatch"], [2, 2]>} {
  func.func @stage0(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase forward>, 0], [#para<phase forward>, 1], [#para<phase backward>, 0], [#para<phase backward>, 1]]} {
    para.send %x to 1 tag 0 {depth = 2 : i64, para.phase = #para<phase forward>} : tensor<4xf32>
    para.send %x to 1 tag 1 {para.phase = #para<phase backward>} : tensor<4xf32>
    return
  }
  func.func @stage1(%x: tensor<4xf32>) attributes {para.schedule = [[#para<phase backward>, 0], [#para<phase forward>, 0], [#para<phase backward>, 1], [#para<phase forward>, 1]]} {
    %1 = para.recv from 0 tag 0 {para.phase = #para<phase forward>} : tensor<4xf32>
    %2 = para.recv from 0 tag 1 {para.phase = #para<phase backward>} : tensor<4xf32>
    return
  }
}
