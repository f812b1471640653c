import FakeServers
import Foundation
import NIOCore
import Testing

@Suite("Shortages of this machine")
struct ShortageTests {
    @Test(
        "an error number that names a resource of ours is a shortage",
        arguments: [
            (EMFILE, "out of file descriptors"), (ENFILE, "out of file descriptors of the system"),
            (ENOMEM, "out of memory"), (ENOBUFS, "out of network buffers"),
            (EADDRNOTAVAIL, "out of local ports"), (EAGAIN, "out of processes or threads"),
            (ECONNREFUSED, nil), (ECONNRESET, nil), (ETIMEDOUT, nil),
        ] as [(Int32, String?)]
    )
    func reason(code: Int32, reason: String?) {
        #expect(Shortage.reason(code: code) == reason)
        #expect(Shortage.reason(of: IOError(errnoCode: code, reason: "socket")) == reason)
    }

    @Test func `the first shortage after a moment is known`() {
        let shortages = Shortages()
        #expect(shortages.first(after: 0) == nil)
        shortages.note("out of memory")
        shortages.note("out of local ports")
        #expect(shortages.first(after: 0) == "out of memory")
        #expect(shortages.first(after: 1) == "out of local ports")
        #expect(shortages.first(after: 2) == nil)
    }
}
