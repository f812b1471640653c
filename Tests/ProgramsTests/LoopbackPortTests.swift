import Programs
import Testing

/// Backends that start at the same time get different ports.
@Suite("Ports on the loopback addresses")
struct LoopbackPortTests {
    @Test("a port is not given to two backends that have not opened it yet")
    func distinctPorts() async {
        let ports = await withTaskGroup(of: [UInt16].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<250).map { _ in LoopbackPort.findFree() } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(ports).count == ports.count)
    }
}
