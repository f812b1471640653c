import FakeServers
import Foundation
import NIOCore
import Testing

@Suite("Shortages of this machine")
struct ResourceShortageTests {
    @Test(
        "an error number of a local resource is a shortage",
        arguments: [
            (EMFILE, "out of file descriptors"), (ENFILE, "out of file descriptors of the system"),
            (ENOMEM, "out of memory"), (ENOBUFS, "out of network buffers"),
            (EADDRNOTAVAIL, "out of local ports"), (EAGAIN, "out of processes or threads"),
            (ECONNREFUSED, nil), (ECONNRESET, nil), (ETIMEDOUT, nil),
        ] as [(Int32, String?)]
    )
    func reason(code: Int32, reason: String?) {
        #expect(ResourceShortage.reason(code: code) == reason)
        #expect(ResourceShortage.reason(of: IOError(errnoCode: code, reason: "socket")) == reason)
    }

    @Test func `the first shortage after an instant is known`() {
        let shortages = ResourceShortages()
        #expect(shortages.first(after: 0) == nil)
        shortages.note("out of memory")
        shortages.note("out of local ports")
        #expect(shortages.first(after: 0) == "out of memory")
        #expect(shortages.first(after: 1) == "out of local ports")
        #expect(shortages.first(after: 2) == nil)
    }
}
